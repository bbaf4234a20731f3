/** No-data alerts that fire while the daemon is restarted. */
import { expect, test } from "vitest";
import { Harness, mainWallet, marketConfig, position, prices, subaccount } from "./harness.ts";

const near = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    summary: "near"
`;
const both = [subaccount(9_000, [position(100, 150), position(1, 3_000, "ETH")])];
const configs = [marketConfig(), marketConfig("ETH", { assetId: 2 })];

test("a no-data alert on the price of one market goes on when prices of others are read first after a restart", () => {
  const before = new Harness({ rules: near });
  for (let passed = 0; passed < 60_000; passed += 5_000) {
    before.config(...configs);
    before.mark(150);
    before.account(both);
    before.pass(5_000);
  }
  expect(before.told).toEqual(["Blind exchange fired critical"]);
  const { remembered, nowMs } = before;
  const after = new Harness({ rules: near, remembered, atMs: nowMs + 1_000 });
  for (let passed = 0; passed < 120_000; passed += 5_000) {
    after.config(...configs);
    after.mark(150);
    after.pass(1_000);
    after.account(both);
    after.pass(4_000);
  }
  expect(after.told).toEqual([]);
  after.mark(150, prices(3_000, "ETH"));
  after.pass(2_000);
  expect(after.told).toEqual(["Blind exchange ended critical recovered"]);
});

test("a no-data alert that goes on after a restart does not rise before what is missing had time to be read", () => {
  const wallets = [{ ...mainWallet, pdaIndices: [0, 1] }];
  const rules = `
rules:
  - { name: Near, scope: position, when: position.liquidationDistance < 0.05, severity: critical, summary: near }
  - { name: Broke, scope: wallet, when: wallet.equity < 0.0, severity: critical, summary: broke }
`;
  const held = [subaccount(5_000, [position(100, 150)])];
  const accounts = (h: Harness, pdaIndex: number) =>
    h.see({
      ...{ kind: "accounts", wallet: "main", pdaIndex, atMs: h.nowMs, slot: ++h.slot, slotIndex: 0 },
      subaccounts: held,
    });
  const read = (h: Harness, ms: number, indices: readonly number[]): void => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      h.config();
      h.mark(150);
      for (const pdaIndex of indices) accounts(h, pdaIndex);
      h.pass(5_000);
    }
  };
  const before = new Harness({ rules, wallets });
  read(before, 30_000, [0, 1]);
  read(before, 90_000, [0]);
  expect(before.told).toEqual(["Blind main fired warning"]);
  const after = before.restarted({ rules, wallets });
  // No price is read yet: nobody knows how near its liquidation the position is.
  after.config();
  accounts(after, 0);
  after.pass(2_000);
  accounts(after, 0);
  after.pass(2_000);
  expect(after.told).toEqual([]);
  read(after, 60_000, [0]);
  expect(after.told).toEqual([]);
  read(after, 60_000, [0, 1]);
  expect(after.told).toEqual(["Blind main ended warning recovered"]);
});

test("a no-data alert on prices ends with the first answers after a restart", () => {
  const before = Harness.seeing({ rules: near }, 150, [subaccount(5_000, [position(100, 150)])]);
  for (let passed = 0; passed < 60_000; passed += 5_000) {
    before.account([subaccount(5_000, [position(100, 150)])]);
    before.pass(5_000);
  }
  expect(before.told).toEqual(["Blind exchange fired warning"]);
  const { remembered, nowMs } = before;
  const after = new Harness({ rules: near, remembered, atMs: nowMs + 1_000 });
  after.pass(2_000);
  after.config();
  after.mark(150);
  after.pass(1_000);
  expect(after.told).toEqual([]);
  after.account([subaccount(5_000, [position(100, 150)])]);
  after.mark(150);
  after.pass(1);
  expect(after.told).toEqual(["Blind exchange ended warning recovered"]);
});

const spread = `
rules:
  - name: Spread
    scope: position
    when: market.spread > 0.05
    severity: critical
    summary: "spread"
