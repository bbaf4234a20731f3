/**
 * The parts that the SDK keeps up to date by itself, out of HTTP and the stream: configuration, prices, books, trader
 * states.
 */
import * as sdk from "@ellipsis-labs/rise";
import { expect } from "vitest";
import { type Call, type Calls, local, parses, some } from "./call.ts";
import type { Desk } from "./desk.ts";

/** Resolves when `fits` holds, asked again at each change that `subscribe` tells of. */
async function when(subscribe: (listener: () => void) => () => void, fits: () => boolean): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const look = () => fits() && resolve();
  const stop = subscribe(look);
  const late = setTimeout(() => reject(new Error("it did not come to that")), 10_000);
  look();
  await promise.finally(() => {
    clearTimeout(late);
    stop();
  });
}

/** A client that follows the exchange's configuration on the stream; `live` resolves when that is where it comes from. */
function following(desk: Desk) {
  const client = desk.newClient({ auth: false, exchangeMetadata: { stream: true } });
  const { exchange } = client;
  const streamed = Promise.withResolvers<void>();
  const events = new Set<string>();
  exchange.onEvent((event) => {
    events.add(event.type);
    if (event.type === "snapshotApplied" && event.source === "websocket") streamed.resolve();
  });
  const live = async () => {
    await exchange.ready();
    const late = setTimeout(() => streamed.reject(new Error("no snapshot came on the stream")), 10_000);
    await streamed.promise.finally(() => clearTimeout(late));
  };
  return { client, exchange, events, live };
}

const configured = (look: (exchange: sdk.PhoenixClient["exchange"]) => string): Call =>
  parses(async ({ client }) => {
    await client.exchange.ready();
    return look(client.exchange);
  });

const sol = (market: { symbol: string } | undefined) => {
  expect(market?.symbol).toBe("SOL");
  return "SOL";
};
const named = (metadata: { name?: string | null } | null | undefined) => {
  expect(metadata?.name).toBeTruthy();
  return metadata?.name ?? "";
};
const solIn = (exchange: sdk.PhoenixClient["exchange"]) =>
  exchange.market("SOL") as sdk.ExchangeMarketSnapshot;

const exchangeCalls: Calls = {
  "client.exchange.ready": parses(async (desk) =>
    some((await desk.newClient({ auth: false }).exchange.ready()).markets, "markets"),
  ),
  "client.exchange.health": parses(async (desk) => {
    const { exchange, live } = following(desk);
    await live();
    expect(exchange.health()).toBe("live");
    return "live, on the stream";
  }),
  "client.exchange.snapshot": configured((it) => some(it.snapshot().markets, "markets")),
  "client.exchange.spotCollaterals": configured((it) => `${it.spotCollaterals().length} assets`),
  "client.exchange.market": configured((it) => sol(it.market("SOL"))),
  "client.exchange.marketByAssetId": configured((it) => sol(it.marketByAssetId(solIn(it).assetId))),
  "client.exchange.marketByPubkey": configured((it) => sol(it.marketByPubkey(solIn(it).marketPubkey))),
  "client.exchange.marketMetadata": configured((it) => named(it.marketMetadata("SOL"))),
  "client.exchange.marketMetadataByAssetId": configured((it) =>
    named(it.marketMetadataByAssetId(solIn(it).assetId)),
  ),
  "client.exchange.marketMetadataByPubkey": configured((it) =>
    named(it.marketMetadataByPubkey(solIn(it).marketPubkey)),
  ),
  "client.exchange.instructionContext": configured((it) => {
    expect(it.instructionContext("SOL")).toBeDefined();
    return "accounts of SOL";
  }),
  "client.exchange.source": configured((it) => it.source().active ?? "none"),
  "client.exchange.subscribe": parses(async (desk) => {
    const { exchange, live } = following(desk);
    await live();
    const sequence = exchange.snapshot().sequenceNumber ?? 0n;
    await desk.sim("market", { symbol: "BTC", status: "postOnly" });
    await when(
      (told) => exchange.subscribe(told),
      () => exchange.market("BTC")?.marketStatus === "postOnly",
    );
    await desk.sim("market", { symbol: "BTC", status: "active" });
    await when(
      (told) => exchange.subscribe(told),
      () => exchange.market("BTC")?.marketStatus === "active",
    );
    expect(exchange.snapshot().sequenceNumber).toBe(sequence + 2n);
    return "two deltas applied, without a gap";
  }),
  "client.exchange.onEvent": parses(async (desk) => {
    const { events, live } = following(desk);
    await live();
    return [...events].join(" ");
  }),
  "client.exchange.close": parses(async (desk) => {
    const { exchange } = following(desk);
    await exchange.ready();
    exchange.close();
    return exchange.health();
  }),
};

