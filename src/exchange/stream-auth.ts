/** The session of a wallet as a connection of the stream needs it: a token to come with, and word of what became of it. */
import type { Clock } from "../domain/clock.ts";
import type { ExchangeError } from "./errors.ts";
import type { WalletSession } from "./session.ts";

export interface LinkAuth {
  /** A usable token; signs in where there is none. @throws {ExchangeError} */
  access(signal: AbortSignal): Promise<string>;
  accepted(token: string): void;
  refused(token: string, why: ExchangeError): void;
  /** What would be used now; null: nothing. */
  current(): string | null;
  /** Until the newest token expires, ms; null without one. */
  expiresInMs(): number | null;
}

const PATIENCE_MS = 30_000;
const BEFORE_MS = 30_000;

export function linkAuth(session: WalletSession, clock: Clock): LinkAuth {
  return {
    access: (signal) => session.access({ endMs: clock.elapsedMs() + PATIENCE_MS, signal }),
    accepted: (token) => session.accepted(token),
    refused: (token, why) => session.refused(token, why),
    current: () => session.peek(),
    expiresInMs: () => session.expiresInMs,
  };
}

/**
 * When to come back with the next token, ms from now: half a minute before the old one expires, or an eighth of what is
 * left where that is shorter. By then the session has refreshed it.
 */
export function rotationDueMs(expiresInMs: number): number {
  return Math.max(0, expiresInMs - Math.min(BEFORE_MS, expiresInMs / 8));
}
