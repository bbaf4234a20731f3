/** `perpwatch alerts`: lists alerts, shows the history of one, and acknowledges them. */
import type { Command } from "commander";
import {
  type Alert,
  type AlertChange,
  adviceIn,
  type Severity,
  severities,
  worstSeverityOf,
} from "../../domain/alerts/alert.ts";
import type { DeliveryItem, Message } from "../../domain/alerts/delivery.ts";
import { endingWaitText } from "../../domain/alerts/ending-wait.ts";
import { receiptsOf } from "../../domain/alerts/receipt.ts";
import type { AlertQuery, AlertStory } from "../../domain/ports.ts";
import type { FiringAlert } from "../../domain/status.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { plainWords } from "../../domain/text/plain-words.ts";
import { formatTime } from "../../domain/text/time-text.ts";
import {
  type Cli,
  CommandFailed,
  type CommonOptions,
  declare,
  declareGroup,
  hint,
  print,
  printJson,
} from "../command.ts";
import { locate, type Place } from "../configuration.ts";
import { ask, noDaemon, queryOf } from "../daemon.ts";
import { alertsOf, withHistory } from "../history-reading.ts";
import { receiptTable } from "../receipts.ts";
import { counted, oneLine, type Paint, paintFor, severityTint } from "../terminal/print.ts";
import { table } from "../terminal/table.ts";
import { userName } from "../terminal/user-name.ts";
import { integerFrom, oneOf } from "../terminal/values.ts";
import { warnOfUnknownNames } from "../unknown-names.ts";

interface ListOptions extends CommonOptions {
  readonly firing?: boolean;
  readonly shadow?: boolean;
  readonly rule?: string;
  readonly wallet?: string;
  readonly severity?: Severity;
  readonly limit: number;
}

interface AckOptions extends CommonOptions {
  readonly comment?: string;
  readonly by?: string;
}

type FormatTime = (ms: number, timezone: string) => string;

export function alertsCommand(program: Command, cli: Cli): void {
  const group = declareGroup(program, "alerts", "list alerts, show the history of one, acknowledge some", [
    "alerts --firing --severity critical",
    "alerts show 17",
    'alerts ack 17 --comment "adding collateral"',
  ]);
  declare(group, {
    usage: "list",
    summary: "list alerts, newest first (what `alerts` alone does)",
    examples: ["alerts --firing", "alerts list --rule LiquidationNear --wallet main --limit 5"],
    isDefault: true,
  })
    .option("--firing", "only those that fire now")
    .option("--shadow", "those of rules in shadow mode, which sent no message, instead")
    .option("--rule <name>", "only of this rule")
    .option("--wallet <name>", "only of this wallet")
    .option(
      "--severity <severity>",
      `${severities.join(", ")}: the worst that they reached; with --firing, the present one`,
      oneOf(severities),
    )
    .option("--limit <n>", "at most so many", integerFrom(1, 1_000), 50)
    .action((options: ListOptions) => list(cli, options));
  declare(group, {
    usage: "show <id>",
    summary: "one alert: each step in its life, what became of its messages, and the receipt of each",
    about:
      "Receipts state when it happened at the exchange, was seen, fired, became pending, was finalized, was accepted by the\n" +
      "channel and was acknowledged to the exchange, each with the time since the step before.",
    examples: ["alerts show 17"],
  }).action((id: string, options: CommonOptions) => show(cli, idFrom(id), options));
  declare(group, {
    usage: "ack <ids...>",
    summary:
      "acknowledge alerts: quiet for 1h (remind.*.acknowledgedFor), unless its severity rises, or its value gets worse by 20% (remind.worseBy; with `worst:` in its rule by 20% of what is left to that; changes by it, where the rule gives no direction)",
    about: "Of several each is acknowledged by itself; exits 1 where one of them could not be.",
    examples: ['alerts ack 17 --comment "adding collateral"', "alerts ack 17 18 21"],
  })
    .option("--comment <text>", "why, for those who read it later")
    .option("--by <name>", "who; default: you")
    .action((ids: string[], options: AckOptions) => acknowledge(cli, ids.map(idFrom), options));
}

