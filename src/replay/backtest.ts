/**
 * Runs rules over stored history. Where the recording reaches, its observations are fed, which gives the result of a
 * live run. Before that, stored samples are fed as figures, and before those, the roll-ups of minutes and hours.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { Capacity } from "../domain/alerts/delivery.ts";
import type { Event } from "../domain/event.ts";
import type { Observation } from "../domain/observation.ts";
import type { Store } from "../domain/ports.ts";
import type { Source } from "../domain/sources.ts";
import type { Changes, FactChange, Milestone } from "../domain/stored/changes.ts";
import { resolutionMs } from "../domain/stored/history.ts";
import { readableFacts } from "../engine/fact-kinds.ts";
import type { WatchSettings } from "../engine/settings.ts";
import { incarnationFact } from "../engine/subject-life.ts";
import type { Watch } from "../engine/watch.ts";
import { eventSources, type RuleEventKind, type RuleSet } from "../rules/index.ts";
import { keptProfit, profitBefore } from "../state/profit/kept-profit.ts";
import { accountOf } from "../state/profit/records/flows.ts";
import { asLive } from "./as-live.ts";
import type { Journal } from "./journal.ts";
import { Replay } from "./replay.ts";
import { type StoredResolution, storedObservations } from "./stored-observations.ts";

/** The history that a backtest reads: parts of the store, and all changes of facts in order. */
export interface BacktestHistory
  extends Pick<
    Store,
    | "ticks"
    | "rollups"
    | "recording"
    | "recorded"
    | "tickOwners"
    | "events"
    | "eventByKey"
    | "milestones"
    | "keep"
  > {
  factHistory(query: { readonly toMs?: number }): Promise<readonly FactChange[]>;
}

export interface BacktestInput {
  /** The daemon's settings, with the rules under test. */
  readonly settings: WatchSettings;
  /** The same rules for data of this minimum interval, ms, against which staleness is measured. */
  readonly rulesFor: (leastMs: number) => RuleSet;
  readonly history: BacktestHistory;
  readonly fromMs: number;
  readonly toMs: number;
  /** Called now and then with the time reached, ms. */
  readonly onProgress?: (atMs: number) => void;
  readonly onChanges?: (changes: Changes) => void;
  /** Capacities of receivers, by name. Default: those of an ordinary channel. */
  readonly capacities?: ReadonlyMap<string, Capacity>;
  /** Called with the watch at the end. */
  readonly onEnd?: (watch: Watch) => void;
}

export type PeriodKind = "raw" | StoredResolution;

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Period extends Span {
  readonly resolution: PeriodKind;
}

export interface Backtested extends Span {
  readonly journal: Journal;
  readonly periods: readonly Period[];
  /** The spans without a running daemon. */
  readonly down: readonly DownTime[];
  /** The gaps of the recording. */
  readonly gaps: readonly Span[];
  /** Liquidations of the watched wallets in the record, in the order in which they happened. */
  readonly liquidations: readonly Event[];
  /** Fields by rule that the rule reads and samples do not contain: known only where the recording reaches. */
  readonly unkept: readonly { readonly rule: string; readonly fields: readonly string[] }[];
  /** Sentences for people about what history holds and is not used. */
  readonly unread: readonly string[];
}

/** A span without a running daemon. */
export interface DownTime extends Span {
  /** The daemon was stopped in order; false: it crashed. */
  readonly stopped: boolean;
}

/** Observations processed before the event loop gets a turn. */
const observationsPerTurn = 4_000;

