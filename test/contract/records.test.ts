/** Reading records: exact where it counts, tolerant where the contract says so, precise about what does not fit. */

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { amountToNumber, decimalText, tokenAmount, writeAmount } from "../../src/contract/amount.ts";
import { isPublicKey } from "../../src/contract/base58.ts";
import { endpoints, nextPage } from "../../src/contract/endpoints.ts";
import { errorBody, remedyFor } from "../../src/contract/errors.ts";
import {
  accountIndex,
  anything,
  dec,
  int,
  listOf,
  lots,
  lowerWord,
  maybe,
  num,
  orElse,
  record,
  sequence,
  side,
  text,
} from "../../src/contract/fields.ts";
import { parseJson, writeJson } from "../../src/contract/json.ts";
import {
  fillKey,
  fundingKey,
  liquidationKey,
  notificationKey,
  orderKey,
} from "../../src/contract/natural-keys.ts";
import { ackItemOf, eventData, notificationItem } from "../../src/contract/records/notifications.ts";
import { buildRegister } from "../../src/contract/records/onboarding.ts";
import { type ParsedReply, parseRecord, parseReply } from "../../src/contract/reply.ts";
import { readFrame } from "../../src/contract/stream/stream-frames.ts";
import { readTime } from "../../src/contract/time.ts";
import { usdFromTicks } from "../../src/margin/units.ts";
import { example } from "./example.ts";

/** A list in a list, so many deep. */
const nested = (depth: number): unknown => (depth === 0 ? "" : [nested(depth - 1)]);

const WALLET = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";

function read<R>(parsed: ParsedReply<R>): R {
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.record;
}
/** A large integer as parseJson gives it. */
const exactly = (n: bigint) => (Number.isSafeInteger(Number(n)) ? Number(n) : `${n}`);
/** A value as JSON, and as parseJson gives it: itself, unless it is a double that is written as a long integer. */
const plain = (value: unknown) => {
  const raw = JSON.stringify(value);
  const long = typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(raw);
  return { raw, exact: long ? raw : (JSON.parse(raw) as unknown) };
};
const clone = (value: unknown) => structuredClone(value) as Record<string, never>;

describe("numbers", () => {
  test("integers beyond 2^53 survive as literals, in quotes, and in fields", () => {
    const text =
      '{"a":18446744073709551615,"b":"18446744073709551615","c":[ -9007199254740993 ,1],"d":9007199254740991,"e":0.1234567890123456789,"f":"\\":18446744073709551615"}';
    const json = parseJson(text) as Record<string, unknown>;
    expect(json).toEqual({
      a: "18446744073709551615",
      b: "18446744073709551615",
      c: ["-9007199254740993", 1],
      d: 9007199254740991,
      e: Number("0.1234567890123456789"),
      f: '":18446744073709551615',
    });
    expect(z.parse(lots, json.a)).toBe(18446744073709551615n);
    expect(z.parse(sequence, json.a)).toBe("18446744073709551615");
    expect(parseJson("18446744073709551615")).toBe("18446744073709551615");
    expect(writeJson({ a: 18446744073709551615n, b: 1 })).toBe('{"a":"18446744073709551615","b":1}');
    expect(() => parseJson("{")).toThrow(SyntaxError);
  });

  test("parseJson differs from JSON.parse in large integers only, wherever they stand", () => {
    const leaf = fc.oneof(
      fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n }).map((n) => ({ raw: `${n}`, exact: exactly(n) })),
      fc
        .oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null))
        .map(plain),
      fc.string().map(plain),
      fc.bigInt({ min: 0n, max: 2n ** 80n }).map((n) => plain(`:${n},${n}`)),
    );
    fc.assert(
      fc.property(fc.array(leaf), fc.integer({ min: 0, max: 20 }), (leaves, spaces) => {
        const json = `${" ".repeat(spaces)}[${leaves.map((l, i) => `{"k${i}":${l.raw}}`).join(", ")}]`;
        expect(parseJson(json)).toEqual(leaves.map((l, i) => ({ [`k${i}`]: l.exact })));
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    [int, 7, 7],
    [int, "7", 7],
    [lots, "-18000", -18000n],
    [lots, "9".repeat(39), 10n ** 39n - 1n],
    [lots, 7, 7n],
    [num, "5e-05", 5e-5],
    [num, 5e-5, 5e-5],
    [dec, "-0.181200", "-0.181200"],
    [dec, 2.5, "2.5"],
    [sequence, 311, "311"],
    [accountIndex, "255", 255],
    [anything, "text", "text"],
    [anything, undefined, null],
    [anything, nested(33), null],
  ])("%#: %s", (schema, wire, value) => expect(z.parse(schema, wire)).toBe(value));

  test.each([
    [int, 1.5],
    [int, "9007199254740993"],
    [int, ""],
    [lots, "1.5"],
    [lots, 2 ** 53],
    [lots, ""],
    [num, ""],
    [num, "NaN"],
    [num, null],
    [lots, "9".repeat(40)],
    [dec, "1,5"],
    [sequence, 2 ** 60],
    [sequence, "9".repeat(65)],
    [accountIndex, 256],
    [accountIndex, -1],
  ])("%#: refuses %s", (schema, wire) => expect(z.safeParse(schema, wire).success).toBe(false));

  test("amounts are exact", () => {
    const amount = z.parse(
      tokenAmount,
      parseJson('{"value":9007199254740993,"decimals":6,"ui":"9007199254.740993"}'),
    );
    expect(decimalText(amount.value, amount.decimals)).toBe(amount.ui);
    expect(amountToNumber({ value: -567000000n, decimals: 6 })).toBe(-567);
    expect(writeAmount(-567000000n, 6)).toEqual({ value: -567000000, decimals: 6, ui: "-567.000000" });
    expect(writeAmount(5n, 0)).toEqual({ value: 5, decimals: 0, ui: "5" });
    expect(writeAmount(-5n, 3).ui).toBe("-0.005");
    expect(decimalText(5n, -2)).toBe("500");
    expect(writeAmount(9007199254740993n, 6).value).toBe("9007199254740993");
    expect(usdFromTicks(15_135n, { tickSize: 100, baseLotsDecimals: 2 })).toBeCloseTo(151.35, 12);
  });
});

