/**
 * Tests of the oracle on logs that were tampered with judge a log each. The stage runs the first of a file or `describe`, and every third
 * after it; with PERPWATCH_TRUTH=all it runs each.
 */
import { TestRunner, test } from "vitest";

type Run = () => void | Promise<void>;

const every = process.env.PERPWATCH_TRUTH === "all" ? 1 : 3;
const counts = new WeakMap<object, number>();

/** True for the tests of the current file or `describe` that run. */
function isTurn(): boolean {
  const suite = TestRunner.getCurrentSuite();
  const count = counts.get(suite) ?? 0;
  counts.set(suite, count + 1);
  return count % every === 0;
}

/** Rows of a table that run. */
export const sample = <Row>(rows: readonly Row[]): Row[] => rows.filter((_, index) => index % every === 0);

interface Each {
  <Row extends unknown[] | [unknown]>(
    rows: readonly Row[],
  ): (name: string, run: (...row: Row) => void | Promise<void>) => void;
  <Row extends readonly unknown[]>(
    rows: readonly Row[],
  ): (name: string, run: (...row: Row) => void | Promise<void>) => void;
  <Row>(rows: readonly Row[]): (name: string, run: (row: Row) => void | Promise<void>) => void;
}

/** As `test` and `test.each` are. */
export const sampled = Object.assign(
  (name: string, run: Run): void => {
    if (isTurn()) test(name, run);
  },
  { each: ((rows: readonly unknown[]) => test.each(rows.filter(isTurn))) as Each },
);
