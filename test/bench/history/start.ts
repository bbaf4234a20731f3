/**
 * A start with a long past: from opening a database with so many samples until the answers of all wallets are judged, by 20
 * rules of which two look back over 24 h and four over 1 h.
 *
 *   node test/bench/history/start.ts SAMPLES WALLETS
 *
 * The database is made once, by the store's own code (some minutes for 50 million), and kept in the temporary folder under a
 * name that tells what is in it: a later run takes it as it is.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { acknowledgeSettings } from "../../../src/alerts/acknowledge.ts";
import { remindSettings } from "../../../src/alerts/reminders/remind.ts";
import { routingSettings } from "../../../src/alerts/routing/route.ts";
import { seededRandom } from "../../../src/domain/clock.ts";
import type { Observation, Tick } from "../../../src/domain/observation.ts";
import { type Source, sources } from "../../../src/domain/sources.ts";
import { type Changes, changes } from "../../../src/domain/stored/changes.ts";
import type { WatchSettings } from "../../../src/engine/settings.ts";
import { openStore } from "../../../src/history/index.ts";
import { migrations, newestOf } from "../../../src/history/migrations.ts";
import { restoreWatch } from "../../../src/ingest/restore-watch.ts";
import { cpuUs } from "../daemon/figures.ts";
import { marketConfig, newWatch, prices, ruleSetOf, rulesText } from "../daemon/judging.ts";
import { benchWallets } from "../daemon/world.ts";
import { LivingAccount } from "./states.ts";

export interface StartResult {
  readonly samples: number;
  readonly wallets: number;
  readonly fileMiB: number;
  readonly openMs: number;
  /** Until a watch is there that knows its windows. */
  readonly rememberedMs: number;
  /** Until the first answer of each wallet is judged. */
  readonly readyMs: number;
  readonly cpuMs: number;
  /** Longest time for which the event loop did not turn. */
  readonly worstStallMs: number;
  readonly rssMiB: number;
}

const everyMs = 5_000;
const endMs = Date.UTC(2026, 0, 1);
const [sampleCount = "50000000", walletCount = "100"] = process.argv.slice(2);
const wallets = benchWallets(Number(walletCount));

/** The 20 rules of the other benchmarks, with these windows. */
const rules = rulesText(true)
  .replaceAll(/"(10|5)m"/g, '"1h"')
  .replace("trader.leverage > 10", '\'maxOver("trader.leverage", "24h") > 1000.0\'')
  .replace(
    "position.leverage > 8 && position.unrealizedPnl < 0",
    '\'minOver("position.liquidationDistance", "24h") < 0.00001\'',
  );

function firstAnswers(atMs: number): Observation[] {
  const random = seededRandom(5);
  return wallets.map(({ name }) => new LivingAccount(name, random).next(atMs));
}

/** A tick of each wallet, as the watch makes them. */
function patterns(): readonly Tick[] {
  const watch = newWatch(wallets, rules, endMs);
  return firstAnswers(endMs).flatMap((one) => watch.observe(one).changes.ticks);
}

async function make(file: string): Promise<void> {
  const started = performance.now();
  const partial = `${file}.partial`;
  for (const ending of ["", "-wal", "-shm", ".lock"]) fs.rmSync(partial + ending, { force: true });
  const store = openStore({ path: partial, retention: { samplesMs: null } });
  const random = seededRandom(9);
  const own = patterns();
  const width = own.reduce((sum, { values }) => sum + values.length, 0);
  const rounds = Math.ceil(Number(sampleCount) / width);
  const startMs = endMs - rounds * everyMs;
  // Every figure follows the marks at its own rate, in full doubles.
  let mark = 1;
  let batch: Changes[] = [];
  for (let round = 0; round < rounds; round++) {
    mark *= 1 + (random() - 0.5) * 1e-4;
    const ticks = own.map((tick, i) => ({
      ...tick,
      atMs: startMs + round * everyMs + i,
      values: tick.values.map((value) => (Number.isInteger(value) ? value : value * mark)),
    }));
    batch.push(changes({ ticks }));
    if (batch.length * own.length >= 5_000 || round === rounds - 1) {
      await store.commit(batch);
      batch = [];
      const nowMs = startMs + round * everyMs;
      while (!(await store.maintain(nowMs, 60_000)).finished);
    }
    if (round % 500 === 0)
      console.error(
        `making ${file}: ${Math.round((round / rounds) * 100)} %, ${Math.round((performance.now() - started) / 1_000)} s`,
      );
  }
  while (!(await store.maintain(endMs, 60_000)).finished);
  await store.close();
  fs.renameSync(partial, file);
  fs.rmSync(`${partial}.lock`, { force: true });
}

const folder = path.join(os.tmpdir(), "perpwatch-bench-history");
fs.mkdirSync(folder, { recursive: true });
const current = `start-v${newestOf(migrations)}-`;
const file = path.join(folder, `${current}${sampleCount}-${wallets.length}.db`);
if (!fs.existsSync(file)) {
  // Made by another version: nobody comes back to it.
  for (const name of fs.readdirSync(folder))
    if (!name.startsWith(current)) fs.rmSync(path.join(folder, name), { force: true });
  await make(file);
}

const settings: WatchSettings = {
  wallets: wallets.map(({ name, authority }) => ({
    name,
    authority,
    labels: {},
    limits: {},
    watchOnly: true,
  })),
  ruleSet: ruleSetOf(rules),
  routing: routingSettings.parse({ receivers: ["here"] }),
  remind: remindSettings.parse({}),
  acknowledge: acknowledgeSettings.parse({}),
  scheduleMs: Object.fromEntries(sources.map((source) => [source, 3_600_000])) as Record<Source, number>,
  timezone: "UTC",
};
const answers = firstAnswers(endMs + everyMs);

let worstStallMs = 0;
let watching = true;
const stalls = (async () => {
  let last = performance.now();
  while (watching) {
    await turn();
    const now = performance.now();
    worstStallMs = Math.max(worstStallMs, now - last);
    last = now;
  }
})();
const fromUs = cpuUs();
const startMs = performance.now();
const store = openStore({ path: file });
const openMs = performance.now() - startMs;
const watch = await restoreWatch(settings, store, endMs + 1_000);
const rememberedMs = performance.now() - startMs;
watch.observe(marketConfig(endMs + 1_000));
watch.observe(prices(0, endMs + 1_000));
// As the loop does: others get their turn after 25 ms.
let turnedMs = performance.now();
for (const one of answers) {
  watch.observe(one);
  if (performance.now() - turnedMs < 25) continue;
  await turn();
  turnedMs = performance.now();
}
const readyMs = performance.now() - startMs;
const cpuMs = (cpuUs() - fromUs) / 1_000;
watching = false;
await stalls;
const rssMiB = process.memoryUsage.rss() / 2 ** 20;
await store.close();
const result: StartResult = {
  samples: Number(sampleCount),
  wallets: wallets.length,
  fileMiB: fs.statSync(file).size / 2 ** 20,
  openMs,
  rememberedMs,
  readyMs,
  cpuMs,
  worstStallMs,
  rssMiB,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
