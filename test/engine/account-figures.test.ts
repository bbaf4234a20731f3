/** The account's figures beside its risk: what it may do, how long its orders rest, since when its positions stand. */
import { expect, test } from "vitest";
import { type OrderState, orderName } from "../../src/domain/account.ts";
import { event, Harness, position, startMs, subaccount } from "./harness.ts";

const allowed = { immediate: true, viaColdActivation: false };
const denied = { immediate: false, viaColdActivation: false };
const minute = 60_000;

function boot(rules: string, before?: Harness): Harness {
  const harness = new Harness(
    before ? { rules, remembered: before.remembered, atMs: before.nowMs + 1_000 } : { rules },
  );
  harness.config();
  harness.mark(150);
  return harness;
}

const rights = `
rules:
  - { name: RightChanged, on: capability, when: 'event.after == "no"', severity: warning, summary: "{{ trader.name }} lost {{ event.field }}, was {{ event.before }}" }
  - { name: NoTrading, scope: trader, when: "!trader.capabilities.placeLimitOrder", severity: warning, keepFiringFor: 0s, summary: s }
`;
const holding = (capabilities: Record<string, typeof allowed>) => [subaccount(1_000, [], { capabilities })];

test("a right that an account loses is an event and a fact, and one that comes back ends it", () => {
  const harness = boot(rights);
  harness.account(holding({ placeLimitOrder: allowed, withdrawCollateral: allowed }));
  expect(harness.told).toEqual([]);
  harness.account(holding({ placeLimitOrder: denied, withdrawCollateral: allowed }));
  harness.account(holding({ placeLimitOrder: denied, withdrawCollateral: allowed }));
  expect(harness.told).toEqual(["RightChanged main/0.0 fired warning", "NoTrading main/0.0 fired warning"]);
  expect(harness.changes[0]!.alert.summary).toBe("main/0.0 lost place limit order, was yes");
  harness.account(holding({ placeLimitOrder: { immediate: false, viaColdActivation: true } }));
  harness.pass(5_000);
  expect(harness.told.at(-1)).toBe("NoTrading main/0.0 ended warning recovered");
});

test("a right lost while nobody watched is told at the start; an answer that tells of none takes none away", () => {
  const before = boot(rights);
  before.account(holding({ placeLimitOrder: allowed }));
  before.account(holding({}));
  expect(before.told).toEqual([]);
  const after = boot(rights, before);
  after.account(holding({ placeLimitOrder: denied }));
  expect(after.told).toContain("RightChanged main/0.0 fired warning");
});

test("an account that goes and comes back lost its right once", () => {
  const before = boot(rights);
  before.account(holding({ placeLimitOrder: allowed }));
  const after = boot(rights, before);
  after.account(holding({ placeLimitOrder: denied }));
  after.account([]);
  after.account(holding({ placeLimitOrder: denied }));
  expect(after.told.filter((one) => one.startsWith("RightChanged"))).toHaveLength(1);
});

test("what an account may do goes stale with its state", () => {
  const harness = boot(rights.replace("keepFiringFor: 0s", "keepFiringFor: 0s, noData: alert"));
  harness.account(holding({ placeLimitOrder: allowed }));
  harness.pass(2 * minute);
  expect(harness.told).toEqual(["Blind main fired warning"]);
});

const stuck = `
rules:
  - { name: Stuck, scope: trader, when: "trader.orders.exists(o, !o.reduceOnly && o.age > duration('10m'))", severity: warning, keepFiringFor: 0s, noData: alert, summary: s }
`;

function order(sequence: string): OrderState {
  return {
    symbol: "SOL",
    sequence,
    side: "bid",
    kind: "limit",
    priceTicks: 14_000n,
    remainingLots: 100n,
    initialLots: 100n,
    reduceOnly: false,
    stopLoss: false,
    status: "active",
  };
}
const resting = (...sequences: string[]) => [subaccount(10_000, [], { orders: sequences.map(order) })];

