/** Data that rules and templates need beyond what is read for every wallet. Data that none of them uses is not requested. */
import type { NamedFact } from "../domain/alerts/template-data.ts";
import { namedFields, type Read, type RuleSet, type WindowSpec } from "../rules/index.ts";

export interface Needs {
  /** A rule reads or shows resting orders. */
  readonly orders: boolean;
  /** A rule reads or shows the age of resting orders. */
  readonly orderAges: boolean;
  /** A rule reads the profit of wallets. */
  readonly profit: boolean;
  /** A rule reads or shows the profit of today. */
  readonly midnight: boolean;
  /** Longest period over which rules look back at events, ms; 0: none does. */
  readonly lookBackMs: number;
  /** A rule reads or shows the difference between perpwatch's equity and the exchange's. */
  readonly equityCheck: boolean;
}

function eventsMs({ path, windowMs }: WindowSpec): number {
  return path.kind !== "event" ? 0 : windowMs === "today" ? 2 * 86_400_000 : windowMs;
}

/** @param named facts that templates of channels use */
export function needsOf(ruleSet: RuleSet, named: readonly NamedFact[] = []): Needs {
  const rules = [...ruleSet.conditions, ...ruleSet.events];
  const shown = [...rules.flatMap((rule) => rule.shows), ...namedFields(named)];
  // Templates of channels use no lists.
  const read = [...rules.flatMap((rule) => rule.shows), ...ruleSet.values.flatMap((value) => value.reads)];
  return {
    orders: read.some(({ scope, field }) => scope === "trader" && field === "orders"),
    orderAges: shown.some(({ awaits }) => awaits === "orders"),
    lookBackMs: Math.max(0, ...rules.flatMap(({ windows }) => windows.map(eventsMs))),
    profit: rules.some((rule) => rule.reads.some(isProfit)),
    midnight: shown.some(({ awaits }) => awaits === "portfolio"),
    equityCheck: shown.some(({ sources }) => sources.includes("portfolio")),
  };
}

const profitFields: ReadonlySet<string> = new Set(["pnl", "pnlToday", "lossToday", "highWaterMark"]);

/** True for a figure that is not exact while a change of collateral is not explained. */
export function isProfit({ scope, field }: Pick<Read, "scope" | "field">): boolean {
  return (scope === "wallet" || scope === "book") && profitFields.has(field);
}
