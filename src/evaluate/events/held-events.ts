/**
 * Events that some rule could not judge when they came, because a figure that it reads was not seen yet or too old. An event
 * is judged once, so taking *unknown* for *no match* would lose its message for good: it waits for the figures, in history
 * too, and its rule counts as blind meanwhile. Whatever is still not known when patience ends is told as that.
 */

import { z } from "zod";
import type { RuleOfSubject } from "../../alerts/own/gaps.ts";
import type { Severity } from "../../domain/alert.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Deadlines, Due } from "../../domain/deadlines.ts";
import type { AckWord } from "../../domain/delivery.ts";
import { ackWords } from "../../domain/delivery.ts";
import { type Event, type EventKind, eventName } from "../../domain/event.ts";
import { KeptKind, keptNumber } from "../../domain/kept.ts";
import type { Subject } from "../../domain/subject.ts";
import type { EventRule, Unknown } from "../../rules/index.ts";

/** Maximum wait of an event for the figures of its rules, restarts included. */
export const heldForMs = 300_000;
/** After a start it waits this long at least: figures have to be asked for first. */
const heldAfterStartMs = 30_000;
/** Beyond these the oldest is given up at once. */
const maxHeld = 1_000;

/** A rule that matched an event, and the alert that tells of it. */
export interface Match {
  readonly rule: string;
  readonly alertId: number;
  readonly word: AckWord | null;
}

/** A rule that could not judge, and why. */
export interface OpenRule {
  readonly rule: EventRule;
  readonly unknown: Unknown;
}

/** An open rule as something that is blind. */
interface Sight extends RuleOfSubject {
  readonly of: EventRule;
  /** The same for all whose figures are the same ones: of one rule, one account and one market. */
  readonly figures: string;
  /** The figures that were known when it was last judged; null: not judged since it is held here. */
  known: string | null;
  unknown: Unknown | null;
}

export interface HeldEvent extends Due {
  readonly event: Event;
  readonly sinceMs: number;
  /** The time at which the wait ends, ms. */
  readonly untilMs: number;
  open: readonly Sight[];
  readonly matches: Match[];
  /** The notifications that it leads to were decided: only rules in shadow mode, for which nobody waits, are still to judge. */
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
  /** Readings from before a reload still count: nothing has to be waited for anew. */
  readonly reloaded: boolean;
  readonly onSight: (sight: RuleOfSubject, builder: ChangesBuilder) => void;
  /** Judges anew. @returns the rules that still cannot; what matched is added to the held event. */
  readonly judge: (
    held: HeldEvent,
    rules: readonly EventRule[],
    builder: ChangesBuilder,
  ) => readonly OpenRule[];
  /** The figures read by a rule about this event that are known now. */
  readonly known: (rule: EventRule, event: Event) => string;
  /** True if a figure that was unknown at the judgement will never become known. */
  readonly hopeless: (held: HeldEvent, unknown: Unknown) => boolean;
  /** It waits no more: all of its rules have judged or were given up, and those of its liquidation as well. */
  readonly onJudged: (held: HeldEvent, builder: ChangesBuilder) => void;
  /** Patience with these rules ended. @returns what was told instead */
  readonly onGivenUp: (held: HeldEvent, rules: readonly OpenRule[], builder: ChangesBuilder) => Match;
}

export class HeldEvents {
  readonly #options: HeldEventsOptions;
  /** By name, oldest first. */
  readonly #held = new Map<string, HeldEvent>();
  /** Those before a reload, until they are taken over. */
  #former: ReadonlyMap<string, HeldEvent>;

  /** @param before those of the watch that is replaced at a reload */
  constructor(options: HeldEventsOptions, before: HeldEvents | undefined) {
    this.#options = options;
    this.#former = before ? before.#held : new Map();
  }

  has(kind: EventKind, key: string): boolean {
    return this.#held.get(eventName(kind, key))?.settled === false;
  }

