/**
 * Polls a second, end to end, against a bare loop, both in this process, on one core, in turns.
 *
 *   daemon   fetch ─► parse ─► validate ─► translate ─► tick with 20 rules ─► commit    (client, collector, ingest, watch)
 *   bare     fetch ─► parse ─► validate ─────────────────────────────────► insert    (same pool, same table and settings)
 *
 * 64 requests are under way and 64 observations make a transaction, on both sides. The bare loop inserts what the daemon
 * would: ticks of the same records, packed beforehand. Marks move between the rounds; what that costs, which in life
 * depends on the number of wallets and not of polls, is told apart, and is in the figures of paced.ts. Where the
 * microseconds go is measured on the same records, one stage after the other.
 *
 *   node test/bench/daemon/polls.ts URL SECONDS ROUNDS [daemon|bare: that side alone, for a profiler]
 */
import path from "node:path";
import { Pool } from "undici";
import { AccountBook } from "../../../src/collect/accounts.ts";
import { BadRecords } from "../../../src/collect/anomalies/bad-records.ts";
import { traderStateCollector } from "../../../src/collect/collectors/trader-state.ts";
import { subaccountState } from "../../../src/collect/translate/trader-state.ts";
import { endpoints } from "../../../src/contract/endpoints.ts";
import { parseJson } from "../../../src/contract/json.ts";
import { parseReply } from "../../../src/contract/reply.ts";
import { systemClock } from "../../../src/domain/clock.ts";
import type { Observation, Tick } from "../../../src/domain/observation.ts";
import type { Changes } from "../../../src/domain/stored/changes.ts";
import { createExchange, LedgerSlots, lanes } from "../../../src/exchange/index.ts";
import { openDatabase } from "../../../src/history/database.ts";
import { openStore } from "../../../src/history/index.ts";
import { cpuUs, median } from "./figures.ts";
import { benchFolder, ingestLoop, newWatch, noRules, prices, rulesText } from "./judging.ts";
import { benchWallets, TraderStates } from "./world.ts";

/** Polls a second, by the clock and by processor time. */
export interface Rate {
  readonly perSecond: number;
  readonly perCpuSecond: number;
}

export interface PollsResult {
  readonly wallets: number;
  readonly bytes: number;
  readonly daemon: Rate;
  readonly bare: Rate;
  /** Medians over the rounds of daemon against bare. */
  readonly ratio: { readonly byClock: number; readonly byCpu: number };
  readonly rounds: readonly { readonly daemon: Rate; readonly bare: Rate }[];
  /** Processor time, µs a poll, measured stage by stage. */
  readonly stages: Readonly<Record<string, number>>;
  /** The cost of a change of all marks costs for each account with its 20 rules, µs. */
  readonly marksUsPerAccount: number;
  readonly perTransaction: number;
}

const inFlight = 64;
const perCommit = 64;
const warmUpPolls = 50_000;
const warmUpMs = Number(process.argv[3] ?? 1) < 1 ? 5_000 : 25_000;

const [url = "", seconds = "1", rounds = "30", only] = process.argv.slice(2);
const clock = systemClock();
const folder = benchFolder();
const wallets = benchWallets(1_000);

function daemonSide() {
  const store = openStore({ path: path.join(folder, "daemon.db"), clock });
  const exchange = createExchange({
    settings: { baseUrl: url, requestsPerSecond: 1e6 },
    version: "0.0.0",
    clock,
    random: Math.random,
    wallets: [],
    store,
    onSession: () => {},
    onTrouble: () => {},
    onBadRecord: ({ problem }) => fail(problem),
  });
  let [commits, ticks] = [0, 0];
  const counted = {
    commit: (batch: readonly Changes[]) => {
      commits++;
      for (const one of batch) ticks += one.ticks.length;
      return store.commit(batch);
    },
    knownEvents: store.knownEvents.bind(store),
  };
  const ingest = ingestLoop({
    watch: newWatch(wallets, rulesText(true), clock.nowMs()),
    store: counted,
    clock,
    onCommitted: ({ alertChanges }) => {
      if (alertChanges.length > 0) fail(`nothing should fire here: ${alertChanges[0]?.alert.summary}`);
    },
  });
  const log = { debug: () => {}, info: () => {}, warn: (_: object, text: string) => fail(text) };
  const collected = wallets.map(({ name, authority }) => ({
    name,
    authority,
    watchOnly: true,
    pdaIndices: [0],
  }));
  const collector = traderStateCollector({
    accounts: new AccountBook(collected, new Map()),
    badRecords: new BadRecords(clock, log, () => {}),
    onNewAccount: () => {},
    elapsedMs: () => 0,
    everyMs: 5_000,
    slots: new LedgerSlots(),
  });
  // Every wallet is polled far more often than in life; for the watch a round of them takes its 5 s all the same, so that
  // windows and clocks hold what they would hold.
  const startMs = clock.nowMs();
  let polled = 0;
  const nowMs = (): number => startMs + Math.floor((polled / collected.length) * 5_000);
  const waiting: Observation[] = [];
  const { signal } = new AbortController();
  let call = 0;
  return {
    async begin(): Promise<void> {
      await ingest.observe(prices(call++, nowMs()));
    },
    async poll(): Promise<void> {
      const wallet = collected[polled++ % collected.length]!;
      await collector.run({
        client: exchange.client,
        wallet,
        catchUp: false,
        gap: false,
        call: () => ({ wallet: wallet.name, lane: lanes.state, signal, deadlineMs: 15_000 }),
        nowMs,
        // Handed on in transactions of 64, whatever the network brings at a time.
        observe: (observation) => {
          waiting.push(observation);
          if (waiting.length === perCommit)
            for (const one of waiting.splice(0)) ingest.observe(one).catch(fail);
          return Promise.resolve();
        },
      });
    },
    async settle(): Promise<void> {
      for (const one of waiting.splice(0)) ingest.observe(one).catch(fail);
      await ingest.settled();
    },
    perTransaction: () => ticks / commits,
    async stop(): Promise<void> {
      await ingest.stop();
      await exchange.stop();
      await store.close();
    },
  };
}

