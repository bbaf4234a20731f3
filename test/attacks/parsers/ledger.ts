/** Answers of a node of the ledger, and the bytes of transactions and accounts. */
import { readFileSync } from "node:fs";
import { readMarketAccount } from "../../../src/ledger/market-account.ts";
import { redactorFor } from "../../../src/ledger/redact.ts";
import { createLedger, LedgerError } from "../../../src/ledger/rpc.ts";
import { addressBytes, BadAddress } from "../../../src/wallet/address.ts";
import { BadTransaction, readTransaction } from "../../../src/wallet/ledger-transaction.ts";
import { bytes, isA, json, type Parsers, words } from "./kinds.ts";

const authority = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";
const challenge = JSON.parse(
  readFileSync(new URL("../../wallet/examples/auth-transaction-challenge.json", import.meta.url), "utf8"),
) as { unsigned_transaction: string };
const account = (() => {
  const data = Buffer.alloc(64);
  data.write("410128f1a60e56bc", "hex");
  data.write("SOL", 40);
  data.writeBigUInt64LE(100n, 56);
  return data;
})();

let answer = "";
globalThis.fetch = (async () => new Response(answer)) as typeof fetch;
const ledger = createLedger({ rpcUrl: "http://127.0.0.1:9/" });
const redact = redactorFor("https://node.example/v2/0123456789abcdef?api-key=fedcba9876543210");
const result = (value: unknown) => ({ jsonrpc: "2.0", id: 1, result: { context: { slot: 1 }, value } });
const rpcAnswers = [
  result([{ owner: authority, lamports: 1, data: ["", "base64"] }]),
  result({ blockhash: authority, lastValidBlockHeight: 10 }),
  result([{ confirmationStatus: "confirmed", err: { InstructionError: [0, { Custom: 1 }] } }]),
  result({ err: null, logs: ["a"], accounts: [{ lamports: 5 }] }),
  result({ owner: authority, data: [account.toString("base64"), "base64"] }),
  { jsonrpc: "2.0", id: 1, error: { code: -32_005, message: "behind", data: { numSlotsBehind: 5 } } },
];
let asked = 0;

export const parsers: Parsers = {
  "answers of the ledger": {
    input: json(rpcAnswers, 1_000_000),
    run: async (input: string) => {
      answer = input;
      switch (asked++ % 6) {
        case 0:
          return ledger.latestBlockhash();
        case 1:
          return ledger.blockHeight();
        case 2:
          return ledger.status("1".repeat(64));
        case 3:
          return ledger.accounts([authority]);
        case 4:
          return ledger.simulate("AQID", [authority]);
        default:
          return ledger.accountHead(authority, 64);
      }
    },
    mayThrow: isA(LedgerError),
  },
  "accounts of the ledger": {
    input: bytes([account]),
    run: (input: Uint8Array) =>
      readMarketAccount("a", { owner: "EtrnLzgbS7nMMy5fbD42kXiUzGg8XQzJ972Xtk1cjWih", data: input }),
    mayThrow: isA(LedgerError),
  },
  transactions: {
    input: bytes([Buffer.from(challenge.unsigned_transaction, "base64")], 3_000),
    run: (input: Uint8Array) => readTransaction(Buffer.from(input).toString("base64")),
    mayThrow: isA(BadTransaction),
  },
  addresses: {
    input: words([authority, "1".repeat(32)], 4_096),
    run: (input: string) => addressBytes(input),
    mayThrow: isA(BadAddress),
  },
  "words of the ledger": {
    takesAll: true,
    input: words([
      "failed at https://node.example/v2/0123456789abcdef?api-key=fedcba9876543210",
      "fetch failed: 0123456789abcdef",
    ]),
    run: (input: string) => {
      const safe = redact(input);
      if (safe.includes("0123456789abcdef") || safe.includes("fedcba9876543210"))
        throw new TypeError(`a secret is left in ${safe}`);
      return true;
    },
  },
};
