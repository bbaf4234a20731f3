import { describe, expect, test } from "vitest";
import { BudgetFull, type Lane, lanes, RequestBudget } from "../../src/exchange/budget.ts";
import { FakeClock } from "../support/clock.ts";

function setUp(requestsPerSecond: number, mostWaiting?: number) {
  const clock = new FakeClock(0);
  const budget = new RequestBudget({
    clock,
    requestsPerSecond,
    ...(mostWaiting === undefined ? {} : { mostWaiting }),
  });
  const left: { name: string; atMs: number }[] = [];
  const take = (name: string, lane: Lane, more: { signIn?: boolean; weight?: number } = {}) =>
    budget.take({ lane, ...more }).then((grant) => {
      left.push({ name, atMs: clock.elapsedMs() });
      return grant;
    });
  const names = () => left.map((one) => one.name).join(" ");
  return { clock, budget, left, take, names };
}

/** Takes so many at once, at the lowest lane, and waits until they are through. */
async function spend({ clock, budget }: ReturnType<typeof setUp>, count: number) {
  await clock.finish(Promise.all(Array.from({ length: count }, () => budget.take({ lane: lanes.catchUp }))));
}

describe("the request ceiling", () => {
  test("lets out no more than 1.2 × the ceiling in any second, and reaches it", async () => {
    const { clock, left, take } = setUp(20);
    for (let i = 0; i < 200; i++) void take(`${i}`, lanes.state);
    await clock.advance(9_000);
    for (let second = 0; second < 8_000; second += 100) {
      const inWindow = left.filter((one) => one.atMs >= second && one.atMs < second + 1_000).length;
      expect(inWindow).toBeLessThanOrEqual(24);
      if (second > 1_000) expect(inWindow).toBeGreaterThanOrEqual(18);
    }
    expect(left.length).toBeGreaterThanOrEqual(178);
  });

  test("goes by lane, and in order within one; a late wallet at risk overtakes all that wait", async () => {
    const set = setUp(10);
    await spend(set, 10);
    const { clock, take, names } = set;
    void take("catchUp", lanes.catchUp);
    void take("rest", lanes.rest);
    void take("inbox", lanes.inbox);
    void take("state1", lanes.state);
    void take("state2", lanes.state);
    await clock.advance(120);
    void take("risk", lanes.atRisk);
    await clock.advance(5_000);
    expect(names()).toBe("state1 risk state2 inbox rest catchUp");
  });

  test("keeps a share for sign-in, however busy the lane of wallets at risk is", async () => {
    const { clock, left, take } = setUp(10);
    for (let i = 0; i < 400; i++) void take("risk", lanes.atRisk);
    for (let i = 0; i < 12; i++) void take("signIn", lanes.inbox, { signIn: true });
    await clock.advance(10_000);
    const signIns = left.filter((one) => one.name === "signIn").length;
    expect(signIns).toBeGreaterThanOrEqual(10);
    expect(left.length).toBeLessThanOrEqual(105);
  });

  test("takeNow never overtakes those who wait", async () => {
    const set = setUp(10);
    await spend(set, 10);
    void set.take("state", lanes.state);
    await set.clock.settle();
    expect(set.budget.takeNow({ lane: lanes.rest })).toBeNull();
    await set.clock.advance(2_000);
    expect(set.budget.takeNow({ lane: lanes.rest })).not.toBeNull();
  });

  test("a heavy request costs its weight", async () => {
    const set = setUp(10);
    await spend(set, 10);
    void set.take("heavy", lanes.state, { weight: 5 });
    void set.take("plain", lanes.state);
    await set.clock.advance(5_000);
    const [heavy, plain] = set.left;
    expect(plain!.atMs - heavy!.atMs).toBeGreaterThanOrEqual(400);
  });

  test("waiting ends with its signal, and leaves no gap", async () => {
    const set = setUp(2);
    await spend(set, 3);
    const abort = new AbortController();
    const gone = set.budget.take({ lane: lanes.state, signal: abort.signal });
    void set.take("next", lanes.rest);
    abort.abort(new Error("deadline"));
    await expect(gone).rejects.toThrow("deadline");
    expect(set.budget.waiting).toBe(1);
    await set.clock.advance(1_000);
    expect(set.names()).toBe("next");
    await expect(set.budget.take({ lane: lanes.state, signal: abort.signal })).rejects.toThrow("deadline");
  });

  test("a full lane refuses; the others still take", async () => {
    const set = setUp(1, 2);
    await spend(set, 1);
    void set.take("a", lanes.catchUp);
    void set.take("b", lanes.catchUp);
    await expect(set.budget.take({ lane: lanes.catchUp })).rejects.toThrow(BudgetFull);
    void set.take("risk", lanes.atRisk);
    await set.clock.advance(10_000);
    expect(set.names()).toBe("risk a b");
  });

  test("a 429 pauses everybody, halves the rate once, and the rate climbs back in a minute", async () => {
    const set = setUp(20);
    const { clock, budget, take, left } = set;
    const grants = await Promise.all([take("a", lanes.state), take("b", lanes.state), take("c", lanes.rest)]);
    for (const grant of grants) grant.throttled(2_500);
    expect(budget.ratePerSecond).toBe(10);
    expect(budget.pausedForMs).toBe(2_500);
    expect(budget.usage).toBe(1);
    void take("risk", lanes.atRisk);
    await clock.advance(2_400);
    expect(left).toHaveLength(3);
    await clock.advance(300);
    expect(left.at(-1)!.name).toBe("risk");
    await clock.advance(30_000);
    expect(budget.ratePerSecond).toBeGreaterThan(14);
    expect(budget.ratePerSecond).toBeLessThan(16);
    await clock.advance(31_000);
    expect(budget.ratePerSecond).toBe(20);
  });

  test("nothing flows and nothing recovers during a pause", async () => {
    const set = setUp(20);
    (await set.take("a", lanes.state)).throttled(50_000);
    await set.clock.advance(50_000);
    expect(set.budget.ratePerSecond).toBeCloseTo(10, 5);
    expect(set.budget.takeNow({ lane: lanes.state, weight: 2 })).toBeNull();
  });

  test("429 upon 429 stops at the floor, and a pause is never longer than a minute", async () => {
    const set = setUp(20);
    for (let i = 0; i < 12; i++) {
      const grant = await set.clock.finish(set.budget.take({ lane: lanes.state }));
      grant.throttled(i === 11 ? 3_600_000 : 0);
      await set.clock.advance(1);
    }
    expect(set.budget.ratePerSecond).toBeCloseTo(1, 1);
    expect(set.budget.pausedForMs).toBeLessThanOrEqual(60_000);
    expect(set.budget.throttledCount).toBe(12);
  });

  test("usage is the share of the ceiling over the last ten seconds", async () => {
    const set = setUp(20);
    expect(set.budget.usage).toBe(0);
    for (let i = 0; i < 100; i++) {
      await set.budget.take({ lane: lanes.state });
      await set.clock.advance(100);
    }
    expect(set.budget.usage).toBeCloseTo(0.5, 1);
    await set.clock.advance(60_000);
    expect(set.budget.usage).toBe(0);
  });
});
