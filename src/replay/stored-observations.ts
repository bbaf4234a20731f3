/**
 * Turns stored history into observations: samples or roll-ups of each owner, merged by time; facts at their changes;
 * and events. Figures that are not stored (a stop loss, the order book) remain unknown.
 */
import type { MarketConfig } from "../domain/account.ts";
import type { Event } from "../domain/event.ts";
import type { Figure, InjectedFigures, Observation, Tick } from "../domain/observation.ts";
import type { Store } from "../domain/ports.ts";
import type { Source } from "../domain/sources.ts";
import type { FactChange } from "../domain/stored/changes.ts";
import { type Resolution, type RollUp, resolutionMs } from "../domain/stored/history.ts";
import { eventSources, type RuleEventKind } from "../rules/index.ts";
import { configFact } from "../state/markets/market-changes.ts";
import { statusFact } from "../state/markets/own-events.ts";
import { parseSeries } from "../state/windows/series.ts";

export type StoredHistory = Pick<Store, "ticks" | "rollups" | "tickOwners" | "events">;

export type StoredResolution = "samples" | Resolution;

export interface StoredQuery {
  readonly resolution: StoredResolution;
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  readonly owners: readonly string[];
  /** Changes of facts up to `toMs`, oldest first, with those from before `fromMs`. */
  readonly facts: readonly FactChange[];
  /** Wallets whose histories were read all the time. */
  readonly wallets: readonly string[];
  /** The sources of events, and the interval of their readings, ms. */
  readonly histories: readonly { readonly source: Source; readonly everyMs: number }[];
  /** The spans in which nothing was read. */
  readonly down: readonly { readonly fromMs: number; readonly toMs: number }[];
}

/** The interval at which rarely changing facts are repeated, ms: they were read all the time. */
const repeatMs = 300_000;

export async function* storedObservations(
  history: StoredHistory,
  query: StoredQuery,
): AsyncIterable<Observation> {
  const parts: AsyncIterable<Observation>[] = query.owners.map((owner) => figures(history, owner, query));
  parts.push(events(history, query), facts(query), readings(query));
  yield* mergeByTime(parts);
}

async function* figures(
  history: StoredHistory,
  owner: string,
  query: StoredQuery,
): AsyncIterable<Observation> {
  const { resolution, fromMs, toMs } = query;
  const plans = new Map<readonly string[], Plan>();
  const planFor = (series: readonly string[]): Plan => {
    const known = plans.get(series) ?? planOf(owner, series);
    plans.set(series, known);
    return known;
  };
  if (resolution === "samples") {
    for await (const tick of history.ticks({ owner, fromMs, toMs: toMs - 1 }))
      yield given(tick, planFor(tick.series));
    return;
  }
  const widthMs = resolutionMs[resolution];
  for await (const rollUp of history.rollups({ owner, resolution, fromMs, toMs: toMs - widthMs }))
    yield given(lastOf(rollUp, widthMs), planFor(rollUp.series));
}

/** A bucket as the last sample in it. */
function lastOf({ atMs, owner, series, stats }: RollUp, widthMs: number): Tick {
  return { atMs: atMs + widthMs - 1, owner, series, values: stats.map(({ last }) => last) };
}

interface Plan {
  readonly subjects: readonly {
    readonly owner: string;
    readonly fields: readonly { readonly name: string; readonly index: number }[];
  }[];
  /** For a whole account: the symbols of all its positions. */
  readonly positions: readonly string[] | null;
}

/** The columns of the owner's fields in samples of one layout. */
function planOf(owner: string, series: readonly string[]): Plan {
  const subjects = new Map<string, { name: string; index: number }[]>();
  const positions: string[] = [];
  series.forEach((name, index) => {
    const parsed = parseSeries(name);
    if (parsed === null) return;
    const { scope, symbol, field } = parsed;
    const subject =
      scope === "position" ? `${owner}/${symbol}` : scope === "market" ? `market/${symbol}` : owner;
    if (scope === "position" && symbol !== null && !positions.includes(symbol)) positions.push(symbol);
    const fields = subjects.get(subject) ?? [];
    subjects.set(subject, fields);
    fields.push({ name: field, index });
  });
  return {
    subjects: [...subjects].map(([subject, fields]) => ({ owner: subject, fields })),
    positions: series.includes("trader.collateral") ? positions : null,
  };
}

