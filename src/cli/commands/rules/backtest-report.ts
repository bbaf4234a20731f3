/** The report of a backtest, and the comparison of two, as text. */
import { formatDurationMs } from "../../../domain/text/duration.ts";
import { plainWords } from "../../../domain/text/plain-words.ts";
import { formatTime } from "../../../domain/text/time-text.ts";
import type { Comparison } from "../../../replay/compare-runs.ts";
import type { BacktestReport, LeadTime, ReportedAlert } from "../../../replay/report.ts";
import { counted, type Paint, severityTint } from "../../terminal/print.ts";
import { table } from "../../terminal/table.ts";

/** Rows of a table; more is for programs. */
const maxRows = 200;

export interface Shown {
  readonly paint: Paint;
  readonly timezone: string;
}

export const resolutions = {
  raw: "what was observed: exactly as a live run",
  samples: "stored samples",
  minute: "the last figures of each minute",
  hour: "the last figures of each hour",
} as const;

export function reportText(report: BacktestReport, { paint, timezone }: Shown): string {
  const time = (ms: number) => formatTime(ms, timezone);
  const span = (one: { fromMs: number; toMs: number }) =>
    `${time(one.fromMs)} to ${time(one.toMs)} (${formatDurationMs(one.toMs - one.fromMs)})`;
  const ours = report.alerts.filter(({ builtIn }) => !builtIn);
  const others = report.alerts.filter(({ builtIn }) => builtIn);
  const parts = [
    [
      paint(
        "bold",
        `${counted(ours.length, "alert")}, ${counted(report.messages.length, "message")} in ${formatDurationMs(report.toMs - report.fromMs)}`,
      ),
      ...report.periods.map((period) => `  ${span(period)}: ${resolutions[period.resolution]}`),
      ...report.down.map((one) => paint("yellow", `  nobody watched ${span(one)}`)),
      ...report.gaps.map((one) => paint("yellow", `  not recorded ${span(one)}`)),
      ...[...unkeptLines(report.unkept), ...report.unread].map((line) => paint("yellow", `  ${line}`)),
    ].join("\n"),
  ];
  const titled = (title: string, body: string) => parts.push(`${paint("bold", title)}\n${body}`);
  if (ours.length > 0) titled("Alerts", alertTable(ours, report.toMs, { paint, timezone }));
  if (others.length > 0) titled("Built-in alerts", alertTable(others, report.toMs, { paint, timezone }));
  const right = (title: string) => ({ title, right: true });
  titled(
    "Rules",
    table(
      ["rule", right("alerts"), right("messages"), right("fired for"), right("longest")],
      report.rules.map(({ rule, alerts, messages, firedMs, longestMs }) => [
        rule,
        String(alerts),
        String(messages),
        firedMs === 0 ? "–" : formatDurationMs(firedMs),
        longestMs === 0 ? "–" : formatDurationMs(longestMs),
      ]),
      paint,
    ) +
      countLines(report)
        .map((line) => `\n${line}`)
        .join(""),
  );
  const receivers = [...Map.groupBy(report.messages, ({ receiver }) => receiver)];
  if (report.days.length > 0)
    titled(
      "Days",
      table(
        ["day", right("alerts"), right("messages")],
        report.days.map(({ day, alerts, messages }) => [day, String(alerts), String(messages)]),
        paint,
      ) + receivers.map(([receiver, all]) => `\nto ${receiver}: ${counted(all.length, "message")}`).join(""),
    );
  if (report.liquidations.length > 0)
    titled(
      "Liquidations, and the word that came before",
      table(
        ["when", "position", "kind", "warning", "critical"],
        report.liquidations.map(({ happenedMs, subject, kind, warning, critical }) => [
          time(happenedMs),
          subject,
          kind,
          leadText(warning, paint),
          leadText(critical, paint),
        ]),
        paint,
      ),
    );
  return parts.join("\n\n");
}

