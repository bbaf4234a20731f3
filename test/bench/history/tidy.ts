/**
 * Measures the waits caused by retention and roll-up: samples of some hours are rolled up, thinned and let go of, at the end
 * of a day, of the raw samples' time, of the minutes' and of the hours', while others commit. Measured is the longest time
 * for which the event loop did not turn, by the clock and by processor time, which other work on the machine does not show
 * in.
 *
 *   node test/bench/history/tidy.ts WALLETS TICKS
 */
import path from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { seededRandom, systemClock } from "../../../src/domain/clock.ts";
import type { Tick } from "../../../src/domain/observation.ts";
import { changes } from "../../../src/domain/stored/changes.ts";
import { openStore } from "../../../src/history/index.ts";
import { cpuUs } from "../daemon/figures.ts";
import { benchFolder } from "../daemon/judging.ts";

export interface TidyResult {
  readonly samples: number;
  readonly stages: readonly {
    readonly stage: string;
    /** Calls of the store until it said that nothing is left to do. */
    readonly calls: number;
    readonly tookMs: number;
    readonly longestMs: number;
    readonly longestCpuMs: number;
    /** Commits of others that were made meanwhile, and the longest that one took. */
    readonly commits: number;
    readonly longestCommitMs: number;
  }[];
}

const seriesEach = 20;
const everyMs = 5_000;
const day = 86_400_000;
/** As the daemon asks for it. */
const budgetMs = 200;
const [walletCount = "40", tickCount = "4000"] = process.argv.slice(2);
const [wallets, ticks] = [Number(walletCount), Number(tickCount)];
const series = Array.from({ length: seriesEach }, (_, i) => `trader.f${i}`);
const startMs = Date.UTC(2026, 0, 1);
const random = seededRandom(7);
const rates = Array.from({ length: wallets }, () => series.map(() => 50 + random() * 1_000));
let mark = 150;
function tick(wallet: number, atMs: number): Tick {
  mark *= 1 + (random() - 0.5) * 1e-4;
  return { atMs, owner: `w${wallet}/0.0`, series, values: rates[wallet]!.map((rate) => rate * mark) };
}

const store = openStore({ path: path.join(benchFolder(), "tidy.db"), clock: systemClock() });
for (let i = 0; i < ticks; i++) {
  const atMs = startMs + i * everyMs;
  await store.commit([
    changes({ ticks: Array.from({ length: wallets }, (_, wallet) => tick(wallet, atMs)) }),
  ]);
}

/** Until `under` is settled: the longest time between two turns of the event loop. */
async function longestTurn(under: Promise<unknown>): Promise<{ ms: number; cpuMs: number }> {
  let open = true;
  const end = (): void => {
    open = false;
  };
  under.then(end, end);
  let [ms, cpuMs] = [0, 0];
  while (open) {
    const [before, cpuBefore] = [performance.now(), cpuUs()];
    await turn();
    ms = Math.max(ms, performance.now() - before);
    cpuMs = Math.max(cpuMs, (cpuUs() - cpuBefore) / 1_000);
  }
  return { ms, cpuMs };
}

const stages: TidyResult["stages"][number][] = [];
for (const [stage, afterMs] of [
  ["a day later: rolled up", day],
  ["after 31 days: samples let go of", 31 * day],
  ["after 400 days: minutes let go of", 400 * day],
  ["after 6 years: hours let go of", 6 * 366 * day],
] as const) {
  const nowMs = startMs + afterMs;
  const started = performance.now();
  let [calls, commits, longestMs, longestCpuMs, longestCommitMs] = [0, 0, 0, 0, 0];
  for (let finished = false; !finished; ) {
    calls++;
    const tidying = store.maintain(nowMs, budgetMs);
    const watched = longestTurn(tidying);
    // What comes in meanwhile, a commit at a time.
    let open = true;
    const end = (): void => {
      open = false;
    };
    tidying.then(end, end);
    while (open) {
      const before = performance.now();
      await store.commit([changes({ ticks: [tick(commits % wallets, nowMs + commits)] })]);
      longestCommitMs = Math.max(longestCommitMs, performance.now() - before);
      commits++;
      await turn();
    }
    ({ finished } = await tidying);
    const { ms, cpuMs } = await watched;
    longestMs = Math.max(longestMs, ms);
    longestCpuMs = Math.max(longestCpuMs, cpuMs);
  }
  stages.push({
    ...{ stage, calls, tookMs: performance.now() - started, longestMs, longestCpuMs },
    ...{ commits, longestCommitMs },
  });
}
await store.close();
const result: TidyResult = { samples: wallets * seriesEach * ticks, stages };
console.log(JSON.stringify(result));