/** @throws {NothingKept} where history holds nothing of that time */
export async function backtest(input: BacktestInput): Promise<Backtested> {
  const { history } = input;
  const settings = { ...input.settings, ruleSet: asLive(input.settings.ruleSet) };
  const owners = await ownersOf(history, settings);
  const recorded = await history.recorded();
  const milestones = await history.milestones();
  const asked = { fromMs: Math.max(input.fromMs, firstStartMs(milestones)), toMs: input.toMs };
  const periods = await planPeriods(history, owners, asked, recorded?.fromMs ?? null, recorded?.toMs ?? null);
  const [first] = periods;
  if (first === undefined) throw new NothingKept();
  const down = downTimes(milestones, input);
  const { facts, unread } = readableFacts(await history.factHistory({ toMs: input.toMs }));
  const replay = new Replay({
    settings,
    past: history,
    fromMs: first.fromMs,
    ...(input.onChanges ? { onChanges: input.onChanges } : {}),
    ...(input.capacities ? { capacities: input.capacities } : {}),
  });
  const kept = new Set<string>();
  let fed = 0;
  const takeTurn = async (): Promise<void> => {
    if (++fed % observationsPerTurn !== 0) return;
    input.onProgress?.(replay.nowMs);
    await turn();
  };
  let hasBegun = false;
  for (const period of periods) {
    // At the first start of all nothing was kept.
    const isFirstStart = period.fromMs <= firstStartMs(milestones);
    replay.store.begin({
      facts: factsBefore(facts, period.fromMs),
      keep: isFirstStart ? [] : await profitBaselines(history, settings, period.fromMs),
    });
    if (period.resolution === "raw") {
      replay.store.renamePositions(incarnations(facts, period.fromMs));
      hasBegun = await replayRecording(replay, input, settings, period, hasBegun, takeTurn);
      continue;
    }
    const leastMs = period.resolution === "samples" ? 0 : resolutionMs[period.resolution];
    const ruleSet = asLive(input.rulesFor(leastMs));
    const scheduleMs = atLeast(settings.scheduleMs, leastMs);
    const settingsNow = { ...settings, ruleSet, scheduleMs };
    await replay.begin(period.fromMs, hasBegun, settingsNow);
    hasBegun = true;
    // While the daemon was down no deadline passed, and a start followed.
    const spans = down.filter((span) => span.fromMs >= period.fromMs && span.fromMs < period.toMs);
    const passTime = async (untilMs: number): Promise<void> => {
      for (let span = spans[0]; span !== undefined && span.fromMs < untilMs; span = spans[0]) {
        spans.shift();
        replay.passUntil(span.fromMs);
        if (span.stopped) replay.observe({ kind: "stopped", atMs: span.fromMs });
        // The recording of the next period contains that start.
        if (span.toMs >= period.toMs) return;
        await replay.begin(span.toMs, false, settingsNow);
        replay.observe({ kind: "started", atMs: span.toMs, version: "", lastAliveMs: span.fromMs });
      }
      replay.passUntil(untilMs);
    };
    const query = {
      resolution: period.resolution,
      fromMs: period.fromMs,
      toMs: period.toMs,
      owners,
      facts: facts.filter((fact) => fact.atMs < period.toMs),
      wallets: settings.wallets.map(({ name }) => name),
      histories: historiesOf(ruleSet, scheduleMs),
      down,
    };
    for await (const observation of storedObservations(history, query)) {
      if (observation.kind === "figures")
        for (const { owner, values } of observation.given)
          for (const name of Object.keys(values)) kept.add(`${scopeOf(owner)}.${name}`);
      await passTime(observation.atMs);
      replay.observe(observation);
      await takeTurn();
    }
    await passTime(period.toMs);
  }
  replay.finish();
  input.onEnd?.(replay.watch);
  const known = new Set(settings.wallets.map(({ name }) => name));
  const liquidations = (
    await history.events({ kind: "liquidation", fromMs: first.fromMs, toMs: input.toMs })
  ).filter(
    ({ wallet, fields }) => wallet !== null && known.has(wallet) && fields.role !== "adl_counterparty",
  );
  return {
    fromMs: first.fromMs,
    toMs: periods.at(-1)!.toMs,
    journal: replay.journal,
    periods,
    down,
    gaps: (recorded?.gaps ?? []).filter((gap) => gap.toMs > first.fromMs && gap.fromMs < input.toMs),
    liquidations,
    unkept: periods.some(({ resolution }) => resolution !== "raw") ? unkept(settings.ruleSet, kept) : [],
    unread,
  };
}

/** History holds nothing of the requested time. */
export class NothingKept extends Error {
  override readonly name = "NothingKept";
}

/**
 * Observations that are not fed to a watch: the start of a watch, and fire drills, which are no events of the exchange.
 */
const notFedKinds: ReadonlySet<Observation["kind"]> = new Set(["watching", "drill", "drilled"]);