/** Explains how the columns of the table of rules are counted, where that may be misread. */
function countLines({ rules, messages, down }: BacktestReport): readonly string[] {
  const alone = rules.reduce((sum, rule) => sum + rule.messages, 0);
  const lines: string[] = [];
  if (alone > messages.length)
    lines.push(
      `Messages count for each alert that they tell of; grouped together they are ${messages.length}.`,
    );
  if (down.length > 0) lines.push("What went on while nobody watched counts on.");
  return lines;
}

/** More rules than this are named without what they read. */
const maxUnkept = 5;

function unkeptLines(unkept: BacktestReport["unkept"]): readonly string[] {
  const where = "samples do not keep: what depends on it is judged where observations were recorded";
  if (unkept.length <= maxUnkept)
    return unkept.map(({ rule, fields }) => `${rule} reads ${fields.join(", ")}, which ${where}`);
  const names = unkept.map(({ rule }) => rule).join(", ");
  return [`${unkept.length} rules read what ${where} (--json says what): ${names}`];
}

function leadText(lead: LeadTime | null, paint: Paint): string {
  if (lead === null) return paint("red", "no warning");
  return `${formatDurationMs(lead.leadMs)} before (${lead.rule})`;
}

function alertTable(alerts: readonly ReportedAlert[], toMs: number, { paint, timezone }: Shown): string {
  const rows = alerts
    .slice(0, maxRows)
    .map((alert) => [
      formatTime(alert.firedAtMs, timezone),
      alert.event ? "event" : formatDurationMs((alert.endedAtMs ?? toMs) - alert.firedAtMs),
      alert.rule,
      alert.subject,
      alert.levels.map(({ severity }) => paint(severityTint(severity), severity)).join(" → "),
      alert.event ? "" : plainWords(alert.ending ?? "still firing"),
      String(alert.messages),
      alert.summary,
    ]);
  const text = table(
    [
      "when",
      "for",
      "rule",
      "subject",
      "levels",
      "ending",
      { title: "messages", right: true },
      { title: "told", text: true },
    ],
    rows,
    paint,
  );
  return alerts.length <= maxRows
    ? text
    : `${text}\nand ${alerts.length - maxRows} more: --json has them all`;
}

export function comparisonText(
  { onlyA, onlyB, different, same }: Comparison,
  a: BacktestReport,
  b: BacktestReport,
  file: string,
  shown: Shown,
): string {
  const { paint, timezone } = shown;
  const counts = (report: BacktestReport) =>
    `${counted(report.alerts.length, "alert")}, ${counted(report.messages.length, "message")}`;
  const parts = [
    `${paint("bold", `Beside ${file}`)}\n  these rules: ${counts(a)}\n  ${file}: ${counts(b)}\n  ${counted(same, "alert")} alike`,
  ];
  if (onlyA.length > 0)
    parts.push(`${paint("bold", "Only by these rules")}\n${alertTable(onlyA, a.toMs, shown)}`);
  if (onlyB.length > 0)
    parts.push(`${paint("bold", `Only by ${file}`)}\n${alertTable(onlyB, b.toMs, shown)}`);
  if (different.length > 0) {
    const rows = different
      .slice(0, maxRows)
      .map(({ a: one, b: other, laterMs }) => [
        formatTime(one.firedAtMs, timezone),
        one.rule === other.rule ? one.rule : `${one.rule} / ${other.rule}`,
        one.subject,
        laterMs === 0
          ? "same time"
          : `${formatDurationMs(Math.abs(laterMs))} ${laterMs > 0 ? "later" : "earlier"} there`,
        one.severity === other.severity ? one.severity : `${one.severity} / ${other.severity}`,
        one.ending === other.ending
          ? plainWords(one.ending ?? "")
          : plainWords(`${one.ending ?? "firing"} / ${other.ending ?? "firing"}`),
      ]);
    parts.push(
      `${paint("bold", "By both, and not alike")}\n${table(["when", "rule", "subject", "fired", "level", "ending"], rows, paint)}`,
    );
  }
  return parts.join("\n\n");
}
