/** The keystore: it can be opened with its passphrase only. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import {
  type Keystore,
  keystoreFromText,
  keystoreText,
  openKeystore,
  sealKeystore,
  WrongPassphrase,
} from "../../src/wallet/keystore.ts";
import { readKeystore, writeKeystore } from "../../src/wallet/keystore-file.ts";
import { BadKey, WalletKey } from "../../src/wallet/wallet-key.ts";

/** A low cost; the algorithm is the same. */
const cost = { N: 1_024, r: 8, p: 1 };
const keys = [61, 62, 63].map((byte) => WalletKey.fromSeed(new Uint8Array(32).fill(byte)));
const passphrase = "correct horse battery staple";
const sealed = sealKeystore(keys, passphrase, cost);
const folder = mkdtempSync(path.join(tmpdir(), "perpwatch-keystore-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("keys come out in their order, and each signs as before", () => {
  const opened = openKeystore(keystoreFromText(keystoreText(sealed)), passphrase);
  expect(opened.map(({ address }) => address)).toEqual(keys.map(({ address }) => address));
  expect(opened[1]!.signText("x")).toBe(keys[1]!.signText("x"));
});

test("the default cost is 128 MiB of scrypt", () => {
  const one = sealKeystore([], passphrase);
  expect(one.kdf).toMatchObject({ name: "scrypt", N: 131_072, r: 8, p: 1 });
  expect(openKeystore(one, passphrase)).toEqual([]);
});

test("the file shows addresses and no seed, and differs each time", () => {
  const bytes = Buffer.concat([
    Buffer.from(keystoreText(sealed)),
    Buffer.from(sealed.sealed, "base64"),
  ]).toString("latin1");
  for (const key of keys) {
    expect(bytes).toContain(key.address);
    expect(
      key.withKeypair((pair) => bytes.includes(Buffer.from(pair.subarray(0, 32)).toString("latin1"))),
    ).toBe(false);
  }
  const again = sealKeystore(keys, passphrase, cost);
  expect([
    again.sealed === sealed.sealed,
    again.nonce === sealed.nonce,
    again.kdf.salt === sealed.kdf.salt,
  ]).toEqual([false, false, false]);
});

test("a passphrase is the same however its accents are typed, and no other opens it", () => {
  const accented = sealKeystore(keys, "caf\u00e9", cost);
  expect(openKeystore(accented, "cafe\u0301")).toHaveLength(3);
  for (const wrong of ["", "cafe", "caf\u00e9 ", "CAF\u00c9"])
    expect(() => openKeystore(accented, wrong)).toThrow(WrongPassphrase);
});

const other = WalletKey.fromSeed(new Uint8Array(32).fill(9)).address;
test.each<[string, (one: Keystore) => Keystore]>([
  ["an address", (one) => ({ ...one, addresses: one.addresses.with(0, other) })],
  ["the order of addresses", (one) => ({ ...one, addresses: one.addresses.toReversed() })],
  ["one address less", (one) => ({ ...one, addresses: one.addresses.slice(1) })],
  ["the nonce", (one) => ({ ...one, nonce: Buffer.alloc(12, 1).toString("base64") })],
  ["the salt", (one) => ({ ...one, kdf: { ...one.kdf, salt: Buffer.alloc(32, 1).toString("base64") } })],
  ["the cost", (one) => ({ ...one, kdf: { ...one.kdf, N: 2_048 } })],
  ["a byte", (one) => ({ ...one, sealed: flipped(one.sealed, 0) })],
  [
    "a byte of the tag",
    (one) => ({ ...one, sealed: flipped(one.sealed, Buffer.from(one.sealed, "base64").length - 1) }),
  ],
  [
    "a cut",
    (one) => ({ ...one, sealed: Buffer.from(one.sealed, "base64").subarray(0, -1).toString("base64") }),
  ],
])("a change of %s is found out", (_, change) => {
  expect(() => openKeystore(change(structuredClone(sealed)), passphrase)).toThrow(WrongPassphrase);
});

function flipped(base64: string, at: number): string {
  const bytes = Buffer.from(base64, "base64");
  bytes[at]! ^= 1;
  return bytes.toString("base64");
}

test.each<[string, unknown]>([
  ["no JSON", "{"],
  ["another format", { ...sealed, format: "x" }],
  ["a later version", { ...sealed, version: 2 }],
  ["a cost that would take all memory", { ...sealed, kdf: { ...sealed.kdf, N: 2 ** 24 } }],
  ["a cost that is no power of two", { ...sealed, kdf: { ...sealed.kdf, N: 1_000 } }],
  ["another key derivation", { ...sealed, kdf: { ...sealed.kdf, name: "none" } }],
  ["a salt that is too short", { ...sealed, kdf: { ...sealed.kdf, salt: "AAAA" } }],
  ["one key more", { ...sealed, note: "hello" }],
  ["an address that is none", { ...sealed, addresses: ["x"] }],
])("%s is no keystore", (_, value) => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  expect(() => keystoreFromText(text)).toThrow(new BadKey("is no keystore of perpwatch"));
});

test("the same wallet twice, and more than fit, are refused", () => {
  expect(() => sealKeystore([...keys, keys[0]!], passphrase, cost)).toThrow(/has this wallet already/);
});

test("the file is its owner's only, and replaced atomically", () => {
  const file = path.join(folder, "keystore.json");
  expect(readKeystore(file)).toBeNull();
  writeKeystore(file, sealed);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readKeystore(file)).toEqual(sealed);
  chmodSync(file, 0o644);
  expect(() => readKeystore(file)).toThrow(/mode 0644.*Fix: chmod 600/);
  chmodSync(file, 0o600);
  // If the folder cannot hold a temporary file, the old file is kept.
  expect(() => writeKeystore(path.join(file, "x"), sealed)).toThrow(BadKey);
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual(sealed);
});

test("an invalid keystore is reported, not quoted", () => {
  const secret = "hunter2 ".repeat(40);
  const file = path.join(folder, "secret");
  writeFileSync(file, secret, { mode: 0o600 });
  expect(() => readKeystore(file)).toThrow(new BadKey(`${file}: is no keystore of perpwatch`));
  writeFileSync(file, Buffer.alloc(300_000), { mode: 0o600 });
  expect(() => readKeystore(file)).toThrow(/too large/);
  symlinkSync("/dev/zero", path.join(folder, "zero"));
  expect(() => readKeystore(path.join(folder, "zero"))).toThrow(/belongs to the system/);
});
