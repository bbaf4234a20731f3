/** Order books, trading hours and candles as rules see them: each figure fires, goes stale, and is judged on arrival. */
import { describe, expect, test } from "vitest";
import type { Observation } from "../../src/domain/observation.ts";
import type { WantedSymbols } from "../../src/evaluate/wanted-markets.ts";
import { eventVocabulary, marketChangeFields, vocabulary } from "../../src/rules/index.ts";
import { comparedNames } from "../../src/state/markets/market-changes.ts";
import { Harness, marketConfig, position, prices, subaccount } from "./harness.ts";

type Given<K extends Observation["kind"]> = Partial<Omit<Observation & { kind: K }, "kind" | "atMs">>;

const depth = (harness: Harness, over: Given<"depth"> = {}) =>
  harness.see({
    ...{ kind: "depth", atMs: harness.nowMs, symbol: "SOL", bid: 149.9, ask: 150.1 },
    ...{ bidDepth50BpsUsd: 40_000, askDepth50BpsUsd: 30_000, ...over },
  });
const session = (harness: Harness, sessionState: string, nextTransitionMs: number | null = null) =>
  harness.see({ kind: "calendar", atMs: harness.nowMs, symbol: "SOL", sessionState, nextTransitionMs });
const external = (harness: Harness, over: Given<"external"> = {}) =>
  harness.see({
    ...{ kind: "external", atMs: harness.nowMs, symbol: "SOL" },
    ...{ externalPriceUsd: 150, dailyVolatility: 0.04, ...over },
  });

function watching(rules: string, positions = [position(1, 150)]): Harness {
  const harness = Harness.seeing({ rules }, 150, [subaccount(10_000, positions)]);
  return harness;
}

const rule = (when: string, scope = "market", more = "") => `
rules:
  - name: Told
    scope: ${scope}
    when: ${when}
    severity: critical
    keepFiringFor: 0s
    ${more}
    summary: "told"
`;
const fired = ["Told market/SOL fired critical"];

interface Row {
  readonly field: string;
  readonly when: string;
  readonly calm: (harness: Harness) => void;
  readonly alarming: (harness: Harness) => void;
  readonly source: string;
}
const book = { source: "orderbook", calm: depth };
const rows: readonly Row[] = [
  { ...book, field: "bid", when: "market.bid < 149.0", alarming: (it) => depth(it, { bid: 148 }) },
  { ...book, field: "ask", when: "market.ask > 151.0", alarming: (it) => depth(it, { ask: 152 }) },
  { ...book, field: "midPrice", when: "market.midPrice > 150.5", alarming: (it) => depth(it, { ask: 152 }) },
  { ...book, field: "spread", when: "market.spread > 0.01", alarming: (it) => depth(it, { ask: 152 }) },
  {
    ...book,
    field: "bidDepth50Bps",
    when: "market.bidDepth50Bps < 1000.0",
    alarming: (it) => depth(it, { bidDepth50BpsUsd: 999 }),
  },
  {
    ...book,
    field: "askDepth50Bps",
    when: "market.askDepth50Bps < 1000.0",
    alarming: (it) => depth(it, { askDepth50BpsUsd: 999 }),
  },
  {
    field: "externalPrice",
    source: "candles",
    when: "abs(market.markPrice / market.externalPrice - 1.0) > 0.02",
    calm: external,
    alarming: (it) => external(it, { externalPriceUsd: 145 }),
  },
  {
    field: "dailyVolatility",
    source: "candles",
    when: "market.dailyVolatility > 0.1",
    calm: external,
    alarming: (it) => external(it, { dailyVolatility: 0.2 }),
  },
  {
    field: "sessionState",
    source: "calendars",
    when: 'market.sessionState == "afterHours"',
    calm: (it) => session(it, "open"),
    alarming: (it) => session(it, "afterHours"),
  },
  {
    field: "nextTransition",
    source: "calendars",
    when: 'market.nextTransition - now < duration("1h")',
    calm: (it) => session(it, "open", null),
    alarming: (it) => session(it, "open", it.nowMs + 1_800_000),
  },
];

