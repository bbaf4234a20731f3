/** The needs of rules and templates beyond what is read for everybody: what nobody looks at is not asked for. */
import type { NamedFact } from "../domain/template-data.ts";
import { namedFields, type Read, type RuleSet, type WindowSpec } from "../rules/index.ts";

export interface Needs {
  /** Some rule looks at resting orders, or tells of them. */
  readonly orders: boolean;
  /** Some rule asks or tells how long orders have rested. */
  readonly orderAges: boolean;
  /** Some rule reads the profit of wallets. */
  readonly profit: boolean;
  /** Some rule reads or tells the profit of today. */
  readonly midnight: boolean;
  /** Longest period over which rules look back at events, ms; 0: not at all. */
  readonly lookBackMs: number;
  /** Some rule reads or tells how far our equity is from the exchange's. */
  readonly equityCheck: boolean;
}

function eventsMs({ path, windowMs }: WindowSpec): number {
  return path.kind !== "event" ? 0 : windowMs === "today" ? 2 * 86_400_000 : windowMs;
}

/** @param named by templates of channels */
export function needsOf(ruleSet: RuleSet, named: readonly NamedFact[] = []): Needs {
  const rules = [...ruleSet.conditions, ...ruleSet.events];
  const shown = [...rules.flatMap((rule) => rule.shows), ...namedFields(named)];
  // Templates of channels name no lists.
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
