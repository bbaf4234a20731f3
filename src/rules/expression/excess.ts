/**
 * The excess of a condition over its limit: a number that grows as the rule's value gets worse. It is the difference of the two
 * sides of a comparison, the larger one of two alternatives, the smaller one of two that both have to hold. It is derived from the
 * tree. A condition without a direction of the value (`value != 0.0`, a band between two limits) has none.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { Env } from "../value.ts";
import { namedPrefix } from "./named.ts";
import type { Compiling } from "./node.ts";

/** @returns NaN if another input is unknown, or if the value does not decide now */
export type Excess = (env: Env) => number;

/** 1: grows with the value; -1: falls with it; 0: neither, or not known. */
type Slope = -1 | 0 | 1;

/** A number, or the excess of a condition over its limit. */
interface Figure {
  readonly at: Excess;
  readonly slope: Slope;
  /** True if it depends on the value. */
  readonly reads: boolean;
}

/** A condition that does not depend on the value: 1 holds, 0 does not hold, NaN unknown. */
interface Gate {
  readonly holds: Excess;
}

type Part = Figure | Gate | undefined;

type Made = (node: ASTNode) => Compiling | undefined;

export const higherIsWorse: Excess = ({ value }) => (typeof value === "number" ? value : Number.NaN);
export const lowerIsWorse: Excess = (env) => -higherIsWorse(env);
export const farFromZeroIsWorse: Excess = (env) => Math.abs(higherIsWorse(env));

/**
 * The excess of a condition that reads the rule's value: by its name, as a repetition of its expression, or as a figure that the
 * value follows (`market.markPrice > 110.0`, where the value is its distance from 100).
 *
 * @param made compiled nodes of the condition's tree
 * @param value the tree of the rule's value
 */
export function excessOf(condition: ASTNode, made: Made, value: ASTNode | undefined): Excess | undefined {
  const key = value === undefined ? undefined : keyOf(value);
  const isValue = (node: ASTNode): boolean =>
    (node.op === "id" && node.args === "value") || (key !== undefined && keyOf(node) === key);
  const part = new Derivation(isValue, made).condition(condition, true);
  if (part === undefined || !("holds" in part)) return part?.at;
  if (value === undefined) return undefined;
  const slopes = sharedFigures(condition, value).flatMap((figure) => slopeBy(figure, condition, value) ?? []);
  const [slope, ...others] = new Set(slopes);
  if (others.length > 0) return undefined;
  return slope === 1 ? higherIsWorse : slope === -1 ? lowerIsWorse : undefined;
}

/**
 * The direction in which the value gets worse, if the condition depends on a figure that the value follows.
 * @returns undefined if the condition does not depend on it in one direction
 */
function slopeBy(figure: string, condition: ASTNode, value: ASTNode): Slope | undefined {
  const derivation = new Derivation(
    (node) => keyOf(node) === figure,
    () => undefined,
  );
  const part = derivation.condition(condition, true);
  if (part === undefined || "holds" in part) return undefined;
  return times(part.slope, derivation.figure(value)?.slope ?? 0);
}

/** The keys of the largest parts of a condition that the value's expression contains too. */
function sharedFigures(condition: ASTNode, value: ASTNode): string[] {
  const inValue = new Set<string>();
  eachNode(value, (node) => {
    if (isFigure(node)) inValue.add(keyOf(node));
    return true;
  });
  const shared: string[] = [];
  eachNode(condition, (node) => {
    const key = keyOf(node);
    if (!inValue.has(key)) return true;
    shared.push(key);
    return false;
  });
  return shared;
}

/** False for literal numbers, and for names of scopes, loop items and the time. */
function isFigure({ op, args }: ASTNode): boolean {
  return op === "id" ? args.startsWith(namedPrefix) : op !== "value";
}

class Derivation {
  readonly #isValue: (node: ASTNode) => boolean;
  readonly #made: Made;

  /** @param isValue true for a node that stands for the rule's value */
  constructor(isValue: (node: ASTNode) => boolean, made: Made) {
    this.#isValue = isValue;
    this.#made = made;
  }

