/**
 * The daemon's log: on stderr, because stdout is for console channels and requested output. Text on a terminal,
 * otherwise a JSON object a line. Fields with the names of secrets are removed.
 */
import { write, writeSync } from "node:fs";
import { type DestinationStream, type Logger, pino } from "pino";
import { escaped, escapedLines, printableJson } from "../../domain/text/escape.ts";
import type { Cli } from "../command.ts";
import type { LogOptions } from "./log-options.ts";

/** No log line should contain one of these fields; if one does, it is removed. */
const secretNames = [
  "secret",
  "password",
  "token",
  "authorization",
  "cookie",
  "webhookUrl",
  "accessToken",
  "refreshToken",
  "access_token",
  "refresh_token",
  "privateKey",
  "seed",
  "signature",
  "bearer",
];
/** Maximum bytes held for a reader that hangs; further lines are dropped. */
const maxHeld = 4 * 1_024 * 1_024;
/** Pause between two tries of a stream that is full, and how many of them block the program. */
const retryMs = 10;
const maxTries = 100;

export interface Log {
  readonly log: Logger;
  /** Writes all buffered lines; before the process ends. */
  flush(): void;
}

/** Returns true if the log is text for people: by the option, otherwise on a terminal. */
export function isPrettyLog(cli: Cli, { format }: Pick<LogOptions, "format">): boolean {
  return format === "pretty" || (format === "auto" && cli.err.isTTY);
}

export async function createLog(cli: Cli, options: LogOptions): Promise<Log> {
  const isPretty = isPrettyLog(cli, options);
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: "(not shown)",
    },
  };
  if (isPretty) {
    const { prettyFactory } = await import("pino-pretty");
    const pretty = prettyFactory({
      colorize: cli.err.isTTY && (cli.env.NO_COLOR ?? "") === "",
      translateTime: "SYS:HH:MM:ss",
      hideObject: true,
      messageFormat: (line, messageKey) => lineText(line, messageKey),
    });
    const lines = new Lines(cli.err.fd);
    const stream: DestinationStream = {
      // Written at once, so that the order with a console channel's output is kept.
      write(line) {
        lines.add(pretty(line));
        lines.flush();
      },
    };
    return { log: pino(settings, stream), flush: () => {} };
  }
  const lines = new Lines(cli.err.fd);
  const stream: DestinationStream = {
    write(line) {
      lines.add(printableJson(line));
      lines.begin();
    },
  };
  return {
    log: pino({ ...settings, formatters: { level: (label) => ({ level: label }) } }, stream),
    flush: () => lines.flush(),
  };
}

/**
 * Lines to be written to a file descriptor. The reader may be gone (a pipe without a reader, a closed terminal), and a
 * disk may be full: then lines are dropped, because nobody can be notified, and alerts are still sent.
 */
class Lines {
  readonly #fd: number;
  #held = "";
  #isWriting = false;

  constructor(fd: number) {
    this.#fd = fd;
  }

  add(text: string): void {
    if (this.#held.length + text.length <= maxHeld) this.#held += text;
  }

  /** Writes the held lines asynchronously, with those added meanwhile. */
  begin(): void {
    if (this.#isWriting || this.#held === "") return;
    this.#isWriting = true;
    this.#write(this.#take());
  }

  /** Writes the held lines synchronously. */
  flush(): void {
    let rest = this.#take();
    for (let tries = 0; rest.length > 0 && tries < maxTries; ) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        if (!isBusy(error)) return;
        tries++;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
      }
    }
  }

  #take(): Buffer {
    const text = Buffer.from(this.#held);
    this.#held = "";
    return text;
  }

  #write(text: Buffer): void {
    write(this.#fd, text, (error, written) => {
      if (isBusy(error)) return void setTimeout(() => this.#write(text), retryMs);
      if (error === null && written < text.length) return this.#write(text.subarray(written));
      this.#isWriting = false;
      this.begin();
    });
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "EAGAIN" || error.code === "EBUSY");
}

/**
 * A log line: the message, then its fields. Only texts of several lines, such as a stack, take more lines. Control
 * characters are escaped.
 */
function lineText(line: Readonly<Record<string, unknown>>, messageKey: string): string {
  const message = escaped(String(line[messageKey] ?? ""));
  const fields = Object.entries(line).filter(([name]) => !["level", "time", messageKey].includes(name));
  const texts = fields.map(
    ([name, value]) =>
      `${name}=${typeof value === "string" ? fieldText(value) : escaped(JSON.stringify(value))}`,
  );
  const short = texts.filter((text) => !text.includes("\n"));
  const long = texts.filter((text) => text.includes("\n"));
  return [[message, ...short].join("  "), ...long].join("\n");
}

/** Lines of a stack are indented, so that none of them looks like a line of the log. */
function fieldText(value: string): string {
  return /\n {4}at /.test(value) ? escapedLines(value).replaceAll("\n", "\n    ") : escaped(value);
}
