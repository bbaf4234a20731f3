/** The passphrase of the keystore: from a file, from a credential of the service manager, or from a person. */
import { closeSync, existsSync, openSync, readSync, writeSync } from "node:fs";
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

/** Asks on the terminal, whatever the standard streams are, and shows nothing. Null where there is none, or nobody wants to. */
export function askPassphrase(question: string): string | null {
  let terminal: number;
  try {
    terminal = openSync("/dev/tty", "r+");
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

/** Characters of a terminal in raw mode up to the end of the line. */
function typed(terminal: number): string | null {
  const bytes: number[] = [];
  const one = Buffer.alloc(1);
  for (;;) {
    let count: number;
    try {
      count = readSync(terminal, one, 0, 1, null);
    } catch (error) {
      // The stream has made it one that does not wait.
      if (error instanceof Error && "code" in error && error.code === "EAGAIN") {
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