  /**
   * @param positive false: of its negation
   * @returns undefined if the value has no direction in it
   */
  condition(node: ASTNode, positive: boolean): Part {
    if (!this.#reads(node)) return this.#gate(node, positive);
    switch (node.op) {
      case "<":
      case "<=":
      case ">":
      case ">=": {
        const [left, right] = [this.figure(node.args[0]), this.figure(node.args[1])];
        if (!left || !right) return undefined;
        return (node.op[0] === ">") === positive ? plus(left, negated(right)) : plus(right, negated(left));
      }
      case "!_":
        return this.condition(node.args, !positive);
      case "&&":
      case "||": {
        const [left, right] = node.args.map((side) => this.condition(side, positive));
        return (node.op === "&&") === positive ? both(left, right) : either(left, right);
      }
      case "?:": {
        const [test, yes, no] = node.args;
        return either(
          both(this.condition(test, true), this.condition(yes, positive)),
          both(this.condition(test, false), this.condition(no, positive)),
        );
      }
      case "rcall":
        return this.#quantified(node, positive);
      default:
        return undefined;
    }
  }

  /** @returns undefined for anything but arithmetic that is continuous in the value */
  figure(node: ASTNode): Figure | undefined {
    if (this.#isValue(node)) return { at: higherIsWorse, slope: 1, reads: true };
    if (!this.#reads(node)) {
      const run = this.#made(node)?.run;
      return { at: (env) => asNumber(run?.(env)), slope: 0, reads: false };
    }
    switch (node.op) {
      case "-_": {
        const of = this.figure(node.args);
        return of && negated(of);
      }
      case "+":
      case "-":
      case "*":
      case "/":
        return this.#arithmetic(node.op, node.args);
      case "call":
        return this.#call(node.args[0], node.args[1]);
      case "?:": {
        const [test, yes, no] = [node.args[0], this.figure(node.args[1]), this.figure(node.args[2])];
        if (this.#reads(test) || !yes || !no) return undefined;
        const { holds } = this.#gate(test, true);
        return {
          at: (env) => {
            const chosen = holds(env);
            return chosen === 1 ? yes.at(env) : chosen === 0 ? no.at(env) : Number.NaN;
          },
          slope: commonSlope(yes, no),
          reads: true,
        };
      }
      default:
        return undefined;
    }
  }

  #arithmetic(op: "+" | "-" | "*" | "/", [first, second]: readonly [ASTNode, ASTNode]): Figure | undefined {
    const [left, right] = [this.figure(first), this.figure(second)];
    if (!left || !right) return undefined;
    switch (op) {
      case "+":
        return plus(left, right);
      case "-":
        return plus(left, negated(right));
      case "*":
        return {
          at: (env) => left.at(env) * right.at(env),
          slope: times(left.slope, signOf(second)) || times(right.slope, signOf(first)),
          reads: true,
        };
      case "/":
        return {
          at: (env) => left.at(env) / right.at(env),
          slope: times(left.slope, signOf(second)),
          reads: true,
        };
    }
  }

  #call(name: string, args: readonly ASTNode[]): Figure | undefined {
    const [list] = args;
    if (args.length === 1 && list?.op === "rcall")
      return ["min", "max", "sum"].includes(name) ? this.#overItems(list) : undefined;
    const [first, second] = args.map((arg) => this.figure(arg));
    if (!first || (args.length > 1 && !second)) return undefined;
    switch (name) {
      // Rounding to whole numbers counts as a slope.
      case "double":
      case "int":
        return first;
      case "abs":
        return { at: (env) => Math.abs(first.at(env)), slope: 0, reads: true };
      case "min":
      case "max": {
        if (!second) return undefined;
        const pick = name === "min" ? Math.min : Math.max;
        return {
          at: (env) => pick(first.at(env), second.at(env)),
          slope: commonSlope(first, second),
          reads: true,
        };
      }
      default:
        return undefined;
    }
  }

  /** The minimum, maximum or sum of a number of each item (`map`). Only its slope is derived. */
  #overItems({ args: [name, receiver, args] }: ASTNode & { op: "rcall" }): Figure | undefined {
    const body = args.at(-1);
    if (name !== "map" || body === undefined) return undefined;
    if ([receiver, ...args.slice(0, -1)].some((part) => this.#reads(part))) return undefined;
    const figure = this.figure(body);
    return figure && { ...figure, at: () => Number.NaN };
  }

  #quantified(node: ASTNode & { op: "rcall" }, positive: boolean): Part {
    const [name, receiver, args] = node.args;
    const body = args[1];
    if ((name !== "exists" && name !== "all") || body === undefined) return undefined;
    if (this.#reads(receiver)) return undefined;
    const one = this.condition(body, positive);
    if (one === undefined || "holds" in one) return undefined;
    const exists = (name === "exists") === positive;
    if (!exists && one.slope === 0) return undefined;
    const { list, cell } = this.#made(node)?.loop ?? {};
    return {
      slope: one.slope,
      reads: true,
      at: (env) => {
        const items = list?.(env);
        if (cell === undefined || !Array.isArray(items)) return Number.NaN;
        let found = Number.NaN;
        for (const item of items) {
          cell.item = item;
          const excess = one.at(env);
          if (!exists && Number.isNaN(excess)) return excess;
          found = exists ? larger(found, excess) : smaller(found, excess);
        }
        return found;
      },
    };
  }

  #gate(node: ASTNode, positive: boolean): Gate {
    const run = this.#made(node)?.run;
    return {
      holds: (env) => {
        const answer = run?.(env);
        return typeof answer === "boolean" ? Number(answer === positive) : Number.NaN;
      },
    };
  }

  #reads(node: ASTNode): boolean {
    let found = false;
    eachNode(node, (one) => {
      found ||= this.#isValue(one);
      return !found;
    });
    return found;
  }
}

