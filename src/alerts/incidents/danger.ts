/** The rules whose alerts form incidents: those of liquidation distance, margin and loss. Pure. */

/** The concern of such a rule. `tier`: the exchange's own word for what it may do to an account. */
export type Danger = "distance" | "tier" | "margin" | "loss";

interface Reads {
  readonly scope: string;
  readonly field: string;
}

/** As much of a rule as decides it. */
export interface RuleInView {
  readonly scope: string;
  readonly reads: readonly Reads[];
  /** The expression that its levels compare; null: it has none. */
  readonly value: {
    readonly text: string;
    readonly parts?: readonly { readonly reads: readonly Reads[] }[];
  } | null;
}

/** Distances to liquidation: the smaller, the worse, 0 when it is there. */
const distances: ReadonlySet<string> = new Set([
  "position.liquidationDistance",
  "trader.adverseMoveToLiquidation",
]);

/** The fields of each danger, from the one that says most. */
const fields: readonly (readonly [Danger, ReadonlySet<string>])[] = [
  ["distance", new Set([...distances, "position.liquidationPrice"])],
  ["tier", new Set(["trader.riskTier", "trader.riskState"])],
  [
    "margin",
    new Set([
      ...["trader.marginRatio", "trader.freeCollateral", "trader.effectiveCollateral"],
      ...["trader.leverage", "position.leverage"],
    ]),
  ],
  [
    "loss",
    new Set([
      ...["position.unrealizedPnl", "trader.unrealizedPnl", "wallet.unrealizedPnl"],
      ...["wallet.pnl", "wallet.pnlToday", "wallet.lossToday", "wallet.highWaterMark"],
    ]),
  ],
];
/** A rule that looks at these is about something else, whatever it compares them with. */
const ofOthers = /^(?:stopLoss|takeProfit|hasStopLoss|hasTakeProfit|funding)/;

/** @returns null for a rule whose alerts belong into no incident */
export function dangerOf({ scope, reads, value }: RuleInView): Danger | null {
  if (scope !== "position" && scope !== "trader" && scope !== "wallet") return null;
  const compared = value?.parts?.flatMap((part) => part.reads) ?? reads;
  if (compared.some(({ field }) => ofOthers.test(field))) return null;
  const names = compared.map((one) => `${one.scope}.${one.field}`);
  return fields.find(([, of]) => names.some((name) => of.has(name)))?.[0] ?? null;
}

/** True if the value of a rule is a distance to liquidation. */
export function isDistance({ value }: RuleInView): boolean {
  return value !== null && distances.has(value.text.trim());
}
