/** Plans: what seeds make of starts and of histories that lag. */
import { expect, test } from "vitest";
import { Journal } from "../../src/simulator/journal.ts";
import type { Wallet } from "../../src/simulator/state.ts";
import { VirtualTime } from "./clock.ts";
import { letHistoriesLag } from "./histories.ts";
import { lengthMs } from "./scenario.ts";
import { planStart, startKinds } from "./start.ts";
import { Weather } from "./weather.ts";

const starts = Array.from({ length: 200 }, (_, index) => planStart(index + 1, lengthMs));

test("all kinds of starts come up soon", () => {
  expect([...new Set(starts.map(({ kind }) => kind))].sort()).toEqual([...startKinds].sort());
});

test("a day begins at the midnight that a start names, and at no other moment of the scenario", () => {
  for (const { atMs, timezone, midnightMs } of starts) {
    if (timezone === null) continue;
    const format = new Intl.DateTimeFormat("sv-SE", { timeZone: timezone });
    const days = new Map<string, number>();
    const from = Math.floor(atMs / 1_000) * 1_000;
    for (let ms = from; ms <= atMs + lengthMs; ms += 1_000)
      if (!days.has(format.format(ms))) days.set(format.format(ms), ms);
    expect([...days.values()].slice(1)).toEqual(midnightMs === null ? [] : [midnightMs]);
  }
});

test("histories that lag show entries later and in their order", async () => {
  const time = new VirtualTime(0);
  const journals = { collateral: new Journal(), fills: new Journal(), liquidations: new Journal() };
  const fault = {
    fromMs: 10,
    toMs: 30,
    kind: "historiesLate",
    wallets: ["w1"],
    mostMs: 1_000,
  } as const;
  const draws = [0.5, 0, 0.1, 0, 0];
  letHistoriesLag({ name: "w1", ...journals } as unknown as Wallet, {
    time,
    weather: new Weather([fault], () => time.elapsedMs),
    random: () => draws.shift() ?? 0,
  });
  const { fills } = journals;
  for (const ms of [0, 10, 20, 40, 600]) time.after(ms, () => fills.push(ms));
  const shown = async (ms: number) => {
    await time.runTo(ms);
    return [...fills.all()];
  };
  expect(await shown(50)).toEqual([0]);
  expect(await shown(509)).toEqual([0]);
  expect(await shown(511)).toEqual([0, 10, 20, 40]);
  expect(await shown(600)).toEqual([0, 10, 20, 40, 600]);
});
