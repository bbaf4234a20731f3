/** The packs that ship: they load as they are, and each speaks to somebody who was asleep. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { formatProblem, loadRules, type RuleSet } from "../../src/rules/index.ts";
import { scheduleMs } from "./kit.ts";

const folder = new URL("../../rules/", import.meta.url);
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => ({ name, text: readFileSync(new URL(name, folder), "utf8") }));

function load(): RuleSet {
  const loaded = loadRules({ files, overrides: {}, scheduleMs, wallets: [], timezone: "UTC" });
  if ("problems" in loaded) throw new Error(loaded.problems.map(formatProblem).join("\n"));
  expect(loaded.warnings.map(formatProblem)).toEqual([]);
  return loaded.ruleSet;
}

describe("shipped packs", () => {
  test("load without problems and without warnings", () => {
    const { conditions, events } = load();
    expect(files.map((file) => file.name)).toEqual([
      "daemon.yaml",
      "drawdown.yaml",
      "exchange.yaml",
      "funding.yaml",
      "liquidation-risk.yaml",
      "margin.yaml",
      "notifications.yaml",
    ]);
    expect(conditions.length + events.length).toBeGreaterThan(25);
  });

  test("every rule above info says what to do now", () => {
    const { conditions, events } = load();
    for (const rule of [...conditions, ...events]) {
      const worst = rule.kind === "event" ? rule.severity : rule.levels.at(-1)!.severity;
      if (worst === "info") continue;
      expect(rule.description?.text, rule.name).toMatch(/Now: /);
    }
  });

  test("no critical event waits, and only rules on notifications acknowledge", () => {
    for (const rule of load().events) {
      if (rule.severity === "critical") expect(rule.throttleMs).toBeNull();
      if (rule.on !== "notification") expect(rule.acknowledge).toBeNull();
    }
  });

  test("loss rules read pnl, never raw equity alone", () => {
    const drawdown = load().conditions.find((rule) => rule.name === "Drawdown")!;
    expect(drawdown.windows).toMatchObject([
      { fn: "drawdown", path: { scope: "wallet", field: "pnl", companion: "equity" }, windowMs: 86_400_000 },
    ]);
    expect(drawdown.forMs).toBe(120_000);
  });
});
