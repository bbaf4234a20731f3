/**
 * `exists`, `exists_one`, `all`, `filter`, `map`. The item is stored in a cell that the closures of the body share: evaluation is
 * synchronous and never enters the same macro twice. As in CEL, `exists` and `all` ignore unknown if another item decides; the
 * others do not.
 */
import { type FactScalar, Unknown, type Value } from "../../value.ts";
import type { Cell, Run } from "../node.ts";

type Items = readonly Value[];

/** @param decides result of the body that decides: true for `exists`, false for `all` */
export function quantifier(list: Run, cell: Cell, body: Run, decides: boolean): Run {
  return (env) => {
    const items = list(env);
    if (items instanceof Unknown) return items;
    let doubt: Unknown | null = null;
    for (const item of items as Items) {
      cell.item = item;
      const answer = body(env);
      if (answer === decides) return decides;
      if (answer instanceof Unknown) doubt ??= answer;
    }
    return doubt ?? !decides;
  };
}

export function existsOne(list: Run, cell: Cell, body: Run): Run {
  return (env) => {
    const items = list(env);
    if (items instanceof Unknown) return items;
    let count = 0;
    for (const item of items as Items) {
      cell.item = item;
      const answer = body(env);
      if (answer instanceof Unknown) return answer;
      if (answer === true) count++;
    }
    return count === 1;
  };
}

/** `filter`, `map` and the three-armed `map(x, condition, value)`. */
export function collect(list: Run, cell: Cell, condition: Run | null, value: Run | null): Run {
  return (env) => {
    const items = list(env);
    if (items instanceof Unknown) return items;
    const kept: Value[] = [];
    for (const item of items as Items) {
      cell.item = item;
      if (condition !== null) {
        const answer = condition(env);
        if (answer instanceof Unknown) return answer;
        if (answer !== true) continue;
      }
      const result = value === null ? item : value(env);
      if (result instanceof Unknown) return result;
      kept.push(result);
    }
    return kept as readonly FactScalar[];
  };
}
