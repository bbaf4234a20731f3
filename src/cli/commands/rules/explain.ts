/** `perpwatch rules explain`: the reason for a rule's judgement of a subject, now or at a recorded time. */
import type { Command } from "commander";
import { endingWaitText, endWaitsText } from "../../../domain/alerts/ending-wait.ts";
import type {
  BuiltInExplanation,
  ExplainAnswer,
  ExplainedPart,
  Explanation,
} from "../../../domain/alerts/explanation.ts";
import { formatDurationMs } from "../../../domain/text/duration.ts";
import { nearestName } from "../../../domain/text/nearest.ts";
import { sourceWords } from "../../../domain/text/source-words.ts";
import { formatTime } from "../../../domain/text/time-text.ts";
import type { History } from "../../../history/index.ts";
import { type Cli, CommandFailed, type CommonOptions, declare, print, printJson } from "../../command.ts";
import { locate } from "../../configuration.ts";
import { ask, noDaemon, queryOf } from "../../daemon.ts";
import { loadSettings } from "../../load-settings.ts";
import { type Paint, paintFor } from "../../terminal/print.ts";
import { timeOf } from "../../terminal/values.ts";
import { progressOn, rulesOf } from "./backtest.ts";
import { resolutions } from "./backtest-report.ts";

interface ExplainOptions extends CommonOptions {
  readonly subject?: string;
  readonly at?: string;
}

export function explainCommand(group: Command, cli: Cli): void {
  declare(group, {
    usage: "explain <name>",
    summary: "why a rule fires, or does not: each part of its conditions with its value and its age",
    about:
      "Now: asks the running daemon. With --at: judges the recorded past anew up to that time, by the rules as they are\n" +
      "configured now, beside a running daemon or without one. A subject is named as alerts name it; main/SOL where only\n" +
      "one account has it.",
    examples: [
      "rules explain LiquidationNear --subject main/SOL",
      "rules explain HedgeBroken --subject pair/basis",
      "rules explain LiquidationNear --subject main/SOL --at 2026-03-01T03:40:00Z",
    ],
  })
    .option(
      "--subject <subject>",
      "main/0.0/SOL, main/0.0, main, market/SOL, book/NAME, pair/NAME, exchange, daemon; left out where there is one",
    )
    .option("--at <time>", "then instead of now: a time with its zone, or a duration before now, such as 20m")
    .action((name: string, options: ExplainOptions) => explain(cli, name, options));
}

/**
 * Time before the requested one from which rules are evaluated, ms: the durations of pending and firing alerts are
 * correct up to it.
 */
const warmUpMs = 2 * 3_600_000;

/** Evaluates the recording up to the requested time, and explains the rule by the watch at that time. */
async function explainAt(
  cli: Cli,
  rule: string,
  { subject: asked, at = "", config }: ExplainOptions,
): Promise<{
  readonly explanation: Explanation;
  readonly timezone: string;
  readonly notes: readonly string[];
}> {
  const subject = asked ?? null;
  const { settings } = await loadSettings(cli, config);
  const nowMs = Date.now();
  const atMs = timeOf("--at", at, nowMs);
  if (atMs > nowMs) throw new CommandFailed("--at is in the future", 2);
  const { timezone } = settings;
  const rules = await rulesOf(settings, [], nowMs);
  const { openHistory } = await import("../../history-reading.ts");
  const { backtest, NothingKept } = await import("../../../replay/backtest.ts");
  const { watchSettingsOf } = await import("../../../daemon/settings/watch.ts");
  const nothing = () => new CommandFailed(`history holds nothing of ${formatTime(atMs, timezone)}`);
  const fromMs = atMs - warmUpMs;
  const progress = progressOn(cli, fromMs, atMs);
  const history = await openHistory(settings.history.path);
  let answer: ExplainAnswer | null = null;
  try {
    const ran = await backtest({
      settings: { ...watchSettingsOf(settings, settings, nowMs), ruleSet: rules.ruleSet },
      rulesFor: rules.rulesFor,
      history,
      fromMs,
      toMs: atMs,
      onProgress: progress.at,
      onEnd: (watch) => {
        answer = watch.explain(rule, subject, atMs);
      },
    });
    const explanation = explainedOf(answer, rule, subject);
    const alertId = explanation.alertId === null ? null : await alertIdAt(history, explanation);
    const { mode } = rules.ruleSet.conditions.find(({ name }) => name === rule)!;
    const last = ran.periods.at(-1)!;
    return {
      explanation: { ...explanation, mode, alertId },
      timezone,
      notes: [
        `As of ${formatTime(atMs, timezone)}, judged from ${resolutions[last.resolution]}, from ${formatTime(ran.fromMs, timezone)} on.`,
        ...ran.down
          .filter((span) => span.fromMs <= atMs && atMs < span.toMs)
          .map(
            (span) => `Nobody watched then: the daemon was down until ${formatTime(span.toMs, timezone)}.`,
          ),
      ],
    };
  } catch (error) {
    throw error instanceof NothingKept ? nothing() : error;
  } finally {
    progress.done();
    await history.close();
  }
}

