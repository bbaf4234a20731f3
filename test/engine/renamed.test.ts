/** A wallet's name that passes to another key: nothing of the one before is the new one's. */
import { expect, test } from "vitest";
import { event, Harness, mainWallet, position, startMs, subaccount } from "./harness.ts";

const rules = `
rules:
  - { name: Near, scope: position, when: position.liquidationDistance < 0.05, severity: critical, summary: near }
  - { name: Lost, scope: wallet, when: wallet.pnl < -100.0, severity: warning, summary: "{{ usd(wallet.pnl) }}" }
  - { name: Fell, scope: trader, when: 'change("trader.equity", "10m") < -100.0', severity: warning, summary: fell }
  - { name: Sold, scope: wallet, when: 'countOver("liquidation", "1h") > 0.0', severity: warning, summary: sold }
`;
const endangered = [subaccount(1_000, [position(100, 150)])];
const other = { ...mainWallet, authority: "6JMzcBHW9QMNkeXGLvD37tn4Y5gMrBiBTBVkUp6WEVye" };

function live(harness: Harness, ms: number, accounts: typeof endangered): void {
  for (let passed = 0; passed < ms; passed += 10_000) {
    harness.live(10_000, accounts, 150);
    harness.events("collateral", []);
  }
}

function again(before: Harness, wallet: typeof mainWallet): Harness {
  const after = before.restarted({ rules, wallets: [wallet] });
  for (const tick of before.all.flatMap((one) => one.ticks)) after.watch.warmUp.rememberTick(tick);
  for (const one of before.all.flatMap((changes) => changes.events)) after.watch.warmUp.rememberEvent(one);
  return after;
}

test("alerts end, profit, windows and events begin anew", () => {
  const before = new Harness({ rules });
  live(before, 120_000, endangered);
  before.events("liquidations", [event({ kind: "liquidation", key: "1.0.0", happenedMs: startMs })]);
  expect(before.told).toEqual(["Near main/0.0/SOL fired critical", "Sold main fired warning"]);

  const same = again(before, mainWallet);
  live(same, 60_000, endangered);
  expect(same.told).toEqual([]);

  const poorer = [subaccount(500, [])];
  const after = again(before, other);
  live(after, 120_000, poorer);
  expect(after.told).toEqual([
    "Near main/0.0/SOL ended critical noLongerWatched",
    "Sold main ended warning noLongerWatched",
  ]);
  const third = again(after, other);
  live(third, 60_000, poorer);
  expect(third.told).toEqual([]);
});
