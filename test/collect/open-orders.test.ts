/** An order may be open for long: what becomes of it stands in the list where it was placed, not at the front. */
import { expect, test } from "vitest";
import { BadRecords } from "../../src/collect/anomalies/bad-records.ts";
import type { CollectedWallet, WalletRun } from "../../src/collect/collector.ts";
import { ordersCollector } from "../../src/collect/collectors/orders.ts";
import { EventPublisher } from "../../src/collect/paging/event-publisher.ts";
import type { Event } from "../../src/domain/event.ts";
import { LedgerSlots } from "../../src/exchange/index.ts";
import { FakeClock } from "../support/clock.ts";
import { MemoryStore } from "./rig.ts";

const hour = 3_600_000;
const wallet: CollectedWallet = { name: "main", authority: "A", watchOnly: false, pdaIndices: [0] };
const startMs = Date.UTC(2026, 0, 5, 12);

interface Row {
  readonly orderSequenceNumber: string;
  readonly placedAt: number;
  status: string;
  completedAt: number | null;
}

/** Newest first. */
const rows: Row[] = [];

function place(number: number, atMs: number, status: string): Row {
  const row = { orderSequenceNumber: String(number), placedAt: atMs, status, completedAt: null };
  rows.unshift(row);
  return row;
}

function daemon(store: MemoryStore, clock: FakeClock) {
  const told: Event[] = [];
  const collector = ordersCollector({
    publisher: new EventPublisher(store, [wallet], store.kept, clock),
    badRecords: new BadRecords(clock, {} as never, () => {}),
    cursors: new Map(store.kept),
    elapsedMs: () => clock.elapsedMs(),
    slots: new LedgerSlots(),
  });
  let pages = 0;
  const run = (catchUp: boolean, gap: boolean): WalletRun => ({
    client: {
      orderHistory: async (args: { readonly cursor?: string; readonly limit: number }) => {
        pages++;
        const from = Number(args.cursor ?? 0);
        const limit = Math.min(args.limit, 50);
        const data = rows.slice(from, from + limit).map((row) => ({
          ...row,
          marketSymbol: "SOL",
          side: "bid",
          price: "100",
          baseQty: "1",
          remainingBaseQty: row.status === "filled" ? "0" : "1",
          filledBaseQty: row.status === "filled" ? "1" : "0",
        }));
        const more = from + limit < rows.length;
        return { data, nextCursor: more ? String(from + limit) : null, prevCursor: null, hasMore: more };
      },
    } as never,
    wallet,
    catchUp,
    gap,
    call: () => ({ deadlineMs: 10_000 }),
    nowMs: () => clock.nowMs(),
    observe: async (observation) => {
      if (observation.kind === "events") told.push(...observation.events);
      store.take(observation);
    },
  });
  return {
    told,
    pages: () => pages,
    read: async (gap: boolean) => {
      let outcome = await collector.run(run(false, gap));
      for (let i = 0; i < 40 && outcome === "more"; i++) outcome = await collector.run(run(true, false));
    },
  };
}

test("one that filled while nobody watched is found, however many orders were placed since", async () => {
  const clock = new FakeClock(startMs);
  const store = new MemoryStore();
  const first = daemon(store, clock);
  await first.read(true);
  const open = place(1, startMs + 1_000, "active");
  await clock.advance(hour);
  await first.read(false);
  expect(first.told.map(({ fields }) => fields.status)).toEqual(["active"]);
  for (let day = 1; day <= 10; day++) {
    for (let i = 0; i < 30; i++) place(100 * day + i, clock.nowMs() + i, "filled");
    await clock.advance(24 * hour);
    await first.read(false);
  }
  // The daemon is down.
  open.status = "filled";
  open.completedAt = clock.nowMs();
  await clock.advance(hour);
  const second = daemon(store, clock);
  await second.read(true);
  const filled = second.told.filter(({ key }) => key.includes("SOL:1:"));
  expect(filled.map(({ fields, backfilled }) => [fields.status, backfilled])).toEqual([["filled", false]]);
  const third = daemon(store, clock);
  await third.read(true);
  expect(third.told).toEqual([]);
  expect(third.pages()).toBeLessThan(4);
});
