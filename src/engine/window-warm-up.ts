/**
 * Window warm-up: samples and events from history, or from the exchange's own history, are fed to windows at their own
 * time, also for subjects that appear later. Fed before the first observation; it fires nothing.
 */

import type { Event } from "../domain/event.ts";
import type { Tick } from "../domain/observation.ts";
import type { ChangesBuilder } from "../domain/stored/changes-builder.ts";
import type { Today } from "../state/day/today.ts";
import type { ProfitGaps } from "../state/profit/profit-gaps.ts";
import type { Profits } from "../state/profit/profits.ts";
import type { SubjectNode } from "../state/subjects.ts";
import { EarlierSamples } from "../state/windows/earlier-samples.ts";
import type { EventWindows } from "../state/windows/event-windows.ts";
import type { HeldMinutes } from "../state/windows/held-minutes.ts";
import type { World } from "../state/world.ts";
import type { Aggregates } from "./aggregates/aggregates.ts";

/** Time for which samples wait for an account that has not appeared, ms; later accounts start empty. */
const samplesKeptMs = 600_000;

export interface WindowWarmUpParts {
  readonly world: World;
  readonly aggregates: Aggregates;
  readonly eventWindows: EventWindows;
  readonly profits: Profits;
  readonly gaps: ProfitGaps;
  readonly today: Today;
  readonly startedMs: number;
  readonly nowMs: () => number;
}

export class WindowWarmUp {
  readonly #parts: WindowWarmUpParts;
  /** Samples from before the start, for subjects that have not appeared yet. */
  readonly #earlier = new EarlierSamples();
  /** Subjects from before a reload: their windows are fed the past with the first observation. */
  readonly #standing: SubjectNode[] = [];
  /** Subjects whose event windows have not been fed the past yet. */
  readonly #newcomers: SubjectNode[] = [];

  constructor(parts: WindowWarmUpParts) {
    this.#parts = parts;
  }

  /** The longest look back of rules, by event kind, ms: the span to read from history at a start. */
  get eventSpans(): ReadonlyMap<Event["kind"], number> {
    return this.#parts.eventWindows.spans;
  }

  /** The time from which today's events have to be read from history at a start, ms; null: their sums were stored. */
  get dayToReadMs(): number | null {
    const { today } = this.#parts;
    return today.incomplete ? today.startMs : null;
  }

  /** Feeds the minutes of an owner to the windows, before its first tick; once for each owner. */
  rememberMinutes(minutes: HeldMinutes): void {
    const { world } = this.#parts;
    const sinceMs = world.wallets.get(minutes.owner.split("/", 1)[0]!)?.sinceMs ?? 0;
    const node = world.nodes.get(minutes.owner);
    if (node && !isAccountOrMarket(node)) this.#earlier.feedMinutes(node, minutes, sinceMs);
    else this.#earlier.minutes(minutes, sinceMs);
  }

  /**
   * Feeds a stored tick to the windows, before the first observation. Ticks of one owner come oldest first. Existing
   * subjects take it at once; it is held only for those that have not appeared yet.
   */
  rememberTick(tick: Tick): void {
    const { world, gaps } = this.#parts;
    // The wallet's name may have belonged to another wallet then.
    const wallet = world.wallets.get(tick.owner.split("/", 1)[0]!);
    if (wallet && tick.atMs < wallet.sinceMs) return;
    const node = world.nodes.get(tick.owner);
    if (wallet && node === wallet.node) {
      const figure = (field: string) => tick.values[tick.series.indexOf(`wallet.${field}`)];
      const sample = { equity: figure("equity"), pnl: figure("pnl"), netDeposits: figure("netDeposits") };
      gaps.take(tick.owner, node.windows, tick.atMs, sample);
    }
    if (node && !isAccountOrMarket(node)) this.#earlier.feed(node, tick);
    else this.#earlier.tick(tick);
  }

