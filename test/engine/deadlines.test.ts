/** The heap of deadlines, against a list that is searched. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { Deadlines, type Due } from "../../src/domain/structures/deadlines.ts";

type Act =
  | { readonly kind: "set"; readonly owner: number; readonly inMs: number }
  | { readonly kind: "cancel" | "drop"; readonly owner: number }
  | { readonly kind: "pass"; readonly ms: number };

const owners = 12;
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("set" as const), owner: fc.nat(owners - 1), inMs: fc.nat(50) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("cancel" as const, "drop" as const),
      owner: fc.nat(owners - 1),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.nat(20) }) },
);

test("every owner is called once when its newest moment has come, and not before", () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 300 }), (acts) => {
      const deadlines = new Deadlines();
      const called: number[] = [];
      const wanted = new Map<number, number>();
      const all = Array.from(
        { length: owners },
        (_, i): Due => ({
          dueMs: Number.POSITIVE_INFINITY,
          queuedMs: Number.POSITIVE_INFINITY,
          place: -1,
          onDue: () => called.push(i),
        }),
      );
      let nowMs = 1_000;
      for (const one of acts) {
        if (one.kind === "set") {
          deadlines.set(all[one.owner]!, nowMs + 1 + one.inMs);
          wanted.set(one.owner, nowMs + 1 + one.inMs);
        } else if (one.kind !== "pass") {
          deadlines[one.kind](all[one.owner]!);
          if (one.kind === "drop") expect(all[one.owner]!.place).toBe(-1);
          wanted.delete(one.owner);
        } else {
          nowMs += one.ms;
          deadlines.run(nowMs);
          const due = [...wanted].filter(([, dueMs]) => dueMs <= nowMs).map(([owner]) => owner);
          for (const owner of due) wanted.delete(owner);
          expect(called.splice(0).sort((a, b) => a - b)).toEqual(due.sort((a, b) => a - b));
        }
        const next = wanted.size === 0 ? null : Math.min(...wanted.values());
        const untilMs = nowMs + 3;
        const near = deadlines.nextMs(untilMs);
        if (next !== null && next <= untilMs) expect(near).toBe(next);
        else expect(near ?? Number.POSITIVE_INFINITY).toBeGreaterThan(untilMs);
        expect(deadlines.nextMs()).toBe(next);
        expect(deadlines.size).toBeLessThanOrEqual(owners);
      }
    }),
    { numRuns: 500 },
  );
});

test("an owner that sets itself anew while it is called comes again", () => {
  const deadlines = new Deadlines();
  const at: number[] = [];
  const owner: Due = {
    dueMs: Number.POSITIVE_INFINITY,
    queuedMs: Number.POSITIVE_INFINITY,
    place: -1,
    onDue(nowMs) {
      at.push(nowMs);
      if (at.length < 3) deadlines.set(owner, nowMs + 5);
    },
  };
  deadlines.set(owner, 10);
  for (let nowMs = 0; nowMs <= 40; nowMs += 5) deadlines.run(nowMs);
  expect(at).toEqual([10, 15, 20]);
});

test("what is due in one moment comes in one order, however often somebody asks when the next is", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(owners - 1), fc.nat(9)), { minLength: 2, maxLength: 60 }),
      (sets) => {
        const orders = [false, true].map((asks) => {
          const deadlines = new Deadlines();
          const called: number[] = [];
          const all = Array.from(
            { length: owners },
            (_, i): Due => ({
              dueMs: Number.POSITIVE_INFINITY,
              queuedMs: Number.POSITIVE_INFINITY,
              place: -1,
              onDue: () => called.push(i),
            }),
          );
          for (const [owner, dueMs] of sets) {
            deadlines.set(all[owner]!, dueMs);
            if (asks) deadlines.nextMs();
          }
          deadlines.run(10);
          return called;
        });
        expect(orders[1]).toEqual(orders[0]);
      },
    ),
  );
});
