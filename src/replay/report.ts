/** The report of a backtest, for people and as JSON. */
import { titleOf } from "../alerts/pending/reported.ts";
import type { Alert, AlertChange, Ending, Severity } from "../domain/alerts/alert.ts";
import { severityRank } from "../domain/alerts/alert.ts";
import type { Event } from "../domain/event.ts";
import { accountName } from "../domain/subject.ts";
import type { Backtested, Period, PeriodKind, Span } from "./backtest.ts";

export interface ReportedAlert {
  readonly rule: string;
  readonly subject: string;
  /** No rule file contains its rule. */
  readonly builtIn: boolean;
  readonly event: boolean;
  /** The highest level that it reached. */
  readonly severity: Severity;
  /** Its levels with their times, oldest first. */
  readonly levels: readonly { readonly severity: Severity; readonly atMs: number }[];
  readonly sinceMs: number;
  readonly firedAtMs: number;
  /** Null: it still fires at the end. */
  readonly endedAtMs: number | null;
  readonly ending: Ending | null;
  readonly alreadySo: boolean;
  readonly messages: number;
  readonly summary: string;
  readonly resolution: PeriodKind;
}

export interface LiquidationReport {
  readonly happenedMs: number;
  readonly subject: string;
  /** `market`, `backstop`, `adl`. */
  readonly kind: string;
  /** The first alert before it of level warning or higher; null: there was none. */
  readonly warning: LeadTime | null;
  readonly critical: LeadTime | null;
}

export interface LeadTime {
  readonly rule: string;
  readonly atMs: number;
  readonly leadMs: number;
}

export interface BacktestReport extends Span {
  readonly periods: readonly Period[];
  readonly down: readonly Span[];
  readonly gaps: readonly Span[];
  readonly unkept: Backtested["unkept"];
  readonly unread: Backtested["unread"];
  readonly alerts: readonly ReportedAlert[];
  readonly messages: readonly {
    readonly atMs: number;
    readonly receiver: string;
    readonly lead: string;
    readonly title: string;
  }[];
  readonly liquidations: readonly LiquidationReport[];
  readonly rules: readonly {
    readonly rule: string;
    readonly alerts: number;
    readonly messages: number;
    /** The time for which it fired, summed over all subjects. */
    readonly firedMs: number;
    readonly longestMs: number;
  }[];
  /** By day of the time zone. */
  readonly days: readonly { readonly day: string; readonly alerts: number; readonly messages: number }[];
}

export interface ReportParts {
  readonly ran: Backtested;
  readonly rules: ReadonlySet<string>;
  readonly timezone: string;
  readonly lead: (change: AlertChange) => string;
}

export function reportOf({ ran, rules, timezone, lead }: ReportParts): BacktestReport {
  const { journal, toMs } = ran;
  const { sent } = journal;
  const messagesOf = new Map<number, number>();
  for (const { changes } of sent)
    for (const id of new Set(changes.map((change) => change.alertId)))
      messagesOf.set(id, (messagesOf.get(id) ?? 0) + 1);
  const stepsOf = Map.groupBy(journal.changes, (change) => change.alertId);
  const alerts = [...journal.alerts.values()].map((alert) =>
    reported(alert, stepsOf.get(alert.id) ?? [], messagesOf.get(alert.id) ?? 0, rules, ran.periods),
  );
  const messages = sent.map(({ atMs, receiver, changes, folded }) => ({
    atMs,
    receiver,
    lead: lead(changes[0]!),
    title: titleOf(changes, folded),
  }));
  const named = [...rules, ...alerts.flatMap(({ rule, builtIn }) => (builtIn ? [rule] : []))];
  const lasted = (alert: ReportedAlert) => (alert.event ? 0 : (alert.endedAtMs ?? toMs) - alert.firedAtMs);
  const day = dayIn(timezone);
  const days = new Map<string, { alerts: number; messages: number }>();
  const dayOf = (atMs: number) => {
    const name = day(atMs);
    const known = days.get(name) ?? { alerts: 0, messages: 0 };
    days.set(name, known);
    return known;
  };
  for (const { firedAtMs } of alerts) dayOf(firedAtMs).alerts++;
  for (const { atMs } of messages) dayOf(atMs).messages++;
  return {
    fromMs: ran.fromMs,
    toMs,
    periods: ran.periods,
    down: ran.down,
    gaps: ran.gaps,
    unkept: ran.unkept,
    unread: ran.unread,
    alerts,
    messages,
    liquidations: ran.liquidations.map((event) => leadTimes(event, alerts)),
    rules: [...new Set(named)].map((rule) => {
      const own = alerts.filter((alert) => alert.rule === rule);
      return {
        rule,
        alerts: own.length,
        messages: own.reduce((sum, alert) => sum + alert.messages, 0),
        firedMs: own.reduce((sum, alert) => sum + lasted(alert), 0),
        longestMs: Math.max(0, ...own.map(lasted)),
      };
    }),
    days: [...days].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, counts]) => ({ day: name, ...counts })),
  };
}

