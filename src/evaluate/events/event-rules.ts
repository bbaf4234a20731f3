/**
 * Judges events: each is stored once, enters the windows that count it, and raises one alert per rule that matches. For a
 * notification of the exchange it also determines when the notification counts as handled.
 */

import type { RuleOfSubject } from "../../alerts/own/gaps.ts";
import type { Alert } from "../../domain/alerts/alert.ts";
import { noDataRule } from "../../domain/alerts/built-in.ts";
import { type Event, type EventKind, eventName } from "../../domain/event.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { KeptValues } from "../../domain/stored/kept.ts";
import type { Deadlines } from "../../domain/structures/deadlines.ts";
import {
  type Env,
  type EventRule,
  type Facts,
  isUnknown,
  judgeEvent,
  type RuleSet,
  type Unknown,
} from "../../rules/index.ts";
import { eventFacts, eventSubject } from "../../state/event-facts.ts";
import { knownFigures } from "../known-figures.ts";
import { applies } from "../selection.ts";
import { type EventAlertOptions, EventAlerts, unknownTypeRule } from "./event-alerts.ts";
import { HeldEvents, keptEvent, type Match, type OpenRule } from "./held-events.ts";
import {
  type AcknowledgementOptions,
  NotificationAcknowledgements,
} from "./notification-acknowledgements.ts";
import { isUnknownType } from "./notification-type.ts";

export interface EventRulesOptions extends EventAlertOptions, AcknowledgementOptions {
  readonly ruleSet: RuleSet;
  /** See `HeldEventsOptions`. */
  readonly reloaded: boolean;
  /** The surroundings of an event, including `event`. */
  readonly env: (event: Event, facts: Facts) => Env;
  /**
   * True if the subject that an event's rule names is known not to exist (no such position, no such market), by an answer later
   * than `sinceMs`.
   */
  readonly absent: (event: Event, unknown: Unknown, sinceMs: number) => boolean;
  readonly deadlines: Deadlines;
  readonly builder: () => ChangesBuilder;
  readonly onDataState: (judged: RuleOfSubject, builder: ChangesBuilder) => void;
  /** Called when a live rule judged an event (null), or could not: because of its own expression, or of missing figures. */
  readonly onJudged: (
    rule: EventRule,
    subject: string,
    unknown: Unknown | null,
    builder: ChangesBuilder,
  ) => void;
}

export class EventRules {
  readonly #options: EventRulesOptions;
  readonly #byKind = new Map<EventKind, readonly EventRule[]>();
  readonly #held: HeldEvents;
  readonly #alerts: EventAlerts;
  readonly #acknowledgements: NotificationAcknowledgements;

