/** The oracle finds what was tampered with in alerts about hedges and whales. */
import { beforeAll, describe, expect, test } from "vitest";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { play } from "./played.ts";
import { sampled } from "./sampled.ts";
import type { Outcome } from "./scenario.ts";
import { brokenIn, changed, isOf } from "./tampering.ts";

type Tamper = (change: AlertChange) => AlertChange | readonly AlertChange[] | null;

const judged = ["HedgeBroken", "WhalePosition", "WhaleTrades", "WhaleNearLiquidation", "LiquidationNear"];

/** Names of the checks that fail in the log of a scenario whose alerts were tampered with. */
const broken = (outcome: Outcome, tamper: Tamper): readonly string[] =>
  brokenIn(outcome, changed(tamper), judged);

const without =
  (rule: string, step?: AlertChange["kind"]): Tamper =>
  (one) =>
    one.alert.rule === rule && (step === undefined || one.kind === step) ? null : one;

/** Replaces a part of the text with which an alert fires. */
const told =
  (rule: string, part: RegExp, by: string | ((found: string) => string)): Tamper =>
  (one) => {
    if (!isOf(one, "fired", rule)) return one;
    const of = (text: string) => text.replace(part, (found) => (typeof by === "string" ? by : by(found)));
    const { summary, description } = one.alert;
    const alert = { ...one.alert, summary: of(summary), description: of(description) };
    expect(alert).not.toEqual(one.alert);
    return { ...one, alert };
  };

/** The one word in the place of the other. */
const swapped =
  (one: string, other: string) =>
  (found: string): string =>
    found.includes(one) ? found.replace(one, other) : found.replace(other, one);

/** Another last digit. */
const nextDigit = (found: string): string =>
  found.replace(/\d$/, (digit) => String((Number(digit) + 1) % 10));

describe("a hedge", () => {
  const rule = "HedgeBroken";
  let outcome: Outcome;
  beforeAll(async () => {
    outcome = await play(66);
  });

  test("nothing is wrong in the scenario as it was", () => {
    expect(broken(outcome, (one) => one)).toEqual([]);
  });

  sampled("a break that nobody was told of, and one that nothing ended", () => {
    expect(broken(outcome, without(rule))).toEqual([`completeness ${rule}`]);
    expect(broken(outcome, without(rule, "ended"))).toEqual([`late resolve ${rule}`]);
  });

  sampled("another cause, another side, another pair", () => {
    for (const [part, by] of [
      [/, after a fill on one leg/, " by a liquidation"],
      [/, after a fill on one leg/, ""],
      [/: (?:long|short) /, swapped("long", "short")],
      [/Now: (?:buy|sell) /, swapped("buy", "sell")],
      [/Hedge "h1"/, 'Hedge "h2"'],
    ] as const)
      expect(broken(outcome, told(rule, part, by))).toEqual([`soundness ${rule}`]);
  });

  sampled("figures that are off by one in their last digit, and a notional that is not told", () => {
    for (const figure of [
      ...[/[\d.]+(?= BTC naked)/, /\$[\d,.]*\d/, /[\d.]+(?=% of the largest)/, /[\d.]+(?=%\)$)/],
      /(?<=Now: (?:buy|sell) )[\d.]+/,
    ])
      expect(broken(outcome, told(rule, figure, nextDigit))).toEqual([`soundness ${rule}`]);
    expect(broken(outcome, told(rule, / \(\$[\d,.]+\)/, ""))).toEqual([`soundness ${rule}`]);
  });

  sampled("legs of another side, and of another size", () => {
    for (const other of [(row: string) => swapped("long", "short")(row), (row: string) => nextDigit(row)])
      expect(
        broken(outcome, (one) =>
          isOf(one, "fired", rule)
            ? {
                ...one,
                details: one.details.map(([name, row]) => [name, name === "Legs" ? other(row) : row]),
              }
            : one,
        ),
      ).toEqual([`soundness ${rule}`]);
  });

  sampled("an end while it is broken, and a break while it is whole", () => {
    const ended = broken(outcome, (one) =>
      isOf(one, "fired", rule)
        ? [one, { ...one, kind: "ended", alert: { ...one.alert, state: "ended", ending: "recovered" } }]
        : one,
    );
    expect(ended).toContain(`false resolve ${rule}`);
    const again = broken(outcome, (one) =>
      isOf(one, "ended", rule) ? [one, { ...one, kind: "fired" }] : one,
    );
    expect(again).toContain(`soundness ${rule}`);
  });
});

describe("a whale", () => {
  let outcome: Outcome;
  beforeAll(async () => {
    outcome = await play(40);
  });

  test("nothing is wrong in the scenario as it was", () => {
    expect(broken(outcome, (one) => one)).toEqual([]);
  });

  sampled("a position, a trade, a danger and a liquidation that nobody was told of", () => {
    for (const rule of ["WhalePosition", "WhaleTrades", "WhaleNearLiquidation", "WhaleLiquidated"])
      expect(broken(outcome, without(rule))).toEqual([`completeness ${rule}`]);
  });

  sampled("a trade that nothing ended", () => {
    expect(broken(outcome, without("WhaleTrades", "ended"))).toContain("late resolve WhaleTrades");
  });

  sampled("texts that say something else", () => {
    for (const [rule, part, by] of [
      ["WhalePosition", /long|short/, swapped("long", "short")],
      ["WhalePosition", /leverage [\d.]+/, nextDigit],
      ["WhaleTrades", / (?:added|took) /, swapped("added", "took")],
      ["WhaleTrades", / (?:added|took) \$[\d,.]*\d/, nextDigit],
      ["WhaleNearLiquidation", /sold|bought/, swapped("sold", "bought")],
      ["WhaleNearLiquidation", /is [\d.]+(?=% from)/, nextDigit],
      ["WhaleLiquidated", /was liquidated/, "was auto-deleveraged"],
      ["WhaleLiquidated", /at \$[\d,]*\d/, nextDigit],
    ] as const)
      expect(broken(outcome, told(rule, part, by))).toContain(`soundness ${rule}`);
  });

  sampled("an alert about one's own money", () => {
    const other = broken(outcome, (one) =>
      isOf(one, "fired", "WhaleNearLiquidation")
        ? { ...one, alert: { ...one.alert, rule: "LiquidationNear", severity: "critical" } }
        : one,
    );
    expect(other).toContain("soundness LiquidationNear");
  });
});
