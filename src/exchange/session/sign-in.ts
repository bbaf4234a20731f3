/**
 * Signs in as a wallet: a challenge, its signature, a session.
 *
 *   message       nonce ─► check and sign its text ─► loginWallet
 *   transaction   transactionChallenge ─► sign its message ─► loginWalletTransaction   (wallets that sign nothing else)
 *
 * A challenge is valid for one login and a short time. If it is refused, the sign-in restarts from the challenge, once.
 */
import { endpoints } from "../../contract/endpoints.ts";
import type { AuthSession } from "../../contract/records/auth.ts";
import { hashOf } from "../../signer/hash.ts";
import { type SigningAct, SigningRefused, type WalletSigner } from "../../signer/signer.ts";
import { ExchangeError } from "../errors.ts";
import type { Caller, CallOptions } from "../requests/call.ts";
import { lanes } from "../requests/lanes.ts";

export type LoginKind = "message" | "transaction";

const DEADLINE_MS = 20_000;

/** A given or refused signature, for the log. */
export interface SignatureEntry {
  readonly act: SigningAct["kind"];
  /** SHA-256 of the data to be signed, hex. */
  readonly hash: string;
  /** Null: it was signed. */
  readonly refused: string | null;
  /** Empty, or the command that shows more about a refusal. */
  readonly see: string;
}

export interface SignInParts {
  readonly caller: Caller;
  /** The exchange's time, ms. */
  readonly exchangeNowMs: () => number;
  readonly onSignature: (entry: SignatureEntry) => void;
}

export async function signIn(
  parts: SignInParts,
  key: WalletSigner,
  kind: LoginKind,
  signal: AbortSignal,
): Promise<AuthSession> {
  const way = kind === "message" ? byMessage : byTransaction;
  try {
    return await way(parts, key, signal);
  } catch (error) {
    if (!(error instanceof ExchangeError) || !challengeRefused(error)) throw error;
    return await way(parts, key, signal);
  }
}

export const signInCall = (signal: AbortSignal): CallOptions => ({
  lane: lanes.inbox,
  signIn: true,
  deadlineMs: DEADLINE_MS,
  signal,
});

async function byMessage(parts: SignInParts, key: WalletSigner, signal: AbortSignal): Promise<AuthSession> {
  const { caller } = parts;
  const authority = key.address;
  const nonce = (await caller.call(endpoints.authNonce, { authority }, signInCall(signal))).record;
  const { message: text, nonce_id: nonceId } = nonce;
  const act = { kind: "login text", text, nonceId, nowMs: parts.exchangeNowMs() } as const;
  const signature = await sign(parts, key, act, signal);
  const args = { authority, signature, nonceId };
  return (await caller.call(endpoints.loginWallet, args, signInCall(signal))).record;
}

async function byTransaction(
  parts: SignInParts,
  key: WalletSigner,
  signal: AbortSignal,
): Promise<AuthSession> {
  const { caller } = parts;
  const authority = key.address;
  const challenge = (await caller.call(endpoints.transactionChallenge, { authority }, signInCall(signal)))
    .record;
  const { unsigned_transaction: unsigned, nonce_id: nonceId } = challenge;
  const nowMs = parts.exchangeNowMs();
  const act = { kind: "login transaction", unsigned, nonceId, nowMs } as const;
  const signedTransaction = await sign(parts, key, act, signal);
  const args = { authority, signedTransaction, nonceId };
  return (await caller.call(endpoints.loginWalletTransaction, args, signInCall(signal))).record;
}

/** Logs the signature or the refusal. An unavailable signer has given neither. */
async function sign(
  { onSignature }: SignInParts,
  key: WalletSigner,
  act: SigningAct,
  signal: AbortSignal,
): Promise<string> {
  const entry = { act: act.kind, hash: hashOf(act) };
  try {
    const signed = await unlessAborted(key.sign(act), signal);
    onSignature({ ...entry, refused: null, see: "" });
    return signed;
  } catch (error) {
    if (error instanceof SigningRefused) onSignature({ ...entry, refused: error.message, see: error.see });
    throw error;
  }
}

/** Ends the wait on an abort: an unresponsive signer does not delay a stop. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** Returns true for an expired, used or unknown challenge: the status is not specified, only that it is a 4xx. */
function challengeRefused({ endpoint, status }: ExchangeError): boolean {
  if (status === 400 || status === 401 || status === 404 || status === 409)
    return endpoint === "loginWallet" || endpoint === "loginWalletTransaction";
  // The status of the transaction sign-in for this.
  return status === 403 && endpoint === "loginWalletTransaction";
}
