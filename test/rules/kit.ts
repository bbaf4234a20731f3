/** Facts, environments and rules for the tests of this folder. */
import { type Source, sources } from "../../src/domain/sources.ts";
import {
  type ConditionRule,
  type Env,
  type EventRule,
  type Facts,
  formatProblem,
  type LoadInput,
  loadRules,
  type RuleProblem,
  type RuleSet,
} from "../../src/rules/index.ts";

export const scheduleMs = Object.fromEntries(sources.map((source) => [source, 5_000])) as Record<
  Source,
  number
>;
export const nowMs = Date.UTC(2026, 0, 5, 12, 0, 0);

/** Facts that every source told at `seenMs`. */
export function facts(values: Facts["values"], seenMs = nowMs): Facts {
  return { values, seenMs: Object.fromEntries(sources.map((source) => [source, seenMs])) };
}

export function env(parts: Partial<Env> = {}): Env {
  return {
    nowMs,
    exchange: facts({ active: true, gated: false, withdrawalsAvailable: true }),
    daemon: facts({}),
    markets: () => undefined,
    window: () => {
      throw new Error("no window expected");
    },
    ...parts,
  };
}

const input = (text: string, more: Partial<LoadInput>): LoadInput => ({
  files: [{ name: "my.yaml", text }],
  overrides: {},
  scheduleMs,
  wallets: [
    { name: "main", labels: { desk: "alpha" }, watchOnly: false },
    { name: "seen", labels: { desk: "beta" }, watchOnly: true },
  ],
  timezone: "UTC",
  ...more,
});

export function load(
  text: string,
  more: Partial<LoadInput> = {},
): RuleSet & { warnings: readonly RuleProblem[] } {
  const loaded = loadRules(input(text, more));
  if ("problems" in loaded) throw new Error(loaded.problems.map(formatProblem).join("\n"));
  return { ...loaded.ruleSet, warnings: loaded.warnings };
}

export function problemsOf(text: string, more: Partial<LoadInput> = {}): readonly RuleProblem[] {
  const loaded = loadRules(input(text, more));
  return "problems" in loaded ? loaded.problems : [];
}

const indented = (parts: Record<string, string>) =>
  Object.entries(parts)
    .map(([key, value]) => `    ${key}: ${JSON.stringify(value)}`)
    .join("\n");

/** A condition rule in the short form, or with what is given instead. */
export function condition(when: string, parts: Record<string, string> = {}): ConditionRule {
  const all = { scope: "trader", severity: "critical", summary: "s", when, ...parts };
  return load(`rules:\n  - name: R\n${indented(all)}\n`).conditions[0]!;
}

export function eventRule(on: string, when: string, parts: Record<string, string> = {}): EventRule {
  return load(`rules:\n  - name: R\n${indented({ on, severity: "info", summary: "s", when, ...parts })}\n`)
    .events[0]!;
}
