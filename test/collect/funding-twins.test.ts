/** Two subaccounts may hold one market: their hourly rows share a natural key, wherever a page ends between them. */
import { expect, test } from "vitest";
import { BadRecords } from "../../src/collect/anomalies/bad-records.ts";
import type { CollectedWallet, WalletRun } from "../../src/collect/collector.ts";
import { fundingCollector } from "../../src/collect/collectors/funding.ts";
import { EventPublisher } from "../../src/collect/paging/event-publisher.ts";
import type { Event } from "../../src/domain/event.ts";
import { LedgerSlots } from "../../src/exchange/index.ts";
import { FakeClock } from "../support/clock.ts";
import { MemoryStore } from "./rig.ts";

const hour = 3_600_000;
const wallet: CollectedWallet = { name: "main", authority: "A", watchOnly: false, pdaIndices: [0] };
const nowMs = Date.UTC(2026, 0, 5, 12);

/** Five hours of two subaccounts in SOL and one in BTC, newest first: three rows an hour. */
const rows = Array.from({ length: 5 }, (_, index) => nowMs - index * hour).flatMap((timestamp) =>
  [
    ["SOL", "1"],
    ["BTC", "5"],
    ["SOL", "-2"],
  ].map(([symbol, fundingPayment]) => ({
    timestamp,
    symbol,
    fundingPayment,
    fundingRatePercentage: "0.01",
    positionSize: "10",
    positionSide: "long",
  })),
);

function daemon(store: MemoryStore, pageSize: number) {
  const clock = new FakeClock(nowMs + 1_000);
  const told: Event[] = [];
  const collector = fundingCollector({
    publisher: new EventPublisher(store, [wallet], store.kept, clock),
    badRecords: new BadRecords(clock, {} as never, () => {}),
    cursors: store.kept,
    elapsedMs: () => clock.elapsedMs(),
    slots: new LedgerSlots(),
  });
  const asked: Record<string, unknown>[] = [];
  const run = (catchUp: boolean): WalletRun => ({
    client: {
      fundingHourly: async (args: Record<string, unknown>) => {
        asked.push(args);
        const from = Number(args.cursor ?? 0);
        const more = from + pageSize < rows.length;
        return {
          events: rows.slice(from, from + pageSize),
          nextCursor: more ? String(from + pageSize) : null,
          prevCursor: null,
          hasMore: more,
        };
      },
    } as never,
    wallet,
    catchUp,
    gap: !catchUp,
    call: () => ({ deadlineMs: 10_000 }),
    nowMs: () => clock.nowMs(),
    observe: async (observation) => {
      if (observation.kind === "events") told.push(...observation.events);
      store.take(observation);
    },
  });
  return { told, asked, run: (catchUp: boolean) => collector.run(run(catchUp)) };
}

test.each([1, 2, 3, 4, 5, 7])("none is lost with %i rows a page, and none told twice", async (pageSize) => {
  const store = new MemoryStore();
  const first = daemon(store, pageSize);
  await first.run(false);
  // Whatever is left is worked off by a later start, which knows no more than was stored.
  const second = daemon(store, pageSize);
  for (let i = 0; i < 30; i++) if ((await second.run(true)) === "done") break;
  const third = daemon(store, pageSize + 3);
  await third.run(false);
  const told = [...first.told, ...second.told, ...third.told];
  expect(new Set(told.map(({ key }) => key)).size).toBe(told.length);
  const sol = told.filter(({ symbol }) => symbol === "SOL");
  expect(sol.reduce((sum, { fields }) => sum + Number(fields.payment), 0)).toBe(-5);
  expect(told).toHaveLength(15);
  for (const args of [...first.asked, ...second.asked])
    expect(
      Object.keys(args).every((name) => ["authority", "traderPdaIndex", "limit", "cursor"].includes(name)),
    ).toBe(true);
});
