import { expect, test } from "vitest";
import { Peak } from "../../src/state/profit/peak.ts";

const account = "main/0.0";
const isolated = "main/0.1";

function taken(...profits: readonly number[]): Peak {
  const peak = new Peak();
  for (const [slot, usd] of profits.entries()) {
    peak.changed(account, slot, slot);
    peak.take(usd);
  }
  return peak;
}

test("the peak is the highest profit, and never below where it began", () => {
  const peak = new Peak(20);
  expect(peak.usd).toBe(20);
  peak.take(10);
  expect(peak.usd).toBe(20);
  peak.take(30);
  peak.take(-10);
  expect(peak.usd).toBe(30);
});

test("a deposit lowers what was known since its state", () => {
  const peak = taken(10, 60, 70, 65);
  peak.paidIn(account, 1, 50);
  expect(peak.usd).toBe(20);
  peak.take(21);
  expect(peak.usd).toBe(21);
});

test("what was highest before a deposit stays the peak", () => {
  const peak = taken(30, 40, 12);
  peak.paidIn(account, 2, 50);
  expect(peak.usd).toBe(40);
});

test("a deposit that no state shows, or one of another account, changes nothing", () => {
  const peak = taken(10, 60);
  peak.paidIn(account, 2, 50);
  peak.paidIn(isolated, 1, 50);
  expect(peak.usd).toBe(60);
});

test("changes of before ten minutes, and all but a thousand, are settled", () => {
  const peak = taken(...Array.from({ length: 1_010 }, (_, i) => 2_000 - i));
  peak.paidIn(account, 0, 10_000);
  expect(peak.usd).toBe(2_000);
  const old = new Peak();
  old.changed(account, 1, 0);
  old.take(50);
  old.changed(account, 2, 600_000);
  old.take(40);
  old.paidIn(account, 1, 1_000);
  expect(old.usd).toBe(50);
});
