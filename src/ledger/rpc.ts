/**
 * A client of the ledger over JSON-RPC, with the calls needed to build a transaction, simulate it and see it confirmed.
 * It sends no transactions: the exchange sends those of an onboarding, the user all others.
 */
import {
  type Address,
  address,
  type Base64EncodedWireTransaction,
  createSolanaRpcFromTransport,
  type RpcTransport,
  type Signature,
  signature,
} from "@solana/kit";
import { z } from "zod";
import { escaped } from "../domain/text/escape.ts";
import { isAddress } from "../wallet/address.ts";
import { redactorFor } from "./redact.ts";

/**
 * The ledger's node could not be reached, or refused the call. The text never contains its address, which may hold a
 * secret.
 */
export class LedgerError extends Error {
  override readonly name = "LedgerError";
}

export interface Lifetime {
  /** Base58. */
  readonly blockhash: string;
  /** Above this block height a transaction with this blockhash cannot be executed any more. */
  readonly lastValidBlockHeight: bigint;
}

export interface AccountInfo {
  /** The program that owns the account. */
  readonly owner: string;
  readonly lamports: bigint;
}

/** The first bytes of an account. */
export interface AccountHead {
  /** The program that owns the account. */
  readonly owner: string;
  readonly data: Uint8Array;
}

export interface SignatureStatus {
  readonly confirmation: "processed" | "confirmed" | "finalized";
  /** The error, as JSON; null: it succeeded. */
  readonly error: string | null;
}

export interface Simulation {
  /** The expected error, as JSON; null: it would succeed. */
  readonly error: string | null;
  /** The last lines of the programs' logs. */
  readonly logs: readonly string[];
  /** The expected balances of the watched accounts; null: no such account. */
  readonly lamportsAfter: readonly (bigint | null)[];
}

export interface Ledger {
  latestBlockhash(): Promise<Lifetime>;
  blockHeight(): Promise<bigint>;
  /** Null: the ledger does not know it. */
  status(transaction: string): Promise<SignatureStatus | null>;
  /** In the order of the addresses; null: there is no such account. */
  accounts(addresses: readonly string[]): Promise<readonly (AccountInfo | null)[]>;
  /** The first bytes of an account, fewer where it is shorter; null: there is no such account. */
  accountHead(address: string, bytes: number): Promise<AccountHead | null>;
  /** Simulates a transaction, signed or not, with the newest blockhash. */
  simulate(wire: string, watched: readonly string[]): Promise<Simulation>;
}

/** Time limit of one call, ms. */
const patienceMs = 15_000;
const maxLogs = 8;
const maxAnswerBytes = 1_000_000;

const whole = z
  .union([z.bigint(), z.int().transform(BigInt)])
  .refine((value) => value >= 0n && value < 1n << 64n, "expected a number of 64 bits");
/** 32 bytes in base 58. */
const key = z.string().refine(isAddress, "expected an address");
/** The parts of the answers that are used. */
const answers = {
  latestBlockhash: z.object({ value: z.object({ blockhash: key, lastValidBlockHeight: whole }) }),
  blockHeight: whole,
  statuses: z.object({
    value: z
      .array(
        z
          .object({
            confirmationStatus: z.enum(["processed", "confirmed", "finalized"]).nullish(),
            err: z.unknown(),
          })
          .nullable(),
      )
      .max(1),
  }),
  accounts: z.object({ value: z.array(z.object({ owner: key, lamports: whole }).nullable()) }),
  head: z.object({
    value: z.object({ owner: key, data: z.tuple([z.base64(), z.literal("base64")]) }).nullable(),
  }),
  simulation: z.object({
    value: z.object({
      err: z.unknown(),
      logs: z.array(z.string()).nullish(),
      accounts: z.array(z.object({ lamports: whole }).nullable()).nullish(),
    }),
  }),
};

