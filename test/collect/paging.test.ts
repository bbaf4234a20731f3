/** Paged histories against a list that grows at its front, gains rows late, fails, and outlives restarts. */
import { expect, test } from "vitest";
import { BadRecords } from "../../src/collect/anomalies/bad-records.ts";
import type { CollectedWallet, WalletCollector, WalletRun } from "../../src/collect/collector.ts";
import { historyCollector } from "../../src/collect/collectors/history.ts";
import { EventPublisher } from "../../src/collect/paging/event-publisher.ts";
import { History, type HistoryPage } from "../../src/collect/paging/paging.ts";
import { walletEvent } from "../../src/collect/translate/event.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import type { Event } from "../../src/domain/event.ts";
import { type ExchangeClient, ExchangeError, LedgerSlots } from "../../src/exchange/index.ts";
import { FakeClock } from "../support/clock.ts";
import { MemoryStore } from "./rig.ts";

const minute = 60_000;
const wallet: CollectedWallet = { name: "main", authority: "A", watchOnly: false, pdaIndices: [0] };

/** A list of the exchange, newest first; cursors name the row that a page ended with. */
class List {
  readonly rows: { readonly key: string; readonly atMs: number }[] = [];
  asked = 0;
  /** Pages behind so many rows lead to themselves. */
  loopsBehind = Number.POSITIVE_INFINITY;
  /** Asked next, these calls fail. */
  failing: (asked: number) => Error | null = () => null;
  /** Keys of rows that cannot be read. */
  readonly unreadable = new Set<string>();

  add(key: string, atMs: number): void {
    const at = this.rows.findIndex((row) => row.atMs <= atMs);
    this.rows.splice(at < 0 ? this.rows.length : at, 0, { key, atMs });
  }

  page(
    older: Readonly<Record<string, string>> | null,
    limit: number,
    onRejected: (places: readonly number[]) => void = () => {},
  ): HistoryPage & { keys: string[] } {
    this.asked++;
    const error = this.failing(this.asked);
    if (error) throw error;
    const from = older === null ? 0 : this.rows.findIndex((row) => row.key === older.cursor) + 1;
    const all = this.rows.slice(from, from + limit);
    const last = from > this.loopsBehind ? { key: String(older?.cursor) } : all.at(-1);
    const rows = all.filter(({ key }) => !this.unreadable.has(key));
    if (rows.length < all.length)
      onRejected(all.flatMap(({ key }, place) => (this.unreadable.has(key) ? [place] : [])));
    return {
      keys: rows.map((row) => row.key),
      rows: rows.map((row) => ({
        atMs: row.atMs,
        events: [walletEvent("fill", wallet, { key: row.key, happenedMs: row.atMs, seenMs: 0, fields: {} })],
      })),
      older: last && from + limit < this.rows.length ? { cursor: last.key } : null,
    };
  }
}

class Daemon {
  readonly told: Event[] = [];
  /** All that happened later is told, ms. */
  coversMs: number | undefined;
  readonly history: History;
  readonly #store: MemoryStore;
  readonly #clock: FakeClock;
  readonly #publisher: EventPublisher;
  #gap = true;
  storing = true;

  constructor(
    list: List,
    store: MemoryStore,
    clock: FakeClock,
    pastMs: number,
    eventsKeptMs: number | null = null,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#publisher = new EventPublisher(store, [wallet], store.kept, clock, eventsKeptMs);
    this.history = new History({
      name: "history/test",
      pastMs,
      publisher: this.#publisher,
      stored: store.kept.get("history/test"),
      page: async (_run, older, catchUp, call) => list.page(older, catchUp ? 50 : 10, call.onRejected),
    });
  }

  #run(catchUp: boolean): WalletRun {
    return {
      client: {} as ExchangeClient,
      wallet,
      catchUp,
      gap: this.#gap,
      call: () => ({ deadlineMs: 10_000 }),
      nowMs: () => this.#clock.nowMs(),
      observe: async (observation) => {
        if (!this.storing) throw new Error("database or disk is full");
        if (observation.kind === "events") {
          this.told.push(...observation.events);
          this.coversMs = observation.coversMs;
        }
        this.#store.take(observation);
      },
    };
  }

  async turn(): Promise<void> {
    const run = this.#run(false);
    try {
      const reading = await this.history.read(run, this.#clock.elapsedMs());
      await this.#publisher.publish(run, "fills", reading.batch);
      reading.done();
      if (reading.failure) throw reading.failure;
      this.#gap = false;
    } catch {
      this.#gap = true;
    }
  }

  async catchUp(): Promise<boolean> {
    if (!this.history.hasBacklog) return false;
    const run = this.#run(true);
    try {
      const reading = await this.history.catchUp(run);
      await this.#publisher.publish(run, "fills", reading.batch);
      reading.done();
    } catch {
      return false;
    }
    return true;
  }
}

