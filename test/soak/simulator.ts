/**
 * `npm run soak`: throws 100,000 mutated requests and stream messages at a simulator. Ends with 1 and the request that
 * did it when one is answered as none may be. The seed is printed; `npm run soak -- --seed N --count N` repeats a run.
 */
import { parseArgs } from "node:util";
import { startSimulator } from "../../src/simulator/index.ts";
import { fuzz } from "../simulator/fuzzing.ts";

const { values } = parseArgs({
  options: { seed: { type: "string" }, count: { type: "string", default: "100000" } },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const count = Number(values.count);
/** A world is soaked with so many, and then another one, so that none drowns in what was done to it. */
const portion = 20_000;

console.log(`seed ${seed}`);
const startedAt = performance.now();
const total = new Map<string, number>();
for (let done = 0; done < count; done += portion) {
  const simulator = await startSimulator({ seed: 7, traders: 5, speed: 0, pastMs: 2 * 3_600_000 });
  try {
    const { statuses, frames } = await fuzz(simulator, seed + done, Math.min(portion, count - done));
    for (const [outcome, times] of [...Object.entries(statuses), ...Object.entries(frames)])
      total.set(outcome, (total.get(outcome) ?? 0) + times);
  } finally {
    await simulator.stop();
  }
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  console.log(`${Math.min(count, done + portion)} of ${count}, ${seconds} s`);
}
console.log([...total].map(([outcome, times]) => `${outcome}: ${times}`).join("  "));
