/** The oracle finds what a stream told and was not observed, and what a schedule never read. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Observation } from "../../src/domain/observation.ts";
import type { Logged } from "./log.ts";
import { play } from "./played.ts";
import type { Outcome } from "./scenario.ts";
import { findingsIn, observed } from "./tampering.ts";

let outcome: Outcome;
beforeAll(async () => {
  outcome = await play(195);
});

const expected = (change: (entry: Logged) => Logged, of = outcome): readonly string[] =>
  findingsIn(of, change, []).map((one) => `${one.check} ${one.rule}: ${one.expected}`);

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

/** Leaves out observations. */
const without =
  (is: (one: Observation, life: number) => boolean) =>
  (entry: Logged): Logged => {
    if (entry.kind !== "committed") return entry;
    const observations = entry.changes.observations.filter((one) => !is(one, entry.life));
    return { ...entry, changes: { ...entry.changes, observations } };
  };

test("a notification that a stream told", () => {
  const frame = outcome.log.of("frame").find(({ text }) => text.startsWith('{"channel":"notification"'));
  expect(frame).toBeDefined();
  const found = expected(
    observed((one) =>
      one.kind === "events" && one.source === "notifications" && one.live ? { ...one, events: [] } : one,
    ),
  );
  expect(found).toContainEqual(
    expect.stringMatching(/^completeness stream: an observation of notification:/),
  );
});

describe("what a schedule never read", () => {
  /** It is killed twice. */
  let killed: Outcome;
  beforeAll(async () => {
    killed = await play(16);
  });

  test.each(["exchangeStatus", "marketConfig"] as const)("%s", (source) => {
    const found = expected(
      without(({ kind }) => kind === source),
      killed,
    );
    expect(found).toContainEqual(
      expect.stringMatching(new RegExp(`^completeness Blind: a reading of ${source} within`)),
    );
  });

  test("accounts", () => {
    const found = expected(
      without((one) => one.kind === "accounts" && one.told === undefined),
      killed,
    );
    expect(found).toContainEqual(
      expect.stringMatching(/^completeness Blind: a reading of traderState within/),
    );
  });

  test("a history, in the last of several lives", () => {
    const last = killed.log.of("life").at(-1)!.life;
    expect(last).toBeGreaterThan(1);
    const found = expected(
      without((one, life) => life === last && one.kind === "events" && one.source === "fills"),
      killed,
    );
    expect(found).toContainEqual(expect.stringMatching(/^completeness Blind: a reading of fills within/));
  });

  test.each([
    ["orderbook", "depth"],
    ["candles", "external"],
  ] as const)("%s of one market", (source, kind) => {
    const symbols = killed.log
      .of("committed")
      .flatMap(({ changes }) => changes.observations)
      .flatMap((one) => (one.kind === "accounts" ? one.subaccounts : []))
      .flatMap(({ positions }) => positions.map(({ symbol }) => symbol));
    const found = expected(
      without((one) => one.kind === kind && one.symbol === symbols[0]),
      killed,
    );
    expect(found).toContainEqual(
      expect.stringMatching(new RegExp(`^completeness Blind: a reading of ${source} within`)),
    );
  });
});