describe("times", () => {
  const instant = Date.UTC(2026, 9, 5, 15);
  test.each([
    [1_791_212_400, instant],
    ["1791212400", instant],
    [1_791_212_400_000, instant],
    ["1791212400000", instant],
    ["2026-10-05T15:00:00Z", instant],
    ["2026-10-05T15:00:00.123456789Z", instant + 123],
    ["2026-10-05T17:00:00+02:00", instant],
    [0, 0],
    [1e14, undefined],
    ["soon", undefined],
    ["", undefined],
    [null, undefined],
    [Number.NaN, undefined],
  ])("%s", (wire, ms) => expect(readTime(wire)).toBe(ms));
});

describe("tolerance", () => {
  const schema = record({
    a: maybe(text),
    b: orElse(int, 4),
    c: listOf(int),
    d: lowerWord(["long"], { l: "long" }),
    e: side,
  });
  test("absent and null are one thing; unknown fields and members are kept", () => {
    const filled = { a: null, b: 4, c: [], d: "long", e: "bid" };
    expect(z.parse(schema, { d: "LONG", e: "Buy" })).toEqual(filled);
    expect(z.parse(schema, { a: null, b: null, c: null, d: "l", e: 0 })).toEqual(filled);
    expect(z.parse(schema, { d: "Flat", e: "middle", later: { x: 1 } })).toEqual({
      ...filled,
      d: "flat",
      e: "middle",
      later: { x: 1 },
    });
    const status = parseReply(endpoints.exchangeStatus, { active: true, gated: false });
    expect(read(status)).toEqual({ active: true, gated: false, withdrawalsAvailable: true });
  });

  test("a trader state without the lists that servers may leave out", () => {
    const json = clone(example("trader-state-snapshot"));
    const full = read(parseReply(endpoints.traderState, json));
    const lean = JSON.parse(
      JSON.stringify(json, (_key, value) => (Array.isArray(value) && value.length === 0 ? undefined : value)),
    );
    expect(read(parseReply(endpoints.traderState, lean))).toEqual(full);
    const [cross] = full.snapshot.subaccounts;
    expect(cross?.positions[1]).toMatchObject({
      basePositionLots: -18000n,
      virtualQuotePositionLots: 26676000000n,
    });
    expect(cross?.orders[0]?.orders[0]?.orderSequenceNumber).toBe("18446744073709500001");
    expect(cross?.collateral).toBe(5200000000n);
  });

  test("exchange keys under both spellings", () => {
    const json = clone(example("exchange-keys"));
    const snake: Record<string, unknown> = { ...json, global_trader_index: json.globalTraderIndex };
    delete snake.globalTraderIndex;
    const keys = read(parseReply(endpoints.exchangeKeys, snake));
    expect(keys.globalTraderIndex).toEqual(json.globalTraderIndex);
    expect(parseReply(endpoints.exchangeKeys, [])).toMatchObject({ ok: false });
  });

  test("both forms of calendar days", () => {
    const head = { market: "GOLD", loadedAt: "2026-10-05T13:36:40Z", rawJson: "{}" };
    const range = { start: "09:30", end: "16:00" };
    const days = {
      monday: { sessions: [{ ...range, mode: "LUNCH" }] },
      tuesday: { activeHours: [range], inactiveHours: [] },
    };
    const calendar = { weeklySchedule: days, dateOverrides: null };
    const { calendar: seen } = read(parseReply(endpoints.commodityCalendar, { ...head, calendar }));
    expect(seen.weeklySchedule.monday).toEqual({
      sessions: [{ ...range, mode: "LUNCH" }],
      activeHours: [],
      inactiveHours: [],
    });
    expect(seen.weeklySchedule.tuesday).toEqual({ sessions: [], activeHours: [range], inactiveHours: [] });
    expect(seen.dateOverrides).toEqual({});
  });

  test("any 200 is success where no record is promised", () => {
    for (const body of [undefined, null, {}, { ok: true }, "ok"]) {
      expect(parseReply(endpoints.ackNotifications, body)).toEqual({ ok: true, record: null, rejected: [] });
      expect(parseReply(endpoints.logout, body)).toMatchObject({ ok: true });
    }
  });
});

