/** One compiled node of an expression: its static type, and a closure that evaluates it. */
import type { Bound } from "../rule.ts";
import type { Env, FactScalar, Unknown, Value } from "../value.ts";
import type { StaticType } from "./types.ts";

export type Run = (env: Env) => Value | Unknown;

/** Contains the item of a loop while the loop's body runs. */
export interface Cell {
  item: Value;
}

export interface Compiling {
  readonly type: StaticType;
  readonly run: Run;
  /** The value of a constant expression. */
  readonly constant?: FactScalar;
  /** For a comparison with a literal number. */
  readonly bound?: Bound;
  /** For a loop: its list, and the cell that its body reads the item from. */
  readonly loop?: { readonly list: Run; readonly cell: Cell };
  /** Such comparisons, each of which alone makes it true. */
  readonly sufficient?: readonly Bound[];
}
