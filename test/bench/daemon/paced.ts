/**
 * Measures the cost of watching many wallets at an ordinary pace: trader states every 5 s, marks every 2 s, by the real
 * scheduler, client, ingest, watch and history; 20 rules, four of which look back. Alone in its process, so that memory is
 * its own.
 *
 *   node test/bench/daemon/paced.ts URL WALLETS SECONDS
 */
import { once } from "node:events";
import path from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { AccountBook } from "../../../src/collect/accounts.ts";
import { BadRecords } from "../../../src/collect/anomalies/bad-records.ts";
import { exchangeStatusCollector } from "../../../src/collect/collectors/exchange-status.ts";
import { marketConfigCollector } from "../../../src/collect/collectors/market-config.ts";
import { marketsCollector } from "../../../src/collect/collectors/markets.ts";
import { traderStateCollector } from "../../../src/collect/collectors/trader-state.ts";
import { MarketBook } from "../../../src/collect/market-book.ts";
import { Scheduler } from "../../../src/collect/schedule/scheduler.ts";
import { scheduleSettings } from "../../../src/collect/settings.ts";
import { keepHeapSmall } from "../../../src/daemon/heap.ts";
import { systemClock } from "../../../src/domain/clock.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import { createExchange, LedgerSlots } from "../../../src/exchange/index.ts";
import { openStore } from "../../../src/history/index.ts";
import { cpuUs } from "./figures.ts";
import { benchFolder, ingestLoop, newWatch, rulesText } from "./judging.ts";
import { benchWallets } from "./world.ts";

export interface PacedResult {
  readonly wallets: number;
  readonly seconds: number;
  readonly pollsPerSecond: number;
  /** Share of one core. */
  readonly cpu: number;
  readonly rssMiB: number;
  /** The memory of the process before the first wallet is watched. */
  readonly idleMiB: number;
  /** Longest time for which the event loop did not turn, ms. */
  readonly worstStallMs: number;
  readonly p99StallMs: number;
  readonly failedPolls: number;
  readonly databaseMiB: number;
}

const warmUpMs = 15_000;
const mib = 2 ** 20;

const [url = "", count = "1000", seconds = "30"] = process.argv.slice(2);
const clock = systemClock();
const wallets = benchWallets(Number(count));
const idleMiB = process.memoryUsage.rss() / mib;

const store = openStore({ path: path.join(benchFolder(), "paced.db"), clock });
const exchange = createExchange({
  settings: { baseUrl: url, requestsPerSecond: 1e6 },
  version: "0.0.0",
  clock,
  random: Math.random,
  wallets: [],
  store,
  onSession: () => {},
  onTrouble: () => {},
  onBadRecord: ({ problem }) => console.error(problem),
});
keepHeapSmall();
const watch = newWatch(wallets, rulesText(true), clock.nowMs());
const ingest = ingestLoop({ watch, store, clock });
ingest.start();
const log = { debug: () => {}, info: () => {}, warn: (_: object, text: string) => console.error(text) };
const badRecords = new BadRecords(clock, log, () => {});
const collected = wallets.map(({ name, authority }) => ({
  name,
  authority,
  watchOnly: true,
  pdaIndices: [0],
}));
const accounts = new AccountBook(collected, new Map());
let polls = 0;
const scheduler = new Scheduler({
  client: exchange.client,
  ratePerSecond: () => exchange.budget.ratePerSecond,
  requestsPerSecond: 1e6,
  wallets: collected,
  settings: scheduleSettings.parse({}),
  accounts: (wallet) => accounts.count(wallet),
  marginRatio: (wallet) => watch.marginRatio(wallet),
  clock,
  random: Math.random,
  log,
  observe: (observation: Observation) => {
    if (observation.kind === "accounts") polls++;
    return ingest.observe(observation);
  },
  collectors: [
    marketConfigCollector(new MarketBook(), badRecords, () => clock.elapsedMs()),
    marketsCollector(null, () => 0),
    exchangeStatusCollector(),
    traderStateCollector({
      accounts,
      badRecords,
      onNewAccount: () => {},
      elapsedMs: () => 0,
      everyMs: 5_000,
      slots: new LedgerSlots(),
    }),
  ],
});
scheduler.start();
await sleep(warmUpMs);

const stalls = monitorEventLoopDelay({ resolution: 5 });
stalls.enable();
const startMs = performance.now();
const startUs = cpuUs();
polls = 0;
// As the daemon does once a minute.
const kept = sleep((Number(seconds) * 1_000) / 2).then(() => store.maintain(clock.nowMs(), 200));
await sleep(Number(seconds) * 1_000);
stalls.disable();
const tookS = (performance.now() - startMs) / 1_000;
await kept;
const result: PacedResult = {
  wallets: wallets.length,
  seconds: tookS,
  pollsPerSecond: polls / tookS,
  cpu: (cpuUs() - startUs) / 1e6 / tookS,
  rssMiB: process.memoryUsage.rss() / mib,
  idleMiB,
  // What is measured holds the timer's own 5 ms.
  worstStallMs: Math.max(0, stalls.max / 1e6 - 5),
  p99StallMs: Math.max(0, stalls.percentile(99) / 1e6 - 5),
  failedPolls: scheduler.figures().failedPolls,
  databaseMiB: (await store.sizeBytes()) / mib,
};
await scheduler.stop();
await ingest.stop();
await exchange.stop();
await store.close();
if (!process.stdout.write(`${JSON.stringify(result)}\n`)) await once(process.stdout, "drain");
process.exit(0);
