/**
 * Ends the process at an unexpected error. Node would print the complete error, and errors of libraries contain the
 * request with headers and address. Only its kind, code and stack frames are printed.
 */
import { writeSync } from "node:fs";

const frame = /^ {4}at (?:[\w.<>$#[\] ]+ \()?(?:file:\/\/|node:|\/)[^\s()]+:\d+:\d+\)?$/;
const maxFrames = 15;

let report = (text: string): void => void writeSync(2, `perpwatch: ${text}\n`);

/** Ends this process with status 1 at an unexpected error. */
export function endAtCrash(): void {
  process.on("uncaughtException", (error: unknown) => {
    try {
      report(crashText(error));
    } finally {
      process.exit(1);
    }
  });
}

/**
 * @param log called with the text from now on; it has to write before it returns
 * @returns a function that restores the previous one
 */
export function reportCrashTo(log: (text: string) => void): () => void {
  const before = report;
  report = log;
  return () => {
    report = before;
  };
}

/** The text of an error without its message or properties, except for a code in Node's form. */
export function crashText(error: unknown): string {
  const { name, code, stack, message } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const kind = /^[A-Za-z]{1,40}$/.test(name ?? "") ? name : "something that is no error";
  const known = typeof code === "string" && /^[A-Z_\d]{2,40}$/.test(code) ? ` ${code}` : "";
  const frames = placesIn(stack, message).filter((line) => frame.test(line));
  const where = frames.slice(0, maxFrames).map((line) => ` ${line.trim()}`);
  return `ended by an error that nobody expected: ${kind}${known}${where.join("")}`;
}

/** The stack lines after the message, which may contain similar lines; none if the stack does not begin with it. */
function placesIn(stack: unknown, message: unknown): readonly string[] {
  if (typeof stack !== "string" || typeof message !== "string" || !stack.includes(message)) return [];
  return stack.slice(stack.indexOf(message) + message.length).split("\n");
}