function bareSide(ticks: readonly Tick[]) {
  const { origin } = new URL(url);
  const pool = new Pool(origin, {
    connections: 64,
    pipelining: 1,
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
    keepAliveTimeout: 30_000,
    maxResponseSize: 16 * 1_048_576,
  });
  const { db, close } = openDatabase(path.join(folder, "bare.db"));
  const insert = db.prepare("INSERT INTO ticks VALUES (?, ?, ?, ?, ?)");
  const packed = ticks.map(({ values }) => Buffer.from(new Float64Array(values).buffer));
  let seq = 0;
  let polled = 0;
  const waiting: number[] = [];
  const write = db.transaction(() => {
    for (const atMs of waiting)
      insert.run(++seq, atMs, 1 + (seq % wallets.length), 1, packed[seq % packed.length]);
  });
  const flush = (): void => {
    write();
    waiting.length = 0;
  };
  const headers = { accept: "application/json", "accept-encoding": "identity" };
  return {
    async begin(): Promise<void> {},
    async poll(): Promise<void> {
      const { authority } = wallets[polled++ % wallets.length]!;
      const path = `/v1/trader/state/${authority}?traderPdaIndex=0`;
      const { statusCode, body } = await pool.request({ path, method: "GET", headers });
      const parsed = parseReply(endpoints.traderState, parseJson(await body.text()));
      if (statusCode !== 200 || !parsed.ok) fail("the bare loop was answered badly");
      waiting.push(Date.now());
      if (waiting.length === perCommit) flush();
    },
    async settle(): Promise<void> {
      flush();
    },
    async stop(): Promise<void> {
      await pool.destroy();
      close();
    },
  };
}

interface Side {
  /** Before a round, outside of what is measured. */
  begin(): Promise<void>;
  /** The next wallet. */
  poll(): Promise<void>;
  settle(): Promise<void>;
}

