/** Reads back from history what the watch has to know at a start: rule states, open alerts, throttles, windows. */

import { setImmediate as turn } from "node:timers/promises";
import { clockSlackMs } from "../alerts/endings/liquidations.ts";
import { Escalations } from "../alerts/reminders/escalations.ts";
import { Throttles } from "../alerts/routing/throttles.ts";
import { isTaking, type Severity } from "../domain/alert.ts";
import type { Event, EventKind } from "../domain/event.ts";
import { bucketOf, type RollUpBlock, resolutionMs, type StatsColumns } from "../domain/history.ts";
import type { Tick } from "../domain/observation.ts";
import type { Store } from "../domain/ports.ts";
import { readable } from "../engine/kept-kinds.ts";
import type { Remembered } from "../engine/remembered.ts";
import type { WatchSettings } from "../engine/settings.ts";
import { Watch } from "../engine/watch.ts";
import { keptEvent } from "../evaluate/held-events.ts";
import { factName } from "../state/fact-name.ts";
import { type AtPeaks, HeldMinutes } from "../state/windows/held-minutes.ts";
import { LookBack, type Reach } from "../state/windows/look-back.ts";

/** Event alerts looked at for liquidations that were told already. */
const recentAlerts = 1_000;

/** Samples fed before the loop gets its turn: reading back a long past must not hold everything else up. */
const fedAtOnce = 2_000;

const { minute: minuteMs, hour: hourMs } = resolutionMs;

/** Payments of funding from so long before the newest one may be of positions that closed during the stop, ms. */
const paymentsMs = 2 * hourMs;

/** The input of a new watch: the database, or what a replay keeps in its place. */
export type Rememberable = Pick<
  Store,
  | "ticks"
  | "rollupBlocks"
  | "tickOwners"
  | "events"
  | "eventByKey"
  | "facts"
  | "keep"
  | "ruleStates"
  | "alerts"
  | "alertChanges"
  | "owed"
  | "lastIds"
>;

/** @param before the watch that it replaces at a reload, whose knowledge goes over; null: a start */
export async function rememberedWatch(
  settings: WatchSettings,
  store: Rememberable,
  nowMs: number,
  before: Watch | null = null,
): Promise<Watch> {
  const pasts: Past[] = [];
  for await (const past of readPasts(settings, store, nowMs)) pasts.push(past);
  return watchOf(settings, store, pasts, nowMs, before);
}

/**
 * Reads the long part of the past, the samples behind windows, while another watch goes on judging.
 * @returns what makes the watch: it reads the rest, which is short, and for that time nothing may be judged
 */
export async function preparedWatch(
  settings: WatchSettings,
  store: Rememberable,
  nowMs: number,
): Promise<(nowMs: number, before?: Watch) => Promise<Watch>> {
  const pasts: Past[] = [];
  for await (const past of readPasts(settings, store, nowMs)) pasts.push(past);
  return async (thenMs, before) => {
    for (const past of pasts) await readOn(past, store);
    return watchOf(settings, store, pasts, thenMs, before ?? null);
  };
}

async function watchOf(
  settings: WatchSettings,
  store: Rememberable,
  pasts: readonly Past[],
  nowMs: number,
  before: Watch | null,
): Promise<Watch> {
  const watch = new Watch(settings, await remembered(store), nowMs, before);
  const flowsFromMs = Math.min(nowMs, ...pasts.map(({ fromMs }) => fromMs)) - minuteMs;
  for (const event of await store.events({ kind: "collateral", fromMs: flowsFromMs }))
    watch.warmUp.rememberFlow(event);
  let fed = 0;
  for (const { minutes, ticks } of pasts) {
    watch.warmUp.rememberMinutes(minutes);
    await turn();
    for (const tick of ticks.splice(0)) {
      watch.warmUp.rememberTick(tick);
      if (++fed % fedAtOnce === 0) await turn();
    }
  }
  for (const [kind, spanMs] of watch.warmUp.eventSpans) {
    for (const event of await store.events({ kind, fromMs: nowMs - spanMs }))
      watch.warmUp.rememberEvent(event);
  }
  const [newest] = await store.events({ kind: "funding", newestFirst: true, limit: 1 });
  if (newest !== undefined)
    watch.warmUp.rememberPayments(
      await store.events({ kind: "funding", fromMs: newest.happenedMs - paymentsMs }),
    );
  const dayMs = watch.warmUp.dayToReadMs;
  if (dayMs !== null) {
    for (const kind of ["fill", "funding", "collateral"] as const)
      for (const event of await store.events({ kind, fromMs: dayMs })) watch.warmUp.rememberToday(event);
  }
  return watch;
}

