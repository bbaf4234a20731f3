/** Restores a watch from history at a start: rule states, open alerts, throttles, windows. */

import { setImmediate as turn } from "node:timers/promises";
import { clockSlackMs } from "../alerts/endings/liquidations.ts";
import { Escalations } from "../alerts/reminders/escalations.ts";
import { Throttles } from "../alerts/routing/throttles.ts";
import { isTaking, type Severity } from "../domain/alerts/alert.ts";
import type { Event, EventKind } from "../domain/event.ts";
import type { Tick } from "../domain/observation.ts";
import type { Store } from "../domain/ports.ts";
import { factName } from "../domain/stored/facts.ts";
import { bucketOf, type RollUpBlock, resolutionMs, type StatsColumns } from "../domain/stored/history.ts";
import { readableFacts } from "../engine/fact-kinds.ts";
import { readable } from "../engine/kept-kinds.ts";
import type { Remembered } from "../engine/remembered.ts";
import type { WatchSettings } from "../engine/settings.ts";
import { Watch } from "../engine/watch.ts";
import { keptEvent } from "../evaluate/events/held-events.ts";
import { type AtPeaks, HeldMinutes } from "../state/windows/held-minutes.ts";
import { LookBack, type Reach } from "../state/windows/look-back.ts";

/** Number of ended alerts searched for liquidations that were already reported. */
const maxRecentAlerts = 1_000;

/** Samples fed before the event loop gets a turn, so that a long history does not block it. */
const maxFedAtOnce = 2_000;

const { minute: minuteMs, hour: hourMs } = resolutionMs;

/**
 * Funding payments up to this long before the newest one may belong to positions that closed while the daemon was down,
 * ms.
 */
const paymentsMs = 2 * hourMs;

/** The source of a new watch: the database, or the memory of a replay. */
export type WatchHistory = Pick<
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
  | "deliveryItems"
  | "lastIds"
>;

/** @param before the watch replaced at a reload, whose state the new one takes over; null: a start */
export async function restoreWatch(
  settings: WatchSettings,
  store: WatchHistory,
  nowMs: number,
  before: Watch | null = null,
): Promise<Watch> {
  const histories: OwnerHistory[] = [];
  for await (const history of readHistories(settings, store, nowMs)) histories.push(history);
  return createWatch(settings, store, histories, nowMs, before);
}

/**
 * Reads the long part of history, the samples behind windows, while another watch is still running.
 * @returns a function that creates the watch: it reads the rest, which is short; nothing may be observed meanwhile
 */
export async function prepareRestore(
  settings: WatchSettings,
  store: WatchHistory,
  nowMs: number,
): Promise<(nowMs: number, before?: Watch) => Promise<Watch>> {
  const histories: OwnerHistory[] = [];
  for await (const history of readHistories(settings, store, nowMs)) histories.push(history);
  return async (thenMs, before) => {
    for (const history of histories) await readNewer(history, store);
    return createWatch(settings, store, histories, thenMs, before ?? null);
  };
}

