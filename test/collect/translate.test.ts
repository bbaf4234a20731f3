/** Records of the exchange in the house's words: the example records, and what servers may write instead. */
import { describe, expect, test } from "vitest";
import type { CollectedWallet } from "../../src/collect/collector.ts";
import { MarketBook } from "../../src/collect/market-book.ts";
import { collateralEvents, collateralOf } from "../../src/collect/translate/collateral.ts";
import { fillOf, fundingOf, orderOf } from "../../src/collect/translate/history.ts";
import { liquidationOfHistory } from "../../src/collect/translate/liquidation.ts";
import { marketConfigOf, marketPricesOf, newestRate } from "../../src/collect/translate/market.ts";
import { notificationEvents } from "../../src/collect/translate/notification.ts";
import { subaccountState } from "../../src/collect/translate/trader-state.ts";
import { traderViewState } from "../../src/collect/translate/trader-view.ts";
import { type EndpointName, endpoints, parseReply, type RecordFor } from "../../src/contract/index.ts";
import type { SubaccountState } from "../../src/domain/account.ts";
import type { Event } from "../../src/domain/event.ts";
import { eventVocabulary } from "../../src/rules/index.ts";
import { traderAddress } from "../../src/wallet/address.ts";
import { example } from "../contract/example.ts";

const authority = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";
const wallet: CollectedWallet = { name: "main", authority, watchOnly: false, pdaIndices: [0] };
const accounts = [0, 1].map((subaccount) => ({
  pdaIndex: 0,
  subaccount,
  address: traderAddress(authority, { pdaIndex: 0, subaccount }),
}));
const words: string[] = [];
const onUnknown = (field: string, word: string) => void words.push(`${field}=${word}`);
const seenMs = Date.parse("2026-10-05T16:00:00Z");

/** A record as the client hands it out. */
function read<N extends EndpointName>(name: N, json: unknown): RecordFor<N> {
  const reply = parseReply(endpoints[name] as never, json);
  if (!reply.ok) throw new Error(reply.problem.message);
  if (reply.rejected[0]) throw new Error(reply.rejected[0].problem.message);
  return reply.record as RecordFor<N>;
}

type Json = Record<string, unknown>;
const firstOf = (name: string, list: string): Json => (example(name) as Record<string, Json[]>)[list]![0]!;

const markets = read("markets", example("exchange-markets")).map((one) => marketConfigOf(one, onUnknown));
const book = new MarketBook();
book.take(markets);

/** Every field of an event has a name and a type that rules know; absent ones are null. */
function expectFields(event: Event): void {
  const fields = eventVocabulary[event.kind as keyof typeof eventVocabulary];
  const own = fields.filter(({ name }) => !["kind", "at", "age", "symbol", "id", "data"].includes(name));
  for (const { name, type, members } of own) {
    const value = event.fields[name];
    expect(value, `${event.kind}.${name}`).not.toBe(undefined);
    if (value === null) continue;
    const expected =
      type === "number" || type === "duration" ? "number" : type === "boolean" ? "boolean" : "string";
    expect(typeof value, `${event.kind}.${name}`).toBe(expected);
    if (members && name !== "type") expect([...members, "other"]).toContain(value);
  }
  if (event.kind === "liquidation") {
    expect(["market", "backstop", "adl"]).toContain(event.fields.kind);
  }
}

