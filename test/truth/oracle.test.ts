/** The oracle finds what was tampered with, and nothing in a scenario that was left as it is. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Observation } from "../../src/domain/observation.ts";
import type { Logged } from "./log.ts";
import { play } from "./played.ts";
import { sampled } from "./sampled.ts";
import type { Outcome } from "./scenario.ts";
import { brokenIn, changed, isOf, observed } from "./tampering.ts";

let outcome: Outcome;
beforeAll(async () => {
  outcome = await play(58);
});

const judged = ["LiquidationNear", "FundingRateHigh", "StopLossBehindLiquidation"];
const broken = (change: (entry: Logged) => Logged): readonly string[] => brokenIn(outcome, change, judged);

test("nothing is wrong in the scenario as it was", () => {
  expect(brokenIn(outcome, (entry) => entry)).toEqual([]);
});

sampled("an alert that never came", () => {
  expect(broken(changed((one) => (one.alert.rule === "LiquidationNear" ? null : one)))).toEqual([
    "completeness LiquidationNear",
  ]);
});

sampled("an alert that nothing ended", () => {
  expect(broken(changed((one) => (isOf(one, "ended", "FundingRateHigh") ? null : one)))).toEqual([
    "late resolve FundingRateHigh",
  ]);
});

sampled("a figure that is off by one in its last digit", () => {
  const found = broken(
    changed((one) => {
      if (!isOf(one, "fired", "LiquidationNear")) return one;
      const summary = one.alert.summary.replace(/\d(?=% from liquidation)/, (digit) =>
        String((Number(digit) + 1) % 10),
      );
      expect(summary).not.toBe(one.alert.summary);
      return { ...one, alert: { ...one.alert, summary } };
    }),
  );
  expect(found).toEqual(["soundness LiquidationNear"]);
});

sampled("a figure that no pattern of its rule is about", () => {
  const found = broken(
    changed((one) => {
      if (!isOf(one, "fired", "LiquidationNear")) return one;
      return {
        ...one,
        alert: { ...one.alert, description: `${one.alert.description} Last week it was 3%.` },
      };
    }),
  );
  expect(found).toEqual(["soundness LiquidationNear"]);
});

sampled.each([
  "Position",
  "Mark price",
  "Liquidation price",
  "Distance",
  "Unrealized PnL",
  "Equity",
  "Margin ratio",
])("a line of context that is off: %s", (name) => {
  const rows: string[] = [];
  const found = broken(
    changed((one) => {
      if (!isOf(one, "fired", "LiquidationNear")) return one;
      const details = one.details.map(([title, value]): readonly [string, string] => {
        if (title !== name) return [title, value];
        rows.push(value);
        return [title, value.replace(/\d/, (digit) => String((Number(digit) + 1) % 10))];
      });
      return { ...one, details };
    }),
  );
  expect(rows).not.toEqual([]);
  expect(found).toEqual(["soundness LiquidationNear"]);
});

sampled("a line of context of which nothing is known, and one that another tier is in", () => {
  const withRow = (name: string) =>
    changed((one) =>
      isOf(one, "fired", "LiquidationNear")
        ? { ...one, details: [...one.details, [name, "high risk"] as const] }
        : one,
    );
  expect(broken(withRow("Luck"))).toEqual(["soundness LiquidationNear"]);
  expect(broken(withRow("Exchange's risk tier"))).toEqual(["soundness LiquidationNear"]);
});

sampled("a text in which a figure is missing", () => {
  const found = broken(
    changed((one) => {
      if (!isOf(one, "fired", "FundingRateHigh")) return one;
      const summary = one.alert.summary.replace(/\S+ a year/, "– a year");
      expect(summary).not.toBe(one.alert.summary);
      return { ...one, alert: { ...one.alert, summary } };
    }),
  );
  expect(found).toEqual(["soundness FundingRateHigh"]);
});

sampled("lines of context that are left out", () => {
  const without = changed((one) => (isOf(one, "fired", "FundingRateHigh") ? { ...one, details: [] } : one));
  expect(broken(without)).toEqual(["soundness FundingRateHigh"]);
});

sampled.each([
  [
    "the other side",
    (text: string) =>
      text
        .replace(/ long\b/, " SIDE")
        .replace(/ short\b/, " long")
        .replace(" SIDE", " short"),
  ],
  ["another market", (text: string) => text.replace(/: \w+ /, ": DOGE ")],
  ["another wallet", (text: string) => text.replace(/^\w+/, "w99")],
  [
    "what has not come about",
    (text: string) => text.replace(/is \S+ from liquidation/, "can be liquidated now"),
  ],
])("a text that tells of %s", (_, other) => {
  const found = broken(
    changed((one) => {
      if (!isOf(one, "fired", "LiquidationNear")) return one;
      const summary = other(one.alert.summary);
      expect(summary).not.toBe(one.alert.summary);
      return { ...one, alert: { ...one.alert, summary } };
    }),
  );
  expect(found).toEqual(["soundness LiquidationNear"]);
});

sampled("an alert of another level, and one about what does not hold", () => {
  const worse = changed((one) =>
    isOf(one, "fired", "LiquidationNear") ? { ...one, alert: { ...one.alert, severity: "critical" } } : one,
  );
  expect(broken(worse)).toContain("soundness LiquidationNear");
  const other = changed((one) =>
    isOf(one, "fired", "LiquidationNear")
      ? { ...one, alert: { ...one.alert, rule: "StopLossBehindLiquidation" } }
      : one,
  );
  expect(broken(other)).toContain("soundness StopLossBehindLiquidation");
});

sampled("a recovery while the condition holds", () => {
  const found = broken(
    changed((one) =>
      isOf(one, "fired", "LiquidationNear")
        ? [one, { ...one, kind: "ended", alert: { ...one.alert, state: "ended", ending: "recovered" } }]
        : one,
    ),
  );
  expect(found).toContain("false resolve LiquidationNear");
});

sampled("an observation of what was not so", () => {
  const richer = observed((one) =>
    one.kind === "accounts"
      ? {
          ...one,
          subaccounts: one.subaccounts.map((state) => ({
            ...state,
            collateralQuoteLots: state.collateralQuoteLots + 1n,
          })),
        }
      : one,
  );
  expect(broken(richer)).toEqual(["inputs accounts"]);
  const dearer = observed((one) =>
    one.kind === "prices"
      ? {
          ...one,
          markets: one.markets.map((market) => ({ ...market, markPriceUsd: market.markPriceUsd * 1.01 })),
        }
      : one,
  );
  expect(broken(dearer)).toContain("inputs prices");
});

sampled("answers about a market that were not so", () => {
  const tampered = (of: (one: Observation) => Observation) => broken(observed(of));
  expect(
    tampered((one) =>
      one.kind === "depth" ? { ...one, bidDepth50BpsUsd: one.bidDepth50BpsUsd * 1.001 } : one,
    ),
  ).toContain("inputs depth");
  expect(
    tampered((one) =>
      one.kind === "external" && one.externalPriceUsd !== null
        ? { ...one, externalPriceUsd: one.externalPriceUsd * 0.5 }
        : one,
    ),
  ).toContain("inputs external");
  expect(
    tampered((one) => (one.kind === "calendar" ? { ...one, sessionState: "afterHours" } : one)),
  ).toContain("inputs calendar");
});

sampled("market parameters that changed unnoticed", () => {
  const rule = "MarketRulesChanged";
  const half = observed((one) =>
    one.kind === "marketConfig"
      ? {
          ...one,
          markets: one.markets.map((market) => ({
            ...market,
            status: one.atMs % 2 === 0 ? "paused" : market.status,
          })),
        }
      : one,
  );
  expect(broken(half)).toEqual(expect.arrayContaining(["inputs marketConfig", `completeness ${rule}`]));
});

sampled("a notification that is acknowledged before its message arrived", () => {
  const early = outcome.log.of("acknowledged")[0]!;
  const arrived = outcome.log.of("arrived")[0]!;
  const found = broken((entry) =>
    entry === arrived ? { ...early, atMs: arrived.atMs } : entry.kind === "acknowledged" ? arrived : entry,
  );
  expect(found.filter((text) => text.startsWith("once "))).not.toEqual([]);
});

describe("no data", () => {
  let blind: Outcome;
  beforeAll(async () => {
    blind = await play(60);
  });
  const found = (change: (entry: Logged) => Logged) =>
    brokenIn(blind, change).map((text) => text.replace(/ \w*$/, ""));

  sampled("an outage that nobody was told of", () => {
    expect(found((entry) => entry)).toEqual([]);
    expect(found(changed((one) => (one.alert.rule === "Blind" ? null : one)))).toEqual([]);
    const shorter = (entry: Logged): Logged => {
      if (entry.kind !== "committed") return entry;
      const { alertChanges, observations } = entry.changes;
      const isKept = ({ kind }: Observation) => kind !== "accounts" && kind !== "prices";
      const late =
        entry.atMs < blind.log.entries[0]!.atMs + 200_000 && entry.atMs > blind.log.entries[0]!.atMs + 20_000;
      return {
        ...entry,
        changes: {
          ...entry.changes,
          alertChanges: alertChanges.filter(({ alert }) => alert.rule !== "Blind"),
          observations: late ? observations.filter(isKept) : observations,
        },
      };
    };
    expect(found(shorter)).toContain("no data");
  });

  sampled("data that were answered and are reported as missing", () => {
    const early = found((entry) =>
      entry.kind === "committed" && entry.changes.alertChanges.some(({ alert }) => alert.rule === "Blind")
        ? { ...entry, atMs: blind.log.entries[0]!.atMs + 40_000 }
        : entry,
    );
    expect(early).toContain("false no-data");
  });

  sampled("an end while the outage lasts", () => {
    const { fromMs, toMs } = blind.plan.troubles.faults.find(({ kind }) => kind === "outage")!;
    const ended = found((entry) =>
      entry.kind === "committed" && entry.changes.alertChanges.some(({ kind }) => kind === "ended")
        ? { ...entry, atMs: blind.log.entries[0]!.atMs + (fromMs + toMs) / 2 }
        : entry,
    );
    expect(ended).toContain("false resolve");
  });
});
