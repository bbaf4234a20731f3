/**
 * The daemon's log: to stderr, so that stdout is left to console channels and to what commands were asked for. For people
 * on a terminal, a JSON object a line otherwise. What is called a secret is not written, whoever logs it.
 */
import { type DestinationStream, type Logger, pino } from "pino";
import type { Cli } from "./command.ts";
import type { LogOptions } from "./log-options.ts";

/** No line of ours holds one of these; should one ever, it is cut out. */
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
/** A reader that hangs costs lines, never memory. */
const mostBufferedBytes = 4 * 1_024 * 1_024;

export interface Log {
  readonly log: Logger;
  /** Writes what is buffered; before the process ends. */
  flush(): void;
}

/** True if the log is made for people: as it was asked for, else where one looks on. */
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
    const { default: pretty } = await import("pino-pretty");
    const stream: DestinationStream = pretty({
      destination: cli.err.fd,
      sync: true,
      colorize: cli.err.isTTY && (cli.env.NO_COLOR ?? "") === "",
      translateTime: "SYS:HH:MM:ss",
      hideObject: true,
      messageFormat: (line, messageKey) => lineText(line, messageKey),
    });
    return { log: pino(settings, stream), flush: () => {} };
  }
  const stream = pino.destination({ fd: cli.err.fd, sync: false, maxLength: mostBufferedBytes });
  // Whoever read the log is gone: there is nobody to tell, and alerts still leave.
  stream.on("error", () => {});
  return {
    log: pino({ ...settings, formatters: { level: (label) => ({ level: label }) } }, stream),
    flush() {
      try {
        stream.flushSync();
      } catch {
        // Closed, or its reader is gone: what could be written was.
      }
    },
  };
}

/** A line: the message, then its fields. Only texts of several lines, such as a stack, take more. */
function lineText(line: Readonly<Record<string, unknown>>, messageKey: string): string {
  const message = String(line[messageKey] ?? "");
  const fields = Object.entries(line).filter(([name]) => !["level", "time", messageKey].includes(name));
  const texts = fields.map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const short = texts.filter((text) => !text.includes("\n"));
  const long = texts.filter((text) => text.includes("\n"));
  return [[message, ...short].join("  "), ...long].join("\n");
}
