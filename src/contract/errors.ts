/** Error replies of the exchange: their body, the authentication codes, and the remedy for each. */
import { maybe, type Output, record, text } from "./fields.ts";

/** `error` is a code for authentication errors and may be prose on data routes. */
export const errorBody = record({ error: text, message: maybe(text) });
export type ErrorBody = Output<typeof errorBody>;

/**
 *  - `refresh`: refresh the session once and repeat once; if the refresh is refused permanently, log in;
 *  - `reread`: another holder has rotated the session: read the stored one first, then as `refresh`;
 *  - `login`: the session is gone: sign in again;
 *  - `wait`: repeat after Retry-After;
 *  - `final`: repeating will not help.
 */
export type Remedy = "refresh" | "reread" | "login" | "wait" | "final";

export interface ErrorCode {
  /** Empty: never sent, a client's name for a state. */
  readonly statuses: readonly number[];
  readonly remedy: Remedy;
  readonly means: string;
}

export const ERROR_CODES = {
  missing_access_token: { statuses: [401], remedy: "refresh", means: "the route needs an access token" },
  missing_bearer_token: {
    statuses: [401],
    remedy: "refresh",
    means: "the route needs the Authorization header",
  },
  invalid_access_token: {
    statuses: [401],
    remedy: "refresh",
    means: "the token is malformed, expired or not ours",
  },
  access_token_expired: { statuses: [401], remedy: "refresh", means: "the token has expired" },
  session_missing: {
    statuses: [401, 404],
    remedy: "login",
    means: "the session is revoked, expired or unknown",
  },
  access_jti_mismatch: {
    statuses: [401],
    remedy: "reread",
    means: "the token is not the session's current one",
  },
  invalid_refresh_token: {
    statuses: [401],
    remedy: "login",
    means: "the refresh token is invalid, expired or spent",
  },
  refresh_expired: { statuses: [], remedy: "login", means: "the refresh token is past its expiry" },
  no_auth_session: { statuses: [], remedy: "login", means: "no session is loaded" },
  user_only: { statuses: [403], remedy: "final", means: "only users may do this" },
  admin_only: { statuses: [403], remedy: "final", means: "only administrators may do this" },
  insufficient_role: { statuses: [403], remedy: "final", means: "the session's role may not do this" },
  rate_limited: { statuses: [429], remedy: "wait", means: "too many requests" },
  wallet_not_linked: { statuses: [400, 401, 403, 409], remedy: "final", means: "the wallet is not proven" },
} as const satisfies Record<string, ErrorCode>;
export type KnownErrorCode = keyof typeof ERROR_CODES;

/** Returns the remedy for an error reply: by its code, else by its status (429, 5xx and 408 wait, others are final). */
export function remedyFor(status: number, code: string | null): Remedy {
  if (code !== null && Object.hasOwn(ERROR_CODES, code)) return ERROR_CODES[code as KnownErrorCode].remedy;
  if (status === 401) return "refresh";
  return status === 429 || status === 408 || status >= 500 ? "wait" : "final";
}
