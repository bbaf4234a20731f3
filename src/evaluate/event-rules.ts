/**
 * Judges events: each is stored once, enters the windows that count it, and is one alert for every rule that matches.
 * For a notification of the exchange it is also decided what it takes until it counts as handled.
 */

import { type AcknowledgeSettings, acknowledgeWord } from "../alerts/acknowledge.ts";
import type { AlertBook } from "../alerts/alert-book.ts";
import type { NewAlert } from "../alerts/live-alert.ts";
import type { Sighted } from "../alerts/own/gaps.ts";
import type { Throttles } from "../alerts/routing/throttles.ts";
import { eventDetailsOf } from "../alerts/texts/details.ts";
import { type Alert, severityRank } from "../domain/alert.ts";
import { type BuiltInRule, blindRule } from "../domain/built-in.ts";
import type { ChangesBuilder } from "../domain/changes-builder.ts";
import type { Deadlines } from "../domain/deadlines.ts";
import type { AckStatus, AckWord } from "../domain/delivery.ts";
import { formatDurationMs } from "../domain/duration.ts";
import { type Event, type EventKind, eventName, unknownType } from "../domain/event.ts";
import type { KeptValues } from "../domain/kept.ts";
import type { TemplateFacts } from "../domain/template-data.ts";
import { timeOfDay } from "../domain/time-text.ts";
import {
  type Env,
  type EventRule,
  type Facts,
  isUnknown,
  judgeEvent,
  type RuleSet,
  type Unknown,
} from "../rules/index.ts";
import { eventFacts, eventSubject } from "../state/event-facts.ts";
import type { WatchedWallet } from "../state/watched.ts";
import { Announcements } from "./announcements.ts";
import {
  type HeldEvent,
  HeldEvents,
  heldForMs,
  keptEvent,
  type Match,
  type OpenRule,
} from "./held-events.ts";
import { knownFigures } from "./known-figures.ts";
import { applies } from "./selection.ts";

/** Matches of a canonical liquidation, for the notification that tells of it later. Newest last, bounded. */
const rememberedLiquidations = 2_000;

export interface EventRulesOptions {
  readonly ruleSet: RuleSet;
  readonly acknowledge: AcknowledgeSettings;
  readonly alerts: AlertBook;
  readonly throttles: Throttles;
  readonly wallet: (name: string) => WatchedWallet | undefined;
  /** As of `HeldEventsOptions`. */
  readonly reloaded: boolean;
  /** Surroundings of an event, with `event` filled in. */
  readonly env: (event: Event, facts: Facts) => Env;
  /**
   * True if the thing that an event's rule names is known not to exist (no such position, no such market), by an answer that
   * is younger than `sinceMs`.
   */
  readonly absent: (event: Event, unknown: Unknown, sinceMs: number) => boolean;
  /** The time at which the figures of an event's account were seen, ms, where they do not show the event yet; else null. */
  readonly figuresBefore: (event: Event) => number | null;
  /** IANA name, for times in texts. */
  readonly timezone: string;
  readonly deadlines: Deadlines;
  readonly builder: () => ChangesBuilder;
  /** The facts of a judgement that channel templates name. */
  readonly facts: (env: Env) => TemplateFacts | undefined;
  readonly onSight: (sight: Sighted, builder: ChangesBuilder) => void;
  /** A live rule judged an event (null), or could not: of its own expression, or for want of figures. */
  readonly onJudged: (
    rule: EventRule,
    subject: string,
    unknown: Unknown | null,
    builder: ChangesBuilder,
  ) => void;
}

type EventLabels = Pick<NewAlert, "labels" | "severity"> & { readonly shadow: boolean };

/** An alert about an event, and the receivers who are owed word of it now. */
interface Raised {
  readonly alertId: number;
  readonly owed: readonly string[];
}

export class EventRules {
  readonly #options: EventRulesOptions;
  readonly #byKind = new Map<EventKind, readonly EventRule[]>();
  readonly #liquidations = new Map<string, readonly Match[]>();
  readonly #held: HeldEvents;
  readonly #announcements = new Announcements();

