/** Counts that rules look back over go on over restarts, at which those of the process begin anew. */
import { expect, test } from "vitest";
import type { DaemonFigures } from "../../src/domain/observation.ts";
import { figures, Harness } from "./harness.ts";

const rules = `
rules:
  - name: NotUnderstood
    scope: daemon
    value: change("daemon.badRecords", "2m")
    when: value > 0
    severity: info
    keepFiringFor: 0s
    summary: "{{ amount(value) }} not understood"
  - name: Refused
    scope: daemon
    value: change("daemon.authFailures", "2m")
    when: value >= 3
    severity: warning
    keepFiringFor: 0s
    summary: "{{ amount(value) }} refused"
`;

const fresh = (before?: Harness, text = rules): Harness => {
  const { remembered, nowMs } = before ?? {};
  const harness = new Harness({ rules: text, ...(remembered ? { remembered, atMs: nowMs! + 1_000 } : {}) });
  // The ticks that a start reads back from history for its windows.
  for (const one of before?.all ?? [])
    for (const tick of one.ticks) if (tick.owner === "daemon") harness.watch.warmUp.rememberTick(tick);
  return harness;
};
const counted = (harness: Harness, over: Partial<DaemonFigures>, times: number): void => {
  for (let i = 0; i < times; i++) {
    harness.pass(5_000);
    harness.see({ kind: "daemon", atMs: harness.nowMs, figures: { ...figures, ...over } });
  }
};
const summaries = (harness: Harness): readonly string[] =>
  harness.changes.map(({ kind, alert }) => `${kind} ${alert.summary}`);

test("what comes after a restart is news, however much there was before it", () => {
  const before = fresh();
  counted(before, { badRecords: 7, authFailures: 9 }, 40);
  expect(summaries(before)).toEqual([]);
  const after = fresh(before);
  counted(after, {}, 4);
  expect(summaries(after)).toEqual([]);
  counted(after, { badRecords: 2, authFailures: 3 }, 1);
  expect(summaries(after)).toEqual(["fired 2 not understood", "fired 3 refused"]);
});

test("refusals of before a restart are named with those after it, until they are too old", () => {
  const summary = "of {{ daemon.refusedWallets }}";
  const named = rules.replace(/"{{ amount\(value\) }} refused"/, `"${summary}"`);
  const before = fresh(undefined, named);
  counted(before, {}, 30);
  counted(before, { authFailures: 5, refusedWallets: "hedge" }, 1);
  const after = fresh(before, named);
  counted(after, { authFailures: 1, refusedWallets: "main" }, 2);
  const [alert] = after.watch.status(after.nowMs).firing;
  expect(alert!.summary).toBe("of hedge, main");
  counted(after, { authFailures: 1, refusedWallets: "main" }, 180);
  expect(after.watch.status(after.nowMs).firing).toEqual([]);
  counted(after, { authFailures: 5, refusedWallets: "main" }, 1);
  expect(after.watch.status(after.nowMs).firing[0]!.summary).toBe("of main");
});

test("five refused wallets are named, of this run and of the one before, and the others counted", () => {
  const named = rules.replace(/"{{ amount\(value\) }} refused"/, '"of {{ daemon.refusedWallets }}"');
  const before = fresh(undefined, named);
  counted(before, {}, 30);
  counted(before, { authFailures: 5, refusedWallets: "a, b, c, d, e, f" }, 1);
  expect(summaries(before)).toEqual(["fired of a, b, c, d, e and 1 more"]);
  const after = fresh(before, named);
  counted(after, { authFailures: 1, refusedWallets: "a, g, h" }, 2);
  expect(after.watch.status(after.nowMs).firing[0]!.summary).toBe("of a, b, c, d, e and 3 more");
});

test("a restart ends nothing that is of the last minutes", () => {
  const before = fresh();
  counted(before, {}, 30);
  counted(before, { badRecords: 4 }, 1);
  const after = fresh(before);
  counted(after, {}, 20);
  expect(summaries(after)).toEqual([]);
  counted(after, {}, 10);
  expect(summaries(after)).toEqual(["ended 0 not understood"]);
});

test("a reload goes on where it was, and so does the restart after it", () => {
  const before = fresh();
  counted(before, { badRecords: 7 }, 30);
  before.reload({ rules });
  for (const one of before.all)
    for (const tick of one.ticks) if (tick.owner === "daemon") before.watch.warmUp.rememberTick(tick);
  counted(before, { badRecords: 7 }, 4);
  counted(before, { badRecords: 8 }, 1);
  expect(summaries(before)).toEqual(["fired 1 not understood"]);
  const after = fresh(before);
  counted(after, { badRecords: 1 }, 1);
  expect(summaries(after)).toEqual([]);
  counted(after, { badRecords: 1 }, 30);
  expect(summaries(after)).toEqual(["ended 0 not understood"]);
});