  /** Takes the time of a collateral record; at a start before the ticks that follow it. */
  rememberFlow({ wallet, backfilled, happenedMs }: Event): void {
    if (wallet !== null && !backfilled) this.#parts.gaps.takeFlow(wallet, happenedMs);
  }

  /** Takes stored payments of the funding history: a position may have closed during the downtime. */
  rememberPayments(events: readonly Event[]): void {
    const { world, profits, nowMs } = this.#parts;
    for (const [name, entry] of world.wallets) {
      const own = events.filter(({ wallet, seenMs }) => wallet === name && seenMs >= entry.sinceMs);
      if (own.length > 0) profits.records.rememberPayments(entry, own, nowMs());
    }
  }

  /** Adds a stored event of today to its sums, before the first observation. */
  rememberToday(event: Event): void {
    const { world, today } = this.#parts;
    const sinceMs = world.wallets.get(event.wallet ?? "")?.sinceMs ?? 0;
    if (event.seenMs >= sinceMs) today.remember(event);
  }

  /** Feeds a stored event to the windows, before the first observation. */
  rememberEvent(event: Event): void {
    const { world, eventWindows, nowMs } = this.#parts;
    const sinceMs = event.wallet === null ? 0 : (world.wallets.get(event.wallet)?.sinceMs ?? 0);
    if (event.seenMs < sinceMs || !eventWindows.keep(event, nowMs())) return;
    // Samples from before the position was seen belong to another one; new subjects get the whole past at once.
    for (const node of this.#touchedBy(event))
      if (event.seenMs >= node.bornMs && !this.#newcomers.includes(node))
        eventWindows.feed(node, event, nowMs());
  }

  /** Takes past samples from elsewhere: into history, and into the windows of existing subjects, at their own time. */
  takeBackfill(ticks: readonly Tick[], builder: ChangesBuilder): void {
    const warmUp = new EarlierSamples();
    for (const tick of ticks) {
      builder.changes.ticks.push(tick);
      warmUp.tick(tick);
    }
    for (const owner of warmUp.owners)
      for (const node of this.#parts.world.ownedBy(owner)) warmUp.replay(node);
  }

  /** Adds a subject from before a reload: its windows are fed with the first observation. */
  stands(node: SubjectNode): void {
    if (isAccountOrMarket(node)) this.#standing.push(node);
  }

  /**
   * A subject appeared: the samples of its past are fed to its windows, and the events when its account is complete.
   */
  appeared(node: SubjectNode): void {
    if (node.first) this.#earlier.replay(node);
    this.#newcomers.push(node);
  }

  /** Begins an observation. */
  begin(): void {
    for (const node of this.#standing.splice(0)) this.#earlier.replay(node);
  }

  /** Drops the samples of subjects that did not appear in time. */
  drop(atMs: number): void {
    if (atMs - this.#parts.startedMs > samplesKeptMs) this.#earlier.clear();
  }

  /** Gives new subjects their earlier events. */
  welcomed(builder: ChangesBuilder): void {
    for (const node of this.#newcomers) this.#parts.eventWindows.replay(node, builder.atMs);
    this.#newcomers.length = 0;
  }

  /** Feeds a new event to the windows that cover it. */
  happened(event: Event, builder: ChangesBuilder): void {
    this.welcomed(builder);
    const { eventWindows } = this.#parts;
    if (!eventWindows.keep(event, builder.atMs)) return;
    for (const node of this.#touchedBy(event)) eventWindows.feed(node, event, builder.atMs);
  }

  *#touchedBy(event: Event): Iterable<SubjectNode> {
    yield* this.#parts.world.touchedBy(event);
    yield* this.#parts.aggregates.touchedBy(event);
  }
}

/** Returns true if its past is stored under an owner that several subjects share. */
function isAccountOrMarket({ subject: { scope } }: SubjectNode): boolean {
  return scope === "trader" || scope === "position" || scope === "market";
}