function world(pastMs = 365 * 86_400_000) {
  const clock = new FakeClock("2026-06-01T00:00:00Z");
  const list = new List();
  const store = new MemoryStore();
  return { clock, list, store, boot: () => new Daemon(list, store, clock, pastMs) };
}

const keys = (events: readonly Event[]) => events.map((event) => event.key);

test("at first sight the past is stored silently, oldest first within a page, and what comes is live", async () => {
  const { clock, list, boot } = world();
  const nowMs = clock.nowMs();
  for (let i = 0; i < 130; i++) list.add(`old${i}`, nowMs - (i + 1) * minute);
  const daemon = boot();
  await daemon.turn();
  expect(list.asked).toBeLessThanOrEqual(2);
  const first = daemon.told.map((event) => event.happenedMs);
  expect(first).toEqual([...first].sort((a, b) => a - b));
  while (await daemon.catchUp());
  expect(new Set(keys(daemon.told)).size).toBe(130);
  expect(daemon.told.length).toBe(130);
  expect(daemon.told.every((event) => event.backfilled)).toBe(true);
  await clock.advance(minute);
  list.add("new", clock.nowMs());
  const before = list.asked;
  await daemon.turn();
  expect(list.asked - before).toBe(1);
  expect(daemon.told.at(-1)).toMatchObject({ key: "new", backfilled: false });
});

test("the past ends where it is told to end", async () => {
  const { clock, list, boot } = world(100 * minute);
  for (let i = 0; i < 1_000; i++) list.add(`old${i}`, clock.nowMs() - (i + 1) * minute);
  const daemon = boot();
  await daemon.turn();
  while (await daemon.catchUp());
  expect(daemon.told.length).toBeGreaterThanOrEqual(100);
  expect(daemon.told.length).toBeLessThanOrEqual(160);
});

test("a page that leads to itself is read once more, and what is behind it stays unread", async () => {
  const { clock, list, boot } = world();
  list.add("known", clock.nowMs());
  await boot().turn();
  await clock.advance(86_400_000);
  for (let i = 0; i < 1_000; i++) list.add(`missed${i}`, clock.nowMs() - (i + 1) * minute);
  list.loopsBehind = 99;
  const daemon = boot();
  await daemon.turn();
  let pages = 0;
  while (pages < 50 && (await daemon.catchUp())) pages++;
  expect(pages).toBeLessThan(10);
  expect(daemon.history.hasBacklog).toBe(true);
  expect(daemon.told.length).toBeGreaterThanOrEqual(100);
});

test("a list that does not change costs one request and no look-up", async () => {
  const { clock, list, store, boot } = world();
  for (let i = 0; i < 5; i++) list.add(`old${i}`, clock.nowMs() - i * minute);
  const daemon = boot();
  await daemon.turn();
  await daemon.turn();
  const [asked, lookups] = [list.asked, store.lookups];
  for (let i = 0; i < 10; i++) {
    await clock.advance(10_000);
    await daemon.turn();
  }
  expect(list.asked - asked).toBe(10);
  expect(store.lookups).toBe(lookups);
});

test("after downtime everything that was missed is told once, live, oldest first", async () => {
  const { clock, list, boot } = world();
  const before = boot();
  await before.turn();
  await clock.advance(24 * 60 * minute);
  for (let i = 0; i < 35; i++) list.add(`missed${i}`, clock.nowMs() - 1_000_000 + i * 1_000);
  const daemon = boot();
  await daemon.turn();
  expect(keys(daemon.told)).toEqual(Array.from({ length: 35 }, (_, i) => `missed${i}`));
  expect(daemon.told.every((event) => !event.backfilled)).toBe(true);
});

test("more than fits into one run is told in the runs that follow, across a crash", async () => {
  const { clock, list, boot } = world();
  await boot().turn();
  await clock.advance(24 * 60 * minute);
  for (let i = 0; i < 400; i++) list.add(`missed${i}`, clock.nowMs() - (400 - i) * 1_000);
  const crashed = boot();
  await crashed.turn();
  await crashed.catchUp();
  const daemon = boot();
  await daemon.turn();
  while (await daemon.catchUp());
  const all = [...keys(crashed.told), ...keys(daemon.told)];
  expect(all.length).toBe(400);
  expect(new Set(all).size).toBe(400);
});