describe.each(rows)("market.$field", ({ field, when, calm, alarming, source }) => {
  test("is in the vocabulary, with its source", () => {
    const found = vocabulary.market.find((one) => one.name === field);
    expect(found?.sources).toEqual([source]);
  });

  test("is judged when it arrives, fires and resolves", () => {
    const harness = watching(rule(when));
    calm(harness);
    expect(harness.told).toEqual([]);
    alarming(harness);
    expect(harness.told).toEqual(fired);
    calm(harness);
    expect(harness.told.at(-1)).toBe("Told market/SOL ended critical recovered");
  });

  test("goes stale by its own source: neither fires nor resolves, and somebody says so", () => {
    const harness = watching(rule(when));
    alarming(harness);
    expect(harness.told).toEqual(fired);
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      harness.pass(5_000);
      harness.config();
      harness.mark(150);
    }
    const blind = harness.changes.filter(({ alert }) => alert.rule === "Blind").map(({ alert }) => alert);
    expect(blind[0]?.labels.source).toBe(source);
    expect(harness.told.filter((one) => one.startsWith("Told"))).toEqual(fired);
    alarming(harness);
    expect(harness.told.at(-1)).toBe("Blind exchange ended warning recovered");
  });

  test("is seen by rules about positions, and of a market by its name", () => {
    const held = watching(rule(when, "position"));
    alarming(held);
    expect(held.told).toEqual(["Told main/0.0/SOL fired critical"]);
    for (const scope of ["trader", "wallet", "exchange"]) {
      const named = watching(rule(when.replaceAll("market.", 'market("SOL").'), scope));
      calm(named);
      expect(named.told).toEqual([]);
      alarming(named);
      expect(named.told, scope).toHaveLength(1);
    }
  });
});

test("a market whose book is silent is named, with when it was seen, while others go on", () => {
  const harness = watching(rule("market.spread > 0.1", "position"), [
    position(1, 150),
    position(1, 3_000, "ETH"),
  ]);
  const eth = { symbol: "ETH", bid: 2_999, ask: 3_001 };
  depth(harness);
  depth(harness, eth);
  for (let passed = 0; passed < 60_000; passed += 5_000) {
    harness.pass(5_000);
    harness.config(marketConfig("SOL"), marketConfig("ETH", { assetId: 2 }));
    harness.mark(150, prices(3_000, "ETH"));
    harness.account([subaccount(10_000, [position(1, 150), position(1, 3_000, "ETH")])]);
    depth(harness, eth);
  }
  const blind = harness.changes.find(({ alert }) => alert.rule === "Blind")!.alert;
  expect(blind.summary).toMatch(/no order books of SOL from the exchange since 12:00:00/);
});

test("without orders on a side there are prices that nobody takes", () => {
  const harness = watching(
    rule("market.bid == 0.0 && market.bidDepth50Bps == 0.0 && market.spread > 1000.0"),
  );
  depth(harness, { bid: 0, bidDepth50BpsUsd: 0 });
  expect(harness.told).toEqual(fired);
  const other = watching(rule("market.ask > 1e300"));
  depth(other, { ask: Number.POSITIVE_INFINITY, askDepth50BpsUsd: 0 });
  expect(other.told).toEqual(fired);
});

test("that no other venue tells a price is an answer: nothing fires, and nobody is blind for it", () => {
  const harness = watching(rule("market.externalPrice < 1e300 || market.dailyVolatility < 1e300"));
  for (let passed = 0; passed < 120_000; passed += 5_000) {
    external(harness, { externalPriceUsd: null, dailyVolatility: null });
    harness.mark(150);
    harness.config();
    harness.pass(5_000);
  }
  expect(harness.told).toEqual([]);
});

test("an enum's literal that is none is refused, and a word that came later reads as other", () => {
  expect(() => watching(rule('market.sessionState == "closed"'))).toThrow("closed");
  const harness = watching(rule('market.sessionState == "other"'));
  session(harness, "lunch");
  expect(harness.told).toEqual(fired);
});

