import { once } from "node:events";
import { request } from "node:http";
import { zstdDecompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import { subscribeFrame } from "../../src/contract/index.ts";
import { connect, quiet, read, signIn, sim } from "./support.ts";

type Message = Record<string, unknown>;

test("marketStatsV2 begins with all markets that are asked for, and goes on with those that moved", async () => {
  await using simulator = await quiet({ markets: ["PUMP"] });
  const all = await connect(simulator);
  const two = await connect(simulator);
  await all.subscribe("marketStatsV2", {});
  await two.subscribe("marketStatsV2", { symbols: ["btc", "PUMP"] });
  const rows = async ({ next }: typeof all) =>
    ((await next("marketStatsV2")).stats as Message[]).map(({ symbol, midPrice }) => `${symbol} ${midPrice}`);
  expect(await rows(all)).toEqual(["SOL 151.35", "BTC 60400", "ETH 3012.4", "GOLD 2411.6", "PUMP 0.00452"]);
  expect(await rows(two)).toEqual(["BTC 60400", "PUMP 0.00452"]);
  // After a connection the first check finds every market changed.
  await sim(simulator, "mark-price", { symbol: "SOL", price: "151" });
  for (const one of [all, two]) await rows(one);
  await sim(simulator, "mark-price", { symbol: "SOL", price: "150" });
  await sim(simulator, "mark-price", { symbol: "PUMP", price: "0.0046" });
  expect([await rows(all), await rows(all)]).toEqual([["SOL 150"], ["PUMP 0.0046"]]);
  expect(await rows(two)).toEqual(["PUMP 0.0046"]);
  expect(await all.subscribe("marketStatsV2", { symbols: ["NONE"] })).toMatchObject({ accepted: false });
  for (const { socket } of [all, two]) socket.terminate();
});

test("trades of a market come as they happen", async () => {
  await using simulator = await quiet({ walk: true, activity: false, pastMs: 0 });
  const { subscribe, next, socket } = await connect(simulator);
  await subscribe("trades", { symbol: "SOL" });
  await sim(simulator, "advance", { ms: 5_000 });
  await sim(simulator, "advance", { ms: 5_000 });
  const { symbol, trades } = await next("trades");
  expect(symbol).toBe("SOL");
  const [trade] = trades as Message[];
  expect(trade).toMatchObject({ symbol: "SOL", side: expect.stringMatching(/^(bid|ask)$/), numFills: 1 });
  expect(Number(trade!.baseAmount)).toBeCloseTo(Number(trade!.baseLotsFilled) / 100, 9);
  socket.terminate();
});

test("trader state begins with the snapshot that HTTP gives, and its deltas lead to the next one", async () => {
  await using simulator = await quiet();
  const { authority } = simulator.traders[0]!;
  const { next, subscribe, socket } = await connect(simulator);
  expect(await subscribe("traderState", { authority, traderPdaIndex: 0 })).toMatchObject({ accepted: true });
  const snapshot = await next("traderState");
  expect(snapshot.messageType).toBe("snapshot");
  const http = (await read(simulator, "traderState", `/v1/trader/state/${authority}`)).snapshot;
  expect((snapshot.subaccounts as Message[]).map((it) => it.sequence)).toEqual(
    http.subaccounts.map((it: Message) => it.sequence),
  );

  // Its stop loss fires: the position, its trigger and its reduce-only order are removed.
  await sim(simulator, "mark-price", { symbol: "SOL", price: "170" });
  const delta = await next("traderState");
  expect(delta).toMatchObject({ messageType: "delta", authority, traderPdaIndex: 0 });
  const [changed] = delta.deltas as Message[];
  expect(changed).toMatchObject({
    subaccountIndex: 0,
    sequence: http.subaccounts[0].sequence + 1,
    positions: [{ symbol: "SOL", change: "closed" }],
    triggers: [{ symbol: "SOL", change: "closed" }],
    orders: [{ symbol: "SOL", orders: [{ change: "closed", status: "cancelled" }] }],
    tradeHistory: [{ market: "SOL", size: "90", liquidity: "taker" }],
    orderHistory: [{ market: "SOL", status: "cancelled" }],
  });
  const after = (await read(simulator, "traderState", `/v1/trader/state/${authority}`)).snapshot
    .subaccounts[0];
  expect([changed!.sequence, String(changed!.collateral)]).toEqual([after.sequence, after.collateral]);

  socket.send(JSON.stringify(subscribeFrame("traderState", { authority, traderPdaIndex: 0 }, "unsubscribe")));
  await subscribe("allMids", {});
  await sim(simulator, "collateral", { authority, amount: "20000" });
  await sim(simulator, "mark-price", { symbol: "SOL", price: "171" });
  await next("allMids");
  expect(await next("allMids")).toMatchObject({ mids: { SOL: 171 } });
  socket.send("{}");
  expect(await next("control")).toMatchObject({ accepted: false, code: "400" });
  await expect(Promise.race([next("traderState"), Promise.resolve("nothing")])).resolves.toBe("nothing");
  socket.terminate();
});

test("notifications need the wallet's own session and equal those of the inbox", async () => {
  await using simulator = await quiet({ traders: 2 });
  const main = simulator.traders[0]!;
  const anonymous = await connect(simulator);
  expect(await anonymous.subscribe("notifications", { authority: main.authority })).toMatchObject({
    accepted: false,
    code: "401",
    message: "missing_access_token",
  });
  const other = await connect(simulator, (await signIn(simulator, "trader-2")).access_token);
  expect(await other.subscribe("notifications", { authority: main.authority })).toMatchObject({
    code: "403",
    message: "insufficient_role",
  });
  const token = (await signIn(simulator)).access_token;
  const own = await connect(simulator, token);
  expect(own.socket.protocol).toBe("phoenix-jwt");
  expect(await own.subscribe("notifications", { authority: main.authority })).toMatchObject({
    accepted: true,
  });
  await sim(simulator, "mark-price", { symbol: "SOL", price: "170" });
  const message = await own.next("notifications");
  expect(message).toMatchObject({
    authority: main.authority,
    traderPubkey: main.traderPda,
    traderPdaIndex: 0,
  });
  const inbox = await read(simulator, "notifications", `/v1/traders/${main.traderPda}/notifications`, token);
  const payload = message.payload as Message;
  for (const name of ["slot", "slotIndex", "eventIndex", "recipientIndex", "notificationType"]) {
    expect(payload[name]).toBe(inbox.items[0][name]);
  }
  for (const { socket } of [anonymous, other, own]) socket.terminate();
});

test("prices, statistics, fills and status come when they change", async () => {
  await using simulator = await quiet();
  const { subscribe, next, socket } = await connect(simulator);
  await subscribe("marketStats", {});
  await subscribe("markPrice", { symbol: "sol" });
  await subscribe("fundingRate", { symbol: "SOL" });
  await subscribe("fills", { marketSymbol: "SOL" });
  await subscribe("exchangeStatus", {});
  for (let i = 0; i < 4; i++) await next("marketStats");
  expect(await next("markPrice")).toMatchObject({ symbol: "SOL", markPrice: 151.35 });
  expect(await next("fundingRate")).toMatchObject({ symbol: "SOL", funding: 0 });
  await sim(simulator, "mark-price", { symbol: "SOL", price: "170" });
  let stats = await next("marketStats");
  while (stats.markPrice !== 170) stats = await next("marketStats");
  expect(stats.symbol).toBe("SOL");
  let mark = await next("markPrice");
  while (mark.markPrice !== 170) mark = await next("markPrice");
  await sim(simulator, "mark-price", { symbol: "SOL", price: "120" });
  await sim(simulator, "order", { trader: "main", symbol: "SOL", side: "bid", price: "121", size: "1" });
  const fills = (await next("fills")).fills as Message[];
  expect(fills.at(-1)).toMatchObject({ marketSymbol: "SOL" });
  await sim(simulator, "exchange", { gated: true });
  expect(await next("exchangeStatus")).toMatchObject({
    data: { exchangeStatusBits: 131, previousExchangeStatusBits: 129, active: true, gated: true },
  });
  socket.terminate();
});

test("a socket ends with its session or token, and a bad token is refused at the handshake", async () => {
  await using simulator = await quiet({ accessTtlMs: 60_000, graceMs: 10_000 });
  const closed = async (socket: WebSocket) => {
    const [code, reason] = await once(socket, "close");
    return `${code} ${reason}`;
  };
  const first = await connect(simulator, (await signIn(simulator)).access_token);
  const ended = closed(first.socket);
  await sim(simulator, "session", { trader: "main", action: "revoke" });
  expect(await ended).toBe("4401 session_missing");

  const second = await connect(simulator, (await signIn(simulator)).access_token);
  const expired = closed(second.socket);
  await sim(simulator, "advance", { ms: 69_999 });
  expect(second.socket.readyState).toBe(WebSocket.OPEN);
  await sim(simulator, "advance", { ms: 1 });
  expect(await expired).toBe("4401 access_token_expired");

  const token = (await signIn(simulator)).access_token;
  const upgraded = async (headers: Record<string, string>) => {
    const asked = request(`${simulator.url}/v1/ws`, {
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        ...headers,
      },
    }).end();
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    asked.on("error", reject);
    asked.on("response", (response) => resolve(response.statusCode));
    asked.on("upgrade", (response, socket) => {
      socket.destroy();
      resolve(response.statusCode);
    });
    return promise;
  };
  for (const mark of ["=", ":"]) {
    expect(await upgraded({ "sec-websocket-protocol": `phoenix-jwt${mark}${token}` })).toBe(101);
    expect(await upgraded({ "sec-websocket-protocol": `phoenix-jwt${mark}${token}x` })).toBe(401);
  }
  expect(await upgraded({ authorization: `Bearer ${token}` })).toBe(101);
  expect(await upgraded({ authorization: "Bearer x" })).toBe(401);
  const refusal = async (url: string, protocols: string[]) => {
    const socket = new WebSocket(url, protocols);
    const [, response] = await once(socket, "unexpected-response");
    socket.on("error", () => {});
    socket.terminate();
    return response.statusCode;
  };
  const ws = simulator.url.replace("http", "ws");
  expect(await refusal(`${ws}/v1/ws`, ["phoenix-jwt", "not-a-token"])).toBe(401);
  expect(await refusal(`${ws}/v1/other`, [])).toBe(404);
  await sim(simulator, "fault", { path: "/v1/ws", status: 503 });
  expect(await refusal(`${ws}/v1/ws`, [])).toBe(503);
});

