/** `depositTo` and `reduceTo` in rules and texts: units, signs, and unknown as everywhere. */
import { describe, expect, test } from "vitest";
import { formatProblem, loadRules } from "../../src/rules/index.ts";
import { Harness, mainWallet, position, rulesOf, scheduleMs, subaccount } from "../engine/harness.ts";

const showing = (text: string, scope = "position", when = "trader.equity > 0.0") => `
rules:
  - name: Shows
    scope: ${scope}
    when: ${when}
    severity: info
    summary: '${text}'
`;

/** Long or short 100 SOL at 100 USD, with 600 USD: a margin ratio of 0.5556. */
function said(rules: string, size = 100, collateral = 600): string | undefined {
  const h = new Harness({ rules });
  h.config();
  h.mark(100);
  h.account([subaccount(collateral, [position(size, 100)])]);
  return h.changes[0]?.alert.summary;
}

describe("depositTo", () => {
  test("is USD, enough as it is written, and a cent less is not", () => {
    // 333.333333 USD of maintenance margin.
    expect(said(showing("{{ depositTo(trader.marginRatio < 0.5) }}"))).toBe("$66.67");
    expect(said(showing("{{ depositTo(trader.marginRatio <= 0.4) }}", "trader"))).toBe("$233.34");
    expect(said(showing("x", "trader", "depositTo(trader.marginRatio < 0.5) == 66.67"))).toBe("x");
  });

  test("is nothing where the condition holds, and infinite where no amount is enough", () => {
    expect(said(showing("{{ depositTo(trader.marginRatio < 0.9) }}"))).toBe("$0.00");
    expect(said(showing("{{ depositTo(position.size < 50.0) }}"))).toBe("∞");
  });

  test("is unknown where its condition is", () => {
    expect(said(showing("{{ depositTo(double(trader.name) > 0.0 && trader.marginRatio < 0.5) }}"))).toBe("–");
    expect(said(showing("x", "trader", "depositTo(double(trader.name) > 0.0) > 1.0"))).toBeUndefined();
  });
});

describe("reduceTo", () => {
  const text = "{{ reduceTo(trader.marginRatio < 0.4) }} {{ position.size }}";

  test("is the change of the size, negative to sell, with the fee, and a lot less is not enough", () => {
    // (100 − x) · 100 / 30 is below 0.4 · (600 − 0.035 · x) from x = 28.12… on.
    expect(said(showing(text))).toBe("-28.12 100");
    expect(said(showing(text), -100)).toBe("28.12 -100");
    const rest = "position.size + reduceTo(trader.marginRatio < 0.4)";
    expect(said(showing("x", "position", `${rest} > 71.87 && ${rest} < 71.89`))).toBe("x");
  });

  test("is nothing where the condition holds, and infinite where closing all is not enough", () => {
    expect(said(showing("{{ reduceTo(trader.marginRatio < 0.9) }}"))).toBe("0");
    expect(said(showing("{{ reduceTo(trader.equity > 1000.0) }}"))).toBe("-∞");
    expect(said(showing("{{ reduceTo(trader.equity > 1000.0) }}"), -100)).toBe("∞");
  });

  test("of a condition about the position, closing all is enough at the latest", () => {
    expect(said(showing("{{ reduceTo(position.liquidationDistance > 0.99) }}"), -100)).toBe("94.36");
    expect(said(showing("{{ reduceTo(position.size < 0.0) }}"))).toBe("-100");
  });
});

test("advice goes on beside a rule that asks for amounts itself", () => {
  const poor = showing("poor", "trader", "trader.marginRatio > 0.5").replace("info", "critical");
  const asks = showing("asks", "trader", "depositTo(trader.marginRatio < 0.5) > 1.0").replace("\nrules:", "");
  const h = new Harness({ rules: poor.replace("Shows", "Poor") + asks });
  h.config();
  h.mark(100);
  h.account([subaccount(600, [position(100, 100)])]);
  expect(h.changes.map(({ alert, advice }) => [alert.rule, advice?.length])).toEqual([
    ["Poor", 1],
    ["Shows", undefined],
  ]);
});

describe("refused, with the reason", () => {
  const problemsOf = (text: string) => {
    const wallets = [mainWallet];
    const loaded = loadRules({
      files: [{ name: "my.yaml", text }],
      ...{ overrides: {}, scheduleMs, wallets, timezone: "UTC" },
    });
    return "problems" in loaded ? loaded.problems.map(formatProblem).join("\n") : "";
  };
  test.each([
    [showing("x", "wallet", "depositTo(wallet.equity > 1.0) > 1.0"), "depositTo belongs to rules of scope"],
    [showing("x", "trader", "reduceTo(trader.equity > 1.0) > 1.0"), "reduceTo belongs to rules of scope pos"],
    [showing("x", "position", "depositTo(position.size) > 1.0"), "depositTo"],
    [showing("x", "trader", "trader.positions.exists(p, depositTo(p.size > 1.0) > 1.0)"), "no loop"],
    [
      showing("x", "trader", "value > 0.5 && depositTo(value < 0.5) > 1.0").replace(
        "    when:",
        "    value: trader.marginRatio\n    when:",
      ),
      "write out in depositTo what it is made of",
    ],
  ])("%s", (text, message) => expect(problemsOf(text)).toContain(message));
  test("and what is allowed is not", () => {
    expect(rulesOf(showing("{{ depositTo(trader.marginRatio < 0.5) }}")).conditions).toHaveLength(1);
  });
});
