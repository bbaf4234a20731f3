/** The oracle finds advice that is not enough, too much, for one leg of a hedge alone, or missing. */
import { expect, test } from "vitest";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { play } from "./played.ts";
import { brokenIn, changed, findingsIn } from "./tampering.ts";

/** Worlds that other files of this stage look at, too; the second one has a hedge. */
const seeds = [195, 66, 24];
const judged = ["LiquidationNear", "MarginHigh", "AccountLiquidatable", "Drawdown", "LosingFast"];

/** The number with its last digit one up or down. */
function stepped(text: string, by: 1 | -1): string {
  const digits = text.replace(/\D/g, "");
  const next = String(BigInt(digits) + BigInt(by)).padStart(digits.length, "0");
  let index = 0;
  return text.replace(/\d/g, () => next[index++]!);
}

const up = (found: string): string => stepped(found, 1);
const down = (found: string): string => stepped(found, -1);

const tampers: readonly (readonly [name: string, part: RegExp, by: (found: string) => string])[] = [
  ["one leg of a hedge alone", / and (sell|buy) [\d,.]+ \w+ reduce-only in \S+(?=, or)/, () => ""],
  ["a transfer that is a step less", /(?<=ransfer \$)[\d,.]*\d/, down],
  ["a transfer from an account that is not there", /(?<=ransfer \S+ from )\S+/, (found) => `${found}9`],
  ["a deposit that is a step less", /(?<=eposit \$)[\d,.]*\d/, down],
  ["a deposit that is a step more", /(?<=eposit \$)[\d,.]*\d/, up],
  ["a trade that is a lot less", /(?<=(ell|uy) )[\d,.]*\d/, down],
  ["a trade that is a lot more", /(?<=(ell|uy) )[\d,.]*\d(?= \w+ reduce-only,)/, up],
  ["the price of another move", /(?<=stays (above|below) \$)\d/, up],
  ["the other direction", / stays above /, () => " stays below "],
];

const keyOf = ({ alertId, kind, alert }: AlertChange): string => `alert ${alertId} ${kind} ${alert.severity}`;

test("each line that was tampered with is found, and no other", async () => {
  const used = new Set<string>();
  for (const seed of seeds) {
    const outcome = await play(seed);
    expect(brokenIn(outcome, (entry) => entry, judged)).toEqual([]);
    const tampered: AlertChange[] = [];
    const found = findingsIn(
      outcome,
      changed((one) => {
        const [first] = one.advice ?? [];
        if (first === undefined || !judged.includes(one.alert.rule)) return one;
        const isNone = one.alert.rule === "MarginHigh" && one.kind === "rose" && !used.has("none");
        const [name, part, by] = isNone
          ? (["none", /^/, up] as const)
          : (tampers.find(([of, place]) => !used.has(of) && place.test(first.line)) ?? []);
        if (name === undefined) return one;
        used.add(name);
        tampered.push(one);
        const { advice: _, ...rest } = one;
        return isNone ? rest : { ...rest, advice: [{ ...first, line: first.line.replace(part!, by!) }] };
      }),
      judged,
    );
    const unsound = found.filter(({ check }) => check === "soundness").map(({ seen }) => seen.split(":")[0]!);
    expect(unsound.toSorted()).toEqual(tampered.map(keyOf).sort());
  }
  expect(used).toEqual(new Set(["none", ...tampers.map(([name]) => name)]));
});