async function replayRecording(
  replay: Replay,
  { history, toMs }: BacktestInput,
  settings: WatchSettings,
  period: Period,
  hadBegun: boolean,
  takeTurn: () => Promise<void>,
): Promise<boolean> {
  let hasBegun = false;
  for await (const observation of history.recording({ fromMs: period.fromMs, toMs })) {
    if (observation.kind === "watching") {
      await replay.begin(observation.atMs, observation.reloaded, settings, hasBegun && observation.wentOn);
      hasBegun = true;
    } else if (!hasBegun) {
      await replay.begin(period.fromMs, hadBegun, settings);
      hasBegun = true;
    }
    if (!notFedKinds.has(observation.kind)) replay.observe(observation);
    await takeTurn();
  }
  return hasBegun || hadBegun;
}

/** The owners of the samples that are read: the watched wallets, and the owners that all wallets share. */
async function ownersOf(history: BacktestHistory, { wallets }: WatchSettings): Promise<readonly string[]> {
  const names = new Set(wallets.map(({ name }) => name));
  const shared = new Set(["markets", "fundingRates", "exchange", "daemon"]);
  const ranks = ["markets", "fundingRates"];
  return (await history.tickOwners())
    .filter((owner) => shared.has(owner) || names.has(owner.split("/")[0]!))
    .sort((a, b) => ranks.indexOf(b) - ranks.indexOf(a));
}

/** The finest data stored for each part of the time, oldest first. */
async function planPeriods(
  history: BacktestHistory,
  owners: readonly string[],
  { fromMs, toMs }: Span,
  recordedFromMs: number | null,
  recordedToMs: number | null,
): Promise<readonly Period[]> {
  const rawFromMs = Math.max(fromMs, recordedFromMs ?? Number.POSITIVE_INFINITY);
  const periods: Period[] = [];
  let untilMs = toMs;
  if (rawFromMs < toMs && recordedToMs !== null && recordedToMs > fromMs) {
    periods.unshift({ fromMs: rawFromMs, toMs, resolution: "raw" });
    untilMs = rawFromMs;
  }
  for (const resolution of ["samples", "minute", "hour"] as const) {
    if (untilMs <= fromMs) break;
    let firstMs = Number.POSITIVE_INFINITY;
    for (const owner of owners)
      firstMs = Math.min(firstMs, await firstSampleMs(history, owner, resolution, fromMs, untilMs));
    if (firstMs >= untilMs) continue;
    // A bucket that began earlier belongs to the time before.
    const beginsMs = Math.max(fromMs, firstMs);
    periods.unshift({ fromMs: beginsMs, toMs: untilMs, resolution });
    untilMs = beginsMs;
  }
  return periods;
}

async function firstSampleMs(
  history: BacktestHistory,
  owner: string,
  resolution: StoredResolution,
  fromMs: number,
  toMs: number,
): Promise<number> {
  const all: AsyncIterable<{ readonly atMs: number }> =
    resolution === "samples"
      ? history.ticks({ owner, fromMs, toMs: toMs - 1 })
      : history.rollups({ owner, resolution, fromMs, toMs: toMs - resolutionMs[resolution] });
  for await (const { atMs } of all) return atMs;
  return Number.POSITIVE_INFINITY;
}

/**
 * The time of the very first start: samples from before it were fetched later, and nothing was watched then. -∞ where
 * it is not recorded.
 */
function firstStartMs(milestones: readonly Milestone[]): number {
  const first = milestones.find(({ kind }) => kind === "started");
  const { lastAliveMs } = JSON.parse(first?.value ?? "{}") as { readonly lastAliveMs?: number | null };
  return first !== undefined && lastAliveMs === null ? first.atMs : Number.NEGATIVE_INFINITY;
}

/** Spans before starts, which state the time at which the daemon was last alive. */
function downTimes(milestones: readonly Milestone[], { fromMs, toMs }: Span): readonly DownTime[] {
  return milestones.flatMap(({ kind, atMs, value }, index) => {
    if (kind !== "started") return [];
    const { lastAliveMs } = JSON.parse(value) as { readonly lastAliveMs: number | null };
    if (lastAliveMs === null || atMs <= fromMs || lastAliveMs >= toMs || atMs - lastAliveMs < minDownMs)
      return [];
    const end = milestones
      .slice(0, index)
      .findLast((one) => one.kind === "started" || one.kind === "stopped");
    return [{ fromMs: lastAliveMs, toMs: atMs, stopped: end?.kind === "stopped" }];
  });
}

