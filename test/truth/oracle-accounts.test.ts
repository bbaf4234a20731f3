/** The oracle finds what was tampered with in a scenario about rights, old orders, quotes, withdrawals and the inbox. */
import { beforeAll, describe, expect, test } from "vitest";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import type { Event } from "../../src/domain/event.ts";
import type { Logged } from "./log.ts";
import { sample, sampled } from "./sampled.ts";
import { type Outcome, type Plan, runScenario } from "./scenario.ts";
import { brokenIn, changed, isOf, observed } from "./tampering.ts";
import type { Deed } from "./world.ts";

const hourMs = 3_600_000;
const [quoting, trading] = [0, 1];

const quotes = Array.from({ length: 6 }, (_, i): Deed => {
  const atMs = 100_000 + i * 2_500;
  return { kind: "order", atMs, account: quoting, symbol: "SOL", leverage: 7, distance: 0.2 };
});
const old = {
  kind: "order",
  atMs: 0,
  account: trading,
  symbol: "SOL",
  leverage: -0.2,
  distance: 0.3,
} as const;
const deeds: readonly Deed[] = [
  { ...old, restedMs: 100 * hourMs },
  { ...old, restedMs: 72 * hourMs - 60_000 },
  { kind: "trade", atMs: 0, account: trading, symbol: "SOL", leverage: 2 },
  { kind: "spot", atMs: 5_000, account: trading, balance: 40 },
  { kind: "rights", atMs: 20_000, account: trading, lost: ["placeMarketOrder", "withdrawCollateral"] },
  { kind: "place", atMs: 30_000, account: trading, symbol: "SOL", trigger: "takeProfit", distance: 0.02 },
  { kind: "mark", atMs: 40_000, symbol: "SOL", factor: 1.03 },
  { kind: "rights", atMs: 60_000, account: trading, lost: [] },
  ...quotes,
  ...[150_000, 160_000, 175_000].map((atMs): Deed => {
    return { kind: "money", atMs, account: trading, share: -0.3 };
  }),
  { kind: "sell spot", atMs: 200_000, account: trading, share: 0.5 },
  { kind: "gate", atMs: 210_000, what: "gated", on: true },
  { kind: "notice", atMs: 220_000, wallet: "w1", text: "a word" },
  { kind: "gate", atMs: 260_000, what: "gated", on: false },
  { kind: "cancel", atMs: 300_000, account: trading, all: true },
  // One is liquidated at the market, one by the backstop, one deleveraged.
  { kind: "trade", atMs: 10_000, account: 2, symbol: "BTC", leverage: 18 },
  { kind: "mark", atMs: 320_000, symbol: "BTC", factor: 0.967 },
  { kind: "trade", atMs: 11_000, account: 3, symbol: "ETH", leverage: 18 },
  { kind: "mark", atMs: 340_000, symbol: "ETH", factor: 0.952 },
  { kind: "trade", atMs: 12_000, account: 4, symbol: "GOLD", leverage: 9 },
  { kind: "mark", atMs: 360_000, symbol: "GOLD", factor: 0.85 },
];
const place = { wallet: "w1", pdaIndex: 0, symbols: ["SOL"], spot: 0 };
const falling = ["BTC", "ETH", "GOLD"].map((symbol, index) => {
  return { ...place, symbols: [symbol], subaccount: index + 2, collateral: 3_000 };
});
const plan: Plan = {
  seed: 5,
  start: { kind: "ordinary", atMs: Date.parse("2026-03-02T23:27:12.345Z"), timezone: null, midnightMs: null },
  world: {
    wallets: [{ name: "w1", pdaIndices: [0], watchOnly: false, labels: { stops: "none" } }],
    accounts: [
      { ...place, subaccount: 1, collateral: 5_000 },
      { ...place, subaccount: 0, collateral: 20_000 },
      ...falling,
    ],
    deeds,
    requestsPerSecond: null,
    tranches: 1,
    pairs: [],
  },
  troubles: { aheadMs: 0, faults: [], life: [] },
};

