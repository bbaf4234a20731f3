/** Questions about accounts as they would be, and their answers. */
import type { Severity } from "./alerts/alert.ts";

/** A question as a person writes it. */
export interface WhatIfQuestion {
  readonly wallet: string;
  /** `0.1`: the account of a deposit, and of what is closed. Null: the only one that it can be. */
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
  /** Rules about the account and its positions of which a level holds before or after. */
  readonly rules: readonly WhatIfRule[];
  /** The least with which none of its rules about margin fires then; null: none does, or that is not known. */
  readonly clear: ClearAmounts | null;
  /** The account at further adverse prices, the nearest first. */
  readonly ladder: readonly Rung[];
}

/** Figures by the names that rules know; absent where one is not known, null: there is no such price. */
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
  /** The notional that the order book takes near its middle, USD, where that is less; null: it takes all, or is not known. */
  readonly bookUsd: number | null;
}

/** The kinds of actions that clear an account. `transfer`: of free collateral from another account of the wallet. */
export const clearings = ["transfer", "reduce", "deposit"] as const;
export type Clearing = (typeof clearings)[number];

/** Amounts of which each alone is enough. Each has, where none is offered, the reason, for people; null: nothing stands in its way. */
export interface EnoughAmounts {
  /** From an account that stays clear itself, with the same headroom; null: none can spare it. */
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
    /** The other legs of its pair, in other accounts, which have to be reduced as well: with all of it, where that is not enough. */
    readonly along: readonly (ClearingTrade & { readonly account: string })[];
    readonly obstacle: string | null;
  }[];
}

export interface ClearAmounts extends EnoughAmounts {
  /** The kinds that are advised, the one that does the least harm first. */
  readonly order: readonly Clearing[];
  /** With these nothing is critical any more, at these marks; null: nothing is. */
  readonly critical: EnoughAmounts | null;
  /** The marks up to which the account stays clear, all of them together. */
  readonly upTo: readonly {
    readonly symbol: string;
    readonly direction: "down" | "up";
    readonly usd: number;
  }[];
}

export interface WhatIfRule {
  readonly rule: string;
  readonly subject: string;
  /** The level at which it fires now; null: it does not. */
  readonly firing: Severity | null;
  /** The level that holds now, whether it has lasted for `for` or not. Null: none does, or that is not known. */
  readonly before: Severity | null;
  /** Null: no level of it would hold. `unknown`: it cannot be judged. `gone`: its subject is. */
  readonly after: Severity | null | "unknown" | "gone";
  /** The time for which each of these levels has to hold on until it fires, ms; 0: it fires, or would at once. Null: there is no level. */
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