function given({ atMs, owner, values }: Tick, { subjects, positions }: Plan): Observation {
  const eventObservation: InjectedFigures[] = subjects.map((subject) => {
    const figures: Record<string, Figure> = {};
    for (const { name, index } of subject.fields) figures[name] = values[index]!;
    const isAccount = subject.owner === owner && positions !== null;
    return isAccount ? { owner, values: figures, positions } : { owner: subject.owner, values: figures };
  });
  return { kind: "figures", atMs, given: eventObservation };
}

async function* events(history: StoredHistory, { fromMs, toMs }: StoredQuery): AsyncIterable<Observation> {
  const seen = (await history.events({ fromMs: fromMs - maxDelayMs, toMs })).filter(
    ({ seenMs }) => seenMs >= fromMs && seenMs < toMs,
  );
  for (const event of seen.sort((a, b) => a.seenMs - b.seenMs)) yield eventObservation(event);
}

/** Maximum time from an event to its first reading: events of a downtime are read late. */
const maxDelayMs = 30 * 86_400_000;

function eventObservation(event: Event): Observation {
  const source = eventSources[event.kind as RuleEventKind];
  return { kind: "events", source, wallet: event.wallet, atMs: event.seenMs, events: [event], live: true };
}

/** Market configurations and the exchange status: at each change, and repeatedly. */
async function* facts({ facts: changes, fromMs, toMs, down }: StoredQuery): AsyncIterable<Observation> {
  const configs = new Map<string, MarketConfig>();
  let status: Record<string, boolean> | null = null;
  let next = 0;
  for (let atMs = fromMs; atMs < toMs; ) {
    let changed = false;
    while (next < changes.length && changes[next]!.atMs <= atMs) {
      const { owner, name, value } = changes[next++]!;
      if (name === configFact.name) configs.set(owner, configFact.read(owner, value));
      else if (name === statusFact.name) status = statusFact.read(owner, value);
      else continue;
      changed = true;
    }
    if (changed || !isWithin(down, atMs)) {
      if (configs.size > 0) yield { kind: "marketConfig", atMs, markets: [...configs.values()] };
      if (status !== null) yield { kind: "figures", atMs, given: [{ owner: "exchange", values: status }] };
    }
    const changeMs = changes[next]?.atMs ?? Number.POSITIVE_INFINITY;
    atMs = Math.min(atMs + repeatMs, Math.max(changeMs, atMs + 1));
  }
}

/** Readings of histories without new events: rules that count events need readings that are not stale. */
async function* readings({
  fromMs,
  toMs,
  wallets,
  histories,
  down,
}: StoredQuery): AsyncIterable<Observation> {
  if (histories.length === 0 || wallets.length === 0) return;
  const paceMs = Math.min(...histories.map(({ everyMs }) => everyMs));
  const due = new Map(histories.map(({ source }) => [source, fromMs]));
  for (let atMs = fromMs; atMs < toMs; atMs += paceMs) {
    if (isWithin(down, atMs)) continue;
    for (const { source, everyMs } of histories) {
      if (due.get(source)! > atMs) continue;
      due.set(source, atMs + everyMs);
      for (const wallet of wallets) yield { kind: "events", source, wallet, atMs, events: [] };
    }
  }
}

export function isWithin(
  spans: readonly { readonly fromMs: number; readonly toMs: number }[],
  atMs: number,
): boolean {
  return spans.some((span) => atMs >= span.fromMs && atMs < span.toMs);
}

/** Merges sorted parts by time; at equal times in the order of the list. */
export async function* mergeByTime<T extends { readonly atMs: number }>(
  parts: readonly AsyncIterable<T>[],
): AsyncIterable<T> {
  const heads: { value: T; readonly rank: number; readonly from: AsyncIterator<T> }[] = [];
  try {
    for (const [rank, part] of parts.entries()) {
      const from = part[Symbol.asyncIterator]();
      const first = await from.next();
      if (first.done !== true) heads.push({ value: first.value, rank, from });
    }
    const isLater = (a: (typeof heads)[number], b: (typeof heads)[number]) =>
      a.value.atMs - b.value.atMs || a.rank - b.rank;
    heads.sort((a, b) => isLater(b, a));
    // The earliest is last: it is taken, and its next value is inserted in order.
    while (heads.length > 0) {
      const head = heads.pop()!;
      yield head.value;
      const next = await head.from.next();
      if (next.done === true) continue;
      head.value = next.value;
      let [low, high] = [0, heads.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (isLater(heads[middle]!, head) > 0) low = middle + 1;
        else high = middle;
      }
      heads.splice(low, 0, head);
    }
  } finally {
    for (const { from } of heads) await from.return?.();
  }
}
