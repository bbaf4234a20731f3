/** Records of the histories that changed the cash of accounts. */

export interface Place {
  /** Name of the account. */
  readonly account: string;
  readonly slot: number;
  /** The position of its transaction within the slot. Absent: not known. */
  readonly index?: number;
}

/** A position that was transferred at its entry value. Units and value are positive. */
export interface Handed {
  /** Null: not in the record. */
  readonly market: { readonly symbol: string; readonly units: number } | null;
  /** The side of the position. Absent: not in the record. */
  readonly side?: "long" | "short";
  readonly entryUsd: number;
  /** The change of the account's collateral. */
  readonly changeUsd: number;
}

/** A record of a history that changed an account's cash. Amounts are USD, positive: received. */
export type CashRecord = Place &
  /**
   * `afterUsd`: the account's collateral after it. Absent: not in the record. `unshown`, `shown`: the state of its slot is known not
   * to show it, or to show it, whatever its collateral. `within`: it moved between accounts of one wallet.
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

/** A payment of the funding history, which names the PDA index, but not the account. */
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
/** A record in the slot of a state that may be later than that state. */
export type LooseRecord = FillRecord | FlowRecord;

export function sumOf(records: readonly CashRecord[]): number {
  return records.reduce((sum, one) => (one.kind === "flow" ? sum + one.usd : sum), 0);
}

export function isFlow({ kind }: CashRecord): boolean {
  return kind === "flow";
}