/** Both have to hold. If the value moves the two in opposite directions (a band), the direction is unknown. */
function both(left: Part, right: Part): Part {
  if (left === undefined || right === undefined) return figureOf(left ?? right);
  if ("holds" in left) return "holds" in right ? undefined : gated(left, right);
  if ("holds" in right) return gated(right, left);
  if (left.slope === 0 || left.slope !== right.slope) return undefined;
  return { at: (env) => Math.min(left.at(env), right.at(env)), slope: left.slope, reads: true };
}

function either(left: Part, right: Part): Part {
  const [l, r] = [figureOf(left), figureOf(right)];
  if (!l || !r) return l ?? r;
  return { at: (env) => larger(l.at(env), r.at(env)), slope: commonSlope(l, r), reads: true };
}

function figureOf(part: Part): Figure | undefined {
  return part === undefined || "holds" in part ? undefined : part;
}

/** Infinitely far from its limit while the gate does not hold. */
function gated({ holds }: Gate, figure: Figure): Figure {
  return {
    ...figure,
    at: (env) => {
      const open = holds(env);
      return open === 1 ? figure.at(env) : open === 0 ? Number.NEGATIVE_INFINITY : Number.NaN;
    },
  };
}

function plus(left: Figure, right: Figure): Figure {
  return {
    at: (env) => left.at(env) + right.at(env),
    slope: commonSlope(left, right),
    reads: left.reads || right.reads,
  };
}

function negated(figure: Figure): Figure {
  return { ...figure, at: (env) => -figure.at(env), slope: times(figure.slope, -1) };
}

function commonSlope(left: Figure, right: Figure): Slope {
  if (!left.reads) return right.slope;
  if (!right.reads) return left.slope;
  return left.slope === right.slope ? left.slope : 0;
}

function times(slope: Slope, sign: Slope): Slope {
  return slope === 0 || sign === 0 ? 0 : slope === sign ? 1 : -1;
}

/** The sign of a literal number; 0 for anything else. */
function signOf(node: ASTNode): Slope {
  if (node.op === "-_") return times(signOf(node.args), -1);
  if (node.op !== "value" || !["number", "bigint"].includes(typeof node.args)) return 0;
  const number = Number(node.args);
  return number > 0 ? 1 : number < 0 ? -1 : 0;
}

/** The larger one; if one is NaN, the other. */
function larger(left: number, right: number): number {
  return Number.isNaN(left) || right > left ? right : left;
}

function smaller(left: number, right: number): number {
  return Number.isNaN(left) || right < left ? right : left;
}

function asNumber(value: unknown): number {
  return typeof value === "number" ? value : Number.NaN;
}

/** @param visit returns true to visit the parts of a node as well */
function eachNode(part: unknown, visit: (node: ASTNode) => boolean): void {
  if (Array.isArray(part)) for (const one of part) eachNode(one, visit);
  else if (isNode(part) && visit(part) && part.op !== "value") eachNode(part.args, visit);
}

/** Equal for two trees of the same text, apart from spaces and parentheses. */
function keyOf(part: unknown): string {
  if (Array.isArray(part)) return `[${part.map(keyOf).join(",")}]`;
  return isNode(part) ? `(${part.op} ${keyOf(part.args)})` : `${typeof part}:${JSON.stringify(String(part))}`;
}

function isNode(part: unknown): part is ASTNode {
  return typeof part === "object" && part !== null && "op" in part && "args" in part;
}
