/** Comparisons of two sides, with reports of those that can never be true or make no sense. */

import type { ASTNode } from "@marcbachmann/cel-js";
import { nearestName } from "../../problem.ts";
import type { Bound } from "../../rule.ts";
import { bad, type Names } from "../names.ts";
import type { Compiling } from "../node.ts";
import { implausible } from "../plausible.ts";
import { bool, describe, type StaticType } from "../types.ts";
import * as operators from "./operators.ts";
import { sliceOf } from "./tree-text.ts";

export class Comparisons {
  readonly #text: string;
  readonly #names: Names;
  readonly #checksRanges: boolean;

  /** @param checksRanges true: warns of comparisons with implausible numbers */
  constructor(text: string, names: Names, checksRanges: boolean) {
    this.#text = text;
    this.#names = names;
    this.#checksRanges = checksRanges;
  }

  equal(node: ASTNode & { op: "==" | "!=" }, left: Compiling, right: Compiling): Compiling {
    this.checkMember(left.type, right, node.args[1]);
    this.checkMember(right.type, left, node.args[0]);
    for (const side of [left, right])
      if (["list", "map", "record"].includes(side.type.kind))
        this.#names.problem(
          node,
          `${describe(side.type)} cannot be compared; compare its fields or its size`,
        );
    if (this.#differ(left, right, node.args[1])) return bad;
    this.#checkRange(node.args, left, right);
    return { type: bool, run: operators.equal(left.run, right.run, node.op === "==") };
  }

  order(node: ASTNode & { op: Bound["operator"] }, left: Compiling, right: Compiling): Compiling {
    if (left.type.kind === "bool" || right.type.kind === "bool")
      return this.#names.problem(node, "true and false have no order: compare them with == or !=");
    if (this.#differ(left, right, node.args[1])) return bad;
    this.#checkRange(node.args, left, right);
    const run =
      typeof right.constant === "number"
        ? operators.compareWithConstant(node.op, left.run, right.constant)
        : operators.compare(node.op, left.run, right.run);
    const bound = boundOf(node.op, node.args, [left, right], this.#text);
    return bound === undefined ? { type: bool, run } : { type: bool, run, bound, sufficient: [bound] };
  }

  /** Reports a literal that is not a member of the enum it is compared with: the comparison would never be true. */
  checkMember(type: StaticType, other: Compiling, node: ASTNode): void {
    if (type.kind !== "text" || type.members === null || typeof other.constant !== "string") return;
    if (type.members.includes(other.constant)) return;
    this.#names.report({
      start: node.start,
      message: type.open
        ? `"${other.constant}" is no word that is known here; it will match only if the exchange uses it`
        : `"${other.constant}" can never be equal to this`,
      allowed: type.members.map((member) => `"${member}"`),
      nearest: nearestName(other.constant, type.members),
      warning: type.open,
    });
  }

  /** Reports two sides of different types, at the second. */
  #differ(left: Compiling, right: Compiling, node: ASTNode): boolean {
    const [l, r] = [comparedAs[left.type.kind], comparedAs[right.type.kind]];
    if (l === undefined || r === undefined || l === r) return false;
    const lasts = [left, right].some((side) => side.type.kind === "duration");
    const hint = lasts && (l === "number" || r === "number") ? ': a duration is written duration("30s")' : "";
    this.#names.problem(
      node,
      `${describe(left.type)} cannot be compared with ${describe(right.type)}${hint}`,
    );
    return true;
  }

  /** Warns of a comparison with an implausible number, at that number. */
  #checkRange([leftNode, rightNode]: readonly [ASTNode, ASTNode], left: Compiling, right: Compiling): void {
    if (!this.#checksRanges) return;
    const check = (node: ASTNode, { type }: Compiling, at: ASTNode, { constant }: Compiling): void => {
      const found =
        typeof constant === "number" ? implausible(sliceOf(this.#text, node), type, constant) : null;
      if (found !== null) this.#names.report({ start: at.start, ...found, warning: true });
    };
    check(leftNode, left, rightNode, right);
    check(rightNode, right, leftNode, left);
  }
}

/** The type groups whose members can be compared with each other. */
const comparedAs: Partial<Record<StaticType["kind"], string>> = {
  double: "number",
  int: "number",
  bool: "bool",
  text: "text",
  duration: "duration",
  time: "time",
};

const turned = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" } as const;

/** A comparison with a literal number, with the number on the right. */
function boundOf(
  operator: Bound["operator"],
  [left, right]: readonly [ASTNode, ASTNode],
  [l, r]: readonly [Compiling, Compiling],
  text: string,
): Bound | undefined {
  const of = (node: ASTNode) => sliceOf(text, node);
  if (typeof r.constant === "number" && l.constant === undefined)
    return { of: of(left), operator, limit: r.constant };
  if (typeof l.constant === "number" && r.constant === undefined)
    return { of: of(right), operator: turned[operator], limit: l.constant };
  return undefined;
}
