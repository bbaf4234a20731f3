/** Alerts about events: of the user's rules, of events that no rule could judge, and of notifications of an unknown type. */
import type { AlertBook } from "../../alerts/alert-book.ts";
import type { NewAlert } from "../../alerts/live-alert.ts";
import type { Throttles } from "../../alerts/routing/throttles.ts";
import { eventDetailsOf } from "../../alerts/texts/details.ts";
import { type Alert, severityRank } from "../../domain/alerts/alert.ts";
import { type BuiltInRule, noDataRule } from "../../domain/alerts/built-in.ts";
import type { TemplateFacts } from "../../domain/alerts/template-data.ts";
import type { Event } from "../../domain/event.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { timeOfDay } from "../../domain/text/time-text.ts";
import type { Env, EventRule } from "../../rules/index.ts";
import { eventSubject } from "../../state/event-facts.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import { Announcements } from "./announcements.ts";
import { type HeldEvent, heldForMs, type Match, type OpenRule } from "./held-events.ts";
import { typeOf } from "./notification-type.ts";

export interface EventAlertOptions {
  readonly alerts: AlertBook;
  readonly throttles: Throttles;
  readonly wallet: (name: string) => WatchedWallet | undefined;
  /** The time at which the figures of an event's account were seen, ms, if they are from before the event; else null. */
  readonly figuresBefore: (event: Event) => number | null;
  /** IANA name, for times in texts. */
  readonly timezone: string;
  /** The facts of a judgement that channel templates use. */
  readonly facts: (env: Env) => TemplateFacts | undefined;
}

type EventLabels = Pick<NewAlert, "labels" | "severity"> & { readonly shadow: boolean };

/** An alert about an event, and the receivers that are notified of it now. */
interface Raised {
  readonly alertId: number;
  readonly notified: readonly string[];
}

export class EventAlerts {
  readonly #options: EventAlertOptions;
  readonly #announcements = new Announcements();

  constructor(options: EventAlertOptions) {
    this.#options = options;
  }

  /** Restores a past alert about an announcement. @param waiting receivers for whom it is held */
  restore(alert: Alert, word: Match["word"], waiting: readonly string[]): void {
    this.#announcements.restore(alert, word, () => this.#options.alerts.receivers(alert, waiting));
  }

  /** Raises the alert of a rule that matches. @returns as for `#notifyOnce` */
  raise(rule: EventRule, event: Event, env: Env, builder: ChangesBuilder): readonly Match[] {
    const raise = (except: readonly string[]) => this.#raise(rule, event, env, builder, except);
    return this.#notifyOnce(rule.name, rule.acknowledge, event, this.#labelsOf(event, rule), raise);
  }

  /** Raises an alert for a notification of an unknown type: it stays unacknowledged until a person handles it. @returns as for `#notifyOnce` */
  raiseUnknown(event: Event, builder: ChangesBuilder): readonly Match[] {
    const labels = event.wallet === null ? {} : (this.#options.wallet(event.wallet)?.labels ?? {});
    return this.#notifyOnce(
      unknownTypeRule,
      "whenAcknowledged",
      event,
      { labels, severity: "warning", shadow: false },
      (except) => this.#raiseUnknown(event, builder, except),
    );
  }

