/**
 * Decides why an alert about a position or an account has ended.
 *
 * A position that no longer exists was closed, liquidated or auto-deleveraged. The records that distinguish these
 * cases (the inbox, the liquidation history) may arrive after the account's state. Such an ending requests the records
 * at once and waits until they arrive or the wait times out, so that a liquidation is not reported as "resolved".
 */

import { type AlertChange, type Ending, isTaking, type RuleRow } from "../../domain/alerts/alert.ts";
import type { Event } from "../../domain/event.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { KeptValues } from "../../domain/stored/kept.ts";
import type { Deadlines } from "../../domain/structures/deadlines.ts";
import type { AccountRef } from "../../domain/subject.ts";
import type { AlertBook } from "../alert-book.ts";
import type { AlertText, LiveAlert } from "../live-alert.ts";
import { endingPatienceMs } from "../patience.ts";
import { FillTrail } from "./fill-trail.ts";
import { type KeptEnding, keptEnding } from "./kept-ending.ts";
import { Liquidations } from "./liquidations.ts";
import {
  concerns,
  type EndedAlert,
  isReadable,
  settledAfterMs,
  type WaitingEnding,
  wordsOf,
} from "./waiting-ending.ts";

/**
 * Time for which a recovery whose figures are unknown after a restart waits for them; then it is reported without them.
 */
const figuresPatienceMs = 600_000;
/** Interval at which endings that wait for figures, or whose condition holds again, are checked. */
const againMs = 5_000;
/** An open position. */
interface Held {
  /** The incarnation begins with its side. */
  readonly node: { readonly incarnation: string };
}

export class Endings {
  readonly #alerts: AlertBook;
  readonly #deadlines: Deadlines;
  readonly #builder: () => ChangesBuilder;
  readonly #release: (row: RuleRow, builder: ChangesBuilder) => void;
  readonly #positionsOf: (account: AccountRef) => ReadonlyMap<string, Held> | undefined;
  readonly #isPending: (row: RuleRow, judgedAs: string) => boolean;
  readonly liquidations: Liquidations;
  readonly #waiting = new Set<WaitingEnding>();
  /** Alerts whose ending data is stored in history. */
  readonly #kept = new Set<number>();
  /** The endings that waited before a reload, by alert, until it is known which of them still wait. */
  readonly #former = new Map<number, WaitingEnding>();

  constructor(options: {
    alerts: AlertBook;
    deadlines: Deadlines;
    builder: () => ChangesBuilder;
    release: (row: RuleRow, builder: ChangesBuilder) => void;
    /** The positions of an account, by symbol; undefined: there is no such account. */
    positionsOf: (account: AccountRef) => ReadonlyMap<string, Held> | undefined;
    /** Returns true while a condition is pending, if it is the one that recovered. */
    isPending: (row: RuleRow, judgedAs: string) => boolean;
    before?: Endings | undefined;
  }) {
    this.#alerts = options.alerts;
    this.#deadlines = options.deadlines;
    this.#builder = options.builder;
    this.#release = options.release;
    this.#positionsOf = options.positionsOf;
    this.#isPending = options.isPending;
    const { before } = options;
    this.liquidations = new Liquidations(before?.liquidations);
    if (before) for (const waiting of before.#waiting) this.#former.set(waiting.live.alert.id, waiting);
  }

  /** Ends at once if the reason is known; else waits for the records. */
  end(builder: ChangesBuilder, ending: EndedAlert): void {
    const former = this.#former.get(ending.live.alert.id);
    const waiting: WaitingEnding = {
      ...ending,
      ...(former && wordsOf(former)),
      goneMs: ending.goneMs ?? builder.atMs,
      sinceMs: former?.sinceMs ?? builder.atMs,
      fills: former?.fills ?? new FillTrail(ending.another, ending.taken),
      dueMs: Number.POSITIVE_INFINITY,
      queuedMs: Number.POSITIVE_INFINITY,
      place: -1,
      order: former?.order,
      onDue: () => this.#onDue(waiting),
    };
    // An ended alert gets no reminders.
    ending.live.isGone = () => true;
    const taking = this.liquidations.takingOf(waiting);
    if (taking !== null) this.#settle(builder, waiting, taking);
    else if (!ending.suspicious) this.#settle(builder, waiting, ending.fallback);
    else if (former) {
      this.#wait(waiting);
      this.#deadlines.set(waiting, former.dueMs);
    } else {
      this.#wait(waiting);
      this.#keep(builder, waiting);
      this.#askFor(builder, waiting);
      this.#deadlines.set(waiting, builder.atMs + settledAfterMs);
    }
  }

  #wait(waiting: WaitingEnding): void {
    const { live, sinceMs } = waiting;
    live.endingWait = { sinceMs, untilMs: sinceMs + endingPatienceMs };
    this.#waiting.add(waiting);
  }

