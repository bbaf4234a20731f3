/** Errors of session renewals: their source, and if a retry can help. */
import { remedyFor } from "../../contract/errors.ts";
import { SigningRefused } from "../../signer/signer.ts";
import { cleanText, ExchangeError } from "../errors.ts";

/** Returns the error for a failed sign-in. */
export function signInError(thrown: unknown, address: string): ExchangeError {
  if (thrown instanceof ExchangeError) return thrown;
  return new ExchangeError({
    endpoint: "loginWallet",
    reason: "signed-out",
    what: `cannot sign in as ${address}: ${cleanText(reasonOf(thrown))}`,
    sent: false,
  });
}

/** Returns the error for a caller that gets no token. @param last the last error of a renewal or a request */
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

/** An unreachable exchange is not a lost session. */
function sessionReason(error: ExchangeError | null): ExchangeError["reason"] {
  return error?.retryable ? error.reason : "signed-out";
}

/** Returns true if the exchange, or this program itself, refused to sign in; false if there was no decision. */
export function isRefusal(error: unknown): boolean {
  return !(error instanceof ExchangeError && error.retryable);
}

/** Returns true if the refresh token is permanently invalid. 409, 429, 5xx and a missing answer do not show that. */
export function isTerminal(error: unknown): boolean {
  if (!(error instanceof ExchangeError) || error.status === null) return false;
  if (error.reason === "bad-record") return true;
  if (remedyFor(error.status, error.code) === "login") return true;
  return error.status >= 400 && error.status < 500 && ![408, 409, 425, 429].includes(error.status);
}
