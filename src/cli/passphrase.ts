/** The passphrase of the keystore: from a file, from a credential of the service manager, or from a person. */
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import { ReadStream } from "node:tty";
import { readTextFile } from "../config/index.ts";
import { BadKey } from "../wallet/wallet-key.ts";

const maxBytes = 4_096;
/** The credential of the service manager, as `LoadCredentialEncrypted=` names it. */
export const credentialName = "perpwatch-passphrase";

/**
 * @param file as configured; null: none is
 * @returns null where neither a file nor a credential is given
 * @throws {BadKey} when it cannot be read, others can read it, or it is empty
 */
export function passphraseFrom(
  file: string | null,
  env: Readonly<Record<string, string | undefined>>,
): string | null {
  const credentials = env.CREDENTIALS_DIRECTORY;
  const credential = credentials === undefined ? null : path.join(credentials, credentialName);
  const given = file ?? (credential !== null && existsSync(credential) ? credential : null);
  if (given === null) return null;
  const read = readTextFile(given, { largestBytes: maxBytes, secret: true });
  if ("wrong" in read) throw new BadKey(`the passphrase ${given} ${read.wrong}`);
  // A line that an editor ended.
  const text = read.text.replace(/\r?\n$/, "");
  if (text === "") throw new BadKey(`the passphrase ${given} is empty`);
  return text;
}

/** A question is over after this, ms, with all its tries: what watches may not wait for a person who sleeps. */
const answerWithinMs = 80_000;
const maxTries = 3;

/** Ctrl-C at the question. */
export class AskingInterrupted extends BadKey {}

/**
 * Asks on the terminal, whatever the standard streams are, and shows nothing.
 * @param opens tells whether a passphrase is the right one; left out: any is. After a wrong one the question is put again
 * @returns null where there is no terminal, where this process is not in its foreground, where the answer is empty, where nobody
 * answers in time, or where the process that needs it has ended
 * @throws {AskingInterrupted}
 * @throws {BadKey} after the last wrong one
 */
export function askPassphrase(question: string, opens?: (passphrase: string) => boolean): string | null {
  // Whoever changes a terminal from the background is stopped by it.
  if (!isForeground()) return null;
  let terminal: number;
  try {
    terminal = openSync("/dev/tty", constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return null;
  }
  const stream = new ReadStream(terminal);
  // A terminal that was closed takes no further mode.
  stream.on("error", () => {});
  try {
    stream.setRawMode(true);
    // All tries are one question: nothing typed while a passphrase is looked at is shown, either.
    return answerOf(terminal, question, opens);
  } finally {
    stream.setRawMode(false);
    stream.destroy();
    try {
      closeSync(terminal);
    } catch {
      // The stream has closed it.
    }
  }
}

/**
 * Asks as `askPassphrase` does, once: a daemon that reloads at night asks nobody. Ctrl-C is as anywhere else on a terminal: every program of
 * the command gets it.
 */
export function askedOnce(): (question: string, opens: (passphrase: string) => boolean) => string | null {
  let typed: { readonly passphrase: string | null } | { readonly wrong: unknown } | null = null;
  return (question, opens) => {
    try {
      typed ??= { passphrase: askPassphrase(question, opens) };
    } catch (error) {
      typed = { wrong: error };
      if (error instanceof AskingInterrupted) process.kill(0, "SIGINT");
    }
    if ("wrong" in typed) throw typed.wrong;
    return typed.passphrase;
  };
}

function answerOf(
  terminal: number,
  question: string,
  opens: ((passphrase: string) => boolean) | undefined,
): string | null {
  const endMs = performance.now() + answerWithinMs;
  const end = (why: string) => {
    if (opens !== undefined) show(terminal, `${why}\n`);
  };
  show(terminal, question);
  for (let left = maxTries - 1; ; left--) {
    const line = typedLine(terminal, endMs);
    show(terminal, "\n");
    if ("interrupted" in line) throw new AskingInterrupted("given up; nothing was changed");
    if ("over" in line) {
      end(line.over);
      return null;
    }
    if (opens === undefined) return line.text;
    if (line.text === "") {
      end("The keystore stays closed.");
      return null;
    }
    if (opens(line.text)) return line.text;
    if (left === 0) {
      end("That passphrase does not open it; the keystore stays closed.");
      throw new BadKey("three wrong passphrases were typed");
    }
    show(
      terminal,
      `That passphrase does not open it; ${left === 1 ? "1 try is" : `${left} tries are`} left.\n`,
    );
    show(terminal, question);
  }
}

function show(terminal: number, text: string): void {
  try {
    writeSync(terminal, text);
  } catch {
    // It was closed.
  }
}

const [enter, newline, interrupt, end, backspace, erase, kill] = [13, 10, 3, 4, 127, 8, 21];

/** False where the system says that another group of processes has the terminal. */
function isForeground(): boolean {
  let stat: string;
  try {
    stat = readFileSync("/proc/self/stat", "utf8");
  } catch {
    return true;
  }
  // The second field is the program's name and may hold anything.
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return group === foreground;
}

type TypedLine = { readonly text: string } | { readonly over: string } | { readonly interrupted: true };

/** Characters of a terminal in raw mode up to the end of the line. */
function typedLine(terminal: number, endMs: number): TypedLine {
  const parent = process.ppid;
  const bytes: number[] = [];
  const one = Buffer.alloc(1);
  for (;;) {
    let count: number;
    try {
      count = readSync(terminal, one, 0, 1, null);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN"))
        return { over: "The terminal was closed." };
      if (performance.now() > endMs) return { over: "Nobody answered in time; the keystore stays closed." };
      // Whatever is typed after the end of the command is for others.
      if (process.ppid !== parent) return { over: "Nobody needs it any more." };
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      continue;
    }
    const byte = one[0]!;
    if (byte === interrupt) return { interrupted: true };
    if (count === 0 || (byte === end && bytes.length === 0)) return { over: "The keystore stays closed." };
    if (byte === enter || byte === newline) return { text: Buffer.from(bytes).toString("utf8") };
    if (byte === kill) bytes.length = 0;
    else if (byte === backspace || byte === erase) {
      // A character of more than one byte goes as a whole.
      while (bytes.length > 0 && (bytes.at(-1)! & 0xc0) === 0x80) bytes.pop();
      bytes.pop();
    } else if (bytes.length < maxBytes) bytes.push(byte);
  }
}