test("a daemon that dies again and again with too much to read walks over it once in the end", async () => {
  const { clock, list, boot } = world();
  await boot().turn();
  await clock.advance(60 * minute);
  const told: string[] = [];
  let rows = 0;
  for (let life = 0; life < 20; life++) {
    for (let i = 0; i < 100; i++) list.add(`missed${rows++}`, clock.nowMs() - (100 - i) * 10);
    const crashed = boot();
    await crashed.turn();
    if (life % 3 === 0) await crashed.catchUp();
    told.push(...keys(crashed.told));
    await clock.advance(2_000);
  }
  const last = boot();
  await last.turn();
  const before = list.asked;
  while (await last.catchUp());
  told.push(...keys(last.told));
  expect(told.toSorted()).toEqual(list.rows.map(({ key }) => key).toSorted());
  // Pages of 50.
  expect(list.asked - before).toBeLessThanOrEqual(rows / 50 + 2);
});

test("a row that is indexed late stands among known ones, and is found: after a gap at once, else within minutes", async () => {
  const { clock, list, boot } = world();
  for (let i = 0; i < 40; i++) list.add(`a${i}`, clock.nowMs() - i * 15_000);
  const daemon = boot();
  await daemon.turn();
  while (await daemon.catchUp());
  // Behind the first page of ten, nine minutes before the newest.
  list.add("late", clock.nowMs() - 9 * minute);
  await clock.advance(10_000);
  await daemon.turn();
  expect(keys(daemon.told)).not.toContain("late");
  await clock.advance(6 * minute);
  await daemon.turn();
  expect(keys(daemon.told)).toContain("late");

  list.add("later", clock.nowMs() - 15 * minute);
  const after = boot();
  await after.turn();
  expect(keys(after.told)).toEqual(["later"]);
});

test("a cursor that the exchange no longer takes is given up, and nothing is missed", async () => {
  const { clock, list, boot } = world();
  for (let i = 0; i < 200; i++) list.add(`old${i}`, clock.nowMs() - (i + 1) * minute);
  const daemon = boot();
  await daemon.turn();
  const from = list.asked;
  list.failing = (asked) =>
    asked === from + 1
      ? new ExchangeError({ endpoint: "x", reason: "refused", status: 400, what: "400 bad cursor" })
      : null;
  while (await daemon.catchUp());
  expect(new Set(keys(daemon.told)).size).toBe(200);
  expect(daemon.told.length).toBe(200);
});

