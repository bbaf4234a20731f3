/**
 * Events that some rule could not judge on arrival, because a figure that it reads was not seen yet or was too old. An event is
 * judged once, so treating *unknown* as *no match* would lose its message: the event waits for the figures, also in history, and
 * its rule counts as without data meanwhile. An event whose wait ends is reported as not judged.
 */

import { z } from "zod";
import type { RuleOfSubject } from "../../alerts/own/gaps.ts";
import type { Severity } from "../../domain/alerts/alert.ts";
import type { AckWord } from "../../domain/alerts/delivery.ts";
import { ackWords } from "../../domain/alerts/delivery.ts";
import { type Event, type EventKind, eventName } from "../../domain/event.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { KeptKind, keptNumber } from "../../domain/stored/kept.ts";
import type { Deadlines, Due } from "../../domain/structures/deadlines.ts";
import type { Subject } from "../../domain/subject.ts";
import type { EventRule, Unknown } from "../../rules/index.ts";

/** Maximum wait of an event for the figures of its rules, restarts included, ms. */
export const heldForMs = 300_000;
/** Minimum wait after a start, ms: figures have to be requested first. */
const heldAfterStartMs = 30_000;
/** Maximum number of held events: above it the wait of the oldest ends at once. */
const maxHeld = 1_000;

/** A rule that matched an event, and its alert. */
export interface Match {
  readonly rule: string;
  readonly alertId: number;
  readonly word: AckWord | null;
}

/** A rule that could not judge, and the reason. */
export interface OpenRule {
  readonly rule: EventRule;
  readonly unknown: Unknown;
}

/** An open rule as a rule without data. */
interface OpenRuleState extends RuleOfSubject {
  readonly of: EventRule;
  /** Equal for all that read the same figures: of one rule, one account and one market. */
  readonly figures: string;
  /** The figures that were known at the last judgement; null: not judged since it is held here. */
  known: string | null;
  unknown: Unknown | null;
}

export interface HeldEvent extends Due {
  readonly event: Event;
  readonly sinceMs: number;
  /** The time at which the wait ends, ms. */
  readonly untilMs: number;
  open: readonly OpenRuleState[];
  readonly matches: Match[];
  /** Acknowledgements were determined: only rules in shadow mode, which nothing waits for, are still to judge. */
  settled: boolean;
}

interface Kept {
  readonly settled?: boolean;
  readonly sinceMs: number;
  readonly open: readonly string[];
  readonly matches: readonly Match[];
}

/** By kind and key of the event (`eventName`). */
export const keptEvent: KeptKind<Kept> = new KeptKind(
  "event/{}",
  z.object({
    settled: z.boolean().exactOptional(),
    sinceMs: keptNumber,
    open: z.array(z.string()),
    matches: z.array(z.object({ rule: z.string(), alertId: keptNumber, word: z.enum(ackWords).nullable() })),
  }),
);

export interface HeldEventsOptions {
  readonly deadlines: Deadlines;
  readonly builder: () => ChangesBuilder;
  /** Readings from before a reload still count, so nothing has to be read again. */
  readonly reloaded: boolean;
  readonly onDataState: (state: RuleOfSubject, builder: ChangesBuilder) => void;
  /** Judges again. @returns the rules that still cannot; matches are added to the held event */
  readonly judge: (
    held: HeldEvent,
    rules: readonly EventRule[],
    builder: ChangesBuilder,
  ) => readonly OpenRule[];
  /** The known figures among those that a rule reads for an event. */
  readonly known: (rule: EventRule, event: Event) => string;
  /** True if a figure that was unknown at the judgement will never become known. */
  readonly neverKnown: (held: HeldEvent, unknown: Unknown) => boolean;
  /** The wait ended: all of its rules have judged or were given up, and so have those of its liquidation. */
  readonly onJudged: (held: HeldEvent, builder: ChangesBuilder) => void;
  /** The wait for these rules ended. @returns the alert that reports it */
  readonly onGivenUp: (held: HeldEvent, rules: readonly OpenRule[], builder: ChangesBuilder) => Match;
}

export class HeldEvents {
  readonly #options: HeldEventsOptions;
  /** By name, oldest first. */
  readonly #held = new Map<string, HeldEvent>();
  /** Held events from before a reload, until they are taken over. */
  #former: ReadonlyMap<string, HeldEvent>;

