/** The two tokens of a session: their expiry, and their stored form before encryption. */
import { decodeJwt } from "jose/jwt/decode";
import type { AuthSession } from "../../contract/records/auth.ts";

export interface Tokens {
  readonly access: string;
  readonly refresh: string;
  /** Exchange's time, ms. */
  readonly accessExpiresMs: number;
  /** From reception to expiry, ms. */
  readonly accessLifetimeMs: number;
  /** Exchange's time, ms. */
  readonly refreshExpiresMs: number;
  /** A further secret of the session that bearer calls do not need; stored with it. */
  readonly popKey: string | null;
}

const REFRESH_BEFORE_MS = 60_000;
const MIN_LIFETIME_MS = 10_000;
const MAX_LIFETIME_MS = 365 * 86_400_000;
/** Time before expiry in which a token is not used, since it could expire on the way. */
const expiryMarginMs = 2_000;

/** @param nowMs the exchange's time at reception */
export function tokensFrom(session: AuthSession, nowMs: number): Tokens {
  const claimedMs = expiryOf(session.access_token);
  // An expiry that has passed on arrival shows a wrong clock, not an expired token.
  const believed = claimedMs !== null && claimedMs > nowMs ? claimedMs - nowMs : session.expires_in * 1_000;
  const accessLifetimeMs = plausible(believed);
  return {
    access: session.access_token,
    refresh: session.refresh_token,
    accessExpiresMs: nowMs + accessLifetimeMs,
    accessLifetimeMs,
    refreshExpiresMs: nowMs + plausible(session.refresh_expires_in * 1_000),
    popKey: session.pop_key,
  };
}

/**
 * Returns the time of the next refresh, exchange's time in ms: a minute before expiry, or at three quarters of a
 * lifetime below 4 min.
 */
export function refreshDueMs(tokens: Tokens): number {
  return tokens.accessExpiresMs - Math.min(REFRESH_BEFORE_MS, tokens.accessLifetimeMs / 4);
}

/** Returns the time until which the access token is used, exchange's time in ms. */
export function usableUntilMs(tokens: Tokens): number {
  return tokens.accessExpiresMs - Math.min(expiryMarginMs, tokens.accessLifetimeMs / 10);
}

/** Returns `exp` of a JWT in ms; null if the token is opaque. The exchange verifies the signature. */
function expiryOf(token: string): number | null {
  try {
    const { exp } = decodeJwt(token);
    return typeof exp === "number" ? exp * 1_000 : null;
  } catch {
    return null;
  }
}

/** Limits a lifetime to 10 s … a year, ms; other values are errors of their source. */
function plausible(lifetimeMs: number): number {
  return Math.min(Math.max(lifetimeMs, MIN_LIFETIME_MS), MAX_LIFETIME_MS);
}

const FORMAT = 1;

/** Returns the stored form, before encryption. */
export function storedForm(tokens: Tokens): unknown {
  return { format: FORMAT, ...tokens };
}

/** @returns null if this is no known stored form */
export function fromStored(value: unknown): Tokens | null {
  const { format, ...tokens } = (value ?? {}) as Partial<Tokens> & { format?: unknown };
  const whole =
    format === FORMAT &&
    typeof tokens.access === "string" &&
    typeof tokens.refresh === "string" &&
    [tokens.accessExpiresMs, tokens.accessLifetimeMs, tokens.refreshExpiresMs].every(Number.isFinite);
  return whole ? (tokens as Tokens) : null;
}

/** Returns true if stored tokens are newer than these: another process renewed them. */
export function isFresher(stored: Tokens, tokens: Tokens): boolean {
  return stored.access !== tokens.access && stored.accessExpiresMs > tokens.accessExpiresMs;
}