`;

test("a no-data alert on the order book of one market goes on when that of another is read first after a restart", () => {
  const depth = (harness: Harness, symbol: string) =>
    harness.see({
      kind: "depth",
      atMs: harness.nowMs,
      symbol,
      ...{ bid: 100, ask: 101, bidDepth50BpsUsd: 1e6, askDepth50BpsUsd: 1e6 },
    } as never);
  const round = (harness: Harness, ms: number, ...books: string[]) => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      harness.config(...configs);
      harness.mark(150, prices(3_000, "ETH"));
      for (const symbol of books) depth(harness, symbol);
      harness.account(both);
      harness.pass(5_000);
    }
  };
  const before = new Harness({ rules: spread });
  round(before, 20_000, "SOL", "ETH");
  round(before, 90_000, "SOL");
  expect(before.told).toEqual(["Blind exchange fired warning"]);
  const { remembered, nowMs } = before;
  const after = new Harness({ rules: spread, remembered, atMs: nowMs + 1_000 });
  round(after, 120_000, "SOL");
  expect(after.told).toEqual([]);
  round(after, 10_000, "SOL", "ETH");
  expect(after.told).toEqual(["Blind exchange ended warning recovered"]);
});

const twelve = Array.from({ length: 12 }, (_, index) => ({
  ...mainWallet,
  name: `w${index + 1}`,
  authority: `${mainWallet.authority.slice(0, -2)}${10 + index}`,
}));
const names = twelve.map(({ name }) => name);

test("alerts of single wallets that a common alert lists are not reminded of after a restart either", () => {
  const options = {
    rules: near,
    wallets: twelve,
    remind: { warning: { every: "5m" }, critical: { every: "5m" } },
  };
  const read = (harness: Harness, ms: number, failing: readonly string[]) => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      harness.config();
      harness.mark(150);
      for (const name of names)
        if (!failing.includes(name)) harness.account([subaccount(5_000, [position(100, 150)])], name);
      harness.pass(5_000);
    }
  };
  const before = new Harness(options);
  const three = names.slice(0, 3);
  read(before, 20_000, []);
  read(before, 60_000, three);
  before.pass(120_000);
  read(before, 120_000, three);
  expect(before.owed).toEqual([
    ...three.map((name) => `chat: Blind ${name} fired warning`),
    "chat: ExchangeUnreachable exchange fired warning",
  ]);
  const { remembered, nowMs } = before;
  const restarted = new Harness({ ...options, remembered, atMs: nowMs });
  const known = before.owed.length;
  read(restarted, 1_200_000, three);
  read(before, 1_200_000, three);
  expect(restarted.owed).toEqual(before.owed.slice(known));
});

test("a no-data alert on one wallet does not make what others wait for after a restart missing, when it is reloaded", () => {
  const rules = `
rules:
  - { name: Loss, scope: wallet, when: wallet.pnl < -1000.0, severity: critical, summary: loss }
`;
  const five = twelve.slice(0, 5);
  const options = { rules, wallets: five };
  const held = [subaccount(5_000, [position(100, 150)])];
  const read = (harness: Harness, ms: number, failing: string | null) => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      harness.config();
      harness.mark(150);
      for (const { name } of five) {
        if (name !== failing) harness.account(held, name);
        harness.events("collateral", [], name, { coversMs: 0 });
      }
      harness.pass(5_000);
    }
  };
  const before = new Harness(options);
  read(before, 30_000, null);
  read(before, 60_000, "w1");
  expect(before.told).toEqual(["Blind w1 fired warning"]);
  const after = before.restarted(options);
  after.mark(150);
  for (const { name } of five.toReversed()) after.account(held, name);
  after.pass(1_000);
  after.config();
  after.pass(1_000);
  after.reload(options);
  after.pass(1_000);
  expect(after.told).toEqual([]);
  read(after, 10_000, null);
  expect(after.told).toEqual(["Blind w1 ended warning recovered"]);
});

test("a no-data alert that goes on after a restart does not tell of positions that were just read as missing", () => {
  const rules = `