test("what could not be stored is told again", async () => {
  const { clock, list, boot } = world();
  const daemon = boot();
  await daemon.turn();
  await clock.advance(minute);
  list.add("one", clock.nowMs());
  daemon.storing = false;
  await daemon.turn();
  daemon.storing = true;
  await daemon.turn();
  expect(keys(daemon.told)).toEqual(["one"]);
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "no row is missed and none is told twice, whatever happens (seed %d)",
  async (seed) => {
    const random = seededRandom(seed);
    const { clock, list, boot } = world();
    const startMs = clock.nowMs();
    let made = 0;
    const make = (atMs: number) => list.add(`row${made++}`, atMs);
    for (let i = 0; i < random() * 100; i++) make(startMs - random() * 3_600_000);
    const unwell = new ExchangeError({ endpoint: "x", reason: "server-error", what: "503" });
    let trouble = 0;
    list.failing = () => (random() < trouble ? unwell : null);
    let daemon = boot();
    const told: Event[] = [];
    for (let step = 0; step < 400; step++) {
      const what = random();
      if (what < 0.3) {
        const count = random() < 0.05 ? 80 : random() * 5;
        // Some are indexed up to nine minutes late.
        for (let i = 0; i < count; i++) make(clock.nowMs() - (random() < 0.1 ? random() * 9 * minute : 0));
      } else if (what < 0.85) await daemon.turn();
      else if (what < 0.95) await daemon.catchUp();
      else if (what < 0.97) {
        told.push(...daemon.told);
        daemon = boot();
      } else if (what < 0.985) daemon.storing = !daemon.storing;
      else trouble = random() < 0.5 ? 0 : 0.5;
      await clock.advance(random() * 20_000);
    }
    trouble = 0;
    daemon.storing = true;
    told.push(...daemon.told);
    // A last start finds what is left.
    daemon = boot();
    await daemon.turn();
    while (await daemon.catchUp());
    told.push(...daemon.told);
    const seen = new Map<string, number>();
    for (const { key } of told) seen.set(key, (seen.get(key) ?? 0) + 1);
    const missing = list.rows.filter((row) => !seen.has(row.key)).map((row) => row.key);
    expect({ seed, missing }).toEqual({ seed, missing: [] });
    expect([...seen].filter(([, times]) => times > 1)).toEqual([]);
    for (const event of told) expect(event.backfilled).toBe(event.happenedMs < startMs);
  },
);

test("a row of the future hides no row that is indexed late", async () => {
  const { clock, list, boot } = world();
  const nowMs = clock.nowMs();
  for (let i = 0; i < 60; i++) list.add(`row${i}`, nowMs - i * 20_000);
  list.add("future", nowMs + 365 * 86_400_000);
  const first = boot();
  await first.turn();
  while (await first.catchUp());
  // Among those of the second page.
  list.add("late", nowMs - 15 * 20_000 - 1);
  const second = boot();
  await second.turn();
  expect(keys(second.told)).toContain("late");
});

test("what history has let go of is not told again", async () => {
  const { clock, list, store } = world();
  const keptMs = 30 * 86_400_000;
  const boot = () => new Daemon(list, store, clock, 365 * 86_400_000, keptMs);
  const first = boot();
  await first.turn();
  await clock.advance(minute);
  list.add("old", clock.nowMs());
  await first.turn();
  expect(first.told).toMatchObject([{ key: "old", backfilled: false }]);
  await clock.advance(keptMs + minute);
  list.add("new", clock.nowMs());
  for (const [name, { happenedMs }] of store.stored)
    if (happenedMs < clock.nowMs() - keptMs) store.stored.delete(name);
  const second = boot();
  await second.turn();
  expect(second.told).toMatchObject([
    { key: "old", backfilled: true },
    { key: "new", backfilled: false },
  ]);
});

test("a row that cannot be read limits what is told, until it can be", async () => {
  const { clock, list, boot } = world();
  const nowMs = clock.nowMs();
  for (let i = 0; i < 25; i++) list.add(`row${i}`, nowMs - i * minute);
  const timeOf = (key: string) => list.rows.find((row) => row.key === key)!.atMs;
  const read = async (daemon: Daemon) => {
    await daemon.turn();
    while (await daemon.catchUp());
    return daemon.coversMs;
  };
  for (const key of ["row4", "row5", "row17"]) list.unreadable.add(key);
  const first = boot();
  expect(await read(first)).toBe(timeOf("row3"));
  expect(keys(first.told)).toHaveLength(22);
  // A start reads the newest rows once more, and remembers what it could not read of the others.
  list.unreadable.delete("row4");
  list.unreadable.delete("row5");
  const second = boot();
  expect(await read(second)).toBe(timeOf("row16"));
  expect(keys(second.told).sort()).toEqual(["row4", "row5"]);
  // The newest of all: it may have happened up to now.
  await clock.advance(minute);
  list.add("newest", clock.nowMs());
  list.unreadable.add("newest");
  await clock.advance(minute);
  expect(await read(second)).toBe(clock.nowMs());
  list.unreadable.clear();
  await read(second);
  expect(keys(second.told)).toContain("newest");
  expect(second.coversMs).toBe(timeOf("row16"));
  // One that was read before hides nothing, unless another stands beside it.
  list.unreadable.add("row2");
  list.unreadable.add("row24");
  expect(await read(second)).toBe(timeOf("row16"));
  list.add("late", timeOf("row2"));
  list.unreadable.add("late");
  expect(await read(second)).toBe(timeOf("row1"));
  list.unreadable.clear();
  expect(await read(second)).toBe(timeOf("row16"));
  expect(keys(second.told)).toContain("late");
  // Deep readings come by the others again.
  await clock.advance(10 * minute);
  const third = boot();
  expect(await read(third)).toBe(0);
  expect(keys(third.told)).toEqual(["row17"]);
});

test("rows whose slots are far ahead of the ledger are unread, beside those that do not fit the contract", async () => {
  const { clock, store } = world();
  const nowMs = clock.nowMs();
  const list = new List();
  for (let i = 0; i < 6; i++) list.add(`row${i}`, nowMs - i * minute);
  list.unreadable.add("row1").add("row4");
  const slots = new LedgerSlots();
  const slotOf = new Map([
    ["row0", 100],
    ["row2", 100_000],
    ["row3", 1_780_000_000],
  ]);
  const log = { debug: () => {}, info: () => {}, warn: () => {} };
  const kept: string[] = [];
  const keep = ({ body }: { readonly body: string }) => void kept.push(body);
  const token = "token-of-the-session";
  const badRecords = new BadRecords(clock, log, keep, () => [token]);
  const publisher = new EventPublisher(store, [wallet], store.kept, clock);
  const told: Event[] = [];
  let coversMs: number | undefined;
  const collector = historyCollector(
    { publisher, badRecords, cursors: store.kept, elapsedMs: () => clock.elapsedMs(), slots },
    {
      source: "fills",
      endpoint: "tradesHistory",
      pastMs: 365 * 86_400_000,
      parts: () => [
        {
          name: "all",
          page: async (_run, older, _catchUp, { onRejected }) => {
            const page = list.page(older, 10, onRejected);
            const at = (event: Event): Event => ({
              ...event,
              slot: slotOf.get(event.key) ?? 1,
              ...(event.key === "row3" ? { signature: `5x ${token}` } : {}),
            });
            return { ...page, rows: page.rows.map((row) => ({ ...row, events: row.events.map(at) })) };
          },
        },
      ],
    },
  ) as WalletCollector;
  const read = () =>
    collector.run({
      ...{ client: {} as ExchangeClient, wallet, catchUp: false, gap: true },
      call: () => ({ deadlineMs: 10_000 }),
      nowMs: () => clock.nowMs(),
      observe: async (observation) => {
        store.take(observation);
        if (observation.kind !== "events") return;
        told.push(...observation.events);
        coversMs = observation.coversMs;
      },
    });
  const answers = { doubtedSlot: null };
  slots.take(90, clock.nowMs(), answers);
  await read();
  expect(keys(told).sort()).toEqual(["row0", "row5"]);
  expect([coversMs, badRecords.count]).toEqual([nowMs, 2]);
  // The kept rows repeat no token.
  expect(kept.join()).toMatch(/row[23]/);
  expect(kept.join()).not.toContain(token);
  // The ledger came to one of them meanwhile, the other one is sent as it is.
  slots.take(1_900, clock.nowMs(), answers);
  slotOf.set("row2", 3_000);
  slotOf.set("row3", 3_000);
  list.unreadable.delete("row1");
  await read();
  expect(keys(told).sort()).toEqual(["row0", "row1", "row2", "row3", "row5"]);
  expect(coversMs).toBe(nowMs - 3 * minute);
});

test("a part whose past cannot be read holds up no other", async () => {
  const { clock, store } = world();
  const lists = [new List(), new List()];
  for (const [part, list] of lists.entries())
    for (let i = 0; i < 60; i++) list.add(`${part} ${i}`, clock.nowMs() - i * 60 * minute);
  const log = { debug: () => {}, info: () => {}, warn: () => {} };
  const publisher = new EventPublisher(store, [wallet], store.kept, clock);
  const badRecords = new BadRecords(clock, log, () => {});
  const elapsedMs = () => clock.elapsedMs();
  const collector = historyCollector(
    { publisher, badRecords, cursors: store.kept, elapsedMs, slots: new LedgerSlots() },
    {
      source: "funding",
      endpoint: "fundingHourly",
      pastMs: 365 * 86_400_000,
      parts: () =>
        lists.map((list, part) => ({
          name: String(part),
          page: async (_run, older, catchUp) => {
            if (catchUp && part === 0)
              throw new ExchangeError({ endpoint: "fundingHourly", reason: "bad-record", what: "rubbish" });
            return list.page(older, 10);
          },
        })),
    },
  ) as WalletCollector;
  const run = (catchUp: boolean): WalletRun => ({
    ...{ client: {} as ExchangeClient, wallet, catchUp, gap: true },
    call: () => ({ deadlineMs: 10_000 }),
    nowMs: () => clock.nowMs(),
    observe: async (observation) => store.take(observation),
  });
  await collector.run(run(false));
  for (let i = 0; i < 10; i++) await expect(collector.run(run(true))).rejects.toThrow("rubbish");
  const known = (part: number) => [...store.stored.values()].filter(({ key }) => key.startsWith(`${part} `));
  expect(known(0).length).toBeLessThan(60);
  expect(known(1)).toHaveLength(60);
});
