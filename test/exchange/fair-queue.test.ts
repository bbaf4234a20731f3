/** Shares of lanes under random loads. */
import { describe, expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import { RequestBudget } from "../../src/exchange/requests/budget.ts";
import { type FairEntry, FairQueue } from "../../src/exchange/requests/fair-queue.ts";
import { type Lane, lanes, laneWeights } from "../../src/exchange/requests/lanes.ts";
import { FakeClock } from "../support/clock.ts";

interface Entry extends FairEntry {
  readonly name: string;
  /** The number served before it came. */
  readonly servedBefore: number;
  /** Size of the entries of its own queue that wait before it, and its own. */
  readonly ahead: number;
}

describe("a fair queue", () => {
  test("at random: a queue that is never empty gets its share, and no entry waits longer than its share allows", () => {
    for (let round = 0; round < 60; round++) {
      const seed = Math.floor(Math.random() * 2 ** 32);
      const random = seededRandom(seed);
      const names = Array.from({ length: 2 + Math.floor(random() * 6) }, (_, i) => `q${i}`);
      const weights = names.map((name) => [name, 1 + Math.floor(random() * 40)] as const);
      const total = weights.reduce((sum, [, weight]) => sum + weight, 0);
      const queue = new FairQueue<string, Entry>(weights);
      const waiting = new Map<string, Entry[]>(names.map((name) => [name, []]));
      const maxSize = 3;
      let served = 0;
      /** By queue: what was served of it, and in all, since it last became busy. */
      const busy = new Map<string, { own: number; from: number }>();
      const load = new Map(names.map((name) => [name, random() < 0.4 ? 1 : random()]));
      for (let step = 0; step < 2_000; step++) {
        for (const name of names) {
          if (random() > load.get(name)!) continue;
          const own = waiting.get(name)!;
          const size = random() < 0.1 ? maxSize : 1;
          const ahead = own.reduce((sum, one) => sum + one.size, size);
          const entry: Entry = { name, size, dueMs: 0, gone: false, servedBefore: served, ahead };
          if (own.length === 0) busy.set(name, { own: 0, from: served });
          own.push(entry);
          queue.push(name, entry);
          // Some leave before their turn.
          if (random() < 0.05) {
            queue.leave(name, own.pop()!);
          }
        }
        const next = queue.shift();
        if (!next) continue;
        const own = waiting.get(next.name)!;
        if (own.shift() !== next) expect.fail(`seed ${seed}, step ${step}: not first in, first out`);
        served += next.size;
        busy.get(next.name)!.own += next.size;
        const weight = weights.find(([name]) => name === next.name)![1];
        // Work of the others while it waited: by weight, and at most one entry each more.
        const bound = (next.ahead * total) / weight + names.length * maxSize;
        const waited = served - next.servedBefore;
        if (waited > bound) expect.fail(`seed ${seed}, step ${step}: waited ${waited}, bound ${bound}`);
        for (const [name, { own: got, from }] of busy) {
          if (waiting.get(name)!.length === 0) continue;
          const share = weights.find(([one]) => one === name)![1] / total;
          const due = (served - from) * share - maxSize * (1 + names.length * share);
          if (got < due) expect.fail(`seed ${seed}, step ${step}: ${name} got ${got} of ${due}`);
        }
      }
    }
  });

  test("an entry of an idle queue with a large weight goes before those that wait in queues with small ones", () => {
    const queue = new FairQueue<string, Entry>([
      ["large", 30],
      ["small", 1],
    ]);
    const entry = (name: string): Entry => ({
      name,
      size: 1,
      dueMs: 0,
      gone: false,
      servedBefore: 0,
      ahead: 0,
    });
    for (let i = 0; i < 5; i++) queue.push("small", entry("small"));
    queue.shift();
    queue.push("large", entry("large"));
    expect(queue.shift()!.name).toBe("large");
    expect(queue.size).toBe(4);
    expect(queue.sizeOf("small")).toBe(4);
  });

  test("within a queue what is due first goes first, and of equals what came first", () => {
    const queue = new FairQueue<string, Entry>([["one", 1]]);
    const entries = [40, 10, 30, 10, 20, 30].map(
      (dueMs, i): Entry => ({
        name: `${dueMs}-${i}`,
        size: 1,
        dueMs,
        gone: false,
        servedBefore: 0,
        ahead: 0,
      }),
    );
    for (const entry of entries) queue.push("one", entry);
    queue.leave("one", entries[4]!);
    const order = Array.from({ length: 5 }, () => queue.shift()!.name);
    expect(order).toEqual(["10-1", "10-3", "30-2", "30-5", "40-0"]);
    expect(queue.size).toBe(0);
  });
});

test("at random: in any budget, prices and positions at risk get their share, and nothing starves", async () => {
  for (let round = 0; round < 8; round++) {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const random = seededRandom(seed);
    const clock = new FakeClock(0);
    const requestsPerSecond = 0.1 * 10 ** (random() * 3.5);
    const budget = new RequestBudget({ clock, requestsPerSecond });
    const all = Object.values(lanes);
    const sent = new Map<Lane, number>(all.map((lane) => [lane, 0]));
    // Some lanes always have something to send; the others send at random.
    const greedy = new Set(
      all.filter((lane) => lane === lanes.prices || lane === lanes.atRisk || random() < 0.6),
    );
    const loop = async (lane: Lane): Promise<void> => {
      for (;;) {
        const grant = await budget.take({ lane });
        sent.set(lane, sent.get(lane)! + 1);
        grant.answered();
        if (!greedy.has(lane)) await clock.sleep((random() * 20_000) / requestsPerSecond);
      }
    };
    for (const lane of all) for (let i = 0; i < 3; i++) void loop(lane);
    const requests = 2_000;
    const seconds = requests / requestsPerSecond;
    await clock.advance(seconds * 1_000);
    const total = [...sent.values()].reduce((sum, count) => sum + count, 0);
    const label = `seed ${seed}, ${requestsPerSecond}/s`;
    expect(total, label).toBeGreaterThan(0.95 * requests);
    const weights = Object.values(laneWeights).reduce((sum, weight) => sum + weight, 0) + 10;
    for (const lane of all) {
      if (greedy.has(lane))
        expect(sent.get(lane), `${label}, lane ${lane}`).toBeGreaterThanOrEqual(
          (total * laneWeights[lane]) / weights - 10,
        );
      else expect(sent.get(lane), `${label}, lane ${lane}`).toBeGreaterThan(5);
    }
  }
}, 120_000);
