/** Signing in. Everything is snake_case on the wire. */
import { get, group, post } from "../endpoint.ts";
import { body, query } from "../params.ts";
import { authSession, jwks, walletNonce, walletTransactionChallenge } from "../records/auth.ts";
import { nothing, one } from "../reply.ts";

const wallet = body.key("The wallet.", { required: true, wire: "wallet_pubkey" });
const nonceId = body.string("The challenge's id.", { required: true, wire: "nonce_id" });

export const authEndpoints = group("auth", {
  authNonce: get("/v1/auth/nonce", {
    summary: "A message for one wallet to sign, good for one login.",
    params: { authority: query.key("The wallet.", { required: true, wire: "wallet_pubkey" }) },
    session: "none",
    reply: one(walletNonce),
    errors: [400, 500],
  }),
  loginWallet: post("/v1/auth/login/wallet", {
    summary: "Signs in with a signed message.",
    params: {
      authority: wallet,
      signature: body.string("base58 of the ed25519 signature over the message's bytes.", {
        required: true,
        secret: true,
      }),
      nonceId,
    },
    reply: one(authSession),
    errors: [400, 401, 409, 500],
  }),
  transactionChallenge: post("/v1/auth/wallet/transaction-challenge", {
    summary: "A transaction for one wallet to sign that can never be executed, good for one login.",
    params: { authority: wallet },
    reply: one(walletTransactionChallenge),
    errors: [400, 500, 503],
    safeToRetry: true,
  }),
  loginWalletTransaction: post("/v1/auth/login/wallet/transaction", {
    summary: "Signs in with a signed transaction.",
    params: {
      authority: wallet,
      nonceId,
      signedTransaction: body.string("base64 of the signed transaction.", {
        required: true,
        secret: true,
        wire: "signed_transaction",
      }),
    },
    reply: one(authSession),
    errors: [400, 403, 409, 500, 503],
  }),
  refresh: post("/v1/auth/refresh", {
    summary: "Exchanges a refresh token for a new pair; the old one is spent at once.",
    notes: [
      "A bearer is welcome while it is valid.",
      "A lost reply may have spent the token: sign in again.",
    ],
    params: {
      refreshToken: body.string("The refresh token.", {
        required: true,
        secret: true,
        wire: "refresh_token",
      }),
    },
    reply: one(authSession),
    errors: [401, 404, 409, 500],
  }),
  logout: post("/v1/auth/logout", {
    summary: "Revokes the session of the bearer.",
    notes: ["401 and 404 mean that there was nothing to revoke."],
    session: "required",
    reply: nothing("204 without a body; 200 with any body is success too."),
    success: [200, 204],
    errors: [401, 404, 500],
    safeToRetry: true,
  }),
  jwks: get("/v1/auth/jwks", {
    summary: "Public keys that verify access tokens.",
    session: "none",
    reply: one(jwks),
    errors: [500],
  }),
});
