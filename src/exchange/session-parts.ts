/** A wallet that has a session, and what all sessions have in common. */
import type { Clock, Random } from "../domain/clock.ts";
import type { SessionStore } from "../domain/ports.ts";
import type { WalletSigner } from "../signer/signer.ts";
import type { Caller } from "./call.ts";
import type { LoginKind, SignatureEntry } from "./sign-in.ts";

export interface SessionWallet {
  /** As configured. */
  readonly name: string;
  readonly key: WalletSigner;
  readonly login: LoginKind;
}

export interface SessionChange {
  readonly wallet: string;
  readonly signedIn: boolean;
  /** For people; never a secret. */
  readonly detail: string;
}

/** The counts of all sessions together. */
export interface SessionFigures {
  /** Refused access tokens, refreshes and sign-ins; what got no answer, 5xx or 429 is none. */
  authFailures: number;
  /** Those that came more than a minute after their wallet's first within 15 min: a restart of the exchange causes none. */
  repeatedAuthFailures: number;
  logins: number;
  refreshes: number;
}

export interface SessionParts {
  readonly caller: Caller;
  readonly store: SessionStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly figures: SessionFigures;
  /** Something was signed for a wallet, or refused. */
  readonly onSignature: (wallet: string, entry: SignatureEntry) => void;
  /** Signed in, signed in anew, or out and unable to get in. */
  readonly onChange: (change: SessionChange) => void;
  /** Something of no consequence yet that people should know: a store that fails, stored bytes that do not open. */
  readonly onTrouble: (wallet: string, detail: string) => void;
}
