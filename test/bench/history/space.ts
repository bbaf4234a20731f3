/**
 * Measures the space and the time that the past takes on disk and on its way there: answers as the exchange gives them, by
 * the watch, into two databases, one of which gets the recording only and the other one the samples only; and the processor
 * time that recording adds to a commit.
 *
 *   node test/bench/history/space.ts WALLETS POLLS
 */
import fs from "node:fs";
import path from "node:path";
import { seededRandom, systemClock } from "../../../src/domain/clock.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import { type Changes, changes } from "../../../src/domain/stored/changes.ts";
import { openDatabase } from "../../../src/history/database.ts";
import { type History, openStore } from "../../../src/history/index.ts";
import { cpuUs } from "../daemon/figures.ts";
import { benchFolder, marketConfig, newWatch, prices, rulesText } from "../daemon/judging.ts";
import { benchWallets } from "../daemon/world.ts";
import { LivingAccount } from "./states.ts";

export interface SpaceResult {
  readonly wallets: number;
  readonly polls: number;
  /** The size of an answer as text. */
  readonly payloadBytes: number;
  /** The size of a recorded answer on disk, overheads included. */
  readonly bytesAPayload: number;
  /** The same with a second answer for each in which nothing changed. */
  readonly bytesUnchanged: number;
  readonly samples: number;
  readonly bytesASample: number;
  /** The size of its minutes and hours, for each raw sample. */
  readonly rollupBytesASample: number;
  /** Processor time that recording adds to the commit of an observation: in which some changed, in which nothing did. */
  readonly changedUs: number;
  readonly unchangedUs: number;
  /** The time to read it back, µs an observation. */
  readonly readUs: number;
}

const perCommit = 64;
const timedRounds = 200;
const [walletCount = "200", pollCount = "200"] = process.argv.slice(2);
const wallets = benchWallets(Number(walletCount));
const polls = Number(pollCount);
const folder = benchFolder();
const clock = systemClock();
const startMs = Date.now() - polls * 5_000;
const random = seededRandom(11);
const watch = newWatch(wallets, rulesText(true), startMs);
watch.observe(marketConfig(startMs));

const accounts = wallets.map(({ name }) => new LivingAccount(name, random));
const observations: Observation[] = [];
const outcomes: Changes[] = [];
let payloadBytes = 0;
for (let i = 0; i < polls; i++) {
  const atMs = startMs + i * 5_000;
  watch.observe(prices(i, atMs));
  for (const [index, account] of accounts.entries()) {
    const observation = account.next(atMs + index);
    observations.push(observation);
    outcomes.push(changes({ ticks: watch.observe(observation).changes.ticks }));
    payloadBytes += account.bytes;
  }
}

function inBatches(list: readonly Changes[], seen: readonly Observation[] | null): Changes[][] {
  const batches: Changes[][] = [];
  for (let i = 0; i < list.length; i += perCommit) {
    const batch = list.slice(i, i + perCommit);
    if (seen !== null) batch.push(changes({ observations: seen.slice(i, i + perCommit) }));
    batches.push(batch);
  }
  return batches;
}

/** @returns how much larger the file is than an empty one, when it is closed */
async function grown(name: string, batches: readonly Changes[][]): Promise<number> {
  const size = async (some: readonly Changes[][]): Promise<number> => {
    const file = path.join(folder, `${name}${some.length === 0 ? "-empty" : ""}.db`);
    const store = openStore({ path: file, clock });
    for (const batch of some) await store.commit(batch);
    await packed(store);
    await store.close();
    return fs.statSync(file).size;
  };
  return (await size(batches)) - (await size([]));
}

/** The size of a table and its indexes. */
function tableBytes(name: string, prefix: string): number {
  const { db, close } = openDatabase(path.join(folder, `${name}.db`), { readonly: true });
  const found = db
    .prepare<[string], { bytes: number }>("SELECT sum(pgsize) AS bytes FROM dbstat WHERE name GLOB ?")
    .get(`${prefix}*`);
  close();
  return found?.bytes ?? 0;
}

async function packed(store: History): Promise<void> {
  while (!(await store.maintain(Date.now() + 7_200_000, 10_000)).finished);
}

const none: readonly Changes[] = observations.map(() => changes({}));
const recordingBytes = await grown("recording", inBatches(none, observations));
const twice = observations.flatMap((one) => [one, structuredClone({ ...one, atMs: one.atMs + 2_500 })]);
const bothBytes = await grown(
  "unchanged",
  inBatches(
    twice.map(() => changes({})),
    twice,
  ),
);
const samples = outcomes.reduce(
  (sum, { ticks }) => sum + ticks.reduce((n, one) => n + one.values.length, 0),
  0,
);
const sampleBytes = await grown("samples", inBatches(outcomes, null));
const rollupBytes = tableBytes("samples", "rollups");

// In turns, batch by batch, so that whatever else the machine does meets all of them alike; and fresh from the answer, as
// they are in life.
const kinds = ["none", "changed", "none", "unchanged"] as const;
const spentUs = { none: 0, changed: 0, unchanged: 0 };
const counted = { none: 0, changed: 0, unchanged: 0 };
const timed = openStore({ path: path.join(folder, "timed.db"), clock });
const living = Array.from({ length: perCommit }, (_, i) => new LivingAccount(`t${i}`, random));
for (let round = 0; round < timedRounds; round++) {
  const atMs = startMs + round * 5_000;
  const ticks = outcomes.slice(0, perCommit);
  for (const kind of kinds) {
    const seen = living.map((one) => (kind === "unchanged" ? one.again(atMs) : one.next(atMs)));
    const batch = kind === "none" ? ticks : [...ticks, changes({ observations: seen })];
    const fromUs = cpuUs();
    await timed.commit(batch);
    if (round < timedRounds / 4) continue;
    spentUs[kind] += cpuUs() - fromUs;
    counted[kind] += perCommit;
  }
}
await timed.close();
const usOf = (kind: "changed" | "unchanged"): number =>
  spentUs[kind] / counted[kind] - spentUs.none / counted.none;

const reader = openStore({ path: path.join(folder, "recording.db"), readonly: true });
const readFromUs = cpuUs();
let read = 0;
for await (const _ of reader.recording({ fromMs: 0 })) read++;
const readUs = (cpuUs() - readFromUs) / read;
await reader.close();

const result: SpaceResult = {
  wallets: wallets.length,
  polls,
  payloadBytes: payloadBytes / observations.length,
  bytesAPayload: recordingBytes / observations.length,
  bytesUnchanged: (bothBytes - recordingBytes) / observations.length,
  samples,
  bytesASample: (sampleBytes - rollupBytes) / samples,
  rollupBytesASample: rollupBytes / samples,
  changedUs: usOf("changed"),
  unchangedUs: usOf("unchanged"),
  readUs,
};
process.stdout.write(`${JSON.stringify(result)}\n`);
