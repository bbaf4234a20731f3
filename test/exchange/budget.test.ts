import { describe, expect, test } from "vitest";
import { BudgetFull, type Grant, RequestBudget } from "../../src/exchange/requests/budget.ts";
import { type Lane, lanes } from "../../src/exchange/requests/lanes.ts";
import { FakeClock } from "../support/clock.ts";

function setUp(requestsPerSecond: number, maxWaiting?: number) {
  const clock = new FakeClock(0);
  const budget = new RequestBudget({
    clock,
    requestsPerSecond,
    ...(maxWaiting === undefined ? {} : { maxWaiting }),
  });
  const left: { name: string; atMs: number }[] = [];
  const keep = (name: string, lane: Lane, more: { signIn?: boolean; weight?: number } = {}) =>
    budget.take({ lane, ...more }).then((grant) => {
      left.push({ name, atMs: clock.elapsedMs() });
      return grant;
    });
  /** A request that is answered as soon as it is sent. */
  const take: typeof keep = async (name, lane, more) => {
    const grant = await keep(name, lane, more);
    grant.answered();
    return grant;
  };
  const names = () => left.map((one) => one.name).join(" ");
  return { clock, budget, left, take, keep, names };
}

/** Takes so many at once, at the lowest lane, and waits until they are through. */
async function spend({ clock, budget }: ReturnType<typeof setUp>, count: number) {
  await clock.finish(
    Promise.all(
      Array.from({ length: count }, async () => (await budget.take({ lane: lanes.catchUp })).answered()),
    ),
  );
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

  test("a 429 pauses everybody; then one request at a time is sent until one is answered", async () => {
    const { clock, budget, keep, left } = setUp(20);
    const grants = await Promise.all([keep("a", lanes.state), keep("b", lanes.state), keep("c", lanes.rest)]);
    for (const grant of grants) grant.throttled(2_500);
    expect(budget.throttledCount).toBe(3);
    expect(budget.pausedForMs).toBe(2_500);
    expect(budget.usage).toBe(1);
    expect(budget.limit).toEqual({ forMs: 0, retryInMs: 2_500 });
    const later = [keep("rest", lanes.rest), keep("risk", lanes.atRisk), keep("price", lanes.prices)];
    await clock.advance(2_400);
    expect(left).toHaveLength(3);
    await clock.advance(300);
    expect(left.slice(3).map(({ name }) => name)).toEqual(["price"]);
    // A probe without an answer holds up the next one for two seconds only.
    await clock.advance(2_000);
    expect(left.slice(4).map(({ name }) => name)).toEqual(["risk"]);
    (await later[1]!).answered();
    expect(budget.limit).toBeNull();
    await clock.advance(200);
    expect(left.at(-1)!.name).toBe("rest");
  });

  test("a pause is never longer than a minute, whatever the exchange asks for", async () => {
    const { clock, budget, keep } = setUp(20);
    (await keep("a", lanes.state)).throttled(86_400_000);
    expect(budget.pausedForMs).toBe(60_000);
    await clock.advance(60_000);
    expect(budget.pausedForMs).toBe(0);
    expect(budget.takeNow({ lane: lanes.state, weight: 2 })).toBeNull();
  });

  test("requests under way are bounded, and the end of one, however it ends, lets the next be sent", async () => {
    const clock = new FakeClock(0);
    const budget = new RequestBudget({ clock, requestsPerSecond: 10_000, maxInFlight: 3 });
    const grants: Grant[] = [];
    for (let i = 0; i < 10; i++) void budget.take({ lane: lanes.state }).then((grant) => grants.push(grant));
    await clock.advance(1_000);
    expect(grants).toHaveLength(3);
    expect(budget.takeNow({ lane: lanes.prices })).toBeNull();
    grants[0]!.answered();
    grants[0]!.failed();
    await clock.advance(10);
    expect(grants).toHaveLength(4);
    grants[1]!.failed();
    await clock.advance(10);
    expect(grants).toHaveLength(5);
  });

  test("at most 64 are under way by default, however high the ceiling is", async () => {
    const clock = new FakeClock(0);
    const budget = new RequestBudget({ clock, requestsPerSecond: 100_000 });
    let granted = 0;
    for (let i = 0; i < 5_000; i++) void budget.take({ lane: lanes.state }).then(() => granted++);
    await clock.advance(60_000);
    expect(granted).toBe(64);
  });

  test("usage is the share of the ceiling over the last ten seconds", async () => {
    const set = setUp(20);
    expect(set.budget.usage).toBe(0);
    for (let i = 0; i < 100; i++) {
      (await set.budget.take({ lane: lanes.state })).answered();
      await set.clock.advance(100);
    }
    expect(set.budget.usage).toBeCloseTo(0.5, 1);
    await set.clock.advance(60_000);
    expect(set.budget.usage).toBe(0);
  });

  test("a ceiling that is all used is told as that at every moment of a second", async () => {
    const { clock, budget, take } = setUp(10);
    for (let i = 0; i < 400; i++) void take(`${i}`, lanes.state);
    await clock.advance(20_000);
    for (let at = 0; at < 1_000; at += 50) {
      await clock.advance(50);
      expect(budget.usage).toBeGreaterThan(0.98);
    }
  });
});
