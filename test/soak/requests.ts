/**
 * Throws mutated requests and stream messages at a simulator. Rejects with the request that did it when one is answered as
 * none may be.
 */
import { startSimulator } from "../../src/simulator/index.ts";
import { fuzz } from "../simulator/fuzzing.ts";

/** A world is soaked with so many, and then another one, so that none drowns in what was done to it. */
const portion = 20_000;

export async function soakRequests(seed: number, count: number): Promise<void> {
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
}