describe("windows over a book", () => {
  const average = rule('avgOver("market.spread", "1m") > 0.005');

  test("are fed when the book is read, and by nothing else", () => {
    const harness = watching(average);
    const kept: number[] = [];
    for (let passed = 0; passed < 120_000; passed += 5_000) {
      harness.pass(5_000);
      const changes = [harness.mark(150), depth(harness, { ask: passed < 60_000 ? 150.1 : 160 })];
      for (const { ticks } of changes)
        for (const { series, values } of ticks)
          series.forEach((name, index) => {
            if (name === "market[SOL].spread") kept.push(values[index]!);
          });
    }
    expect(kept).toHaveLength(24);
    expect(harness.told).toEqual(fired);
  });

  test("come out the same after a restart", () => {
    const before = watching(average);
    for (let passed = 0; passed < 90_000; passed += 5_000) {
      before.pass(5_000);
      before.mark(150);
      depth(before, { ask: 152 });
    }
    expect(before.told).toEqual(fired);
    const after = new Harness({ rules: average, atMs: before.nowMs });
    for (const { ticks } of before.all) for (const tick of ticks) after.watch.warmUp.rememberTick(tick);
    after.config();
    after.mark(150);
    depth(after, { ask: 152 });
    expect(after.told).toEqual(fired);
  });
});

