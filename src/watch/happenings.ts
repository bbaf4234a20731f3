/**
 * Judges events: each is stored once, enters the windows that count it, and is one alert for every rule that matches.
 * For a notification of the exchange it is also decided what it takes until it counts as handled.
 */
import { type AcknowledgeSettings, acknowledgeWord } from "../alerts/acknowledge.ts";
import type { Alert } from "../domain/alert.ts";
import type { AckStatus, AckWord } from "../domain/delivery.ts";
import type { Event, EventKind } from "../domain/event.ts";
import { accountName } from "../domain/subject.ts";
import { type Env, type EventRule, type Facts, isUnknown, judgeEvent, type RuleSet } from "../rules/index.ts";
import type { AlertBook } from "./alert-book.ts";
import { selects } from "./conditions.ts";
import type { Draft } from "./draft.ts";
import type { WatchedWallet } from "./settings.ts";
import type { Throttles } from "./throttles.ts";

/** Matches of a canonical liquidation, for the notification that tells of it later. Newest last, bounded. */
const rememberedLiquidations = 2_000;

interface Match {
  readonly rule: string;
  readonly alertId: number;
  readonly word: AckWord | null;
}

export interface HappeningsOptions {
  readonly ruleSet: RuleSet;
  readonly acknowledge: AcknowledgeSettings;
  readonly alerts: AlertBook;
  readonly throttles: Throttles;
  readonly wallet: (name: string) => WatchedWallet | undefined;
  /** Surroundings of an event, with `event` filled in. */
  readonly env: (event: Event, facts: Facts) => Env;
}

export class Happenings {
  readonly #options: HappeningsOptions;
  readonly #byKind = new Map<EventKind, readonly EventRule[]>();
  readonly #liquidations = new Map<string, readonly Match[]>();

  constructor(options: HappeningsOptions) {
    this.#options = options;
    for (const rule of options.ruleSet.events) {
      this.#byKind.set(rule.on, [...(this.#byKind.get(rule.on) ?? []), rule]);
    }
  }

  /** Takes the alerts of past liquidations back, so that a notification that comes late is matched with them. */
  restore(alerts: readonly Alert[]): void {
    const word = (rule: string): AckWord | null =>
      this.#options.ruleSet.events.find((one) => one.name === rule)?.acknowledge ?? null;
    for (const alert of alerts) {
      if (!alert.eventKey?.startsWith("liquidation:")) continue;
      const key = alert.eventKey.slice("liquidation:".length);
      this.#remember(key, { rule: alert.rule, alertId: alert.id, word: word(alert.rule) });
    }
  }

  /** Stores and judges one event that was not known before. */
  take(event: Event, draft: Draft): void {
    draft.changes.events.push(event);
    if (event.backfilled) {
      if (event.inbox) this.#acknowledgeBacklog(event, draft);
      return;
    }
    const matches = this.#judge(event, draft);
    if (event.kind === "liquidation") for (const match of matches) this.#remember(event.key, match);
    if (event.inbox) this.#acknowledge(event, matches, draft);
  }

