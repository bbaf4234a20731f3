/** Literals of an expression, and constant expressions of them. */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { FactScalar } from "../../value.ts";
import type { Names } from "../names.ts";
import type { Compiling } from "../node.ts";
import { bool, plainDouble, plainInt, text as textType } from "../types.ts";

export function literal(node: ASTNode & { op: "value" }, names: Names): Compiling {
  const value = node.args;
  switch (typeof value) {
    case "number":
      return { type: plainDouble, run: () => value, constant: value };
    case "bigint": {
      const number = Number(value);
      if (!Number.isSafeInteger(number)) return names.problem(node, `${value} is too large to be exact`);
      return { type: plainInt, run: () => number, constant: number };
    }
    case "string":
      return { type: textType, run: () => value, constant: value };
    case "boolean":
      return { type: bool, run: () => value, constant: value };
    default:
      if (value === null)
        return names.problem(node, "null is no value here: what is missing is unknown, ask has(…)");
      return names.problem(node, "only numbers, text, true and false can be written here");
  }
}

export function withConstant(node: Compiling, constant: FactScalar | undefined): Compiling {
  return constant === undefined ? node : { ...node, constant };
}