/** @param options `rpcUrl`: the node's address; `patienceMs`: time limit of one call, default 15 000 */
export function createLedger(options: { readonly rpcUrl: string; readonly patienceMs?: number }): Ledger {
  const rpc = createSolanaRpcFromTransport(transportTo(options.rpcUrl));
  const redacted = redactorFor(options.rpcUrl);
  const plain = (text: string) => oneLine(redacted(text));
  const errorText = (error: unknown) => {
    const text = textOf(error);
    return text === null ? null : redacted(text);
  };
  const confirmed = { commitment: "confirmed" } as const;

  async function ask<T>(
    what: string,
    request: { send(how: { abortSignal: AbortSignal }): Promise<unknown> },
    form: z.ZodType<T>,
  ): Promise<T> {
    let answer: unknown;
    try {
      answer = await request.send({ abortSignal: AbortSignal.timeout(options.patienceMs ?? patienceMs) });
    } catch (error) {
      throw new LedgerError(`ledger: ${what}: ${plain(reasonOf(error))}`);
    }
    const read = form.safeParse(answer);
    if (read.success) return read.data;
    const [issue] = read.error.issues;
    const where = issue?.path.length ? ` at ${issue.path.join(".")}` : "";
    throw new LedgerError(
      `ledger: ${what}: the answer has another form than expected${where} (${plain(issue?.message ?? "")})`,
    );
  }

  return {
    async latestBlockhash() {
      const { value } = await ask(
        "getLatestBlockhash",
        rpc.getLatestBlockhash(confirmed),
        answers.latestBlockhash,
      );
      return { blockhash: value.blockhash, lastValidBlockHeight: value.lastValidBlockHeight };
    },
    blockHeight: () => ask("getBlockHeight", rpc.getBlockHeight(confirmed), answers.blockHeight),
    async status(transaction) {
      const request = rpc.getSignatureStatuses([asSignature(transaction)]);
      const [known] = (await ask("getSignatureStatuses", request, answers.statuses)).value;
      if (known === null || known === undefined) return null;
      return { confirmation: known.confirmationStatus ?? "processed", error: errorText(known.err) };
    },
    async accounts(addresses) {
      const asked = addresses.map(asAddress);
      const request = rpc.getMultipleAccounts(asked, { ...confirmed, encoding: "base64" });
      const { value } = await ask("getMultipleAccounts", request, answers.accounts);
      if (value.length !== asked.length)
        throw new LedgerError("ledger: getMultipleAccounts: another number of accounts than requested");
      return value.map((it) => (it === null ? null : { owner: it.owner, lamports: it.lamports }));
    },
    async accountHead(asked, bytes) {
      const dataSlice = { offset: 0, length: bytes };
      const request = rpc.getAccountInfo(asAddress(asked), { ...confirmed, encoding: "base64", dataSlice });
      const { value } = await ask("getAccountInfo", request, answers.head);
      if (value === null) return null;
      const data = Buffer.from(value.data[0], "base64");
      if (data.length > bytes) throw new LedgerError("ledger: getAccountInfo: more data than requested");
      return { owner: value.owner, data };
    },
    async simulate(wire, watched) {
      const request = rpc.simulateTransaction(wire as Base64EncodedWireTransaction, {
        ...confirmed,
        encoding: "base64",
        sigVerify: false,
        replaceRecentBlockhash: true,
        accounts: { encoding: "base64", addresses: watched.map(asAddress) },
      });
      const { value } = await ask("simulateTransaction", request, answers.simulation);
      return {
        error: errorText(value.err),
        logs: (value.logs ?? []).slice(-maxLogs).map(plain),
        lamportsAfter: watched.map((_, index) => value.accounts?.[index]?.lamports ?? null),
      };
    },
  };
}

/**
 * One POST a call, to this address alone. Redirects are refused: they would send the provider's key to another host.
 */
function transportTo(rpcUrl: string): RpcTransport {
  return (async ({ payload, signal }) => {
    const response = await fetch(rpcUrl, {
      method: "POST",
      redirect: "error",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(payload),
      ...(signal ? { signal } : {}),
    });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return JSON.parse(await readAnswer(response), reviveIntegers);
  }) as RpcTransport;
}

/** @throws when it is longer than the limit */
async function readAnswer({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > maxAnswerBytes) throw new Error(`an answer of more than ${maxAnswerBytes} bytes`);
    parts.push(part);
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}

/** Keeps integers exact that a double cannot hold. */
function reviveIntegers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const { source } = context ?? {};
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? "")
    ? BigInt(source!)
    : value;
}

function asAddress(text: string): Address {
  try {
    return address(text);
  } catch {
    throw new LedgerError("ledger: the account is no address");
  }
}

function asSignature(text: string): Signature {
  try {
    return signature(text);
  } catch {
    throw new LedgerError("ledger: the transaction's signature is malformed");
  }
}

/** The ledger's errors are JSON with bigints in place of numbers. */
function textOf(error: unknown): string | null {
  if (error === null || error === undefined) return null;
  return JSON.stringify(error, (_key, value: unknown) => (typeof value === "bigint" ? Number(value) : value));
}

function reasonOf(error: unknown): string {
  if (error instanceof DOMException && error.name === "TimeoutError") return "no answer in time";
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  const code = (cause as { code?: unknown } | undefined)?.code;
  if (cause instanceof Error && cause.message === "unexpected redirect")
    return "it redirects to another address, which is not followed";
  if (message !== "fetch failed") return message;
  return `it cannot be reached${typeof code === "string" ? ` (${code})` : ""}`;
}

/** One line, bounded. */
function oneLine(text: string): string {
  const line = escaped(text.trim());
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}
