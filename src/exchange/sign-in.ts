/**
 * Signing in as a wallet: a challenge, its signature, a session.
 *
 *   message       nonce ─► check and sign its text ─► loginWallet
 *   transaction   transactionChallenge ─► sign its message ─► loginWalletTransaction   (wallets that sign nothing else)
 *
 * A challenge is good for one login and a short time. When it is refused, the way starts again from the challenge, once.
 */
import { createHash } from "node:crypto";
import { endpoints } from "../contract/endpoints.ts";
import type { AuthSession } from "../contract/records/auth.ts";
import { memoOfChallenge, signChallenge } from "../wallet/transaction.ts";
import type { WalletKey } from "../wallet/wallet-key.ts";
import { lanes } from "./budget.ts";
import type { Caller, CallOptions } from "./call.ts";
import { ExchangeError } from "./errors.ts";
import type { LoginForms } from "./login-forms.ts";

export type LoginKind = "message" | "transaction";

const DEADLINE_MS = 20_000;

/** A signature that was given, or one that was refused, for the log. */
export interface SignatureEntry {
  readonly act: "login text" | "login transaction";
  /** SHA-256 of that which was to be signed, hex. */
  readonly hash: string;
  /** Null: it was signed. */
  readonly refused: string | null;
}

export interface SignInParts {
  readonly caller: Caller;
  readonly forms: LoginForms;
  /** The exchange's time, ms. */
  readonly exchangeNowMs: () => number;
  readonly onSignature: (entry: SignatureEntry) => void;
}

export async function signIn(
  parts: SignInParts,
  key: WalletKey,
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

async function byMessage(parts: SignInParts, key: WalletKey, signal: AbortSignal): Promise<AuthSession> {
  const { caller, forms } = parts;
  const authority = key.address;
  const nonce = (await caller.call(endpoints.authNonce, { authority }, signInCall(signal))).record;
  const { message: text, nonce_id: nonceId } = nonce;
  const signature = await logged(parts, "login text", text, async () => {
    await forms.check({ text, nonceId, address: authority, nowMs: parts.exchangeNowMs() });
    return key.signText(text);
  });
  const args = { authority, signature, nonceId };
  return (await caller.call(endpoints.loginWallet, args, signInCall(signal))).record;
}

async function byTransaction(parts: SignInParts, key: WalletKey, signal: AbortSignal): Promise<AuthSession> {
  const { caller, forms } = parts;
  const authority = key.address;
  const challenge = (await caller.call(endpoints.transactionChallenge, { authority }, signInCall(signal)))
    .record;
  const { unsigned_transaction: unsigned, nonce_id: nonceId } = challenge;
  const signedTransaction = await logged(parts, "login transaction", unsigned, async () => {
    const text = memoOfChallenge(authority, unsigned, nonceId);
    await forms.check({ text, nonceId, address: authority, nowMs: parts.exchangeNowMs() }, "memo");
    return signChallenge(key, unsigned, nonceId);
  });
  const args = { authority, signedTransaction, nonceId };
  return (await caller.call(endpoints.loginWalletTransaction, args, signInCall(signal))).record;
}

/** Notes that something was signed, or why not. */
async function logged<T>(
  { onSignature }: SignInParts,
  act: SignatureEntry["act"],
  content: string,
  sign: () => Promise<T>,
): Promise<T> {
  const hash = createHash("sha256").update(content).digest("hex");
  try {
    const signed = await sign();
    onSignature({ act, hash, refused: null });
    return signed;
  } catch (error) {
    onSignature({ act, hash, refused: error instanceof Error ? error.message : String(error) });
    throw error;
  }
}

/** Expired, used or unknown: which status says so is not stated, only that it is a 4xx. */
function challengeRefused({ endpoint, status }: ExchangeError): boolean {
  if (status === 400 || status === 401 || status === 404 || status === 409)
    return endpoint === "loginWallet" || endpoint === "loginWalletTransaction";
  // Not acceptable, as the way by transaction says it.
  return status === 403 && endpoint === "loginWalletTransaction";
}
