/** Rules that need a session do not apply to wallets that have none. */
import { expect, test } from "vitest";
import { event, Harness, mainWallet, position, subaccount } from "./harness.ts";

const safe = [subaccount(5_000, [position(100, 150)])];
const watched = { ...mainWallet, name: "watched", watchOnly: true };

function live(harness: Harness, ms: number, wallets: readonly { readonly name: string }[]): void {
  for (let passed = 0; passed < ms; passed += 5_000) {
    harness.pass(5_000);
    harness.config();
    harness.mark(150);
    for (const { name } of wallets) harness.account(safe, name);
    harness.events("notifications", [], "main");
    harness.events("liquidations", [], "watched");
  }
}

test.each([
  ["wallet.unacked > 5.0 && wallet.equity < 1e6", "wallet"],
  ["!wallet.signedIn", "wallet"],
  ['countOver("notification", "1h") > 5.0', "trader"],
])("%s makes nobody blind on a watch-only wallet", (when, scope) => {
  const rules = `
rules:
  - { name: Unread, scope: ${scope}, when: '${when}', severity: critical, noData: alert, summary: unread }
`;
  const harness = new Harness({ rules, wallets: [watched] });
  live(harness, 120_000, [watched]);
  expect(harness.told).toEqual([]);
});

test("the same rule judges a wallet that has one", () => {
  const rules = `
rules:
  - { name: Unread, scope: wallet, when: wallet.unacked > 5.0, severity: critical, summary: unread }
`;
  const harness = new Harness({ rules, wallets: [watched, mainWallet] });
  harness.see({
    kind: "events",
    source: "notifications",
    wallet: "main",
    atMs: harness.nowMs,
    events: [],
    unacked: 9,
  });
  expect(harness.told).toEqual(["Unread main fired critical"]);
});

test("an event rule that needs one does not wait for what cannot come", () => {
  const rules = `
rules:
  - { name: Both, on: liquidation, when: 'wallet.unacked > 0.0', severity: warning, summary: both }
`;
  const harness = new Harness({ rules, wallets: [watched] });
  harness.events("liquidations", [event({ kind: "liquidation", key: "1", wallet: "watched" })], "watched");
  live(harness, 400_000, [watched]);
  expect(harness.told).toEqual([]);
});