/** The id of the alert that was firing at that time; the new evaluation counts from one. Null: none. */
async function alertIdAt(history: History, { rule, subject, atMs }: Explanation): Promise<number | null> {
  const alerts = await history.alerts({});
  const then = alerts.find(
    (one) =>
      one.rule === rule &&
      one.subject === subject &&
      !one.event &&
      one.firedAtMs <= atMs &&
      (one.endedAtMs === null || one.endedAtMs > atMs),
  );
  return then?.id ?? null;
}

/** @throws {CommandFailed} where nothing can be explained, with the known names */
function explainedOf(answer: ExplainAnswer | null, rule: string, subject: string | null): Explanation {
  switch (answer?.kind) {
    case "explained":
      return answer.explanation;
    case "builtIn":
      throw new CommandFailed(
        `${rule} is built in and has no parts to judge: ${answer.explanation.meaning}. \`perpwatch alerts --rule ${rule}\` lists when it fired`,
      );
    case "eventRule":
      throw new CommandFailed(`${rule} is a rule on events: those are judged once, when they happen`);
    case "noRule": {
      const nearest = nearestName(rule, answer.known);
      throw new CommandFailed(
        `no rule is called ${rule}${nearest === null ? "" : ` (did you mean ${nearest}?)`}`,
        2,
      );
    }
    default: {
      const known = answer?.known ?? [];
      const others = known.length === 0 ? "nothing" : known.slice(0, 20).join(", ");
      if (subject === null && known.length > 0)
        throw new CommandFailed(`say which with --subject: ${rule} judged ${others}`, 2);
      throw new CommandFailed(`${rule} judged no ${subject ?? "subject"} then; it judged ${others}`);
    }
  }
}

async function explain(cli: Cli, rule: string, options: ExplainOptions): Promise<void> {
  if (options.at !== undefined) {
    const { explanation, timezone, notes } = await explainAt(cli, rule, options);
    if (options.json) return printJson(cli, { ...explanation, notes });
    for (const note of notes) print(cli, note);
    return print(cli, explanationText(explanation, timezone, paintFor(cli.out)));
  }
  const place = await locate(cli, options.config);
  const path = `/api/v1/rules/${encodeURIComponent(rule)}/explanation${queryOf(options.subject === undefined ? {} : { subject: options.subject })}`;
  const answer = await ask<Explanation | BuiltInExplanation>(place, "GET", path);
  if (answer.kind === "noDaemon") throw noDaemon(place);
  if (options.json) return printJson(cli, answer.body);
  const { body } = answer;
  const paint = paintFor(cli.out);
  print(cli, "builtIn" in body ? builtInText(body, paint) : explanationText(body, place.timezone, paint));
}

