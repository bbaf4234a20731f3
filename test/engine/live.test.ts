import { expect, test } from "vitest";
import type { SubaccountState } from "../../src/domain/account.ts";
import type { Changes } from "../../src/domain/stored/changes.ts";
import { Harness, notification, position, prices, subaccount } from "./harness.ts";

const rules = `
rules:
  - name: Cheap
    scope: position
    when: market.markPrice < 100.0
    severity: critical
    summary: cheap
  - name: Small
    scope: trader
    when: trader.collateral < 50.0
    severity: warning
    summary: small
  - name: Told
    on: notification
    severity: critical
    summary: told
`;

function watching(): Harness {
  const harness = Harness.seeing({ rules }, 150, both);
  return harness;
}

const both = [
  subaccount(10_000, [position(1, 150)]),
  subaccount(1_000, [position(1, 150)], { subaccount: 1 }),
];

/** The stream's report on some subaccounts; the others stand as they are known. */
function told(
  harness: Harness,
  indices: readonly number[],
  subaccounts: readonly SubaccountState[],
): Changes {
  harness.slot += 1;
  const { nowMs: atMs, slot } = harness;
  return harness.see({
    ...{
      kind: "accounts",
      wallet: "main",
      pdaIndex: 0,
      atMs,
      slot,
      slotIndex: 0,
      subaccounts,
      told: indices,
    },
  });
}
const live = (harness: Harness, usd: number, symbol = "SOL"): Changes =>
  harness.see({ kind: "prices", atMs: harness.nowMs, markets: [prices(usd, symbol)], live: true });
const blind = (harness: Harness): string[] =>
  harness.watch.status(harness.nowMs).blind.map(({ source, wallet }) => `${source} ${wallet}`);

test("a part of a wallet is judged at once, and makes nothing else of it look fresh", () => {
  const harness = watching();
  for (let passed = 0; passed < 20_000; passed += 1_000) {
    harness.pass(1_000);
    harness.mark(150);
    told(harness, [1], [both[0]!, { ...both[1]!, collateralQuoteLots: 40_000_000n }]);
  }
  expect(harness.told).toContain("Small main/0.1 fired warning");
  // Account 0 was last told of 20 s ago, and the wallet was not read since.
  expect(blind(harness)).toContain("traderState main");
  expect(harness.watch.status(harness.nowMs).wallets[0]!.seenMs).toBe(harness.nowMs - 20_000);
});

test("a subaccount that a part does not list is not gone, and a part of what was never seen whole waits", () => {
  const harness = watching();
  told(harness, [1], [both[1]!]);
  expect(harness.watch.status(harness.nowMs).wallets[0]!.accounts).toHaveLength(2);
  const fresh = new Harness({ rules });
  told(fresh, [1], both);
  expect(fresh.watch.status(fresh.nowMs).wallets[0]!.accounts).toEqual([]);
});

test("a price that there is not is null in the status, on either side", () => {
  const harness = watching();
  const { accounts } = harness.watch.status(harness.nowMs).wallets[0]!;
  for (const { positions } of accounts)
    expect(positions[0]!.figures).toMatchObject({ stopLossPrice: null, takeProfitPrice: null });
});

test("a price between two readings fires at once", () => {
  const harness = watching();
  harness.pass(500);
  live(harness, 90);
  expect(harness.told).toEqual(["Cheap main/0.0/SOL fired critical", "Cheap main/0.1/SOL fired critical"]);
});

test("prices that come all the time are judged each time, and stored every two seconds", () => {
  const harness = watching();
  const stored: number[] = [];
  for (let i = 0; i < 100; i++) {
    harness.nowMs += 100;
    const { ticks } = live(harness, 150 - i / 10);
    for (const tick of ticks) if (tick.owner === "markets") stored.push(tick.atMs);
  }
  expect(stored).toHaveLength(5);
  const { markets } = harness.watch.status(harness.nowMs);
  expect(markets[0]!.figures.markPrice).toBeCloseTo(140.1);
});

test("a market of which the list does not tell keeps its price while the stream tells of it", () => {
  const harness = watching();
  harness.mark(150, prices(3_000, "ETH"));
  harness.pass(100);
  live(harness, 151);
  harness.config();
  // ETH stands in the newest reading of all prices, though the newest price of all is another's.
  expect(harness.watch.status(harness.nowMs).markets.map(({ symbol }) => symbol)).toEqual(["SOL", "ETH"]);
});

test("a notification that came by itself is told, and is no reading of the inbox", () => {
  const harness = watching();
  harness.events("notifications", []);
  for (let passed = 0; passed < 20_000; passed += 1_000) {
    harness.pass(1_000);
    harness.mark(150);
    harness.account(both);
    const { nowMs: atMs } = harness;
    const events = [notification(`n${passed}`, "order_filled", { happenedMs: atMs, seenMs: atMs })];
    harness.see({ kind: "events", source: "notifications", wallet: "main", atMs, events, live: true });
  }
  expect(harness.told.filter((one) => one.startsWith("Told"))).toHaveLength(20);
  expect(blind(harness)).toEqual(["notifications main"]);
});
