/** Maximum ages of data at the intervals that the exchange's limits permit. */
import { describe, expect, test } from "vitest";
import { Pace, rulesAtPace } from "../../src/daemon/settings/pace.ts";
import { type DaemonSettings, settingsFromText } from "../../src/daemon/settings.ts";

const authority = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";

const exchange = { baseUrl: "http://127.0.0.1:1", streams: "off" };

function settings(sections: Readonly<Record<string, unknown>> = {}): DaemonSettings {
  const text = JSON.stringify({
    exchange,
    wallets: [{ name: "main", authority }],
    channels: { here: { type: "console" } },
    dashboard: { listen: "off" },
    ...sections,
  });
  const read = settingsFromText(text, { file: null, folder: "/", env: { FOR: "17s" } });
  if ("problems" in read) throw new Error(JSON.stringify(read.problems));
  return read.settings;
}

const state = (everyMs: number) => [{ source: "traderState" as const, everyMs }];
const ages = (pace: Pace) => pace.stretched.map(({ source, staleAfterMs }) => [source, staleAfterMs]);

describe("ages follow the intervals that are kept", () => {
  test("three of them, once two would not fit in any more", () => {
    const pace = new Pace(settings(), 0);
    expect(pace.update(state(7_000), 0)).toBe(false);
    expect(pace.update(state(9_000), 5_000)).toBe(true);
    expect(ages(pace)).toEqual([["traderState", 27_000]]);
    expect(pace.update(state(10_000), 60_000)).toBe(false);
  });

  test("a minute at most for what risk rests on, and not for the rest", () => {
    const pace = new Pace(settings(), 0);
    expect(pace.update([...state(50_000), { source: "fills", everyMs: 600_000 }], 0)).toBe(true);
    expect(ages(pace)).toEqual([
      ["traderState", 60_000],
      ["fills", 1_800_000],
    ]);
    // Longer than that is as long.
    expect(pace.update([...state(500_000), { source: "fills", everyMs: 600_000 }], 60_000)).toBe(false);
  });

  test("of the wallet that is read least often, at most every 30 s, and down again after two minutes", () => {
    const pace = new Pace(settings(), 0);
    expect(pace.update([...state(1_000), ...state(9_000), ...state(1_000)], 0)).toBe(true);
    expect(pace.update(state(18_000), 29_000)).toBe(false);
    expect(pace.update(state(18_000), 30_000)).toBe(true);
    expect(ages(pace)).toEqual([["traderState", 54_000]]);
    expect(pace.update(state(5_000), 40_000)).toBe(false);
    expect(pace.update(state(18_000), 100_000)).toBe(false);
    expect(pace.update(state(5_000), 110_000)).toBe(false);
    expect(pace.update(state(5_000), 229_000)).toBe(false);
    expect(pace.update(state(5_000), 230_000)).toBe(true);
    expect(ages(pace)).toEqual([]);
  });

  test("a change that could not be made is none", () => {
    const pace = new Pace(settings(), 0);
    expect(pace.update(state(18_000), 0)).toBe(true);
    pace.undo();
    expect(ages(pace)).toEqual([]);
  });
});

test("rules take these ages, and are the same rules otherwise", () => {
  const given = settings();
  const slow = rulesAtPace(given, given, { traderState: 49_000 }, 0);
  expect(slow.conditions.map(({ name, fingerprint }) => [name, fingerprint])).toEqual(
    given.ruleSet.conditions.map(({ name, fingerprint }) => [name, fingerprint]),
  );
  for (const { staleAfterMs } of slow.conditions) {
    expect(staleAfterMs.traderState).toBeGreaterThanOrEqual(49_000);
    expect(staleAfterMs.markets).toBeLessThan(49_000);
  }
  expect(rulesAtPace(given, given, {}, 0)).toBe(given.ruleSet);
});

const slowExchange = { ...exchange, requestsPerSecond: 2 };
const accounts = (pdaIndices: readonly number[]) => [{ name: "main", authority, accounts: { pdaIndices } }];
const many = Array.from({ length: 30 }, (_, i) => i);

test.each([
  ["a longer schedule", {}, { schedules: { traderState: { every: "10m" } } }],
  ["a shorter schedule", {}, { schedules: { traderState: { every: "1s" } } }],
  ["a list of more subaccounts", { exchange: slowExchange }, { wallets: accounts(many) }],
  [
    "a list of fewer subaccounts",
    { exchange: slowExchange, wallets: accounts(many) },
    { wallets: accounts([0]) },
  ],
  ["a lower ceiling", { wallets: accounts(many) }, { exchange: { ...exchange, requestsPerSecond: 1 } }],
  ["the stream", {}, { exchange: { ...exchange, streams: "auto" } }],
] as const)("%s that waits for a restart changes no age until then", (_, before, change) => {
  const running = settings(before);
  const from = settings({ ...before, ...change });
  const agesOf = ({ conditions }: DaemonSettings["ruleSet"]) =>
    Object.fromEntries(conditions.map(({ name, staleAfterMs }) => [name, staleAfterMs]));
  expect(agesOf(from.ruleSet)).not.toEqual(agesOf(running.ruleSet));
  expect(agesOf(rulesAtPace(running, from, {}, 0))).toEqual(agesOf(running.ruleSet));
});

test("rules take these ages also where an override came from the environment", () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the configuration's own syntax.
  const given = settings({ ruleOverrides: { LiquidationNear: { for: "${FOR}" } } });
  const slow = rulesAtPace(given, given, { traderState: 49_000 }, 0);
  expect(slow.conditions.find(({ name }) => name === "LiquidationNear")?.forMs).toBe(17_000);
});
