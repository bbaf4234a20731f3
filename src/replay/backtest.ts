/**
 * Judges the recorded past by rules. As far as the recording reaches, the observations themselves are fed, which gives what
 * a live run gave; before that the stored samples, before those the roll-ups of minutes and hours, as figures.
 */
import { setImmediate as turn } from "node:timers/promises";
import type { Changes, FactChange, Milestone } from "../domain/changes.ts";
import type { Capacity } from "../domain/delivery.ts";
import type { Event } from "../domain/event.ts";
import { resolutionMs } from "../domain/history.ts";
import type { Observation } from "../domain/observation.ts";
import type { Store } from "../domain/ports.ts";
import type { Source } from "../domain/sources.ts";
import type { WatchSettings } from "../engine/settings.ts";
import type { Watch } from "../engine/watch.ts";
import { eventSources, type RuleEventKind, type RuleSet } from "../rules/index.ts";
import { keptProfit, profitBefore } from "../state/profit/kept-profit.ts";
import { accountOf } from "../state/profit/records/flows.ts";
import { asLive } from "./as-live.ts";
import type { Journal } from "./journal.ts";
import { Replay } from "./replay.ts";
import { type KeptResolution, storedObservations } from "./stored-observations.ts";

/** The history that a backtest reads: the store, and every change of facts in order. */
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
  /** As the daemon's; the rules in it are those that are tested. */
  readonly settings: WatchSettings;
  /** The same rules where data come this seldom, ms: what is stale is measured against that. */
  readonly rulesFor: (leastMs: number) => RuleSet;
  readonly history: BacktestHistory;
  readonly fromMs: number;
  readonly toMs: number;
  /** Told now and then how far it is, ms. */
  readonly onProgress?: (atMs: number) => void;
  readonly onChanges?: (changes: Changes) => void;
  /** Capacities of receivers, by name. Left out: the usual ones. */
  readonly capacities?: ReadonlyMap<string, Capacity>;
  /** Handed the watch as it stands at the end. */
  readonly onEnd?: (watch: Watch) => void;
}

export type PeriodKind = "raw" | KeptResolution;

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
  /** Fields that rules read and samples do not keep, by rule: judged where the recording reaches, and nowhere else. */
  readonly unkept: readonly { readonly rule: string; readonly fields: readonly string[] }[];
}

/** A time in which the daemon did not run. */
export interface DownTime extends Span {
  /** It was stopped, and not cut off. */
  readonly stopped: boolean;
}

/** Observations between two looks around. */
const breath = 4_000;

