/** The functions `depositTo` and `reduceTo`, whose condition is evaluated for hypothetical accounts. */
import type { ASTNode } from "@marcbachmann/cel-js";
import { Unknown } from "../../value.ts";
import { bad, type Names } from "../names.ts";
import type { Compiling } from "../node.ts";
import { sliceOf } from "./tree-text.ts";

/** Matches the rule's value and named values, which are computed beforehand. */
const namesOwnValue = /(?<![.\w])value\b/;

/** The condition of a call; null: it cannot be evaluated for hypothetical accounts, which is reported. @param loops enclosing loops */
export function supposedCondition(
  node: ASTNode,
  name: string,
  argument: ASTNode | undefined,
  { text, names, loops }: { readonly text: string; readonly names: Names; readonly loops: number },
): ASTNode | null {
  const { scopes, event, owners } = names.naming;
  const scope = name === "reduceTo" ? "position" : "trader";
  if (owners !== undefined || event !== null || !scopes.includes(scope))
    names.problem(
      node,
      scope === "position"
        ? "reduceTo belongs to rules of scope position"
        : "depositTo belongs to rules of scope position or trader",
    );
  else if (loops > 0) names.problem(node, `${name} stands in no loop: it would cost too much`);
  else if (argument === undefined) names.problem(node, `${name} takes a condition`);
  else if (namesOwnValue.test(sliceOf(text, argument)))
    names.problem(argument, `value is as it is now: write out in ${name} what it is made of`);
  else return argument;
  return null;
}

/** The least amount with which a condition holds. */
export function supposing(name: string, condition: Compiling): Compiling {
  if (condition.type.kind === "wrong") return bad;
  const absent = new Unknown("absent", null, `${name} has no account to suppose something of`);
  return name === "depositTo"
    ? {
        type: { kind: "double", unit: "usd" },
        run: (env) => env.suppose?.deposit(env, condition.run) ?? absent,
      }
    : {
        type: { kind: "double", unit: "units" },
        run: (env) => env.suppose?.reduce(env, condition.run) ?? absent,
      };
}