test("frames that are no subscription get an error and keep the connection", async () => {
  await using simulator = await quiet();
  const { socket, next, subscribe } = await connect(simulator);
  const frames = [
    "rubbish",
    "[]",
    "null",
    '{"type":"subscribe"}',
    '{"type":"subscribe","subscription":{"channel":"x"}}',
  ];
  frames.push('{"type":"subscribe","subscription":{"channel":"markPrice","symbol":"NOPE"}}');
  frames.push(
    '{"type":"subscribe","subscription":{"channel":"traderState","authority":"x","traderPdaIndex":0}}',
  );
  for (const frame of frames) {
    socket.send(frame);
    expect(await next("control")).toMatchObject({ accepted: false, code: "400" });
  }
  socket.send(Buffer.from(JSON.stringify(subscribeFrame("allMids", {}))));
  expect(await next("control")).toMatchObject({ accepted: true });
  expect(await subscribe("markPrice", { symbol: "BTC" })).toMatchObject({ accepted: true });
  socket.terminate();
});

test("candles and books begin with the present and follow the mark", async () => {
  await using simulator = await quiet();
  const { subscribe, next, socket } = await connect(simulator);
  await subscribe("candles", { symbol: "SOL", timeframe: "5m" });
  await subscribe("orderbook", { symbol: "sol" });
  await sim(simulator, "mark-price", { symbol: "SOL", price: "170" });
  let book = await next("orderbook");
  const [before] = (book.orderbook as { bids: [number, number][] }).bids[0]!;
  expect(before).toBeLessThan(170);
  while ((book.orderbook as { mid: number }).mid !== 170) book = await next("orderbook");
  const { bids, asks } = book.orderbook as { bids: [number, number][]; asks: [number, number][] };
  expect(bids[0]![0]).toBeLessThan(170);
  expect(asks[0]![0]).toBeGreaterThan(170);
  let told = await next("candles");
  while ((told.candle as { close: number }).close !== 170) told = await next("candles");
  expect(told).toMatchObject({
    symbol: "SOL",
    timeframe: "5m",
    candle: { high: 170, low: expect.any(Number) },
  });
  expect((told.candle as { time: number }).time % 300_000).toBe(0);

  socket.send('{"type":"subscribe","subscription":{"channel":"candles","symbol":"SOL","timeframe":"7m"}}');
  expect(await next("control")).toMatchObject({ accepted: false, code: "400" });
  socket.terminate();
});