function reported(
  alert: Alert,
  steps: readonly AlertChange[],
  messages: number,
  rules: ReadonlySet<string>,
  periods: readonly Period[],
): ReportedAlert {
  const levels = steps
    .filter(({ kind }) => kind === "fired" || kind === "rose" || kind === "fell")
    .map((step) => ({ severity: step.alert.severity, atMs: step.atMs }));
  const worst = levels.reduce<Severity>(
    (most, { severity }) => (severityRank[severity] > severityRank[most] ? severity : most),
    "info",
  );
  const period = periods.find(({ fromMs, toMs }) => alert.firedAtMs >= fromMs && alert.firedAtMs < toMs);
  return {
    rule: alert.rule,
    subject: alert.subject,
    builtIn: !rules.has(alert.rule),
    event: alert.event,
    severity: worst,
    levels,
    sinceMs: alert.sinceMs,
    firedAtMs: alert.firedAtMs,
    endedAtMs: alert.event ? alert.firedAtMs : alert.endedAtMs,
    ending: alert.ending,
    alreadySo: alert.alreadySo,
    messages,
    // The first text: that of the end describes the end.
    summary: steps[0]?.alert.summary ?? alert.summary,
    resolution: period?.resolution ?? periods.at(-1)?.resolution ?? "raw",
  };
}

/** The alerts of the position, its account or its wallet that were firing at the liquidation, and since when. */
function leadTimes(event: Event, alerts: readonly ReportedAlert[]): LiquidationReport {
  const { wallet, pdaIndex, subaccount, symbol, happenedMs, fields } = event;
  const account =
    wallet !== null && pdaIndex !== null && subaccount !== null
      ? accountName({ wallet, pdaIndex, subaccount })
      : null;
  const isOfIt = (subject: string): boolean => {
    if (subject === wallet) return true;
    const parts = subject.split("/");
    if (parts[0] !== wallet || parts.length < 2) return false;
    if (account !== null && `${parts[0]}/${parts[1]}` !== account) return false;
    return parts.length === 2 || symbol === null || parts[2] === symbol.toUpperCase();
  };
  const firingThen = alerts.filter(
    (alert) =>
      !alert.event &&
      !alert.builtIn &&
      isOfIt(alert.subject) &&
      alert.firedAtMs < happenedMs &&
      (alert.endedAtMs === null || alert.endedAtMs >= happenedMs),
  );
  const firstAlert = (least: Severity): LeadTime | null => {
    let best: LeadTime | null = null;
    for (const { rule, levels } of firingThen) {
      const step = levels.find(
        ({ severity, atMs }) => severityRank[severity] >= severityRank[least] && atMs < happenedMs,
      );
      if (step && (best === null || step.atMs < best.atMs))
        best = { rule, atMs: step.atMs, leadMs: happenedMs - step.atMs };
    }
    return best;
  };
  const where = account ?? wallet ?? "";
  return {
    happenedMs,
    subject: symbol === null ? where : `${where}/${symbol.toUpperCase()}`,
    kind: String(fields.kind ?? ""),
    warning: firstAlert("warning"),
    critical: firstAlert("critical"),
  };
}

/** Returns a formatter of days, `2026-01-05`. */
function dayIn(timezone: string): (atMs: number) => string {
  const format = new Intl.DateTimeFormat("en-CA", {
    timeZone: timezone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  });
  return (atMs) => format.format(atMs);
}