describe("trader state", () => {
  const rows = read("traderState", example("trader-state-snapshot")).snapshot.subaccounts;

  test("what an account may do is its own, however alike accounts are", () => {
    const [row] = rows;
    const given = row!.capabilities!.capabilities;
    const fewer = { placeLimitOrder: given.placeLimitOrder } as typeof given;
    const other = { ...given, placeLimitOrder: { immediate: false, viaColdActivation: false } };
    const all = [given, other, given, fewer, given].map((capabilities) =>
      subaccountState({ ...row!, capabilities: { ...row!.capabilities!, capabilities } }, onUnknown),
    );
    expect(all.map((one) => one.capabilities)).toEqual([given, other, given, fewer, given]);
  });

  test("positions, orders and triggers, exact; a trigger that stands twice is one", () => {
    const [cross, isolated] = rows.map((row) => subaccountState(row, onUnknown));
    expect(cross).toMatchObject({
      subaccount: 0,
      sequence: 4182,
      collateralQuoteLots: 5_200_000_000n,
      lifecycle: "active",
    });
    expect(cross!.capabilities.placeLimitOrder).toEqual({ immediate: true, viaColdActivation: false });
    expect(cross!.positions).toEqual([
      {
        symbol: "BTC",
        baseLots: 2_500n,
        virtualQuoteLots: -15_300_000_000n,
        unsettledFundingQuoteLots: -3_412_500n,
        accumulatedFundingQuoteLots: -18_240_000n,
        sequence: "311",
        triggers: [],
      },
      expect.objectContaining({
        symbol: "SOL",
        baseLots: -18_000n,
        triggers: [
          {
            kind: "stopLoss",
            id: "sl-15800",
            triggerPriceTicks: 15_800n,
            executionPriceTicks: 15_958n,
            side: "bid",
            maxSizeLots: null,
            percent: null,
            status: "active",
          },
        ],
      }),
    ]);
    expect(cross!.orders.map(({ symbol, sequence, reduceOnly }) => [symbol, sequence, reduceOnly])).toEqual([
      ["ETH", "18446744073709500001", false],
      ["SOL", "7741", true],
    ]);
    expect(isolated!.positions[0]!.triggers).toMatchObject([
      { id: "csl-1", percent: 100, maxSizeLots: null, side: "ask" },
    ]);
  });

  test.each(["triggers", "positions"])("triggers that stand only in %s are found", (keep) => {
    const json = structuredClone(example("trader-state-snapshot")) as { snapshot: { subaccounts: Json[] } };
    for (const row of json.snapshot.subaccounts) {
      if (keep === "positions") row.triggers = [];
      else
        for (const position of row.positions as Json[])
          for (const list of Object.keys(position)) if (list.endsWith("Triggers")) delete position[list];
    }
    const states = read("traderState", json).snapshot.subaccounts.map((row) =>
      subaccountState(row, onUnknown),
    );
    expect(states.flatMap((one) => one.positions.flatMap((it) => it.triggers.map(({ id }) => id)))).toEqual([
      "sl-15800",
      "csl-1",
    ]);
  });

  test("what is as it was in the answer before is the same again", () => {
    const json = structuredClone(example("trader-state-snapshot")) as { snapshot: { subaccounts: Json[] } };
    const translated = (before?: SubaccountState): SubaccountState =>
      subaccountState(read("traderState", json).snapshot.subaccounts[0]!, onUnknown, before);
    const first = translated();
    const [position] = json.snapshot.subaccounts[0]!.positions as Json[];
    position!.unsettledFundingQuoteLots = "-77";
    const second = translated(first);
    expect(second).toEqual(translated());
    expect(second.positions[0]!.unsettledFundingQuoteLots).toBe(-77n);
    expect(second.orders.length).toBeGreaterThan(1);
    expect(second.orders).toBe(first.orders);
    expect(second.positions.map(({ triggers }) => triggers)).toEqual(
      first.positions.map(({ triggers }) => triggers),
    );
    for (const [i, { triggers }] of second.positions.entries())
      expect(triggers).toBe(first.positions[i]!.triggers);
    const [market] = json.snapshot.subaccounts[0]!.orders as { orders: Json[] }[];
    market!.orders[0]!.sizeRemainingLots = "3";
    const third = translated(second);
    expect(third).toEqual(translated());
    expect(third.orders[0]).not.toBe(second.orders[0]);
    expect(third.orders[1]).toBe(second.orders[1]);
    expect(third.positions).toBe(second.positions);
    expect(translated(third)).toBe(third);
    // One that went leaves the others in other places.
    market!.orders.shift();
    expect(translated(third)).toEqual(translated());
  });

  test("numbers beyond 2^53 stay exact, an empty row is no position, an unknown state reads as other", () => {
    const json = structuredClone(example("trader-state-snapshot")) as { snapshot: { subaccounts: Json[] } };
    const row = json.snapshot.subaccounts[0]!;
    row.collateral = "9007199254740993123";
    (row.capabilities as Json).state = "hibernating";
    (row.positions as Json[])[0]!.basePositionLots = "0";
    words.length = 0;
    const state = subaccountState(read("traderState", json).snapshot.subaccounts[0]!, onUnknown);
    expect(state.collateralQuoteLots).toBe(9_007_199_254_740_993_123n);
    expect(state.positions.map((one) => one.symbol)).toEqual(["SOL"]);
    expect(state.lifecycle).toBe("other");
    expect(words).toEqual(["state=hibernating"]);
  });
});