test("configuration begins with all of it, in either form, and each change is a message with the next number", async () => {
  await using simulator = await quiet();
  const { subscribe, next, socket } = await connect(simulator);
  await subscribe("exchange", { encoding: "json" });
  const whole = await next("exchange");
  const http = await read(simulator, "exchangeSnapshot", "/v1/exchange/snapshot");
  expect(whole).toMatchObject({
    messageType: "snapshot",
    sequenceNumber: http.sequenceNumber,
    exchange: { active: true, gated: false },
  });
  expect((whole.markets as Message[]).map((it) => it.symbol)).toEqual(
    http.markets.map((it: Message) => it.symbol),
  );
  await subscribe("exchange", {});
  const packed = await next("exchange");
  expect(packed).toMatchObject({ messageType: "encodedSnapshot", encoding: "base64+zstd", markets: [] });
  const unpacked = JSON.parse(
    zstdDecompressSync(Buffer.from(packed.payload as string, "base64")).toString("utf8"),
  );
  expect(unpacked).toMatchObject({ reason: "snapshot", sequenceNumber: http.sequenceNumber });
  expect(unpacked.markets).toEqual(http.markets);

  await sim(simulator, "exchange", { gated: true });
  await sim(simulator, "market", { symbol: "SOL", status: "postOnly" });
  const [gated, postOnly] = [await next("exchange"), await next("exchange")];
  const first = Number(http.sequenceNumber);
  expect([gated.sequenceNumber, postOnly.sequenceNumber]).toEqual([String(first + 1), String(first + 2)]);
  expect(gated.ops).toEqual([
    {
      kind: "exchangeStatusChanged",
      previousBits: 129,
      newBits: 131,
      previousFeatures: ["initialized", "active"],
      newFeatures: ["initialized", "active", "gated"],
      enabledFeatures: ["gated"],
      disabledFeatures: [],
      active: true,
      gated: true,
      withdrawalsAvailable: true,
    },
  ]);
  expect(postOnly.ops).toEqual([
    {
      kind: "marketStatusChanged",
      symbol: "SOL",
      previousMarketStatus: "active",
      newMarketStatus: "postOnly",
    },
  ]);
  // No change is sent twice after a snapshot, and no number is missing.
  const late = await connect(simulator);
  simulator.world.exchangeSequence += 2;
  await late.subscribe("exchange", { encoding: "json" });
  const second = await late.next("exchange");
  expect([second.messageType, second.sequenceNumber]).toEqual(["snapshot", String(first + 4)]);
  const empty = [await next("exchange"), await next("exchange")];
  expect(empty.map((it) => [it.sequenceNumber, it.ops])).toEqual([
    [String(first + 3), []],
    [String(first + 4), []],
  ]);
  await sim(simulator, "exchange", { gated: false });
  expect(await late.next("exchange")).toMatchObject({ sequenceNumber: String(first + 5) });
  for (const it of [socket, late.socket]) it.terminate();
});

