/**
 * The calls of the ledger's JSON-RPC that onboarding and stop losses need, under `/rpc`. An executed transaction is
 * confirmed at once and finalized 32 slots later. Not part of the exchange's contract.
 */
import { PROGRAM_ID } from "../../contract/index.ts";
import { isAddress } from "../../wallet/address.ts";
import type { World } from "../state.ts";
import { heightOf, isRecent, lamportsOf, latestBlockhash, rentOf, slotOf } from "./ledger.ts";
import { marketAccountData } from "./market-account.ts";
import { traderAccountData } from "./trader-account.ts";

const invalid = -32_602;

/** A call that is answered with an error. */
class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;
  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

type Params = readonly unknown[];
type Call = (world: World, params: Params) => unknown;

const finalAfterSlots = 32;

const context = (world: World) => ({ slot: slotOf(world), apiVersion: "2.2.0" });
const inContext = (world: World, value: unknown) => ({ context: context(world), value });

const calls: Readonly<Record<string, Call>> = {
  getHealth: () => "ok",
  getVersion: () => ({ "solana-core": "2.2.0", "feature-set": 0 }),
  getSlot: (world) => slotOf(world),
  getBlockHeight: (world) => heightOf(world),
  getLatestBlockhash: (world) => inContext(world, latestBlockhash(world)),
  isBlockhashValid: (world, [hash]) => inContext(world, isRecent(world, text(hash, "blockhash"))),
  getBalance: (world, [address]) => inContext(world, Number(lamportsOf(world, key(address)))),
  getMinimumBalanceForRentExemption: (_world, [bytes]) => Number(rentOf(count(bytes, "length"))),
  getAccountInfo: (world, [address, options]) => inContext(world, accountOf(world, key(address), options)),
  getMultipleAccounts: (world, [addresses, options]) =>
    inContext(
      world,
      list(addresses, "addresses", 100).map((it) => accountOf(world, key(it), options)),
    ),
  getSignatureStatuses: (world, [signatures]) =>
    inContext(
      world,
      list(signatures, "signatures", 256).map((it) => statusOf(world, text(it, "signature"))),
    ),
  sendTransaction: async (world, [wire, options]) => {
    const { execute, prepare, TransactionRefused } = await import("./execution.ts");
    const transaction = await transactionIn(wire, options);
    try {
      if (optionsOf(options).skipPreflight !== true) prepare(world, transaction);
      return execute(world, transaction);
    } catch (error) {
      if (!(error instanceof TransactionRefused)) throw error;
      if (error.error === "SignatureFailure")
        throw new RpcError(-32_003, "Transaction signature verification failure");
      throw new RpcError(-32_002, `Transaction simulation failed: ${error.message}`, {
        ...{ err: error.error, logs: error.logs, accounts: null, unitsConsumed: 0 },
        ...{
          returnData: null,
          innerInstructions: null,
          loadedAccountsDataSize: 0,
          replacementBlockhash: null,
        },
      });
    }
  },
  simulateTransaction: async (world, [wire, options]) => {
    const { prepare, TransactionRefused } = await import("./execution.ts");
    const transaction = await transactionIn(wire, options);
    const { sigVerify, replaceRecentBlockhash, accounts } = optionsOf(options);
    if (sigVerify === true && replaceRecentBlockhash === true)
      throw new RpcError(invalid, "sigVerify may not be used with replaceRecentBlockhash");
    const asked = optionsOf(accounts).addresses;
    const addresses = asked === undefined ? null : list(asked, "accounts.addresses", 100).map(key);
    const common = { unitsConsumed: 0, returnData: null, innerInstructions: null, loadedAccountsDataSize: 0 };
    const replacementBlockhash = replaceRecentBlockhash === true ? latestBlockhash(world) : null;
    try {
      const { lamports, logs } = prepare(world, transaction, {
        signatures: sigVerify !== true,
        blockhash: replaceRecentBlockhash === true,
      });
      const after = addresses?.map((address) => {
        const owned = lamportsOf(world, address) + (lamports.get(address) ?? 0n);
        const known = accountOf(world, address, {});
        return owned === 0n ? null : { ...(known ?? plainAccount), lamports: Number(owned) };
      });
      return inContext(world, { ...common, err: null, logs, accounts: after ?? null, replacementBlockhash });
    } catch (error) {
      if (!(error instanceof TransactionRefused)) throw error;
      const nothing = addresses?.map(() => null) ?? null;
      const { error: err, logs } = error;
      return inContext(world, { ...common, err, logs, accounts: nothing, replacementBlockhash });
    }
  },
};

