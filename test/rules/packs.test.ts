/** The packs that ship: they load as they are, and each speaks to somebody who was asleep. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { formatProblem, loadRules, type RuleSet } from "../../src/rules/index.ts";
import { env, facts, scheduleMs } from "./kit.ts";

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

describe("what packs say", () => {
  const condition = (name: string) => load().conditions.find((rule) => rule.name === name)!;
  const event = (name: string) => load().events.find((rule) => rule.name === name)!;
  const wallet = facts({ name: "main" });

  test.each([
    ["markets (503) and 4 more", "Reads of the exchange fail: markets (503) and 4 more"],
    ["", "Every read of the exchange works again"],
  ])("failing polls name what fails: %s", (failingReads, wanted) => {
    const daemon = facts({ failedPolls: 6, failingReads });
    expect(condition("PollsFailing").summary.render(env({ daemon }))).toBe(wanted);
  });

  test.each([
    [1, "1 message waits to be delivered by mail (535), the oldest for 2m"],
    [12, "12 messages wait to be delivered by mail (535), the oldest for 2m"],
    [0, "No message waits to be delivered"],
  ])("messages that wait name their channel: %i", (undelivered, wanted) => {
    const daemon = facts({ undelivered, oldestUndelivered: 120_000, waitingChannels: "mail (535)" });
    const { summary } = condition("MessagesUndelivered");
    expect(summary.render(env({ daemon, value: 120_000 }))).toBe(wanted);
  });

  test.each([
    ["MessagesLost", 1, "1 message was given up in the last hour and will not be delivered"],
    ["MessagesLost", 3, "3 messages were given up in the last hour and will not be delivered"],
    ["RecordsNotUnderstood", 1, "1 answer of the exchange could not be understood in the last hour"],
  ])("%s counts as people do: %i", (name, value, wanted) => {
    expect(condition(name).summary.render(env({ value }))).toBe(wanted);
  });

  test.each([
    ["bid", "main: order filled: bought 0.1 ETH at $2,990.00"],
    ["ask", "main: order filled: sold 0.1 ETH at $2,990.00"],
  ])("an order buys or sells: %s", (side, wanted) => {
    const of = facts({ symbol: "ETH", side, size: 0.1, price: 2_990, type: "order_filled" });
    expect(event("OrderFilled").summary.render(env({ wallet, event: of }))).toBe(wanted);
    for (const name of ["OrderCancelledByRiskEngine", "StopLossExecuted"]) {
      const text = event(name).description!.render(env({ wallet, event: of, trader: facts({}) }));
      expect(text).toMatch(/(buy|sell|Bought|Sold) 0\.1 ETH at \$2,990\.00/);
      expect(text).not.toMatch(/\b(bid|ask)\b/);
    }
  });
});
