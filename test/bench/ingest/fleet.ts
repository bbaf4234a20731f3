/**
 * Measures the cost of many wallets at 5 s cost, without a network: trader states every 5 s, marks every 2 s, time every
 * second, 20 rules (two with windows over 24 h, four over 1 h) that were filled with a day before. First as fast as it goes:
 * a share of a core is told for the pace of life. Then at the pace of life: how much garbage gathers depends on it, and so
 * does memory. Alone in its process, so that memory is its own, and with the flags of a daemon.
 *
 *   node test/bench/ingest/fleet.ts WALLETS SECONDS (of the time that is told) SECONDS (at the pace of life)
 */
import path from "node:path";
import { PerformanceObserver } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import v8 from "node:v8";
import vm from "node:vm";
import { keepHeapSmall } from "../../../src/daemon/heap.ts";
import { seededRandom } from "../../../src/domain/clock.ts";
import type { Tick } from "../../../src/domain/observation.ts";
import { openStore } from "../../../src/history/index.ts";
import { cpuUs } from "../daemon/figures.ts";
import { benchFolder, newWatch } from "../daemon/judging.ts";
import { benchWallets, statsText } from "../daemon/world.ts";
import { ingestSide, toldClock } from "./side.ts";
import { tellPast } from "./stored-samples.ts";
import { Account, ingestRules } from "./world.ts";

export interface FleetResult {
  readonly wallets: number;
  readonly series: number;
  readonly bytes: number;
  readonly seconds: number;
  /** The share of one core. */
  readonly cpu: number;
  readonly statesUs: number;
  readonly marksUsPerAccount: number;
  /** The share of one core what of it, on the main thread, is collecting garbage. */
  readonly gcCpu: number;
  /** The most of a second at the pace of life. */
  readonly rssMiB: number;
  /** The live heap, by kind, and the rest, MiB. */
  readonly spent: {
    readonly program: number;
    /** States, facts, rules and what the recording knows of each wallet. */
    readonly wallets: number;
    readonly windows: number;
    /** The memory that came with the answers that followed. */
    readonly later: number;
    readonly garbage: number;
    /** The program's own pages, the database's, the collector's. */
    readonly outsideHeap: number;
  };
  /** Before the first wallet is watched. */
  readonly idleMiB: number;
}

const everyMs = 5_000;
const marksEveryMs = 2_000;
const mib = 2 ** 20;
/**
 * The number of different answers; wallets share them, a step ahead each round, so that telling them apart costs nothing
 * here.
 */
const kinds = 50;

keepHeapSmall();
const [walletCount = "5000", seconds = "60", pacedSeconds = "30"] = process.argv.slice(2);
v8.setFlagsFromString("--expose-gc");
const collect = vm.runInNewContext("gc") as () => void;
/** MiB of the heap that live. */
const live = (): number => {
  collect();
  return process.memoryUsage().heapUsed / mib;
};
const idleMiB = process.memoryUsage.rss() / mib;
const programMiB = live();
const wallets = benchWallets(Number(walletCount));
const startMs = Date.UTC(2026, 0, 2);
const clock = toldClock(startMs);
const store = openStore({ path: path.join(benchFolder(), "fleet.db"), clock });
const watch = newWatch(wallets, ingestRules, startMs);
let series = 0;
/** Until the past is filled in: the last tick of each account. */
const newest = new Map<string, Tick>();
let filled = false;
const side = ingestSide({
  wallets,
  watch,
  store,
  clock,
  onCommitted: ({ ticks }) => {
    for (const tick of ticks) {
      if (tick.owner === "markets") continue;
      series = tick.values.length;
      if (!filled) newest.set(tick.owner, tick);
    }
  },
});
const random = seededRandom(3);
const accounts = Array.from({ length: kinds }, () => new Account(random, ["BTC"]));
let [call, marksDueMs, timeDueMs] = [0, startMs, startMs];

/**
 * @param pace asked to wait until so many ms of the round are over
 * @returns µs of the answers and of the marks
 */