describe("what does not fit", () => {
  test("an account without subaccounts is read, be it active or cold", () => {
    const json = clone(example("trader-state-snapshot")) as unknown as {
      snapshot: { subaccounts?: unknown[]; capabilities: { state: string } };
    };
    const parsed = () => parseReply(endpoints.traderState, json);
    for (const lost of [undefined, []]) {
      json.snapshot.subaccounts = lost as unknown[];
      for (const state of ["active", "cold"]) {
        json.snapshot.capabilities.state = state;
        expect(parsed()).toMatchObject({ ok: true, record: { snapshot: { subaccounts: [] } } });
      }
    }
  });

  test.each([
    ["positions", "symbol"],
    ["spotCollaterals", "assetIndex"],
    ["subaccounts", "subaccountIndex"],
  ])("a trader state that lists one of its %s twice is refused, over HTTP and on the stream", (list, key) => {
    const reply = clone(example("trader-state-snapshot")) as unknown as {
      snapshot: { subaccounts: Record<string, unknown[]>[] };
    };
    const { snapshot } = reply;
    const frame = { ...reply, ...snapshot, channel: "traderState", messageType: "snapshot" };
    const rows = list === "subaccounts" ? snapshot.subaccounts : snapshot.subaccounts[0]![list]!;
    const expectFits = (fits: boolean) => {
      expect(parseReply(endpoints.traderState, reply).ok).toBe(fits);
      expect(readFrame(frame).kind).toBe(fits ? "message" : "misfit");
    };
    if (rows.length === 0) rows.push({ assetIndex: 1, symbol: "WSOL", balance: "5", decimals: 9 });
    expectFits(true);
    const again = clone(rows[0]) as Record<string, unknown>;
    rows.push(list === "positions" ? { ...again, symbol: String(again[key]).toLowerCase() } : again);
    expectFits(false);
    expect(parseReply(endpoints.traderState, reply)).toMatchObject({
      problem: { fields: [{ path: expect.stringContaining(list) }] },
    });
  });

  test("names the endpoint and the first few fields, and no text", () => {
    const json = clone(example("trader-state-snapshot")) as unknown as {
      snapshot: { subaccounts: { collateral: unknown; sequence: unknown }[]; version: unknown };
    };
    json.snapshot.subaccounts[1]!.collateral = "12.5";
    json.snapshot.subaccounts[0]!.sequence = 1.5;
    json.snapshot.version = null;
    const parsed = parseReply(endpoints.traderState, json);
    expect(parsed).toMatchObject({
      ok: false,
      problem: {
        endpoint: "traderState",
        fields: [
          { path: "snapshot.version", message: "expected an integer, found null" },
          { path: "snapshot.subaccounts[0].sequence", message: "expected an integer, found 1.5" },
          { path: "snapshot.subaccounts[1].collateral", message: "expected an integer, found text" },
        ],
      },
    });
    expect(!parsed.ok && parsed.problem.message).toContain(
      "traderState: snapshot.version: expected an integer, found null; ",
    );
    const empty = parseReply(endpoints.traderView, {});
    expect(!empty.ok && empty.problem.fields).toHaveLength(5);
    expect(!empty.ok && empty.problem.message).toMatch(/, and \d+ more$/);
    expect(parseReply(endpoints.traderView, "<html>")).toMatchObject({
      problem: { message: "traderView: the reply: expected object, found text" },
    });
  });

  test("a row that does not fit costs only itself", () => {
    const json = clone(example("notifications")) as unknown as {
      items: { createdAt?: unknown; source?: string }[];
    };
    const all = json.items.length;
    json.items[1]!.createdAt = "later";
    json.items[3]!.source = "carrier pigeon";
    const parsed = parseReply(endpoints.notifications, json);
    expect(read(parsed).items).toHaveLength(all - 2);
    expect(read(parsed).nextCursor).toBe("MSw1MTIw");
    expect(parsed.ok && parsed.rejected).toMatchObject([
      {
        index: 1,
        raw: { id: 90411 },
        problem: { message: "notifications: items[1].createdAt: expected a time, found text" },
      },
      { index: 3, problem: { fields: [{ path: "items[3].source" }] } },
    ]);
    const markets = parseReply(endpoints.markets, [{}, ...(example("exchange-markets") as unknown[])]);
    expect(read(markets).map((market) => market.symbol)).toEqual(["BTC", "SOL", "ETH", "GOLD"]);
    expect(parseReply(endpoints.markets, { data: [] })).toMatchObject({ ok: false });
  });
});