describe("markets", () => {
  test("configuration in bps, from either form of the factors", () => {
    const sol = markets.find((one) => one.symbol === "SOL")!;
    expect(sol).toMatchObject({ assetId: 0, tickSize: 100, baseLotsDecimals: 2, status: "active" });
    expect(sol.riskFactors).toEqual({
      maintenance: 5_000,
      backstop: 2_000,
      highRisk: 1_000,
      upnl: 10_000,
      upnlForWithdrawals: 100,
      cancelOrder: 7_500,
    });
    const plain = structuredClone(example("exchange-markets")) as Json[];
    for (const market of plain) {
      const factors = market.riskFactors as Json;
      for (const name of Object.keys(factors)) if (name.endsWith("Bps")) delete factors[name];
      for (const tier of market.leverageTiers as Json[]) delete tier.limitOrderRiskFactorBps;
    }
    expect(read("markets", plain).map((one) => marketConfigOf(one, onUnknown))).toEqual(markets);
  });

  test("prices", () => {
    const prices = marketPricesOf(read("latestMarketStats", example("market-stats-latest")));
    expect(prices).toMatchObject({
      symbol: "SOL",
      exchangeMs: 1_791_212_400_000,
      markPriceUsd: 151.35,
      oraclePriceUsd: 151.3,
    });
  });

  test.each([
    [3_600, 0.000019],
    [28_800, 0.000019 / 8],
    [1_800, 0.000038],
  ])("the newest rate of intervals of %d s is %d an hour", (seconds, rate) => {
    const { rates } = read("fundingRates", example("funding-rates"));
    expect(newestRate(rates, seconds)!.ratePerHour).toBeCloseTo(rate, 12);
    expect(newestRate([...rates].reverse(), seconds)).toEqual(newestRate(rates, seconds));
    expect(newestRate(rates, seconds)!.exchangeMs).toBe(1_791_212_400_000);
    expect(newestRate([], seconds)).toBe(null);
  });
});

test("the view's figures, with marks worked out of position values", () => {
  const view = traderViewState(read("traderView", example("trader-view")), onUnknown);
  expect(view).toMatchObject({ pdaIndex: 0, subaccount: 0, spotNotionalUsd: null, riskTier: "safe" });
  const sol = view.positions.find((one) => one.symbol === "SOL")!;
  expect(sol.sizeUnits).toBe(-180);
  expect(sol.markPriceUsd).toBeCloseTo(151.35, 6);
});