rules:
  - { name: Near, scope: position, when: position.liquidationDistance < 0.05, severity: critical, summary: near }
  - { name: Broke, scope: wallet, when: wallet.equity < 0.0, severity: critical, summary: broke }
`;
  const held = [subaccount(5_000, [position(100, 150)])];
  const before = Harness.seeing({ rules }, 150, held);
  before.pass(60_000);
  const after = before.restarted({ rules });
  after.pass(45_000);
  after.account(held);
  after.pass(1);
  const texts = [...before.changes, ...after.changes].map(({ kind, alert }) => `${kind} ${alert.summary}`);
  expect(texts.filter((text) => / for \d+ms|too slow/.test(text))).toEqual([]);
});

test("a no-data alert tells of what it lists as it is where no rule lacks it yet after a restart", () => {
  const held = [subaccount(5_000, [position(100, 150)])];
  const before = Harness.seeing({ rules: near }, 150, held);
  before.pass(60_000);
  expect(before.told).toEqual(["Blind main fired warning"]);
  const after = before.restarted({ rules: near });
  const text = () => after.watch.status(after.nowMs).firing[0]!.summary;
  after.pass(10_000);
  expect(text()).toMatch(
    /^No data on wallet main for 10s: no positions and balances, prices and 1 more ever since the start/,
  );
  after.pass(10_000);
  expect(text()).toMatch(/^No data on wallet main for 20s: no positions and balances ever since the start/);
});

test("a no-data alert that a restart goes on with waits for all that its text named", () => {
  const held = [subaccount(5_000, [position(100, 150)])];
  const before = Harness.seeing({ rules: near }, 150, held);
  for (let passed = 0; passed < 60_000; passed += 5_000) {
    before.config();
    before.pass(5_000);
  }
  expect(before.changes[0]?.alert.summary).toMatch(/no positions and balances and prices since/);
  const after = before.restarted({ rules: near });
  after.account(held);
  after.pass(1_000);
  expect(after.told).toEqual([]);
  after.config();
  after.mark(150);
  after.account(held);
  after.pass(1_000);
  expect(after.told).toEqual(["Blind main ended warning recovered"]);
});

test("no-data alerts on four single wallets stay single after a restart, while nothing could be read yet", () => {
  const wallets = twelve.slice(0, 4);
  const [first, second, third, last] = wallets.map(({ name }) => name) as [string, string, string, string];
  const rules = `
rules:
  - { name: Near, scope: position, when: position.liquidationDistance < 0.05, severity: critical, summary: near }
  - { name: Broke, scope: wallet, when: wallet.equity < 0.0, severity: critical, noData: alert, summary: broke }
`;
  const held = [subaccount(9_000, [position(100, 150)])];
  const read = (h: Harness, ms: number, names: readonly string[]): void => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      h.config();
      h.mark(150);
      for (const name of names) h.account(held, name);
      h.pass(5_000);
    }
  };
  const before = new Harness({ rules, wallets });
  read(before, 30_000, [first, second, third, last]);
  read(before, 60_000, [second, third, last]);
  read(before, 10_000, [first, second, third, last]);
  // The first is missing again so soon that it has to be read for 30 s, and three at once are not four.
  read(before, 40_000, [last]);
  read(before, 15_000, []);
  read(before, 25_000, [first]);
  before.pass(1_500);
  const firing = before.watch.status(before.nowMs).firing.map(({ rule, subject }) => `${rule} ${subject}`);
  expect(firing.sort()).toEqual([first, second, third, last].map((name) => `Blind ${name}`));
  const after = before.restarted({ rules, wallets });
  after.config();
  after.mark(150);
  after.pass(2_000);
  expect(after.told).toEqual([]);
  read(after, 60_000, [first, second, third, last]);
  expect(after.told.sort()).toEqual(
    [first, second, third, last].map((name) => `Blind ${name} ended warning recovered`),
  );
});
