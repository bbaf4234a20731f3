/** Frames of the stream, out and in. */
import { describe, expect, test } from "vitest";
import {
  type InboundFrame,
  readFrame,
  readSubscription,
  sessionRefused,
  subscribeFrame,
} from "../../src/contract/stream/stream-frames.ts";
import { example } from "./example.ts";

const WALLET = "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD";

function message<C extends string>(file: string, channel: C) {
  const frame = readFrame(example(file));
  if (frame.kind !== "message" || frame.channel !== channel) throw new Error(JSON.stringify(frame));
  return frame as Extract<InboundFrame, { channel: C; kind: "message" }>;
}

describe("inbound", () => {
  test("a snapshot of trader state", () => {
    const { message: state } = message("ws-trader-state-snapshot", "traderState");
    expect(state).toMatchObject({ messageType: "snapshot", authority: WALLET, deltas: [] });
    expect(state.subaccounts?.map((sub) => sub.collateral)).toEqual([5200000000n, 1000000000n]);
  });
  test("deltas of trader state", () => {
    const { message: partial } = message("ws-trader-state-delta", "traderState");
    const { message: liquidated } = message("ws-trader-state-delta-liquidated", "traderState");
    expect(partial).toMatchObject({ messageType: "delta", subaccounts: null, version: null });
    expect(partial.deltas[0]?.positions[0]?.position?.basePositionLots).toBe(-12000n);
    expect(partial.deltas[0]?.orders.map((row) => row.orders[0]?.change)).toEqual(["updated", "closed"]);
    expect(liquidated.deltas[0]).toMatchObject({
      collateral: 461850000n,
      positions: [{ symbol: "GOLD", change: "closed", position: null }],
      tradeHistory: [{ tradeType: "liquidation", timestamp: 1791214040000 }],
    });
  });
  test("the other channels", () => {
    expect(message("ws-notification", "notifications").message.payload).toMatchObject({
      source: "event",
      id: 90410,
    });
    expect(message("ws-market-stats", "marketStats").message).toMatchObject({
      symbol: "SOL",
      timestamp: 1791212400000,
    });
    expect(message("ws-exchange-status", "exchangeStatus").message.data.gated).toBe(true);
    expect(message("ws-mark-price", "markPrice").message.markPrice).toBe(151.35);
    expect(message("ws-all-mids", "allMids").message.mids.BTC).toBe(60402.5);
    expect(message("ws-funding-rate", "fundingRate").message.funding).toBe(0.000019);
    expect(message("ws-fills", "fills").message.fills[0]?.quoteQty).toBe("-9066");
  });
  test("statistics of several markets, with and without a mid price", () => {
    const { channel: _, ...row } = example("ws-market-stats") as Record<string, unknown>;
    const frame = readFrame({ channel: "marketStatsV2", stats: [{ ...row, midPrice: 151.4 }, row] });
    expect(frame).toMatchObject({
      ...{ kind: "message", channel: "marketStatsV2" },
      message: { stats: [{ symbol: "SOL", midPrice: 151.4, timestamp: 1791212400000 }, { midPrice: null }] },
    });
    expect(readFrame({ channel: "marketStatsV2", stats: 7 })).toMatchObject({ kind: "misfit" });
    const all = { channel: "marketStatsV2" };
    expect(subscribeFrame("marketStatsV2", {}).subscription).toEqual(all);
    const some = subscribeFrame("marketStatsV2", { symbols: ["SOL", "BTC"] });
    expect(readSubscription(some)).toMatchObject({ ok: true, params: { symbols: ["SOL", "BTC"] } });
    for (const symbols of ["SOL", [""], [7]])
      expect(
        readSubscription({ type: "subscribe", subscription: { channel: "marketStatsV2", symbols } }),
      ).toMatchObject({ ok: false });
  });
  test("public trades, whose integers are decimal strings", () => {
    const trade = {
      ...{ slot: "123456789", slotIndex: 5, timestamp: "1775578550", symbol: "SOL", taker: WALLET },
      ...{ tradeSequenceNumber: "100", side: "bid", baseLotsFilled: "1000", quoteLotsFilled: "150000" },
      ...{ feeInQuoteLots: "30", baseAmount: 10, quoteAmount: 1500, numFills: 2 },
    };
    expect(readFrame({ channel: "trades", symbol: "SOL", trades: [trade] })).toMatchObject({
      kind: "message",
      message: {
        trades: [{ slot: 123_456_789, timestamp: 1_775_578_550_000, baseLotsFilled: 1_000n, side: "bid" }],
      },
    });
  });
  test("control frames in all four forms", () => {
    const frames = (example("ws-control-frames") as unknown[]).map(readFrame);
    expect(frames).toMatchObject([
      { kind: "control", accepted: true, subscription: { channel: "traderState" } },
      { kind: "control", accepted: true, subscription: { channel: "markPrice" } },
      { kind: "control", accepted: false, code: "invalid_subscription", message: "unknown symbol" },
      { kind: "control", accepted: false, code: "400", message: "unknown channel" },
    ]);
  });
  test("what is unknown is kept, what does not fit is named", () => {
    for (const frame of [null, 7, {}, { channel: "weather" }])
      expect(readFrame(frame)).toEqual({ kind: "unknown", frame });
    expect(
      readFrame({ channel: "markPrice", symbol: "SOL", slot: 1, slotIndex: 0, markPrice: "high" }),
    ).toMatchObject({
      kind: "misfit",
      channel: "markPrice",
      problem: { message: "markPrice: markPrice: expected a number, found text" },
    });
  });
});

