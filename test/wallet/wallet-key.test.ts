import { format, inspect } from "node:util";
import { base58 } from "@scure/base";
import { describe, expect, test } from "vitest";
import { addressBytes } from "../../src/wallet/address.ts";
import { verifyBytes } from "../../src/wallet/ed25519.ts";
import { BadKey, WalletKey, walletKeyFromText } from "../../src/wallet/wallet-key.ts";
import { exampleAddress, exampleKey, examplePair, exampleRecord, exampleSeed, leaks } from "./example.ts";

const pairBytes = Uint8Array.from(examplePair);

test.each([
  ["a JSON keypair", JSON.stringify(examplePair)],
  ["a JSON keypair with spaces and a newline", `  ${JSON.stringify(examplePair, null, 1)}\n`],
  ["base58 of the keypair", base58.encode(pairBytes)],
  ["base58 of the seed", `${base58.encode(exampleSeed)}\n`],
])("a key is read from %s", (_form, text) => {
  expect(walletKeyFromText(text).address).toBe(exampleAddress);
});

test("message login signs the text unchanged", () => {
  const nonce = exampleRecord("auth-nonce");
  const request = exampleRecord("auth-login-wallet-request");
  expect(exampleKey.signText(nonce.message!)).toBe(request.signature);
});

test("signatures verify under the address, and only over the same bytes", () => {
  const bytes = Uint8Array.of(1, 2, 3);
  const signature = exampleKey.sign(bytes);
  const publicKey = addressBytes(exampleKey.address);
  expect(verifyBytes(publicKey, bytes, signature)).toBe(true);
  expect(verifyBytes(publicKey, Uint8Array.of(1, 2, 4), signature)).toBe(false);
  expect(verifyBytes(publicKey, bytes, signature.subarray(1))).toBe(false);
});

test("derived keys differ by info, salt and wallet, and are stable", () => {
  const other = WalletKey.fromSeed(new Uint8Array(32).fill(7));
  const keys = [
    exampleKey.deriveKey("a"),
    exampleKey.deriveKey("b"),
    exampleKey.deriveKey("a", Uint8Array.of(1)),
    other.deriveKey("a"),
  ].map((key) => key.toString("hex"));
  expect(new Set(keys).size).toBe(4);
  expect(exampleKey.deriveKey("a").toString("hex")).toBe(keys[0]);
  expect(keys[0]).toHaveLength(64);
});

describe("refused", () => {
  const wrongHalf = [...examplePair.slice(0, 32), ...new Array<number>(32).fill(9)];
  test.each([
    ["an empty text", " \n", /empty/],
    ["broken JSON", `${JSON.stringify(examplePair).slice(0, -1)}`, /not valid JSON/],
    ["a pair that is too short", JSON.stringify(examplePair.slice(1)), /64 numbers, this one 63/],
    ["an entry above 255", JSON.stringify(examplePair.with(3, 256)), /entry 4/],
    ["an entry with a fraction", JSON.stringify(examplePair.with(0, 0.5)), /entry 1/],
    ["an entry that is text", JSON.stringify([...examplePair.slice(0, 63), "1"]), /entry 64/],
    ["a foreign public half", JSON.stringify(wrongHalf), /does not belong/],
    ["a foreign public half in base58", base58.encode(Uint8Array.from(wrongHalf)), /does not belong/],
    ["base58 of 31 bytes", base58.encode(exampleSeed.subarray(1)), /this one 31/],
    ["no base58", `${base58.encode(pairBytes).slice(0, -1)}0`, /neither/],
    ["a long text", base58.encode(pairBytes).repeat(9), /neither/],
  ])("%s, without repeating it", (_what, text, message) => {
    let caught: unknown;
    try {
      walletKeyFromText(text);
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(BadKey);
    expect((caught as Error).message).toMatch(message);
    expect(leaks(inspect(caught, { depth: 9, showHidden: true }))).toEqual([]);
  });
});

test("a key never prints its secret", () => {
  expect(leaks(`${base58.encode(exampleSeed)} ${JSON.stringify(examplePair)}`)).not.toEqual([]);
  const shown = [
    String(exampleKey),
    `${exampleKey}`,
    JSON.stringify({ key: exampleKey }),
    inspect(exampleKey),
    inspect({ a: [{ exampleKey }] }, { depth: 9, showHidden: true }),
    inspect(exampleKey, { customInspect: false, showHidden: true, depth: 9 }),
    format("%s %o %j", exampleKey, exampleKey, exampleKey),
    JSON.stringify(Object.assign({}, exampleKey)),
    inspect(structuredClone({ ...exampleKey })),
  ];
  for (const text of shown) expect(leaks(text)).toEqual([]);
  expect(shown[0]).toBe("[secret]");
  expect(shown[2]).toBe('{"key":"[secret]"}');
  expect(shown[3]).toBe("[secret]");
});
