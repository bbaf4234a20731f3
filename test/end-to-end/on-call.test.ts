/** PagerDuty behind the whole daemon: one incident there for each account, over restarts, until the last of its alerts ended. */
import { expect, test, vi } from "vitest";
import { openHouse } from "../support/daemon.ts";
import { pagerdutyDialect } from "../support/dialects.ts";
import { startService } from "../support/service.ts";

// A bound for machines that do much else: nothing here waits for real time.
vi.setConfig({ testTimeout: 180_000 });

const routingKey = "R0123456789ABCDEF0123456789ABCDE";

interface Event {
  readonly event_action: "trigger" | "acknowledge" | "resolve";
  readonly dedup_key: string;
  readonly payload?: { readonly source: string; readonly severity: string };
}

/** The incidents that these events leave open, as the accounts that they were triggered for. */
function openAfter(taken: readonly string[]): string[] {
  const open = new Map<string, string>();
  for (const { event_action, dedup_key, payload } of taken.map((text) => JSON.parse(text) as Event)) {
    const account = payload?.source.split("/").slice(0, 2).join("/");
    if (event_action === "trigger") open.set(dedup_key, open.get(dedup_key) ?? account!);
    if (event_action === "resolve") open.delete(dedup_key);
  }
  return [...open.values()].sort();
}

test("three positions of an account are one incident, which the last of them resolves, also after a restart", async () => {
  await using house = await openHouse({ wallets: ["main", "second"] });
  await using far = await startService(pagerdutyDialect(routingKey));
  for (const trader of ["main", "second"]) {
    await house.hold({ trader, collateral: "9000", symbol: "SOL", size: "100", entryPrice: "150" });
    await house.call("position", { trader, symbol: "BTC", size: "0.15", entryPrice: "100000" });
    await house.call("position", { trader, symbol: "ETH", size: "5", entryPrice: "3000" });
  }
  const sections = {
    channels: { oncall: { type: "pagerduty", routingKey, apiUrl: far.url } },
    routing: { receivers: ["oncall"] },
    rules: ["shipped:liquidation-risk"],
    ruleOverrides: { LiquidationNear: { keepFiringFor: "1s" } },
  };
  const first = await house.start(sections);
  await house.clock.advance(5_000);
  const fall = async (share: number, ms = 10_000) => {
    for (const [symbol, price] of [
      ["SOL", 150],
      ["BTC", 100_000],
      ["ETH", 3_000],
    ] as const)
      await house.call("mark-price", { symbol, price: String(price * share) });
    await house.clock.advance(ms);
  };
  // First as warnings, each by itself; then as critical ones.
  await fall(0.87);
  await fall(0.83);
  await fall(0.825);
  const alerts = await house.read((store) => store.alerts({ state: "firing" }));
  const critical = alerts.filter(
    ({ severity, rule }) => severity === "critical" && rule === "LiquidationNear",
  );
  expect(critical.length).toBeGreaterThanOrEqual(4);
  expect(openAfter(far.taken)).toEqual(["main/0.0", "second/0.0"]);

  await first.stop();
  await house.start(sections);
  await house.clock.advance(10_000);
  // One position is closed, the others go on.
  await house.call("position", { trader: "main", symbol: "ETH", size: "0" });
  await house.clock.advance(60_000);
  const ended = await house.read((store) => store.alerts({ state: "ended" }));
  expect(ended.map(({ subject }) => subject)).toContain("main/0.0/ETH");
  expect(openAfter(far.taken)).toEqual(["main/0.0", "second/0.0"]);

  await fall(1, 90_000);
  expect(openAfter(far.taken)).toEqual([]);
  expect(await house.read((store) => store.alerts({ state: "firing" }))).toEqual([]);
  expect(await house.read((store) => store.messages({ open: true }))).toEqual([]);
});
