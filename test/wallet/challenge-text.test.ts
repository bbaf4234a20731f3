import { expect, test } from "vitest";
import { signChallengeText } from "../../src/wallet/challenge-text.ts";
import { BadChallenge } from "../../src/wallet/transaction.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { exampleAddress, exampleKey, exampleRecord } from "./example.ts";

const { message, nonce_id } = exampleRecord("auth-nonce") as { message: string; nonce_id: string };

test("the example's challenge is signed as it stands", () => {
  expect(signChallengeText(exampleKey, message, nonce_id)).toBe(
    exampleRecord("auth-login-wallet-request").signature,
  );
});

test.each<[string, string]>([
  ["other words", `exchange.example wants you to sign in:\n${exampleAddress}\n\nNonce: a1b2c3d4`],
  ["the challenge's id for a nonce", `Log in as ${exampleAddress}, please (${nonce_id}) ✓`],
  ["the most bytes", `${message}\n`.padEnd(1_024, "x")],
])("%s will do", (_what, text) => {
  expect(signChallengeText(exampleKey, text, nonce_id)).toBe(exampleKey.signText(text));
});

test.each<[string, string, RegExp]>([
  ["a NUL", `${message}\u0000`, /printable/],
  ["bytes that could be a transaction", `\u0001\u0000\u0001${message}`, /printable/],
  ["a carriage return", message.replaceAll("\n", "\r\n"), /printable/],
  ["an escape sequence", `${message}\u001b[2J`, /printable/],
  ["text that runs the other way", `${message}\u202eabc`, /printable/],
  ["a half character", `${message}\ud800`, /printable/],
  ["another line break", `${message}\u2028abc`, /printable/],
  ["too much", `${message}\n`.padEnd(1_025, "x"), /1025 bytes; 1024 are the most/],
  ["too much in bytes", message + "ü".repeat(500), /bytes; 1024/],
  ["another wallet", message.replace("GHYp", "GHYq"), /does not name this wallet/],
  ["the wallet within a longer word", message.replace("GHYp", "xGHYp"), /does not name this wallet/],
  ["no nonce", message.replace(/nonce:\w+/, ""), /no nonce/],
  ["nothing", "", /does not name/],
])("%s is not signed", (_what, text, said) => {
  expect(() => signChallengeText(exampleKey, text, nonce_id)).toThrow(BadChallenge);
  expect(() => signChallengeText(exampleKey, text, nonce_id)).toThrow(said);
});

test("an empty id is no nonce, and another wallet's challenge is refused", () => {
  expect(() => signChallengeText(exampleKey, `Sign in: ${exampleAddress}`, "")).toThrow(/no nonce/);
  const other = WalletKey.fromSeed(new Uint8Array(32));
  expect(() => signChallengeText(other, message, nonce_id)).toThrow(/does not name this wallet/);
});
