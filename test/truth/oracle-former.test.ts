/** The oracle finds what was tampered with in the ends of alerts that a payment raised, and whose subject is gone. */
import { beforeAll, expect, test } from "vitest";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { play } from "./played.ts";
import type { Outcome } from "./scenario.ts";
import { brokenIn, changed } from "./tampering.ts";

/** A withdrawal that was not explained for a while, and positions that were closed. */
const outcomes = new Map<number, Outcome>();
for (const seed of [195, 122])
  beforeAll(async () => {
    outcomes.set(seed, await play(seed));
  });

type Ending = NonNullable<AlertChange["alert"]["ending"]>;

function reworded(
  seed: number,
  ending: Ending,
  rule: string,
  of: (alert: AlertChange["alert"]) => Partial<AlertChange["alert"]>,
): readonly string[] {
  let count = 0;
  const found = brokenIn(
    outcomes.get(seed)!,
    changed((one) => {
      if (one.kind !== "ended" || one.alert.ending !== ending || one.alert.rule !== rule) return one;
      const alert = { ...one.alert, ...of(one.alert) };
      count += Number(alert.summary !== one.alert.summary || alert.description !== one.alert.description);
      return { ...one, alert };
    }),
  );
  expect(count).toBeGreaterThan(0);
  return found;
}

const replaced = (from: RegExp, to: string) => (alert: AlertChange["alert"]) => ({
  summary: alert.summary.replace(from, to),
  description: alert.description.replace(from, to),
});

test("nothing is wrong as it was", () => {
  for (const outcome of outcomes.values()) expect(brokenIn(outcome, (entry) => entry)).toEqual([]);
});

test.each([
  [/a withdrawal of \$17,/, "a withdrawal of $51,"],
  [/\.23, no loss/, ".24, no loss"],
  [/a withdrawal of/, "a deposit of"],
  [/no loss/, "no profit"],
  [/: a withdrawal of .*/, ": all is well"],
  [/so far was \$\d/, "so far was $77"],
  [/$/, " It was 3 times as much."],
])("the end of an alert that a withdrawal raised: %s in other words", (from, to) => {
  expect(reworded(195, "explained", "Drawdown", replaced(from, to))).toEqual(["false resolve Drawdown"]);
});

test.each([
  [/is 17\.2% from/, "is 17.3% from"],
  [/Now: /, "It was 3% before. Now: "],
])("the end of an alert about a position that was closed: %s in other words", (from, to) => {
  expect(reworded(122, "closed", "LiquidationNear", replaced(from, to))).toEqual([
    "false resolve LiquidationNear",
  ]);
});

test("a reminder of a position that was closed is found, though it says when it was seen last", () => {
  const found = brokenIn(
    outcomes.get(122)!,
    changed((one) => {
      if (one.kind !== "ended" || one.alert.ending !== "closed" || one.atMs - one.alert.dataAtMs < 2_000)
        return one;
      const alert: AlertChange["alert"] = { ...one.alert, state: "firing", ending: null, endedAtMs: null };
      return [{ ...one, kind: "reminder", past: true, alert }, one];
    }),
  );
  expect(found).toContain("soundness LiquidationNear");
});
