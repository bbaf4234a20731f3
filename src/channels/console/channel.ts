/**
 * Writes messages to a stream: a headline and indented lines. Colours are used on terminals only. Beside a JSON log a
 * message is a JSON line too, so that both can be read as one stream.
 */
import type { Writable } from "node:stream";
import { z } from "zod";
import type { Severity } from "../../domain/alerts/alert.ts";
import type { Capacity, Message } from "../../domain/alerts/delivery.ts";
import { printableJson } from "../../domain/text/escape.ts";
import type { Channel, Outgoing, ProbeResult, SendResult } from "../channel.ts";
import type { CommandLine } from "../message/command-line.ts";
import { blockLines, lineOf, numberLine, sectionLines } from "../message/lines.ts";
import type { Rendering, Tone } from "../message/rendering.ts";
import { render } from "../message.ts";

export const consoleSettings = z.strictObject({ type: z.literal("console") });
export type ConsoleSettings = z.infer<typeof consoleSettings>;

export interface ConsoleDeps {
  readonly out: Writable & { readonly isTTY?: boolean };
  readonly timezone?: string;
  readonly commandLine?: CommandLine;
  /** Write a JSON line per message, whatever the stream is. Default: text. */
  readonly json?: boolean;
}

/** Messages are written at once; nothing is grouped. */
export const consoleCapacity: Capacity = { apart: true };

const ansi: Readonly<Record<Tone, string>> = {
  critical: "\u001b[1;31m",
  warning: "\u001b[33m",
  info: "\u001b[36m",
  good: "\u001b[32m",
  over: "\u001b[90m",
  test: "\u001b[35m",
};
const reset = "\u001b[0m";

/** @returns the lines of one message, each ended by a newline */
export function consoleText(rendering: Rendering, coloured: boolean): string {
  const paint = (tone: Tone, text: string) => (coloured ? `${ansi[tone]}${text}${reset}` : text);
  const [only, ...others] = rendering.blocks;
  const id = only !== undefined && others.length === 0 ? ` (#${only.alertId})` : "";
  const lines = [paint(rendering.tone, `${rendering.headline}${id}`), ...rendering.notes.map(indented)];
  for (const block of rendering.blocks.slice(0, rendering.inFull)) {
    for (const [index, line] of blockLines(block, rendering).entries()) {
      if (line === numberLine(block)) continue;
      lines.push(indented(others.length > 0 && index === 0 ? paint(block.tone, line) : line));
    }
  }
  lines.push(...rendering.blocks.slice(rendering.inFull).map((block) => indented(lineOf(block))));
  lines.push(...sectionLines(rendering.sections).map(indented), ...rendering.standing.map(indented));
  return `${lines.join("\n")}\n`;
}

/** Levels as in log lines, so that one filter serves both. */
const levels: Readonly<Record<Severity, string>> = { critical: "error", warning: "warn", info: "info" };

/**
 * The message as one JSON line. `level`, `time` (when it was finalized) and `msg` (the headline) are those of a log
 * line. Further fields: `channel`, `message` (its id), `kind` (`alert`, `digest` or `test`), `severity`, `resolved`
 * (true: good news only), `notes`, `standing` (other firing alerts), `sections` of a digest (`title`, `rows` of name
 * and value), and `alerts`, each with `id`, `rule`, `subject`, `wallet`, `symbol`, `severity`, `lead`, `summary`,
 * `description`, `figures` (text by name), `fresh`, `now` and `runbook`, as shown to people.
 */
export function consoleJson(name: string, message: Message, rendering: Rendering): string {
  const { id, severity, sealedAtMs, content } = message;
  const line = {
    level: levels[severity],
    time: new Date(sealedAtMs).toISOString(),
    msg: rendering.headline,
    channel: name,
    message: id,
    kind: content.kind,
    severity,
    resolved: content.resolved,
    notes: rendering.notes,
    standing: rendering.standing,
    ...(rendering.sections.length === 0 ? {} : { sections: rendering.sections }),
    alerts: rendering.blocks.map((block, index) => {
      const { rule, subject, wallet, symbol, severity } = content.items[index]!.change.alert;
      const { alertId, lead, what, description, figures, fresh, now, runbook } = block;
      return {
        ...{ id: alertId, rule, subject, wallet, symbol, severity, lead, summary: what, description },
        ...{ figures: Object.fromEntries(figures), fresh, now, runbook },
      };
    }),
  };
  return `${printableJson(JSON.stringify(line))}\n`;
}

const indented = (line: string) => `    ${line}`;

/** Describes a permanent loss of the stream; null: the failure may be temporary. */
function permanentLoss({ code }: NodeJS.ErrnoException): string | null {
  if (code === "EIO") return "the terminal that perpwatch was started in was closed";
  return code === "EPIPE" ? "the program that read the output has ended" : null;
}

export function createConsole(name: string, deps: ConsoleDeps): Channel {
  const { out } = deps;
  const ok: ProbeResult = {
    kind: "ok",
    detail: out.isTTY === true ? "writes to this terminal" : "writes to standard output",
  };
  const fix = "start perpwatch again with an open standard output";
  /** Permanent loss found by the last write; null: none. */
  let broken: string | null = null;
  const probe = async (): Promise<ProbeResult> => {
    if (broken !== null) return { kind: "failed", failure: "rejected", detail: broken, fix };
    return out.writable
      ? ok
      : { kind: "failed", failure: "unreachable", detail: "the output stream is closed", fix };
  };
  return {
    name,
    kind: "console",
    ...consoleCapacity,
    deadlineMs: 5_000,
    start: probe,
    probe,
    stop: async () => {},
    async send({ message, late }: Outgoing, signal: AbortSignal): Promise<SendResult> {
      signal.throwIfAborted();
      const rendering = render(message, deps, late);
      const text =
        deps.json === true
          ? consoleJson(name, message, rendering)
          : consoleText(rendering, out.isTTY === true);
      return new Promise((resolve, reject) => {
        const abort = () => reject(signal.reason);
        signal.addEventListener("abort", abort, { once: true });
        const settle = (error: Error | null | undefined) => {
          signal.removeEventListener("abort", abort);
          broken = error == null ? null : permanentLoss(error);
          if (error == null) return resolve({ kind: "delivered", receipt: "written" });
          if (broken !== null)
            return resolve({ kind: "refused", failure: "rejected", detail: broken, channelBroken: true });
          const detail = `the output stream cannot be written (${error.message})`;
          resolve({ kind: "retry", failure: "unreachable", detail, afterMs: null });
        };
        // A failing stream also emits "error", which would end the process without a listener.
        const ignoreError = () => {};
        out.once("error", ignoreError);
        out.write(text, (error) => {
          setImmediate(() => out.off("error", ignoreError));
          settle(error);
        });
      });
    },
  };
}
