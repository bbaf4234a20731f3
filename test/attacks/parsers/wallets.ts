/** Challenges, keys, keystores, sealed sessions, trusted forms, and what is said to and by a signer. */

import { readFileSync } from "node:fs";
import { BadForms, formsFromText } from "../../../src/signer/form-file.ts";
import { parsedLine, replyForm, requestForm } from "../../../src/signer/wire.ts";
import { formOf } from "../../../src/wallet/challenge-text.ts";
import { keystoreFromText, keystoreText, openKeystore, sealKeystore } from "../../../src/wallet/keystore.ts";
import { open, SealBroken, seal } from "../../../src/wallet/seal.ts";
import { BadChallenge, memoOfChallenge } from "../../../src/wallet/transaction.ts";
import { BadKey, WalletKey, walletKeyFromText } from "../../../src/wallet/wallet-key.ts";
import { bytes, isA, json, type Parsers, words } from "./kinds.ts";

const key = WalletKey.fromSeed(Uint8Array.from({ length: 32 }, (_, index) => index));
const other = WalletKey.fromSeed(new Uint8Array(32).fill(7));
const pair = key.withKeypair((bytes) => Array.from(bytes));
const challenge = JSON.parse(
  readFileSync(new URL("../../wallet/examples/auth-transaction-challenge.json", import.meta.url), "utf8"),
) as { unsigned_transaction: string; nonce_id: string };
/** So cheap that a million of them can be opened. */
const keystore = sealKeystore([key, other], "correct horse", { N: 2, r: 1, p: 1 });
const sealKey = new Uint8Array(32).fill(3);
const sealed = seal(sealKey, key.address, { refresh: "token" });
const nowMs = 1_791_212_430_000;
const act = { kind: "login text", text: `wallet:${key.address}\nnonce:9b4f`, nonceId: "nonce-1", nowMs };

export const parsers: Parsers = {
  "login texts": {
    input: words(
      [`Sign in to the exchange\nwallet:${key.address}\nnonce:9b4f0b8a2c\nexpires:2026-10-05T15:05:00Z`],
      4_096,
    ),
    run: (input: string) => formOf({ text: input, nonceId: "nonce-0001", address: key.address, nowMs }),
    mayThrow: isA(BadChallenge),
  },
  "login transactions": {
    input: bytes([Buffer.from(challenge.unsigned_transaction, "base64")], 3_000),
    run: (input: Uint8Array) =>
      memoOfChallenge(
        "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD",
        Buffer.from(input).toString("base64"),
        challenge.nonce_id,
      ),
    mayThrow: isA(BadChallenge),
  },
  "key files": {
    input: words([JSON.stringify(pair), "4".repeat(87), "1".repeat(44)], 4_096),
    run: (input: string) => walletKeyFromText(input),
    mayThrow: isA(BadKey),
  },
  keystores: {
    input: json([keystore], 262_144),
    run: (input: string) => keystoreText(keystoreFromText(input)),
    mayThrow: isA(BadKey),
  },
  "sealed keystores": {
    input: bytes([Buffer.from(keystore.sealed, "base64")]),
    run: (input: Uint8Array) =>
      openKeystore({ ...keystore, sealed: Buffer.from(input).toString("base64") }, "correct horse"),
    mayThrow: isA(BadKey),
  },
  passphrases: {
    input: words(["correct horse", "ﬁ\u0301\u200d"], 4_096),
    run: (input: string) => openKeystore(keystore, input),
    mayThrow: isA(BadKey),
  },
  "sealed sessions": {
    input: bytes([sealed]),
    run: (input: Uint8Array) => open(sealKey, key.address, input),
    mayThrow: isA(SealBroken),
  },
  "login-forms.json": {
    input: json([
      { text: "Sign in\nwallet:{address}", memo: null, refused: null },
      { text: null, memo: "m", refused: { kind: "text", form: "f", reason: "r", address: key.address } },
    ]),
    run: (input: string) => formsFromText("login-forms.json", input),
    mayThrow: isA(BadForms),
  },
  "requests to a signer": {
    input: json([
      { id: 1, do: "load" },
      { id: 1, do: "renew" },
      { id: 2, do: "sign", wallet: key.address, act },
      { id: 3, do: "sessionKey", wallet: key.address },
    ]),
    run: (input: string) => parsedLine(requestForm, input) !== undefined,
  },
  "replies of a signer": {
    input: json(
      [
        { id: 1, keys: [{ reference: "file /a", address: key.address }], closed: "" },
        { id: 2, signed: "abc" },
        { id: 2, refused: "no", see: "there" },
        { id: 2, unavailable: "locked" },
        { id: 3, sessionKey: "a".repeat(44) },
      ],
      4_194_304,
    ),
    run: (input: string) => parsedLine(replyForm, input) !== undefined,
  },
};
