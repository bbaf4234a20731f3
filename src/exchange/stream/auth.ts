/** The session of a wallet for a stream connection: a token to present, and feedback about it. */
import type { Clock } from "../../domain/clock.ts";
import type { WalletSession } from "../session/session.ts";

export interface LinkAuth {
  /** Returns a usable token; signs in if there is none. @throws {ExchangeError} */
  access(signal: AbortSignal): Promise<string>;
  /**
   * Returns another token after the stream refused this one, or the same if no other is available now. @throws
   * {ExchangeError}
   */
  another(token: string, signal: AbortSignal): Promise<string>;
  accepted(token: string): void;
  /** Returns the current token; null: none. */
  current(): string | null;
  /** Returns the time until the newest token expires, ms; null without one. */
  expiresInMs(): number | null;
}

const PATIENCE_MS = 30_000;
const BEFORE_MS = 30_000;

export function linkAuth(session: WalletSession, clock: Clock): LinkAuth {
  const patience = (signal: AbortSignal) => ({ endMs: clock.elapsedMs() + PATIENCE_MS, signal });
  return {
    access: (signal) => session.access(patience(signal)),
    another: (token, signal) => session.another(token, patience(signal)),
    accepted: (token) => session.accepted(token),
    current: () => session.peek(),
    expiresInMs: () => session.expiresInMs,
  };
}

/**
 * Returns the time until the next token is presented, ms from now: half a minute before the old one expires, or an
 * eighth of the remaining time if that is shorter. By then the session has refreshed it.
 */
export function rotationDueMs(expiresInMs: number): number {
  return Math.max(0, expiresInMs - Math.min(BEFORE_MS, expiresInMs / 8));
}
