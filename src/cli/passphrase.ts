/** The passphrase of the keystore: from a file, from a credential of the service manager, or from a person. */
import { closeSync, constants, existsSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import path from "node:path";
import { ReadStream } from "node:tty";
import { readTextFile } from "../config/index.ts";
import { BadKey } from "../wallet/wallet-key.ts";

const mostBytes = 4_096;
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
  const read = readTextFile(given, { largestBytes: mostBytes, secret: true });
  if ("wrong" in read) throw new BadKey(`the passphrase ${given} ${read.wrong}`);
  // A line that an editor ended.
  const text = read.text.replace(/\r?\n$/, "");
  if (text === "") throw new BadKey(`the passphrase ${given} is empty`);
  return text;
}

/** A question that nobody answers is over after this, ms: what watches may not wait for a person who sleeps. */
const answerWithinMs = 60_000;

/**
 * Asks on the terminal, whatever the standard streams are, and shows nothing.
 * @returns null where there is none, where this process is not in its foreground, or where nobody answers within a minute
 */
export function askPassphrase(question: string): string | null {
  // Whoever changes a terminal from the background is stopped by it.
  if (!isForeground()) return null;
  let terminal: number;
  try {
    terminal = openSync("/dev/tty", constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return null;
  }
  const stream = new ReadStream(terminal);
  try {
    writeSync(terminal, question);
    stream.setRawMode(true);
    return typed(terminal);
  } finally {
    stream.setRawMode(false);
    writeSync(terminal, "\n");
    stream.destroy();
    try {
      closeSync(terminal);
    } catch {
      // The stream has closed it.
    }
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

/** Characters of a terminal in raw mode up to the end of the line. */
function typed(terminal: number): string | null {
  const endMs = performance.now() + answerWithinMs;
  const bytes: number[] = [];
  const one = Buffer.alloc(1);
  for (;;) {
    let count: number;
    try {
      count = readSync(terminal, one, 0, 1, null);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "EAGAIN") {
        if (performance.now() > endMs) return null;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
        continue;
      }
      throw error;
    }
    const byte = one[0]!;
    if (count === 0 || byte === interrupt || (byte === end && bytes.length === 0)) return null;
    if (byte === enter || byte === newline) return Buffer.from(bytes).toString("utf8");
    if (byte === kill) bytes.length = 0;
    else if (byte === backspace || byte === erase) {
      // A character of more than one byte goes as a whole.
      while (bytes.length > 0 && (bytes.at(-1)! & 0xc0) === 0x80) bytes.pop();
      bytes.pop();
    } else if (bytes.length < mostBytes) bytes.push(byte);
  }
}