  /** Reports an event that these rules could not judge, as its figures did not arrive in time. */
  raiseUnjudged({ event, sinceMs }: HeldEvent, open: readonly OpenRule[], builder: ChangesBuilder): Match {
    const names = open.map(({ rule }) => rule.name).join(", ");
    const what = event.inbox?.notificationType ?? event.kind;
    const severity = open
      .map(({ rule }) => rule.severity)
      .reduce((worst, one) => (severityRank[one] > severityRank[worst] ? one : worst), "warning");
    const waited = formatDurationMs(Math.max(heldForMs, builder.atMs - sinceMs));
    const causes = [...new Set(open.map(({ unknown }) => unknown.detail))].join("; ");
    const { alertId } = this.#raiseBuiltIn(
      event,
      {
        rule: noDataRule,
        severity,
        labels: { source: open[0]!.unknown.source ?? "" },
        summary: `${eventSubject(event)}: ${what} was not judged by ${names}`,
        description: `What these rules read was not known for ${waited}: ${causes}. Look at it yourself: they may have told you of it.`,
        groupKey: `event/${event.wallet ?? ""}/${builder.atMs}`,
      },
      builder,
    );
    return { rule: noDataRule, alertId, word: "never" };
  }

  /**
   * Raises the alert of a rule for an event. If the event is another wallet's copy of an announcement, the alert is only for
   * receivers that were not notified yet; if there are none, no alert is raised.
   * @returns this alert and those of earlier copies
   */
  #notifyOnce(
    rule: string,
    word: Match["word"],
    event: Event,
    { labels, severity, shadow }: EventLabels,
    raise: (except: readonly string[]) => Raised,
  ): readonly Match[] {
    const earlier = this.#announcements.earlier(rule, event);
    const notified = earlier.flatMap(({ receivers }) => receivers);
    const matches = earlier.map(({ match }) => match);
    const { wallet, symbol } = event;
    const routed = { labels, rule, severity, subject: eventSubject(event), wallet, symbol };
    const receivers = this.#options.alerts.receivers(routed, notified);
    if (earlier.length > 0 && receivers.length === 0) return matches;
    const { alertId, notified: notifiedNow } = raise(notified);
    const own: Match = { rule, alertId, word };
    // Receivers for whom it is held are notified of another wallet's copy that is not held.
    if (!shadow) this.#announcements.note(event, own, notifiedNow);
    return [...matches, own];
  }

  #labelsOf(event: Event, { labels, severity, mode }: EventRule): EventLabels {
    const ofWallet = event.wallet === null ? {} : this.#options.wallet(event.wallet)?.labels;
    return { labels: { ...ofWallet, ...labels }, severity, shadow: mode === "shadow" };
  }

  #raise(
    rule: EventRule,
    event: Event,
    env: Env,
    builder: ChangesBuilder,
    except: readonly string[],
  ): Raised {
    const subject = eventSubject(event);
    const shadow = rule.mode === "shadow";
    const throttled = rule.throttleMs !== null && !shadow;
    const held = throttled && this.#options.throttles.holds(rule, subject, builder.atMs);
    const { change, notified } = this.#options.alerts.recordEvent(
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
    return { alertId: change.alertId, notified };
  }

  /** Label with the time of the account's figures in the text, if they are from before the event. */
  #olderFigures(rule: EventRule, event: Event): (readonly [string, string])[] {
    if (!namesFigures(rule)) return [];
    const atMs = this.#options.figuresBefore(event);
    if (atMs === null) return [];
    return [["Account's figures", `of ${timeOfDay(atMs, this.#options.timezone)}, before this happened`]];
  }

  #raiseUnknown(event: Event, builder: ChangesBuilder, except: readonly string[]): Raised {
    const type = event.inbox?.notificationType ?? "";
    return this.#raiseBuiltIn(
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

  /** Raises an alert for an event by a built-in rule. */
  #raiseBuiltIn(
    event: Event,
    own: Pick<NewAlert, "rule" | "severity" | "labels" | "summary" | "description" | "except"> & {
      readonly groupKey: string | null;
    },
    builder: ChangesBuilder,
  ): Raised {
    const { groupKey, ...text } = own;
    const labels = event.wallet === null ? {} : this.#options.wallet(event.wallet)?.labels;
    const { change, notified } = this.#options.alerts.recordEvent(
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
    return { alertId: change.alertId, notified };
  }
}

/** The built-in rule for notifications of a type that neither the contract nor any rule knows. */
export const unknownTypeRule = "UnknownNotification" satisfies BuiltInRule;

/** True if a rule's text contains a figure of the account that changes. */
function namesFigures({ summary, description }: EventRule): boolean {
  return figureInText.test(`${summary.text} ${description?.text ?? ""}`);
}

const figureInText =
  /\{\{[^}]*\b(?:trader|position|wallet)\.(?!(?:name|account|subaccount|symbol|side|authority|labels|limits)\b)/;
