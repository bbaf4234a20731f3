/**
 * The excess of a condition over its limit, a number that grows as `value` gets worse: the difference of the two sides of
 * a comparison, the larger of two alternatives, the smaller of two that both have to hold. Derived from the tree; of a
 * condition in which `value` has no direction (`value == 3.0`, a band between two limits) there is none.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { Env } from "../value.ts";
import type { Compiling } from "./node.ts";

/** @returns NaN where something else that it reads is unknown */
export type Excess = (env: Env) => number;

const ruleValue: Excess = ({ value }) => (typeof value === "number" ? value : Number.NaN);

/**
 * The excess of a whole condition. One that does not read `value` speaks of a figure that moves with it: the value counts
 * in the direction of the condition's first comparison.
 */
export function conditionExcess(
  node: ASTNode,
  madeOf: (node: ASTNode) => Compiling | undefined,
): Excess | undefined {
  if (readsValue(node)) return excessOf(node, madeOf);
  const first = firstComparison(node);
  if (first === null) return undefined;
  return first === ">" ? ruleValue : (env) => -ruleValue(env);
}

function firstComparison(node: unknown): ">" | "<" | null {
  if (Array.isArray(node)) {
    for (const one of node) {
      const found = firstComparison(one);
      if (found !== null) return found;
    }
    return null;
  }
  if (typeof node !== "object" || node === null || !("op" in node) || !("args" in node)) return null;
  const { op, args } = node as { op: string; args: unknown };
  if (op === ">" || op === ">=") return ">";
  if (op === "<" || op === "<=") return "<";
  return op === "value" ? null : firstComparison(args);
}

/** In these `value` may stand: a small change of it is a small change of the result. */
const continuous: ReadonlySet<string> = new Set(["abs", "min", "max", "double"]);
const measured: ReadonlySet<string> = new Set(["double", "int", "duration"]);

/** @param madeOf what a node of the tree was compiled to */
function excessOf(node: ASTNode, madeOf: (node: ASTNode) => Compiling | undefined): Excess | undefined {
  switch (node.op) {
    case "<":
    case "<=":
    case ">":
    case ">=": {
      const [left, right] = node.args;
      if (!readsValue(node) || !isContinuous(left) || !isContinuous(right)) return undefined;
      const [l, r] = [madeOf(left), madeOf(right)];
      if (!l || !r || !measured.has(l.type.kind) || !measured.has(r.type.kind)) return undefined;
      const [more, less] = node.op[0] === ">" ? [l.run, r.run] : [r.run, l.run];
      return (env) => {
        const [a, b] = [more(env), less(env)];
        return typeof a === "number" && typeof b === "number" ? a - b : Number.NaN;
      };
    }
    case "!_": {
      const inner = excessOf(node.args, madeOf);
      return inner && ((env) => -inner(env));
    }
    case "&&":
    case "||": {
      const [left, right] = node.args;
      const [l, r] = [excessOf(left, madeOf), excessOf(right, madeOf)];
      if (!readsValue(right)) return l;
      if (!readsValue(left)) return r;
      if (!l || !r) return l ?? r;
      if (node.op === "||") return (env) => Math.max(l(env), r(env));
      const direction = directionOf(left);
      if (direction === 0 || direction !== directionOf(right)) return undefined;
      return (env) => Math.min(l(env), r(env));
    }
    default:
      return undefined;
  }
}

/** 1: holds the more, the larger `value` is; -1: the smaller; 0: neither. */
function directionOf(node: ASTNode): -1 | 0 | 1 {
  switch (node.op) {
    case "<":
    case "<=":
      return turned(directionOf2(node.args));
    case ">":
    case ">=":
      return directionOf2(node.args);
    case "!_":
      return turned(directionOf(node.args));
    case "&&":
    case "||": {
      const [left, right] = node.args;
      if (!readsValue(right)) return directionOf(left);
      if (!readsValue(left)) return directionOf(right);
      const direction = directionOf(left);
      return direction === directionOf(right) ? direction : 0;
    }
    default:
      return 0;
  }
}

/** Of the first less the second. */
function directionOf2([left, right]: readonly [ASTNode, ASTNode]): -1 | 0 | 1 {
  if (!readsValue(right)) return slopeOf(left);
  if (!readsValue(left)) return turned(slopeOf(right));
  const slope = slopeOf(left);
  return slope === turned(slopeOf(right)) ? slope : 0;
}

function slopeOf(node: ASTNode): -1 | 0 | 1 {
  switch (node.op) {
    case "id":
      return node.args === "value" ? 1 : 0;
    case "-_":
      return turned(slopeOf(node.args));
    case "+": {
      const [left, right] = node.args;
      if (!readsValue(right)) return slopeOf(left);
      if (!readsValue(left)) return slopeOf(right);
      const slope = slopeOf(left);
      return slope === slopeOf(right) ? slope : 0;
    }
    case "-":
      return directionOf2(node.args);
    case "*":
    case "/": {
      const [left, right] = node.args;
      if (isPositive(right)) return slopeOf(left);
      return node.op === "*" && isPositive(left) ? slopeOf(right) : 0;
    }
    default:
      return 0;
  }
}

function turned(direction: -1 | 0 | 1): -1 | 0 | 1 {
  return direction === 0 ? 0 : direction === 1 ? -1 : 1;
}

function isPositive(node: ASTNode): boolean {
  return node.op === "value" && ["number", "bigint"].includes(typeof node.args) && Number(node.args) > 0;
}

function isContinuous(node: ASTNode): boolean {
  if (!readsValue(node)) return true;
  switch (node.op) {
    case "id":
      return true;
    case "-_":
      return isContinuous(node.args);
    case "+":
    case "-":
    case "*":
    case "/":
      return node.args.every(isContinuous);
    case "call":
      return continuous.has(node.args[0]) && node.args[1].every(isContinuous);
    default:
      return false;
  }
}

function readsValue(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(readsValue);
  if (typeof node !== "object" || node === null || !("op" in node) || !("args" in node)) return false;
  const { op, args } = node as { op: string; args: unknown };
  if (op === "id") return args === "value";
  return op !== "value" && readsValue(args);
}