test("an order that appears while we watch is as old as its sight, until the history tells better", () => {
  const harness = boot(stuck);
  harness.account(resting());
  harness.account(resting("7"));
  harness.live(9 * minute, resting("7"), 150);
  expect(harness.told).toEqual([]);
  harness.live(minute + 5_000, resting("7"), 150);
  expect(harness.told).toEqual(["Stuck main/0.0 fired warning"]);

  harness.account(resting("8"));
  harness.pass(5_000);
  expect(harness.told.at(-1)).toBe("Stuck main/0.0 ended warning recovered");
  const placed = event({
    kind: "order",
    key: "8",
    happenedMs: harness.nowMs - 11 * minute,
    fields: { status: "active" },
    data: { order: orderName("SOL", "8", "bid") },
  });
  harness.events("orders", [placed]);
  harness.account(resting("8"));
  expect(harness.told.at(-1)).toBe("Stuck main/0.0 fired warning");
});

test("how long an order rests that was there at the start is not known, and not taken for no time, until it is told", () => {
  const harness = boot(stuck);
  harness.account(resting("7"));
  harness.live(90_000, resting("7"), 150);
  expect(harness.told).toEqual(["Blind main fired warning"]);
  expect(harness.changes[0]!.alert.labels.source).toBe("orders");
  const told = [{ order: orderName("SOL", "7", "bid"), placedMs: startMs - 3_600_000 }];
  const { nowMs: atMs } = harness;
  harness.see({
    kind: "events",
    source: "orders",
    wallet: "main",
    atMs,
    events: [],
    live: true,
    resting: told,
  });
  harness.account(resting("7"));
  expect(harness.told).toContain("Stuck main/0.0 fired warning");
});

const old = `
rules:
  - { name: Old, scope: position, when: "position.openedAgo > duration('1h')", severity: info, noData: alert, keepFiringFor: 0s, summary: "open for {{ duration(position.openedAgo) }}" }
`;
const long = [subaccount(1_000, [position(10, 150)])];

const opening = (atMs: number, slot: number, data: object | null = { opened: true }, side = "bid") =>
  event({ kind: "fill", key: `${slot}.${side}`, happenedMs: atMs, slot, fields: { side }, data });

test("a position that appears while we watch is as old as its sight, or as the fill that opened it", () => {
  const harness = boot(old);
  harness.account([subaccount(1_000, [])]);
  harness.account(long);
  harness.live(59 * minute, long, 150);
  expect(harness.told).toEqual([]);
  harness.events("fills", [opening(startMs - 2 * minute, 15)]);
  harness.account(long);
  expect(harness.told).toEqual(["Old main/0.0/SOL fired info"]);
  expect(harness.changes[0]!.alert.summary).toBe("open for 1h 1m");
});

test("of a position that was there at the start only its fills tell, and a start after that knows them", () => {
  const harness = boot(old);
  harness.account(long);
  harness.live(minute, long, 150);
  expect(harness.told).toEqual(["Blind main fired warning"]);
  // The newer one reduced it, the older ones opened others; pages come newest first.
  harness.events("fills", [opening(startMs - 2 * minute, 9, null)]);
  harness.events("fills", [opening(startMs - 90 * minute, 8)]);
  harness.events("fills", [
    opening(startMs - 300 * minute, 3),
    opening(startMs - 400 * minute, 2, null, "ask"),
  ]);
  harness.account(long);
  expect(harness.told.filter((one) => one.startsWith("Old"))).toEqual(["Old main/0.0/SOL fired info"]);

  const after = boot(old, harness);
  after.account(long);
  expect(after.watch.status(after.nowMs).wallets[0]!.accounts[0]!.positions[0]!.figures.openedAgo).toBe(
    after.nowMs - startMs + 90 * minute,
  );
});

test("a fill of which the account's state does not show anything yet opens nothing", () => {
  const harness = boot(old);
  harness.account(long);
  harness.events("fills", [opening(startMs - 90 * minute, 8), opening(startMs, 1_000)]);
  harness.account(long);
  expect(harness.told).toEqual(["Old main/0.0/SOL fired info"]);
});
