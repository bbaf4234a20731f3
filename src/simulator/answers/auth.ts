/** Signing in. */
import type { Handlers } from "../../contract/index.ts";
import { Refusal } from "../sessions.ts";
import type { Context } from "./context.ts";

type Names = "authNonce" | "loginWallet" | "refresh" | "logout" | "jwks";

export const authAnswers: Pick<Handlers<Context>, Names> = {
  authNonce: ({ authority }, { sessions }) => sessions.nonce(authority),
  loginWallet: ({ authority, signature, nonceId }, { sessions }) =>
    sessions.login(authority, signature, nonceId),
  refresh: ({ refreshToken }, { sessions }) => sessions.refresh(refreshToken),
  logout: (_args, { sessions, session }) => {
    if (!session) throw new Refusal(401, "missing_bearer_token");
    sessions.revoke(session);
    return null;
  },
  jwks: (_args, { sessions }) => sessions.jwks() as { keys: { kty: string }[] },
};
