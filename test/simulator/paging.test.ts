/**
 * Every paged endpoint, while new events arrive: following cursors to older rows, and back to newer ones, returns each
 * event exactly once. Events are identified by the daemon's natural keys.
 */
import { describe, expect, test } from "vitest";
import {
  allEndpoints,
  type Endpoint,
  type EndpointName,
  encodeRequest,
  nextPage,
} from "../../src/contract/index.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import type { Simulator } from "../../src/simulator/index.ts";
import { quiet, read, signIn, sim } from "./support.ts";

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

// biome-ignore lint/suspicious/noExplicitAny: tests read JSON of every shape
type Row = any;

const fundingAt = (it: Row) => `${it.symbol} ${it.timestamp} ${it.positionSize}`;
const place = (it: Row) => `${it.slot}.${it.slotIndex}.${it.instructionIndex ?? 0}.${it.eventIndex}`;
/** The field of the rows, and the key of one. */
const rowsOf: Readonly<Record<string, { field: string; key: (row: Row) => string }>> = {
  userCollateralHistory: { field: "data", key: (it) => `${place(it)}.${it.traderSubaccountIndex}` },
  authorityCollateralHistory: { field: "data", key: (it) => `${place(it)}.${it.traderSubaccountIndex}` },
  traderCollateralHistory: { field: "data", key: place },
  liquidationHistory: { field: "data", key: (it) => `${place(it)} ${it.kind} ${it.role}` },
  fundingHistory: { field: "events", key: fundingAt },
  fundingHourly: { field: "events", key: fundingAt },
  orderHistory: { field: "data", key: (it) => `${it.marketSymbol} ${it.orderSequenceNumber} ${it.side}` },
  tradesHistory: { field: "data", key: (it) => it.fillId },
  tradesV2: { field: "data", key: (it) => it.fillId },
  userTradesV2: { field: "data", key: (it) => it.fillId },
  ordersV2: { field: "data", key: place },
  marketFills: { field: "data", key: (it) => `${it.transactionSignature} ${it.baseQty} ${it.timestamp}` },
  notifications: { field: "items", key: (it) => `${it.source} ${it.id}` },
};

const paged = allEndpoints.filter((it) => it.paging !== null);

test("every paged endpoint is here", () => {
  expect(paged.map((it) => it.name).sort()).toEqual(Object.keys(rowsOf).sort());
});

/** A world with events of every kind: each call adds a few rows to every paged list. */
async function living(): Promise<{ simulator: Simulator; bearer: string; happen: () => Promise<void> }> {
  const simulator = await quiet({ traders: 1, accessTtlMs: 400 * 86_400_000 });
  const bearer = (await signIn(simulator)).access_token;
  const trader = "main";
  let turn = 0;
  await sim(simulator, "funding-rate", { symbol: "SOL", ratePercentage: "0.01" });
  async function happen(): Promise<void> {
    turn += 1;
    // A deposit and a withdrawal; an order that rests and is filled, and one that stays.
    await sim(simulator, "collateral", { trader, amount: String(20_000 + (turn % 2) * 100) });
    const side = turn % 2 ? "bid" : "ask";
    await sim(simulator, "order", {
      trader,
      symbol: "SOL",
      side,
      price: turn % 2 ? "160" : "140",
      size: "0.5",
    });
    await sim(simulator, "order", { trader, symbol: "BTC", side: "bid", price: "30000", size: "0.001" });
    // A stop loss, which takes liquidity; a liquidation in another account; funding at the hour.
    const own = { trader, subaccountIndex: 3, symbol: "GOLD" };
    await sim(simulator, "mark-price", { symbol: "GOLD", price: "2400" });
    await sim(simulator, "collateral", { trader, subaccountIndex: 3, amount: "400" });
    await sim(simulator, "position", { ...own, size: "1", entryPrice: "2400" });
    await sim(simulator, "mark-price", { symbol: "GOLD", price: "2060" });
    await sim(simulator, "mark-price", { symbol: "GOLD", price: "2400" });
    await sim(simulator, "position", { trader, symbol: "ETH", size: "0.1", stopLossPrice: "2900" });
    await sim(simulator, "mark-price", { symbol: "ETH", price: "2890" });
    await sim(simulator, "mark-price", { symbol: "ETH", price: "3000" });
    await sim(simulator, "advance", { ms: 3_600_000 });
  }
  return { simulator, bearer, happen };
}

describe(`cursors, seed ${seed}`, () => {
  test.each(paged.map((it) => [it.name, it] as const))("%s", { timeout: 60_000 }, async (name, endpoint) => {
    const { simulator, bearer, happen } = await living();
    await using _ = simulator;
    const random = seededRandom(seed);
    const { authority, traderPda } = simulator.traders[0]!;
    const own = rowsOf[name]!;
    const known = { authority, traderPubkey: traderPda, symbol: "SOL" };
    const base = Object.fromEntries(Object.entries(known).filter(([it]) => endpoint.params[it]?.required));
    const ask = async (args: object): Promise<Row> => {
      const { target } = encodeRequest(endpoint as Endpoint, { ...base, ...args } as never);
      return read(simulator, name as EndpointName, target, bearer);
    };
    const keys = (page: Row): string[] => page[own.field].map(own.key);
    const limit = () => 1 + Math.floor(random() * 4);
    for (let i = 0; i < 6; i++) await happen();

    // All rows, as one page.
    const there = keys(await ask({ limit: 100 }));
    expect(there.length).toBeGreaterThan(5);
    expect(new Set(there).size).toBe(there.length);

    // To older rows, while more are added.
    const first = await ask({ limit: limit() });
    const seen = keys(first);
    for (let page = first; ; ) {
      const on = nextPage(endpoint as Endpoint, page, "older");
      if (on === null) break;
      if (random() < 0.25) await happen();
      page = await ask({ ...on, limit: limit() });
      seen.push(...keys(page));
    }
    expect(seen).toEqual(there);
    if (endpoint.paging?.newer === null) return;

    // To newer rows, from the first page, while more are added, until there are none.
    await happen();
    const fresh: string[] = [];
    let page = first;
    for (let quietPages = 0; quietPages < 2; ) {
      const on = nextPage(endpoint as Endpoint, page, "newer");
      expect(on).not.toBeNull();
      const next = await ask({ ...on, limit: limit() });
      const found = keys(next);
      fresh.unshift(...found);
      if (!next.hasMore) quietPages += 1;
      if (quietPages === 1 && !next.hasMore) await happen();
      page = next;
      if (quietPages === 2 && next.hasMore) quietPages = 1;
    }
    const whole: string[] = [];
    for (let page = await ask({ limit: 97 }); ; ) {
      whole.push(...keys(page));
      const on = nextPage(endpoint as Endpoint, page, "older");
      if (on === null) break;
      page = await ask({ ...on, limit: 97 });
    }
    expect([...fresh, ...there]).toEqual(whole);
    expect(fresh.length).toBeGreaterThan(1);

    // Back from the newest page: a page of newer rows has a cursor to older ones.
    if (page[own.field].length > 0) {
      const back = nextPage(endpoint as Endpoint, page, "older");
      expect(back).not.toBeNull();
      const older = keys(await ask({ ...back, limit: 3 }));
      const at = whole.indexOf(keys(page).at(-1)!);
      expect(older).toEqual(whole.slice(at + 1, at + 4));
    }
  });
});
