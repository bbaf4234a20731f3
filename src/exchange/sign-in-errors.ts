/** Errors of renewing a session: who decided about it, and whether another try can help. */
import { remedyFor } from "../contract/errors.ts";
import { SigningRefused } from "../signer/signer.ts";
import { cleanText, ExchangeError } from "./errors.ts";

/** The error for a sign-in that failed. */
export function signInError(thrown: unknown, address: string): ExchangeError {
  if (thrown instanceof ExchangeError) return thrown;
  return new ExchangeError({
    endpoint: "loginWallet",
    reason: "signed-out",
    what: `cannot sign in as ${address}: ${cleanText(reasonOf(thrown))}`,
    sent: false,
  });
}

/** The error for a caller who cannot have a token. @param last the last error of a renewal or a request */
export function noSession(
  what: string,
  last: ExchangeError | null,
  retryAfterMs: number | null,
): ExchangeError {
  return new ExchangeError({
    endpoint: "session",
    reason: sessionReason(last),
    code: "no_auth_session",
    what: last ? `${what} (${last.message})` : what,
    retryAfterMs,
    sent: false,
  });
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof SigningRefused && thrown.see !== "") return `${thrown.message}; see: ${thrown.see}`;
  return thrown instanceof Error ? thrown.message : "failed";
}

/** An exchange that cannot be reached is not a session that was lost. */
function sessionReason(error: ExchangeError | null): ExchangeError["reason"] {
  return error?.retryable ? error.reason : "signed-out";
}

/** Returns true if the exchange, or this program itself, refused to sign in; false if nobody decided. */
export function isRefusal(error: unknown): boolean {
  return !(error instanceof ExchangeError && error.retryable);
}

/** The refresh token will never work again. 409, 429, 5xx and silence say nothing about it. */
export function isTerminal(error: unknown): boolean {
  if (!(error instanceof ExchangeError) || error.status === null) return false;
  if (error.reason === "bad-record") return true;
  if (remedyFor(error.status, error.code) === "login") return true;
  return error.status >= 400 && error.status < 500 && ![408, 409, 425, 429].includes(error.status);
}
