import { expect, test } from "vitest";
import type { Source } from "../../src/domain/sources.ts";
import { event, Harness, mainWallet, position, subaccount } from "./harness.ts";

const near = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    summary: "near"
`;
const safe = [subaccount(5_000, [position(100, 150)])];
const five = ["a", "b", "c", "d", "e"].map((name, index) => ({
  ...mainWallet,
  name,
  authority: `${mainWallet.authority.slice(0, -1)}${index + 1}`,
}));

/** Everything is read every 5 s, of the wallets only these. */
function round(harness: Harness, ms: number, wallets: readonly { readonly name: string }[]): void {
  for (let passed = 0; passed < ms; passed += 5_000) {
    harness.config();
    harness.mark(150);
    for (const wallet of wallets) harness.account(safe, wallet.name);
    harness.pass(5_000);
  }
}

/** A source is asked every 5 s and does not answer. */
function silent(harness: Harness, ms: number, source: Source, wallet: string | null): void {
  for (let passed = 0; passed < ms; passed += 5_000) {
    const failure = { source, wallet, symbol: null, reason: "unreachable", detail: "no route" } as const;
    harness.see({ kind: "failed", atMs: harness.nowMs, ...failure });
    harness.pass(5_000);
  }
}

test("a wallet that was never seen is told, though none of its positions is known", () => {
  const harness = new Harness({ rules: near });
  silent(harness, 40_000, "traderState", "main");
  expect(harness.told).toEqual([]);
  silent(harness, 20_000, "traderState", "main");
  expect(harness.told).toEqual(["Blind main fired critical"]);
  round(harness, 5_000, [mainWallet]);
  expect(harness.told.at(-1)).toBe("Blind main ended critical recovered");
});

test("a wallet without positions is told too, since one could be opened unseen", () => {
  const harness = new Harness({ rules: near });
  harness.account([subaccount(5_000, [])]);
  silent(harness, 60_000, "traderState", "main");
  expect(harness.told).toEqual(["Blind main fired warning"]);
});

test("one PDA index that is not read is enough", () => {
  const harness = new Harness({ rules: near, wallets: [{ ...mainWallet, pdaIndices: [0, 1] }] });
  round(harness, 60_000, [mainWallet]);
  expect(harness.told).toEqual(["Blind main fired critical"]);
});

test("a rule about the exchange is judged though nothing that it reads ever came", () => {
  const rules = `
rules:
  - name: Halted
    scope: exchange
    when: "!exchange.active"
    severity: critical
    summary: "halted"
`;
  const harness = new Harness({ rules });
  silent(harness, 60_000, "exchangeStatus", null);
  expect(harness.told).toEqual(["Blind exchange fired critical"]);
});

test("a rule on events that can be critical is blind when their history is silent", () => {
  const rules = `
rules:
  - name: Liquidated
    on: liquidation
    severity: critical
    summary: "liquidated"
  - name: Sold
    on: notification
    when: event.type == "spot_collateral_liquidation"
    severity: critical
    summary: "sold"
`;
  const harness = new Harness({ rules, wallets: [{ ...mainWallet, watchOnly: true }] });
  silent(harness, 60_000, "liquidations", "main");
  // A wallet that is only watched has no inbox, and `check` says so.
  expect(harness.told).toEqual(["Blind main fired critical"]);
  harness.events("liquidations", []);
  expect(harness.told.at(-1)).toBe("Blind main ended critical recovered");
  expect(harness.changes.at(-1)!.alert.summary).toBe(
    "The exchange answers again: liquidation history of wallet main, after 45s",
  );
  silent(harness, 60_000, "liquidations", "main");
  expect(harness.told).toHaveLength(3);
});

test.each([false, true])(
  "a history of several PDA indices is read again once each of them is, restarted meanwhile: %s",
  (restarted) => {
    const rules = `
rules:
  - name: Liquidated
    on: liquidation
    severity: critical
    summary: "liquidated"
`;
    const wallet = { ...mainWallet, pdaIndices: [0, 1] };
    let harness = new Harness({ rules, wallets: [wallet] });
    const now = () => ({ atMs: harness.nowMs, slot: harness.nowMs, slotIndex: 0, subaccounts: [] });
    const read = (...indices: number[]) => {
      for (const pdaIndex of indices) harness.events("liquidations", [], "main", { pdaIndex });
    };
    const others = (ms: number, ...indices: number[]) => {
      for (let passed = 0; passed < ms; passed += 5_000) {
        harness.config();
        harness.mark(150);
        for (const pdaIndex of [0, 1]) harness.see({ kind: "accounts", wallet: "main", pdaIndex, ...now() });
        read(...indices);
        harness.pass(5_000);
      }
    };
    others(10_000, 0, 1);
    others(90_000);
    expect(harness.told).toEqual(["Blind main fired warning"]);
    if (restarted) harness = harness.restarted({ rules, wallets: [wallet] });
    const before = harness.changes.length;
    read(1);
    others(20_000, 1);
    expect(harness.told.slice(before)).toEqual([]);
    others(40_000, 0, 1);
    expect(harness.told.slice(before)).toEqual(["Blind main ended warning recovered"]);
  },
);

test("what takes two readings is not blind at each start", () => {
  const rules = `
