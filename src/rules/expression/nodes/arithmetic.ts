/** Arithmetic of two sides: the unit of the result, and constant folding. */

import type { ASTNode } from "@marcbachmann/cel-js";
import type { Names } from "../names.ts";
import type { Compiling } from "../node.ts";
import { combineUnits, duration, text as textType, time, unitOf } from "../types.ts";
import { withConstant } from "./literals.ts";
import * as operators from "./operators.ts";

export function arithmetic(
  operator: operators.Arithmetic,
  node: ASTNode & { args: readonly [ASTNode, ASTNode] },
  [left, right]: readonly [Compiling, Compiling],
  text: string,
  names: Names,
): Compiling {
  const [l, r] = [left.type.kind, right.type.kind];
  if (operator === "+" && l === "text" && r === "text")
    return { type: textType, run: operators.join(left.run, right.run) };
  if (l === "list" || r === "list") return names.problem(node, "lists cannot be joined");
  if ((operator === "/" || operator === "%") && right.constant === 0)
    return names.problem(node.args[1], `${text} divides by zero`);
  const whole = l === "int" && r === "int";
  const run = operators.arithmetic(operator, left.run, right.run, whole, text);
  if (l === "time" || r === "time") return { type: l === "time" && r === "time" ? duration : time, run };
  if (l === "duration" || r === "duration") return { type: duration, run };
  if (operator === "/" && whole && typeof left.constant === "number" && typeof right.constant === "number") {
    const quotient = left.constant / right.constant;
    if (!Number.isInteger(quotient))
      return names.problem(
        node,
        `${text} is ${Math.trunc(quotient)}: whole numbers divide without a rest; write ${left.constant}.0 / ${right.constant}`,
      );
  }
  const unit = combineUnits(operator, unitOf(left.type), unitOf(right.type));
  const result: Compiling = { type: { kind: whole ? "int" : "double", unit }, run };
  if (typeof left.constant !== "number" || typeof right.constant !== "number") return result;
  // Both are constants: computed once.
  const value = run({} as never);
  return typeof value === "number" ? withConstant({ ...result, run: () => value }, value) : result;
}
