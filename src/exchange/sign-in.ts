/**
 * Signing in as a wallet: a challenge, its signature, a session.
 *
 *   message       nonce ─► check and sign its text ─► loginWallet
 *   transaction   transactionChallenge ─► sign its message ─► loginWalletTransaction   (wallets that sign nothing else)
 *
 * A challenge is good for one login and a short time. When it is refused, the way starts again from the challenge, once.
 */
import { endpoints } from "../contract/endpoints.ts";
import type { AuthSession } from "../contract/records/auth.ts";
import { signChallengeText } from "../wallet/challenge-text.ts";
import { signChallenge } from "../wallet/transaction.ts";
import type { WalletKey } from "../wallet/wallet-key.ts";
import { lanes } from "./budget.ts";
import type { Caller, CallOptions } from "./call.ts";
import { ExchangeError } from "./errors.ts";

export type LoginKind = "message" | "transaction";

const DEADLINE_MS = 20_000;

export async function signIn(
  caller: Caller,
  key: WalletKey,
  kind: LoginKind,
  signal: AbortSignal,
): Promise<AuthSession> {
  const way = kind === "message" ? byMessage : byTransaction;
  try {
    return await way(caller, key, signal);
  } catch (error) {
    if (!(error instanceof ExchangeError) || !challengeRefused(error)) throw error;
    return await way(caller, key, signal);
  }
}

export const signInCall = (signal: AbortSignal): CallOptions => ({
  lane: lanes.inbox,
  signIn: true,
  deadlineMs: DEADLINE_MS,
  signal,
});

async function byMessage(caller: Caller, key: WalletKey, signal: AbortSignal): Promise<AuthSession> {
  const authority = key.address;
  const nonce = (await caller.call(endpoints.authNonce, { authority }, signInCall(signal))).record;
  const signature = signChallengeText(key, nonce.message, nonce.nonce_id);
  const args = { authority, signature, nonceId: nonce.nonce_id };
  return (await caller.call(endpoints.loginWallet, args, signInCall(signal))).record;
}

async function byTransaction(caller: Caller, key: WalletKey, signal: AbortSignal): Promise<AuthSession> {
  const authority = key.address;
  const challenge = (await caller.call(endpoints.transactionChallenge, { authority }, signInCall(signal)))
    .record;
  const signedTransaction = signChallenge(key, challenge.unsigned_transaction);
  const args = { authority, signedTransaction, nonceId: challenge.nonce_id };
  return (await caller.call(endpoints.loginWalletTransaction, args, signInCall(signal))).record;
}

/** Expired, used or unknown: which status says so is not stated, only that it is a 4xx. */
function challengeRefused({ endpoint, status }: ExchangeError): boolean {
  if (status === 400 || status === 401 || status === 404 || status === 409)
    return endpoint === "loginWallet" || endpoint === "loginWalletTransaction";
  // Not acceptable, as the way by transaction says it.
  return status === 403 && endpoint === "loginWalletTransaction";
}
