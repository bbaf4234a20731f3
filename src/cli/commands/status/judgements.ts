/** Tables of the alerts that fire, of conditions that wait, and of what rules cannot judge. */
import { type Alert, severityRank } from "../../../domain/alerts/alert.ts";
import { endingWaitText } from "../../../domain/alerts/ending-wait.ts";
import type { FiringAlert } from "../../../domain/status.ts";
import { formatDurationMs } from "../../../domain/text/duration.ts";
import { sourceWords } from "../../../domain/text/source-words.ts";
import { type Paint, severityTint } from "../../terminal/print.ts";
import { table } from "../../terminal/table.ts";
import type { Status, Time } from "./answer.ts";

/** Worst first. */
export function firingTable(
  alerts: readonly (Alert | FiringAlert)[],
  nowMs: number,
  paint: Paint,
  time: Time,
): string {
  const rows = [...alerts]
    .sort((a, b) => severityRank[b.severity] - severityRank[a.severity] || a.firedAtMs - b.firedAtMs)
    .map((alert) => [
      String(alert.id),
      paint(severityTint(alert.severity), alert.severity),
      alert.rule,
      alert.subject,
      formatDurationMs(Math.max(0, nowMs - alert.firedAtMs)),
      alert.acknowledgedBy ?? "",
      [alert.summary, ...notesOf(alert, nowMs, time).map((note) => paint("yellow", `(${note})`))].join(" "),
    ]);
  const columns = [
    { title: "id", right: true },
    "severity",
    "rule",
    "subject",
    "for",
    "acknowledged",
    { title: "summary", text: true },
  ];
  return table(columns, rows, paint);
}

/** The age of an alert's text, where it is not of now, and that its end waits. */
function notesOf(alert: Alert | FiringAlert, nowMs: number, time: Time): string[] {
  if (!("textAtMs" in alert)) return [];
  const { textAtMs, endingWait, gone } = alert;
  return [
    ...(nowMs - textAtMs > 10_000 ? [`as of ${time(textAtMs)}`] : []),
    ...(endingWait ? [endingWaitText(endingWait, time)] : gone ? ["no longer holds"] : []),
  ];
}

/** A pending condition that began so much earlier than it counts has its beginning beside it, ms. */
const uncountedMs = 10_000;

export function pendingTable(status: Status, paint: Paint): string {
  const rows = status.watch.pending.map(({ rule, subject, severity, sinceMs, heldMs, forMs }) => {
    const sinceText = formatDurationMs(Math.max(0, Number(status.nowMs) - Number(sinceMs)));
    // Time in which nothing fresh was read does not count.
    const uncounted = Number(status.nowMs) - Number(sinceMs) - Number(heldMs) > uncountedMs;
    return [
      paint(severityTint(severity), severity),
      rule,
      subject,
      `${formatDurationMs(Number(heldMs))} of ${formatDurationMs(Number(forMs))}`,
      uncounted ? `began ${sinceText} ago: time without fresh data does not count` : "",
    ];
  });
  return table(["severity", "rule", "subject", "held", ""], rows, paint);
}

/** Null: every rule can judge each of its subjects. */
export function ruleTable(status: Status, paint: Paint): string | null {
  const { ruleStates, unjudged } = status.watch;
  const rows = ruleStates.flatMap(({ rule, mode, ok, noData, error }) => {
    if (Number(noData) === 0 && Number(error) === 0) return [];
    const worst = unjudged.find((one) => one.rule === rule && one.state === "error");
    const one = worst ?? unjudged.find((candidate) => candidate.rule === rule);
    const name = mode === "shadow" ? `${rule} (shadow)` : rule;
    const failing = Number(error) === 0 ? "0" : paint("red", String(error));
    const why = one ? `${one.subject}: ${one.detail}` : "";
    return [[name, String(ok), Number(noData) === 0 ? "0" : paint("yellow", String(noData)), failing, why]];
  });
  if (rows.length === 0) return null;
  return table(
    [
      "rule",
      { title: "ok", right: true },
      { title: "no data", right: true },
      { title: "error", right: true },
      "one of them",
    ],
    rows,
    paint,
  );
}

export function noDataTable(status: Status, paint: Paint): string {
  const rows = status.watch.blind.map(({ wallet, source, sinceMs, rules }) => [
    paint("red", source === "configuration" ? source : `${sourceWords[source]} (${source})`),
    wallet ?? "exchange",
    formatDurationMs(Number(status.nowMs) - Number(sinceMs)),
    rules.join(", "),
  ]);
  return table(["no fresh", "of", "for", "rules that cannot judge"], rows, paint);
}
