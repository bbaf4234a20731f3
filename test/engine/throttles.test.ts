/** The events that a throttle holds: kept at a price that does not grow, and told as one message. */
import { expect, test } from "vitest";
import { event, Harness } from "./harness.ts";

const rules = `
rules:
  - name: Filled
    on: fill
    when: event.size > 1.0
    severity: info
    throttle: 1h
    summary: "filled"
`;
const hourMs = 3_600_000;

function fill(harness: Harness, index: number): void {
  harness.nowMs += 100;
  harness.events("fills", [event({ kind: "fill", key: `f${index}`, fields: { size: 2 } })]);
}

function filled(count: number): Harness {
  const harness = new Harness({ rules });
  for (let index = 0; index < count; index++) fill(harness, index);
  return harness;
}

/** The number of bytes written to keep what is held. */
function writtenBytes(harness: Harness): number {
  return harness.all
    .flatMap((one) => one.keep)
    .filter(({ name }) => name.startsWith("throttle"))
    .reduce((sum, { name, value }) => sum + name.length + (value?.length ?? 0), 0);
}

function throttled({ remembered }: Harness): string[] {
  return [...remembered.keep.keys()].filter((name) => name.startsWith("throttle"));
}

test("keeping one more costs the same however many are held", () => {
  const few = writtenBytes(filled(100));
  expect(writtenBytes(filled(1_000))).toBeLessThan(few * 12);
  expect(few).toBeLessThan(100 * 100);
});

test("what is held leaves as one group, in order, and nothing of it stays behind", () => {
  const harness = filled(1_500);
  expect(harness.owed).toHaveLength(1);
  harness.pass(hourMs);
  const late = harness.all.flatMap((one) => one.deliveryItems).slice(1);
  expect(late).toHaveLength(1_499);
  expect(new Set(late.map((item) => item.groupKey)).size).toBe(1);
  expect(late.map((item) => item.changeId)).toEqual(late.map((_, index) => index + 2));
  harness.pass(hourMs);
  expect(harness.owed).toHaveLength(1_500);
  expect(throttled(harness)).toEqual([]);
});

test("what was held before a restart leaves together with what is held after it", () => {
  const before = filled(12);
  const after = before.restarted({ rules });
  fill(after, 12);
  expect(after.owed).toEqual([]);
  const third = after.restarted({ rules });
  third.pass(hourMs);
  const late = third.all.flatMap((one) => one.deliveryItems);
  expect(late.map((item) => item.changeId)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  expect(new Set(late.map((item) => item.groupKey)).size).toBe(1);
  third.pass(hourMs);
  const gone = third.all.flatMap((one) => one.keep.filter(({ value }) => value === null));
  expect(new Set(gone.map(({ name }) => name))).toEqual(new Set([...throttled(before), ...throttled(after)]));
});

test("what is held leaves at the start where its throttle could not be read", () => {
  const before = filled(3);
  const { remembered } = before;
  const keep = new Map([...remembered.keep].filter(([name]) => !name.startsWith("throttle/")));
  expect(keep.size).toBe(remembered.keep.size - 1);
  const after = new Harness({ rules, remembered: { ...remembered, keep }, atMs: before.nowMs + 1_000 });
  after.pass(1_000);
  expect(after.all.flatMap((one) => one.deliveryItems).map((item) => item.changeId)).toEqual([2, 3]);
  after.pass(hourMs);
  expect(after.all.flatMap((one) => one.deliveryItems)).toHaveLength(2);
  expect(throttled(after)).toEqual([]);
});