function builtInText({ rule, meaning, alerts }: BuiltInExplanation, paint: Paint): string {
  const title = `${paint("bold", rule)} is built in: ${meaning}.`;
  if (alerts.length === 0) return `${title}\nIt does not fire now.`;
  const rows = alerts.map(
    ({ id, subject, severity, summary }) => `  alert ${id}, ${severity}, of ${subject}: ${summary}`,
  );
  return [title, "It fires now:", ...rows].join("\n");
}

export function explanationText(of: Explanation, timezone: string, paint: Paint): string {
  const lines = [stateText(of, timezone, paint)];
  if (of.unknown !== null) lines.push(paint("yellow", `It cannot be judged: ${of.unknown}`));
  if (of.unexplained !== null)
    lines.push(paint("yellow", `A change of collateral is unexplained: ${of.unexplained}`));
  let label = "";
  for (const part of of.parts) {
    if (part.label !== label) lines.push("", paint("bold", part.label));
    label = part.label;
    lines.push(partText(part, paint));
  }
  lines.push("", paint("bold", "Rests on"));
  for (const { whose, source, ageMs, staleAfterMs, stale } of of.inputs) {
    const age = ageMs === null ? "not seen since the start" : `${formatDurationMs(ageMs)} old`;
    const text = `  ${whose}: ${source}, ${age}, too old after ${formatDurationMs(staleAfterMs)}`;
    lines.push(stale ? paint("yellow", text) : text);
  }
  if (of.inputs.length === 0) lines.push("  nothing that has an age");
  for (const why of of.held)
    lines.push("", paint("yellow", `Held by ${why}: nobody is notified before that ends.`));
  const to = of.mode === "shadow" ? "nobody: it runs in shadow mode" : of.receivers.join(", ");
  lines.push("", `${paint("bold", of.state === "firing" ? "Goes to" : "Would go to")} ${to}`);
  return lines.join("\n");
}

function stateText(of: Explanation, timezone: string, paint: Paint): string {
  const title = paint("bold", `${of.rule} of ${of.subject}`);
  if (of.state === "inactive") return `${title} does not hold.`;
  const time = (ms: number) => formatTime(ms, timezone);
  const since = `since ${time(of.sinceMs ?? of.atMs)}`;
  const alert = of.alertId === null ? "" : `, alert ${of.alertId}`;
  if (of.state === "firing") {
    const fires = `${title} fires (${of.severity}${alert}), ${since}.`;
    if (of.endingWait !== undefined) return `${fires} It ${endingWaitText(of.endingWait, time)}.`;
    if (of.gone === undefined) return fires;
    const { endsMs } = of.gone;
    if (endsMs === null) return `${fires} No \`when\` holds any more: it ends once \`resolveWhen\` does.`;
    return `${fires} It no longer holds, and ends at ${time(endsMs)} unless it returns.`;
  }
  const heldMs = Math.max(0, ...of.levels.map((level) => level.heldMs));
  const former =
    of.endingWait === undefined
      ? ""
      : ` Alert ${of.alertId} still fires: ${endWaitsText(of.endingWait, time)}.`;
  return `${title} is pending ${since}: it fires when it has held for ${formatDurationMs(of.forMs)} by fresh data, ${formatDurationMs(heldMs)} so far.${former}`;
}

function partText(
  { depth, text, value, unknown, ageMs, nearestToStale }: ExplainedPart,
  paint: Paint,
): string {
  const old = nearestToStale === null ? null : formatDurationMs(nearestToStale.ageMs);
  // A source closer to its stale age than the oldest one is named.
  const of =
    nearestToStale === null || nearestToStale.ageMs === ageMs ? "" : `${sourceWords[nearestToStale.source]} `;
  const age = old === null ? "" : paint("gray", `  (${of}${old} old)`);
  const shown = value ?? paint("yellow", `unknown, ${unknown?.reason}`);
  const why = depth > 0 && unknown && value === null ? paint("gray", `  ${unknown.detail}`) : "";
  return `  ${"  ".repeat(depth)}${text} = ${shown}${age}${why}`;
}