  /** @param before those of the watch that is replaced at a reload */
  constructor(options: EventRulesOptions, before?: EventRules) {
    this.#options = options;
    const { deadlines, builder, onSight, reloaded } = options;
    this.#held = new HeldEvents(
      {
        deadlines,
        builder,
        reloaded,
        onSight,
        judge: (held, rules, into) => {
          const { matches, open } = this.#judge(held.event, rules, held.sinceMs, into);
          held.matches.push(...matches);
          return open;
        },
        known: (rule, event) => {
          const { atMs } = builder();
          return knownFigures(rule, options.env(event, eventFacts(event, atMs)));
        },
        hopeless: ({ event, sinceMs }, unknown) => !this.#mayBecomeKnown(event, unknown, sinceMs),
        onJudged: ({ event, matches }, into) => this.#settle(event, matches, into),
        onGivenUp: (held, rules, into) => this.#tellUnjudged(held, rules, into),
      },
      before ? before.#held : undefined,
    );
    for (const rule of options.ruleSet.events) {
      this.#byKind.set(rule.on, [...(this.#byKind.get(rule.on) ?? []), rule]);
    }
  }

  /** Takes back what waited, and the alerts of past liquidations, so that a notification that comes late is matched with them. */
  restore(alerts: readonly Alert[], keep: KeptValues, held: readonly Event[]): void {
    const ruleOf = (name: string): EventRule | undefined =>
      this.#options.ruleSet.events.find((one) => one.name === name);
    const wordOf = (name: string): Match["word"] =>
      name === unknownTypeRule ? "whenAcknowledged" : (ruleOf(name)?.acknowledge ?? null);
    const heldBack = new Map(this.#options.alerts.heldBack.map((one) => [one.alertId, one.receivers]));
    for (const alert of alerts) {
      const waiting = heldBack.get(alert.id) ?? [];
      this.#announcements.restore(alert, wordOf(alert.rule), () =>
        this.#options.alerts.receivers(alert, waiting),
      );
    }
    for (const alert of alerts) {
      if (alert.shadow || !alert.eventKey?.startsWith("liquidation:")) continue;
      const key = alert.eventKey.slice("liquidation:".length);
      const word = alert.rule === blindRule ? "never" : (ruleOf(alert.rule)?.acknowledge ?? null);
      this.#remember(key, { rule: alert.rule, alertId: alert.id, word });
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

  /** Stores and judges one event that was not known before. */
  take(event: Event, builder: ChangesBuilder): void {
    builder.changes.events.push(event);
    if (event.backfilled) {
      if (event.inbox) this.#acknowledgeBacklog(event, builder);
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

  /** Figures arrived, of a wallet or (null) of what all share: events that wait for some are judged. */
  retry(wallet: string | null, builder: ChangesBuilder): void {
    this.#held.retry(wallet, builder);
  }

  /**
   * A match in shadow mode is recorded, and is no match: it neither handles a notification nor tells a liquidation.
   * @param sinceMs when the event became known: answers from before it do not tell what is not there any more
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
        const tell = (except: readonly string[]) => this.#tell(rule, event, env, builder, except);
        const found = this.#notifyOnce(rule.name, rule.acknowledge, event, this.#labelsOf(event, rule), tell);
        if (rule.mode === "live") matches.push(...found);
      }
    }
    return { matches, open };
  }

  /**
   * True if it may still become known. A figure without a source (an optional field of the event, a division of nothing by
   * nothing) never will.
   */
  #mayBecomeKnown(event: Event, unknown: Unknown, sinceMs: number): boolean {
    // Whoever names what is not there is blind, and hears of the events that it costs.
    if (unknown.unknown === "unset") return true;
    if (unknown.source === null) return false;
    if (unknown.unknown === "absent") return !this.#options.absent(event, unknown, sinceMs);
    return unknown.unknown === "stale" || unknown.unknown === "missing";
  }

  /** Every rule has judged: what is owed to the exchange follows. */
  #settle(event: Event, matches: readonly Match[], builder: ChangesBuilder): void {
    let all = matches;
    if (all.length === 0 && event.kind === "notification" && isUnknownType(event)) {
      // What nobody foresaw is delivered as it is, and stays unacknowledged until a person says otherwise.
      const labels = event.wallet === null ? {} : (this.#options.wallet(event.wallet)?.labels ?? {});
      all = this.#notifyOnce(
        unknownTypeRule,
        "whenAcknowledged",
        event,
        { labels, severity: "warning", shadow: false },
        (except) => this.#tellUnknown(event, builder, except),
      );
    }
    if (event.kind === "liquidation") for (const match of all) this.#remember(event.key, match);
    if (event.inbox) this.#acknowledge(event, all, builder);
  }

  /** The figures did not come. Whether these rules would have told of the event nobody knows, so the event is told of. */
  #tellUnjudged({ event, sinceMs }: HeldEvent, open: readonly OpenRule[], builder: ChangesBuilder): Match {
    const names = open.map(({ rule }) => rule.name).join(", ");
    const what = event.inbox?.notificationType ?? event.kind;
    const severity = open
      .map(({ rule }) => rule.severity)
      .reduce((worst, one) => (severityRank[one] > severityRank[worst] ? one : worst), "warning");
    const waited = formatDurationMs(Math.max(heldForMs, builder.atMs - sinceMs));
    const causes = [...new Set(open.map(({ unknown }) => unknown.detail))].join("; ");
    const { alertId } = this.#tellOf(
      event,
      {
        rule: blindRule,
        severity,
        labels: { source: open[0]!.unknown.source ?? "" },
        summary: `${eventSubject(event)}: ${what} was not judged by ${names}`,
        description: `What these rules read was not known for ${waited}: ${causes}. Look at it yourself: they may have told you of it.`,
        groupKey: `event/${event.wallet ?? ""}/${builder.atMs}`,
      },
      builder,
    );
    return { rule: blindRule, alertId, word: "never" };
  }

  /**
   * Raises the alert of a rule for an event. Where the event is another wallet's copy of an announcement, only for
   * receivers that were not notified of it yet, and not at all where there are none.
   * @returns this alert and those of earlier copies
   */
  #notifyOnce(
    rule: string,
    word: Match["word"],
    event: Event,
    { labels, severity, shadow }: EventLabels,
    tell: (except: readonly string[]) => Raised,
  ): readonly Match[] {
    const earlier = this.#announcements.earlier(rule, event);
    const notified = earlier.flatMap(({ receivers }) => receivers);
    const matches = earlier.map(({ match }) => match);
    const { wallet, symbol } = event;
    const routed = { labels, rule, severity, subject: eventSubject(event), wallet, symbol };
    const receivers = this.#options.alerts.receivers(routed, notified);
    if (earlier.length > 0 && receivers.length === 0) return matches;
    const { alertId, owed } = tell(notified);
    const own: Match = { rule, alertId, word };
    // Those for whom it is held are notified of another wallet's copy that nothing holds.
    if (!shadow) this.#announcements.note(event, own, owed);
    return [...matches, own];
  }

  #labelsOf(event: Event, { labels, severity, mode }: EventRule): EventLabels {
    const ofWallet = event.wallet === null ? {} : this.#options.wallet(event.wallet)?.labels;
    return { labels: { ...ofWallet, ...labels }, severity, shadow: mode === "shadow" };
  }

  #tell(rule: EventRule, event: Event, env: Env, builder: ChangesBuilder, except: readonly string[]): Raised {
    const subject = eventSubject(event);
    const shadow = rule.mode === "shadow";
    const throttled = rule.throttleMs !== null && !shadow;
    const held = throttled && this.#options.throttles.holds(rule, subject, builder.atMs);
    const { change, owed } = this.#options.alerts.tell(
      builder,
      {
        rule: rule.name,
        subject,
        wallet: event.wallet,
        symbol: event.symbol,
        ...this.#labelsOf(event, rule),
        except,
        sinceMs: event.happenedMs,
        alreadySo: false,
        runbook: rule.runbook,
        happenedMs: event.happenedMs,
        eventType: typeOf(event),
        summary: rule.summary.render(env),
        description: rule.description?.render(env) ?? "",
        value: null,
        dataAtMs: event.seenMs,
        details: [...eventDetailsOf(event, env.market), ...this.#olderFigures(rule, event)],
        facts: this.#options.facts(env),
      },
      `${event.kind}:${event.key}`,
      null,
      !held,
    );
    if (throttled) this.#options.throttles.note(rule, subject, held ? change : null, builder);
    return { alertId: change.alertId, owed };
  }

  /** Says of when the account's figures in the text are, where they are from before the event. */
  #olderFigures(rule: EventRule, event: Event): (readonly [string, string])[] {
    if (!namesFigures(rule)) return [];
    const atMs = this.#options.figuresBefore(event);
    if (atMs === null) return [];
    return [["Account's figures", `of ${timeOfDay(atMs, this.#options.timezone)}, before this happened`]];
  }

  #tellUnknown(event: Event, builder: ChangesBuilder, except: readonly string[]): Raised {
    const type = event.inbox?.notificationType ?? "";
    return this.#tellOf(
      event,
      {
        rule: unknownTypeRule,
        severity: "warning",
        labels: {},
        except,
        summary: `The exchange sent a notification of a kind that is not known here: ${type}`,
        description: `As it came: ${JSON.stringify(event.data).slice(0, 1_500)}`,
        groupKey: null,
      },
      builder,
    );
  }

  /** Tells of an event on behalf of no rule of the user's. */
  #tellOf(
    event: Event,
    own: Pick<NewAlert, "rule" | "severity" | "labels" | "summary" | "description" | "except"> & {
      readonly groupKey: string | null;
    },
    builder: ChangesBuilder,
  ): Raised {
    const { groupKey, ...text } = own;
    const labels = event.wallet === null ? {} : this.#options.wallet(event.wallet)?.labels;
    const { change, owed } = this.#options.alerts.tell(
      builder,
      {
        ...text,
        labels: { ...labels, ...own.labels },
        subject: eventSubject(event),
        wallet: event.wallet,
        symbol: event.symbol,
        sinceMs: event.happenedMs,
        alreadySo: false,
        runbook: null,
        happenedMs: event.happenedMs,
        eventType: typeOf(event),
        value: null,
        dataAtMs: event.seenMs,
        details: eventDetailsOf(event),
      },
      `${event.kind}:${event.key}`,
      groupKey,
      true,
    );
    return { alertId: change.alertId, owed };
  }

  #acknowledge(event: Event, matches: readonly Match[], builder: ChangesBuilder): void {
    const inbox = event.inbox!;
    if (inbox.acked) return;
    const told = inbox.liquidationKey === null ? [] : (this.#liquidations.get(inbox.liquidationKey) ?? []);
    const all = [...matches, ...told];
    const settings = this.#options.acknowledge;
    if (all.length === 0) {
      // No rule was asked about a liquidation that nobody could read.
      const take =
        settings.unmatched === "always" && settings.notifications !== "never" && inbox.unread !== true;
      const reason = take ? "" : inbox.unread ? "what it tells cannot be read" : "no rule matches it";
      this.#row(event, take ? "always" : "never", [], take ? "due" : "left", reason, builder);
      return;
    }
    const word = acknowledgeWord(
      settings,
      inbox.notificationType,
      all.map((match) => match.word),
    );
    const rules = new Map<string, number[]>();
    for (const match of all) rules.set(match.rule, [...(rules.get(match.rule) ?? []), match.alertId]);
    const status = word === "always" ? "due" : word === "never" ? "left" : "waiting";
    const unjudged = all.some((match) => match.rule === blindRule);
    const reason = unjudged
      ? "what its rules read was not known"
      : word === "never"
        ? "its rules or the configuration say never"
        : "";
    this.#row(
      event,
      word,
      [...rules].map(([rule, alertIds]) => ({ rule, alertIds })),
      status,
      reason,
      builder,
    );
  }

  #acknowledgeBacklog(event: Event, builder: ChangesBuilder): void {
    if (event.inbox!.acked) return;
    const take = this.#options.acknowledge.backlog === "always";
    this.#row(
      event,
      take ? "always" : "never",
      [],
      take ? "due" : "left",
      take ? "" : "from before the first start",
      builder,
    );
  }

  #row(
    event: Event,
    word: AckWord,
    rules: readonly { readonly rule: string; readonly alertIds: readonly number[] }[],
    status: AckStatus,
    reason: string,
    builder: ChangesBuilder,
  ): void {
    if (event.wallet === null || this.#options.wallet(event.wallet)?.watchOnly) return;
    builder.changes.acknowledgements.push({
      key: event.key,
      wallet: event.wallet,
      word,
      rules,
      status,
      dueAtMs: status === "due" ? builder.atMs : null,
      confirmedAtMs: null,
      reason,
    });
  }

  #remember(key: string, match: Match): void {
    // What a held liquidation had matched before a restart is among the past alerts too.
    const known = this.#liquidations.get(key) ?? [];
    if (known.some((one) => one.alertId === match.alertId)) return;
    this.#liquidations.set(key, [...known, match]);
    if (this.#liquidations.size > rememberedLiquidations) {
      const oldest = this.#liquidations.keys().next().value;
      if (oldest !== undefined) this.#liquidations.delete(oldest);
    }
  }
}

/** The built-in rule that delivers notifications of a kind that neither the contract nor any rule knows. */
export const unknownTypeRule = "UnknownNotification" satisfies BuiltInRule;

/** True if a rule's text names a figure of the account's that moves. */
function namesFigures({ summary, description }: EventRule): boolean {
  return figureInText.test(`${summary.text} ${description?.text ?? ""}`);
}

const figureInText =
  /\{\{[^}]*\b(?:trader|position|wallet)\.(?!(?:name|account|subaccount|symbol|side|authority|labels|limits)\b)/;

const knownTypes: ReadonlySet<string> = new Set([
  "order_filled",
  "liquidation",
  "backstop_liquidation",
  "adl",
  "risk_engine_cancel_order",
  "stop_loss_executed",
  "conditional_order_executed",
  "stop_loss_order_placed",
  "spot_collateral_liquidation",
]);

/** The notification's type, as it came, or the kind of the event. */
function typeOf(event: Event): string {
  if (event.inbox === null) return event.kind;
  const { notificationType } = event.inbox;
  return isUnknownType(event) ? unknownType + notificationType : notificationType;
}

function isUnknownType(event: Event): boolean {
  return event.inbox !== null && !knownTypes.has(event.inbox.notificationType);
}
