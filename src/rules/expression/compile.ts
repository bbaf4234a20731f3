/**
 * Compiles a text to a checked closure: parse (cel-js) → walk the tree (names, enums, functions, windows; here) → check types
 * (cel-js). The walk precedes the types because it knows near names and the members of an enum; an expression is valid only if
 * neither reports a mistake.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { Compiled } from "../rule.ts";
import { checkerFor, maxExpression, type ValueType } from "./checker.ts";
import { plainMessage } from "./checker-messages.ts";
import type { ExpressionProblem, Gathered, Naming } from "./context.ts";
import { excessOf } from "./excess.ts";
import { joinNames } from "./named.ts";
import { Names } from "./names.ts";
import { tickOf } from "./nodes/tick-of.ts";
import { percentIn } from "./plausible.ts";
import { describe, type StaticType, unitOf } from "./types.ts";
import { Walk } from "./walk.ts";

export type Wanted = "condition" | "figure" | "text";

export interface Checked extends Compiled {
  readonly type: StaticType;
  readonly tree: ASTNode;
}

/**
 * @param wanted a `condition` is true or false, a `figure` a number or a duration, a `text` anything that can be printed
 * @param report called for every mistake; positions are offsets into the text
 * @param value for a condition: the tree of the rule's value
 * @returns undefined if there was a mistake
 */
export function compileExpression(
  text: string,
  wanted: Wanted,
  naming: Naming,
  gathered: Gathered,
  onProblem: (problem: ExpressionProblem) => void,
  value?: ASTNode,
): Checked | undefined {
  if (text.length > maxExpression) {
    onProblem({
      start: 0,
      message: `the expression is ${text.length} characters long; at most ${maxExpression} are taken`,
    });
    return undefined;
  }
  const joined = joinNames(text);
  const checker = checkerFor(naming, typesOf(joined.named, gathered));
  let failed = false;
  const report = (problem: ExpressionProblem) => {
    if (!problem.warning) failed = true;
    if (!problem.reportedElsewhere) onProblem(problem);
  };
  let parsed: ReturnType<typeof checker.parse>;
  try {
    parsed = checker.parse(joined.text);
  } catch (error) {
    report(percentIn(text) ?? fromCel(error, text));
    return undefined;
  }
  // Texts test for an infinite figure with a number far above all plausible ones.
  const checksRanges = wanted !== "text";
  const names = new Names(naming, gathered, report);
  const walk = new Walk(text, names, compileExpression, checksRanges);
  const node = walk.compile(parsed.ast);
  if (failed) return undefined;
  const types = parsed.check();
  if (!types.valid) {
    report(fromCel(types.error, text));
    return undefined;
  }
  const found = describe(node.type);
  if (wanted === "condition" && node.type.kind !== "bool")
    report({ start: 0, message: `a condition must be true or false, this is ${found}` });
  if (wanted === "figure" && !["double", "int", "duration"].includes(node.type.kind))
    report({ start: 0, message: `a value must be a number or a duration, this is ${found}` });
  if (wanted === "text" && !["double", "int", "duration", "time", "text", "bool"].includes(node.type.kind))
    report({ start: 0, message: `${found} cannot be printed` });
  if (failed) return undefined;
  const { type, run, bound, sufficient = [] } = node;
  const excess =
    wanted === "condition" ? excessOf(parsed.ast, (one) => walk.made.get(one), value) : undefined;
  return {
    text,
    unit: unitOf(type),
    ...(type.kind === "text" && type.members !== null ? { isWord: true } : {}),
    run,
    type,
    tree: parsed.ast,
    parts: walk.parts,
    ...(unitOf(type) === "price" ? { tick: tickOf(parsed.ast, names) } : {}),
    ...(bound === undefined ? {} : { bound }),
    ...(sufficient.length === 0 ? {} : { sufficient }),
    ...(excess === undefined ? {} : { excess }),
  };
}

/** The types of the named values in a text; those with a mistake count as some number, so that other mistakes are reported too. */
function typesOf(named: readonly string[], gathered: Gathered): readonly ValueType[] {
  return named.map((name) => {
    const found = gathered.values.find(name);
    const known = typeof found === "object" && "kind" in found ? found : undefined;
    return { name, kind: known?.kind ?? "double", ofMarket: known === undefined || known.scope === "market" };
  });
}

/** Converts an error of the checker to a mistake in the terms of this language. */
function fromCel(error: unknown, text: string): ExpressionProblem {
  const { summary, message, range } = error as {
    summary?: string;
    message?: string;
    range?: { start: number };
  };
  const plain = plainMessage((summary ?? message ?? String(error)).split("\n")[0]!);
  return { start: Math.min(range?.start ?? 0, text.length), message: plain };
}