  /** @param before the held events from before a reload */
  constructor(options: HeldEventsOptions, before: HeldEvents | undefined) {
    this.#options = options;
    this.#former = before ? before.#held : new Map();
  }

  has(kind: EventKind, key: string): boolean {
    return this.#held.get(eventName(kind, key))?.settled === false;
  }

  /** Holds an event. It is settled at once if only rules in shadow mode are still to judge. */
  hold(event: Event, open: readonly OpenRule[], matches: readonly Match[], builder: ChangesBuilder): void {
    const held = this.#make(event, builder.atMs, builder.atMs + heldForMs, matches);
    this.#set(held, open, builder);
    this.#settleEarly(held, builder);
    this.#keep(held, builder);
    if (this.#held.size <= maxHeld) return;
    const oldest = this.#held.values().next().value;
    if (oldest) this.#giveUp(oldest, builder, true);
  }

  /** Restores held events from history. Rules that no longer exist are dropped. */
  restore(
    past: readonly { readonly event: Event; readonly kept: Kept }[],
    ruleOf: (name: string) => EventRule | undefined,
  ): void {
    const { atMs } = this.#options.builder();
    const oldestFirst = past.toSorted((a, b) => a.kept.sinceMs - b.kept.sinceMs);
    for (const { event, kept } of oldestFirst) {
      const { sinceMs, open, matches, settled } = kept;
      const atLeastMs = this.#options.reloaded ? atMs : atMs + heldAfterStartMs;
      const untilMs = Math.max(sinceMs + heldForMs, atLeastMs);
      const held = this.#make(event, sinceMs, untilMs, matches);
      held.settled = settled === true;
      held.open = open.flatMap((name) => {
        const rule = ruleOf(name);
        return rule?.on === event.kind ? [stateOf(rule, event, null)] : [];
      });
      if (held.open.length === 0) this.#options.deadlines.set(held, atMs);
    }
    this.#former = new Map();
  }

  /**
   * Judges the events that wait for data of this wallet, or (null) for data that all wallets share. A thousand may wait, and prices
   * come several times a second, so known figures are determined once for all that read the same ones.
   */
  retry(wallet: string | null, builder: ChangesBuilder): void {
    const known = new Map<string, string>();
    for (const held of this.#held.values()) {
      const before = held.open.length;
      if (before === 0) continue;
      if (wallet !== null && held.event.wallet !== null && held.event.wallet !== wallet) continue;
      let arrived = false;
      for (const state of held.open) if (this.#arrived(state, held, known)) arrived = true;
      if (!arrived) continue;
      const open = this.#judge(held, builder);
      this.#set(held, open, builder);
      const early = this.#settleEarly(held, builder);
      if (open.length === 0 && (held.settled || !this.#awaited(held.event))) this.#leave(held, builder);
      else if (early || open.length < before) this.#keep(held, builder);
    }
  }

  /** @param known results so far */
  #arrived(state: OpenRuleState, held: HeldEvent, known: Map<string, string>): boolean {
    let now = known.get(state.figures);
    if (now === undefined) {
      now = this.#options.known(state.of, held.event);
      known.set(state.figures, now);
    }
    if (state.known === now) return state.unknown !== null && this.#options.neverKnown(held, state.unknown);
    state.known = now;
    return true;
  }

  /** The held liquidation that a notification is about: both are decided together. */
  #awaited({ inbox }: Event): HeldEvent | undefined {
    const key = inbox?.liquidationKey ?? null;
    const held = key === null ? undefined : this.#held.get(eventName("liquidation", key));
    return held?.settled ? undefined : held;
  }

  #judge(held: HeldEvent, builder: ChangesBuilder): readonly OpenRule[] {
    return this.#options.judge(
      held,
      held.open.map((one) => one.of),
      builder,
    );
  }