const marketData = (look: (data: sdk.PhoenixMarketData, desk: Desk) => string | Promise<string>): Call =>
  parses(async (desk) => {
    const { client } = following(desk);
    const data = client.marketData();
    const release = data.retain();
    await data.ready();
    await when(
      (told) => data.store.subscribe(told),
      () => ["SOL", "BTC", "ETH", "GOLD"].every((it) => data.market(it)?.markPrice !== null),
    );
    const note = await look(data, desk);
    release();
    return note;
  });
const solPrice = (row: sdk.PhoenixMarketDataRow | undefined, { simulator }: Desk): string => {
  const { markTicks } = simulator.world.markets.get("SOL")!;
  expect(row?.markPrice).toBe(markTicks / 100);
  return `mark ${row?.markPrice}`;
};
const solData = (
  look: (it: ReturnType<sdk.PhoenixMarketData["resource"]>, desk: Desk) => string | Promise<string>,
) =>
  marketData(async (data, desk) => {
    const resource = data.resource("SOL");
    const release = resource.retain();
    await resource.ready();
    const note = await look(resource, desk);
    release();
    return note;
  });

const marketDataCalls: Calls = {
  "client.marketData": marketData((data) => data.status().health),
  "client.marketData().retain": marketData((data) => data.status().health),
  "client.marketData().ready": marketData((data) => some(data.snapshot().symbols, "markets")),
  "client.marketData().status": marketData((data) => data.status().health),
  "client.marketData().snapshot": marketData((data, desk) =>
    solPrice(data.snapshot().marketsBySymbol.SOL, desk),
  ),
  "client.marketData().market": marketData((data, desk) => solPrice(data.market("SOL"), desk)),
  "client.marketData().resource": marketData((data) => data.resource("SOL").symbol),
  "client.marketData().reconnect": marketData(async (data) => {
    data.reconnect();
    await when(
      (told) => data.store.subscribe(told),
      () => data.status().health === "live",
    );
    return "live again";
  }),
  "client.marketData().close": marketData((data) => {
    data.close();
    return data.status().health;
  }),
  "client.marketData().resource().retain": solData((it) => it.status().health),
  "client.marketData().resource().ready": solData(async (it, desk) => solPrice(await it.ready(), desk)),
  "client.marketData().resource().status": solData((it) => it.status().health),
  "client.marketData().resource().snapshot": solData((it, desk) => solPrice(it.snapshot(), desk)),
  "client.marketData().resource().subscribe": solData(async (it, desk) => {
    const price = (it.snapshot()?.markPrice ?? 0) + 0.5;
    await desk.sim("mark-price", { symbol: "SOL", price: price.toFixed(2) });
    await when(
      (told) => it.subscribe(told),
      () => it.snapshot()?.markPrice === price,
    );
    return "told of a move";
  }),
  "client.marketData().resource().reconnect": solData((it) => {
    it.reconnect();
    return it.symbol;
  }),
  "client.marketData().resource().close": solData((it) => {
    it.close();
    return it.symbol;
  }),
};

const solBook = (look: (it: sdk.PhoenixOrderbookResource, desk: Desk) => string | Promise<string>): Call =>
  parses(async (desk) => {
    const { client } = following(desk);
    const resource = client.orderbooks().resource("SOL");
    const release = resource.retain();
    await resource.ready();
    await when(
      (told) => resource.subscribe(told),
      () => resource.status().health === "live",
    );
    const note = await look(resource, desk);
    release();
    return note;
  });