describe("changes of a market", () => {
  const changed = `
rules:
  - name: Changed
    on: marketChange
    severity: warning
    summary: "{{ event.symbol }} {{ event.field }}: {{ event.before }} → {{ event.after }}"
`;
  const texts = (harness: Harness) => harness.changes.map(({ alert }) => alert.summary);

  test("a session that begins or ends, once, and across a restart", () => {
    const harness = watching(changed);
    session(harness, "open");
    session(harness, "open");
    expect(texts(harness)).toEqual([]);
    session(harness, "afterHours");
    session(harness, "afterHours");
    expect(texts(harness)).toEqual(["SOL session state: open → afterHours"]);
    const next = new Harness({ rules: changed, atMs: harness.nowMs, remembered: harness.remembered });
    session(next, "open");
    expect(texts(next)).toEqual(["SOL session state: afterHours → open"]);
  });

  test("a position that is opened after hours is judged by the session that was read before", () => {
    const harness = watching(rule('market.sessionState == "afterHours"', "position"), []);
    session(harness, "afterHours");
    harness.pass(5_000);
    harness.account([subaccount(10_000, [position(1, 150)])]);
    expect(harness.told).toEqual(["Told main/0.0/SOL fired critical"]);
  });

  test("a session that the market list shows first, which is no reading of the calendar", () => {
    const text = changed + rule('market.sessionState == "afterHours"').replace("\nrules:\n", "");
    const harness = watching(text);
    const listed = (commodityStatus: "active" | "afterHours") =>
      harness.config(marketConfig("SOL", { commodityStatus }));
    const changesMs = harness.nowMs + 10_000;
    listed("active");
    session(harness, "open", changesMs);
    harness.pass(10_000);
    listed("afterHours");
    expect(texts(harness)).toContain("SOL session state: open → afterHours");
    expect(harness.told).toContain("Told market/SOL fired critical");
    expect(harness.asks).toContain("calendars null");
    // The next transition is not known before the calendar is read.
    const market = () => harness.watch.status(harness.nowMs).markets.find(({ symbol }) => symbol === "SOL")!;
    expect(market().figures.nextTransition).toBeUndefined();
    // Stale after 15 s, and reported 30 s later.
    harness.pass(36_000);
    expect(harness.told.at(-1)).toMatch(/^Blind exchange fired/);
    expect(harness.changes.at(-1)!.alert.labels.source).toBe("calendars");
    session(harness, "afterHours", harness.nowMs + 9_000_000);
    expect(harness.told.at(-1)).toMatch(/^Blind exchange ended/);
    expect(market().figures.nextTransition).toBeTypeOf("number");
  });

  test("everything of the configuration that matters, in words", () => {
    const harness = watching(changed);
    const { riskFactors } = marketConfig();
    harness.config(
      marketConfig("SOL", {
        status: "paused",
        commodityStatus: "afterHours",
        takerFee: 0.0005,
        makerFee: -0.00005,
        leverageTiers: [
          { maxLeverage: 10, maxSizeBaseLots: 5_000_000n, limitOrderRiskFactorBps: 6_000 },
          { maxLeverage: 5, maxSizeBaseLots: 10_000_000n, limitOrderRiskFactorBps: 6_000 },
        ],
        riskFactors: { ...riskFactors, maintenance: 6_000, cancelOrder: 8_000, upnl: 9_000 },
        fundingIntervalSeconds: 1_800,
        maxFundingRatePercent: 0.5,
        openInterestCapBaseLots: 500_000_000n,
        maxLiquidationSizeBaseLots: 5_000_000n,
        isolatedOnly: true,
      }),
    );
    expect(texts(harness)).toEqual([
      "SOL status: active → paused",
      "SOL max leverage: 15 → 10",
      "SOL leverage tiers: 15× up to 100,000 SOL → 10× up to 50,000 SOL, 5× up to 100,000 SOL",
      "SOL maintenance factor: 50 % → 60 %",
      "SOL cancel factor: 75 % → 80 %",
      "SOL profit factor: 100 % → 90 %",
      "SOL taker fee: 3.5 bps → 5 bps",
      "SOL maker fee: 0 bps → -0.5 bps",
      "SOL funding interval: 1h → 30m",
      "SOL max funding rate: 0.2 % an interval → 0.5 % an interval",
      "SOL open interest cap: 10,000,000 SOL → 5,000,000 SOL",
      "SOL max liquidation size: 100,000 SOL → 50,000 SOL",
      "SOL isolated only: false → true",
    ]);
    // What was not known before is no change.
    harness.config(marketConfig("SOL", { commodityStatus: "reopen" }));
    expect(texts(harness)).toContain("SOL commodity status: afterHours → reopen");
  });

  test("a configuration that was kept before a field was known tells no change of it", () => {
    const harness = watching(changed);
    const kept = harness.remembered;
    const facts = new Map(kept.facts);
    for (const [name, value] of facts) {
      if (!name.endsWith("\nconfig")) continue;
      const { maxLiquidationSizeBaseLots: _, maxFundingRatePercent: __, ...older } = JSON.parse(value);
      facts.set(name, JSON.stringify(older));
    }
    const next = new Harness({ rules: changed, atMs: harness.nowMs, remembered: { ...kept, facts } });
    next.config();
    expect(texts(next)).toEqual([]);
    next.config(marketConfig("SOL", { maxLiquidationSizeBaseLots: 1n }));
    expect(texts(next)).toEqual(["SOL max liquidation size: 100,000 SOL → 0.01 SOL"]);
  });

  test("are named in the vocabulary, all of them and no others", () => {
    expect([...comparedNames, "sessionState"].sort()).toEqual([...marketChangeFields].sort());
    const field = eventVocabulary.marketChange.find((one) => one.name === "field");
    expect(field?.members).toEqual(marketChangeFields);
  });
});

describe("no two answers agree", () => {
  test("a book or another venue far off the mark is said once while it lasts", () => {
    const harness = watching(rule("market.bid < 0.0"));
    depth(harness);
    external(harness, { externalPriceUsd: 149 });
    expect(harness.notes).toEqual([]);
    depth(harness, { bid: 1_499, ask: 1_501 });
    depth(harness, { bid: 1_499, ask: 1_501 });
    expect(harness.notes).toEqual([
      "SOL: the statistics state a mark of 150, the order book has a middle of 1500",
    ]);
    depth(harness);
    external(harness, { externalPriceUsd: 0.15 });
    expect(harness.notes.at(-1)).toBe(
      "SOL: the statistics state a mark of 150, candles of other venues close at 0.15",
    );
  });

  test("a calendar and the market list that differ about a session", () => {
    const harness = watching(rule('market.sessionState == "other"'));
    harness.config(marketConfig("SOL", { commodityStatus: "active" }));
    session(harness, "open");
    expect(harness.notes).toEqual([]);
    session(harness, "afterHours");
    session(harness, "afterHours");
    expect(harness.notes).toEqual([
      "SOL: the calendar says afterHours, the market list active; rules see the former",
    ]);
  });
});