async function round(
  roundMs: number,
  pace?: (ms: number) => Promise<unknown>,
): Promise<{ statesUs: number; marksUs: number }> {
  const answers = accounts.map((one) => one.next());
  let marksUs = 0;
  const fromUs = cpuUs();
  for (const [i, wallet] of wallets.entries()) {
    const atMs = roundMs + Math.floor((i / wallets.length) * everyMs);
    if (pace && i % 32 === 0) await pace(atMs - roundMs);
    clock.tell(atMs);
    if (atMs >= timeDueMs) {
      timeDueMs = atMs + 1_000;
      side.time(atMs);
    }
    if (atMs >= marksDueMs) {
      marksDueMs = atMs + marksEveryMs;
      await side.settle();
      const marksFromUs = cpuUs();
      await side.prices(Buffer.from(statsText(call++)), atMs);
      await side.settle();
      marksUs += cpuUs() - marksFromUs;
    }
    await side.state(wallet, answers[i % kinds]!, atMs);
  }
  await side.settle();
  return { statesUs: cpuUs() - fromUs - marksUs, marksUs };
}

await round(startMs - everyMs);
const past = [...newest.values()];
newest.clear();
filled = true;
const toldMiB = live();
tellPast(watch, past, startMs - everyMs, random);
past.length = 0;
const filledMiB = live();
for (let i = 0; i < 3; i++) await round(startMs + i * everyMs);
// Rules that are judged for the first time have more to keep than those that turned out to be quiet.
const quietMiB = live();
let gcMs = 0;
const collections = new PerformanceObserver((list) => {
  for (const { startTime, duration } of list.getEntries()) if (startTime >= measuredFromMs) gcMs += duration;
});
collections.observe({ entryTypes: ["gc"] });
const measuredFromMs = performance.now();
const spent = { statesUs: 0, marksUs: 0 };
const rounds = Math.ceil((Number(seconds) * 1_000) / everyMs);
for (let i = 0; i < rounds; i++) {
  const one = await round(startMs + (3 + i) * everyMs);
  spent.statesUs += one.statesUs;
  spent.marksUs += one.marksUs;
}
// What is observed is told in a turn of its own.
await sleep(10);
collections.disconnect();
const polls = rounds * wallets.length;

const atEndMiB = live();
let most = { rss: 0, heapTotal: 0 };
const pacedRounds = Math.ceil((Number(pacedSeconds) * 1_000) / everyMs);
for (let i = 0; i < pacedRounds; i++) {
  const beganMs = performance.now();
  let nextLookMs = 0;
  await round(startMs + (3 + rounds + i) * everyMs, (ms) => {
    if (ms >= nextLookMs) {
      nextLookMs = ms + 1_000;
      const now = process.memoryUsage();
      // What was left of the fast part is let go of meanwhile.
      if (i >= pacedRounds / 2 && now.rss > most.rss) most = now;
    }
    return sleep(Math.max(0, beganMs + ms - performance.now()));
  });
}
const result: FleetResult = {
  wallets: wallets.length,
  series,
  bytes: accounts[0]!.next().length,
  seconds: (rounds * everyMs) / 1_000,
  cpu: (spent.statesUs + spent.marksUs) / (rounds * everyMs * 1_000),
  gcCpu: gcMs / (rounds * everyMs),
  statesUs: spent.statesUs / polls,
  marksUsPerAccount: spent.marksUs / polls / (everyMs / marksEveryMs),
  rssMiB: most.rss / mib,
  spent: {
    program: programMiB,
    wallets: toldMiB - programMiB + (quietMiB - filledMiB),
    windows: filledMiB - toldMiB,
    later: atEndMiB - quietMiB,
    garbage: most.heapTotal / mib - atEndMiB,
    outsideHeap: (most.rss - most.heapTotal) / mib,
  },
  idleMiB,
};
await side.stop();
await store.close();
process.stdout.write(`${JSON.stringify(result)}\n`);
