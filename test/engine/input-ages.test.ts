/** The causes of an unknown figure: the age of each market that it needs, and prices that cannot be prices. */
import { describe, expect, test } from "vitest";
import type { MarketPrices, OrderState } from "../../src/domain/account.ts";
import { Harness, marketConfig, position, prices, subaccount } from "./harness.ts";

const order = (symbol: string, over: Partial<OrderState> = {}): OrderState => ({
  symbol,
  sequence: "1",
  side: "bid",
  kind: "limit",
  priceTicks: 10_000n,
  remainingLots: 100n,
  initialLots: 100n,
  reduceOnly: false,
  stopLoss: false,
  status: "active",
  ...over,
});

describe("an account in two markets", () => {
  const rules = `
rules:
  - name: Rich
    scope: trader
    when: trader.freeCollateral > 0.0
    severity: critical
    summary: "rich"
  - name: Distant
    scope: position
    when: position.liquidationDistance > 0.0
    severity: critical
    summary: "distant"
`;
  const markets = [marketConfig(), marketConfig("BTC", { assetId: 2 })];

  function open(orders: readonly OrderState[], symbols: readonly string[]) {
    const harness = new Harness({ rules });
    const held = [
      subaccount(
        5_000,
        symbols.map((symbol) => position(1, 150, symbol)),
        { orders },
      ),
    ];
    const answer = (...told: readonly MarketPrices[]): void => {
      harness.pass(5_000);
      harness.config(...markets);
      harness.mark(...told);
      harness.account(held);
    };
    return { harness, answer, unknown: (rule: string, subject: string) => unknownOf(harness, rule, subject) };
  }

  function unknownOf(harness: Harness, rule: string, subject: string): string | null {
    const answer = harness.watch.explain(rule, subject, harness.nowMs);
    if (answer.kind !== "explained") throw new Error(answer.kind);
    return answer.explanation.unknown;
  }

  test.each([
    ["two positions", [], ["SOL", "BTC"]],
    ["a position and a resting order", [order("BTC")], ["SOL"]],
  ] as const)("%s: it is as old as the older of its two marks", (_, orders, symbols) => {
    for (const late of ["SOL", "BTC"]) {
      const { harness, answer, unknown } = open(orders, symbols);
      answer(prices(150), prices(150, "BTC"));
      expect(unknown("Rich", "main/0.0")).toBeNull();
      for (let i = 0; i < 4; i++) answer(prices(150, late === "SOL" ? "BTC" : "SOL"));
      expect(unknown("Rich", "main/0.0")).toContain("too old: nothing new from markets");
      expect(unknown("Distant", "main/0.0/SOL")).toContain("too old: nothing new from markets");
      harness.pass(30_000);
      expect(harness.told).toContain("Blind exchange fired warning");
    }
  });

  test("an order in a market of which no price was ever read: unknown, by that cause", () => {
    const { harness, answer, unknown } = open([order("BTC")], ["SOL"]);
    for (let i = 0; i < 12; i++) answer(prices(150));
    expect(unknown("Rich", "main/0.0")).toBe("trader.freeCollateral was not seen yet: nothing from markets");
    expect(unknown("Distant", "main/0.0/SOL")).toBe("position.liquidationDistance is not there");
    expect(harness.told).toEqual(["Blind exchange fired critical"]);
    expect(harness.changes[0]?.alert.labels.source).toBe("markets");
  });

  test("an order that does not count needs no price", () => {
    const { answer, unknown } = open([order("BTC", { status: "cancelled" })], ["SOL"]);
    answer(prices(150));
    expect(unknown("Rich", "main/0.0")).toBeNull();
  });

  test("an order alone needs the price of its market", () => {
    const { answer, unknown } = open([order("BTC")], []);
    answer(prices(150));
    expect(unknown("Rich", "main/0.0")).toContain("nothing from markets");
    answer(prices(150), prices(150, "BTC"));
    expect(unknown("Rich", "main/0.0")).toBeNull();
  });
});

describe.each([false, true])("prices that cannot be prices; live: %s", (live) => {
  const rules = `
rules:
  - name: Crash
    scope: market
    when: market.markPrice < 100.0
    severity: critical
    summary: "crash"
  - name: Apart
    scope: market
    when: market.oraclePrice < 100.0
    severity: critical
    summary: "apart"
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    summary: "near"
  - name: Named
    scope: exchange
    when: market("SOL").markPrice < 100.0
    severity: critical
    summary: "named"
`;
  const held = [subaccount(20_000, [position(100, 150)])];

  test.each([
    ["a mark of 0", { markPriceUsd: 0 }, "a mark price of 0"],
    ["a negative mark", { markPriceUsd: -150 }, "a mark price of -150"],
    ["a mark that is no number", { markPriceUsd: Number.NaN }, "a mark price of NaN"],
    ["an infinite mark", { markPriceUsd: Number.POSITIVE_INFINITY }, "a mark price of Infinity"],
    ["an index price of 0", { oraclePriceUsd: 0 }, "an index price of 0"],
  ] as const)("%s fires nothing, and is reported once", (_, over, what) => {
    const harness = new Harness({ rules });
    const tell = (price: MarketPrices): void => {
      harness.pass(1_000);
      harness.see({ kind: "prices", atMs: harness.nowMs, markets: [price], ...(live ? { live } : {}) });
    };
    harness.config();
    harness.mark(150);
    harness.account(held);
    for (let i = 0; i < 3; i++) tell({ ...prices(150), ...over });
    expect(harness.told).toEqual([]);
    expect(harness.all.flatMap((one) => one.failedReads)).toMatchObject([
      { source: "markets", symbol: "SOL", reason: "bad-record" },
    ]);
    expect(harness.notes.filter((note) => note.includes(what))).toHaveLength(1);
    tell(prices(90));
    harness.account(held);
    const fired = harness.told.filter((line) => line.endsWith("fired critical"));
    expect(fired.sort()).toEqual([
      "Apart market/SOL fired critical",
      "Crash market/SOL fired critical",
      "Named exchange fired critical",
    ]);
    tell({ ...prices(150), ...over });
    expect(harness.all.flatMap((one) => one.failedReads)).toHaveLength(2);
  });
});