const bookOf = (book: sdk.PhoenixOrderbookSnapshot | null): string => {
  expect(book!.bestBid!.price).toBeLessThan(book!.bestAsk!.price);
  return `${book!.bids.length} bids, ${book!.asks.length} asks`;
};

const bookCalls: Calls = {
  "client.orderbooks": solBook((it) => it.symbol),
  "client.orderbooks().resource": solBook((it) => it.symbol),
  "client.orderbooks().prefetch": parses(async (desk) =>
    bookOf((await desk.newClient({ auth: false }).orderbooks().prefetch("SOL")).snapshot()),
  ),
  "client.orderbooks().peek": parses(async (desk) => {
    const books = desk.newClient({ auth: false }).orderbooks();
    expect(books.peek("SOL")).toBeUndefined();
    await books.prefetch("SOL");
    return bookOf(books.peek("SOL")!.snapshot());
  }),
  "client.orderbooks().clear": parses(async (desk) => {
    const books = desk.newClient({ auth: false }).orderbooks();
    await books.prefetch("SOL");
    books.clear("SOL");
    expect(books.peek("SOL")).toBeUndefined();
    return "";
  }),
  "client.orderbooks().close": solBook(() => ""),
  "client.orderbooks().resource().retain": solBook((it) => it.status().health),
  "client.orderbooks().resource().ready": solBook(async (it) => bookOf(await it.ready())),
  "client.orderbooks().resource().status": solBook((it) => it.status().health),
  "client.orderbooks().resource().snapshot": solBook((it) => bookOf(it.snapshot())),
  "client.orderbooks().resource().refresh": solBook(async (it) => bookOf(await it.refresh())),
  "client.orderbooks().resource().subscribe": solBook(async (it, desk) => {
    const price = Math.round(((it.snapshot()?.mid ?? 0) + 0.5) * 100) / 100;
    await desk.sim("mark-price", { symbol: "SOL", price: price.toFixed(2) });
    await when(
      (told) => it.subscribe(told),
      () => Math.abs((it.snapshot()?.mid ?? 0) - price) < 0.02,
    );
    return "told of a move";
  }),
  "client.orderbooks().resource().reconnect": solBook(async (it) => {
    it.reconnect();
    await when(
      (told) => it.subscribe(told),
      () => it.status().health === "live",
    );
    return "live again";
  }),
  "client.orderbooks().resource().close": solBook((it) => {
    it.close();
    return it.status().health;
  }),
};

type State = ReturnType<sdk.PhoenixTraderStateManager["resource"]>;
const state = (look: (it: State, desk: Desk) => unknown): Call =>
  parses(async (desk) => {
    const client = desk.newClient({ auth: false });
    const states = sdk.createTraderStateStore(client);
    const resource = states.resource({ authority: desk.lived.authority });
    const release = resource.retain();
    await resource.ready();
    await when(
      (told) => resource.subscribe(told),
      () => resource.status().health === "live",
    );
    const note = await look(resource, desk);
    release();
    states.close();
    return String(note ?? "");
  });
const subaccounts = (snapshot: { subaccounts: readonly unknown[] } | null) =>
  some(snapshot?.subaccounts ?? [], "subaccounts");

