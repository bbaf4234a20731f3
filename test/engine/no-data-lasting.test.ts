/** The time for which no-data alerts last: they end and fall when what they list is read again, and not before. */
import { expect, test } from "vitest";
import { Harness, mainWallet, position, subaccount } from "./harness.ts";

const near = `
rules:
  - { name: Near, scope: position, when: 'position.liquidationDistance < 0.01', severity: critical, summary: near }
`;

const six = Array.from({ length: 6 }, (_, i) => ({
  ...mainWallet,
  name: `w${i + 1}`,
  authority: `${mainWallet.authority.slice(0, -2)}${10 + i}`,
}));

test("a no-data alert ends where each wallet is read every 30 s, as its rules allow", () => {
  const rules = `
rules:
  - { name: Near, scope: position, when: 'position.liquidationDistance < 0.05', staleAfter: 60s, severity: critical, summary: near }`;
  const h = new Harness({ wallets: six, rules });
  let turn = 0;
  const read = (ms: number, answers: boolean): void => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      h.config();
      h.mark(150);
      if (answers) h.account([subaccount(5_000, [position(100, 150)])], six[turn++ % 6]!.name);
      h.pass(5_000);
    }
  };
  read(60_000, true);
  read(180_000, false);
  expect(h.told).toEqual(["Blind exchange fired warning"]);
  read(600_000, true);
  expect(h.watch.status(h.nowMs).firing).toEqual([]);
});

test("a no-data alert ends where no rule needs what it lists after a reload", () => {
  const h = new Harness({ rules: near });
  const read = (ms: number, answers: boolean): void => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      h.config();
      h.mark(150);
      if (answers) h.account([subaccount(5_000, [position(100, 150)])]);
      h.pass(5_000);
    }
  };
  read(60_000, true);
  read(120_000, false);
  const low = `
rules:
  - { name: Low, scope: market, select: { symbol: SOL }, when: 'market.markPrice < 1.0', severity: warning, summary: low }`;
  h.reload({ rules: low });
  read(1_800_000, false);
  expect(h.watch.status(h.nowMs).firing).toEqual([]);
});

/** Readings every 5 s of these wallets. @param nearUsd collateral of w2, of which little is near liquidation */
function read(h: Harness, ms: number, names: readonly string[], nearUsd = 5_000): void {
  for (let passed = 0; passed < ms; passed += 5_000) {
    h.config();
    h.mark(150);
    for (const name of names)
      h.account([subaccount(name === "w2" ? nearUsd : 5_000, [position(100, 150)])], name);
    h.pass(5_000);
  }
}
const names = six.map(({ name }) => name);
const told = (h: Harness) => h.changes.map(({ kind, alert }) => `${kind} ${alert.severity}`);

test("a no-data alert does not tell of less amid a new silence", () => {
  const h = new Harness({ rules: near, wallets: six });
  read(h, 30_000, names, 1_000);
  h.pass(120_000);
  expect(told(h)).toEqual(["fired critical"]);
  // All but one answer for less than a silence lasts.
  read(h, 50_000, names.slice(1));
  h.pass(35_000);
  expect(told(h)).toEqual(["fired critical"]);
});

test("a no-data alert that told which wallets were not read again does not tell of less amid a new silence either", () => {
  const h = new Harness({ rules: near, wallets: six });
  read(h, 30_000, names, 1_000);
  h.pass(120_000);
  read(
    h,
    120_000,
    names.filter((name) => name !== "w2" && name !== "w3"),
  );
  expect(told(h)).not.toContain("fell warning");
  expect(told(h).at(-1)).toMatch(/critical/);
  read(
    h,
    15_000,
    names.filter((name) => name !== "w3"),
  );
  h.pass(45_000);
  expect(told(h)).not.toContain("fell warning");
});
