import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { Changes } from "../../src/domain/stored/changes.ts";
import { Deadlines } from "../../src/domain/structures/deadlines.ts";
import { Conditions } from "../../src/evaluate/conditions/conditions.ts";
import { rulesOf as rulesAt } from "../../src/evaluate/conditions/subject-rules.ts";
import type { RuleSet } from "../../src/rules/index.ts";
import { Harness, marketConfig, position, prices, rulesOf, subaccount } from "./harness.ts";

const seed = Number(process.env.PERPWATCH_SEED ?? Date.now() % 2 ** 31);
console.log(`quiet rules: PERPWATCH_SEED=${seed}`);

/** Rules of every kind that can be quiet, and some that cannot, with limits in the midst of what the stories below reach. */
const conditions: readonly (readonly [scope: string, when: string, more?: string])[] = [
  ["position", 'minOver("position.markPrice", "10s") > 142.0'],
  ["position", 'maxOver("position.unrealizedPnl", "1m") > 60.0', "for: 5s"],
  ["position", 'change("position.markPrice", "10s") < -4.0', "noData: alert"],
  ["position", "position.markPrice < 145.0", "resolveWhen: position.markPrice > 155.0"],
  ["position", 'maxOver("position.markPrice", "30s") - position.markPrice > 8.0'],
  ["trader", 'drawdown("trader.equity", "1m") > 0.06', "for: 3s, keepFiringFor: 10s"],
  ["trader", 'changeRatio("trader.equity", "20s") > 0.05'],
  ["trader", 'ago("trader.equity", "10s") > 1060.0'],
  ["trader", 'avgOver("trader.equity", "15s") < 1000.0'],
  ["trader", 'minOver("trader.marginRatio", "10s") > 0.05 && maxOver("trader.equity", "20s") < 1100.0'],
  ["trader", 'since("trader.grossNotional") > duration("10s")'],
  ["trader", "size(trader.positions) > 1 && trader.equity < 1000.0"],
  ["market", 'maxOver("market.markPrice", "25s") > 160.0', "keepFiringFor: 0s"],
  ["market", "market.markPrice > 158.0"],
  ["wallet", "wallet.equity < 950.0", "noData: alert"],
  ["position", 'market.markPrice > 155.0 && minOver("market.markPrice", "10s") > 150.0'],
];
const rules = `rules:\n${conditions
  .map(
    ([scope, when, more], i) =>
      `  - { name: R${i}, scope: ${scope}, severity: warning, summary: s, when: '${when.replaceAll("'", "''")}'${more ? `, ${more}` : ""} }`,
  )
  .join("\n")}\n`;

type Story = typeof story extends fc.Arbitrary<infer T> ? T : never;

const story = fc.array(
  fc.record({
    /** Half seconds that pass first; now and then long enough for data to be stale. */
    halves: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 0, max: 10 }) },
      { weight: 1, arbitrary: fc.integer({ min: 10, max: 90 }) },
    ),
    what: fc.constantFrom("account", "account", "account", "marks", "marks", "config"),
    mark: fc.integer({ min: 138, max: 168 }),
    size: fc.constantFrom(10, 10, 10, 11, -10, 0),
    second: fc.boolean(),
  }),
  { minLength: 10, maxLength: 60, size: "max" },
);

/** As long as `work` takes, every rule is judged at length whenever something that it reads arrives. */
function atLength<T>(work: () => T): T {
  const { judgeNode } = Conditions.prototype;
  Conditions.prototype.judgeNode = function (this: Conditions, node, source, builder): void {
    const arrived = source === null ? null : [source].flat();
    const rules = rulesAt(node);
    for (const [i, { rule }] of rules.plan.entries()) {
      const read = rule.reads.flatMap((one) => one.sources);
      if (arrived === null || arrived.some((one) => read.includes(one))) this.judge(rules.rouse(i), builder);
    }
  };
  try {
    return work();
  } finally {
    Conditions.prototype.judgeNode = judgeNode;
  }
}

/** Tells the same story to rules that may be quiet and to those that never are. @returns what the quiet ones told */
function told(ruleSet: RuleSet, steps: Story): readonly Changes[] {
  const quiet = new Harness({ rules: ruleSet });
  const loud = atLength(() => new Harness({ rules: ruleSet }));
  const both = (step: (harness: Harness) => unknown): void => {
    step(quiet);
    atLength(() => step(loud));
    expect(quiet.all.at(-1)).toEqual(loud.all.at(-1));
  };
  for (const { halves, what, mark, size, second } of steps) {
    for (let i = 0; i < halves; i++) {
      both((harness) => {
        harness.nowMs += 500;
        harness.see({ kind: "time", atMs: harness.nowMs });
      });
    }
    const held = [...(size === 0 ? [] : [position(size, 150)]), ...(second ? [position(1, 90, "ETH")] : [])];
    if (what === "account") both((harness) => harness.account([subaccount(1_000, held)]));
    else if (what === "marks") both((harness) => harness.mark(mark, prices(mark - 60, "ETH")));
    else both((harness) => harness.config(marketConfig(), marketConfig("ETH")));
  }
  return quiet.all;
}

test("a rule that is quiet says what it would say if it were judged at length each time", () => {
  const ruleSet = rulesOf(rules);
  fc.assert(
    fc.property(story, (steps) => void told(ruleSet, steps)),
    { seed, numRuns: 25, interruptAfterTimeLimit: 20_000 },
  );
});

test("and so does each of these rules where it fires", () => {
  const ruleSet = rulesOf(rules);
  const fired = new Map<string, number>();
  // Always the same stories: rules that never fire would prove nothing.
  for (const steps of fc.sample(story, { seed: 1, numRuns: 25 })) {
    for (const { alertChanges } of told(ruleSet, steps))
      for (const { kind, alert } of alertChanges)
        if (kind === "fired") fired.set(alert.rule, (fired.get(alert.rule) ?? 0) + 1);
  }
  for (const [i] of conditions.entries())
    expect(fired.get(`R${i}`) ?? 0, conditions[i]![1]).toBeGreaterThan(0);
});

test("what begins to hold again and again, and never for long, leaves nothing behind", () => {
  const set = vi.spyOn(Deadlines.prototype, "set");
  const harness = new Harness({
    rules: `
rules:
  - { name: Low, scope: position, severity: warning, summary: s, when: position.markPrice < 145.0, for: 1h }
`,
  });
  const look = (mark: number): void => {
    harness.pass(1_000);
    harness.config();
    harness.mark(mark);
    harness.account([subaccount(1_000, [position(10, 150)])]);
  };
  for (let i = 0; i < 5; i++) look(i === 0 ? 140 : 150);
  const deadlines = set.mock.contexts[0] as Deadlines;
  set.mockRestore();
  const { size } = deadlines;
  for (let i = 0; i < 20; i++) for (const mark of [140, 150, 150]) look(mark);
  expect(deadlines.size).toBeLessThanOrEqual(size);
});
