/** The oracle finds what was tampered with in what is owed to receivers, and in the times at which messages arrive. */
import { beforeAll, expect, test } from "vitest";
import type { DeliveryItem } from "../../src/domain/alerts/delivery.ts";
import type { Logged } from "./log.ts";
import { play } from "./played.ts";
import type { Outcome } from "./scenario.ts";
import { findingsIn } from "./tampering.ts";

let outcome: Outcome;
beforeAll(async () => {
  outcome = await play(66);
});

const broken = (change: (entry: Logged) => Logged): readonly string[] => [
  ...new Set(findingsIn(outcome, change, []).map(({ check }) => check)),
];

/** Puts others in the place of items that are owed. */
const owing =
  (of: (item: DeliveryItem) => readonly DeliveryItem[]) =>
  (entry: Logged): Logged =>
    entry.kind === "committed"
      ? {
          ...entry,
          changes: {
            ...entry.changes,
            deliveryItems: entry.changes.deliveryItems.flatMap((one) =>
              one.status === "owed" ? of(one) : [one],
            ),
          },
        }
      : entry;

test("nothing is wrong in the scenario as it was", () => {
  expect(broken((entry) => entry)).toEqual([]);
});

test("word that a channel was not owed, or twice", () => {
  const isOne = ({ id }: DeliveryItem) => id === 5;
  expect(broken(owing((one) => (isOne(one) ? [] : [one])))).toContain("owed");
  expect(broken(owing((one) => (isOne(one) ? [one, { ...one, id: 9_999 }] : [one])))).toContain("owed");
});

test("word of another level, for another channel, and of what never changed", () => {
  expect(broken(owing((one) => [{ ...one, severity: "info" }]))).toContain("owed");
  expect(broken(owing((one) => [{ ...one, receiver: "nobody" }]))).toContain("owed");
  expect(broken(owing((one) => [{ ...one, changeId: one.changeId + 9_999 }]))).toContain("owed");
});

test("critical word that waits, and other word that waits too long", () => {
  const later = (ms: number) => owing((one) => [{ ...one, releaseAtMs: one.owedAtMs + ms }]);
  expect(broken(later(1))).toContain("owed");
  expect(broken(later(5_001))).toContain("owed");
});

test("messages that arrive late, or never", () => {
  const late = broken((entry) =>
    entry.kind === "arrived" ? { ...entry, atMs: entry.atMs + 60_000 } : entry,
  );
  expect(late).toContain("late delivery");
  const never = broken((entry) =>
    entry.kind === "arrived" ? { ...entry, message: { ...entry.message, itemIds: [] } } : entry,
  );
  expect(never).toContain("late delivery");
});
