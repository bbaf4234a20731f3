/**
 * Runs a program of the user for each message. The message is written to its standard input as JSON (the same document
 * as for webhooks). No shell is used: arguments are passed as written. The environment has only PATH, HOME, LANG, TZ,
 * the message's id and its severity. At the timeout the program and its process group are killed.
 *
 * Exit status 0: delivered; the first printed line is the receipt. 65 (EX_DATAERR): this message is refused for good.
 * Other statuses: retry. A program that cannot be started is a broken channel.
 */
import { spawn } from "node:child_process";
import path from "node:path";
import { z } from "zod";
import type { Capacity } from "../../domain/alerts/delivery.ts";
import { errorCode } from "../../domain/error-code.ts";
import { parseDurationMs } from "../../domain/text/duration.ts";
import { printableJson } from "../../domain/text/escape.ts";
import type { Channel, ProbeResult, SendResult } from "../channel.ts";
import { documentOf } from "../document.ts";
import type { CommandLine } from "../message/command-line.ts";
import { cleanLine, shorten } from "../message/text.ts";

const maxTimeoutMs = 120_000;
/** Maximum alerts in one document, as for webhooks. */
export const commandCapacity: Capacity = { apart: true, maxNamed: 50 };

export const commandSettings = z.strictObject({
  type: z.literal("command"),
  /** Absolute path of the program. */
  command: z
    .string()
    .refine((text) => path.isAbsolute(text), "must be a full path, such as /usr/local/bin/tell-me"),
  args: z.array(z.string()).default([]),
  timeout: z
    .string()
    .default("10s")
    .transform((text, context) => {
      const ms = parseDurationMs(text);
      if (ms !== undefined && ms >= 100 && ms <= maxTimeoutMs) return ms;
      context.addIssue({
        code: "custom",
        message: "must be a duration from 100ms to 2m, such as 10s",
        input: text,
      });
      return z.NEVER;
    }),
});
export type CommandSettings = z.infer<typeof commandSettings>;

export interface CommandDeps {
  readonly timezone: string;
  readonly commandLine: CommandLine;
  /** PATH, HOME, LANG and TZ of the daemon. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Number of characters kept of the output. */
const maxOutput = 4_096;
const dataError = 65;
/** Wait for remaining output after the program has exited, ms. */
const drainMs = 250;

export function createCommand(name: string, settings: CommandSettings, deps: CommandDeps): Channel {
  const { command, args, timeout } = settings;
  const shown = path.basename(command);

  const probe = async (): Promise<ProbeResult> => {
    const { access, constants } = await import("node:fs/promises");
    try {
      await access(command, constants.X_OK);
      return { kind: "ok", detail: `${command} can be run; channels test ${name} runs it` };
    } catch (error) {
      const fix = "check command: the full path of a program that the user of the daemon may run";
      return {
        kind: "failed",
        failure: "rejected",
        detail: `${command} ${failureText(errorCode(error) ?? "")}`,
        fix,
      };
    }
  };

  return {
    name,
    kind: "command",
    ...commandCapacity,
    deadlineMs: timeout + 1_000,
    start: probe,
    probe,
    stop: async () => {},
    send({ message }, signal) {
      return new Promise<SendResult>((resolve, reject) => {
        signal.throwIfAborted();
        // Its own process group, so that its children are killed with it.
        const child = spawn(command, args, {
          shell: false,
          detached: true,
          stdio: ["pipe", "pipe", "pipe"],
          env: {
            ...deps.environment,
            PERPWATCH_MESSAGE_ID: message.id,
            PERPWATCH_SEVERITY: message.severity,
          },
        });
        let output = "";
        let errorOutput = "";
        let settled = false;
        let drain: NodeJS.Timeout | undefined;
        const kill = () => {
          try {
            if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
          } catch {
            // The process has exited already.
          }
        };
        const finish = (settle: () => void) => {
          if (settled) return;
          settled = true;
          clearTimeout(timer);
          clearTimeout(drain);
          signal.removeEventListener("abort", abort);
          kill();
          child.stdin.destroy();
          child.stdout.destroy();
          child.stderr.destroy();
          settle();
        };
        const abort = () => finish(() => reject(signal.reason));
        const timer = setTimeout(() => {
          const detail = `${shown} did not end within ${timeout / 1_000} s and was killed`;
          finish(() => resolve({ kind: "retry", failure: "timeout", detail, afterMs: null }));
        }, timeout);
        signal.addEventListener("abort", abort, { once: true });
        child.on("error", (error) => {
          const detail = `${command} ${failureText(errorCode(error) ?? "")}`;
          finish(() => resolve({ kind: "refused", failure: "rejected", detail, channelBroken: true }));
        });
        child.stdout.setEncoding("utf8").on("data", (text: string) => {
          if (output.length < maxOutput) output += text;
        });
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          if (errorOutput.length < maxOutput) errorOutput += text;
        });
        // A program may succeed without reading its input.
        child.stdin.on("error", () => {});
        child.stdin.end(`${printableJson(JSON.stringify(documentOf(message, deps)))}\n`);
        child.on("exit", (status, killedBy) => {
          const done = () => finish(() => resolve(verdict(shown, status, killedBy, output, errorOutput)));
          child.on("close", done);
          // A child process may keep the output open.
          drain = setTimeout(done, drainMs);
        });
      });
    },
  };
}

function verdict(
  shown: string,
  status: number | null,
  killedBy: string | null,
  output: string,
  errorOutput: string,
): SendResult {
  if (status === 0) return { kind: "delivered", receipt: firstLine(output) || "status 0" };
  const firstOutput = firstLine(errorOutput) || firstLine(output);
  const how = status === null ? `was ended by ${killedBy}` : `ended with status ${status}`;
  const detail = `${shown} ${how}${firstOutput === "" ? "" : `: ${firstOutput}`}`;
  if (status === dataError) return { kind: "refused", failure: "rejected", detail, channelBroken: false };
  return { kind: "retry", failure: "server-error", detail, afterMs: null };
}

const firstLine = (text: string): string => shorten(cleanLine(text.trim().split("\n", 1)[0] ?? ""), 200);

function failureText(code: string): string {
  if (code === "ENOENT") return "does not exist";
  if (code === "EACCES" || code === "EPERM") return "cannot be run by this user";
  return `cannot be run${code === "" ? "" : ` (${code})`}`;
}
