/** Signing in. */
import type { Handlers } from "../../../contract/index.ts";
import { Refusal } from "../sessions.ts";
import { challenge, verifyChallenge } from "../transaction-login.ts";
import type { Context } from "./context.ts";

export const authAnswers = {
  authNonce: ({ authority }, { sessions }) => sessions.nonce(authority),
  loginWallet: ({ authority, signature, nonceId }, { sessions }) =>
    sessions.login(authority, signature, nonceId),
  transactionChallenge: ({ authority }, { sessions }) => {
    const { nonce_id, expires_at } = sessions.nonce(authority);
    return { nonce_id, unsigned_transaction: challenge(authority, nonce_id), expires_at };
  },
  loginWalletTransaction: ({ authority, nonceId, signedTransaction }, { sessions }) => {
    try {
      sessions.useNonce(authority, nonceId);
    } catch (error) {
      // This route answers 403 instead of 401.
      if (error instanceof Refusal && error.status === 401) throw new Refusal(403, error.code);
      throw error;
    }
    verifyChallenge(authority, nonceId, signedTransaction);
    return sessions.open(authority);
  },
  refresh: ({ refreshToken }, { sessions }) => sessions.refresh(refreshToken),
  logout: (_args, { sessions, session }) => {
    if (!session) throw new Refusal(401, "missing_bearer_token");
    sessions.revoke(session);
    return null;
  },
  jwks: (_args, { sessions }) => sessions.jwks() as { keys: { kty: string }[] },
} satisfies Partial<Handlers<Context>>;
