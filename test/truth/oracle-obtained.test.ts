/** The oracle finds what a stream told and was not observed. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Logged } from "./log.ts";
import { type Outcome, planOf, runScenario } from "./scenario.ts";
import { findingsIn, observed } from "./tampering.ts";

let outcome: Outcome;
beforeAll(async () => {
  outcome = await runScenario(planOf(195));
});

const expected = (change: (entry: Logged) => Logged): readonly string[] =>
  findingsIn(outcome, change).map((one) => `${one.check} ${one.rule}: ${one.expected}`);

test("nothing is missing in the scenario as it was", () => {
  expect(expected((entry) => entry)).toEqual([]);
});

describe("what a stream told", () => {
  test("a second price within a second that was not taken", () => {
    const seconds = new Map<string, number>();
    const first = observed((one) => {
      if (one.kind !== "prices") return one;
      const markets = one.markets.filter(({ symbol, exchangeMs }) => {
        const second = Math.floor(exchangeMs / 1_000);
        const isFirst = one.live !== true || second > (seconds.get(symbol) ?? 0);
        seconds.set(symbol, second);
        return isFirst;
      });
      return { ...one, markets };
    });
    expect(expected(first)).toContainEqual(
      expect.stringMatching(
        /^completeness stream: an observation of \d+ with the mark [\d.]+, which a frame/,
      ),
    );
  });
});