  #make(event: Event, sinceMs: number, untilMs: number, matches: readonly Match[]): HeldEvent {
    const name = eventName(event.kind, event.key);
    const held: HeldEvent = {
      event,
      sinceMs,
      untilMs,
      open: [],
      matches: [...matches],
      settled: false,
      dueMs: Number.POSITIVE_INFINITY,
      queuedMs: Number.POSITIVE_INFINITY,
      place: -1,
      order: this.#former.get(name)?.order,
      onDue: () => this.#waitEnded(held),
    };
    this.#held.set(name, held);
    this.#options.deadlines.set(held, untilMs);
    return held;
  }

  /** Ends the wait of all events whose time has come, in order of arrival. */
  #waitEnded(held: HeldEvent): void {
    const builder = this.#options.builder();
    for (const [name, other] of [...this.#held]) {
      const over = other === held || other.untilMs <= builder.atMs;
      if (over && this.#held.get(name) === other) this.#giveUp(other, builder, false);
    }
  }

  /**
   * Judges events whose wait has ended once more, as other data may have arrived at the same time. A notification about a liquidation
   * leaves together with it, whichever time comes first.
   * @param all true if the wait of its liquidation ends as well
   */
  #giveUp(held: HeldEvent, builder: ChangesBuilder, all: boolean): void {
    const open = this.#judge(held, builder);
    this.#set(held, [], builder);
    const live = open.filter(({ rule }) => rule.mode === "live");
    if (live.length > 0) held.matches.push(this.#options.onGivenUp(held, live, builder));
    const liquidation = this.#awaited(held.event);
    if (held.settled || !liquidation) this.#leave(held, builder);
    else if (all || liquidation.untilMs <= builder.atMs) this.#giveUp(liquidation, builder, all);
    else this.#keep(held, builder);
  }

  /** Removes an event after all of its rules have judged or were given up, with the notifications that waited for it. */
  #leave(held: HeldEvent, builder: ChangesBuilder): void {
    const { kind, key } = held.event;
    this.#held.delete(eventName(kind, key));
    this.#options.deadlines.cancel(held);
    keptEvent.drop(eventName(kind, key), builder);
    this.#settle(held, builder);
  }

  /** Determines the acknowledgements, once, also for notifications that waited for its result. */
  #settle(held: HeldEvent, builder: ChangesBuilder): void {
    if (held.settled) return;
    held.settled = true;
    this.#options.onJudged(held, builder);
    const { kind, key } = held.event;
    if (kind !== "liquidation") return;
    for (const other of [...this.#held.values()]) {
      if (other.settled || other.event.inbox?.liquidationKey !== key) continue;
      if (other.open.length === 0) this.#leave(other, builder);
      else if (this.#settleEarly(other, builder)) this.#keep(other, builder);
    }
  }

  /** Settles an event that only rules in shadow mode still have to judge. @returns true if it was settled now */
  #settleEarly(held: HeldEvent, builder: ChangesBuilder): boolean {
    if (held.settled || held.open.length === 0 || this.#awaited(held.event)) return false;
    if (held.open.some((one) => one.of.mode === "live")) return false;
    this.#settle(held, builder);
    return true;
  }

  #set(held: HeldEvent, open: readonly OpenRule[], builder: ChangesBuilder): void {
    const before = held.open;
    held.open = open.map(({ rule, unknown }) => {
      const known = before.find((one) => one.of === rule) ?? stateOf(rule, held.event, null);
      known.unknown = unknown;
      this.#note(known, builder);
      return known;
    });
    for (const one of before) {
      if (held.open.includes(one)) continue;
      one.unknown = null;
      this.#note(one, builder);
    }
  }

  /** Notes the data state, except for rules in shadow mode. */
  #note(state: OpenRuleState, builder: ChangesBuilder): void {
    if (state.of.mode === "live") this.#options.onDataState(state, builder);
  }

  #keep({ event, sinceMs, open, matches, settled }: HeldEvent, builder: ChangesBuilder): void {
    const kept: Kept = {
      sinceMs,
      open: open.map((one) => one.rule.name),
      matches,
      ...(settled ? { settled } : {}),
    };
    keptEvent.put(eventName(event.kind, event.key), kept, builder);
  }
}

/** The data state of a rule, whatever its severity: an event that it cannot judge may be a lost message. */
function stateOf(rule: EventRule, event: Event, unknown: Unknown | null): OpenRuleState {
  const { name, severity, reads, staleAfterMs } = rule;
  const levels: readonly { readonly severity: Severity }[] = [{ severity }];
  const subject: Subject =
    event.wallet === null ? { scope: "exchange" } : { scope: "wallet", wallet: event.wallet };
  return {
    of: rule,
    figures: `${name}/${event.wallet}/${event.pdaIndex}/${event.subaccount}/${event.symbol?.toUpperCase()}`,
    known: null,
    rule: { name, noData: "alert", levels, reads, staleAfterMs },
    node: { subject },
    unknown,
  };
}