function idFrom(text: string): number {
  const id = Number(text.replace(/^#/, ""));
  if (Number.isSafeInteger(id) && id > 0) return id;
  throw new CommandFailed(`an alert's id is a number such as 17, not ${JSON.stringify(text)}`, 2);
}

async function list(cli: Cli, options: ListOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const { rule, wallet, severity, limit } = options;
  const query: AlertQuery = {
    limit,
    ...(options.firing === true ? { state: "firing" } : {}),
    ...(options.shadow === true ? { shadow: true } : {}),
    ...(rule === undefined ? {} : { rule }),
    ...(wallet === undefined ? {} : { wallet }),
    ...(severity === undefined ? {} : { severity }),
  };
  const path = `/api/v1/alerts${queryOf({ ...query })}`;
  const answer = await ask<{ alerts: readonly Alert[]; nowMs: number }>(place, "GET", path);
  const running = answer.kind === "answered";
  const alerts = running
    ? answer.body.alerts
    : await withHistory(cli, place, (history) => alertsOf(history, query));
  if (alerts.length === 0 && (rule !== undefined || wallet !== undefined))
    await warnOfUnknownNames(cli, options.config, {
      ...(rule === undefined ? {} : { rule: [rule] }),
      ...(wallet === undefined ? {} : { wallet: [wallet] }),
    });
  if (options.json) return printJson(cli, { running, alerts });
  if (alerts.length === 0) return print(cli, options.firing === true ? "No alert is firing." : "No alerts.");
  print(cli, alertTable(alerts, running ? answer.body.nowMs : null, place, formatTime, paintFor(cli.out)));
  if (alerts.length === limit) print(cli, `\nThe newest ${limit}; --limit shows more.`);
}

function alertTable(
  alerts: readonly Alert[],
  nowMs: number | null,
  place: Place,
  time: FormatTime,
  paint: Paint,
): string {
  const rows = alerts.map((alert) => [
    String(alert.id),
    time(alert.firedAtMs, place.timezone),
    levelOf(alert, paint),
    stateOf(alert, paint),
    alert.rule,
    alert.subject,
    textOf(alert) + asOf(alert, nowMs, (ms) => time(ms, place.timezone), paint),
  ]);
  return table(
    [
      { title: "id", right: true },
      "fired",
      "severity",
      "state",
      "rule",
      "subject",
      { title: "summary", text: true },
    ],
    rows,
    paint,
  );
}

/** The text of a firing alert; of an ended one, its worst text. */
function textOf({ state, summary, worst }: Alert): string {
  return state === "ended" && worst !== undefined ? worst.summary : summary;
}

/** The time of a firing alert's text, if it is not current, and the note that its end is delayed. */
function asOf(alert: Alert, nowMs: number | null, time: (ms: number) => string, paint: Paint): string {
  // Without a daemon, the last notified text is the newest.
  const { textAtMs = nowMs ?? alert.dataAtMs, endingWait, gone } = alert as Partial<FiringAlert>;
  if (alert.state !== "firing") return "";
  const notes = [
    ...(nowMs !== null && nowMs - textAtMs <= 10_000 ? [] : [`as of ${time(textAtMs)}`]),
    ...(endingWait ? [endingWaitText(endingWait, time)] : gone ? ["no longer holds"] : []),
  ];
  return notes.map((note) => ` ${paint("yellow", `(${note})`)}`).join("");
}

/** The level, with the worst one if it differs. */
function levelOf(alert: Alert, paint: Paint): string {
  const tinted = (severity: Severity) => paint(severityTint(severity), severity);
  const worst = worstSeverityOf(alert);
  if (worst === alert.severity) return tinted(worst);
  return alert.state === "firing"
    ? `${tinted(alert.severity)} (was ${worst})`
    : `${tinted(worst)} → ${alert.severity}`;
}

function stateOf(alert: Alert, paint: Paint): string {
  const acknowledged = alert.acknowledgedBy === null ? "" : `, acknowledged by ${alert.acknowledgedBy}`;
  if (alert.drill) return paint("yellow", "DRILL, nothing happened");
  if (alert.event) return `event${acknowledged}`;
  if (alert.state === "firing") return paint("red", `firing${acknowledged}`);
  if (alert.ending === "recovered") return paint("green", "resolved");
  return plainWords(alert.ending ?? "ended");
}

async function show(cli: Cli, id: number, options: CommonOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const answer = await ask<AlertStory & { nowMs: number }>(place, "GET", `/api/v1/alerts/${id}`);
  const running = answer.kind === "answered";
  const story = running
    ? answer.body
    : await withHistory(cli, place, async (history) => {
        const { alertStory } = await import("../../daemon/answers/alert-story.ts");
        return alertStory(history, id);
      });
  if (story === null) throw new CommandFailed(`there is no alert ${id}`);
  if (options.json) return printJson(cli, { running, ...story, receipts: receiptsOf(story) });
  const { leadOf } = await import("../../channels/message/lead.ts");
  print(
    cli,
    storyText(
      story,
      running ? answer.body.nowMs : null,
      place.timezone,
      formatTime,
      leadOf,
      paintFor(cli.out),
    ),
  );
}

function storyText(
  story: AlertStory,
  nowMs: number | null,
  timezone: string,
  formatTime: FormatTime,
  leadOf: (change: AlertChange) => string,
  paint: Paint,
): string {
  const { alert, changes, owed, messages } = story;
  const time = (ms: number | null) => (ms === null ? "–" : formatTime(ms, timezone));
  const facts: [string, string][] = [
    ["rule", alert.rule],
    ["subject", alert.subject],
    ["state", stateOf(alert, paint)],
    [
      "since",
      time(alert.sinceMs) + (alert.alreadySo ? ", or longer: it was already so when watching began" : ""),
    ],
    ["fired", time(alert.firedAtMs)],
  ];
  if (alert.endedAtMs !== null && !alert.event) {
    const lastedMs = Math.max(0, alert.endedAtMs - alert.firedAtMs);
    facts.push(["ended", `${time(alert.endedAtMs)}, after ${formatDurationMs(lastedMs)}`]);
  }
  if (alert.worst !== undefined) {
    const { summary, atMs } = alert.worst;
    facts.push(
      alert.state === "ended" ? ["at its end", alert.summary] : ["at its worst", `${summary}, ${time(atMs)}`],
    );
  }
  facts.push(["data of", time(alert.dataAtMs)]);
  const labels = Object.entries(alert.labels).map(([name, value]) => `${name}=${value}`);
  if (labels.length > 0) facts.push(["labels", labels.join(" ")]);
  if (alert.runbook !== null) facts.push(["what to do", alert.runbook]);
  const width = Math.max(...facts.map(([name]) => name.length));
  const lines = [
    `${paint("bold", `#${alert.id}`)} ${levelOf(alert, paint)}: ${oneLine(textOf(alert))}${asOf(alert, nowMs, time, paint)}`,
    ...(alert.description === "" ? [] : alert.description.split("\n").map(oneLine)),
    "",
    ...facts.map(([name, value]) => `${`${name}:`.padEnd(width + 1)} ${oneLine(value)}`),
    "",
    paint("bold", "Steps"),
    table(
      ["at", "step", "what", "figures"],
      changes.map((change) => stepRow(change, time, leadOf)),
      paint,
    ),
    "",
  ];
  const deliveries = owed.map((item) => deliveryRow(item, messages, changes, time, paint));
  if (deliveries.length === 0) lines.push("Nothing was sent about it.");
  else
    lines.push(
      paint("bold", "Deliveries"),
      table(
        ["receiver", "step", "pending since", "state", "attempts", "message", "receipt"],
        deliveries,
        paint,
      ),
      "",
      paint("bold", "Receipts"),
      receiptTable(receiptsOf(story), time, paint),
    );
  return lines.join("\n");
}

function stepRow(
  change: AlertChange,
  time: (ms: number | null) => string,
  leadOf: (change: AlertChange) => string,
): string[] {
  const happened = change.happenedMs === null ? "" : ` (happened ${time(change.happenedMs)})`;
  const by = change.kind === "acknowledged" ? `, by ${change.alert.acknowledgedBy ?? "somebody"}` : "";
  const figures = [
    ...adviceIn(change).map(({ line }) => line),
    ...change.details.map(([name, value]) => `${name}: ${value}`),
  ].join(" · ");
  return [time(change.atMs) + happened, leadOf(change) + by, change.alert.summary, figures];
}

function deliveryRow(
  item: DeliveryItem,
  messages: readonly Message[],
  changes: readonly AlertChange[],
  time: (ms: number | null) => string,
  paint: Paint,
): string[] {
  const message = messages.find((one) => one.id === item.messageId);
  const kind = changes.find((change) => change.id === item.changeId)?.kind ?? "–";
  const state =
    item.status === "delivered"
      ? paint("green", `delivered ${time(message?.deliveredAtMs ?? null)}`)
      : item.status === "dead"
        ? paint("red", `given up: ${failureOf(message)}`)
        : message === undefined || message.attempts === 0
          ? "waiting"
          : paint("yellow", `trying again ${time(message.nextAttemptMs)}: ${failureOf(message)}`);
  const attempts = message === undefined ? "" : counted(message.attempts, "attempt");
  return [
    item.receiver,
    kind,
    time(item.owedAtMs),
    state,
    attempts,
    item.messageId ?? "",
    message?.receipt ?? "",
  ];
}

function failureOf(message: Message | undefined): string {
  if (message === undefined || message.lastFailure === null) return "reason unknown";
  return message.lastDetail === null ? message.lastFailure : `${message.lastFailure}, ${message.lastDetail}`;
}

async function acknowledge(cli: Cli, ids: readonly number[], options: AckOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const by = options.by ?? userName(cli);
  const body = { by, comment: options.comment ?? "" };
  const one = async (id: number): Promise<"done" | "already"> => {
    const path = `/api/v1/alerts/${id}/ack`;
    const answer = await ask<{ result: "done" | "already" }>(place, "POST", path, body);
    if (answer.kind === "noDaemon") throw noDaemon(place);
    return answer.body.result;
  };
  const tell = (id: number, result: "done" | "already") =>
    print(
      cli,
      result === "already" ? `alert ${id} was acknowledged already` : `alert ${id} is acknowledged by ${by}`,
    );
  const [first, ...more] = new Set(ids);
  if (more.length === 0) {
    const result = await one(first!);
    return options.json ? printJson(cli, { id: first, by, result }) : tell(first!, result);
  }
  const alerts: object[] = [];
  for (const id of [first!, ...more]) {
    try {
      const result = await one(id);
      alerts.push({ id, result });
      if (!options.json) tell(id, result);
    } catch (error) {
      // Without a daemon the remaining ids would fail as well.
      if (!(error instanceof CommandFailed) || error.facts.running === false) throw error;
      cli.status = Math.max(cli.status, error.status);
      alerts.push({ id, error: error.message });
      if (!options.json) hint(cli, error.message);
    }
  }
  if (options.json) printJson(cli, { by, alerts });
}
