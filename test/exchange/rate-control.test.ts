/** The rate that a limiter of the exchange's grants, found out by its refusals; on a virtual clock. */
import { expect, test } from "vitest";
import { type Grant, RequestBudget } from "../../src/exchange/requests/budget.ts";
import { lanes } from "../../src/exchange/requests/lanes.ts";
import { FakeClock } from "../support/clock.ts";

interface Limiter {
  /** Returns null if the request is taken, else the seconds of `Retry-After`; undefined: refused without the header. */
  take(nowMs: number): number | null | undefined;
}

function bucket(perSecond: number, burst: number, header: boolean): Limiter {
  let tokens = burst;
  let filledMs = 0;
  return {
    take(nowMs) {
      tokens = Math.min(burst, tokens + ((nowMs - filledMs) * perSecond) / 1_000);
      filledMs = nowMs;
      if (tokens >= 1) {
        tokens--;
        return null;
      }
      return header ? Math.ceil((1 - tokens) / perSecond) : undefined;
    },
  };
}

/** Schedules that want so many requests a second, against a limiter. */
function rig(requestsPerSecond: number | null, demand: number, answerMs = 50) {
  const clock = new FakeClock(0);
  const budget = new RequestBudget({ clock, requestsPerSecond });
  const state = { limiter: null as Limiter | null, answered: 0, refused: 0, waitedMs: [] as number[] };
  const send = async (): Promise<void> => {
    const fromMs = clock.elapsedMs();
    for (;;) {
      const grant: Grant = await budget.take({ lane: lanes.state });
      await clock.sleep(answerMs);
      const wait = state.limiter === null ? null : state.limiter.take(clock.elapsedMs());
      if (wait === null) {
        grant.answered();
        state.answered++;
        state.waitedMs.push(clock.elapsedMs() - fromMs);
        return;
      }
      state.refused++;
      grant.throttled(wait === undefined ? null : wait * 1_000);
    }
  };
  let waiting = 0;
  const pass = async (ms: number): Promise<{ answered: number; refused: number }> => {
    const before = { answered: state.answered, refused: state.refused };
    for (let passed = 0; passed < ms; passed += 1_000 / demand) {
      // Schedules stretch: what waits already is not asked for again.
      if (waiting < 3 * demand) {
        waiting++;
        void send().finally(() => waiting--);
      }
      await clock.advance(1_000 / demand);
    }
    return { answered: state.answered - before.answered, refused: state.refused - before.refused };
  };
  return { clock, budget, state, pass };
}

test.each([true, false])(
  "an exchange that grants one a second in bursts of three (Retry-After: %s) is asked at about that rate",
  async (header) => {
    const { budget, state, pass } = rig(null, 15);
    state.limiter = bucket(1, 3, header);
    await pass(120_000);
    expect(budget.ratePerSecond).toBeGreaterThan(0.7);
    expect(budget.ratePerSecond).toBeLessThan(1.15);
    const settled = await pass(600_000);
    // Trying above what was found costs a refusal now and then.
    expect(settled.answered).toBeGreaterThan(0.8 * 600);
    expect(settled.refused).toBeLessThan(15);
  },
);

test("an exchange that grants 12 a second is asked at 10 to 12 within a minute and a half, with few refusals afterwards", async () => {
  const { budget, state, pass } = rig(20, 18);
  state.limiter = bucket(12, 5, true);
  const first = await pass(90_000);
  expect(first.refused).toBeLessThan(40);
  expect(budget.ratePerSecond).toBeGreaterThan(10);
  expect(budget.ratePerSecond).toBeLessThan(12.5);
  const settled = await pass(600_000);
  expect(settled.answered).toBeGreaterThan(0.85 * 12 * 600);
  expect(settled.refused).toBeLessThan(20);
});

test("without a ceiling the rate grows as far as it is used, with one it never exceeds it", async () => {
  const auto = rig(null, 60);
  await auto.pass(90_000);
  expect(auto.budget.ratePerSecond).toBeGreaterThan(60);
  expect(auto.budget.ratePerSecond).toBeLessThan(110);
  const idle = rig(null, 5);
  await idle.pass(90_000);
  expect(idle.budget.ratePerSecond).toBe(20);
  const bounded = rig(25, 60);
  await bounded.pass(90_000);
  expect(bounded.budget.ratePerSecond).toBe(25);
});

test.each([
  ["without Retry-After", undefined],
  ["with Retry-After of 0", 0],
  ["with Retry-After of 5 s", 5],
])("after a minute in which everything is refused (%s) the rate is at once what it was", async (_, wait) => {
  const { clock, budget, state, pass } = rig(20, 15);
  await pass(120_000);
  state.limiter = { take: () => wait };
  const during = await pass(60_000);
  expect(during.answered).toBeLessThanOrEqual(1);
  // Probes, not the rate.
  expect(during.refused).toBeLessThan(40);
  state.limiter = null;
  let answeredMs = 0;
  const endMs = clock.elapsedMs();
  while (budget.limit) await pass(50);
  answeredMs = clock.elapsedMs() - endMs;
  expect(answeredMs).toBeLessThanOrEqual(Math.max(wait ?? 2, 2) * 1_000 + 200);
  expect(budget.ratePerSecond).toBe(20);
  // What waited is through soon: 20 a second against 15 that are wanted.
  state.waitedMs.length = 0;
  await pass(12_000);
  state.waitedMs.length = 0;
  await pass(2_000);
  expect(Math.max(...state.waitedMs)).toBeLessThan(1_000);
});

