/** `perpwatch rules shadow`: the messages that rules in shadow mode would have sent. */
import type { Command } from "commander";
import type { Alert } from "../../../domain/alerts/alert.ts";
import { formatDurationMs } from "../../../domain/text/duration.ts";
import { plainWords } from "../../../domain/text/plain-words.ts";
import { formatTime } from "../../../domain/text/time-text.ts";
import { type Cli, type CommonOptions, declare, print, printJson } from "../../command.ts";
import { judgingPart } from "../../configuration.ts";
import { counted, paintFor, severityTint } from "../../terminal/print.ts";
import { table } from "../../terminal/table.ts";
import { timeOf } from "../../terminal/values.ts";

interface ShadowOptions extends CommonOptions {
  readonly since: string;
}

export function shadowCommand(group: Command, cli: Cli): void {
  declare(group, {
    usage: "shadow",
    summary: "what rules in shadow mode would have sent, and to whom",
    about:
      "Rules with mode: shadow are judged and recorded, and nobody is notified. This lists what they would have sent.",
    examples: ["rules shadow", "rules shadow --since 7d --json"],
  })
    .option("--since <time>", "how far back, as a duration or a time", "7d")
    .action((options: ShadowOptions) => shadow(cli, options));
}

async function shadow(cli: Cli, options: ShadowOptions): Promise<void> {
  // Settings of channels are not needed, and may be missing.
  const settings = await judgingPart(cli, options.config);
  const nowMs = Date.now();
  const sinceMs = timeOf("--since", options.since, nowMs);
  const { openHistory } = await import("../../history-reading.ts");
  const { shadowReport } = await import("../../../replay/shadow.ts");
  const history = await openHistory(settings.history.path);
  try {
    const report = await shadowReport(history, settings.ruleSet, settings, sinceMs);
    if (options.json) return printJson(cli, report);
    const paint = paintFor(cli.out);
    const { timezone } = settings;
    if (report.rules.length === 0)
      return print(cli, "No rule is in shadow mode, and none was: mode: shadow puts one there.");
    print(
      cli,
      `${paint("bold", `Since ${formatTime(sinceMs, timezone)} nobody was notified of`)}\n${table(
        ["rule", { title: "alerts", right: true }, { title: "messages", right: true }, "to", ""],
        report.rules.map(({ rule, alerts, messages, receivers, isShadow }) => [
          rule,
          String(alerts),
          String(messages),
          receivers.join(", "),
          isShadow ? "" : "not in shadow mode now",
        ]),
        paint,
      )}`,
    );
    if (report.alerts.length === 0) return;
    const lasted = ({ event, endedAtMs, firedAtMs }: Alert) =>
      event ? "event" : formatDurationMs((endedAtMs ?? nowMs) - firedAtMs);
    const newest = report.alerts.slice(0, maxRows);
    print(
      cli,
      `\n${paint("bold", counted(report.alerts.length, "alert"))}\n${table(
        ["when", "for", "rule", "subject", "level", "ending", { title: "would have said", text: true }],
        newest.map((alert) => [
          formatTime(alert.firedAtMs, timezone),
          lasted(alert),
          alert.rule,
          alert.subject,
          paint(severityTint(alert.severity), alert.severity),
          alert.event ? "" : plainWords(alert.ending ?? "still firing"),
          alert.summary,
        ]),
        paint,
      )}`,
    );
    if (newest.length < report.alerts.length)
      print(cli, `and ${report.alerts.length - newest.length} more: --json has them all`);
  } finally {
    await history.close();
  }
}

/** Maximum rows of the table; `--json` has all. */
const maxRows = 200;
