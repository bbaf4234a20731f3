/** The oracle finds ages, durations and sums of today that were tampered with. */
import { beforeAll, expect, test } from "vitest";
import { formatDurationMs, parseDurationMs } from "../../src/domain/text/duration.ts";
import { claimProblem } from "./oracle/claim.ts";
import { durationClaims, durationMs } from "./oracle/duration.ts";
import { play } from "./played.ts";
import type { Outcome } from "./scenario.ts";
import { brokenIn, changed, observed } from "./tampering.ts";

/** Old positions that rules judge by, and a day that begins. */
const outcomes = new Map<number, Outcome>();
for (const seed of [17, 195])
  beforeAll(async () => {
    outcomes.set(seed, await play(seed));
  });

/** Names of the checks that fail where the texts of a rule that fires are others. */
function reworded(seed: number, rule: string, from: RegExp, to: string): readonly string[] {
  let count = 0;
  const found = brokenIn(
    outcomes.get(seed)!,
    changed((one) => {
      const { alert, details } = one;
      if (one.kind !== "fired" || alert.rule !== rule || !from.test(`${alert.summary} ${alert.description}`))
        return one;
      count++;
      const other = (text: string) => text.replace(from, to);
      return {
        ...one,
        alert: { ...alert, summary: other(alert.summary), description: other(alert.description) },
        details: details.filter(([name]) => name !== "Judged by"),
      };
    }),
  );
  expect(count).toBeGreaterThan(0);
  return found;
}

test("nothing is wrong as it was", () => {
  for (const outcome of outcomes.values()) expect(brokenIn(outcome, (entry) => entry)).toEqual([]);
});

test("a text by old positions that does not say how old they are, and one that says another age", () => {
  const rule = "StopLossMissing";
  expect(reworded(17, rule, / \(positions as of .* old\)/, "")).toEqual([`soundness ${rule}`]);
  expect(reworded(17, rule, /2s old\)/, "3s old)")).toEqual([`soundness ${rule}`]);
});

test.each([
  [/fees \$450\.80/, "fees $450.81"],
  [/paid \$9\.50/, "paid $9.51"],
  [/paid \$9\.50/, "received $9.50"],
])("other sums of today: %s", (from, to) => {
  expect(reworded(195, "DailyLoss", from, to)).toEqual(["soundness DailyLoss"]);
});

test("a fee that was another one", () => {
  const dearer = observed((one) =>
    one.kind === "events" && one.source === "fills"
      ? {
          ...one,
          events: one.events.map((event) => ({
            ...event,
            fields: { ...event.fields, fee: Number(event.fields.fee) * 2 },
          })),
        }
      : one,
  );
  expect(brokenIn(outcomes.get(195)!, dearer)).toContain("soundness DailyLoss");
});

const sizes = [0, 1, 412, 999.4, 1_000, 1_049, 3_270, 9_949, 9_951, 10_000, 10_499, 14_600, 59_499];
const larger = [59_501, 60_499, 61_000, 3_599_600, 3_600_000, 3_659_499, 7_262_000, 86_400_000, 183_599_499];

test.each([...sizes, ...larger])("a time of %d ms", (ms) => {
  const problems = (text: string, truthMs: number) =>
    durationClaims({ summary: text, description: "" }, "time", /^(.*)$/, truthMs).flatMap(claimProblem);
  for (const signed of [ms, -ms]) expect(problems(formatDurationMs(signed), signed)).toEqual([]);
  for (const part of [1.013, 0.987]) {
    const other = formatDurationMs(ms * part);
    if (other !== formatDurationMs(ms)) expect(problems(other, ms)).toHaveLength(1);
  }
});

test("durations as they are written", () => {
  for (const text of ["250ms", "5s", "10m", "4h", "7d", "2w", "1y", "1h30m", "2.5s"])
    expect(durationMs(text)).toBe(parseDurationMs(text));
  expect(durationMs("1m 30s")).toBe(90_000);
  for (const text of ["", "s", "5", "5 x", "5m!"]) expect(durationMs(text)).toBeNaN();
});