async function createWatch(
  settings: WatchSettings,
  store: WatchHistory,
  histories: readonly OwnerHistory[],
  nowMs: number,
  before: Watch | null,
): Promise<Watch> {
  const watch = new Watch(settings, await readRemembered(store), nowMs, before);
  const flowsFromMs = Math.min(nowMs, ...histories.map(({ fromMs }) => fromMs)) - minuteMs;
  for (const event of await store.events({ kind: "collateral", fromMs: flowsFromMs }))
    watch.warmUp.rememberFlow(event);
  let fed = 0;
  for (const { minutes, ticks } of histories) {
    watch.warmUp.rememberMinutes(minutes);
    await turn();
    for (const tick of ticks.splice(0)) {
      watch.warmUp.rememberTick(tick);
      if (++fed % maxFedAtOnce === 0) await turn();
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

/** The samples and minutes of one owner, oldest first, as far as they were read. */
interface OwnerHistory {
  readonly owner: string;
  readonly minutes: HeldMinutes;
  /** Start of the samples and end of the minutes, ms. */
  readonly fromMs: number;
  readonly ticks: Tick[];
  /** Returns true for series that windows read. */
  readonly wanted: (series: string) => boolean;
}

/** Reads the samples since the last reading. Several samples may have the same time; those read before are skipped. */
async function readNewer({ owner, fromMs, ticks, wanted }: OwnerHistory, store: WatchHistory): Promise<void> {
  const lastMs = ticks.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
  let known = 0;
  for (let i = ticks.length - 1; i >= 0 && ticks[i]!.atMs === lastMs; i--) known++;
  for await (const tick of store.ticks({ owner, fromMs: Math.max(fromMs, lastMs), wanted })) {
    if (tick.atMs === lastMs && known-- > 0) continue;
    if (ticks.push(tick) % maxFedAtOnce === 0) await turn();
  }
}

/**
 * Reads the history that windows of rules reach back to, owner by owner: samples as far back as windows keep single
 * samples, and roll-ups of minutes before that.
 */
async function* readHistories(
  settings: WatchSettings,
  store: WatchHistory,
  nowMs: number,
): AsyncIterable<OwnerHistory> {
  const lookBack = new LookBack(settings.ruleSet);
  const wanted = (series: string) => lookBack.isWanted(series);
  // Thousands of accounts have millions of samples a day: they are read only for rules with windows over accounts.
  const ofAccounts = lookBack.of("trader", "position");
  const accounts = ofAccounts.spanMs > 0 ? await accountOwners(store, settings) : [];
  const wallets = settings.wallets.map((wallet) => wallet.name);
  const ofAggregates = lookBack.of("book", "pair");
  const aggregates =
    ofAggregates.spanMs > 0 ? (await store.tickOwners()).filter((owner) => /^(book|pair)\//.test(owner)) : [];
  const all: readonly (readonly [readonly string[], Reach])[] = [
    [["markets", "fundingRates"], lookBack.of("market")],
    [["daemon"], lookBack.of("daemon")],
    [wallets, lookBack.of("wallet")],
    [accounts, ofAccounts],
    [aggregates, ofAggregates],
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
          widthMs === minuteMs ? await atPeaks(block, lookBack.falls, store) : noPeaks,
        );
      const history: OwnerHistory = { owner, minutes, fromMs: samplesFromMs, ticks: [], wanted };
      await readNewer(history, store);
      yield history;
    }
  }
}

/** Yields minutes that begin in [fromMs, toMs), and hours for the time whose minutes are deleted. */
async function* readMinutes(
  store: WatchHistory,
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

const noPeaks: AtPeaks = new Map();

/**
 * Reads samples of those minutes whose roll-ups do not state the equity at the highest profit.
 * @param falls the series of equity by the series of profit whose drawdown it scales
 */
async function atPeaks(
  { owner, series, times, columns, from, to }: RollUpBlock,
  falls: ReadonlyMap<string, string>,
  store: WatchHistory,
): Promise<AtPeaks> {
  const found = new Map<string, Map<number, number>>();
  for (const [name, companion] of falls) {
    const profit = columns[series.indexOf(name)];
    const equity = columns[series.indexOf(companion)];
    if (profit === undefined || equity === undefined) continue;
    const wanted = (one: string) => one === name || one === companion;
    for (let i = from; i < to; i++) {
      if (statesPeak(profit, equity, i)) continue;
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

/** Returns true if the highest profit is the last one, or equity moved with profit all the time. */
function statesPeak(profit: StatsColumns, equity: StatsColumns, i: number): boolean {
  if (profit.count[i] === 0) return true;
  const isSameTime = profit.lastMs[i] === equity.lastMs[i];
  if (isSameTime && profit.last[i] === profit.max[i]) return true;
  const difference = equity.last[i]! - profit.last[i]!;
  const slack = 1e-9 * Math.abs(equity.max[i]!);
  const isSame = (kind: "min" | "max") => Math.abs(equity[kind][i]! - profit[kind][i]! - difference) <= slack;
  return isSameTime && profit.count[i] === equity.count[i] && isSame("min") && isSame("max");
}

async function readRemembered(store: WatchHistory): Promise<Remembered> {
  const firing = await store.alerts({ state: "firing" });
  const recent = await store.alerts({ state: "ended", limit: maxRecentAlerts });
  const { kept: keep, unread, damaged } = readable(await store.keep());
  const { facts, unread: unreadFacts } = readableFacts(await store.facts());
  const known = new Set([...firing, ...recent].map(({ id }) => id));
  const missing = Escalations.idsIn(keep).filter((id) => !known.has(id));
  const alerts = [...firing, ...recent, ...(missing.length > 0 ? await store.alerts({ ids: missing }) : [])];
  const changes = (
    await Promise.all(firing.map((alert) => store.alertChanges({ alertId: alert.id })))
  ).flat();
  const held = Throttles.heldIds(keep);
  if (held.length > 0) changes.push(...(await store.alertChanges({ ids: held })));
  const notified = new Map<number, Map<string, Severity>>();
  if (firing.length > 0) {
    for (const { alertId, receiver, severity } of await store.deliveryItems({
      alertIds: firing.map(({ id }) => id),
    }))
      notified.set(alertId, (notified.get(alertId) ?? new Map<string, Severity>()).set(receiver, severity));
  }
  // Liquidations that may have closed the subjects of firing alerts, unless they were reported as the end of earlier
  // alerts.
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
    notified: notified,
    keep,
    unread: [...unread, ...unreadFacts],
    damaged,
    liquidations,
    held: waiting,
    facts: new Map(facts.map(({ owner, name, value }) => [factName(owner, name), value])),
  };
}

function splitOnce(text: string, at: string): [string, string] {
  const index = text.indexOf(at);
  return [text.slice(0, index), text.slice(index + at.length)];
}

/** Owners of account samples: PDA indices and subaccounts follow from the stored samples. */
async function accountOwners(store: WatchHistory, settings: WatchSettings): Promise<readonly string[]> {
  const wallets = new Set(settings.wallets.map((wallet) => wallet.name));
  return (await store.tickOwners()).filter(
    (owner) => owner.includes("/") && wallets.has(owner.split("/")[0]!),
  );
}
