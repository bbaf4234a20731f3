// Loads a rule from text, shows a mistake with its place, judges figures, evaluates an expression and runs a rule test.
import { compileExpression, formatProblem, loadRules, runRuleTests } from "perpwatch/rules";

const text = `rules:
  - name: MarginHigh
    scope: trader
    value: trader.marginRatio
    levels:
      warning: { when: value > 0.7 }
      critical: { when: value > 0.9 }
    for: 30s
    summary: "{{ wallet.name }}: margin ratio {{ percent(value) }}"
`;

const wrong = loadRules([{ name: "wrong.yaml", text: text.replace("marginRatio", "marginRation") }]);
if (!wrong.ok)
  for (const { file, line, column, message, nearest } of wrong.problems)
    console.log(`${file}:${line}:${column}: ${message} (did you mean ${nearest}?)`);

const loaded = loadRules([{ name: "margin-high.yaml", text }]);
if (!loaded.ok) throw new Error(loaded.problems.map(formatProblem).join("\n"));
const figures = { trader: { marginRatio: 0.75, equity: 1_200 }, wallet: { name: "main" } };
for (const rule of loaded.rules) {
  const { severity, summary } = rule.judge(figures);
  console.log(`${rule.name}: ${severity} (${summary})`);
  console.log(`${rule.name}: ${rule.judge({ wallet: { name: "main" } }).unknown?.reason}`);
}

const expression = compileExpression("trader.equity * (1.0 - trader.marginRatio)", { scope: "trader" });
if (expression.ok) console.log(expression.evaluate(figures));

const run = await runRuleTests(
  {
    name: "margin-high.test.yaml",
    text: `tests:
  - name: fires when it has held
    series:
      main/0.0: { trader.marginRatio: "50% 80%x12" }
    expect:
      - { at: 20s, alerts: [{ rule: MarginHigh, state: pending }] }
      - { at: 40s, alerts: [{ rule: MarginHigh, subject: main/0.0, severity: warning }] }
`,
  },
  [{ name: "margin-high.yaml", text }],
);
if (!run.ok) throw new Error(run.problems.map(formatProblem).join("\n"));
for (const test of run.tests)
  console.log(`${test.failures.length === 0 ? "passed" : "FAILED"}: ${test.name}`);