describe("notifications", () => {
  const { items } = read("notifications", example("notifications"));
  const of = (type: string, account = accounts[0]!) =>
    notificationEvents(items.find((one) => one.notificationType === type)!, wallet, account, book, seenMs);

  test.each([
    ["order_filled", { symbol: "ETH", side: "bid", size: 0.5, price: 2980 }],
    ["risk_engine_cancel_order", { symbol: "GOLD", side: "bid", size: 1, price: 2390 }],
    ["stop_loss_executed", { symbol: "ETH", side: "ask", size: 0.75, price: 2984 }],
    ["conditional_order_executed", { symbol: "SOL", side: "bid", size: 20, price: 144.2 }],
    ["adl", { symbol: "BTC", side: null, size: 0.05, price: null }],
  ])("%s: size in units, price in USD, the market by name", (type, { symbol, side, size, price }) => {
    const [event] = of(type);
    expectFields(event!);
    expect(event).toMatchObject({
      kind: "notification",
      symbol,
      wallet: "main",
      subaccount: 0,
      backfilled: false,
    });
    expect(event!.fields).toMatchObject({ type, side, source: "event" });
    expect(event!.fields.size).toBeCloseTo(size, 9);
    if (price === null) expect(event!.fields.price).toBe(null);
    else expect(event!.fields.price).toBeCloseTo(price, 6);
  });

  test("what acknowledging takes stands beside it: five indices, or the id", () => {
    expect(of("order_filled")[0]).toMatchObject({
      key: "notification:event:404114900:18:1:4:0",
      happenedMs: 1_791_212_280_000,
      inbox: {
        source: "event",
        traderPubkey: accounts[0]!.address,
        acked: false,
        item: {
          type: "event",
          slot: 404_114_900,
          slotIndex: 18,
          instructionIndex: 1,
          eventIndex: 4,
          recipientIndex: 0,
        },
      },
    });
    expect(of("maintenance")[0]).toMatchObject({
      key: `notification:admin:${authority}:311`,
      pdaIndex: null,
      fields: { title: "Scheduled maintenance", source: "admin" },
      data: { startsAt: "2026-10-05T18:00:00Z" },
      inbox: { item: { type: "admin", id: 311 } },
    });
    expect(of("account")[0]!.key).toBe(`notification:general:${authority}:5120`);
  });

  test("data keeps its texts under one casing", () => {
    const [item] = read("notifications", {
      items: [{ ...firstOf("notifications", "items"), data: { base_lots_filled: "4000", symbol: "GOLD" } }],
    }).items;
    const [event] = notificationEvents(item!, wallet, accounts[1]!, book, seenMs);
    expect(event!.data).toEqual({ baseLotsFilled: "4000", symbol: "GOLD" });
  });

  test("a type that is not known is kept as it is", () => {
    const [item] = read("notifications", {
      items: [
        {
          ...firstOf("notifications", "items"),
          notificationType: "margin_call",
          data: { level: "high", symbol: "SOL" },
          details: undefined,
        },
      ],
    }).items;
    const events = notificationEvents(item!, wallet, accounts[0]!, book, seenMs);
    expect(events.length).toBe(1);
    expect(events[0]).toMatchObject({
      symbol: "SOL",
      data: { level: "high", symbol: "SOL" },
      fields: { type: "margin_call" },
      inbox: { notificationType: "margin_call", liquidationKey: null },
    });
  });

  test("whether a stop or a take profit was executed stands in the short form, and is told with the data", () => {
    const item = items.find((one) => one.notificationType === "stop_loss_executed")!;
    if (item.source !== "event") throw new Error("no event");
    const executed = (triggerType: "take_profit" | null) => {
      const details = { ...item.details, triggerType } as typeof item.details;
      return notificationEvents({ ...item, details }, wallet, accounts[0]!, book, seenMs)[0]!.data;
    };
    expect(executed("take_profit")).toMatchObject({ symbol: "ETH", triggerType: "take_profit" });
    expect(executed(null)).not.toHaveProperty("triggerType");
  });
});

