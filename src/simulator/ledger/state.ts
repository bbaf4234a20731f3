/** The state of the simulated ledger. */

import type { WalletKey } from "../../wallet/wallet-key.ts";

export interface ExecutedTransaction {
  readonly slot: number;
  /** In JSON-RPC's form; null: it succeeded. */
  readonly error: unknown;
}

export interface Ledger {
  /** The key that signs delegated onboardings. */
  readonly onboarder: WalletKey;
  /** By signature, oldest first. */
  readonly transactions: Map<string, ExecutedTransaction>;
  /** The balances of keys that differ from the initial one. */
  readonly lamports: Map<string, bigint>;
}
