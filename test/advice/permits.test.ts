/** Only what the exchange takes now is advised, and what the order book does not take is said. */
import { expect, test } from "vitest";
import type { MarketConfig, SubaccountState } from "../../src/domain/account.ts";
import type { ClearAmounts } from "../../src/domain/what-if.ts";
import { Harness, marketConfig, position, subaccount } from "../engine/harness.ts";

const rules = `
rules:
  - name: Poor
    scope: trader
    when: trader.marginRatio > 0.5
    resolveWhen: trader.marginRatio < 0.3
    severity: critical
    summary: "poor"
`;

function begun(state: Partial<SubaccountState> = {}, config: Partial<MarketConfig> = {}): Harness {
  const h = new Harness({ rules, everyMs: { orderbook: 1_000 } });
  h.config(marketConfig("SOL", config));
  h.mark(100);
  h.account([subaccount(600, [position(100, 100)], state)]);
  return h;
}

function clearOf(h: Harness): ClearAmounts {
  const question = { wallet: "main", account: null, prices: [], depositUsd: 0, closes: [] };
  const outcome = h.watch.whatIf(question, h.nowMs);
  if (outcome.kind !== "done") throw new Error(JSON.stringify(outcome));
  return outcome.answer.accounts[0]!.clear!;
}

const obstacles = ({ deposit, reductions }: ClearAmounts) => [
  deposit.obstacle,
  ...reductions.map(({ obstacle }) => obstacle),
];
const right = (immediate: boolean, viaColdActivation = false) => ({ immediate, viaColdActivation });

test("an account that may do all is offered both ways", () => {
  const { deposit, reductions } = clearOf(begun());
  expect(deposit.usd).toBeGreaterThan(0);
  expect(reductions[0]!.least!.units).toBeGreaterThan(0);
});

test("nothing is offered for which the account lacks the right", () => {
  const without = (...rights: readonly string[]) =>
    clearOf(begun({ capabilities: Object.fromEntries(rights.map((name) => [name, right(false)])) }));
  expect(obstacles(without("depositCollateral"))).toEqual(["main/0.0 may not take deposits now", null]);
  expect(without("depositCollateral").deposit.usd).toBeNull();
  const noTrade = without("riskReducingTrade");
  expect(obstacles(noTrade)).toEqual([null, "main/0.0 may not trade now"]);
  expect(noTrade.reductions[0]!.least).toBeNull();
  expect(obstacles(without("placeMarketOrder", "placeLimitOrder"))[1]).toBe("main/0.0 may not trade now");
  expect(obstacles(without("placeMarketOrder", "riskIncreasingTrade"))).toEqual([null, null]);
});

test("a right that comes back with the action itself is one", () => {
  const rights = ["depositCollateral", "riskReducingTrade", "placeMarketOrder"];
  const capabilities = Object.fromEntries(rights.map((name) => [name, right(false, true)]));
  expect(obstacles(clearOf(begun({ capabilities })))).toEqual([null, null]);
});

test("no trade is offered in a market that takes none, nor while the exchange is halted", () => {
  for (const [status, words] of [
    ["paused", "SOL is paused"],
    ["postOnly", "SOL is post only"],
    ["closed", "SOL is closed"],
  ] as const)
    expect(obstacles(clearOf(begun({}, { status })))).toEqual([null, words]);
  const h = begun();
  const status = { kind: "exchangeStatus" as const, active: false, gated: false, withdrawalsAvailable: true };
  h.see({ ...status, atMs: h.nowMs });
  expect(obstacles(clearOf(h))).toEqual([null, "trading at the exchange is halted"]);
});

test("a reduction that is larger than the order book near its middle says what that takes", () => {
  const h = begun();
  const { units } = clearOf(h).reductions[0]!.least!;
  const bookUsd = () => clearOf(h).reductions[0]!.least!.bookUsd;
  const see = (bidDepth50BpsUsd: number) =>
    h.see({
      ...{ kind: "depth", symbol: "SOL", atMs: h.nowMs, bid: 99.9, ask: 100.1 },
      ...{ bidDepth50BpsUsd, askDepth50BpsUsd: 1 },
    });
  expect(bookUsd()).toBeNull();
  see(units * 100 - 1);
  expect(bookUsd()).toBe(units * 100 - 1);
  see(units * 100);
  expect(bookUsd()).toBeNull();
  see(1);
  // Three times the schedule.
  h.pass(3_000);
  expect(bookUsd()).toBe(1);
  h.pass(1_000);
  expect(bookUsd()).toBeNull();
});
