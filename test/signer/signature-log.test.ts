/** The signature log is written to its own file only. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { SignatureEntry } from "../../src/signer/local.ts";
import { signatureLog } from "../../src/signer/signature-log.ts";

const entry: SignatureEntry = { act: "login text", wallet: "W", hash: "00ff", refused: null };
let folder: string;
let troubles: string[];
let note: (entry: SignatureEntry) => void;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "perpwatch-log-"));
  troubles = [];
  note = signatureLog(
    folder,
    () => 0,
    (line, error) => void troubles.push(`${line} ${String(error)}`),
  );
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const file = () => path.join(folder, "signatures.log");

test("a line for each, readable by the owner only", () => {
  note(entry);
  note({ ...entry, refused: "no" });
  const lines = readFileSync(file(), "utf8").trim().split("\n");
  const line = { at: "1970-01-01T00:00:00.000Z", act: "login text", wallet: "W", sha256: "00ff" };
  expect(lines.map((one) => JSON.parse(one))).toEqual([
    { ...line, refused: null },
    { ...line, refused: "no" },
  ]);
  expect([statSync(file()).mode & 0o777, troubles]).toEqual([0o600, []]);
});

test.each<[string, () => void]>([
  ["a link to a file", () => symlinkSync(path.join(folder, "other"), file())],
  ["a link to nothing", () => symlinkSync(path.join(folder, "none"), file())],
  ["a pipe that nobody reads", () => void execFileSync("mkfifo", [file()])],
])("%s is not written to, and the line is told", (_, put) => {
  writeFileSync(path.join(folder, "other"), "as it was");
  put();
  note(entry);
  expect(troubles).toEqual([expect.stringContaining('"sha256":"00ff"')]);
  expect(readFileSync(path.join(folder, "other"), "utf8")).toBe("as it was");
  expect(existsSync(path.join(folder, "none"))).toBe(false);
});
