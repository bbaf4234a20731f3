import { expect, test } from "vitest";
import { BadChallenge, signChallenge } from "../../src/wallet/transaction.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { exampleKey, exampleRecord } from "./example.ts";

const challenge = exampleRecord("auth-transaction-challenge");
const unsigned = challenge.unsigned_transaction!;
const nonceId = challenge.nonce_id!;

function changed(change: (wire: Buffer) => Buffer): string {
  return change(Buffer.from(unsigned, "base64")).toString("base64");
}

const withByte = (at: number, value: number) => changed((wire) => wire.fill(value, at, at + 1));

test("a challenge is signed in slot 0, and nothing else of it changes", () => {
  const signed = signChallenge(exampleKey, unsigned, nonceId);
  expect(signed).toBe(exampleRecord("auth-login-transaction-request").signed_transaction);
  const before = Buffer.from(unsigned, "base64");
  const after = Buffer.from(signed, "base64");
  expect(after.subarray(65).equals(before.subarray(65))).toBe(true);
});

// Layout: 65 header of the message, 68 count of accounts, 69 wallet, 101 memo program, 133 blockhash, 165 count
// of instructions, 166 program index, 167 count of its accounts, 168 account, 169 length of data.
test.each<[string, string, RegExp]>([
  ["no base64", "***", /base64/],
  ["nothing", "", /base64/],
  ["two signatures", withByte(0, 2), /one signature/],
  ["a versioned message", withByte(65, 0x80), /legacy/],
  ["two signers", withByte(65, 2), /one signer/],
  ["another fee payer", withByte(70, 0x11), /fee payer/],
  ["another program", withByte(102, 0x11), /more than leave a memo/],
  ["a program that is not listed", withByte(166, 9), /more than leave a memo/],
  ["more accounts that are only read than there are", withByte(67, 2), /only read/],
  ["an account that is listed twice", changed((wire) => wire.copyWithin(101, 69, 101)), /listed twice/],
  ["a memo of another account", withByte(168, 1), /names another account/],
  ["more than the ledger takes", changed((wire) => Buffer.concat([wire, Buffer.alloc(1_100)])), /1232 bytes/],
  ["no instruction", changed((wire) => Buffer.concat([wire.subarray(0, 165), Buffer.of(0)])), /no memo/],
  ["a message that is cut short", changed((wire) => wire.subarray(0, wire.length - 1)), /cut short/],
  ["only its signature", changed((wire) => wire.subarray(0, 65)), /cut short/],
  ["bytes behind it", changed((wire) => Buffer.concat([wire, Buffer.of(0)])), /follow/],
  ["a length without end", changed((wire) => wire.fill(0xff, 167, 171)), /malformed/],
])("%s is refused", (_what, wire, message) => {
  expect(() => signChallenge(exampleKey, wire, nonceId)).toThrow(BadChallenge);
  expect(() => signChallenge(exampleKey, wire, nonceId)).toThrow(message);
});

test("another wallet's challenge is refused", () => {
  expect(() => signChallenge(WalletKey.fromSeed(new Uint8Array(32)), unsigned, nonceId)).toThrow(/fee payer/);
});

test.each<[string, string, string, RegExp]>([
  ["of another challenge", unsigned, "nonce-0003", /does not name this challenge/],
  ["of none", unsigned, "", /does not name this challenge/],
  // The last byte of the memo, then one in its middle.
  ["that is no text", withByte(175, 0xff), nonceId, /no printable text/],
  ["with a control character", withByte(175, 0x07), nonceId, /no printable text/],
])("a memo %s is not signed", (_what, wire, id, message) => {
  expect(() => signChallenge(exampleKey, wire, id)).toThrow(BadChallenge);
  expect(() => signChallenge(exampleKey, wire, id)).toThrow(message);
});
