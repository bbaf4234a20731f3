/** Trades whose estimates may hide a deposit or withdrawal: the profit that they leave is judged, and proven before it is a peak. */
import { expect, test } from "vitest";
import type { SubaccountState } from "../../src/domain/account.ts";
import { event, Harness, position, subaccount } from "./harness.ts";
import { drawdown, figure, fill, filled, flow, live, loss, minute, never, second, sold } from "./traded.ts";

test("a deposit that the estimate of a trade hides makes no peak and no drawdown", () => {
  const { h, after } = sold(drawdown, 700);
  const slot = h.slot;
  live(h, 15 * second, after);
  h.events("collateral", [flow(h, 700, slot)]);
  live(h, 2 * minute, after);
  expect([h.told, figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([[], 0, 0]);
});

test("a withdrawal that the estimate of a trade hides makes no loss within minutes", () => {
  const { h, after } = sold('change("wallet.pnl", "1m") > 500.0', -700);
  const slot = h.slot;
  live(h, 15 * second, after);
  h.events("collateral", [flow(h, -700, slot)]);
  live(h, 2 * minute, after);
  expect([h.told, figure(h, "pnl")]).toEqual([[], 0]);
});

test("a hidden deposit whose record comes after minutes leaves no peak", () => {
  const { h, after } = sold("wallet.pnl > 5000.0", 700);
  const slot = h.slot;
  live(h, 2 * minute, after);
  expect(figure(h, "highWaterMark")).toBe(700);
  h.events("collateral", [flow(h, 700, slot)]);
  expect([figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([0, 0]);
});

test("profit after a trade that hides nothing is a peak, and in windows, once the collateral history was read two minutes later", () => {
  const { h, after } = sold(drawdown, 700);
  live(h, 2 * minute, after);
  live(h, 10 * second, after);
  expect(figure(h, "highWaterMark")).toBe(700);
  live(h, 10 * second, after, 147);
  expect([h.told, figure(h, "highWaterMark")]).toEqual([["Loss main fired critical"], 700]);
});

test("a deposit hidden in a trade makes no drawdown where another trade was seen a minute before it", () => {
  const h = new Harness({ rules: loss(drawdown) });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, minute, [subaccount(10_000, [position(1_000, 150)])]);
  h.pass(second);
  const before = [subaccount(9_999, [position(700, 150)])];
  h.account(before);
  h.live(15 * second, before, 150);
  h.events("collateral", []);
  h.live(45 * second, before, 150);
  const after = [subaccount(10_699, [position(200, 150)])];
  h.account(after);
  const slot = h.slot;
  h.live(15 * second, after, 150);
  h.events("collateral", [flow(h, 700, slot)]);
  live(h, 2 * minute, after);
  expect(h.told.filter((line) => line.startsWith("Loss"))).toEqual([]);
  expect([figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([-1, 0]);
});

test("profit after a trade makes a drawdown at once, less what the trade may hide", () => {
  const fall = (peakUsd: number): readonly string[] => {
    const { h, after } = sold(drawdown, 1);
    // 300 SOL are left, and the trade of 105,000 USD may hide 735.
    h.live(5 * second, after, 150 + peakUsd / 300);
    h.live(5 * second, after, 150);
    return h.told;
  };
  expect(fall(1_100)).toEqual([]);
  expect(fall(1_500)).toEqual(["Loss main fired critical"]);
});

test("profit after a trade that hides nothing is in windows of a day after a restart", () => {
  const { h, after } = sold('maxOver("wallet.pnl", "24h") - wallet.pnl > 200.0', 1);
  filled(h, 1);
  h.live(5 * second, after, 151);
  live(h, minute, after, 150);
  expect(h.told).toEqual(["Loss main fired critical"]);
  const again = h.restarted({ rules: loss('maxOver("wallet.pnl", "24h") - wallet.pnl > 200.0') });
  for (const tick of h.all.flatMap((one) => one.ticks).sort((a, b) => a.atMs - b.atMs))
    again.watch.warmUp.rememberTick(tick);
  live(again, minute, after, 150);
  expect(again.told).toEqual([]);
  expect(again.watch.status(again.nowMs).firing.map(({ rule }) => rule)).toEqual(["Loss"]);
});

test("one trade after the other, each of which may hide a flow, leaves profit in windows half a minute later", () => {
  const h = new Harness({ rules: loss(drawdown) });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, minute, [subaccount(10_000, [position(1_000, 150)])]);
  for (let i = 0; i < 150; i++) {
    // A dollar was lost by the newest trade.
    const size = i % 2 === 0 ? 900 : 1_000;
    h.live(second, [subaccount(9_999 - i, [position(size, 150)])], i < 140 ? 151 : 150, second);
    if (i % 5 === 0) h.events("collateral", []);
  }
  expect(h.told).toEqual(["Loss main fired critical"]);
});

test("profit after a trade that hides nothing is in short windows at its own time, though money was moved just before it", () => {
  const { h, after } = sold('change("wallet.pnl", "1m") < -500.0', -1);
  const moved = [300, -300].map((usd) => ({ ...flow(h, usd, h.slot - 20), happenedMs: h.nowMs - second }));
  h.events("collateral", moved);
  const { slot } = h;
  for (let i = 0; i < 90; i++) {
    if (i === 20) filled(h, -1, slot);
    h.live(second, after, i >= 5 && i < 15 ? 153 : 150, second);
    if (i % 5 === 4) h.events("collateral", []);
    expect(h.told.length).toBe(i < 65 ? 0 : 1);
  }
});

test("a peak while trades go on is known, in windows as well", () => {
  for (const everyMs of [second, 5 * second]) {
    const h = new Harness({ rules: loss(drawdown) });
    h.events("collateral", [], "main", { coversMs: 0 });
    live(h, minute, [subaccount(10_000, [position(1_000, 150)])]);
    // Cash, size and what the position cost, USD.
    let [usd, size, costUsd, bestUsd] = [10_000, 1_000, 150_000, 0];
    const accounts = () => [subaccount(usd, [position(size, costUsd / size)])];
    for (let ms = 0; ms < 3 * minute; ms += everyMs) {
      const mark = ms >= minute && ms < minute + 45 * second ? 153 : 150;
      const to = size === 1_000 ? 800 : 1_000;
      const sold = size - to;
      const cost = sold > 0 ? (costUsd * sold) / size : sold * mark;
      usd += (sold > 0 ? sold * mark - cost : 0) - 0.01;
      costUsd -= cost;
      size = to;
      h.live(everyMs, accounts(), mark, everyMs);
      if (ms % (5 * second) === 0) h.events("collateral", []);
      bestUsd = Math.max(bestUsd, usd + size * mark - costUsd - 10_000);
    }
    live(h, minute, accounts(), 150);
    expect(figure(h, "highWaterMark"), `every ${everyMs} ms`).toBeCloseTo(bestUsd, 1);
    expect(h.told, `every ${everyMs} ms`).toEqual(["Loss main fired critical"]);
  }
});

test("a restart goes on with trades that may hide a flow", () => {
  const rules = loss(drawdown, ", for: 1m");
  const before = new Harness({ rules });
  before.events("collateral", [], "main", { coversMs: 0 });
  live(before, minute, [subaccount(10_000, [position(1_000, 150)])]);
  before.pass(second);
  const after = [subaccount(10_699.9, [position(300, 150)])];
  before.account(after);
  const slot = before.slot;
  before.pass(2 * second);
  const h = before.restarted({ rules });
  h.config();
  h.mark(150);
  h.events("collateral", []);
  h.account(after);
  expect(h.asks).toContain("collateral main");
  live(h, 10 * second, after);
  h.events("collateral", [flow(h, 700, slot)]);
  live(h, 3 * minute, after);
  expect([h.told, figure(h, "highWaterMark")]).toEqual([[], 0]);
});

test("a reload goes on with the readings of the history for a trade", () => {
  const { h } = sold(drawdown, 700);
  h.pass(second);
  h.asks.length = 0;
  h.reload({ rules: loss(drawdown) });
  h.pass(30 * second);
  expect(h.asks.filter((ask) => ask.startsWith("collateral")).length).toBeGreaterThanOrEqual(2);
});

test("the history is read twenty seconds after a trade, though an open change had it read before", () => {
  const { h } = sold(drawdown, 700);
  const tradedMs = h.nowMs;
  const slot = h.slot;
  h.pass(second);
  const after = [subaccount(7_700, [position(300, 150)])];
  h.account(after);
  const paidSlot = h.slot;
  const readMs: number[] = [];
  let paid = [flow(h, -3_000, paidSlot)];
  let hidden = [flow(h, 700, slot)];
  for (let i = 0; i < 60; i++) {
    h.asks.length = 0;
    h.live(second, after, 150, second);
    if (!h.asks.includes("collateral main")) continue;
    const ageMs = h.nowMs - tradedMs;
    readMs.push(ageMs);
    const told = [...(ageMs >= 5 * second ? paid : []), ...(ageMs >= 15 * second ? hidden : [])];
    if (told.some((one) => paid.includes(one))) paid = [];
    if (told.some((one) => hidden.includes(one))) hidden = [];
    h.events("collateral", told);
    h.events("fills", []);
  }
  expect(readMs.at(-1)).toBe(20 * second);
  live(h, 2 * minute, after);
  expect(h.told.filter((line) => line.startsWith("Loss"))).toEqual([]);
  expect([figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([0, 0]);
});

test("a deposit that an open change shows takes nothing off a peak that never counted it", () => {
  const h = new Harness({ rules: loss(never) });
  h.events("collateral", [], "main", { coversMs: 0 });
  const both = (usd: number, isolatedUsd: number) => [
    subaccount(usd, [position(100, 150)]),
    subaccount(isolatedUsd, [], { subaccount: 1 }),
  ];
  live(h, minute, both(10_000, 1_000));
  h.pass(second);
  h.account(both(5_000, 6_000));
  const slot = h.slot;
  h.mark(160);
  expect([figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([1_000, 1_000]);
  h.mark(150);
  h.events("collateral", [flow(h, -5_000, slot), flow(h, 5_000, slot, 1)]);
  expect([figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([0, 1_000]);
});

test("a deposit beside trades leaves the profit before it in windows", () => {
  const h = new Harness({ rules: loss('change("wallet.pnl", "1m") < -500.0') });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, minute, [subaccount(10_000, [position(1_000, 150)])]);
  let usd = 10_000;
  let size = 1_000;
  const told: number[] = [];
  for (let i = 0; i < 110; i++) {
    if (i < 45) {
      usd -= 0.01;
      size = size === 1_000 ? 700 : 1_000;
    }
    if (i === 50) usd += 500;
    h.live(second, [subaccount(usd, [position(size, 150)])], i < 80 ? 150 : 145, second);
    if (i === 50) h.events("collateral", [{ ...flow(h, 500), happenedMs: h.nowMs }]);
    else if (i % 5 === 0) h.events("collateral", []);
    told.push(h.told.length);
  }
  expect(told.indexOf(1)).toBe(80);
});

test("money moved in a second state of a slot is not hidden by the trade in the first", () => {
  const { h } = sold(never, 1);
  const state = {
    kind: "accounts",
    wallet: "main",
    pdaIndex: 0,
    atMs: h.nowMs,
    slot: h.slot,
    slotIndex: 1,
  } as const;
  const after = [subaccount(10_701, [position(300, 150)])];
  h.see({ ...state, subaccounts: after });
  expect(figure(h, "pnl")).toBe(undefined);
  const { slot } = h;
  h.live(10 * second, after, 150);
  h.events("collateral", []);
  expect(figure(h, "pnl")).toBe(undefined);
  h.events("collateral", [flow(h, 700, slot)]);
  expect([figure(h, "pnl"), figure(h, "netDeposits"), figure(h, "highWaterMark")]).toEqual([1, 700, 1]);
});

test("a hidden deposit whose record comes with that of another flow makes no loss within minutes", () => {
  const { h } = sold('change("wallet.pnl", "1m") < -500.0', 700);
  const hidden = { ...flow(h, 700), happenedMs: h.nowMs };
  h.live(5 * second, [subaccount(10_700, [position(300, 150)])], 150);
  const after = [subaccount(10_400, [position(300, 150)])];
  h.account(after);
  const paidOut = { ...flow(h, -300), happenedMs: h.nowMs };
  h.live(5 * second, after, 150);
  h.events("collateral", [hidden, paidOut]);
  live(h, 2 * minute, after);
  expect([h.told, figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([[], 0, 400]);
});

test("an account that is given money, trades and gives it back in one slot, each of which a stream shows, hides nothing", () => {
  const h = new Harness({ rules: loss(never) });
  h.events("collateral", [], "main", { coversMs: 0 });
  const cross = (usd: number) => subaccount(usd, [position(10, 150)]);
  const isolated = (usd: number, size: number) =>
    subaccount(usd, size === 0 ? [] : [position(size, 150)], { subaccount: 1 });
  live(h, minute, [cross(10_000), isolated(0, 0)]);
  h.pass(second);
  h.slot += 10;
  for (const [slotIndex, [usd, isolatedUsd, size]] of [
    [9_500, 500, 0],
    [9_500, 499, 3],
    [9_500, 498, 0],
    [9_998, 0, 0],
  ].entries())
    h.see({
      ...{ kind: "accounts", wallet: "main", pdaIndex: 0, atMs: h.nowMs, slot: h.slot, slotIndex },
      subaccounts: [cross(usd!), isolated(isolatedUsd!, size!)],
    });
  const { slot } = h;
  h.events("collateral", [
    flow(h, -500, slot),
    flow(h, 498, slot),
    flow(h, 500, slot, 1),
    flow(h, -498, slot, 1),
  ]);
  expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([-2, 0]);
});

for (const late of ["the fill is read early", "the fill is late, too"] as const)
  test(`a hidden deposit whose record comes after a minute and a half makes no peak and no drawdown: ${late}`, () => {
    for (const when of [drawdown, 'change("wallet.pnl", "3m") < -500.0']) {
      const { h, after } = sold(when, 700);
      const { slot } = h;
      live(h, 10 * second, after);
      if (late === "the fill is read early") filled(h, 0, slot);
      live(h, 80 * second, after);
      h.events("collateral", [flow(h, 700, slot)]);
      live(h, 4 * minute, after);
      const told = h.told.filter((line) => line.startsWith("Loss"));
      expect([told, figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([[], 0, 0]);
    }
  });

test("profit after a trade that hides nothing is a peak once the fill is read", () => {
  const { h, after } = sold('drawdown("wallet.pnl", "24h") > 0.02', 1, 20_000);
  const { slot } = h;
  h.live(second, after, 152, second);
  expect(figure(h, "highWaterMark")).toBe(601);
  h.live(second, after, 149, second);
  expect(figure(h, "highWaterMark")).toBe(0);
  filled(h, 1, slot);
  h.live(2 * second, after, 149, second);
  expect([figure(h, "highWaterMark"), h.told]).toEqual([601, ["Loss main fired critical"]]);
});

test("a fill tells that money was moved with its trade, and the record how much", () => {
  for (const paidUsd of [700, -700]) {
    const { h, after } = sold(never, paidUsd);
    const { slot } = h;
    filled(h, 0, slot);
    expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([undefined, 0]);
    expect(h.asks).toContain("collateral main");
    h.live(second, after, 150, second);
    h.events("collateral", [flow(h, paidUsd, slot)]);
    expect([figure(h, "pnl"), figure(h, "netDeposits"), figure(h, "highWaterMark")]).toEqual([0, paidUsd, 0]);
  }
});

test("a fill that is read before the state of its trade tells that money was moved with it", () => {
  const h = new Harness({ rules: loss(never) });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, minute, [subaccount(10_000, [position(1_000, 150)])]);
  h.pass(second);
  const slot = h.slot + 1;
  filled(h, 0, slot);
  h.account([subaccount(10_700, [position(300, 150)])]);
  expect(figure(h, "pnl")).toBe(undefined);
  h.events("collateral", [flow(h, 700, h.slot)]);
  expect([figure(h, "pnl"), figure(h, "netDeposits"), figure(h, "highWaterMark")]).toEqual([0, 700, 0]);
});

test("fills at another price than the estimate leave nothing to explain", () => {
  const { h } = sold(never, 700);
  const { slot } = h;
  h.events("fills", [fill(h, "ask", 300, 151, slot), fill(h, "ask", 400, 151, slot)]);
  const after = [subaccount(10_700, [position(300, 150)])];
  h.live(second, after, 150, second);
  h.live(second, after, 149, second);
  expect([figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([400, 700]);
});

test("fills between two answers about the account, all known, leave profit known", () => {
  const { h } = sold("wallet.pnl < -300.0", 600);
  const { slot } = h;
  const after = [subaccount(10_600, [position(300, 150)])];
  const early = fill(h, "bid", 300, 149, slot - 6);
  h.events("fills", [early, fill(h, "ask", 700, 150, slot - 4), fill(h, "ask", 300, 151, slot - 2)]);
  live(h, 20 * second, after, 148);
  expect([h.told, figure(h, "pnl")]).toEqual([[], 0]);
});

test("a round trip beside a sale that cost its spread leaves profit known", () => {
  const { h } = sold(never, -120);
  const { slot } = h;
  h.events("fills", [
    fill(h, "bid", 300, 150.2, slot - 6),
    fill(h, "ask", 400, 150, slot - 4),
    fill(h, "ask", 300, 150, slot - 4),
    fill(h, "ask", 300, 149.8, slot - 2),
  ]);
  live(h, 20 * second, [subaccount(9_880, [position(300, 150)])]);
  expect(figure(h, "pnl")).toBe(-120);
});

test("a position in another market that came and went beside a sale leaves profit known", () => {
  const other = (h: Harness, side: "bid" | "ask", price: number, slot: number) => ({
    ...fill(h, side, 100, price, slot),
    symbol: "ETH",
  });
  for (const order of [
    [0, 1, 2],
    [1, 2, 0],
    [1, 0, 2],
  ]) {
    const { h } = sold(never, -120);
    const { slot } = h;
    const fills = [
      fill(h, "ask", 700, 150, slot - 2),
      other(h, "bid", 3_000, slot - 6),
      other(h, "ask", 2_998.8, slot - 4),
    ];
    const after = [subaccount(9_880, [position(300, 150)])];
    h.events(
      "fills",
      order.map((index) => fills[index]!),
    );
    expect(figure(h, "pnl")).toBe(-120);
    live(h, 20 * second, after);
    expect(figure(h, "pnl")).toBe(-120);
    // Its fills on a later page explain what the first ones left.
    const later = sold(never, -120).h;
    later.events("fills", [fills[0]!, fills[1]!]);
    expect(figure(later, "pnl")).toBe(undefined);
    later.events("fills", [fills[2]!]);
    expect(figure(later, "pnl")).toBe(-120);
  }
});

test("what later fills of a reading explain, or what lapses as profit, is not taken off the highest profit", () => {
  for (const lapses of [false, true]) {
    const { h, after } = sold(never, 600);
    const { slot } = h;
    h.live(second, after, 152, second);
    h.live(second, after, 150, second);
    if (lapses) filled(h, 0, slot);
    else
      h.events("fills", [
        fill(h, "ask", 700, 150, slot),
        fill(h, "ask", 300, 151, slot),
        fill(h, "bid", 300, 149, slot),
      ]);
    live(h, (lapses ? 6 : 3) * minute, after);
    expect([figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([600, 1_200]);
  }
});

test("a deposit beside a trade whose record is read before the fill leaves profit known with the fill", () => {
  const h = new Harness({ rules: loss(drawdown) });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, minute, [subaccount(10_000, [position(1_000, 150)])]);
  h.pass(second);
  const after = [subaccount(15_000, [position(300, 150)])];
  h.account(after);
  const { slot } = h;
  h.pass(second);
  h.events("collateral", [flow(h, 5_000, slot)]);
  h.live(second, after, 150, second);
  filled(h, 0, slot);
  h.live(2 * second, after, 154, second);
  h.live(second, after, 150, second);
  expect(h.told).toEqual(["Loss main fired critical"]);
});

test("a restart keeps that the fills of a trade are known", () => {
  const { h, after } = sold(drawdown, -1, 15_000);
  const { slot } = h;
  h.live(second, after, 150, second);
  filled(h, -1, slot);
  h.live(10 * second, after, 150, second);
  const again = h.restarted({ rules: loss(drawdown) });
  again.config();
  again.mark(150);
  again.account(after);
  again.events("collateral", []);
  again.live(2 * second, after, 154, second);
  again.live(2 * second, after, 150, second);
  expect(again.told).toEqual(["Loss main fired critical"]);
});

test("a fill that is read an hour after its trade changes nothing", () => {
  const { h, after } = sold(never, 600);
  const { slot } = h;
  live(h, 10 * minute, after);
  filled(h, 0, slot);
  live(h, second, after);
  expect([figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([600, 600]);
});

test("money paid out and in again is no transfer between accounts", () => {
  const h = new Harness({ rules: loss("wallet.pnl < -2000.0", ", for: 0s") });
  h.events("collateral", [], "main", { coversMs: 0 });
  const held = (usd: number) => [subaccount(usd, [position(10, 150)])];
  live(h, minute, held(10_000));
  h.account(held(7_000));
  const out = flow(h, -3_000, h.slot);
  h.live(15 * second, held(7_000), 150);
  h.account(held(10_000));
  const back = flow(h, 3_000, h.slot);
  h.live(5 * second, held(10_000), 150);
  h.events("collateral", [out, back]);
  h.live(20 * second, held(10_000), 150);
  const ended = h.changes.findLast(({ kind }) => kind === "ended");
  expect(ended?.alert.summary).toMatch(/: a (deposit|withdrawal) of /);
});

test("the highest profit while a change of collateral was not explained counts once it is, and so does a fall from it", () => {
  for (const paidUsd of [3_000, -3_000]) {
    const h = new Harness({ rules: loss('drawdown("wallet.pnl", "24h") > 0.04') });
    h.events("collateral", [], "main", { coversMs: 0 });
    live(h, minute, [subaccount(20_000, [position(1_000, 150)])]);
    const after = [subaccount(20_000 + paidUsd, [position(1_000, 150)])];
    h.account(after);
    const { slot } = h;
    h.live(10 * second, after, 151.2);
    h.live(10 * second, after, 150);
    expect(figure(h, "pnl")).toBe(undefined);
    h.events("collateral", [flow(h, paidUsd, slot)]);
    h.live(10 * second, after, 150);
    expect([figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([0, 1_200]);
    expect(h.told.at(-1)).toBe("Loss main fired critical");
  }
});

test("a loss by positions that came and went is of the time at which it was seen", () => {
  const h = new Harness({ rules: loss('change("wallet.pnl", "1m") < -500.0') });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, minute, [subaccount(20_000, [position(10, 150)])]);
  const after = [subaccount(19_000, [position(10, 150)])];
  h.account(after);
  const { slot } = h;
  // It may be a withdrawal: nothing is told before it is explained, and then it is a minute old.
  h.pass(second);
  h.account(after);
  h.pass(70 * second);
  h.events("fills", [fill(h, "bid", 100, 150, slot - 6), fill(h, "ask", 100, 140, slot - 4)]);
  h.live(10 * second, after, 150);
  expect(h.told.filter((line) => line.startsWith("Loss"))).toEqual([]);
  expect(figure(h, "pnl")).toBe(-1_000);
});

test("fills of the slots of two states are of the change that they explain", () => {
  const h = new Harness({ rules: loss(never) });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, minute, [subaccount(20_000, [position(1_000, 150)])]);
  // The fill of each slot came after the state.
  h.account([subaccount(20_001, [position(900, 150)])]);
  const first = h.slot;
  h.account([subaccount(20_101, [position(800, 150)])]);
  const last = h.slot;
  const before = fill(h, "ask", 100, 150.01, first - 2);
  h.events("fills", [before, fill(h, "ask", 100, 151, first), fill(h, "ask", 100, 152, last)]);
  expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([101, 0]);
  h.account([subaccount(20_301, [position(700, 150)])]);
  expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([301, 0]);
});

test("a deposit of the slot of the state before a trade, after the fill of that slot, is none of what fills leave", () => {
  const h = new Harness({ rules: loss(never) });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, minute, [subaccount(20_000, [position(1_000, 150)])]);
  const { slot } = h;
  h.account([subaccount(20_400, [position(300, 150)])]);
  const deposit = flow(h, 500, slot);
  h.events("collateral", [{ ...deposit, fields: { ...deposit.fields, after: 20_400 } }]);
  filled(h, -100, slot);
  live(h, 10 * second, [subaccount(20_400, [position(300, 150)])]);
  expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([-100, 500]);
});

/** States of a slot, one after the other, as a stream tells them. */
function streamed(h: Harness, states: readonly (readonly SubaccountState[])[]): void {
  h.slot += 10;
  for (const [slotIndex, subaccounts] of states.entries())
    h.see({
      ...{ kind: "accounts", wallet: "main", pdaIndex: 0, atMs: h.nowMs, slot: h.slot, slotIndex },
      subaccounts,
    });
}

test("money that the first state of a slot shows is not hidden by the trade in the second", () => {
  const h = new Harness({ rules: loss(never) });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, minute, [subaccount(10_000, [position(1_000, 150)])]);
  streamed(h, [[subaccount(10_700, [position(1_000, 150)])], [subaccount(10_701, [position(300, 150)])]]);
  expect(figure(h, "pnl")).toBe(undefined);
  h.events("collateral", [flow(h, 700)]);
  expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([1, 700]);
});

test("money that fills tell of beside a position that stands is no funding, whatever payments there are", () => {
  const h = new Harness({ rules: loss(never) });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, minute, [subaccount(10_000, [position(1_000, 150)])]);
  h.account([subaccount(10_700, [position(300, 150)])]);
  filled(h, 0);
  expect(figure(h, "pnl")).toBe(undefined);
  const fields = { payment: 700 };
  h.events("funding", [event({ kind: "funding", key: "p1", subaccount: null, happenedMs: h.nowMs, fields })]);
  expect(figure(h, "pnl")).toBe(undefined);
});
