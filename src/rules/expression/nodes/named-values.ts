/** Named values in an expression: `value.basis`, `market("BTC").value.basis`. */
import type { ASTNode } from "@marcbachmann/cel-js";
import { nearestName } from "../../problem.ts";
import { visibleScopes } from "../../vocabulary.ts";
import { type CompileFilter, Gathered } from "../context.ts";
import { bad, type Names } from "../names.ts";
import type { Compiling } from "../node.ts";
import { notVisible } from "../not-visible.ts";
import { numberOf } from "../types.ts";
import { absence } from "./fields.ts";

/**
 * @param name name of the value
 * @param symbol symbol of another market whose value is read
 * @param compileFilter compiles the value's own expression
 */
export function namedValue(
  node: ASTNode,
  name: string,
  symbol: string | null,
  names: Names,
  compileFilter: CompileFilter,
): Compiling {
  const { gathered, naming } = names;
  const found = gathered.values.find(name);
  const path = symbol === null ? `value.${name}` : `market("${symbol}").value.${name}`;
  if (found === undefined) {
    const allowed = gathered.values.names.map((one) => `value.${one}`);
    return names.problem(node, `no value is called ${name}`, {
      allowed,
      nearest: nearestName(`value.${name}`, allowed),
    });
  }
  if (found === "wrong") {
    names.report({ start: node.start, message: `${path} is wrong`, reportedElsewhere: true });
    return bad;
  }
  if ("circle" in found) return names.problem(node, `${path} rests on itself: ${found.circle.join(" → ")}`);
  const visible = symbol === null ? naming.scopes.includes(found.scope) : found.scope === "market";
  if (!visible)
    return names.problem(
      node,
      symbol === null
        ? notVisible(path, found.scope, null, naming)
        : `${path} belongs to a ${found.scope}: no market has it`,
    );
  const own =
    symbol === null
      ? gathered
      : new Gathered(gathered.staleAfterMs, Number.POSITIVE_INFINITY, gathered.values);
  const compiled = compileFilter(
    found.text,
    "figure",
    {
      scopes: visibleScopes[found.scope],
      event: null,
      value: null,
      countable: naming.countable === null ? null : [],
    },
    own,
    ({ message }) => names.problem(node, `${path}: ${message}`),
  );
  if (compiled === undefined) return bad;
  gathered.named.set(name, found.text);
  const type = numberOf(found.kind, found.unit, found.range);
  if (symbol === null) return { type, run: compiled.run };
  if (own.windows.length > 0)
    return names.problem(node, `${path} looks back over series: name it in a rule of that market`);
  gathered.absorb(own, symbol);
  const absent = absence(path, "market", symbol);
  return {
    type,
    run: (env) => {
      const market = env.markets(symbol);
      return market === undefined ? absent(env) : compiled.run({ ...env, market });
    },
  };
}