const stateCalls: Calls = {
  "traderStates.resource": state((it) => it.key),
  "traderStates.prefetch": parses(async (desk) => {
    const states = sdk.createTraderStateStore(desk.newClient({ auth: false }));
    const resource = await states.prefetch({ authority: desk.lived.authority });
    return subaccounts(resource.snapshot());
  }),
  "traderStates.peek": parses(async (desk) => {
    const states = sdk.createTraderStateStore(desk.newClient({ auth: false }));
    await states.prefetch({ authority: desk.lived.authority });
    return subaccounts(states.peek({ authority: desk.lived.authority })!.snapshot());
  }),
  "traderStates.clear": parses(async (desk) => {
    const states = sdk.createTraderStateStore(desk.newClient({ auth: false }));
    await states.prefetch({ authority: desk.lived.authority });
    states.clear({ authority: desk.lived.authority });
    expect(states.peek({ authority: desk.lived.authority })).toBeUndefined();
    return "";
  }),
  "traderStates.close": state(() => ""),
  "traderStates.resource().retain": state((it) => it.status().health),
  "traderStates.resource().ready": state(async (it) => subaccounts(await it.ready())),
  "traderStates.resource().status": state((it) => it.status().health),
  "traderStates.resource().snapshot": state((it) => subaccounts(it.snapshot())),
  "traderStates.resource().snapshotMeta": state((it) => it.snapshotMeta()?.capabilities?.state),
  "traderStates.resource().subaccountIndices": state((it) => it.subaccountIndices().join(" ")),
  "traderStates.resource().subaccount": state((it) => some(it.subaccount(0)!.positionSymbols, "positions")),
  "traderStates.resource().position": state(
    (it) => `${it.position(1, "GOLD")!.basePositionLots} lots of gold`,
  ),
  "traderStates.resource().orders": state((it) => some(it.orders(0, "ETH"), "orders")),
  "traderStates.resource().order": state((it) => {
    const [first] = it.orders(0, "ETH");
    return it.order(0, "ETH", first!.orderSequenceNumber)!.side;
  }),
  "traderStates.resource().triggers": state((it) => {
    expect(it.triggers(0, "SOL")).not.toBeNull();
    return "of SOL";
  }),
  "traderStates.resource().lastMessage": state((it) => it.lastMessage()!.messageType),
  "traderStates.resource().messageMeta": state((it) => it.messageMeta().lastMessageType),
  "traderStates.resource().marginInputs": state((it) => subaccounts(it.marginInputs())),
  "traderStates.resource().refresh": state(async (it) => subaccounts(await it.refresh())),
  "traderStates.resource().subscribe": state(async (it, desk) => {
    // Deltas on top of a snapshot lead to what HTTP says.
    await desk.sim("order", { trader: "lived", symbol: "BTC", side: "bid", price: "50000", size: "0.01" });
    await desk.sim("position", { trader: "lived", symbol: "ETH", size: "0" });
    await when(
      (told) => it.subscribe(told),
      () => it.orders(0, "BTC").length === 1 && !it.position(0, "ETH"),
    );
    const { snapshot } = await desk.client.api.traders().getTraderStateSnapshot(desk.lived.authority);
    const [cross] = snapshot.subaccounts;
    const known = it.snapshot()!.subaccounts[0]!;
    expect([known.sequence, known.collateral]).toEqual([cross!.sequence, cross!.collateral]);
    const bySymbol = <T extends { symbol: string }>(rows: readonly T[]) =>
      [...rows].sort((a, b) => a.symbol.localeCompare(b.symbol));
    expect(bySymbol(known.positions)).toEqual(bySymbol(cross!.positions));
    expect(bySymbol(known.triggers)).toEqual(bySymbol(cross!.triggers));
    expect(known.orders.map((row) => row.symbol).sort()).toEqual(
      cross!.orders.map((row) => row.symbol).sort(),
    );
    return "two deltas make what HTTP says";
  }),
  "traderStates.resource().reconnect": state(async (it) => {
    it.reconnect();
    await when(
      (told) => it.subscribe(told),
      () => it.status().health === "live",
    );
    return "live again";
  }),
  "traderStates.resource().close": state((it) => {
    it.close();
    return it.status().health;
  }),
};

export const liveCalls: Calls = {
  ...exchangeCalls,
  ...marketDataCalls,
  ...bookCalls,
  ...stateCalls,
  "client.dispose": local(({ newClient }) => {
    newClient().dispose();
    return "";
  }),
  "client.api.dispose": local(({ newClient }) => {
    newClient().api.dispose();
    return "";
  }),
};