describe("which markets are read", () => {
  const wanted = (
    rules: string,
    positions = [position(1, 150)],
  ): Record<string, readonly string[] | "all"> => {
    const harness = watching(rules, positions);
    harness.mark(150, prices(3_000, "ETH"), prices(60_000, "BTC"));
    const list = (of: WantedSymbols) => (of === "all" ? of : [...of].sort());
    const { watch } = harness;
    const [orderbook, calendars, candles] = (["orderbook", "calendars", "candles"] as const).map((source) =>
      list(watch.wantedMarkets(source)),
    );
    return { orderbook: orderbook!, calendars: calendars!, candles: candles! };
  };
  const none = { orderbook: [], calendars: [], candles: [] };

  test.each([
    ["none that no rule reads", rule("market.markPrice < 100.0"), none],
    ["what is held", rule("market.spread > 0.1", "position"), { ...none, orderbook: ["SOL"] }],
    [
      "what is held by whom the rule selects",
      rule("market.spread > 0.1", "position", "select: { desk: beta }"),
      none,
    ],
    [
      "what a rule about positions selects",
      rule("market.spread > 0.1", "position", "select: { symbol: [eth] }"),
      { ...none, orderbook: ["ETH"] },
    ],
    ["every market", rule("market.externalPrice < 1.0"), { ...none, candles: "all" }],
    [
      "those that are selected",
      rule("market.externalPrice < 1.0", "market", "select: { symbol: [BTC, ETH] }"),
      { ...none, candles: ["BTC", "ETH"] },
    ],
    [
      "what a rule names",
      rule('market("BTC").sessionState == "open" && market("btc").bid > 0.0', "wallet"),
      { ...none, orderbook: ["BTC"], calendars: ["BTC"] },
    ],
    [
      "what a window looks at",
      rule('maxOver("market[BTC].spread", "1h") > 0.1', "wallet"),
      { ...none, orderbook: ["BTC"] },
    ],
    [
      "what only a message shows",
      rule("market.markPrice < 1.0", "position", 'description: "{{ usd(market.bidDepth50Bps) }}"'),
      { ...none, orderbook: ["SOL"] },
    ],
    [
      "candles of what is held, for rules about distances to liquidation",
      rule("position.liquidationDistance < 0.05", "position"),
      { ...none, candles: ["SOL"] },
    ],
    [
      "hours, for whoever hears of changes of markets",
      "rules: [{ name: Changed, on: marketChange, severity: info, summary: changed }]",
      { ...none, calendars: "all" },
    ],
    [
      "what is held, for events that may come of any of it",
      'rules: [{ name: Filled, on: fill, when: "event.notional > market.bidDepth50Bps", severity: info, summary: filled }]',
      { ...none, orderbook: ["SOL"] },
    ],
  ])("%s", (_name, rules, expected) => {
    expect(wanted(rules)).toEqual(expected);
  });

  test("a position in another market asks for it at once, and a closed one no more", () => {
    const harness = watching(rule("market.spread > 0.1", "position"), []);
    harness.config(marketConfig("SOL"), marketConfig("ETH", { assetId: 2 }));
    harness.mark(150, prices(3_000, "ETH"));
    expect(harness.asks).toEqual([]);
    harness.account([subaccount(10_000, [position(1, 3_000, "ETH")])]);
    expect(harness.asks).toEqual(["orderbook null"]);
    depth(harness, { symbol: "ETH", bid: 2_999, ask: 3_001 });
    expect([...harness.watch.wantedMarkets("orderbook")]).toEqual(["ETH"]);
    harness.account([subaccount(10_000, [])]);
    expect([...harness.watch.wantedMarkets("orderbook")]).toEqual([]);
  });
});
