/**
 * Measures the cost of the store, on this machine: `node test/bench/history.ts [owners] [ticks of each]`. Ticks of 20 series
 * whose values all change every time, as from real positions and marks: the worst that packing meets.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { seededRandom } from "../../src/domain/clock.ts";
import { changes } from "../../src/domain/stored/changes.ts";
import { openStore } from "../../src/history/index.ts";
import { event, owedItem, ruleState } from "../history/examples.ts";

const owners = Number(process.argv[2] ?? 500);
const ticksEach = Number(process.argv[3] ?? 400);
const perCommit = 64;
const series = Array.from({ length: 20 }, (_, i) => `trader.figure${i}`);
const random = seededRandom(7);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "perpwatch-bench-"));
const store = openStore({ path: path.join(folder, "perpwatch.db") });
const show = (what: string, value: number, unit: string) =>
  console.log(`${what.padEnd(58)} ${value.toFixed(value < 10 ? 2 : 0).padStart(10)} ${unit}`);

// Every figure follows the marks at its own rate, in full doubles, so that no two ticks are alike.
const weights = Array.from({ length: owners }, () => series.map(() => 50 + random() * 1_000));
let mark = 150;
const t0 = Date.now() - ticksEach * 5_000;
const batches = [];
const all = [];
for (let i = 0; i < ticksEach; i++) {
  for (let owner = 0; owner < owners; owner++) {
    mark *= 1 + (random() - 0.5) * 1e-4;
    const values = (weights[owner] as number[]).map((weight) => weight * mark);
    all.push({ atMs: t0 + i * 5_000 + owner, owner: `wallet${owner}/0.0`, series, values });
  }
}
for (let i = 0; i < all.length; i += perCommit)
  batches.push([changes({ ticks: all.slice(i, i + perCommit) })]);
const samples = all.length * series.length;

let worstMs = 0;
let startMs = performance.now();
for (const batch of batches) {
  const beforeMs = performance.now();
  await store.commit(batch);
  worstMs = Math.max(worstMs, performance.now() - beforeMs);
}
let tookMs = performance.now() - startMs;
show(`ticks, ${perCommit} a commit: each`, (tookMs * 1_000) / all.length, "µs");
show("  samples", samples / (tookMs / 1_000), "a second");
show("  slowest commit", worstMs, "ms");
show("  on disk, as they came", (await store.sizeBytes()) / samples, "bytes a sample");

startMs = performance.now();
const loop = new Promise<number>((resolve) => {
  let worst = 0;
  let last = performance.now();
  const look = () => {
    const now = performance.now();
    worst = Math.max(worst, now - last);
    last = now;
    if (done) resolve(worst);
    else setImmediate(look);
  };
  let done = false;
  setImmediate(look);
  void store.maintain(Date.now() + 86_400_000, 600_000).then(() => {
    done = true;
  });
});
const stallMs = await loop;
tookMs = performance.now() - startMs;
show("packing: each tick", (tookMs * 1_000) / all.length, "µs");
show("  longest stall of the event loop", stallMs, "ms");
show("  on disk, packed", (await store.sizeBytes()) / samples, "bytes a sample");

startMs = performance.now();
let read = 0;
for (let owner = 0; owner < Math.min(owners, 100); owner++)
  for await (const _ of store.ticks({ owner: `wallet${owner}/0.0`, fromMs: 0 })) read++;
tookMs = performance.now() - startMs;
show("reading back: each tick", (tookMs * 1_000) / read, "µs");

const events = Array.from({ length: 50_000 }, (_, i) =>
  event({ key: `funding/${i}`, kind: "funding", data: null, inbox: null, happenedMs: t0 + i }),
);
startMs = performance.now();
for (let i = 0; i < events.length; i += perCommit)
  await store.commit([changes({ events: events.slice(i, i + perCommit) })]);
tookMs = performance.now() - startMs;
show(`events, ${perCommit} a commit: each`, (tookMs * 1_000) / events.length, "µs");

const states = Array.from({ length: 20_000 }, (_, i) => ruleState({ subject: `wallet${i % 1_000}/0.0` }));
startMs = performance.now();
for (let i = 0; i < states.length; i += perCommit)
  await store.commit([changes({ ruleStates: states.slice(i, i + perCommit) })]);
tookMs = performance.now() - startMs;
show(`rule states, ${perCommit} a commit: each`, (tookMs * 1_000) / states.length, "µs");

startMs = performance.now();
for (let i = 0; i < 200; i++) await store.commit([changes({ deliveryItems: [owedItem({ id: i + 1 })] })]);
tookMs = performance.now() - startMs;
show("a commit of one owed item, durable", tookMs / 200, "ms");

await store.close();
fs.rmSync(folder, { recursive: true });
