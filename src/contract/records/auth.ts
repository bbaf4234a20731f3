/** Signing in: challenges, tokens, keys. snake_case on the wire. */
import { int, listOf, maybe, type Output, record, text, time, word } from "../fields.ts";

/** A message to sign, for one wallet, one login and a limited time. */
export const walletNonce = record({
  nonce_id: text,
  /** Sign its UTF-8 bytes exactly as received. */
  message: text,
  expires_at: time,
});
export type WalletNonce = Output<typeof walletNonce>;

/** A transaction to sign that can never be executed, for wallets that can sign only transactions. */
export const walletTransactionChallenge = record({
  nonce_id: text,
  /** base64 of a legacy Solana transaction with one empty signature. */
  unsigned_transaction: text,
  expires_at: time,
});
export type WalletTransactionChallenge = Output<typeof walletTransactionChallenge>;

/** Both tokens of a session; lifetimes count from the reply. Secret. */
export const authSession = record({
  token_type: word(["Bearer"]),
  access_token: text,
  /** Seconds. */
  expires_in: int,
  refresh_token: text,
  /** Seconds. */
  refresh_expires_in: int,
  /** base64url; kept, though bearer calls do not need it. */
  pop_key: maybe(text),
});
export type AuthSession = Output<typeof authSession>;

/** Public keys that verify access tokens (RFC 7517). */
export const jwks = record({
  keys: listOf(record({ kty: text, kid: maybe(text), alg: maybe(text), use: maybe(text) })),
});
export type Jwks = Output<typeof jwks>;
