/** Records of the histories that moved the cash of accounts. */

export interface Place {
  /** Name of the account. */
  readonly account: string;
  readonly slot: number;
  /** The place of its transaction within the slot. Absent: not known. */
  readonly index?: number;
}

/** A position that was handed over at its entry value. Units and value are positive. */
export interface Handed {
  /** Null: the record does not say. */
  readonly market: { readonly symbol: string; readonly units: number } | null;
  /** The side of the position; absent: the record does not say. */
  readonly side?: "long" | "short";
  readonly entryUsd: number;
  /** The change of the account's collateral. */
  readonly changeUsd: number;
}

/** A record of a history that moved an account's cash. Amounts are USD, positive: received. */
export type CashRecord = Place &
  /**
   * `afterUsd`: the account's collateral after it. Absent: the record does not say. `unshown`, `shown`: the state of its slot that was read
   * does not show it, or does, whatever collateral that has. `within`: it moved between accounts of one wallet.
   */
  (
    | {
        readonly kind: "flow";
        readonly usd: number;
        readonly afterUsd?: number;
        readonly unshown?: true;
        readonly shown?: true;
        readonly within?: true;
      }
    /** `units`: signed change of the size; `usd`: after fees. */
    | { readonly kind: "fill"; readonly symbol: string; readonly units: number; readonly usd: number }
    /** A liquidator took a position over, or counterparties closed it; `handed`: with its entry value. */
    | { readonly kind: "takeover"; readonly handed?: Handed }
    /** Collateral in another asset was liquidated: `units` of the asset were sold for `usd`. */
    | { readonly kind: "sale"; readonly assetIndex: number; readonly units: number; readonly usd: number }
  );

/** A payment of the funding history, which does not say for which account of a PDA index it is. */
export interface FundingRecord {
  readonly key: string;
  readonly pdaIndex: number;
  readonly symbol: string;
  /** Positive: received. */
  readonly usd: number;
  /** The end of its hour, ms. */
  readonly endMs: number;
}

export type FlowRecord = CashRecord & { readonly kind: "flow" };
export type FillRecord = CashRecord & { readonly kind: "fill" };
/** A record of the slot of a state that may have come after that state. */
export type LooseRecord = FillRecord | FlowRecord;

export function sumOf(records: readonly CashRecord[]): number {
  return records.reduce((sum, one) => (one.kind === "flow" ? sum + one.usd : sum), 0);
}

export function isFlow({ kind }: CashRecord): boolean {
  return kind === "flow";
}
