/** The state of the chain below the exchange. */

import type { WalletKey } from "../wallet/wallet-key.ts";

export interface ExecutedTransaction {
  readonly slot: number;
  /** As JSON-RPC writes it; null: it went through. */
  readonly error: unknown;
}

export interface Ledger {
  /** The key that signs delegated onboardings. */
  readonly onboarder: WalletKey;
  /** By signature, oldest first. */
  readonly transactions: Map<string, ExecutedTransaction>;
  /** The balances of keys that own something else than what everybody has. */
  readonly lamports: Map<string, bigint>;
}