  /** @param before the event rules from before a reload */
  constructor(options: EventRulesOptions, before?: EventRules) {
    this.#options = options;
    this.#alerts = new EventAlerts(options);
    this.#acknowledgements = new NotificationAcknowledgements(options);
    const { deadlines, builder, onDataState, reloaded } = options;
    this.#held = new HeldEvents(
      {
        deadlines,
        builder,
        reloaded,
        onDataState,
        judge: (held, rules, into) => {
          const { matches, open } = this.#judge(held.event, rules, held.sinceMs, into);
          held.matches.push(...matches);
          return open;
        },
        known: (rule, event) => {
          const { atMs } = builder();
          return knownFigures(rule, options.env(event, eventFacts(event, atMs)));
        },
        neverKnown: ({ event, sinceMs }, unknown) => !this.#mayBecomeKnown(event, unknown, sinceMs),
        onJudged: ({ event, matches }, into) => this.#settle(event, matches, into),
        onGivenUp: (held, rules, into) => this.#alerts.raiseUnjudged(held, rules, into),
      },
      before ? before.#held : undefined,
    );
    for (const rule of options.ruleSet.events) {
      this.#byKind.set(rule.on, [...(this.#byKind.get(rule.on) ?? []), rule]);
    }
  }

  /** Restores held events, and the alerts of past liquidations, so that a late notification is matched with them. */
  restore(alerts: readonly Alert[], keep: KeptValues, held: readonly Event[]): void {
    const ruleOf = (name: string): EventRule | undefined =>
      this.#options.ruleSet.events.find((one) => one.name === name);
    const wordOf = (name: string): Match["word"] =>
      name === unknownTypeRule ? "whenAcknowledged" : (ruleOf(name)?.acknowledge ?? null);
    const heldBack = new Map(this.#options.alerts.heldBack.map((one) => [one.alertId, one.receivers]));
    for (const alert of alerts) {
      this.#alerts.restore(alert, wordOf(alert.rule), heldBack.get(alert.id) ?? []);
    }
    for (const alert of alerts) {
      if (alert.shadow || !alert.eventKey?.startsWith("liquidation:")) continue;
      const key = alert.eventKey.slice("liquidation:".length);
      const word = alert.rule === noDataRule ? "never" : (ruleOf(alert.rule)?.acknowledge ?? null);
      this.#acknowledgements.remember(key, { rule: alert.rule, alertId: alert.id, word });
    }
    const events = new Map(held.map((event) => [eventName(event.kind, event.key), event]));
    this.#held.restore(
      [...keptEvent.all(keep)].flatMap(([name, kept]) => {
        const event = events.get(name);
        return event ? [{ event, kept }] : [];
      }),
      ruleOf,
    );
  }

  /** Stores and judges a new event. */
  take(event: Event, builder: ChangesBuilder): void {
    builder.changes.events.push(event);
    if (event.backfilled) {
      if (event.inbox) this.#acknowledgements.takeBacklog(event, builder);
      return;
    }
    const selected = (this.#byKind.get(event.kind) ?? []).filter((rule) =>
      applies(rule, event, this.#options.wallet),
    );
    const { matches, open } = this.#judge(event, selected, builder.atMs, builder);
    const liquidation = event.inbox?.liquidationKey ?? null;
    const awaited = liquidation !== null && this.#held.has("liquidation", liquidation);
    if (open.length > 0 || awaited) this.#held.hold(event, open, matches, builder);
    else this.#settle(event, matches, builder);
  }

  /** Judges the held events that wait for figures of a wallet, or (null) for figures that all wallets share. */
  retry(wallet: string | null, builder: ChangesBuilder): void {
    this.#held.retry(wallet, builder);
  }

  /**
   * A match in shadow mode is recorded, but does not handle a notification or report a liquidation.
   * @param sinceMs time at which the event became known: only later answers prove that a subject does not exist
   */
  #judge(
    event: Event,
    rules: readonly EventRule[],
    sinceMs: number,
    builder: ChangesBuilder,
  ): { matches: Match[]; open: OpenRule[] } {
    const matches: Match[] = [];
    const open: OpenRule[] = [];
    if (rules.length === 0) return { matches, open };
    const env = this.#options.env(event, eventFacts(event, builder.atMs));
    env.nowMs = builder.atMs;
    for (const rule of rules) {
      const holds = judgeEvent(rule, env);
      const unknown = isUnknown(holds) ? holds : null;
      if (rule.mode === "live") this.#options.onJudged(rule, eventSubject(event), unknown, builder);
      if (isUnknown(holds)) {
        if (this.#mayBecomeKnown(event, holds, sinceMs)) open.push({ rule, unknown: holds });
      } else if (holds) {
        const found = this.#alerts.raise(rule, event, env, builder);
        if (rule.mode === "live") matches.push(...found);
      }
    }
    return { matches, open };
  }

  /**
   * True if it may still become known. A figure without a source (an optional field of the event, a division of zero by zero)
   * never will.
   */
  #mayBecomeKnown(event: Event, unknown: Unknown, sinceMs: number): boolean {
    // A rule that reads a missing field counts as without data, and the lost events are reported.
    if (unknown.unknown === "unset") return true;
    if (unknown.source === null) return false;
    if (unknown.unknown === "absent") return !this.#options.absent(event, unknown, sinceMs);
    return unknown.unknown === "stale" || unknown.unknown === "missing";
  }

  /** Called after every rule has judged: determines the pending acknowledgement. */
  #settle(event: Event, matches: readonly Match[], builder: ChangesBuilder): void {
    let all = matches;
    if (all.length === 0 && event.kind === "notification" && isUnknownType(event))
      all = this.#alerts.raiseUnknown(event, builder);
    if (event.kind === "liquidation")
      for (const match of all) this.#acknowledgements.remember(event.key, match);
    if (event.inbox) this.#acknowledgements.take(event, all, builder);
  }
}
