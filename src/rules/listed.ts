/** Compares the markets that rules name with those that the exchange lists. */
import { nearestName } from "../domain/text/nearest.ts";
import type { RuleSet } from "./rule.ts";

/** A rule that names a market that the exchange does not list. */
export interface UnlistedSymbol {
  readonly rule: string;
  readonly file: string;
  readonly line: number;
  readonly symbol: string;
  /** The nearest known name, if any. */
  readonly nearest: string | null;
}

/** @param listed the exchange's markets, as it writes them   @returns each rule and symbol once, in the rules' order */
export function unlistedSymbols(ruleSet: RuleSet, listed: readonly string[]): readonly UnlistedSymbol[] {
  const known = new Set(listed.map((symbol) => symbol.toUpperCase()));
  return [...ruleSet.conditions, ...ruleSet.events].flatMap(({ name: rule, select, reads, file, line }) => {
    const named = new Set([
      ...(select.symbol ?? []),
      ...reads.flatMap(({ symbol }) => (symbol === null ? [] : [symbol])),
    ]);
    return [...named]
      .filter((symbol) => !known.has(symbol.toUpperCase()))
      .map((symbol) => ({ rule, file, line, symbol, nearest: nearestName(symbol, listed) }));
  });
}