describe("outbound", () => {
  test("client frames are written and read", () => {
    const [state, inbox, stats, mark, unmark] = example("ws-client-frames") as unknown[];
    expect(subscribeFrame("traderState", { authority: WALLET, traderPdaIndex: 0 })).toEqual(state);
    expect(subscribeFrame("notifications", { authority: WALLET })).toEqual(inbox);
    expect(subscribeFrame("marketStats", {})).toEqual(stats);
    expect(subscribeFrame("markPrice", { symbol: "SOL" })).toEqual(mark);
    expect(subscribeFrame("markPrice", { symbol: "SOL" }, "unsubscribe")).toEqual(unmark);
    expect(readSubscription(state)).toEqual({
      ok: true,
      type: "subscribe",
      channel: "traderState",
      params: { authority: WALLET, traderPdaIndex: 0 },
    });
    expect(readSubscription(unmark)).toMatchObject({ ok: true, type: "unsubscribe" });
  });
  test("what does not fit is refused on both sides", () => {
    expect(() => subscribeFrame("traderState", { authority: "x", traderPdaIndex: -1 })).toThrow(
      "traderState: authority: must be a base58 public key of 32 bytes; traderPdaIndex: must be an integer of at least 0",
    );
    const ask = (subscription: unknown) => readSubscription({ type: "subscribe", subscription });
    expect(ask({ channel: "markPrice" })).toMatchObject({ ok: false, message: "symbol: required" });
    expect(ask({ channel: "toString" })).toMatchObject({ ok: false, message: "unknown channel" });
    expect(ask(null)).toMatchObject({ ok: false });
    expect(readSubscription("subscribe")).toMatchObject({ ok: false });
  });
});

test("closes that mean the session is refused", () => {
  expect([4401, 4403, 1008].map((code) => sessionRefused(code, ""))).toEqual([true, true, true]);
  expect(sessionRefused(1006, "access_token_expired")).toBe(true);
  expect(sessionRefused(1006, "")).toBe(false);
  expect(sessionRefused(1001, "going away")).toBe(false);
});

test("a frame with more mistakes than can be listed does not fit, and throws nothing", () => {
  const frame = structuredClone(example("ws-trader-state-snapshot")) as {
    subaccounts: { positions: unknown }[];
  };
  frame.subaccounts[0]!.positions = new Array(200_000).fill(0);
  expect(readFrame(frame)).toMatchObject({
    ...{ kind: "misfit", channel: "traderState" },
    problem: { message: "traderState: more mistakes than can be listed" },
  });
});