/** @throws {NothingKept} where history holds nothing of that time */
export async function backtest(input: BacktestInput): Promise<Backtested> {
  const { history } = input;
  const settings = { ...input.settings, ruleSet: asLive(input.settings.ruleSet) };
  const owners = await ownersOf(history, settings);
  const recorded = await history.recorded();
  const milestones = await history.milestones();
  const asked = { fromMs: Math.max(input.fromMs, watchedFromMs(milestones)), toMs: input.toMs };
  const periods = await plan(history, owners, asked, recorded?.fromMs ?? null, recorded?.toMs ?? null);
  const [first] = periods;
  if (first === undefined) throw new NothingKept();
  const down = downTimes(milestones, input);
  const facts = await history.factHistory({ toMs: input.toMs });
  const replay = new Replay({
    settings,
    past: history,
    fromMs: first.fromMs,
    ...(input.onChanges ? { onChanges: input.onChanges } : {}),
    ...(input.capacities ? { capacities: input.capacities } : {}),
  });
  const kept = new Set<string>();
  let fed = 0;
  const breathe = async (): Promise<void> => {
    if (++fed % breath !== 0) return;
    input.onProgress?.(replay.nowMs);
    await turn();
  };
  let begun = false;
  for (const period of periods) {
    // At the very first start nothing was kept.
    const anew = period.fromMs <= watchedFromMs(milestones);
    replay.store.begin({
      facts: newest(facts, period.fromMs),
      keep: anew ? [] : await profits(history, settings, period.fromMs),
    });
    if (period.resolution === "raw") {
      replay.store.renamePositions(incarnations(facts, period.fromMs));
      begun = await raw(replay, input, settings, period, begun, breathe);
      continue;
    }
    const leastMs = period.resolution === "samples" ? 0 : resolutionMs[period.resolution];
    const ruleSet = asLive(input.rulesFor(leastMs));
    const scheduleMs = atLeast(settings.scheduleMs, leastMs);
    const by = { ...settings, ruleSet, scheduleMs };
    await replay.begin(period.fromMs, begun, by);
    begun = true;
    // While nobody watched nothing comes due, and a start follows, as it did.
    const spans = down.filter((span) => span.fromMs >= period.fromMs && span.fromMs < period.toMs);
    const pass = async (untilMs: number): Promise<void> => {
      for (let span = spans[0]; span !== undefined && span.fromMs < untilMs; span = spans[0]) {
        spans.shift();
        replay.passUntil(span.fromMs);
        if (span.stopped) replay.observe({ kind: "stopped", atMs: span.fromMs });
        // The start of what comes next is in the recording.
        if (span.toMs >= period.toMs) return;
        await replay.begin(span.toMs, false, by);
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
      await pass(observation.atMs);
      replay.observe(observation);
      await breathe();
    }
    await pass(period.toMs);
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
  };
}

/** History holds nothing of the time that was asked for. */
export class NothingKept extends Error {
  override readonly name = "NothingKept";
}

/** Observations that no watch is fed: that one begins, and fire drills, which are nothing that happened. */
const notFed: ReadonlySet<Observation["kind"]> = new Set(["watching", "drill", "drilled"]);

async function raw(
  replay: Replay,
  { history, toMs }: BacktestInput,
  settings: WatchSettings,
  period: Period,
  begunBefore: boolean,
  breathe: () => Promise<void>,
): Promise<boolean> {
  let begun = false;
  for await (const observation of history.recording({ fromMs: period.fromMs, toMs })) {
    if (observation.kind === "watching") {
      await replay.begin(observation.atMs, observation.reloaded, settings, begun && observation.wentOn);
      begun = true;
    } else if (!begun) {
      await replay.begin(period.fromMs, begunBefore, settings);
      begun = true;
    }
    if (!notFed.has(observation.kind)) replay.observe(observation);
    await breathe();
  }
  return begun || begunBefore;
}

/** The owners of the samples that are read: of those that are watched. */
async function ownersOf(history: BacktestHistory, { wallets }: WatchSettings): Promise<readonly string[]> {
  const names = new Set(wallets.map(({ name }) => name));
  const shared = new Set(["markets", "fundingRates", "exchange", "daemon"]);
  const ranks = ["markets", "fundingRates"];
  return (await history.tickOwners())
    .filter((owner) => shared.has(owner) || names.has(owner.split("/")[0]!))
    .sort((a, b) => ranks.indexOf(b) - ranks.indexOf(a));
}

/** The best that is kept of each part of the time, oldest first. */
async function plan(
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
      firstMs = Math.min(firstMs, await firstOf(history, owner, resolution, fromMs, untilMs));
    if (firstMs >= untilMs) continue;
    // A bucket that began before is the past of what is asked for.
    const beginsMs = Math.max(fromMs, firstMs);
    periods.unshift({ fromMs: beginsMs, toMs: untilMs, resolution });
    untilMs = beginsMs;
  }
  return periods;
}

async function firstOf(
  history: BacktestHistory,
  owner: string,
  resolution: KeptResolution,
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

/** The first start of all: samples from before it were fetched, and nobody watched then. -∞ where it is not on record. */
function watchedFromMs(milestones: readonly Milestone[]): number {
  const first = milestones.find(({ kind }) => kind === "started");
  const { lastAliveMs } = JSON.parse(first?.value ?? "{}") as { readonly lastAliveMs?: number | null };
  return first !== undefined && lastAliveMs === null ? first.atMs : Number.NEGATIVE_INFINITY;
}

/** A start says when the daemon had been alive last. */
function downTimes(milestones: readonly Milestone[], { fromMs, toMs }: Span): readonly DownTime[] {
  return milestones.flatMap(({ kind, atMs, value }, index) => {
    if (kind !== "started") return [];
    const { lastAliveMs } = JSON.parse(value) as { readonly lastAliveMs: number | null };
    if (lastAliveMs === null || atMs <= fromMs || lastAliveMs >= toMs || atMs - lastAliveMs < shortMs)
      return [];
    const end = milestones
      .slice(0, index)
      .findLast((one) => one.kind === "started" || one.kind === "stopped");
    return [{ fromMs: lastAliveMs, toMs: atMs, stopped: end?.kind === "stopped" }];
  });
}

/** A restart takes seconds and is no gap worth naming. */
const shortMs = 60_000;

function newest(facts: readonly FactChange[], atMs: number): readonly FactChange[] {
  return facts.filter((fact) => fact.atMs < atMs);
}

/** The keys that distinguish the positions of then from others of their names. */
function incarnations(facts: readonly FactChange[], atMs: number): (subject: string) => string | undefined {
  const known = new Map<string, string>();
  for (const fact of facts) {
    if (fact.name === "incarnation" && fact.atMs < atMs)
      known.set(fact.owner, (JSON.parse(fact.value) as { readonly name: string }).name);
  }
  return (subject) => known.get(subject);
}

/** The profit baseline of each wallet then. */
async function profits(
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

/** Known without being kept: names and times, and what events tell. */
const follows = new Set([
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
      .filter((name) => !kept.has(name) && !follows.has(name));
    const own = fields.filter((name) => !(name.split(".")[1]! in eventSources));
    return own.length === 0 ? [] : [{ rule: rule.name, fields: [...new Set(own)] }];
  });
}
