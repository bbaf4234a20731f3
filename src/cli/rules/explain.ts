/** `perpwatch rules explain`: why a rule says what it says of a subject now. */
import type { Command } from "commander";
import { formatDurationMs } from "../../domain/duration.ts";
import type { ExplainedPart, Explanation } from "../../domain/explanation.ts";
import { formatTime } from "../../domain/time-text.ts";
import { type Cli, type CommonOptions, declare, print, printJson } from "../command.ts";
import { locate } from "../configuration.ts";
import { ask, noDaemon, queryOf } from "../daemon.ts";
import { type Paint, paintFor } from "../print.ts";

interface ExplainOptions extends CommonOptions {
  readonly subject: string;
}

export function explainCommand(group: Command, cli: Cli): void {
  declare(group, {
    usage: "explain <name>",
    summary: "why a rule fires, or does not: each part of its conditions with its value and its age, now",
    about:
      "Asks the running daemon. A subject is named as alerts name it; main/SOL where only one account has it.",
    examples: [
      "rules explain LiquidationNear --subject main/SOL",
      "rules explain HedgeBroken --subject pair/basis",
    ],
  })
    .requiredOption(
      "--subject <subject>",
      "main/0.0/SOL, main/0.0, main, market/SOL, book/NAME, pair/NAME, exchange, daemon",
    )
    .action((name: string, options: ExplainOptions) => explain(cli, name, options));
}

async function explain(cli: Cli, rule: string, options: ExplainOptions): Promise<void> {
  const place = await locate(cli, options.config);
  const path = `/api/v1/rules/${encodeURIComponent(rule)}/explanation${queryOf({ subject: options.subject })}`;
  const answer = await ask<Explanation>(place, "GET", path);
  if (answer.kind === "noDaemon") throw noDaemon(place);
  if (options.json) return printJson(cli, answer.body);
  print(cli, explanationText(answer.body, place.timezone, paintFor(cli.out)));
}

export function explanationText(of: Explanation, timezone: string, paint: Paint): string {
  const lines = [stateText(of, timezone, paint)];
  if (of.unknown !== null) lines.push(paint("yellow", `It cannot be judged now: ${of.unknown}`));
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
  const to = of.mode === "shadow" ? "nobody: it runs in shadow mode" : of.receivers.join(", ");
  lines.push("", `${paint("bold", of.state === "firing" ? "Goes to" : "Would go to")} ${to}`);
  return lines.join("\n");
}

function stateText(of: Explanation, timezone: string, paint: Paint): string {
  const title = paint("bold", `${of.rule} of ${of.subject}`);
  if (of.state === "inactive") return `${title} does not hold.`;
  const since = `since ${formatTime(of.sinceMs ?? of.atMs, timezone)}`;
  if (of.state === "firing") return `${title} fires (${of.severity}, alert ${of.alertId}), ${since}.`;
  return `${title} is pending ${since}: it fires when it has held for ${formatDurationMs(of.forMs)}.`;
}

function partText({ depth, text, value, unknown, ageMs }: ExplainedPart, paint: Paint): string {
  const age = ageMs === null ? "" : paint("gray", `  (${formatDurationMs(ageMs)} old)`);
  const shown = value ?? paint("yellow", `unknown, ${unknown?.reason}`);
  const why = depth > 0 && unknown && value === null ? paint("gray", `  ${unknown.detail}`) : "";
  return `  ${"  ".repeat(depth)}${text} = ${shown}${age}${why}`;
}