let outcome: Outcome;
beforeAll(async () => {
  outcome = await runScenario(plan);
});

const broken = (change: (entry: Logged) => Logged) => brokenIn(outcome, change);
const fired = (rule: string): readonly AlertChange[] =>
  outcome.log
    .of("committed")
    .flatMap(({ changes }) => changes.alertChanges)
    .filter((one) => isOf(one, "fired", rule));
const ended = (rule: string): number =>
  outcome.log
    .of("committed")
    .flatMap(({ changes }) => changes.alertChanges)
    .filter((one) => isOf(one, "ended", rule)).length;

/** A log in which the texts of a rule, of one step, are others. */
function reworded(rule: string, step: AlertChange["kind"], from: RegExp, to: string): readonly string[] {
  let count = 0;
  const found = broken(
    changed((one) => {
      if (!isOf(one, step, rule)) return one;
      const { summary, description } = one.alert;
      const alert = {
        ...one.alert,
        summary: summary.replace(from, to),
        description: description.replace(from, to),
      };
      if (alert.summary !== summary || alert.description !== description) count++;
      return { ...one, alert };
    }),
  );
  expect(count).toBeGreaterThan(0);
  return found;
}

/** Each figure and word of texts, with another one in its place. */
const words: readonly (readonly [rule: string, step: "fired" | "ended", from: RegExp, to: string])[] = [
  ["RightLost", "fired", /place market orders/, "place limit orders"],
  ["RightLost", "fired", /account as active/, "account as frozen"],
  ["LockedIn", "fired", /withdraw collateral/, "reduce positions"],
  ["LockedIn", "fired", /margin ratio [\d.]+%/, "margin ratio 0.77%"],
  ["RightReturned", "fired", /place market orders/, "place limit orders"],
  ["RightReturned", "fired", /account as active/, "account as frozen"],
  ["OrderStuck", "fired", /1 order has/, "2 orders have"],
  ["OrderStuck", "fired", /Together \$[\d,.]+/, "Together $12.34"],
  ["OrderStuck", "ended", /no order has/, "1 order has"],
  ["RiskEngineClearsOrders", "fired", /cancelled \d+ orders/, "cancelled 17 orders"],
  ["RiskEngineClearsOrders", "fired", /(\d+ orders? (is|are)|none of them is) left/, "17 orders are left"],
  ["OrderCancelledByRiskEngine", "fired", /in SOL/, "in BTC"],
  ["OrderCancelledByRiskEngine", "fired", /: w1\/0\.1 fell/, ": w1/0.0 fell"],
  ["StopLossPlaced", "fired", /in SOL/, "in BTC"],
  ["StopLossExecuted", "fired", /a take profit/, "a stop loss"],
  ["StopLossExecuted", "fired", /: sold/, ": bought"],
  ["StopLossExecuted", "fired", /sold [\d.]+/, "sold 0.01"],
  ["StopLossExecuted", "fired", /at \$[\d.]+/, "at $12.34"],
  ["UnusualWithdrawal", "fired", /\$[\d,.]+ withdrawn/, "$12.34 withdrawn"],
  ["UnusualWithdrawal", "fired", /\$[\d,.]+ of collateral left/, "$12.34 of collateral left"],
  ["UnusualWithdrawal", "fired", /Margin ratio [\d.]+%/, "Margin ratio 77.7%"],
  ["ManyWithdrawals", "fired", /\d withdrawals/, "7 withdrawals"],
  ["ManyWithdrawals", "fired", /Together \$[\d,.]+/, "Together $12.34"],
  ["SpotCollateralLiquidated", "fired", /Equity \$[\d,.]+/, "Equity $12.34"],
  ["Announcement", "fired", /a word/, "another"],
  ["Liquidated", "fired", /LIQUIDATED \w+/, "LIQUIDATED SOL"],
  ["Liquidated", "fired", / long/, " short"],
  ["Liquidated", "fired", /, \$[\d,.]+ at/, ", $12.34 at"],
  ["Liquidated", "fired", / at \$[\d,.]+/, " at $12.34"],
  ["Liquidated", "fired", / long/, " long in part"],
  ["Liquidated", "fired", /the position is closed/, "a part of the position is left"],
  ["Liquidated", "fired", /margin ratio [\d.]+%/, "margin ratio 77.7%"],
  ["Liquidated", "fired", /collateral \$[\d,.]+/, "collateral $12.34"],
  ["AutoDeleveraged", "fired", /: \w+ (?=.*auto-deleveraged)/, ": SOL "],
  ["AutoDeleveraged", "fired", /: [\d.]+ (?=\w+ \()/, ": 0.01 "],
  ["AutoDeleveraged", "fired", /\(\$[\d,.]+\)/, "($12.34)"],
];

test("nothing is wrong in the scenario as it was, and all of it came true", () => {
  expect(broken((entry) => entry)).toEqual([]);
  for (const [rule, step] of words) {
    expect(`${rule} ${fired(rule).length}`).not.toBe(`${rule} 0`);
    if (step === "ended") expect(`${rule} ${ended(rule)}`).not.toBe(`${rule} 0`);
  }
});

sampled.each(words)("%s, %s: another word for %s", (rule, step, from, to) => {
  const check = step === "ended" ? "false resolve" : "soundness";
  expect(reworded(rule, step, from, to)).toEqual([`${check} ${rule}`]);
});

describe.each(
  sample([
    "UnusualWithdrawal",
    "RightLost",
    "LockedIn",
    "RightReturned",
    "OrderCancelledByRiskEngine",
    "StopLossPlaced",
  ]),
)("%s", (rule) => {
  sampled("an event that nobody was told of, and one that was told twice", () => {
    expect(broken(changed((one) => (one.alert.rule === rule ? null : one)))).toEqual([
      `completeness ${rule}`,
    ]);
    expect(broken(changed((one) => (one.alert.rule === rule ? [one, one] : one)))).toEqual([
      `soundness ${rule}`,
    ]);
  });
});

describe.each(sample(["OrderStuck", "RiskEngineClearsOrders", "ManyWithdrawals", "ExchangeGated"]))(
  "%s",
  (rule) => {
    sampled(
      "an alert that never came, one too early, one that nothing ended, and one that ended too early",
      () => {
        expect(broken(changed((one) => (one.alert.rule === rule ? null : one)))).toEqual([
          `completeness ${rule}`,
        ]);
        expect(broken(changed((one) => (isOf(one, "ended", rule) ? null : one)))).toEqual([
          `late resolve ${rule}`,
        ]);
        const ends = broken(
          changed((one) =>
            isOf(one, "fired", rule)
              ? [one, { ...one, kind: "ended", alert: { ...one.alert, state: "ended", ending: "recovered" } }]
              : one,
          ),
        );
        expect(ends).toContain(`false resolve ${rule}`);
      },
    );
  },
);

sampled("rights and a status that were not so", () => {
  const rights = observed((one) =>
    one.kind === "accounts"
      ? {
          ...one,
          subaccounts: one.subaccounts.map((state) => {
            const none = { immediate: false, viaColdActivation: false };
            return { ...state, capabilities: { ...state.capabilities, depositCollateral: none } };
          }),
        }
      : one,
  );
  expect(broken(rights)).toContain("inputs accounts");
  const gated = observed((one) => (one.kind === "exchangeStatus" ? { ...one, gated: true } : one));
  expect(broken(gated)).toContain("inputs exchangeStatus");
});

sampled("cancelled orders that are older than the window count no more", () => {
  const isCancelled = ({ fields }: Event) => fields.type === "risk_engine_cancel_order";
  const earlier = observed((one) =>
    one.kind === "events"
      ? {
          ...one,
          events: one.events.map((event) =>
            isCancelled(event) ? { ...event, happenedMs: event.happenedMs - 180_000 } : event,
          ),
        }
      : one,
  );
  expect(broken(earlier)).toContain("soundness RiskEngineClearsOrders");
});