/** @param most ends it early */
async function rate(side: Side, ms: number, most = Number.POSITIVE_INFINITY): Promise<Rate> {
  let polls = 0;
  await side.begin();
  const startMs = performance.now();
  const startUs = cpuUs();
  const worker = async (): Promise<void> => {
    while (performance.now() - startMs < ms && polls < most) {
      polls++;
      await side.poll();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  await side.settle();
  return {
    perSecond: polls / ((performance.now() - startMs) / 1_000),
    perCpuSecond: polls / ((cpuUs() - startUs) / 1e6),
  };
}

/** Times the daemon's stages for one record after the other, without a network, in processor time. */
async function stages(texts: readonly string[]) {
  const few = wallets.slice(0, 64);
  const parsed = texts.map((text) => parseJson(text));
  const records = parsed.map((json) => {
    const reply = parseReply(endpoints.traderState, json);
    return reply.ok ? reply.record : fail("the record does not fit");
  });
  // Time runs on by 5 s for each round of the wallets, as it does for the windows in life.
  let round = 0;
  let atMs = Date.now();
  const seen = (i: number): Observation => {
    const record = records[i % records.length]!;
    if (i % few.length === 0) atMs += 5_000;
    return {
      kind: "accounts",
      wallet: few[i % few.length]!.name,
      pdaIndex: 0,
      atMs,
      slot: record.slot + round * 1_000_000,
      slotIndex: record.slotIndex,
      subaccounts: record.snapshot.subaccounts.map((row) => ({
        ...subaccountState(row, () => {}),
        sequence: record.slot + round * 1_000_000,
      })),
    };
  };
  const watches = {
    none: newWatch(few, noRules, atMs),
    plain: newWatch(few, rulesText(false), atMs),
    all: newWatch(few, rulesText(true), atMs),
  };
  const store = openStore({ path: path.join(folder, "stages.db"), clock });
  const outcomes: Changes[] = [];
  const count = texts.length;
  const times = new Map<string, number[]>();
  const time = async (name: string, work: () => void | Promise<void>): Promise<void> => {
    const startUs = cpuUs();
    await work();
    const known = times.get(name) ?? [];
    known.push((cpuUs() - startUs) / count);
    times.set(name, known);
  };
  let sink = 0;
  for (round = 1; round <= 24; round++) {
    await time("parse", () => {
      for (const text of texts) sink += parseJson(text) === null ? 1 : 0;
    });
    await time("validate", () => {
      for (const json of parsed) sink += parseReply(endpoints.traderState, json).ok ? 1 : 0;
    });
    let observations: Observation[] = [];
    await time("translate", () => {
      observations = texts.map((_, i) => seen(i));
    });
    const watch = (of: (typeof watches)["all"], outcome: Changes[] | null) => () => {
      // Marks are fresh as long as the daemon polls them: they were read just before.
      for (const [i, observation] of observations.entries()) {
        if (i % few.length === 0) of.observe(prices(0, observation.atMs));
        const { changes } = of.observe(observation);
        outcome?.push(changes);
      }
    };
    const marks = (of: (typeof watches)["all"]) => () => {
      const { atMs: nowMs } = observations.at(-1)!;
      for (let i = 0; i < count / few.length; i++) of.observe(prices(i, nowMs));
    };
    outcomes.length = 0;
    await time("none", watch(watches.none, null));
    await time("plain", watch(watches.plain, null));
    await time("all", watch(watches.all, outcomes));
    await time("noneMarks", marks(watches.none));
    await time("plainMarks", marks(watches.plain));
    await time("allMarks", marks(watches.all));
    await time("commit", async () => {
      for (let i = 0; i < count; i += perCommit) await store.commit(outcomes.slice(i, i + perCommit));
    });
  }
  await store.close();
  if (sink === 0) fail("nothing was computed");
  const us = (name: string): number => median(times.get(name)!.slice(4));
  // The marks that were observed in between are taken out again.
  const none = us("none") - us("noneMarks");
  const plain = us("plain") - us("plainMarks");
  const all = us("all") - us("allMarks");
  return {
    stages: {
      parse: us("parse"),
      validate: us("validate"),
      translate: us("translate"),
      derive: none,
      windows: all - plain,
      rules: plain - none,
      commit: us("commit"),
    },
    marksUsPerAccount: us("allMarks"),
  };
}

function fail(why: unknown): never {
  console.error(why);
  process.exit(1);
}

const states = new TraderStates();
const texts = Array.from({ length: 1_024 }, () => states.next().toString("latin1"));
const sample = newWatch(wallets.slice(0, 1), rulesText(true), Date.now());
const ticks = texts.slice(0, 512).flatMap((text): readonly Tick[] => {
  const reply = parseReply(endpoints.traderState, parseJson(text));
  if (!reply.ok) fail(reply.problem.message);
  const { slot, slotIndex, snapshot } = reply.record;
  const subaccounts = snapshot.subaccounts.map((row) => subaccountState(row, () => {}));
  return sample.observe({
    kind: "accounts",
    wallet: "w0",
    pdaIndex: 0,
    atMs: Date.now(),
    slot,
    slotIndex,
    subaccounts,
  }).changes.ticks;
});

const ms = Number(seconds) * 1_000;
const daemon = daemonSide();
const bare = bareSide(ticks);
if (only !== undefined) {
  for (let i = 0; i < Number(rounds); i++) console.error(await rate(only === "daemon" ? daemon : bare, ms));
  process.exit(0);
}
// By count: what is compiled and laid out well depends on how often it ran, not for how long.
await rate(daemon, warmUpMs, warmUpPolls);
await rate(bare, warmUpMs, warmUpPolls);
const measuredRounds: { daemon: Rate; bare: Rate }[] = [];
for (let i = 0; i < Number(rounds); i++) {
  // Who begins changes, so that neither always follows the other.
  if (i % 2 === 0) measuredRounds.push({ daemon: await rate(daemon, ms), bare: await rate(bare, ms) });
  else {
    const first = await rate(bare, ms);
    measuredRounds.push({ daemon: await rate(daemon, ms), bare: first });
  }
}
const perTransaction = daemon.perTransaction();
await daemon.stop();
await bare.stop();
const of = (pick: (round: { daemon: Rate; bare: Rate }) => number): number =>
  median(measuredRounds.map(pick));
const result: PollsResult = {
  wallets: wallets.length,
  bytes: texts[0]!.length,
  daemon: { perSecond: of((r) => r.daemon.perSecond), perCpuSecond: of((r) => r.daemon.perCpuSecond) },
  bare: { perSecond: of((r) => r.bare.perSecond), perCpuSecond: of((r) => r.bare.perCpuSecond) },
  ratio: {
    byClock: of((r) => r.daemon.perSecond / r.bare.perSecond),
    byCpu: of((r) => r.daemon.perCpuSecond / r.bare.perCpuSecond),
  },
  rounds: measuredRounds,
  ...(await stages(texts)),
  perTransaction,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exit(0);
