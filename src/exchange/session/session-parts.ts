/** A wallet with a session, and the common parts of all sessions. */
import type { Clock, Random } from "../../domain/clock.ts";
import type { SessionStore } from "../../domain/ports.ts";
import type { WalletSigner } from "../../signer/signer.ts";
import type { Caller } from "../requests/call.ts";
import type { LoginKind, SignatureEntry } from "./sign-in.ts";

export interface SessionWallet {
  /** The configured name. */
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

/** The counts over all sessions. */
export interface SessionFigures {
  /** Refused access tokens, refreshes and sign-ins; a missing answer, 5xx or 429 does not count. */
  authFailures: number;
  /** Those more than a minute after their wallet's first within 15 min: a restart of the exchange causes none. */
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
  /** Called when something was signed for a wallet, or refused. */
  readonly onSignature: (wallet: string, entry: SignatureEntry) => void;
  /** Called when a wallet signed in, signed in again, or lost its session. */
  readonly onChange: (change: SessionChange) => void;
  /** Called with problems that have no effect yet: a failing store, stored data that cannot be decrypted. */
  readonly onTrouble: (wallet: string, detail: string) => void;
}
