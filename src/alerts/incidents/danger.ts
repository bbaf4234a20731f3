/** The rules whose alerts form incidents: those of liquidation distance, margin and loss. Pure. */

/** The danger that such a rule is about, as used by incidents. */
export interface Danger {
  /** True if its value is a distance to liquidation: smaller is worse, 0 is liquidatable. */
  readonly isDistance: boolean;
  /** True if it uses the tier that the exchange states for the account. */
  readonly isTier: boolean;
}

interface Reads {
  readonly scope: string;
  readonly field: string;
}

/** The part of a rule that decides this. */
export interface RuleInView {
  readonly scope: string;
  readonly reads: readonly Reads[];
  /** The expression that its levels compare; null: none. */
  readonly value: {
    readonly text: string;
    readonly parts?: readonly { readonly reads: readonly Reads[] }[];
  } | null;
}

/** Distances to liquidation. */
const distances: ReadonlySet<string> = new Set([
  "position.liquidationDistance",
  "trader.adverseMoveToLiquidation",
]);

/** The tiers that the exchange states: what it may do to an account. */
const tiers: ReadonlySet<string> = new Set(["trader.riskTier", "trader.riskState"]);
const others: ReadonlySet<string> = new Set([
  "position.liquidationPrice",
  ...["trader.marginRatio", "trader.freeCollateral", "trader.effectiveCollateral"],
  ...["trader.leverage", "position.leverage"],
  ...["position.unrealizedPnl", "trader.unrealizedPnl", "wallet.unrealizedPnl"],
  ...["wallet.pnl", "wallet.pnlToday", "wallet.lossToday", "wallet.highWaterMark"],
]);
/** A rule that reads one of these is about something else, whatever it compares. */
const ofOthers = /^(?:stopLoss|takeProfit|hasStopLoss|hasTakeProfit|funding)/;

/** @returns null for a rule whose alerts belong to no incident */
export function dangerOf({ scope, reads, value }: RuleInView): Danger | null {
  if (scope !== "position" && scope !== "trader" && scope !== "wallet") return null;
  const compared = value?.parts?.flatMap((part) => part.reads) ?? reads;
  if (compared.some(({ field }) => ofOthers.test(field))) return null;
  const names = compared.map((one) => `${one.scope}.${one.field}`);
  const looksAt = (fields: ReadonlySet<string>) => names.some((name) => fields.has(name));
  const isTier = looksAt(tiers) && !looksAt(distances);
  if (!isTier && !looksAt(distances) && !looksAt(others)) return null;
  return { isTier, isDistance: value !== null && distances.has(value.text.trim()) };
}
