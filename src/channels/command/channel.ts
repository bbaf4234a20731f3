/**
 * A program of one's own that is run for each message, with the message as JSON on its standard input (the document that
 * webhooks are sent). No shell: arguments are handed over as they are written. It sees no more of the environment than PATH,
 * HOME, LANG, and the message's id and severity; when its time is over it and all that it began is killed.
 *
 * Status 0: delivered, with the first line that it printed as the receipt. 65 (EX_DATAERR): this message is refused for
 * good. Anything else: tried again. A program that cannot be run at all is a broken channel.
 */
import { spawn } from "node:child_process";
import path from "node:path";
import { z } from "zod";
import type { Capacity } from "../../domain/delivery.ts";
import { parseDurationMs } from "../../domain/duration.ts";
import { errorCode } from "../../domain/error-code.ts";
import { printableJson } from "../../domain/escape.ts";
import type { Channel, ProbeResult, SendResult } from "../channel.ts";
import { documentOf } from "../document.ts";
import type { CommandLine } from "../message/command-line.ts";
import { cleanLine, shorten } from "../text.ts";

const longestMs = 120_000;
/** Alerts in one document: as webhooks are sent. */
export const commandCapacity: Capacity = { apart: true, maxNamed: 50 };

export const commandSettings = z.strictObject({
  type: z.literal("command"),
  /** The program's path, in full. */
  command: z
    .string()
    .refine((text) => path.isAbsolute(text), "must be a full path, such as /usr/local/bin/tell-me"),
  args: z.array(z.string()).default([]),
  timeout: z
    .string()
    .default("10s")
    .transform((text, context) => {
      const ms = parseDurationMs(text);
      if (ms !== undefined && ms >= 100 && ms <= longestMs) return ms;
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
  /** PATH, HOME and LANG as the daemon has them. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The part that is kept of a program's output, characters. */
const maxPrinted = 4_096;
const dataError = 65;
/** The time for which the rest of its output is awaited after its end, ms. */
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
        detail: `${command} ${whyNot(errorCode(error) ?? "")}`,
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
        // A process group of its own, so that what it began ends with it.
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
        let printed = "";
        let complained = "";
        let over = false;
        let drain: NodeJS.Timeout | undefined;
        const kill = () => {
          try {
            if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
          } catch {
            // It is gone already.
          }
        };
        const finish = (settle: () => void) => {
          if (over) return;
          over = true;
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
          const detail = `${command} ${whyNot(errorCode(error) ?? "")}`;
          finish(() => resolve({ kind: "refused", failure: "rejected", detail, channelBroken: true }));
        });
        child.stdout.setEncoding("utf8").on("data", (text: string) => {
          if (printed.length < maxPrinted) printed += text;
        });
        child.stderr.setEncoding("utf8").on("data", (text: string) => {
          if (complained.length < maxPrinted) complained += text;
        });
        // A program that does not read its input may be content all the same.
        child.stdin.on("error", () => {});
        child.stdin.end(`${printableJson(JSON.stringify(documentOf(message, deps)))}\n`);
        child.on("exit", (status, killedBy) => {
          const done = () => finish(() => resolve(verdict(shown, status, killedBy, printed, complained)));
          child.on("close", done);
          // What it began may hold its output open for ever.
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
  printed: string,
  complained: string,
): SendResult {
  if (status === 0) return { kind: "delivered", receipt: firstLine(printed) || "status 0" };
  const said = firstLine(complained) || firstLine(printed);
  const how = status === null ? `was ended by ${killedBy}` : `ended with status ${status}`;
  const detail = `${shown} ${how}${said === "" ? "" : `: ${said}`}`;
  if (status === dataError) return { kind: "refused", failure: "rejected", detail, channelBroken: false };
  return { kind: "retry", failure: "server-error", detail, afterMs: null };
}

const firstLine = (text: string): string => shorten(cleanLine(text.trim().split("\n", 1)[0] ?? ""), 200);

function whyNot(code: string): string {
  if (code === "ENOENT") return "does not exist";
  if (code === "EACCES" || code === "EPERM") return "cannot be run by this user";
  return `cannot be run${code === "" ? "" : ` (${code})`}`;
}
