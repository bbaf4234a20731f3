/** The first answers after a start come in any order: no figure is published before all that it is computed from was read. */
import { describe, expect, test } from "vitest";
import type { OrderState } from "../../src/domain/account.ts";
import { Harness, marketConfig, position, prices, subaccount } from "./harness.ts";

const rules = `
rules:
  - name: StopFar
    scope: position
    when: position.hasStopLoss && position.stopLossDistance > 0.5
    severity: critical
    summary: "stop loss far away"
  - name: StopBare
    scope: position
    when: position.stopLossCoverage < 0.5
    severity: critical
    summary: "stop loss covers little"
  - name: Unprotected
    scope: trader
    when: trader.positions.exists(p, p.stopLossDistance > 0.5)
    severity: warning
    summary: "one is unprotected"
  - name: FewOrders
    scope: trader
    when: size(trader.orders) < 2
    severity: warning
    summary: "fewer than two orders rest"
  - name: Fresh
    scope: trader
    when: trader.orders.exists(o, o.age < duration("1m"))
    severity: warning
    summary: "a new order"
  - name: Holding
    scope: position
    when: position.side == "long"
    severity: info
    summary: "you hold {{ position.size }} for {{ usd(position.notional) }}, {{ market.openInterest }}"
`;

const stop = {
  kind: "stopLoss",
  id: "1",
  triggerPriceTicks: 13_500n,
  executionPriceTicks: 13_000n,
  side: "ask",
  maxSizeLots: null,
  percent: null,
  status: "active",
} as const;
const order = (symbol: string, sequence: string): OrderState => ({
  symbol,
  sequence,
  side: "bid",
  kind: "limit",
  priceTicks: 10_000n,
  remainingLots: 100n,
  initialLots: 100n,
  reduceOnly: false,
  stopLoss: false,
  status: "active",
});
const held = subaccount(5_000, [{ ...position(10, 150), triggers: [stop] }], {
  orders: [order("SOL", "1"), order("BTC", "2")],
});

const answers: Record<string, (harness: Harness) => void> = {
  state: (harness) => harness.account([held]),
  prices: (harness) => harness.mark(150, prices(60_000, "BTC")),
  config: (harness) => harness.config(marketConfig(), marketConfig("BTC", { assetId: 2 })),
};
const orders = [
  ["state", "prices", "config"],
  ["state", "config", "prices"],
  ["prices", "state", "config"],
  ["config", "state", "prices"],
  ["config", "prices", "state"],
  ["prices", "config", "state"],
];

describe.each([false, true])("reloaded: %s", (reloaded) => {
  test.each(orders)("%s, %s, %s: nothing is said that the next answer takes back", (...names) => {
    const harness = new Harness({ rules, reloaded });
    for (const name of names) {
      answers[name]!(harness);
      harness.pass(80);
    }
    harness.live(10_000, [held], 150);
    expect(harness.told).toEqual(["Holding main/0.0/SOL fired info"]);
    expect(harness.changes[0]?.alert.summary).toBe("you hold 10 for $1,500.00, 100,000");
  });

  test("what only a text names is awaited for some seconds, and no longer", () => {
    const harness = new Harness({ rules, reloaded });
    answers.config!(harness);
    answers.state!(harness);
    harness.pass(4_000);
    expect(harness.told).toEqual([]);
    harness.pass(3_000);
    expect(harness.told).toEqual(["Holding main/0.0/SOL fired info"]);
    expect(harness.changes[0]?.alert.summary).toBe("you hold – for –, –");
  });
});

describe("a session", () => {
  const out = `
rules:
  - { name: Out, scope: wallet, when: "!wallet.signedIn", severity: warning, for: 0s, summary: "signed out" }
`;
  const session = (harness: Harness, signedIn: boolean) =>
    harness.see({ kind: "session", wallet: "main", atMs: harness.nowMs, signedIn, detail: "" });

  test("is not known before the exchange was asked for one, and after a restart", () => {
    let harness = new Harness({ rules: out });
    for (let start = 0; start < 2; start++) {
      harness.live(60_000, [subaccount(5_000, [])], 150);
      expect(harness.told).toEqual([]);
      session(harness, true);
      expect(harness.told).toEqual([]);
      harness = new Harness({ rules: out, remembered: harness.remembered, atMs: harness.nowMs });
    }
    session(harness, false);
    expect(harness.told).toEqual(["Out main fired warning"]);
  });
});