describe("notifications", () => {
  const items = read(parseReply(endpoints.notifications, example("notifications"))).items;

  test("data of every known type is read, whichever casing it came in", () => {
    for (const item of items) {
      if (item.source !== "event") continue;
      const data = eventData(item);
      expect(data?.type, item.notificationType).toBe(item.notificationType);
      const snake = Object.fromEntries(
        Object.entries(item.data as object).map(([k, v]) => [
          k.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`),
          v,
        ]),
      );
      expect(eventData({ ...item, data: snake })).toEqual(data);
    }
    const [liquidated] = items;
    if (liquidated?.source !== "event") throw new Error("the first is an event");
    const data = eventData(liquidated);
    expect(data?.type === "liquidation" && data.data.quoteLotsFilled).toBe(9211600000n);
    expect(eventData({ ...liquidated, notificationType: "from_the_future" })).toBeNull();
    expect(eventData({ ...liquidated, data: { slot: 1 } })).toBeNull();
  });

  test("details in snake_case, absent, null or odd never cost the event", () => {
    const raw = clone((example("notifications") as { items: unknown[] }).items[4]);
    const details = (value: unknown) => {
      const item = read(parseRecord("notifications", notificationItem, { ...raw, details: value }));
      return item.source === "event" ? item.details : undefined;
    };
    expect(details({ type: "stopLossExecuted", trigger_type: "stop_loss", base_amount: 0.75 })).toMatchObject(
      { triggerType: "stop_loss", baseAmount: 0.75, quoteAmount: null },
    );
    for (const odd of [undefined, null, 7, { side: {} }]) expect(details(odd)).toBeNull();
  });

  test("keys and acknowledgements", () => {
    expect(items.slice(0, 6).map((item) => notificationKey(item, WALLET))).toEqual([
      "notification:event:404119300:402:0:3:0",
      "notification:event:404114900:18:1:4:0",
      "notification:event:404114500:5:0:0:0",
      `notification:admin:${WALLET}:311`,
      "notification:event:403905200:90:2:0:0",
      `notification:general:${WALLET}:5120`,
    ]);
    const live = { ...items[0]!, id: 1 };
    expect(notificationKey(live, WALLET)).toBe(notificationKey(items[0]!, WALLET));
    expect(ackItemOf(items[0]!)).toEqual({
      type: "event",
      slot: 404119300,
      slotIndex: 402,
      instructionIndex: 0,
      eventIndex: 3,
      recipientIndex: 0,
    });
    expect(ackItemOf(items[3]!)).toEqual({ type: "admin", id: 311 });
  });
});

test("natural keys of history rows", () => {
  const fill = read(parseReply(endpoints.tradesHistory, example("trades-history"))).data[0]!;
  expect(fillKey(fill)).toBe("fill:6f7c2f2e-6f1f-3a52-9b7e-0c3f0d9a41c7");
  expect(fillKey({ ...fill, fillId: null })).toBe("fill:404115295:71:2:5:SOL");
  const [order] = read(parseReply(endpoints.orderHistory, example("order-history"))).data;
  expect(orderKey(order!)).toBe("order:ETH:18446744073709500001:bid");
  const [liquidation] = read(parseReply(endpoints.liquidationHistory, example("liquidation-history"))).data;
  expect(liquidation).toMatchObject({ side: "long", timestamp: 1791214040000, caller: null });
  expect(liquidationKey(liquidation!, WALLET)).toBe(
    `liquidation:${WALLET}:404119300:402:3:market_order:liquidatee`,
  );
  const [funding] = read(parseReply(endpoints.fundingHourly, example("funding-hourly"))).events;
  expect(fundingKey(funding!, WALLET, 0)).toBe(`funding:${WALLET}:0:BTC:1791212400000`);
});

test("pages are turned by the cursors that the endpoint names", () => {
  const page = { nextCursor: "older", prevCursor: "newer" };
  expect(nextPage(endpoints.fundingHourly, page, "older")).toEqual({ cursor: "older" });
  expect(nextPage(endpoints.fundingHourly, page, "newer")).toEqual({ cursor: "newer" });
  expect(nextPage(endpoints.userCollateralHistory, page, "newer")).toEqual({ prevCursor: "newer" });
  expect(nextPage(endpoints.notifications, page, "newer")).toBeNull();
  expect(nextPage(endpoints.notifications, { nextCursor: null }, "older")).toBeNull();
});

test("refusals: body, code, remedy", () => {
  const bodies = example("errors") as { status: number; body: unknown }[];
  const remedies = bodies.map(({ status, body }) =>
    remedyFor(status, read(parseRecord("error", errorBody, body)).error),
  );
  expect(remedies).toEqual(["refresh", "login", "wait", "final"]);
  expect(remedyFor(401, "access_jti_mismatch")).toBe("reread");
  expect(remedyFor(401, "something new")).toBe("refresh");
  expect(remedyFor(503, null)).toBe("wait");
  expect(remedyFor(403, "toString")).toBe("final");
});

test("registration instructions", () => {
  const built = read(parseRecord("buildRegisterIxs", buildRegister, example("build-register-response")));
  expect(built.instructions[0]?.data.slice(0, 2)).toEqual([0x4b, 0xf3]);
  expect(built).toMatchObject({ maxPositions: 128, includeRegisterTrader: true });
});

test.each([
  [WALLET, true],
  ["11111111111111111111111111111111", true],
  ["1111111111111111111111111111111", false],
  ["111111111111111111111111111111111", false],
  [`${WALLET}1`, false],
  [WALLET.replace("G", "0"), false],
  ["", false],
])("%s is a key: %s", (key, valid) => expect(isPublicKey(key)).toBe(valid));

describe("numbers that others are computed with", () => {
  test.each([1_000_000_000, -31, 31, 1.5, "1e9"])("%s decimal places are no record", (decimals) => {
    const amount = { value: "5", decimals, ui: "5" };
    expect(z.safeParse(tokenAmount, amount).success).toBe(false);
  });

  test.each([-30, 0, "9", 30])("%s decimal places are", (decimals) => {
    expect(z.safeParse(tokenAmount, { value: "5", decimals, ui: "5" }).success).toBe(true);
  });
});