rules:
  - name: Loss
    scope: wallet
    when: wallet.pnl < -50.0
    severity: critical
    staleAfter: 3m
    summary: "loss"
`;
  const harness = new Harness({ rules });
  harness.events("collateral", []);
  round(harness, 60_000, [mainWallet]);
  harness.events("collateral", [event({ kind: "collateral", key: "none", fields: {} })]);
  round(harness, 60_000, [mainWallet]);
  expect(harness.told).toEqual([]);
});

test("the common alert ends after a restart in which all is well", () => {
  const before = new Harness({ rules: near, wallets: five });
  round(before, 5_000, five);
  before.pass(90_000);
  expect(before.told).toEqual(["ExchangeUnreachable exchange fired warning"]);
  const after = before.restarted({ rules: near, wallets: five });
  after.account(safe, "a");
  expect(after.told).toEqual([]);
  round(after, 60_000, five);
  expect(after.told).toEqual(["ExchangeUnreachable exchange ended warning recovered"]);
});

test("the common alert holds those that were told before it, and their ends are told", () => {
  const harness = new Harness({ rules: near, wallets: five });
  round(harness, 5_000, five);
  round(harness, 60_000, five.slice(0, 3));
  expect([...harness.told].sort()).toEqual(["Blind d fired warning", "Blind e fired warning"]);
  harness.pass(60_000);
  const before = harness.owed.length;
  harness.pass(20 * 60_000);
  expect(harness.owed.slice(before).filter((line) => line.includes("Blind "))).toEqual([]);
  round(harness, 10_000, five);
  expect(harness.owed.filter((line) => line.includes("ended")).sort()).toEqual([
    "chat: Blind d ended warning recovered",
    "chat: Blind e ended warning recovered",
    "chat: ExchangeUnreachable exchange ended warning recovered",
  ]);
});

test("what is not seen is told in words, with a time that stays true; its end says that it is seen again", () => {
  const harness = new Harness({ rules: near });
  round(harness, 20_000, [mainWallet]);
  for (let passed = 0; passed < 60_000; passed += 5_000) {
    harness.account(safe);
    harness.pass(5_000);
  }
  const texts = () => harness.changes.map(({ kind, alert }) => `${kind}: ${alert.summary}`);
  expect(texts()).toEqual([
    "fired: main SOL long was 31% from liquidation 45s ago. No data for 45s: no prices and market rules from the exchange since 12:00:15 UTC",
  ]);
  expect(harness.changes[0]!.details.slice(1)).toEqual([
    ["Not read", "prices (schedule markets): last read 2026-01-05 12:00:15 UTC"],
    ["Not read", "market rules (schedule marketConfig): last read 2026-01-05 12:00:15 UTC"],
    ["Rules that cannot judge", "Near"],
  ]);
  // The status speaks of now.
  expect(harness.watch.status(harness.nowMs).firing).toMatchObject([
    { summary: texts()[0]!.slice("fired: ".length).replaceAll("45s", "1m 5s"), textAtMs: harness.nowMs },
  ]);
  round(harness, 5_000, [mainWallet]);
  expect(texts()[1]).toBe("ended: Read again: prices from the exchange, after 1m 5s");
  expect(harness.changes[1]!.details).toEqual([
    ["Not read from", "2026-01-05 12:00:15 UTC"],
    ["Until", "2026-01-05 12:01:20 UTC"],
  ]);
});

test("the common alert does not end while one of those that it lists is not read", () => {
  const harness = new Harness({ rules: near, wallets: five });
  round(harness, 5_000, five);
  harness.pass(90_000);
  round(harness, 10 * 60_000, five.slice(0, 4));
  expect(harness.told).toEqual(["ExchangeUnreachable exchange fired warning"]);
  expect(harness.watch.status(harness.nowMs).firing.map(({ summary }) => summary)).toEqual([
    expect.stringMatching(/No data on wallet e for 11m .*: no positions and balances since/),
  ]);
  round(harness, 5_000, five);
  expect(harness.told.slice(1)).toEqual(["ExchangeUnreachable exchange ended warning recovered"]);
  expect(harness.changes.at(-1)!.alert.summary).toMatch(
    /^The exchange answers again: .* of 5 wallets, after 11m/,
  );
});

test("a channel that works again is not said not to", () => {
  const harness = new Harness({ rules: near });
  const channel = { kind: "channel", channel: "mail", detail: "535 refused" } as const;
  harness.see({ ...channel, atMs: harness.nowMs, working: false });
  harness.see({ ...channel, atMs: harness.nowMs, working: true });
  expect(harness.changes.map(({ alert }) => alert.summary)).toEqual([
    "The channel mail does not take messages",
    "The channel mail takes messages again",
  ]);
});
