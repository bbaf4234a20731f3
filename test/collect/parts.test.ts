/** A wallet has several PDA indices and inboxes: one that the exchange does not answer for blinds none of the others. */
import { expect, test } from "vitest";
import { AccountBook } from "../../src/collect/accounts.ts";
import { BadRecords } from "../../src/collect/anomalies/bad-records.ts";
import type { WalletCollector, WalletRun } from "../../src/collect/collector.ts";
import { liquidationsCollector } from "../../src/collect/collectors/liquidations.ts";
import { notificationsCollector } from "../../src/collect/collectors/notifications.ts";
import { traderStateCollector } from "../../src/collect/collectors/trader-state.ts";
import { MarketBook } from "../../src/collect/market-book.ts";
import { EventPublisher, ownCursors } from "../../src/collect/paging/event-publisher.ts";
import { walletEvent } from "../../src/collect/translate/event.ts";
import type { Observation } from "../../src/domain/observation.ts";
import { ExchangeError, LedgerSlots } from "../../src/exchange/index.ts";
import { FakeClock } from "../support/clock.ts";
import { MemoryStore } from "./rig.ts";

const wallet = {
  name: "main",
  authority: "GHYpNqWQYmSfXRF8Tm5qNtdkpu5b89MayjfBMU28JcLD",
  watchOnly: false,
  pdaIndices: [0, 1],
};

function rig() {
  const clock = new FakeClock("2026-03-01T12:00:00Z");
  const store = new MemoryStore();
  const accounts = new AccountBook([wallet], new Map());
  const log = { debug: () => {}, info: () => {}, warn: () => {} };
  const badRecords = new BadRecords(clock, log, () => {});
  const publisher = new EventPublisher(store, [wallet], new Map(), clock);
  const shared = {
    publisher,
    badRecords,
    cursors: new Map<string, string>(),
    elapsedMs: () => clock.elapsedMs(),
    slots: new LedgerSlots(),
  };
  const asked: string[] = [];
  const seen: Observation[] = [];
  const first = accounts.of("main")[0]!.address;
  /** Refuses what is asked about PDA index 0. */
  const answer = async <T>(about: unknown, reply: T): Promise<T> => {
    asked.push(String(about));
    if (about === 0 || about === first)
      throw new ExchangeError({ endpoint: "any", what: "no such account", reason: "refused", status: 400 });
    return reply;
  };
  const client = {
    traderState: (of: { traderPdaIndex: number }) =>
      answer(of.traderPdaIndex, {
        ...{ slot: 1, slotIndex: 0 },
        snapshot: { subaccounts: [], capabilities: { state: "uninitialized" } },
      }),
    notifications: (of: { traderPubkey: string }) => answer(of.traderPubkey, { items: [], nextCursor: null }),
    liquidationHistory: (of: { pdaIndex: number }) =>
      answer(of.pdaIndex, { data: [], hasMore: false, nextCursor: null, prevCursor: null }),
  };
  const run = {
    ...{ client, wallet, catchUp: false, gap: true, call: () => ({}), nowMs: () => clock.nowMs() },
    observe: async (observation: Observation) => void seen.push(observation),
  } as unknown as WalletRun;
  const read = (collector: WalletCollector) => collector.run(run);
  return { accounts, badRecords, shared, publisher, asked, seen, read };
}

test("trader states", async () => {
  const { accounts, badRecords, seen, read } = rig();
  const collector = traderStateCollector({
    accounts,
    badRecords,
    onNewAccount: () => {},
    elapsedMs: () => 0,
    everyMs: 5_000,
    slots: new LedgerSlots(),
  });
  await expect(read(collector)).rejects.toThrow("no such account");
  expect(seen.filter((one) => one.kind === "accounts").map((one) => one.pdaIndex)).toEqual([1]);
});