test("a limit soon after another is the exchange's own rate", async () => {
  const { budget, state, pass } = rig(20, 15);
  await pass(70_000);
  for (const rate of [20, 10, 5]) {
    // Bans for ten seconds, each soon after the one before.
    state.limiter = { take: () => 10 };
    await pass(5_000);
    state.limiter = null;
    while (budget.limit) await pass(100);
    expect(budget.ratePerSecond).toBe(rate);
    await pass(5_000);
  }
});

test("a route that refuses everything by itself halves the rate at most once, and soon slows nobody else", async () => {
  const clock = new FakeClock(0);
  const budget = new RequestBudget({ clock, requestsPerSecond: 20 });
  let answered = 0;
  const others = ["markets", "traderState", "notifications"];
  for (const [i, route] of others.entries()) {
    void (async () => {
      await clock.sleep(i * 37);
      for (;;) {
        const grant = await budget.take({ lane: lanes.state, route });
        await clock.sleep(50);
        grant.answered();
        answered++;
        await clock.sleep(500);
      }
    })();
  }
  void (async () => {
    for (;;) {
      const grant = await budget.take({ lane: lanes.rest, route: "fundingHourly" });
      await clock.sleep(50);
      grant.throttled(2_000);
      await clock.sleep(1_000);
    }
  })();
  await clock.advance(20_000);
  expect(budget.ratePerSecond).toBeGreaterThanOrEqual(10);
  answered = 0;
  await clock.advance(60_000);
  expect(answered).toBeGreaterThan(290);
  expect(budget.limit).toBeNull();
});

test.each([
  [0, 60],
  [1, 60],
  [0, 30],
  [0, undefined],
])(
  "a route that allows %i a minute (Retry-After: %s) leaves prices and positions alone",
  async (allowed, wait) => {
    const clock = new FakeClock(0);
    const budget = new RequestBudget({ clock, requestsPerSecond: 20 });
    const sentMs: number[] = [];
    const reads = async (lane: 0 | 2, route: string) => {
      for (;;) {
        const grant = await budget.take({ lane, route });
        sentMs.push(clock.elapsedMs());
        await clock.sleep(50);
        grant.answered();
        await clock.sleep(2_000);
      }
    };
    void reads(lanes.prices, "prices");
    void reads(lanes.state, "traderState");
    void (async () => {
      let taken: number[] = [];
      for (;;) {
        const grant = await budget.take({ lane: lanes.rest, route: "candles" });
        await clock.sleep(50);
        const nowMs = clock.elapsedMs();
        taken = taken.filter((atMs) => nowMs - atMs < 60_000);
        if (taken.length < allowed) {
          taken.push(nowMs);
          grant.answered();
        } else grant.throttled(wait === undefined ? null : wait * 1_000);
        await clock.sleep(10_000);
      }
    })();
    await clock.advance(20 * 60_000);
    const gaps = sentMs.slice(1).map((atMs, i) => atMs - sentMs[i]!);
    expect(Math.max(...gaps)).toBeLessThan(5_000);
    expect(budget.ratePerSecond).toBe(20);
    // Two of each lane in 4.1 s, less a few pauses at the beginning.
    expect(sentMs.length).toBeGreaterThan(1_150);
  },
);

test("a limit that ends long before its Retry-After is noticed within 4 s", async () => {
  const clock = new FakeClock(0);
  const budget = new RequestBudget({ clock, requestsPerSecond: 20 });
  const answeredMs: number[] = [];
  void (async () => {
    for (;;) {
      const grant = await budget.take({ lane: lanes.prices, route: "prices" });
      await clock.sleep(30);
      const nowMs = clock.elapsedMs();
      if (nowMs > 20_000 && nowMs < 30_000) grant.throttled(60_000);
      else {
        answeredMs.push(nowMs);
        grant.answered();
      }
      await clock.sleep(2_000);
    }
  })();
  await clock.advance(60_000);
  expect(answeredMs.find((atMs) => atMs > 20_000)).toBeLessThan(34_000);
});

test("a pause that everybody is refused in is no limit of the route that was refused first", async () => {
  const { budget, state, pass } = rig(20, 15);
  await pass(70_000);
  for (let i = 0; i < 4; i++) {
    state.limiter = { take: () => 30 };
    await pass(20_000);
    expect(budget.limit).not.toBeNull();
    state.limiter = null;
    await pass(70_000);
    expect(budget.limit).toBeNull();
  }
  expect(budget.ratePerSecond).toBe(20);
});