test("the short statistics and the book of a coin agree with their longer forms", async () => {
  await using simulator = await quiet();
  const { subscribe, next, socket } = await connect(simulator);
  expect(await subscribe("l2Book", { coin: "NOPE" })).toMatchObject({ accepted: false, code: "400" });
  for (const name of ["marketStats", "market", "orderbook"] as const)
    await subscribe(name, { symbol: "SOL" });
  await subscribe("l2Book", { coin: "sol" });
  await sim(simulator, "mark-price", { symbol: "SOL", price: "170" });
  for (const name of ["marketStats", "market", "orderbook", "l2Book"] as const) await next(name);
  const stats = await next("marketStats");
  expect(await next("market")).toMatchObject({
    symbol: "SOL",
    markPx: 170,
    oraclePx: stats.oraclePrice,
    prevDayPx: stats.prevDayMarkPrice,
    openInterest: stats.openInterest,
    dayNtlVlm: stats.dayVolumeUsd,
    funding: stats.currentFundingRate,
  });
  const [book, l2] = [await next("orderbook"), await next("l2Book")];
  expect({ bids: l2.bids, asks: l2.asks }).toEqual(
    (({ bids, asks }) => ({ bids, asks }))(book.orderbook as { bids: unknown; asks: unknown }),
  );
  expect(l2).toMatchObject({ coin: "SOL", timestamp: simulator.nowMs() });
  socket.terminate();
});