test("trader states while the answer about another one takes long", async () => {
  const { accounts, badRecords, seen } = rig();
  const collector = traderStateCollector({
    ...{ accounts, badRecords, onNewAccount: () => {} },
    ...{ elapsedMs: () => 0, everyMs: 5_000, slots: new LedgerSlots() },
  });
  const slow = Promise.withResolvers<void>();
  const other = Promise.withResolvers<void>();
  const client = {
    traderState: async ({ traderPdaIndex }: { traderPdaIndex: number }) => {
      if (traderPdaIndex === 0) await slow.promise;
      return {
        ...{ slot: 1, slotIndex: 0 },
        snapshot: { subaccounts: [], capabilities: { state: "uninitialized" } },
      };
    },
  };
  const observe = async (one: Observation) => {
    seen.push(one);
    other.resolve();
  };
  const run = { client, wallet, call: () => ({}), nowMs: () => 0, observe } as unknown as WalletRun;
  const ended = collector.run(run);
  await other.promise;
  const indices = () => seen.flatMap((one) => (one.kind === "accounts" ? [one.pdaIndex] : []));
  expect(indices()).toEqual([1]);
  slow.resolve();
  expect(await ended).toBe("done");
  expect(indices()).toEqual([1, 0]);
});

test("inboxes, though the wallet's inbox does not count as read", async () => {
  const { accounts, shared, publisher, asked, seen, read } = rig();
  const book = new MarketBook();
  book.take([{ symbol: "SOL", assetId: 1 } as never]);
  const collector = notificationsCollector({ ...shared, accounts, book, publisher });
  await expect(read(collector)).rejects.toThrow("no such account");
  expect(asked).toContain(accounts.of("main")[1]!.address);
  expect(seen.some((one) => one.kind === "events" && one.unacked !== undefined)).toBe(false);
});

test("inboxes, and the wallet's counts as read when the last of them was", async () => {
  const { accounts, shared, publisher } = rig();
  const book = new MarketBook();
  book.take([{ symbol: "SOL", assetId: 1 } as never]);
  const collector = notificationsCollector({ ...shared, accounts, book, publisher });
  const [first, second] = accounts.of("main").map(({ address }) => address);
  let refused: string | undefined = first;
  let nowMs = 1_000;
  const item = { source: "general", notificationType: "account", title: "", body: "x", createdAt: 1 };
  const client = {
    notifications: async ({ traderPubkey }: { traderPubkey: string }) => {
      if (traderPubkey === refused)
        throw new ExchangeError({ endpoint: "any", what: "503", reason: "server-error", status: 503 });
      return { items: [{ ...item, id: `${traderPubkey} ${nowMs}`, acked: false }], nextCursor: null };
    },
  };
  /** The times that the answers of a turn say that all of it was read. */
  const read = async () => {
    const told: (number | null | undefined)[] = [];
    await collector
      .run({
        ...{ client, wallet, catchUp: false, gap: false, call: () => ({}), nowMs: () => nowMs },
        observe: async (one: Observation) => {
          if (one.kind === "events" && one.wallet !== null) told.push(one.wholeMs);
        },
      } as unknown as WalletRun)
      .catch(() => {});
    nowMs += 1_000;
    return [...new Set(told)];
  };
  // It brings events of the other one.
  expect(await read()).toEqual([null]);
  refused = second;
  expect(await read()).toEqual([1_000]);
  refused = first;
  expect(await read()).toEqual([2_000]);
  refused = undefined;
  expect((await read()).at(-1)).toBe(4_000);
});

test("of an account that is gone are counted anew when something of the wallet was acknowledged", async () => {
  const { accounts, shared, publisher, seen } = rig();
  const own = { ...wallet, pdaIndices: [0] };
  const book = new MarketBook();
  book.take([{ symbol: "SOL", assetId: 1 } as never]);
  const acknowledged = new Set<string>();
  const collector = notificationsCollector({ ...shared, accounts, book, publisher, acknowledged });
  const [gone] = accounts.take(own, 0, [0, 2]);
  accounts.take(own, 1, [0]);
  let acked = false;
  const item = {
    source: "general",
    id: "1",
    notificationType: "account",
    title: "",
    body: "x",
    createdAt: 1,
  };
  const client = {
    notifications: async (of: { traderPubkey: string }) => ({
      items: of.traderPubkey === gone!.address ? [{ ...item, acked }] : [],
      nextCursor: null,
    }),
  };
  const read = () =>
    collector.run({
      ...{ client, wallet: own, catchUp: false, gap: false, call: () => ({}), nowMs: () => 2 },
      observe: async (observation: Observation) => void seen.push(observation),
    } as unknown as WalletRun);
  const counts = () => seen.flatMap((one) => (one.kind === "events" ? (one.unacked ?? []) : []));
  await read();
  accounts.take(own, 0, [0]);
  acked = true;
  await read();
  expect(counts()).toEqual([1, 1]);
  acknowledged.add("main");
  await read();
  expect(counts()).toEqual([1, 1, 0]);
  expect(acknowledged.size).toBe(0);
});

