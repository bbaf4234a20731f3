/** Questions about hypothetical states of accounts, and their answers. */
import type { Severity } from "./alerts/alert.ts";

/** A question as a person writes it. */
export interface WhatIfQuestion {
  readonly wallet: string;
  /** `0.1`: the account of a deposit, or of what is closed. Null: the only possible one. */
  readonly account: string | null;
  /** `SOL=-10%`, `BTC=58000`. */
  readonly prices: readonly string[];
  /** USD; negative: a withdrawal. */
  readonly depositUsd: number;
  /** `ETH`: all of it; `ETH=50%`; `ETH=1.5`: units. */
  readonly closes: readonly string[];
}

export type WhatIfOutcome =
  | { readonly kind: "done"; readonly answer: WhatIfAnswer }
  | { readonly kind: "wrong"; readonly problem: string }
  | { readonly kind: "noWallet" }
  /** Accounts or prices were not read yet. */
  | { readonly kind: "unread"; readonly problem: string };

export interface WhatIfAnswer {
  readonly wallet: string;
  readonly atMs: number;
  readonly accounts: readonly WhatIfAccount[];
}

export interface WhatIfAccount {
  readonly name: string;
  /** The time of the older of its state and the marks, ms; null: not known. */
  readonly seenMs: number | null;
  /** The changes that the question makes to it, for people. */
  readonly changes: readonly string[];
  readonly before: AccountOutlook;
  readonly after: AccountOutlook;
  /** Rules about the account and its positions with a level that holds before or after. */
  readonly rules: readonly WhatIfRule[];
  /** The least amounts with which none of its margin rules fires then; null: none fires, or it is not known. */
  readonly clear: ClearAmounts | null;
  /** The account at further adverse prices, the nearest first. */
  readonly ladder: readonly Rung[];
}

/** Figures by their names in the rule language; absent: not known, null: there is no such price. */
type Figures = Readonly<Record<string, number | null>>;

export interface AccountOutlook {
  readonly riskTier: string | null;
  readonly figures: Figures;
  readonly positions: readonly {
    readonly symbol: string;
    readonly side: string;
    readonly figures: Figures;
  }[];
}

/** A trade that makes a position smaller. */
export interface ClearingTrade {
  readonly trade: "buy" | "sell";
  readonly units: number;
  /** The notional that the order book takes near its middle, USD, if that is less; null: it takes all, or it is not known. */
  readonly bookUsd: number | null;
}

/** The kinds of actions that clear an account. `transfer`: of free collateral from another account of the wallet. */
export const clearings = ["transfer", "reduce", "deposit"] as const;
export type Clearing = (typeof clearings)[number];

/** Amounts that are each sufficient alone. If none is offered, the reason, for people; null: there is no obstacle. */
export interface EnoughAmounts {
  /** The source of a transfer: an account that stays clear itself, with the same headroom; null: there is none. */
  readonly transfer: { readonly from: string; readonly usd: number } | null;
  readonly deposit: {
    /** Null: no amount is enough. */
    readonly usd: number | null;
    readonly obstacle: string | null;
  };
  /** One for each of the largest positions. */
  readonly reductions: readonly {
    readonly symbol: string;
    /** Null: closing all of it is not enough. */
    readonly least: ClearingTrade | null;
    /** The other legs of its pair, in other accounts, which have to be reduced as well; if closing all of it is not enough, the legs of all of it. */
    readonly along: readonly (ClearingTrade & { readonly account: string })[];
    readonly obstacle: string | null;
  }[];
}

export interface ClearAmounts extends EnoughAmounts {
  /** The advised kinds, the least harmful first. */
  readonly order: readonly Clearing[];
  /** The amounts with which nothing is critical at these marks; null: nothing is critical. */
  readonly critical: EnoughAmounts | null;
  /** The marks, moved together, up to which the account stays clear. */
  readonly upTo: readonly {
    readonly symbol: string;
    readonly direction: "down" | "up";
    readonly usd: number;
  }[];
}

export interface WhatIfRule {
  readonly rule: string;
  readonly subject: string;
  /** The level at which it fires now; null: it does not fire. */
  readonly firing: Severity | null;
  /** The level that holds now, even if not yet for the time `for`. Null: none holds, or it is not known. */
  readonly before: Severity | null;
  /** Null: no level of it would hold. `unknown`: it cannot be judged. `gone`: its subject no longer exists. */
  readonly after: Severity | null | "unknown" | "gone";
  /** The remaining time for which each of these levels has to hold until it fires, ms; 0: it fires, or would at once. Null: no level. */
  readonly firesInMs: { readonly before: number | null; readonly after: number | null };
}

export interface Rung {
  /** The move of every mark against its own position, a fraction. */
  readonly move: number;
  /** Marks there, USD, by symbol. */
  readonly marks: Readonly<Record<string, number>>;
  readonly riskTier: string | null;
  readonly figures: Figures;
  readonly worst: Severity | null;
}
