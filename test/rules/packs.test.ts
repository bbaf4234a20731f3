/** The packs that ship: they load as they are, and each speaks to somebody who was asleep. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { formatProblem, judge, loadRules, type RuleSet } from "../../src/rules/index.ts";
import { env, facts, scheduleMs } from "./kit.ts";

const folder = new URL("../../rules/", import.meta.url);
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".yaml") && !name.endsWith(".test.yaml"))
  .map((name) => ({
    name: `shipped:${name.replace(".yaml", "")}`,
    text: readFileSync(new URL(name, folder), "utf8"),
  }));

function load(): RuleSet {
  const loaded = loadRules({ files, overrides: {}, scheduleMs, wallets: [], timezone: "UTC" });
  if ("problems" in loaded) throw new Error(loaded.problems.map(formatProblem).join("\n"));
  expect(loaded.warnings.map(formatProblem)).toEqual([]);
  return loaded.ruleSet;
}

describe("shipped packs", () => {
  test("each level of a rule with a value has a direction in which the value gets worse", () => {
    const undirected = load().conditions.flatMap(({ name, value, levels }) =>
      value === null
        ? []
        : levels.filter(({ excess }) => excess === undefined).map(({ severity }) => `${name} ${severity}`),
    );
    expect(undirected).toEqual([]);
  });

  test("load without problems and without warnings", () => {
    const { conditions, events } = load();
    expect(files.map((file) => file.name)).toEqual(
      [
        "account",
        "daemon",
        "drawdown",
        "exchange",
        "funding",
        "hedge",
        "liquidation-risk",
        "margin",
        "markets",
        "notifications",
        "stop-loss",
        "whales",
      ].map((name) => `shipped:${name}`),
    );
    expect(conditions.length + events.length).toBeGreaterThan(25);
  });

  test("nobody has to have the labels and limits that packs know; of a label in a rule of one's own there is word", () => {
    const wallets = [
      { name: "main", labels: { desk: "alpha" }, limits: {}, watchOnly: false },
      { name: "whale", labels: { watch: "whale" }, limits: {}, watchOnly: true },
    ];
    const told = (more: typeof files, of = wallets) => {
      const loaded = loadRules({ files: more, overrides: {}, scheduleMs, wallets: of, timezone: "UTC" });
      if ("problems" in loaded) throw new Error(loaded.problems.map(formatProblem).join("\n"));
      return loaded.warnings.map((warning) => warning.message);
    };
    expect(told(files, wallets.slice(0, 1))).toEqual([]);
    const own = (select: string) => [
      {
        name: "own.yaml",
        text: `rules: [{ name: A, scope: wallet, select: ${select}, when: true, severity: info, summary: a }]`,
      },
    ];
    expect(told(own("{ team: x }"))).toEqual(["no wallet has the label team: the rule has no subjects"]);
    expect(told(own('{ team: "" }'))).toEqual([]);
  });

  test("whatever is judged for a wallet of a stranger is in the pack about them", () => {
    const { conditions, events } = load();
    const unsorted = [...conditions, ...events].filter((rule) => {
      const ofWallets =
        rule.kind === "event" ? rule.on !== "marketChange" : "position trader wallet".includes(rule.scope);
      return ofWallets && !rule.needsSession && rule.select.labels.watch === undefined;
    });
    // Notifications come to those who sign in: never to a stranger.
    expect(unsorted.filter((rule) => rule.kind !== "event" || rule.on !== "notification")).toEqual([]);
    for (const rule of [...conditions, ...events])
      if (rule.select.labels.watch?.includes("whale")) {
        expect(rule.file).toBe("shipped:whales");
        expect(rule.kind === "event" ? rule.severity : rule.levels.at(-1)!.severity).toBe("info");
      }
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
    const ofPnl = { scope: "wallet", field: "pnl" };
    expect(drawdown.windows).toMatchObject([
      { fn: "maxOver", path: ofPnl, windowMs: 86_400_000 },
      { fn: "drawdown", path: { ...ofPnl, companion: "equity" }, windowMs: 86_400_000 },
    ]);
    expect(drawdown.forMs).toBe(120_000);
  });
});

describe("what packs compute", () => {
  const valueIn = (name: string, walletFigures: object, windows: Record<string, number>) => {
    const rule = load().conditions.find((one) => one.name === name)!;
    const window = (index: number) => windows[rule.windows[index]!.fn]!;
    return rule.value!.run(env({ wallet: facts({ name: "main", ...walletFigures }), window }));
  };

  test.each([
    ["half of it is lost", 500, -500, 0.5, 0.5],
    ["94.4 % of what is left", 5_144, -4_856, 0.4856, 0.4856],
    ["a tenth is won", 1_100, 100, 0, -0.1],
    ["more than there was", -50, -1_050, 1.05, 1],
    ["nothing was there and nothing is", 0, 0, 0, 0],
    ["all was paid out after a loss", 0, -20, 0.02, 0.02],
  ])("LosingFast is a share of the equity at the beginning: %s", (_, equity, change, drawdown, share) => {
    expect(valueIn("LosingFast", { equity }, { change, drawdown })).toBeCloseTo(share, 6);
  });

  test.each<[string, number, number, number, number, number]>([
    ["half of the equity at the peak", 500, 0, 500, 0.5, 0.5],
    ["half of what a deposit after the peak made of it", 500, -500, 0, 5, 0.5],
    ["a payout after the fall is no part of it", 0, 80, 100, 0.2, 0.2],
    ["more than there was", -50, -1_000, 50, 1.05, 1],
    ["behind the peak was nothing", -5, -5, 0, Number.POSITIVE_INFINITY, 1],
    ["no fall", 100, 10, 10, 0, 0],
  ])("Drawdown is never more than all: %s", (_, equity, pnl, maxOver, drawdown, share) => {
    expect(valueIn("Drawdown", { equity, pnl }, { maxOver, drawdown })).toBeCloseTo(share, 6);
  });

  test.each([
    ["a hundredth of it went", 990, -10, 1_000, 0.01],
    ["half of it went", 500, -500, 1_000, 0.5],
    ["it was received", 990, 10, 1_000, -0.01],
    ["nothing is there", 0, 0, 0, 0],
    ["what is owed is more than there was", -5, -10, 5, 1],
    ["most was paid out", 90, -10, 1_000, 0.01],
  ])(
    "FundingCostHigh is a share of the equity that would be there without it: %s",
    (_, equity, sumOver, maxOver, share) => {
      expect(valueIn("FundingCostHigh", { equity }, { sumOver, maxOver })).toBeCloseTo(share, 6);
    },
  );
});

describe("what packs say", () => {
  test.each([
    ["LiquidationNear", { value: 0.0432 }, /: SOL long is 4\.32% from liquidation$/],
    ["LiquidationNear", { value: 0 }, /: SOL long can be liquidated now$/],
    [
      "LiquidationNear",
      { value: 0.081, adverse: 0.031, held: 3 },
      /: SOL long is 8\.1% from liquidation, 3\.1% if every position of main\/0\.0 moves against it$/,
    ],
    ["LiquidationNear", { value: 0.031, adverse: 0.031, held: 1 }, /: SOL long is 3\.1% from liquidation$/],
    ["LiquidationNear", { value: 0.5, adverse: 0.3, held: 2 }, /: SOL long is 50% from liquidation$/],
    ["LiquidationNear", { value: 0, adverse: 0, held: 2 }, /: SOL long can be liquidated now$/],
    [
      "AccountLiquidationNear",
      { value: 0.02 },
      /^main\/0\.0 is 2% from liquidation if every position moves against it$/,
    ],
    ["AccountLiquidationNear", { value: 0 }, /^main\/0\.0 can be liquidated now$/],
    [
      "AccountLiquidatable",
      { riskTier: "highRisk" },
      /^main\/0\.0 can be liquidated now: margin ratio 103% \(limit 100%\)$/,
    ],
    [
      "AccountLiquidatable",
      { riskTier: "safe" },
      /^main\/0\.0 is not liquidatable any more: margin ratio 103%$/,
    ],
    ["OrdersMayBeCancelled", { riskTier: "cancellable" }, /^main\/0\.0: the exchange may cancel orders$/],
    [
      "OrdersMayBeCancelled",
      { riskTier: "safe" },
      /^main\/0\.0: no order is at risk of being cancelled any more$/,
    ],
  ])(
    "%s tells danger from its end: %j",
    (name, of: { value?: number; riskTier?: string; adverse?: number; held?: number }, wanted) => {
      const { value = 0, riskTier = "safe", adverse, held = 0 } = of;
      const rule = condition(name);
      const trader = facts({
        name: "main/0.0",
        riskTier,
        marginRatio: 1.03,
        positions: Array(held).fill({}),
        orders: [{}],
      });
      if (adverse !== undefined) trader.values.adverseMoveToLiquidation = adverse;
      const position = facts({ symbol: "SOL", side: "long" });
      expect(rule.summary.render(env({ wallet, trader, position, value }))).toMatch(wanted);
    },
  );

  test.each([
    [0.5, 0.04, [0.5, 0.9], "critical"],
    [0.5, 0.04, [0.5, 0.3], null],
    [0.04, 0.04, [0.04], "critical"],
    [0.08, 0.07, [0.08, 0.9], "warning"],
    // Far by itself, and so is every other: all of a hedged book answer for it.
    [Number.POSITIVE_INFINITY, 0.03, [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY], "critical"],
  ])(
    "LiquidationNear is critical by the joint move, of the nearest position: %d, %d, %j",
    (own, joint, all, level) => {
      const position = facts({ symbol: "SOL", side: "long", liquidationDistance: own });
      const positions = all.map((liquidationDistance) => ({ liquidationDistance }));
      const trader = facts({ name: "main/0.0", adverseMoveToLiquidation: joint, positions });
      const judged = judge(condition("LiquidationNear"), env({ wallet, position, trader }), null);
      expect(judged).toMatchObject({ kind: "known", severity: level });
    },
  );

  test("LiquidationNear stays critical until both its own distance and the joint move are wide", () => {
    const severity = (own: number, joint: number) => {
      const position = facts({ symbol: "SOL", side: "long", liquidationDistance: own });
      const trader = facts({ adverseMoveToLiquidation: joint, positions: [{ liquidationDistance: 0.01 }] });
      const judged = judge(condition("LiquidationNear"), env({ wallet, position, trader }), "critical");
      return judged.kind === "known" ? judged.severity : judged.unknown.unknown;
    };
    expect(severity(0.5, 0.055)).toBe("critical");
    expect(severity(0.055, 0.5)).toBe("critical");
    expect(severity(0.07, 0.07)).toBe("warning");
  });

  const hours = 3_600_000;
  test.each([
    [80 * hours, null],
    [71 * hours, "info"],
    [22 * hours, "warning"],
    [0, "warning"],
    [Number.POSITIVE_INFINITY, null],
  ])("FundingEatsMargin counts hours: %d ms", (fundingUntilMaintenance, level) => {
    const trader = facts({ name: "main/0.0", fundingUntilMaintenance });
    const at = env({ wallet, trader });
    expect(judge(condition("FundingEatsMargin"), at, null)).toMatchObject({ kind: "known", severity: level });
  });

  test.each([
    [22.5 * hours, "main/0.0: funding alone makes it liquidatable in 22h 30m"],
    [Number.POSITIVE_INFINITY, "main/0.0: funding does not threaten it any more"],
  ])("FundingEatsMargin says how long the margin lasts: %d ms", (value, wanted) => {
    const trader = facts({ name: "main/0.0" });
    expect(condition("FundingEatsMargin").summary.render(env({ wallet, trader, value }))).toBe(wanted);
  });

  test("FundingEatsMargin without rates is unknown, and says what is missing", () => {
    const trader = facts({ name: "main/0.0", fundingUntilMaintenance: 1 });
    delete trader.seenMs.fundingRates;
    const judged = judge(condition("FundingEatsMargin"), env({ wallet, trader }), "warning");
    expect(judged).toMatchObject({
      kind: "unknown",
      unknown: { unknown: "missing", source: "fundingRates" },
    });
  });

  test.each([
    [0.031, [0.05, 0.09], "a further move of 3.1% against every position makes it liquidatable."],
    [0.031, [0.0312], "a further move of 3.12% against its position makes it liquidatable."],
    [0, [0], "it is liquidatable now."],
    [Number.POSITIVE_INFINITY, [], "no move of its positions makes it liquidatable."],
  ])("MarginHigh says how far liquidation is: %d, %o", (adverseMoveToLiquidation, distances, wanted) => {
    const positions = distances.map((liquidationDistance) => ({ liquidationDistance }));
    const trader = facts({ name: "main/0.0", adverseMoveToLiquidation, positions });
    expect(condition("MarginHigh").description!.render(env({ wallet, trader, value: 0.9 }))).toContain(
      wanted,
    );
  });

  const condition = (name: string) => load().conditions.find((rule) => rule.name === name)!;
  const event = (name: string) => load().events.find((rule) => rule.name === name)!;
  const wallet = facts({ name: "main" });

  test.each([
    ["prices (HTTP 503) and 4 more", "Reads of the exchange fail: prices (HTTP 503) and 4 more"],
    ["", "Every read of the exchange works again"],
  ])("failing polls name what fails: %s", (failingReads, wanted) => {
    const daemon = facts({ failedPolls: 6, failingReads });
    expect(condition("PollsFailing").summary.render(env({ daemon }))).toBe(wanted);
  });

  test("reads that work again are all of them only where nobody is signed out", () => {
    const told = (signedOutWallets: number) =>
      condition("PollsFailing").summary.render(
        env({ daemon: facts({ failingReads: "", signedOutWallets }) }),
      );
    expect([told(0), told(2)]).toEqual([
      "Every read of the exchange works again",
      "Every read that needs no session works again",
    ]);
  });

  test.each([
    [1, "1 message has waited 2m to be delivered by mail (535)"],
    [12, "12 messages wait to be delivered by mail (535), the oldest for 2m"],
    [0, "No message waits to be delivered"],
  ])("messages that wait name their channel: %i", (undelivered, wanted) => {
    const daemon = facts({ undelivered, oldestUndelivered: 120_000, waitingChannels: "mail (535)" });
    const { summary } = condition("MessagesUndelivered");
    expect(summary.render(env({ daemon, value: 120_000 }))).toBe(wanted);
  });

  test.each([
    ["MessagesLost", 1, "1 message was given up since perpwatch started, and will not be delivered"],
    ["MessagesLost", 3, "3 messages were given up since perpwatch started, and will not be delivered"],
    ["MessagesLost", 0, "No message was given up since perpwatch started"],
    ["RecordsNotUnderstood", 1, "1 answer of the exchange could not be understood in the last hour"],
  ])("%s counts as people do: %i", (name, value, wanted) => {
    expect(condition(name).summary.render(env({ value, window: () => 60_000 }))).toBe(wanted);
  });

  /** A pack is read at night: what is not known is left out, and nothing is printed twice. */
  test.each([
    [
      "Liquidated",
      { kind: "market", symbol: "SOL", side: "short", size: 90, notional: 20_980.8, price: 233.12 },
      "main: LIQUIDATED SOL short, $20,980.80 at $233.12",
      /^Sold on the book; what it cost was not told yet\. Now: check/,
    ],
    [
      "Liquidated",
      {
        kind: "backstop",
        symbol: "SOL",
        side: "long",
        size: 9,
        collateralChange: -42.5,
        positionClosed: true,
      },
      "main: LIQUIDATED SOL long",
      /^Taken over by the backstop; the position is closed\. Now: check/,
    ],
    ["Liquidated", { kind: "market" }, "main: LIQUIDATED a position", /^Sold on the book; what it cost/],
    [
      "AutoDeleveraged",
      { kind: "adl", symbol: "SOL", side: "long", size: 3, notional: 417 },
      "main: SOL long auto-deleveraged: 3 SOL ($417.00)",
      /^What it did to the collateral was not told\. Now: /,
    ],
    [
      "AutoDeleveraged",
      { kind: "adl" },
      "main: a position auto-deleveraged",
      /^What it did to the collateral was not told\. Now: /,
    ],
    [
      "AutoDeleveraged",
      { kind: "adl", symbol: "SOL", size: 3 },
      "main: SOL auto-deleveraged: 3 SOL",
      /^What it did to the collateral was not told\. Now: /,
    ],
    [
      "StopLossExecuted",
      { symbol: "SOL", side: "ask", size: 12.5, price: 131.4, data: { triggerType: "stop_loss" } },
      "main: a stop loss was executed: sold 12.5 SOL at $131.40",
      /^ ?Now: check/,
    ],
    [
      "StopLossExecuted",
      { symbol: "SOL", data: { triggerType: "take_profit" } },
      "main: a take profit was executed in SOL",
      /^ ?Now: check/,
    ],
    [
      "StopLossExecuted",
      { symbol: "SOL", data: {} },
      "main: a stop or take profit was executed in SOL",
      /Now/,
    ],
    [
      "Announcement",
      { title: "Maintenance", body: "At noon." },
      "The exchange says: Maintenance",
      /^At noon\.$/,
    ],
    [
      "OrderCancelledByRiskEngine",
      { symbol: "SOL" },
      "main: the risk engine cancelled an order in SOL",
      /^It was cancelled to free margin: the account fell below its cancel margin\. Now: /,
    ],
    [
      "SpotCollateralLiquidated",
      {},
      "main: the exchange sold spot collateral",
      /^The exchange does not say which asset\. Now: /,
    ],
    ["Announcement", { body: "At noon." }, "The exchange made an announcement", /^At noon\.$/],
    [
      "Announcement",
      { title: "", body: "" },
      "The exchange made an announcement without a text; look at its own pages",
      /^$/,
    ],
  ] as const)("%s tells what is known: %o", (name, of, summary, description) => {
    const at = env({ wallet, event: facts({ ...of }), trader: facts({}) });
    const rule = event(name);
    expect(rule.summary.render(at)).toBe(summary);
    expect(rule.description!.render(at)).toMatch(description);
    expect(rule.description!.render(at)).not.toContain("–");
  });

  test.each([
    ["OrderFilled", {}, "main: order filled"],
    ["OrderFilled", { symbol: "ETH" }, "main: order filled in ETH"],
    ["StopLossPlaced", { symbol: "ETH" }, "main: a stop or take profit order was placed in ETH"],
  ])("%s of which little is known: %o", (name, of, wanted) => {
    expect(event(name).summary.render(env({ wallet, event: facts({ ...of }) }))).toBe(wanted);
  });

  test.each([
    ["bid", "main: order filled: bought 0.1 ETH at $2,990.00"],
    ["ask", "main: order filled: sold 0.1 ETH at $2,990.00"],
  ])("an order buys or sells: %s", (side, wanted) => {
    const of = facts({ symbol: "ETH", side, size: 0.1, price: 2_990, type: "order_filled" });
    expect(event("OrderFilled").summary.render(env({ wallet, event: of }))).toBe(wanted);
    for (const name of ["OrderCancelledByRiskEngine", "StopLossExecuted"]) {
      const at = env({ wallet, event: of, trader: facts({}) });
      const text = `${event(name).summary.render(at)} ${event(name).description!.render(at)}`;
      expect(text).not.toMatch(/\b(bid|ask)\b/);
      expect(text).not.toContain("margin ratio");
    }
  });
});