test("histories", async () => {
  const { accounts, shared, asked, read } = rig();
  await expect(read(liquidationsCollector(shared, accounts))).rejects.toThrow("no such account");
  expect(asked).toEqual(["0", "1"]);
});

test("faults of one endpoint that name no field are told apart by what they are, not by their numbers", () => {
  const said: string[] = [];
  const warn = (_fields: object, text: string) => void said.push(text);
  const clock = new FakeClock();
  const records = new BadRecords(clock, { debug: () => {}, info: () => {}, warn }, () => {});
  const take = (problem: string) =>
    records.take({ endpoint: "stream marketStats", wallet: null, problem, fields: [], body: () => null });
  for (const problem of ["frame of 7 characters", "frame of 81 characters", "its time is ahead"])
    take(problem);
  expect(said).toEqual([
    "the exchange sent what is not known here: frame of 7 characters",
    "the exchange sent what is not known here: its time is ahead",
  ]);
  // However many kinds there are, the log has an end.
  for (let n = 0; n < 1_000; n++) take(`fault ${"x".repeat(n)}`);
  expect(said.length).toBeLessThanOrEqual(21);
});

test("a name that passed to another key brings nothing along of what was stored", () => {
  const stored = new Map([
    ["first/main", "1000 another-key"],
    ["first/main/0", "1000 another-key"],
    ["accounts/main", "0.0 0.3"],
    ["history/fills/main/all", "{}"],
    ["first/hedge", `2000 ${wallet.authority}`],
    ["history/fills/hedge/all", "{}"],
    ["first/old", "3000"],
  ]);
  const named = (name: string) => ({ ...wallet, name });
  const own = ownCursors(
    stored,
    [wallet, named("hedge"), named("old")].map((one) => ({ ...one })),
  );
  expect([...own.keys()]).toEqual(["first/hedge", "history/fills/hedge/all", "first/old"]);
});

test("a wallet that is called like a part of the names of cursors takes along only what is its own", () => {
  const others = [
    "first/main",
    "first/main/0",
    "history/fills/main/all",
    "accounts/main",
    "past/main",
    "past/market/SOL",
    "marketPnl/main",
  ];
  for (const name of [
    "first",
    "history",
    "fills",
    "accounts",
    "past",
    "market",
    "marketPnl",
    "0",
    "SOL",
    "all",
  ]) {
    const renamed = { ...wallet, name, authority: "6JMzcBHW9QMNkeXGLvD37tn4Y5gMrBiBTBVkUp6WEVye" };
    const own = [
      `first/${name}`,
      `first/${name}/0`,
      `history/fills/${name}/all`,
      `accounts/${name}`,
      `past/${name}`,
    ];
    const stored = new Map([...others, ...own].map((cursor) => [cursor, `1 ${wallet.authority}`]));
    expect([...ownCursors(stored, [wallet, renamed]).keys()]).toEqual(others);
  }
});

test("what happened to a PDA index before it was watched is the past, however long the wallet was", async () => {
  const clock = new FakeClock("2026-03-01T12:00:00Z");
  const store = new MemoryStore();
  const nowMs = clock.nowMs();
  const dayMs = 86_400_000;
  const first = String(nowMs - 30 * dayMs);
  const publisher = new EventPublisher(
    store,
    [wallet],
    new Map([
      ["first/main", first],
      ["first/main/0", first],
    ]),
    clock,
  );
  const seen: Observation[] = [];
  const run = {
    ...{ wallet, nowMs: () => nowMs },
    observe: async (observation: Observation) => void seen.push(observation),
  } as unknown as WalletRun;
  const at = (pdaIndex: number) =>
    walletEvent("fill", wallet, {
      ...{ key: `f${pdaIndex}`, pdaIndex, happenedMs: nowMs - dayMs, seenMs: nowMs, fields: {} },
    });
  await publisher.publish(run, "fills", { events: [at(0), at(1)] });
  const told = seen.flatMap((one) => (one.kind === "events" ? one.events : []));
  expect(told.map(({ key, backfilled }) => [key, backfilled])).toEqual([
    ["f0", false],
    ["f1", true],
  ]);
});