/** A shorter span is an ordinary restart and is not reported. */
const minDownMs = 60_000;

function factsBefore(facts: readonly FactChange[], atMs: number): readonly FactChange[] {
  return facts.filter((fact) => fact.atMs < atMs);
}

/** Returns the key that distinguished a position at that time from others of its name. */
function incarnations(facts: readonly FactChange[], atMs: number): (subject: string) => string | undefined {
  const known = new Map<string, string>();
  for (const fact of facts) {
    if (incarnationFact.is(fact) && fact.atMs < atMs)
      known.set(fact.owner, incarnationFact.read(fact.owner, fact.value).name);
  }
  return (subject) => known.get(subject);
}

/** The profit baseline of each wallet at that time. */
async function profitBaselines(
  history: BacktestHistory,
  { wallets }: WatchSettings,
  atMs: number,
): Promise<[string, string][]> {
  const keep = await history.keep();
  const found: [string, string][] = [];
  for (const { name } of wallets) {
    const kept = keptProfit.get(keep, name);
    if (kept === null) continue;
    const later = (await history.events({ kind: "collateral", wallet: name })).flatMap((event) => {
      const { seenMs, backfilled, fields, slot } = event;
      const account = accountOf(event);
      const counts = seenMs >= atMs && !backfilled && account !== null;
      return counts && typeof fields.amountUsd === "number" ? [{ account, slot, usd: fields.amountUsd }] : [];
    });
    const { name: row, value } = keptProfit.row(name, profitBefore(kept, later));
    if (value !== null) found.push([row, value]);
  }
  return found;
}

function atLeast(scheduleMs: WatchSettings["scheduleMs"], leastMs: number): WatchSettings["scheduleMs"] {
  return Object.fromEntries(
    Object.entries(scheduleMs).map(([source, ms]) => [source, Math.max(ms, leastMs)]),
  ) as Record<Source, number>;
}

function historiesOf(
  { conditions, events }: RuleSet,
  scheduleMs: WatchSettings["scheduleMs"],
): { source: Source; everyMs: number }[] {
  const kinds = new Set<RuleEventKind>(["liquidation", "collateral"]);
  for (const rule of events) kinds.add(rule.on as RuleEventKind);
  for (const rule of [...conditions, ...events])
    for (const { path } of rule.windows) if (path.kind === "event") kinds.add(path.event as RuleEventKind);
  const sources = new Set([...kinds].map((kind) => eventSources[kind]));
  sources.delete("exchangeStatus");
  sources.delete("marketConfig");
  return [...sources].map((source) => ({ source, everyMs: scheduleMs[source] * 2 }));
}

function scopeOf(owner: string): string {
  if (owner === "exchange" || owner === "daemon") return owner;
  if (owner.startsWith("market/")) return "market";
  return ["wallet", "trader", "position"][owner.split("/").length - 1] ?? "";
}

/** Fields that need no samples: names and times, and fields that follow from events. */
const derivedFields = new Set([
  "position.symbol",
  "position.side",
  "trader.name",
  "trader.account",
  "trader.subaccount",
  "trader.positions",
  "market.symbol",
  "market.status",
  "market.maxLeverage",
  "market.takerFee",
  "wallet.name",
  "wallet.authority",
  "wallet.labels",
  "wallet.limits",
  "wallet.dataAge",
]);

function unkept({ conditions }: RuleSet, kept: ReadonlySet<string>): Backtested["unkept"] {
  return conditions.flatMap((rule) => {
    const fields = rule.reads
      .filter(({ scope, sources }) => scope !== "event" && sources.length > 0)
      .map(({ scope, field }) => `${scope}.${field}`)
      .filter((name) => !kept.has(name) && !derivedFields.has(name));
    const own = fields.filter((name) => !(name.split(".")[1]! in eventSources));
    return own.length === 0 ? [] : [{ rule: rule.name, fields: [...new Set(own)] }];
  });
}
