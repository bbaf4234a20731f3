/** Slots that the ledger can have come to. */
import { expect, test } from "vitest";
import { type AnswerSlots, LedgerSlots } from "../../src/exchange/stream/ledger-slots.ts";

const answers = (): AnswerSlots => ({ doubtedSlot: null });

test("an older answer does not hold the ledger back", () => {
  const slots = new LedgerSlots();
  const account = answers();
  slots.take(400_000_000, 0, account);
  expect(slots.take(399_000_000, 1_000, account)).toBe(true);
  expect(slots.possible(400_001_000, 2_000)).toBe(true);
});

test("an answer that is repeated leaves room for as long as it is", () => {
  const slots = new LedgerSlots();
  const account = answers();
  for (let atMs = 0; atMs <= 3_600_000; atMs += 5_000) slots.take(400_000_000, atMs, account);
  expect(slots.possible(400_009_000, 3_600_000)).toBe(true);
  expect(slots.possible(400_900_000, 3_600_000)).toBe(false);
});

test("a first slot that the ledger comes to in years holds back none that are true", () => {
  const slots = new LedgerSlots();
  const account = answers();
  expect(slots.take(1_780_000_000, 0, account)).toBe(false);
  expect(slots.possible(1_780_000_000, 1_000)).toBe(false);
  expect([5_000, 10_000].map((atMs) => slots.take(400_000_000 + atMs / 400, atMs, account))).toEqual([
    true,
    true,
  ]);
  expect(slots.possible(1_780_000_000, 15_000)).toBe(false);
});

test("such a slot is believed once the next answer goes on from it", () => {
  const slots = new LedgerSlots();
  const account = answers();
  expect([1_780_000_000, 1_780_000_012].map((slot, i) => slots.take(slot, 5_000 * i, account))).toEqual([
    false,
    true,
  ]);
});

test("an account whose answers stand still holds back none of another", () => {
  const slots = new LedgerSlots();
  const [still, moving] = [answers(), answers()];
  const taken: boolean[] = [];
  for (let atMs = 0; atMs < 30_000; atMs += 5_000) {
    expect(slots.take(390_000_000, atMs, still)).toBe(true);
    taken.push(slots.take(400_000_000 + atMs / 400, atMs + 100, moving));
  }
  expect(taken).toEqual([false, true, true, true, true, true]);
});