  /** Settles it at once where only rules in shadow mode are still to judge. */
  hold(event: Event, open: readonly OpenRule[], matches: readonly Match[], builder: ChangesBuilder): void {
    const held = this.#make(event, builder.atMs, builder.atMs + heldForMs, matches);
    this.#set(held, open, builder);
    this.#settleEarly(held, builder);
    this.#keep(held, builder);
    if (this.#held.size <= maxHeld) return;
    const oldest = this.#held.values().next().value;
    if (oldest) this.#giveUp(oldest, builder, true);
  }

  /** Takes back what waited, from history. Rules that are gone do not hold anything any more. */
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
        return rule?.on === event.kind ? [sightOf(rule, event, null)] : [];
      });
      if (held.open.length === 0) this.#options.deadlines.set(held, atMs);
    }
    this.#former = new Map();
  }

  /**
   * Something arrived about this wallet, or (null) about what all share: whoever waits for it judges anew. A thousand may
   * wait and prices come several times a second, so what is known is asked once for all whose figures are the same.
   */
  retry(wallet: string | null, builder: ChangesBuilder): void {
    const known = new Map<string, string>();
    for (const held of this.#held.values()) {
      const before = held.open.length;
      if (before === 0) continue;
      if (wallet !== null && held.event.wallet !== null && held.event.wallet !== wallet) continue;
      let arrived = false;
      for (const sight of held.open) if (this.#arrived(sight, held, known)) arrived = true;
      if (!arrived) continue;
      const open = this.#judge(held, builder);
      this.#set(held, open, builder);
      const early = this.#settleEarly(held, builder);
      if (open.length === 0 && (held.settled || !this.#awaited(held.event))) this.#leave(held, builder);
      else if (early || open.length < before) this.#keep(held, builder);
    }
  }

  /** @param known what was asked already */
  #arrived(sight: Sight, held: HeldEvent, known: Map<string, string>): boolean {
    let now = known.get(sight.figures);
    if (now === undefined) {
      now = this.#options.known(sight.of, held.event);
      known.set(sight.figures, now);
    }
    if (sight.known === now) return sight.unknown !== null && this.#options.hopeless(held, sight.unknown);
    sight.known = now;
    return true;
  }

  /** The liquidation that a notification tells of, while it is still to be judged: it decides about both. */
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
      onDue: () => this.#patienceEnded(held),
    };
    this.#held.set(name, held);
    this.#options.deadlines.set(held, untilMs);
    return held;
  }

  /** Whoever else waited as long goes with it, in the order in which they came. */
  #patienceEnded(held: HeldEvent): void {
    const builder = this.#options.builder();
    for (const [name, other] of [...this.#held]) {
      const over = other === held || other.untilMs <= builder.atMs;
      if (over && this.#held.get(name) === other) this.#giveUp(other, builder, false);
    }
  }

  /**
   * Judges events whose wait has ended once more, as the time of its end comes with what else is due. Who tells of a
   * liquidation leaves with it, never before it, in whatever order their times come.
   * @param all its liquidation's patience ends with it
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

  /** All of its rules have judged, or were given up; so it is with who only waited for it. */
  #leave(held: HeldEvent, builder: ChangesBuilder): void {
    const { kind, key } = held.event;
    this.#held.delete(eventName(kind, key));
    this.#options.deadlines.cancel(held);
    keptEvent.drop(eventName(kind, key), builder);
    this.#settle(held, builder);
  }

  /** Decides what is owed, once, and for those who waited for its word. */
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

  /** Nobody waits for rules in shadow mode. @returns whether it was settled just now */
  #settleEarly(held: HeldEvent, builder: ChangesBuilder): boolean {
    if (held.settled || held.open.length === 0 || this.#awaited(held.event)) return false;
    if (held.open.some((one) => one.of.mode === "live")) return false;
    this.#settle(held, builder);
    return true;
  }

  #set(held: HeldEvent, open: readonly OpenRule[], builder: ChangesBuilder): void {
    const before = held.open;
    held.open = open.map(({ rule, unknown }) => {
      const known = before.find((one) => one.of === rule) ?? sightOf(rule, held.event, null);
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

  /** Nobody hears of what a rule in shadow mode cannot see. */
  #note(sight: Sight, builder: ChangesBuilder): void {
    if (sight.of.mode === "live") this.#options.onSight(sight, builder);
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

/** The data state of a rule, whatever its severity: an event that it cannot judge is a message that may be lost. */
function sightOf(rule: EventRule, event: Event, unknown: Unknown | null): Sight {
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