/** The past of one owner, oldest first, as far as it was read. */
interface Past {
  readonly owner: string;
  readonly minutes: HeldMinutes;
  /** The beginning of the samples and the end of the minutes, ms. */
  readonly fromMs: number;
  readonly ticks: Tick[];
  /** The series that windows look at. */
  readonly wanted: (series: string) => boolean;
}

/** Reads what came since the last reading: several samples may be of one moment, of which some were read before. */
async function readOn({ owner, fromMs, ticks, wanted }: Past, store: Rememberable): Promise<void> {
  const lastMs = ticks.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
  let known = 0;
  for (let i = ticks.length - 1; i >= 0 && ticks[i]!.atMs === lastMs; i--) known++;
  for await (const tick of store.ticks({ owner, fromMs: Math.max(fromMs, lastMs), wanted })) {
    if (tick.atMs === lastMs && known-- > 0) continue;
    if (ticks.push(tick) % fedAtOnce === 0) await turn();
  }
}

/**
 * The past that the rules look back over, owner by owner: samples as far as windows keep them as they came, and before these
 * the minutes, which windows that are kept by the minute take as well.
 */
async function* readPasts(settings: WatchSettings, store: Rememberable, nowMs: number): AsyncIterable<Past> {
  const lookBack = new LookBack(settings.ruleSet);
  const wanted = (series: string) => lookBack.wants(series);
  // Thousands of accounts have millions of samples a day: read only for rules that look back over accounts themselves.
  const ofAccounts = lookBack.of("trader", "position");
  const accounts = ofAccounts.spanMs > 0 ? await accountOwners(store, settings) : [];
  const wallets = settings.wallets.map((wallet) => wallet.name);
  const ofAggregates = lookBack.of("book", "pair");
  const together =
    ofAggregates.spanMs > 0 ? (await store.tickOwners()).filter((owner) => /^(book|pair)\//.test(owner)) : [];
  const all: readonly (readonly [readonly string[], Reach])[] = [
    [["markets", "fundingRates"], lookBack.of("market")],
    [["daemon"], lookBack.of("daemon")],
    [wallets, lookBack.of("wallet")],
    [accounts, ofAccounts],
    [together, ofAggregates],
  ];
  for (const [owners, { spanMs, samplesMs }] of all) {
    if (spanMs === 0) continue;
    const fromMs = bucketOf(nowMs - spanMs, minuteMs);
    const samplesFromMs = bucketOf(nowMs - Math.max(samplesMs, minuteMs), minuteMs);
    for (const owner of owners) {
      const minutes = new HeldMinutes(owner);
      for await (const [block, widthMs] of readMinutes(store, owner, fromMs, samplesFromMs, wanted))
        minutes.add(
          block,
          widthMs,
          widthMs === minuteMs ? await atPeaks(block, lookBack.falls, store) : nowhere,
        );
      const past: Past = { owner, minutes, fromMs: samplesFromMs, ticks: [], wanted };
      await readOn(past, store);
      yield past;
    }
  }
}

/** Minutes that begin from `fromMs` to before `toMs`; hours of the time whose minutes are gone. */
async function* readMinutes(
  store: Rememberable,
  owner: string,
  fromMs: number,
  toMs: number,
  wanted: (series: string) => boolean,
): AsyncIterable<readonly [RollUpBlock, number]> {
  if (fromMs >= toMs) return;
  const hours = (endMs: number) =>
    store.rollupBlocks({
      owner,
      resolution: "hour",
      fromMs: bucketOf(fromMs, hourMs),
      toMs: endMs - 1,
      wanted,
    });
  let begun = false;
  const minutes = { owner, resolution: "minute", fromMs, toMs: toMs - 1, wanted } as const;
  for await (const block of store.rollupBlocks(minutes)) {
    const endMs = bucketOf(block.times[block.from]!, hourMs);
    if (!begun && endMs > fromMs) for await (const hour of hours(endMs)) yield [hour, hourMs];
    begun = true;
    yield [block, minuteMs];
  }
  if (!begun) for await (const hour of hours(bucketOf(toMs, hourMs))) yield [hour, hourMs];
}

const nowhere: AtPeaks = new Map();

/**
 * Reads samples of those minutes whose roll-ups do not tell the equity at the highest profit.
 * @param falls by series of a profit, the series that its falls are measured against
 */
async function atPeaks(
  { owner, series, times, columns, from, to }: RollUpBlock,
  falls: ReadonlyMap<string, string>,
  store: Rememberable,
): Promise<AtPeaks> {
  const found = new Map<string, Map<number, number>>();
  for (const [name, companion] of falls) {
    const profit = columns[series.indexOf(name)];
    const equity = columns[series.indexOf(companion)];
    if (profit === undefined || equity === undefined) continue;
    const wanted = (one: string) => one === name || one === companion;
    for (let i = from; i < to; i++) {
      if (tellsPeak(profit, equity, i)) continue;
      const atMs = times[i]!;
      let peak = Number.NEGATIVE_INFINITY;
      let behind = Number.NaN;
      for await (const tick of store.ticks({ owner, fromMs: atMs, toMs: atMs + minuteMs - 1, wanted })) {
        const value = tick.values[tick.series.indexOf(name)] ?? Number.NaN;
        if (!(value >= peak)) continue;
        peak = value;
        behind = tick.values[tick.series.indexOf(companion)] ?? Number.NaN;
      }
      if (Number.isNaN(behind)) continue;
      const of = found.get(name) ?? new Map<number, number>();
      found.set(name, of.set(atMs, behind));
    }
  }
  return found;
}

/** True if the highest profit is the last one, or equity moved as profit did all the time. */
function tellsPeak(profit: StatsColumns, equity: StatsColumns, i: number): boolean {
  if (profit.count[i] === 0) return true;
  const together = profit.lastMs[i] === equity.lastMs[i];
  if (together && profit.last[i] === profit.max[i]) return true;
  const apart = equity.last[i]! - profit.last[i]!;
  const slack = 1e-9 * Math.abs(equity.max[i]!);
  const isSame = (kind: "min" | "max") => Math.abs(equity[kind][i]! - profit[kind][i]! - apart) <= slack;
  return together && profit.count[i] === equity.count[i] && isSame("min") && isSame("max");
}

async function remembered(store: Rememberable): Promise<Remembered> {
  const firing = await store.alerts({ state: "firing" });
  const recent = await store.alerts({ state: "ended", limit: recentAlerts });
  const { kept: keep, unread } = readable(await store.keep());
  const known = new Set([...firing, ...recent].map(({ id }) => id));
  const unsettled = Escalations.idsIn(keep).filter((id) => !known.has(id));
  const alerts = [
    ...firing,
    ...recent,
    ...(unsettled.length > 0 ? await store.alerts({ ids: unsettled }) : []),
  ];
  const changes = (
    await Promise.all(firing.map((alert) => store.alertChanges({ alertId: alert.id })))
  ).flat();
  const held = Throttles.heldIds(keep);
  if (held.length > 0) changes.push(...(await store.alertChanges({ ids: held })));
  const told = new Map<number, Map<string, Severity>>();
  if (firing.length > 0) {
    for (const { alertId, receiver, severity } of await store.owed({ alertIds: firing.map(({ id }) => id) }))
      told.set(alertId, (told.get(alertId) ?? new Map<string, Severity>()).set(receiver, severity));
  }
  // What may have taken the subjects of the alerts that fire, unless it was told as the end of alerts before them.
  const sinceMs = Math.min(...firing.map((alert) => alert.sinceMs)) - clockSlackMs;
  const liquidations = firing.length > 0 ? await store.events({ kind: "liquidation", fromMs: sinceMs }) : [];
  for (const { id, ending, endedAtMs } of liquidations.length > 0 ? recent : []) {
    if (isTaking(ending) && endedAtMs !== null && endedAtMs >= sinceMs)
      changes.push(...(await store.alertChanges({ alertId: id })));
  }
  const waiting: Event[] = [];
  for (const name of keptEvent.keys(keep)) {
    const [kind = "", key = ""] = splitOnce(name, "/");
    const event = await store.eventByKey(kind as EventKind, key);
    if (event) waiting.push(event);
  }
  return {
    ids: await store.lastIds(),
    ruleStates: await store.ruleStates(),
    alerts: alerts.sort((a, b) => a.id - b.id),
    alertChanges: changes,
    told,
    keep,
    unread,
    liquidations,
    held: waiting,
    facts: new Map((await store.facts()).map((fact) => [factName(fact.owner, fact.name), fact.value])),
  };
}

function splitOnce(text: string, at: string): [string, string] {
  const index = text.indexOf(at);
  return [text.slice(0, index), text.slice(index + at.length)];
}

/** Owners of account ticks: PDA indices and subaccounts are known from the newest ones on record. */
async function accountOwners(store: Rememberable, settings: WatchSettings): Promise<readonly string[]> {
  const wallets = new Set(settings.wallets.map((wallet) => wallet.name));
  return (await store.tickOwners()).filter(
    (owner) => owner.includes("/") && wallets.has(owner.split("/")[0]!),
  );
}
