import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { base58 } from "@scure/base";
import { afterAll, expect, test } from "vitest";
import { importKeypairFile, newKeypairFile, readKeyFile } from "../../src/wallet/keypair-file.ts";
import { BadKey } from "../../src/wallet/wallet-key.ts";
import { exampleAddress, examplePair, exampleSeed, leaks } from "./example.ts";

const folder = mkdtempSync(join(tmpdir(), "perpwatch-keys-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function path(): string {
  files += 1;
  return join(folder, `key-${files}.json`);
}

function written(text: string, mode = 0o600): string {
  const file = path();
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(BadKey);
    const { message } = error as Error;
    expect(leaks(message)).toEqual([]);
    return message;
  }
  throw new Error("nothing was refused");
}

test("a key file that only its owner can read is read", () => {
  expect(readKeyFile(written(JSON.stringify(examplePair))).address).toBe(exampleAddress);
  expect(readKeyFile(written(`${base58.encode(exampleSeed)}\n`, 0o400)).address).toBe(exampleAddress);
});

test.each([0o604, 0o644, 0o602, 0o666])("mode %o is refused with the fix", (mode) => {
  const file = written(JSON.stringify(examplePair), mode);
  expect(refusal(() => readKeyFile(file))).toContain(`chmod 600 ${file}`);
  chmodSync(file, 0o600);
  expect(readKeyFile(file).address).toBe(exampleAddress);
});

test("a mistake in a file is reported with its path", () => {
  const short = written(JSON.stringify(examplePair.slice(2)));
  expect(refusal(() => readKeyFile(short))).toBe(`${short}: a JSON keypair has 64 numbers, this one 62`);
  expect(refusal(() => readKeyFile(join(folder, "absent")))).toContain("does not exist");
  expect(refusal(() => readKeyFile(folder))).toContain("is a folder, not a file");
  expect(refusal(() => readKeyFile(written(" ".repeat(5000))))).toContain("too large");
});

test("a new key file is its owner's only, reads back, and is never overwritten", () => {
  const file = path();
  const key = newKeypairFile(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readKeyFile(file).address).toBe(key.address);
  expect(newKeypairFile(path()).address).not.toBe(key.address);
  const before = readFileSync(file, "utf8");
  expect(refusal(() => newKeypairFile(file))).toContain("is not overwritten");
  expect(refusal(() => importKeypairFile(file, JSON.stringify(examplePair)))).toContain("is not overwritten");
  expect(readFileSync(file, "utf8")).toBe(before);
});

test.each([
  ["base58", base58.encode(Uint8Array.from(examplePair))],
  ["a base58 seed", base58.encode(exampleSeed)],
  ["JSON", JSON.stringify(examplePair)],
])("a key is imported from %s as a keypair file", (_form, text) => {
  const file = path();
  expect(importKeypairFile(file, text).address).toBe(exampleAddress);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(examplePair);
});

test("a text that holds no key leaves no file behind", () => {
  const file = path();
  refusal(() => importKeypairFile(file, "nonsense"));
  expect(() => statSync(file)).toThrow();
  expect(refusal(() => newKeypairFile(join(folder, "no", "folder")))).toContain("ENOENT");
});
