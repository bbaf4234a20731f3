/** The tick for a price in an expression. */

import type { ASTNode } from "@marcbachmann/cel-js";
import type { TickOf } from "../../rule.ts";
import type { Facts } from "../../value.ts";
import type { Names } from "../names.ts";

export const noTick: TickOf = () => undefined;

/** The tick of the one market that a price belongs to: another one that it names, else the subject's own. */
export function tickOf(node: ASTNode | undefined, { locals }: Names): TickOf {
  // An item of a list has a market of its own.
  if (node === undefined || locals.size > 0) return noTick;
  const symbols = marketsIn(node);
  const [symbol] = symbols;
  if (symbol === undefined) return (env) => tickIn(env.market);
  return symbols.size === 1 ? (env) => tickIn(env.markets(symbol)) : noTick;
}

function tickIn(market: Facts | undefined): number | undefined {
  const tick = market?.values.tickSize;
  return typeof tick === "number" ? tick : undefined;
}

/** The markets that are named in an expression. */
function marketsIn(node: ASTNode): Set<string> {
  const found = new Set<string>();
  const look = (part: unknown): void => {
    if (Array.isArray(part)) for (const one of part) look(one);
    if (typeof part !== "object" || part === null || !("op" in part)) return;
    const { op, args } = part as ASTNode;
    if (op === "call" && args[0] === "market") {
      const [symbol] = args[1];
      if (symbol?.op === "value" && typeof symbol.args === "string") found.add(symbol.args);
    }
    look(args);
  };
  look(node);
  return found;
}