  /** Ends the takeover from the watch before a reload. */
  tookOver(): void {
    this.#former.clear();
  }

  /** Returns the waiting endings; those that end at the same time are in firing order. */
  #inOrder(): readonly WaitingEnding[] {
    if (this.#waiting.size === 0) return [];
    return [...this.#waiting].sort((a, b) => a.live.alert.id - b.live.alert.id);
  }

  /** Records which endings have data in history, and deletes the data of those whose alert has ended. */
  tidy(keep: KeptValues, fires: (alertId: number) => boolean, builder: ChangesBuilder): void {
    for (const alertId of keptEnding.keys(keep).map(Number)) {
      this.#kept.add(alertId);
      if (!fires(alertId)) this.forget(alertId, builder);
    }
  }

  #keep(builder: ChangesBuilder, waiting: WaitingEnding): void {
    const { live, fallback, judgedAs, fromMs, fromSlot, goneMs, goneSlot, another, text, size, side } =
      waiting;
    const kept: KeptEnding = {
      ...{ fallback, fromMs, fromSlot, goneMs, another, size, side },
      ...(goneSlot !== undefined && { goneSlot }),
      ...(text && { text }),
      ...(judgedAs !== undefined && { judgedAs }),
      ...(waiting.fills.taken && { taken: true }),
    };
    keptEnding.put(live.alert.id, kept, builder);
    this.#kept.add(live.alert.id);
  }