  #judge(event: Event, draft: Draft): Match[] {
    const rules = this.#byKind.get(event.kind);
    const unmatchedType = event.inbox !== null && !knownTypes.has(event.inbox.notificationType);
    if (!rules && !unmatchedType) return [];
    const env = this.#options.env(event, eventFacts(event, draft.atMs));
    env.nowMs = draft.atMs;
    const matches: Match[] = [];
    for (const rule of rules ?? []) {
      if (!selects(rule.select, event, this.#options.wallet)) continue;
      const holds = judgeEvent(rule, env);
      if (isUnknown(holds) || !holds) continue;
      matches.push({ rule: rule.name, alertId: this.#tell(rule, event, env, draft), word: rule.acknowledge });
    }
    if (matches.length === 0 && unmatchedType && event.kind === "notification") {
      // What nobody foresaw is delivered as it is, and stays unacknowledged until a person says otherwise.
      matches.push({
        rule: unknownTypeRule,
        alertId: this.#tellUnknown(event, draft),
        word: "whenAcknowledged",
      });
    }
    return matches;
  }

  #tell(rule: EventRule, event: Event, env: Env, draft: Draft): number {
    const subject = eventSubject(event);
    const held = rule.throttleMs === null ? false : this.#options.throttles.holds(rule, subject, draft.atMs);
    const change = this.#options.alerts.tell(
      draft,
      {
        rule: rule.name,
        subject,
        wallet: event.wallet,
        symbol: event.symbol,
        labels: {
          ...(event.wallet === null ? {} : this.#options.wallet(event.wallet)?.labels),
          ...rule.labels,
        },
        severity: rule.severity,
        sinceMs: event.happenedMs,
        alreadySo: false,
        runbook: rule.runbook,
        happenedMs: event.happenedMs,
        summary: rule.summary.render(env),
        description: rule.description?.render(env) ?? "",
        value: null,
        dataAtMs: event.seenMs,
        details: eventDetails(event),
      },
      `${event.kind}:${event.key}`,
      null,
      !held,
    );
    if (rule.throttleMs !== null) this.#options.throttles.note(rule, subject, held ? change : null, draft);
    return change.alertId;
  }

  #tellUnknown(event: Event, draft: Draft): number {
    const type = event.inbox?.notificationType ?? "";
    const change = this.#options.alerts.tell(
      draft,
      {
        rule: unknownTypeRule,
        subject: eventSubject(event),
        wallet: event.wallet,
        symbol: event.symbol,
        labels: event.wallet === null ? {} : { ...this.#options.wallet(event.wallet)?.labels },
        severity: "warning",
        sinceMs: event.happenedMs,
        alreadySo: false,
        runbook: null,
        happenedMs: event.happenedMs,
        summary: `The exchange sent a notification of a kind that is not known here: ${type}`,
        description: `As it came: ${JSON.stringify(event.data).slice(0, 1_500)}`,
        value: null,
        dataAtMs: event.seenMs,
        details: eventDetails(event),
      },
      `${event.kind}:${event.key}`,
      null,
      true,
    );
    return change.alertId;
  }

  #acknowledge(event: Event, matches: readonly Match[], draft: Draft): void {
    const inbox = event.inbox!;
    if (inbox.acked) return;
    const told = inbox.liquidationKey === null ? [] : (this.#liquidations.get(inbox.liquidationKey) ?? []);
    const all = [...matches, ...told];
    const settings = this.#options.acknowledge;
    if (all.length === 0) {
      const take = settings.unmatched === "always" && settings.notifications !== "never";
      const reason = take ? "" : "no rule matches it";
      this.#row(event, take ? "always" : "never", [], take ? "due" : "left", reason, draft);
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
    const reason = word === "never" ? "its rules or the configuration say never" : "";
    this.#row(
      event,
      word,
      [...rules].map(([rule, alertIds]) => ({ rule, alertIds })),
      status,
      reason,
      draft,
    );
  }

  #acknowledgeBacklog(event: Event, draft: Draft): void {
    if (event.inbox!.acked) return;
    const take = this.#options.acknowledge.backlog === "always";
    this.#row(
      event,
      take ? "always" : "never",
      [],
      take ? "due" : "left",
      take ? "" : "from before the first start",
      draft,
    );
  }

  #row(
    event: Event,
    word: AckWord,
    rules: readonly { readonly rule: string; readonly alertIds: readonly number[] }[],
    status: AckStatus,
    reason: string,
    draft: Draft,
  ): void {
    if (event.wallet === null || this.#options.wallet(event.wallet)?.watchOnly) return;
    draft.changes.acknowledgements.push({
      key: event.key,
      wallet: event.wallet,
      word,
      rules,
      status,
      dueAtMs: status === "due" ? draft.atMs : null,
      confirmedAtMs: null,
      reason,
    });
  }

  #remember(key: string, match: Match): void {
    this.#liquidations.set(key, [...(this.#liquidations.get(key) ?? []), match]);
    if (this.#liquidations.size > rememberedLiquidations) {
      const oldest = this.#liquidations.keys().next().value;
      if (oldest !== undefined) this.#liquidations.delete(oldest);
    }
  }
}

/** The built-in rule that delivers notifications of a kind that neither the contract nor any rule knows. */
export const unknownTypeRule = "UnknownNotification";

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

export function eventSubject(event: Event): string {
  if (event.wallet === null) return event.symbol === null ? "exchange" : `market/${event.symbol}`;
  if (event.pdaIndex === null || event.subaccount === null) {
    return event.symbol === null ? event.wallet : `${event.wallet}/${event.symbol}`;
  }
  const account = accountName({
    wallet: event.wallet,
    pdaIndex: event.pdaIndex,
    subaccount: event.subaccount,
  });
  return event.symbol === null ? account : `${account}/${event.symbol}`;
}

/** What `event.` means in a rule. An absent optional field is absent here, and so unknown in a condition. */
export function eventFacts(event: Event, nowMs: number): Facts {
  const values: Facts["values"] = {
    kind: event.kind,
    at: event.happenedMs,
    age: nowMs - event.happenedMs,
    id: event.key,
  };
  if (event.symbol !== null) values.symbol = event.symbol;
  for (const [name, value] of Object.entries(event.fields)) if (value !== null) values[name] = value;
  if (event.kind === "notification") values.data = textsOf(event.data);
  return { values, seenMs: {} };
}

/** Scalars of a raw record as text, by name. */
function textsOf(data: unknown): Record<string, string> {
  const texts: Record<string, string> = {};
  if (typeof data !== "object" || data === null) return texts;
  for (const [name, value] of Object.entries(data)) {
    if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      texts[name] = String(value);
  }
  return texts;
}

function eventDetails(event: Event): readonly (readonly [string, string])[] {
  const lines: (readonly [string, string])[] = [];
  for (const [name, label] of detailFields) {
    const value = event.fields[name];
    if (value !== null && value !== undefined && value !== "") lines.push([label, String(value)]);
  }
  return lines;
}

const detailFields = [
  ["side", "Side"],
  ["size", "Size"],
  ["price", "Price"],
  ["notional", "Notional (USD)"],
  ["collateralChange", "Collateral change (USD)"],
  ["payment", "Payment (USD)"],
  ["amountUsd", "Amount (USD)"],
] as const;
