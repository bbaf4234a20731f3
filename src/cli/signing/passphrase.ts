/** The passphrase of the keystore: from a file, from a credential of the service manager, or typed by a person. */
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import { ReadStream } from "node:tty";
import { readTextFile } from "../../config/index.ts";
import { BadKey } from "../../wallet/wallet-key.ts";

const maxBytes = 4_096;
/** The name of the credential in `LoadCredentialEncrypted=`. */
export const credentialName = "perpwatch-passphrase";

/**
 * @param file as configured; null: none
 * @returns null where neither a file nor a credential exists
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
  // Removes a line end that an editor added.
  const text = read.text.replace(/\r?\n$/, "");
  if (text === "") throw new BadKey(`the passphrase ${given} is empty`);
  return text;
}

/** Time limit of a question with all its tries, ms: the daemon may not wait for an absent person. */
const answerWithinMs = 80_000;
const maxTries = 3;

/** Ctrl-C at the question. */
export class AskingInterrupted extends BadKey {}

/**
 * Asks on the terminal, independent of the standard streams, without echo.
 * @param opens returns true for the right passphrase; default: any is. The question is repeated after a wrong one
 * @returns null where there is no terminal, where this process is not in its foreground, where the answer is empty or
 * late, or where the process that needs it has ended
 * @throws {AskingInterrupted}
 * @throws {BadKey} after the last wrong passphrase
 */
export function askPassphrase(question: string, opens?: (passphrase: string) => boolean): string | null {
  // A background process that changes the terminal is stopped by it.
  if (!isForeground()) return null;
  let terminal: number;
  try {
    terminal = openSync("/dev/tty", constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return null;
  }
  const stream = new ReadStream(terminal);
  // A closed terminal accepts no mode.
  stream.on("error", () => {});
  try {
    stream.setRawMode(true);
    // All tries are one question, so that typed characters are not shown between them, either.
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
 * Asks as `askPassphrase` does, but only once: a later reload asks nobody. Ctrl-C interrupts every program of the
 * command, as usual on a terminal.
 */
export function askOnce(): (question: string, opens: (passphrase: string) => boolean) => string | null {
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
    // The terminal is closed.
  }
}

const [enter, newline, interrupt, end, backspace, erase, kill] = [13, 10, 3, 4, 127, 8, 21];

/** Returns false if another process group has the terminal. */
function isForeground(): boolean {
  let stat: string;
  try {
    stat = readFileSync("/proc/self/stat", "utf8");
  } catch {
    return true;
  }
  // The second field is the program's name and may contain any characters.
  const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return group === foreground;
}

type TypedLine = { readonly text: string } | { readonly over: string } | { readonly interrupted: true };

/** Reads characters of a terminal in raw mode up to the end of the line. */
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
      // Characters typed after the end of the command are for other programs.
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
      // A character of more than one byte is removed completely.
      while (bytes.length > 0 && (bytes.at(-1)! & 0xc0) === 0x80) bytes.pop();
      bytes.pop();
    } else if (bytes.length < maxBytes) bytes.push(byte);
  }
}