describe("liquidations", () => {
  const { items } = read("notifications", example("notifications"));
  const { data: rows } = read("liquidationHistory", example("liquidation-history"));
  const item = (type: string) => items.find((one) => one.notificationType === type)!;

  test.each([
    [
      "liquidation",
      0,
      1,
      {
        kind: "market",
        role: "liquidatee",
        side: "long",
        size: 4,
        price: 2302.9,
        notional: 9211.6,
        collateralChange: null,
      },
    ],
    [
      "backstop_liquidation",
      1,
      0,
      {
        kind: "backstop",
        role: "liquidatee",
        side: "short",
        size: 35.5,
        notional: 5180.2,
        collateralChange: -212.4,
      },
    ],
    [
      "adl",
      2,
      0,
      {
        kind: "adl",
        role: "adl_counterparty",
        side: "short",
        size: 0.05,
        price: 59_800,
        notional: 2990,
        collateralChange: 58.75,
      },
    ],
  ] as const)("%s: inbox and history tell of one event", (type, row, subaccount, fields) => {
    const [notification, fromInbox] = notificationEvents(
      item(type),
      wallet,
      accounts[subaccount]!,
      book,
      seenMs,
    );
    const fromHistory = liquidationOfHistory(rows[row]!, wallet, accounts, 0, seenMs)!;
    expect(notification!.inbox!.liquidationKey).toBe(fromHistory.key);
    expect(fromInbox!.notificationKey).toBe(notification!.key);
    for (const told of [fromInbox!, fromHistory]) {
      expectFields(told);
      expect(told).toMatchObject({
        kind: "liquidation",
        key: fromHistory.key,
        subaccount,
        symbol: rows[row]!.symbol,
      });
      for (const [name, value] of Object.entries(fields)) {
        const field = told.fields[name];
        if (typeof value === "number") expect(field).toBeCloseTo(value, 6);
        // Only one of the two sources may know the side.
        else if (!(name === "side" && field === null)) expect(field).toBe(value);
      }
    }
  });

  test("an account that only called an ADL, or made a market in a liquidation, has no event", () => {
    const caller = { ...rows[2]!, role: "adl_caller" };
    expect(liquidationOfHistory(caller, wallet, accounts, 0, seenMs)).toBe(null);
    const stranger = {
      pdaIndex: 0,
      subaccount: 0,
      address: traderAddress(authority, { pdaIndex: 9, subaccount: 9 }),
    };
    for (const type of ["liquidation", "backstop_liquidation", "adl"]) {
      const events = notificationEvents(item(type), wallet, stranger, book, seenMs);
      expect(events.map((one) => one.kind)).toEqual(["notification"]);
      expect(events[0]!.inbox!.liquidationKey).toBe(null);
    }
  });

  test.each(["liquidation", "backstop_liquidation", "adl"])(
    "%s: an item whose data cannot be read says so, and is no event of a liquidation",
    (type) => {
      const whole = item(type);
      const torn = { ...whole, data: { ...(whole.data as object), timestamp: {} } };
      const events = notificationEvents(torn, wallet, accounts[0]!, book, seenMs);
      expect(events.map(({ kind, inbox }) => [kind, inbox!.unread])).toEqual([["notification", true]]);
      expect(notificationEvents(whole, wallet, accounts[0]!, book, seenMs)[0]!.inbox!.unread).toBeUndefined();
    },
  );

  test("both accounts of a wallet closed against each other are two events", () => {
    const closed = { ...rows[2]!, closedLong: accounts[1]!.address };
    const profit = liquidationOfHistory(
      { ...closed, role: "adl_closed_short" },
      wallet,
      accounts,
      0,
      seenMs,
    )!;
    const loss = liquidationOfHistory({ ...closed, role: "adl_closed_long" }, wallet, accounts, 0, seenMs)!;
    expect(profit).toMatchObject({ subaccount: 0, fields: { role: "adl_counterparty", side: "short" } });
    expect(loss).toMatchObject({
      subaccount: 1,
      fields: { role: "liquidatee", side: "long", collateralChange: -61.2 },
    });
    expect(profit.key).not.toBe(loss.key);
  });

  test("a market that is not known leaves symbol and size open", () => {
    const [, event] = notificationEvents(item("adl"), wallet, accounts[0]!, new MarketBook(), seenMs);
    expect(event).toMatchObject({ symbol: null, fields: { size: null, price: null, notional: 2990 } });
  });
});

