/** The form of a login text, and the texts that no wallet may sign, whatever is trusted. */
import { expect, test } from "vitest";
import { formOf } from "../../src/wallet/challenge-text.ts";
import { BadChallenge } from "../../src/wallet/transaction.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { exampleAddress, exampleKey, exampleRecord } from "./example.ts";

const record = exampleRecord("auth-nonce") as { message: string; nonce_id: string };
const { message, nonce_id: nonceId } = record;
const nowMs = Date.parse("2026-10-05T15:00:30Z");
const form = (text: string, id = nonceId) => formOf({ text, nonceId: id, address: exampleAddress, nowMs });

test("the example's text, with places for address, nonce and time", () => {
  expect(form(message)).toBe("Sign in to the exchange\nwallet:{address}\nnonce:{nonce hex}\nexpires:{time}");
  expect(exampleKey.signText(message)).toBe(exampleRecord("auth-login-wallet-request").signature);
});

test.each<[string, string, string]>([
  [
    "a site and a labelled nonce",
    `exchange.example wants you to sign in:\n${exampleAddress}\n\nNonce: a1b2c3d4\nIssued At: 2026-10-05T15:00:00.123Z`,
    "exchange.example wants you to sign in:\n{address}\n\nNonce: {nonce hex}\nIssued At: {time}",
  ],
  [
    "the challenge's id for a nonce",
    `Log in as ${exampleAddress}, please (${nonceId}) ✓`,
    "Log in as {address}, please ({nonce numbered}) ✓",
  ],
  [
    "times in all forms",
    `${exampleAddress} nonce=12345678 1791212430 1791212430000 2026-10-05 15:01 2026-10-05T17:00:30+02:00`,
    "{address} nonce={nonce hex} {time} {time} {time} {time}",
  ],
  [
    "a nonce of hex digits that are letters",
    `${exampleAddress}\nnonce: ecdadfbddfe`,
    "{address}\nnonce: {nonce hex}",
  ],
  [
    "the nonce twice",
    `${exampleAddress}\nnonce: a1b2c3d4\nagain: a1b2c3d4`,
    "{address}\nnonce: {nonce hex}\nagain: {nonce hex}",
  ],
])("%s", (_what, text, expected) => expect(form(text)).toBe(expected));

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
  ["the wallet twice", `${message}\n${exampleAddress}`, /more than once/],
  ["the wallet within a longer word as well", `${message}\nx${exampleAddress}`, /more than once/],
  ["a second address", `${message}\nto: MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr`, /another address/],
  ["no nonce", message.replace(/nonce:\w+/, ""), /no nonce/],
  ["a word for a nonce", message.replace(/nonce:\w+/, "nonce:transferring"), /no nonce/],
  ["a short nonce", message.replace(/nonce:\w+/, "nonce:a1"), /no nonce/],
  ["JSON", `{"wallet":"${exampleAddress}","nonce":"a1b2c3d4"}`, /braces/],
  ["a place of ours", `${message}\n{time}`, /braces/],
  ["a time that is over", message.replace("2026", "2001"), /not within 15 minutes/],
  ["a time far from now", message.replace("2026", "9999"), /not within 15 minutes/],
  ["a time in 16 minutes", message.replace("15:05", "15:16"), /not within 15 minutes/],
  ["a time that is none", message.replace("-10-05", "-19-05"), /not within 15 minutes/],
  ["seconds of another year", `${message}\n1000000000`, /not within 15 minutes/],
  ["a day without its time", `${message}\nuntil 9999-12-31`, /a day without its time/],
  ["a time with a small t", `${message}\nuntil 2026-10-05t15:01:00Z`, /a day without its time/],
  ["nothing", "", /does not name/],
])("%s is not signed", (_what, text, said) => {
  expect(() => form(text)).toThrow(BadChallenge);
  expect(() => form(text)).toThrow(said);
});

test("an empty id, or one that says something, is no nonce; another wallet's challenge is refused", () => {
  expect(() => form(`Sign in: ${exampleAddress}`, "")).toThrow(/no nonce/);
  expect(() => form(`Sign in: ${exampleAddress} and transfer`, "transfer")).toThrow(/no nonce/);
  const { address } = WalletKey.fromSeed(new Uint8Array(32));
  expect(() => formOf({ text: message, nonceId, address, nowMs })).toThrow(/does not name this wallet/);
});