  /** Deletes the data of an ending from history. */
  forget(alertId: number, builder: ChangesBuilder): void {
    if (this.#kept.delete(alertId)) keptEnding.drop(alertId, builder);
  }

  /**
   * Removes the alert of a condition that fires again from the waiting endings, if the recovery of its last alert was
   * not reported yet: that alert continues. Null: there is none.
   */
  takeBack(row: RuleRow, judgedAs: string, builder: ChangesBuilder): LiveAlert | null {
    for (const waiting of this.#waiting) {
      const { alert } = waiting.live;
      if (alert.rule !== row.rule || alert.subject !== row.subject || waiting.judgedAs !== judgedAs) continue;
      this.#waiting.delete(waiting);
      waiting.live.endingWait = null;
      this.forget(alert.id, builder);
      this.#deadlines.cancel(waiting);
      return waiting.live;
    }
    return null;
  }

  /** Takes an event. A liquidation explains the end; fills are evaluated after all of them have been taken. */
  happened(builder: ChangesBuilder, event: Event): void {
    this.liquidations.remember(event, builder.atMs);
    for (const waiting of this.#inOrder()) {
      const taking = this.liquidations.takingOf(waiting);
      if (taking !== null) this.#settle(builder, waiting, taking);
      else if (concerns(event, waiting)) {
        const { taken } = waiting.fills;
        waiting.fills.note(event);
        if (waiting.fills.taken !== taken) this.#keep(builder, waiting);
      }
    }
  }

  /** All events of an answer were taken: fills that closed the position explain the end. */
  weighFills(builder: ChangesBuilder): void {
    for (const waiting of this.#inOrder()) {
      const taking = waiting.fills.taken ? this.liquidations.takingOf(waiting) : null;
      if (taking !== null) this.#settle(builder, waiting, taking);
      else if (waiting.fills.closed) this.#settle(builder, waiting, waiting.fallback);
    }
  }

  /**
   * The newest rows of a liquidation history were read: the absence of a liquidation counts too, if the reading is
   * recent enough.
   * @param pdaIndex the account of the history; undefined: all accounts of the wallet
   */
  read(builder: ChangesBuilder, wallet: string, pdaIndex: number | undefined): void {
    for (const waiting of this.#inOrder()) {
      if (waiting.account.wallet !== wallet) continue;
      if (pdaIndex !== undefined && waiting.account.pdaIndex !== pdaIndex) continue;
      if (builder.atMs - waiting.sinceMs < settledAfterMs || this.#isPendingAgain(waiting)) continue;
      if (!isReadable(waiting, builder.atMs)) continue;
      this.#settle(builder, waiting, waiting.fallback);
    }
  }

  #onDue(waiting: WaitingEnding): void {
    if (!this.#waiting.has(waiting)) return;
    const builder = this.#builder();
    const waitedMs = builder.atMs - waiting.sinceMs;
    const isReady = waitedMs >= endingPatienceMs && isReadable(waiting, builder.atMs);
    const isPending = this.#isPendingAgain(waiting);
    if (!isPending && (isReady || waitedMs >= figuresPatienceMs))
      this.#settle(builder, waiting, waiting.fallback);
    else if (waitedMs < endingPatienceMs) {
      this.#askFor(builder, waiting);
      this.#deadlines.set(waiting, waiting.sinceMs + endingPatienceMs);
    } else {
      const { sinceMs } = waiting;
      waiting.live.endingWait = { sinceMs, untilMs: builder.atMs + againMs };
      this.#deadlines.set(waiting, builder.atMs + againMs);
    }
  }

  /** True while its condition is pending again: either it fires and its alert continues, or the alert ends. */
  #isPendingAgain({ live, judgedAs }: WaitingEnding): boolean {
    return judgedAs !== undefined && this.#isPending(live.alert, judgedAs);
  }

  #askFor(builder: ChangesBuilder, waiting: WaitingEnding): void {
    builder.ask("liquidations", waiting.account.wallet);
    builder.ask("notifications", waiting.account.wallet);
    builder.ask("fills", waiting.account.wallet);
  }

  #settle(builder: ChangesBuilder, waiting: WaitingEnding, ending: Ending): void {
    this.#waiting.delete(waiting);
    this.forget(waiting.live.alert.id, builder);
    this.#deadlines.cancel(waiting);
    const happenedMs = isTaking(ending) ? (this.liquidations.newest(waiting)?.happenedMs ?? null) : null;
    if (happenedMs !== null) this.liquidations.rememberEnded(waiting.live.alert, happenedMs);
    // "Before" is the last regular state; a judgement of the rest after a liquidation does not give it.
    const recovered = (): AlertText | null => waiting.textAt?.(builder.atMs) ?? waiting.text;
    const text = ending === "recovered" ? recovered() : (waiting.before ?? waiting.live.beforeLoss);
    this.#alerts.end(builder, waiting.live, ending, text, happenedMs, this.#stands(waiting, ending));
    if (waiting.row) this.#release(waiting.row, builder);
  }

  #stands({ account, symbol, fallback }: WaitingEnding, ending: Ending): AlertChange["stands"] {
    const positions = this.#positionsOf(account);
    if (!positions) return undefined;
    if (symbol === null) return positions.size === 0 ? "noPositions" : undefined;
    const held = fallback === "recovered" ? undefined : positions.get(symbol.toUpperCase());
    if (held === undefined) return undefined;
    if (ending !== "flipped") return "another";
    return held.node.incarnation.startsWith("long") ? "long" : "short";
  }
}
