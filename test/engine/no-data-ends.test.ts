/** Rows of no-data alerts about what fires beside them, and reminders of no-data alerts. */
import { expect, test } from "vitest";
import { Harness, position, subaccount } from "./harness.ts";

const rules = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.2
    for: 0s
    severity: critical
    summary: "{{ percent(position.liquidationDistance) }} from liquidation"
  - { name: Sold, on: liquidation, severity: critical, summary: sold }
`;

/** 100 SOL long at 150: 17.2 % and 6.9 % from liquidation. */
const near = [subaccount(3_000, [position(100, 150)])];
const nearer = [subaccount(1_500, [position(100, 150)])];

const firingBeside = (h: Harness): string | undefined =>
  h.changes
    .find(({ kind, alert }) => kind === "ended" && alert.rule === "Blind")
    ?.details.find(([name]) => name === "Firing now")?.[1];

/** For a minute only the market and what `read` reads are read. */
function readOnly(h: Harness, read: () => void): void {
  for (let passed = 0; passed < 60_000; passed += 5_000) {
    h.pass(5_000);
    h.config();
    h.mark(150);
    read();
  }
}

test("an end lists an alert whose figures are old with the time that they are of", () => {
  const h = Harness.seeing({ rules }, 150, near);
  h.live(20_000, near, 150);
  readOnly(h, () => h.account(near));
  expect(h.told.at(-1)).toBe("Blind main fired warning");
  h.pass(25_000);
  h.events("liquidations", []);
  h.pass(10_000);
  expect(firingBeside(h)).toBe("critical: 17.2% from liquidation, as of 12:01:20 UTC (#1)");
});

test("an end lists an alert by the answer that brings it", () => {
  const h = Harness.seeing({ rules }, 150, near);
  h.live(20_000, near, 150);
  readOnly(h, () => h.events("liquidations", []));
  expect(h.told.at(-1)).toBe("Blind main fired critical");
  h.account(nearer);
  expect(firingBeside(h)).toBe("critical: 6.9% from liquidation (#1)");
});

test("an end lists no alert as firing whose condition no longer holds", () => {
  const h = Harness.seeing({ rules: rules.replace("for: 0s", "for: 0s\n    keepFiringFor: 5m") }, 150, near);
  h.live(20_000, near, 150);
  readOnly(h, () => h.events("liquidations", []));
  expect(h.told.at(-1)).toBe("Blind main fired critical");
  h.account([subaccount(30_000, [position(100, 150)])]);
  expect(h.told.at(-1)).toMatch(/^Blind main ended/);
  expect(firingBeside(h)).toBeUndefined();
});

test("what a reminder told is not told again as worse a moment later", () => {
  let reminders = 0;
  for (let silentFromMs = 60_000; silentFromMs <= 150_000; silentFromMs += 1_000) {
    const h = Harness.seeing({ rules, remind: { critical: { every: "2m" } } }, 150, near);
    h.live(20_000, near, 150);
    for (let passed = 0; passed < 240_000; passed += 5_000) {
      h.pass(5_000);
      if (passed < silentFromMs) h.config();
    }
    const told = h.changes.filter(({ alert }) => alert.rule === "Blind");
    for (const [index, { kind, atMs, alert }] of told.entries()) {
      const before = told[index - 1];
      if (before?.kind !== "reminder") continue;
      reminders++;
      expect(`${kind} after ${atMs - before.atMs} ms`).not.toMatch(/^worsened after \d{1,4} ms/);
      expect(alert.summary).not.toBe(before.alert.summary);
    }
  }
  expect(reminders).toBeGreaterThan(0);
});

test("after a reload it waits for all that it named, long after the start too", () => {
  const h = Harness.seeing({ rules }, 150, near);
  h.events("liquidations", []);
  h.live(300_000, near, 150);
  h.pass(150_000);
  expect(h.told.at(-1)).toBe("Blind main fired critical");
  h.reload({ rules: rules.replace("summary: sold", "summary: gone") });
  const readAll = () => {
    h.pass(5_000);
    h.config();
    h.mark(150);
    h.account(near);
  };
  for (let passed = 0; passed < 60_000; passed += 5_000) readAll();
  expect(h.changes.filter(({ kind, alert }) => kind === "ended" && alert.rule === "Blind")).toEqual([]);
  h.events("liquidations", []);
  readAll();
  expect(h.changes.filter(({ kind, alert }) => kind === "ended" && alert.rule === "Blind")).toHaveLength(1);
});

test("a reload that takes the last rule that reads something ends its alert soon", () => {
  const sold = "  - { name: Sold, on: liquidation, severity: critical, summary: sold }";
  const h = Harness.seeing({ rules }, 150, near);
  const told = () => h.told.filter((one) => one.startsWith("Blind"));
  h.live(300_000, near, 150);
  readOnly(h, () => h.account(near));
  expect(told()).toEqual(["Blind main fired warning"]);
  h.reload({ rules: rules.replace(sold, "") });
  readOnly(h, () => h.account(near));
  expect(told()).toEqual(["Blind main fired warning", "Blind main ended warning recovered"]);
});

test("nobody is reminded of what was read again a moment ago", () => {
  const stale: string[] = [];
  let ended = 0;
  for (let beforeMs = 100; beforeMs <= 3_000; beforeMs += 100) {
    const options = { rules, remind: { critical: { every: "1m" } } };
    const before = Harness.seeing(options, 150, near);
    before.live(20_000, near, 150);
    before.pass(50_000);
    const fired = before.changes.find(({ alert }) => alert.rule === "Blind")!;
    // After a restart it waits for prices that come when positions are read.
    const h = before.restarted(options);
    h.pass(fired.atMs + 60_000 - beforeMs - h.nowMs);
    h.events("liquidations", []);
    h.config();
    h.mark(150);
    const readMs = h.nowMs;
    h.account(near);
    h.pass(2_000);
    h.live(60_000, near, 150);
    for (const { kind, atMs, alert } of h.changes.filter(({ alert }) => alert.rule === "Blind")) {
      if (kind === "ended") ended++;
      if (kind === "reminder" && atMs - readMs < 5_000) stale.push(`${atMs - readMs} ms: ${alert.summary}`);
    }
  }
  expect(ended).toBeGreaterThan(0);
  expect(stale).toEqual([]);
});

test("it lasts while something is missing that its text named beside the gap", () => {
  const rules = `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    summary: "near"
  - name: Cleared
    scope: trader
    when: countOver("notification", "10m", "notification.type == 'risk_engine_cancel_order'") >= 3.0
    severity: critical
    summary: "cleared"
`;
  const held = [subaccount(5_000, [position(100, 150)])];
  const h = Harness.seeing({ rules }, 150, held);
  // Prices are missing for longer than positions, and those for longer than notifications.
  for (let passed = 0; passed < 60_000 && h.told.length === 0; passed += 1_000) {
    h.config();
    if (passed < 12_000) h.account(held);
    if (passed < 25_000) h.events("notifications", []);
    h.pass(1_000);
  }
  const named = h.changes[0]?.details.map(([, text]) => text).join("; ");
  expect(named).toMatch(/positions and balances of main .*; prices .*; notifications of main /);
  h.mark(150);
  h.account(held);
  h.pass(1_000);
  expect(h.told).toEqual([expect.stringMatching(/^Blind main fired /)]);
  h.events("notifications", []);
  h.pass(1_000);
  expect(h.told.slice(1)).toEqual([expect.stringMatching(/^Blind main ended \w+ recovered$/)]);
});
