/**
 * The end of a process by an error that nobody expected. Node would print all of it, and errors of libraries hold the request, its
 * headers, the address: told are its kind, its code and where it came from.
 */
import { writeSync } from "node:fs";

const frame = /^ {4}at (?:[\w.<>$#[\] ]+ \()?(?:file:\/\/|node:|\/)[^\s()]+:\d+:\d+\)?$/;
const maxFrames = 15;

let tell = (text: string): void => void writeSync(2, `perpwatch: ${text}\n`);

/** Ends this process with status 1 at such an error. */
export function endAtCrash(): void {
  process.on("uncaughtException", (error: unknown) => {
    try {
      tell(crashText(error));
    } finally {
      process.exit(1);
    }
  });
}

/** @param log takes the text from now on, all of it before it returns   @returns how to let go of it again */
export function tellCrashBy(log: (text: string) => void): () => void {
  const before = tell;
  tell = log;
  return () => {
    tell = before;
  };
}

/** Nothing of the error's message or properties, but for a code of Node's form. */
export function crashText(error: unknown): string {
  const { name, code, stack, message } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const kind = /^[A-Za-z]{1,40}$/.test(name ?? "") ? name : "something that is no error";
  const known = typeof code === "string" && /^[A-Z_\d]{2,40}$/.test(code) ? ` ${code}` : "";
  const frames = placesIn(stack, message).filter((line) => frame.test(line));
  const where = frames.slice(0, maxFrames).map((line) => ` ${line.trim()}`);
  return `ended by an error that nobody expected: ${kind}${known}${where.join("")}`;
}

/** The lines after the message, which may have such lines in it; none where it does not stand there. */
function placesIn(stack: unknown, message: unknown): readonly string[] {
  if (typeof stack !== "string" || typeof message !== "string" || !stack.includes(message)) return [];
  return stack.slice(stack.indexOf(message) + message.length).split("\n");
}
