/** The wallets and pairs that are watched, as the configuration has them. */

export interface WatchedWallet {
  readonly name: string;
  /** Base58. */
  readonly authority: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly limits: Readonly<Record<string, number>>;
  /** No key and no session: public reads only. */
  readonly watchOnly: boolean;
  /** The PDA indices that are read. Absent: those that the exchange answers with. */
  readonly pdaIndices?: readonly number[];
}

/** A declared hedge: legs that are meant to cancel each other out. */
export interface WatchedPair {
  readonly name: string;
  /** `main/SOL` (all accounts of the wallet), `main/0.1/SOL` (PDA index, subaccount); all of one market. */
  readonly legs: readonly string[];
  /** Naked share of the largest leg up to which the pair counts as whole, 0–1. */
  readonly tolerance: number;
}
