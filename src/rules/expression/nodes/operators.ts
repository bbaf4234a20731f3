/**
 * Operators as closures. Each passes on the first unknown operand; `&&`, `||` and `?:` evaluate only the operands that they need.
 * Arithmetic follows IEEE 754; a result that does not exist (0/0, ∞−∞) is unknown instead of a NaN that compares as false.
 */
import { type FactScalar, Unknown, type Value } from "../../value.ts";
import type { Run } from "../node.ts";

export function and(left: Run, right: Run): Run {
  return (env) => {
    const l = left(env);
    if (l === false) return false;
    const r = right(env);
    return r === false || l === true ? r : l;
  };
}

export function or(left: Run, right: Run): Run {
  return (env) => {
    const l = left(env);
    if (l === true) return true;
    const r = right(env);
    return r === true || l === false ? r : l;
  };
}

export function not(operand: Run): Run {
  return (env) => {
    const value = operand(env);
    return typeof value === "boolean" ? !value : value;
  };
}

export function negate(operand: Run): Run {
  return (env) => {
    const value = operand(env);
    return typeof value === "number" ? -value : value;
  };
}

export function choose(condition: Run, yes: Run, no: Run): Run {
  return (env) => {
    const c = condition(env);
    return c === true ? yes(env) : c === false ? no(env) : c;
  };
}

export function equal(left: Run, right: Run, wanted: boolean): Run {
  return (env) => {
    const l = left(env);
    if (l instanceof Unknown) return l;
    const r = right(env);
    if (r instanceof Unknown) return r;
    return (l === r) === wanted;
  };
}

/** Compares numbers and times by size, and text alphabetically. The checker ensures equal types. */
export function compare(operator: "<" | "<=" | ">" | ">=", left: Run, right: Run): Run {
  switch (operator) {
    case "<":
      return ordered(left, right, (l, r) => l < r);
    case "<=":
      return ordered(left, right, (l, r) => l <= r);
    case ">":
      return ordered(left, right, (l, r) => l > r);
    case ">=":
      return ordered(left, right, (l, r) => l >= r);
  }
}

function ordered(left: Run, right: Run, holds: (l: number | string, r: number | string) => boolean): Run {
  return (env) => {
    const l = left(env);
    if (typeof l !== "number" && typeof l !== "string") return l;
    const r = right(env);
    if (typeof r !== "number" && typeof r !== "string") return r;
    return holds(l, r);
  };
}

/** The most frequent comparison, a number with a constant, without overhead. */
export function compareWithConstant(operator: "<" | "<=" | ">" | ">=", left: Run, limit: number): Run {
  switch (operator) {
    case "<":
      return (env) => {
        const l = left(env);
        return typeof l === "number" ? l < limit : l;
      };
    case "<=":
      return (env) => {
        const l = left(env);
        return typeof l === "number" ? l <= limit : l;
      };
    case ">":
      return (env) => {
        const l = left(env);
        return typeof l === "number" ? l > limit : l;
      };
    case ">=":
      return (env) => {
        const l = left(env);
        return typeof l === "number" ? l >= limit : l;
      };
  }
}

export type Arithmetic = "+" | "-" | "*" | "/" | "%";

/** @param text text of the whole operation, for the reason */
export function arithmetic(operator: Arithmetic, left: Run, right: Run, whole: boolean, text: string): Run {
  const nan = new Unknown("nan", null, `${text} has no answer`);
  const byZero = new Unknown("error", null, `${text} divides by zero`);
  switch (operator) {
    case "+":
      return numeric(left, right, nan, (l, r) => l + r);
    case "-":
      return numeric(left, right, nan, (l, r) => l - r);
    case "*":
      return numeric(left, right, nan, (l, r) => l * r);
    case "/":
      if (whole) return wholeNumbers(left, right, byZero, (l, r) => Math.trunc(l / r));
      return numeric(left, right, nan, (l, r) => l / r);
    case "%":
      if (whole) return wholeNumbers(left, right, byZero, (l, r) => l % r);
      return numeric(left, right, nan, (l, r) => l % r);
  }
}

function numeric(left: Run, right: Run, nan: Unknown, work: (l: number, r: number) => number): Run {
  return (env) => {
    const l = left(env);
    if (typeof l !== "number") return l;
    const r = right(env);
    if (typeof r !== "number") return r;
    const result = work(l, r);
    return Number.isNaN(result) ? nan : result;
  };
}

function wholeNumbers(left: Run, right: Run, byZero: Unknown, work: (l: number, r: number) => number): Run {
  return (env) => {
    const l = left(env);
    if (typeof l !== "number") return l;
    const r = right(env);
    if (typeof r !== "number") return r;
    return r === 0 ? byZero : work(l, r);
  };
}

export function join(left: Run, right: Run): Run {
  return (env) => {
    const l = left(env);
    if (typeof l !== "string") return l;
    const r = right(env);
    return typeof r === "string" ? l + r : r;
  };
}

export function listOf(items: readonly Run[]): Run {
  return (env) => {
    const list: Value[] = [];
    for (const item of items) {
      const value = item(env);
      if (value instanceof Unknown) return value;
      list.push(value);
    }
    return list as readonly FactScalar[];
  };
}

export function itemAt(list: Run, index: Run, outside: Unknown): Run {
  return (env) => {
    const items = list(env);
    if (items instanceof Unknown) return items;
    const position = index(env);
    if (typeof position !== "number") return position;
    return (items as readonly Value[])[position] ?? outside;
  };
}

export function itemIn(item: Run, list: Run): Run {
  return (env) => {
    const value = item(env);
    if (value instanceof Unknown) return value;
    const items = list(env);
    return items instanceof Unknown ? items : (items as readonly Value[]).includes(value);
  };
}

export function keyIn(key: Run, map: Run): Run {
  return (env) => {
    const record = map(env);
    if (record instanceof Unknown) return record;
    const name = key(env);
    return typeof name === "string" ? Object.hasOwn(record as object, name) : name;
  };
}