describe("histories", () => {
  test("funding: payment in USD, rate a fraction an hour", () => {
    const { events } = read("fundingHourly", example("funding-hourly"));
    const event = fundingOf(events[1]!, 0, wallet, 0, seenMs, onUnknown);
    expectFields(event);
    expect(event).toMatchObject({
      symbol: "SOL",
      pdaIndex: 0,
      subaccount: null,
      happenedMs: 1_791_212_400_000,
    });
    expect(event.fields).toEqual({ payment: 0.517617, rate: 0.000019, size: 180, side: "short" });
    expect(fundingOf(events[1]!, 1, wallet, 0, seenMs, onUnknown).key).not.toBe(event.key);
  });

  test("a transfer's direction is read off what either side has left, or had before", () => {
    const [row] = read("userCollateralHistory", example("collateral-history")).data;
    const side = (traderPdaIndex: number, collateralAfter: bigint, over: Partial<typeof row> = {}) => ({
      ...row!,
      traderPdaIndex,
      collateralAfter,
      eventType: "transfer",
      amount: 100_000_000n,
      slot: 900,
      ...over,
    });
    const told = (rows: ReturnType<typeof side>[], pdaIndices = [0]) =>
      collateralEvents(rows, { ...wallet, pdaIndices }, seenMs, onUnknown).map(
        (event) => event && [event.fields.amountUsd, (event.data as { within: boolean } | null)?.within],
      );
    const poor = 20_000_000n;
    const rich = 500_000_000n;
    // What is left is less than what was moved: it was given. The other side of that one received.
    expect(told([side(0, poor), side(1, rich)])).toEqual([[-100, false], null]);
    expect(told([side(0, rich), side(1, poor)])).toEqual([[100, false], null]);
    expect(told([side(0, rich), side(1, rich)])).toEqual([[null, false], null]);
    expect(told([side(0, poor)])).toEqual([[-100, false]]);
    expect(told([side(0, poor), side(1, rich)], [0, 1])).toEqual([
      [-100, true],
      [100, true],
    ]);
    const earlier = side(0, 600_000_000n, { eventType: "deposit", slot: 800 });
    expect(told([side(0, rich), earlier])[0]).toEqual([-100, false]);
    expect(told([side(0, 700_000_000n), earlier])[0]).toEqual([100, false]);
    expect(told([side(0, 650_000_000n), earlier])[0]).toEqual([null, false]);
    // Either may have owed something before.
    expect(told([side(0, poor), side(1, poor)], [0, 1])).toEqual([
      [null, true],
      [null, true],
    ]);
    // Another transfer of the same transaction, of another amount, is none of it.
    expect(told([side(0, rich), side(1, poor, { amount: 30_000_000n })])[0]).toEqual([null, false]);
  });

  test("collateral: signed by its type; a transfer's direction is not stated", () => {
    const { data } = read("userCollateralHistory", example("collateral-history"));
    const [deposit, withdrawal] = data.map((row) => collateralOf(row, wallet, seenMs, onUnknown));
    expectFields(deposit!);
    expect(deposit!.fields).toEqual({ eventType: "deposit", amountUsd: 2500, after: 5391.5 });
    expect(withdrawal!.fields).toEqual({ eventType: "withdrawal", amountUsd: -1000, after: 2891.5 });
    const transfer = { ...data[0]!, eventType: "transfer" };
    expect(collateralOf(transfer, wallet, seenMs, onUnknown).fields.amountUsd).toBe(null);
    expect(
      collateralOf({ ...transfer, amount: -5_000_000n }, wallet, seenMs, onUnknown).fields.amountUsd,
    ).toBe(-5);
  });

  test("orders: each status is an event of its own", () => {
    const { data } = read("orderHistory", example("order-history"));
    const [cancelled, active] = data.map((row) => orderOf(row, wallet, seenMs, onUnknown));
    expectFields(cancelled!);
    expect(cancelled).toMatchObject({ symbol: "ETH", happenedMs: Date.parse("2026-10-05T15:00:38Z") });
    expect(cancelled!.fields).toMatchObject({
      status: "cancelled",
      side: "bid",
      price: 2980,
      size: 2,
      filledRatio: 0.25,
    });
    expect(active).toMatchObject({
      happenedMs: Date.parse("2026-10-05T13:00:00Z"),
      fields: { status: "active", placedAgo: 10_800_000 },
    });
    const filled = orderOf({ ...data[1]!, status: "filled" }, wallet, seenMs, onUnknown);
    expect(filled.key).not.toBe(active!.key);
  });

  test.each<[string, string, object | null]>([
    ["100", "0", { closed: true, flat: true }],
    ["100", "-20", { closed: true, flat: false, opened: true }],
    ["-5", "0.0", { closed: true, flat: true }],
    ["100", "40", null],
    ["0", "40", { opened: true }],
    ["0.00", "-40", { opened: true }],
  ])(
    "a fill from %s to %s says what it left of the position, or opened",
    (baseLotsBefore, baseLotsAfter, left) => {
      const [row] = read("tradesHistory", example("trades-history")).data;
      expect(fillOf({ ...row!, baseLotsBefore, baseLotsAfter }, wallet, seenMs, onUnknown).data).toEqual(
        left,
      );
    },
  );

  test("fills, with words that are not known", () => {
    const [row] = read("tradesHistory", example("trades-history")).data;
    const event = fillOf(row!, wallet, seenMs, onUnknown);
    expectFields(event);
    expect(event).toMatchObject({ symbol: "SOL", pdaIndex: 0, subaccount: 0, slot: 404_115_295 });
    expect(event.fields).toEqual({
      side: "bid",
      price: 151.1,
      size: 60,
      notional: 9066,
      fee: 3.1731,
      realizedPnl: -174,
      liquidity: "taker",
      tradeType: "market",
    });
    words.length = 0;
    expect(fillOf({ ...row!, tradeType: "twap" }, wallet, seenMs, onUnknown).fields.tradeType).toBe("other");
    expect(words).toEqual(["tradeType=twap"]);
  });
});
