/** The session of a wallet as a connection of the stream needs it: a token to come with, and word of what became of it. */
import type { Clock } from "../domain/clock.ts";
import type { WalletSession } from "./session.ts";

export interface LinkAuth {
  /** A usable token; signs in where there is none. @throws {ExchangeError} */
  access(signal: AbortSignal): Promise<string>;
  /** The stream refused this token: another, or the same where no other can be had now. @throws {ExchangeError} */
  another(token: string, signal: AbortSignal): Promise<string>;
  accepted(token: string): void;
  /** The token that would be used now; null: nothing. */
  current(): string | null;
  /** Until the newest token expires, ms; null without one. */
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
 * The time until the next token is presented, ms from now: half a minute before the old one expires, or an eighth of what is
 * left where that is shorter. By then the session has refreshed it.
 */
export function rotationDueMs(expiresInMs: number): number {
  return Math.max(0, expiresInMs - Math.min(BEFORE_MS, expiresInMs / 8));
}