/** Answers a body with one call, or several. Undefined: there is nothing to answer. */
export async function answerRpc(world: World, body: unknown): Promise<unknown> {
  if (!Array.isArray(body)) return answerOne(world, body);
  if (body.length === 0 || body.length > 100) return refusal(null, -32_600, "Invalid request");
  const answers: unknown[] = [];
  for (const one of body) {
    const answer = await answerOne(world, one);
    if (answer !== undefined) answers.push(answer);
  }
  return answers.length === 0 ? undefined : answers;
}

async function answerOne(world: World, call: unknown): Promise<unknown> {
  if (typeof call !== "object" || call === null) return refusal(null, -32_600, "Invalid request");
  const { jsonrpc, id = undefined, method, params = [] } = call as Record<string, unknown>;
  if (jsonrpc !== "2.0" || typeof method !== "string") return refusal(id ?? null, -32_600, "Invalid request");
  try {
    const known = Object.hasOwn(calls, method) ? calls[method] : undefined;
    if (!known) throw new RpcError(-32_601, `Method not found: this simulator has no ${method.slice(0, 60)}`);
    if (!Array.isArray(params)) throw new RpcError(invalid, "params: must be a list");
    const result = await known(world, params);
    return id === undefined ? undefined : { jsonrpc: "2.0", result, id };
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return id === undefined ? undefined : refusal(id, error.code, error.message, error.data);
  }
}

function refusal(id: unknown, code: number, message: string, data?: unknown) {
  return { jsonrpc: "2.0", error: { code, message, ...(data === undefined ? {} : { data }) }, id };
}

function statusOf(world: World, signature: string) {
  const known = world.ledger.transactions.get(signature);
  if (!known) return null;
  const { slot, error } = known;
  const age = slotOf(world) - slot;
  const isFinal = age >= finalAfterSlots;
  return {
    slot,
    confirmations: isFinal ? null : Math.min(age + 1, finalAfterSlots - 1),
    err: error,
    status: error === null ? { Ok: null } : { Err: error },
    confirmationStatus: isFinal ? "finalized" : "confirmed",
  };
}

const plainAccount = {
  owner: "11111111111111111111111111111111",
  data: ["", "base64"] as const,
  executable: false,
  rentEpoch: 0,
  space: 0,
};

function accountOf(world: World, address: string, options: unknown) {
  const { encoding, dataSlice } = optionsOf(options);
  if (encoding !== undefined && encoding !== "base64")
    throw new RpcError(invalid, "encoding: this simulator writes base64");
  const lamports = lamportsOf(world, address);
  const data = dataOf(world, address);
  if (data === null) return lamports === 0n ? null : { lamports: Number(lamports), ...plainAccount };
  return {
    lamports: Number(lamports === 0n ? rentOf(data.length) : lamports),
    owner: PROGRAM_ID,
    data: [sliceOf(data, dataSlice).toString("base64"), "base64"],
    executable: false,
    rentEpoch: 0,
    space: data.length,
  };
}

/** Null: the exchange's program has no such account. */
function dataOf(world: World, address: string): Buffer | null {
  const account = world.accounts.get(address);
  if (account) return traderAccountData(world, account);
  const market = [...world.markets.values()].find((it) => it.spec.marketPubkey === address);
  return market ? marketAccountData(world, market) : null;
}

function sliceOf(data: Buffer, slice: unknown): Buffer {
  if (slice === undefined || slice === null) return data;
  const { offset, length } = optionsOf(slice);
  const start = count(offset, "dataSlice.offset");
  return data.subarray(start, start + count(length, "dataSlice.length"));
}

async function transactionIn(wire: unknown, options: unknown) {
  const { BadTransaction, readTransaction } = await import("../../wallet/ledger-transaction.ts");
  const given = text(wire, "transaction");
  if (optionsOf(options).encoding !== "base64")
    throw new RpcError(invalid, "encoding: this simulator reads base64");
  try {
    return readTransaction(given);
  } catch (error) {
    if (!(error instanceof BadTransaction)) throw error;
    throw new RpcError(invalid, `failed to deserialize the transaction: ${error.message}`);
  }
}

function optionsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function text(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  throw new RpcError(invalid, `Invalid params: ${name}: expected text`);
}

function key(value: unknown): string {
  const address = text(value, "address");
  if (isAddress(address)) return address;
  throw new RpcError(invalid, "Invalid param: expected base58 of 32 bytes");
}

function count(value: unknown, name: string): number {
  if (Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 10_485_760)
    return value as number;
  throw new RpcError(invalid, `Invalid params: ${name}: expected a number of bytes`);
}

function list(value: unknown, name: string, most: number): Params {
  if (Array.isArray(value) && value.length <= most) return value;
  throw new RpcError(invalid, `Invalid params: ${name}: expected a list of at most ${most}`);
}
