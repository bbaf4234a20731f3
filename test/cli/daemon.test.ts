/** Commands that ask the running daemon: the real local API on a real socket, with fixed answers. */
import { createServer, type Server } from "node:http";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { DashboardSource } from "../../src/domain/ports.ts";
import type { WhatIfAccount } from "../../src/domain/what-if.ts";
import { alertChange, event, message, owedItem } from "../history/examples.ts";
import { openDashboard } from "../web/open.ts";
import { alert, calmStatus, darkStatus, nowMs, status } from "../web/world.ts";
import { desk, run } from "./run.ts";

/** A daemon's socket, and a configuration whose daemon is behind it. */
async function daemon(of: Partial<DashboardSource> = {}) {
  const dashboard = await openDashboard(of);
  const place = desk();
  const database = dashboard.socketPath.replace(/\.sock$/, "");
  // Secrets and files that only the daemon has are not needed by commands.
  place.write(
    "config.yaml",
    `history: { path: ${database} }\nchannels: { chat: { type: discord, token: "\${NOT_IN_THIS_SHELL}" } }\nrules: [gone.yaml]\n`,
  );
  return {
    asked: dashboard.asked,
    /** On a terminal that is wide enough for everything. */
    run: (...args: string[]) => run(args, { ...place, columns: 250 }),
    async [Symbol.asyncDispose]() {
      place[Symbol.dispose]();
      await dashboard[Symbol.asyncDispose]();
    },
  };
}

describe("status", () => {
  test("for people", async () => {
    await using it = await daemon();
    const { status: exit, stdout, stderr } = await it.run("status");
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: "" });
    // No colours where no terminal is, and every line ends with its text.
    expect(stdout).not.toContain("\u001b");
    expect(stdout).not.toMatch(/ \n/);
    const lines = stdout.split("\n");
    expect(lines[0]).toBe("perpwatch 0.1.0 is running, for 1d 2h, with 21 rules");
    expect(lines[1]).toBe("exchange: trading");
    const line = (start: string) => lines.find((one) => one.startsWith(start))?.replace(/ {2,}/g, " | ");
    expect(line("main ")).toBe("main | 8Xk4…Rt7K | signed in | 800ms | $28,012.44 | – | 3");
    expect(line("watched ")).toBe("watched | 8Xk4…Rt7K | watch-only | STALE 1m 14s | – | – | –");
    expect(line("main/0.2 ")).toBe("main/0.2 | active | safe | – | – | over 10,000% | – | 0 | 800ms");
    expect(line("main/0.1/BTC")).toBe(
      "main/0.1/BTC | long | 0.05 | $4,610.00 | $92,200.00 | none | over 10,000% | none | $59.80 | 1.3s",
    );
    expect(line("main/0.0/SOL")).toContain(" | $138.29 | 3.12% | $139.50 for 40% | ");
    expect(line("main/0.0/ETH")).toContain(" | 21.3% | – | ");
    expect(lines).toContain("pnl of main: known after the first reading of flows, deposits and withdrawals");
    expect(line("mail ")).toBe("mail | email | broken | 4 | 9m | 88 | 1 | 535 authentication failed");
    const failing = lines.find((one) => one.includes("12 failures, timeout: no answer within 4 s"));
    expect(failing).toMatch(/^traderState +watched +5s +1m 14s ago/);
    expect(lines.at(-3)).toContain("database: ./data/perpwatch.db, 48.2 MB");
    // Nearest to liquidation first; worst alert first.
    const order = (pattern: RegExp) => lines.flatMap((one) => pattern.exec(one)?.[1] ?? []);
    expect(order(/^(\S+\/\S+\/\S+) +(?:long|short)/)).toEqual([
      ...["main/0.0/SOL", "desk/0.0/1MBONK", "main/0.0/ETH", "main/0.1/BTC"],
    ]);
    expect(order(/^ *(\d+) +(?:critical|warning|info) /)).toEqual(["57", "55", "41"]);
    expect(lines).toContain("No data");
    expect(stdout).not.toMatch(/blind/i);
    expect(lines).toContainEqual(expect.stringMatching(/^CHANNEL .*DELIVERED SINCE START/));
    expect(stdout).toContain("since the start 131 confirmed");
  });

  test("states why a profit is not known", async () => {
    const known = status();
    const unexplained = "a withdrawal, or a loss of $500.00";
    const wallets = known.watch.wallets.map((one) => (one.name === "main" ? { ...one, unexplained } : one));
    const lastFailure = {
      atMs: nowMs,
      reason: "server-error",
      detail: "collateralHistory: 503 fault",
    } as const;
    const history = {
      source: "collateral",
      wallet: "main",
      everyMs: 60_000,
      lastOkMs: nowMs - 1_200_000,
    } as const;
    const schedules = [
      ...known.schedules,
      { ...history, lastFailure, failuresInRow: 3, catchUpFailure: null },
    ];
    await using it = await daemon({
      status: () => ({ ...known, watch: { ...known.watch, wallets }, schedules }),
    });
    const { stdout } = await it.run("status");
    expect(stdout.split("\n")).toContain(
      `pnl of main: not known while a change of collateral is unexplained: ${unexplained} (schedule collateral, every 1m, fails: collateralHistory: 503 fault)`,
    );
  });

  test("during an outage nothing is passed off as the present", async () => {
    await using it = await daemon({ status: darkStatus });
    const { stdout } = await it.run("status");
    const lines = stdout.split("\n");
    expect(lines[1]).toBe(
      "exchange: unreachable since 11:57:00 UTC (3m: connect ECONNREFUSED 10.0.0.1:443), last known: trading",
    );
    const ends = (pattern: RegExp) => lines.filter((one) => pattern.test(one));
    expect(ends(/^(main|desk)\/0\.\d(\/\S+)? .*STALE 3m$/)).toHaveLength(8);
    expect(ends(/^main .* STALE 3m +\$28,012\.44/)).toHaveLength(1);
    expect(ends(/critical .*SOL is 3\.1 % from liquidation \(as of 11:57:00 UTC\)$/)).toHaveLength(1);
    expect(ends(/^mail +email +retrying .*ECONNREFUSED/)).toHaveLength(1);
  });

  test("a rate limit of the exchange comes before what was known of it", async () => {
    const { requests, ...rest } = calmStatus();
    const limited = { kind: "rateLimited", sinceMs: nowMs - 90_000, untilMs: nowMs + 2_000 } as const;
    await using it = await daemon({ status: () => ({ ...rest, requests: { ...requests, limited } }) });
    expect((await it.run("status")).stdout.split("\n")[1]).toBe(
      "exchange: refuses requests with 429 since 11:58:30 UTC (1m 30s), last known: trading",
    );
  });

  test("a session whose notifications are refused is not called well", async () => {
    const { schedules, ...rest } = status();
    const detail = "notifications: 403 insufficient_role";
    await using it = await daemon({
      status: () => ({
        ...rest,
        schedules: schedules.map((one) =>
          one.source === "notifications"
            ? { ...one, failuresInRow: 7, lastFailure: { atMs: nowMs, reason: "refused" as const, detail } }
            : one,
        ),
      }),
    });
    expect((await it.run("status")).stdout).toMatch(
      /^main +\S+ +signed in, but its notifications are refused: 403 insufficient_role /m,
    );
  });

  test("older pages that cannot be read are seen", async () => {
    const { schedules, ...rest } = calmStatus();
    const [first, ...others] = schedules;
    const catchUpFailure = { atMs: nowMs, reason: "server-error", detail: "x: 500", times: 3 } as const;
    await using it = await daemon({
      status: () => ({ ...rest, schedules: [{ ...first!, catchUpFailure }, ...others] }),
    });
    expect((await it.run("status")).stdout).toMatch(
      /^traderState .*older pages: 3 failures, server-error: x: 500$/m,
    );
  });

  test("names what is read less often than configured, and the age that it may have", async () => {
    const stretched = [{ source: "traderState", staleAfterMs: 49_000, usuallyMs: 15_000 }] as const;
    await using it = await daemon({ status: () => ({ ...calmStatus(), stretched }) });
    const { stdout } = await it.run("status");
    expect(stdout).toContain(
      "fewer requests are granted than the schedules take, so data count as too old later: positions and balances after 49s (15s as configured)",
    );
  });

  test("when nothing is wrong", async () => {
    await using it = await daemon({ status: calmStatus });
    const { stdout } = await it.run("status");
    expect(stdout).toContain("No alert is firing.");
    expect(stdout).not.toMatch(/Pending|No data|Firing/);
  });

  test("shows apart what rules in shadow mode raised, and which rules cannot judge what", async () => {
    const now = status();
    const trial = { ...alert({ id: 58, rule: "Trial" }), shadow: true, textAtMs: nowMs };
    const failing = {
      ...{
        rule: "Trial",
        subject: "main/0.0",
        state: "error" as const,
        source: null,
        sinceMs: nowMs - 1_000,
      },
      detail: "max of an empty list",
    } as const;
    const watch = { ...now.watch, shadow: [trial], unjudged: [failing] };
    await using it = await daemon({ status: () => ({ ...now, watch }) });
    const lines = (await it.run("status")).stdout.split("\n").map((one) => one.replace(/ {2,}/g, " | "));
    expect(lines).toContain(
      "critical | MarginRatioHigh | main/0.0 | 11s of 30s | began 1m 11s ago: time without fresh data does not count",
    );
    expect(lines).toContainEqual(expect.stringMatching(/^main\/0\.\d .*\| at risk \|/));
    expect(lines).toContain(
      "1 alert of rules in shadow mode, sent to nobody: alerts --firing --shadow lists them.",
    );
    expect(lines).toContainEqual(
      expect.stringMatching(/^clock: 12ms ahead of the exchange's; event loop late by .* at most$/),
    );
    expect(lines.filter((one) => /\b58\b/.test(one))).toEqual([]);
    expect(lines).toContain("Trial (shadow) | 1 | 0 | 1 | main/0.0: max of an empty list");
    expect(lines).toContainEqual(expect.stringMatching(/^LiquidationNear \| 2 \| 1 \| 0/));
  });

  test("as JSON it is what the daemon answers, with the silences", async () => {
    await using it = await daemon();
    const ran = await it.run("status", "--json");
    expect(ran.status).toBe(0);
    const revived = JSON.parse(ran.stdout, (_key, value: unknown) =>
      value === "Infinity" ? Number.POSITIVE_INFINITY : value,
    );
    expect(revived).toEqual({ running: true, ...status(), nowMs, silences: [] });
  });
});

describe("whatif", () => {
  const figures = (marginRatio: number) => ({
    ...{ equity: 1_000, effectiveCollateral: 1_000, initialMargin: 900, maintenanceMargin: 450 },
    ...{ freeCollateral: 100, marginRatio, leverage: 12, adverseMoveToLiquidation: 0.05 },
  });
  const position = { symbol: "SOL", side: "long" };
  const of = (size: number, liquidationPrice: number | null) => ({
    ...{ size, markPrice: 150, notional: size * 150, liquidationPrice, unrealizedPnl: -20 },
    liquidationDistance: liquidationPrice === null ? Number.POSITIVE_INFINITY : 1 - liquidationPrice / 150,
  });
  const sell = (units: number) => ({ trade: "sell" as const, units, bookUsd: null });
  const buy = (units: number, bookUsd: number | null = null) => ({ trade: "buy" as const, units, bookUsd });
  const account: WhatIfAccount = {
    name: "main/0.0",
    seenMs: nowMs - 1_200,
    changes: ["deposit $500.00"],
    before: {
      riskTier: "atRisk",
      figures: figures(0.9),
      positions: [{ ...position, figures: of(80, 142.5) }],
    },
    after: { riskTier: "safe", figures: figures(0.3), positions: [{ ...position, figures: of(80, null) }] },
    rules: [
      {
        ...{ rule: "MarginHigh", subject: "main/0.0", firing: "critical", before: "critical", after: null },
        firesInMs: { before: 0, after: null },
      },
      {
        ...{ rule: "Own", subject: "main/0.0", firing: null, before: "info", after: "unknown" },
        firesInMs: { before: 12_400, after: null },
      },
      {
        ...{ rule: "Steps", subject: "main/0.0", firing: "info", before: "info", after: "warning" },
        firesInMs: { before: 0, after: 30_000 },
      },
    ],
    clear: {
      order: ["transfer", "reduce", "deposit"],
      transfer: { from: "main/0.1", usd: 123_456.000001 },
      deposit: { usd: 1_240.000001, obstacle: null },
      reductions: [
        { symbol: "SOL", least: sell(23.1), along: [], obstacle: null },
        { symbol: "ETH", least: null, along: [], obstacle: null },
        {
          ...{ symbol: "BTC", least: buy(12.345678, 250_000), obstacle: null },
          along: [{ account: "hedge/0.0", ...sell(12.345678) }],
        },
        { symbol: "GOLD", least: null, along: [{ account: "hedge/0.0", ...buy(2) }], obstacle: null },
        { symbol: "XRP", least: null, along: [], obstacle: "XRP is a leg of the pair carry" },
      ],
      critical: {
        transfer: null,
        deposit: { usd: 310.5, obstacle: null },
        reductions: [{ symbol: "SOL", least: sell(4.2), along: [], obstacle: null }],
      },
      upTo: [{ symbol: "SOL", direction: "down", usd: 147 }],
    },
    ladder: [
      { move: 0.05, marks: { SOL: 142.5 }, riskTier: "liquidatable", figures: figures(1), worst: "critical" },
    ],
  };
  const answering = (accounts: readonly WhatIfAccount[]) => ({
    whatIf: () => ({ kind: "done" as const, answer: { wallet: "main", atMs: nowMs, accounts } }),
  });

  test("for people: before and after, rules, the least that clears, the way down", async () => {
    await using it = await daemon(answering([account]));
    const { status: exit, stdout } = await it.run("whatif", "--wallet", "main", "--deposit", "500");
    expect(exit).toBe(0);
    const lines = stdout.split("\n").map((line) => line.replace(/ {2,}/g, " | "));
    expect(lines).toEqual([
      "main/0.0 as of 1.2s ago",
      " | deposit $500.00",
      "",
      "ACCOUNT | NOW | THEN",
      "equity | $1,000.00 | $1,000.00",
      "effective collateral | $1,000.00 | $1,000.00",
      "initial margin | $900.00 | $900.00",
      "maintenance margin | $450.00 | $450.00",
      "free collateral | $100.00 | $100.00",
      "margin ratio | 90% | 30%",
      "leverage | 12× | 12×",
      "joint move to liquidation | 5% | 5%",
      "exchange's tier | at risk | safe",
      "",
      "POSITION | SIZE | MARK | NOTIONAL | LIQUIDATION | DISTANCE | UNREALIZED",
      "SOL long | 80 | $150.00 | $12,000.00 | $142.50 | 5% | -$20.00",
      " | then | 80 | $150.00 | $12,000.00 | none | over 10,000% | -$20.00",
      "",
      "RULE | SUBJECT | NOW | THEN",
      "MarginHigh | main/0.0 | critical | –",
      "Own | main/0.0 | info would fire after 13s | unknown",
      "Steps | main/0.0 | info | info, warning would fire after 30s",
      "",
      "To be clear of what holds then, and still with SOL at $147.00, one of:",
      // Rounded up, because the omitted part might be missing.
      " | transfer $123,457 from main/0.1 to main/0.0",
      " | sell 23.1 SOL reduce-only",
      // A size keeps all of its digits.
      " | buy 12.345678 BTC reduce-only (the book takes $250,000 within 0.5% of its middle) and sell 12.345678 BTC reduce-only in hedge/0.0",
      " | deposit $1,240.01 to main/0.0",
      " | not: closing the hedge in GOLD of main/0.0 and hedge/0.0 is not enough",
      " | not: XRP is a leg of the pair carry",
      "",
      "To end only what is critical then, one of:",
      " | sell 4.2 SOL reduce-only",
      " | deposit $310.50 to main/0.0",
      "",
      "AGAINST IT | SOL | EFFECTIVE | MAINTENANCE | MARGIN RATIO | TIER | RULES",
      "5% | $142.50 | $1,000.00 | $450.00 | 100% | liquidatable | critical",
      "",
    ]);
  });

  test("what is asked reaches the daemon: prices and positions, once or several times", async () => {
    await using it = await daemon();
    const prices = ["--price", "SOL=-10%,BTC=58,000", "--price", "ETH=3000"];
    await it.run("whatif", "--wallet", "main", "--account", "0.1", ...prices, "--close", "ETH=50%");
    await it.run("whatif", "--wallet", "main", "--withdraw", "1,000.50");
    expect(it.asked).toEqual([
      [
        "whatIf",
        {
          ...{ wallet: "main", account: "0.1", depositUsd: 0, closes: ["ETH=50%"] },
          prices: ["SOL=-10%", "BTC=58,000", "ETH=3000"],
        },
      ],
      ["whatIf", { wallet: "main", account: null, depositUsd: -1_000.5, prices: [], closes: [] }],
    ]);
  });

  test("an account with nothing in it is one line", async () => {
    const nothing = { riskTier: "safe", figures: { equity: 0 }, positions: [] };
    const empty = {
      ...account,
      changes: [],
      rules: [],
      clear: null,
      ladder: [],
      before: nothing,
      after: nothing,
    };
    await using it = await daemon(answering([empty]));
    expect((await it.run("whatif", "--wallet", "main")).stdout).toBe(
      "main/0.0 as of 1.2s ago: nothing in it\n",
    );
  });

  test("wrong use is refused", async () => {
    await using it = await daemon();
    const failed = async (...args: string[]) => {
      const { status: exit, stderr } = await it.run("whatif", ...args);
      return [exit, stderr.split("\n")[0]];
    };
    expect(await failed()).toEqual([
      2,
      expect.stringMatching(/^perpwatch: say which wallet with --wallet; configured: desk, main/),
    ]);
    expect(await failed("--wallet", "nobody")).toEqual([
      2,
      expect.stringContaining("no wallet is called nobody; configured: desk, main"),
    ]);
    expect((await failed("--wallet", "main", "--deposit", "1", "--withdraw", "1"))[0]).toBe(2);
    expect((await failed("--wallet", "main", "--deposit", "-1"))[0]).toBe(2);
    expect((await failed("--wallet", "main", "--price", "SOL=x"))[0]).toBe(2);
  });
});

describe("alerts", () => {
  test("whose end is delayed are marked, in the status as well", async () => {
    const endingWait = { sinceMs: nowMs - 5_000, untilMs: nowMs + 55_000 };
    const firing = { ...alert({ id: 57 }), endingWait };
    const known = status();
    await using it = await daemon({
      status: () => ({ ...known, watch: { ...known.watch, firing: [firing] } }),
      alerts: async () => [firing],
      alert: async () => ({ alert: firing, changes: [], owed: [], messages: [] }),
    });
    const waits = "no longer holds; its end waits for the liquidation history, until about";
    const said = `SOL is 3.1 % from liquidation (${waits} 2026-11-20 12:00:55 UTC)`;
    expect((await it.run("alerts")).stdout).toContain(said);
    expect((await it.run("alerts", "show", "57")).stdout).toContain(said);
    expect((await it.run("status")).stdout).toContain(`(${waits} 12:00:55 UTC)`);
  });

  test("status marks what no longer holds, and lists the silences that are not over", async () => {
    const known = status();
    const silence = (id: number, endsMs: number) => ({
      ...{
        id,
        match: { wallet: { in: ["main"] } },
        upTo: "critical" as const,
        author: "ann",
        comment: "known",
      },
      ...{ startsMs: nowMs - 60_000, endsMs, createdMs: nowMs - 60_000 },
    });
    await using it = await daemon({
      status: () => ({
        ...known,
        watch: { ...known.watch, firing: [{ ...alert({ id: 57 }), textAtMs: nowMs, gone: true as const }] },
      }),
      silences: () => [silence(2, nowMs + 600_000), silence(1, nowMs - 1)],
    });
    const { stdout } = await it.run("status");
    expect(stdout).toMatch(/^ *57 .*\(no longer holds\)$/m);
    expect(stdout).toMatch(/Silences\n.*\n +2 +for 10m more +critical +wallet=main +ann +known\n/);
    expect(stdout).not.toMatch(/over for/);
    const { silences } = JSON.parse((await it.run("status", "--json")).stdout) as {
      silences: { id: number }[];
    };
    expect(silences.map(({ id }) => id)).toEqual([2]);
  });

  test("without present data show the time of their text", async () => {
    const textAtMs = nowMs - 60_000;
    const firing = { ...alert({ id: 57 }), textAtMs };
    await using it = await daemon({
      alerts: async () => [firing],
      alert: async () => ({ alert: firing, changes: [], owed: [], messages: [] }),
    });
    const said = "SOL is 3.1 % from liquidation (as of 2026-11-20 11:59:00 UTC)";
    expect((await it.run("alerts")).stdout).toContain(said);
    expect((await it.run("alerts", "show", "57")).stdout).toContain(said);
  });

  test("are listed with what narrows them", async () => {
    await using it = await daemon();
    const filters = [
      "--firing",
      "--rule",
      "LiquidationNear",
      "--wallet",
      "main",
      "--severity",
      "critical",
      "--limit",
      "3",
    ];
    const { stdout } = await it.run("alerts", ...filters);
    expect(it.asked).toEqual([
      [
        "alerts",
        { state: "firing", rule: "LiquidationNear", wallet: "main", severity: "critical", limit: 3 },
      ],
    ]);
    expect(stdout.split("\n")[1]).toBe(
      "57  2026-11-20 11:58:30 UTC  critical  firing  LiquidationNear  main/0.0/SOL  SOL is 3.1 % from liquidation",
    );
    expect((await it.run("alerts", "list", "--json")).json()).toEqual({
      running: true,
      alerts: [alert({ id: 57 })],
    });
    expect(it.asked[1]).toEqual(["alerts", { limit: 50 }]);
    await it.run("alerts", "--shadow");
    expect(it.asked[2]).toEqual(["alerts", { limit: 50, shadow: true }]);
  });

  test("have the reason of their end in plain words", async () => {
    const ended = alert({ id: 57, state: "ended", ending: "ruleChanged", endedAtMs: nowMs });
    await using it = await daemon({ alerts: async () => [ended] });
    expect((await it.run("alerts")).stdout).toContain("critical  rule changed  LiquidationNear");
  });

  test("none is an answer too", async () => {
    await using it = await daemon({ alerts: async () => [] });
    expect(await it.run("alerts", "--firing")).toMatchObject({ status: 0, stdout: "No alert is firing.\n" });
  });

  test("each has a story: steps with their times, and what became of its messages", async () => {
    const ended = alert({ id: 57, state: "ended", ending: "recovered", endedAtMs: nowMs });
    const sent = message({
      id: "A",
      sealedAtMs: nowMs + 200,
      status: "delivered",
      attempts: 2,
      deliveredAtMs: nowMs + 1_000,
      receipt: "1187",
    });
    const failing = message({
      id: "B",
      sealedAtMs: nowMs + 200,
      attempts: 3,
      lastFailure: "timeout",
      lastDetail: "no greeting",
      nextAttemptMs: nowMs,
    });
    const story = {
      alert: ended,
      changes: [
        alertChange({
          ...{ id: 1, alertId: 57, atMs: nowMs - 90_000, happenedMs: nowMs - 95_000 },
          alert: alert({ id: 57, dataAtMs: nowMs - 90_100, summary: "SOL is 3 % from liquidation" }),
        }),
        alertChange({ id: 2, alertId: 57, kind: "ended", atMs: nowMs, alert: ended, details: [] }),
      ],
      owed: [
        owedItem({
          id: 1,
          changeId: 1,
          receiver: "chat",
          status: "delivered",
          messageId: "A",
          owedAtMs: nowMs,
        }),
        owedItem({ id: 2, changeId: 2, receiver: "mail", status: "sealed", messageId: "B", owedAtMs: nowMs }),
      ],
      messages: [sent, failing],
    };
    await using it = await daemon({ alert: async () => story });
    const { stdout } = await it.run("alerts", "show", "57");
    const lines = stdout.split("\n").map((line) => line.replace(/ {2,}/g, " | "));
    expect(lines[0]).toBe("#57 critical: SOL is 3.1 % from liquidation");
    expect(lines).toContain("state: | resolved");
    expect(lines).toContain("ended: | 2026-11-20 12:00:00 UTC, after 1m 30s");
    expect(lines.filter((line) => /FIRING|RESOLVED/.test(line))).toEqual([
      "2026-11-20 11:58:30 UTC (happened 2026-11-20 11:58:25 UTC) | FIRING critical | SOL is 3 % from liquidation | mark price: 101.25",
      "2026-11-20 12:00:00 UTC | RESOLVED | SOL is 3.1 % from liquidation",
    ]);
    expect(lines.filter((line) => /^(chat|mail)/.test(line))).toEqual([
      "chat | fired | 2026-11-20 12:00:00 UTC | delivered 2026-11-20 12:00:01 UTC | 2 attempts | A | 1187",
      "mail | ended | 2026-11-20 12:00:00 UTC | trying again 2026-11-20 12:00:00 UTC: timeout, no greeting | 3 attempts | B",
      "chat | fired | 2026-11-20 11:58:25 UTC | +4.9s | +100ms | +1m 30s | +200ms | +800ms | –",
      "mail | ended | – | 2026-11-20 12:00:00 UTC | +0ms | +0ms | +200ms | not yet | –",
    ]);
    expect((await it.run("alerts", "show", "#57", "--json")).json()).toMatchObject({
      running: true,
      alert: { id: 57 },
      messages: [{ id: "A" }, { id: "B" }],
    });
  });

  test("the receipt of an event goes from the exchange and back to it", async () => {
    const key = "event:312:4:0:1:2";
    const told = alert({ id: 9, state: "ended", event: true, eventKey: `notification:${key}` });
    const story = {
      alert: told,
      changes: [alertChange({ id: 1, alertId: 9, atMs: nowMs + 1_250, happenedMs: nowMs, alert: told })],
      owed: ["chat", "mail", "gone"].map((receiver, at) =>
        owedItem({
          ...{ id: at + 1, alertId: 9, receiver, owedAtMs: nowMs + 1_250 },
          ...{ status: receiver === "gone" ? "dead" : "delivered", messageId: receiver },
        }),
      ),
      messages: ["chat", "mail"].map((id, at) =>
        message({
          ...{ id, sealedAtMs: nowMs + 1_253, status: "delivered", attempts: 1 },
          ...{ deliveredAtMs: nowMs + 1_300 + 2_000 * at, receipt: `${id} took it` },
        }),
      ),
      event: event({ key, happenedMs: nowMs, seenMs: nowMs + 1_200 }),
      acknowledgements: [
        {
          ...({ key, wallet: "main", word: "whenDelivered", status: "confirmed", reason: "" } as const),
          ...{ rules: [{ rule: "Liquidated", alertIds: [9] }], dueAtMs: nowMs, confirmedAtMs: nowMs + 4_000 },
        },
      ],
    };
    await using it = await daemon({ alert: async () => story });
    const { stdout } = await it.run("alerts", "show", "9");
    const lines = stdout.split("\n").map((line) => line.replace(/ {2,}/g, " | "));
    const at = lines.indexOf("Receipts");
    expect(lines.slice(at + 1)).toEqual([
      "RECEIPT | OF | HAPPENED | SEEN | FIRED | PENDING | FINALIZED | ACCEPTED | ACKNOWLEDGED",
      "chat | fired | 2026-11-20 12:00:00 UTC | +1.2s | +50ms | +0ms | +3ms | +47ms | +2.7s",
      "mail | fired | 2026-11-20 12:00:00 UTC | +1.2s | +50ms | +0ms | +3ms | +2s | +700ms",
      "gone | fired | 2026-11-20 12:00:00 UTC | +1.2s | +50ms | +0ms | – | given up | +2.8s",
      "",
    ]);
    expect((await it.run("alerts", "show", "9", "--json")).json()).toMatchObject({
      receipts: [
        {
          ...{ receiver: "chat", receipt: "chat took it", messageId: "chat", status: "delivered" },
          atMs: { happened: nowMs, seen: nowMs + 1_200, accepted: nowMs + 1_300 },
          afterMs: { seen: 1_200, fired: 50, owed: 0, sealed: 3, accepted: 47, acknowledged: 2_700 },
          acknowledgement: { key, status: "confirmed" },
        },
        { receiver: "mail", receipt: "mail took it" },
        { receiver: "gone", receipt: null, atMs: { accepted: null, sealed: null } },
      ],
    });
  });

  test.each([
    [126, "at once"],
    [1_500, "-1.5s"],
  ])("an event that was seen %i ms before it happened, by clocks that differ: %s", async (aheadMs, seen) => {
    const told = alert({ id: 9, state: "ended", event: true });
    const story = {
      alert: told,
      changes: [alertChange({ id: 1, alertId: 9, atMs: nowMs + 50, happenedMs: nowMs, alert: told })],
      owed: [owedItem({ id: 1, alertId: 9, receiver: "chat", owedAtMs: nowMs + 50 })],
      messages: [],
      event: event({ key: "event:312:4:0:1:2", happenedMs: nowMs, seenMs: nowMs - aheadMs }),
      acknowledgements: [],
    };
    await using it = await daemon({ alert: async () => story });
    const { stdout } = await it.run("alerts", "show", "9");
    expect(stdout).toMatch(new RegExp(`12:00:00 UTC +${seen} +\\+`));
  });

  test("are acknowledged in a person's name", async () => {
    await using it = await daemon();
    const done = await it.run("alerts", "ack", "57", "--comment", "on it", "--by", "ann");
    expect(done).toMatchObject({ status: 0, stdout: "alert 57 is acknowledged by ann\n" });
    expect(it.asked).toEqual([["acknowledgeAlert", 57, "ann", "on it"]]);
    const ended = await it.run("alerts", "ack", "58");
    expect(ended).toMatchObject({
      ...{ status: 1, stdout: "" },
      stderr: "perpwatch: alert 58 has ended; there is nothing to acknowledge\n",
    });
    // Without a name it is the user's own.
    expect(it.asked[1]).toEqual(["acknowledgeAlert", 58, expect.stringMatching(/./), ""]);
    const unknown = await it.run("alerts", "ack", "9", "--json");
    expect([unknown.status, unknown.json()]).toEqual([1, { error: "there is no alert 9" }]);
  });

  test("several are acknowledged with a line for each; the worst is the exit status", async () => {
    const results: Record<number, "already" | "ended" | "unknown"> = {
      41: "already",
      58: "ended",
      9: "unknown",
    };
    const asked: unknown[] = [];
    await using it = await daemon({
      acknowledgeAlert: async (id, ...rest) => {
        asked.push([id, ...rest]);
        return results[id] ?? "done";
      },
    });
    const good = await it.run("alerts", "ack", "57", "41", "#57", "--by", "ann", "--comment", "on it");
    expect(good).toMatchObject({
      ...{ status: 0, stderr: "" },
      stdout: "alert 57 is acknowledged by ann\nalert 41 was acknowledged already\n",
    });
    expect(asked).toEqual([
      [57, "ann", "on it"],
      [41, "ann", "on it"],
    ]);
    // An id that cannot be acknowledged does not prevent the following ones.
    expect(await it.run("alerts", "ack", "58", "57", "9", "--by", "ann")).toMatchObject({
      status: 1,
      stdout: "alert 57 is acknowledged by ann\n",
      stderr: "alert 58 has ended; there is nothing to acknowledge\nthere is no alert 9\n",
    });
    const both = await it.run("alerts", "ack", "41", "58", "--by", "ann", "--json");
    expect([both.status, both.stderr, both.json()]).toEqual([
      1,
      "",
      {
        by: "ann",
        alerts: [
          { id: 41, result: "already" },
          { id: 58, error: "alert 58 has ended; there is nothing to acknowledge" },
        ],
      },
    ]);
    // A mistyped id changes nothing.
    asked.length = 0;
    expect(await it.run("alerts", "ack", "57", "5x")).toMatchObject({ status: 2, stdout: "" });
    expect(asked).toEqual([]);
  });
});

describe("notifications", () => {
  const key = "notification:event:312:4:0:1:2";
  const fields = { side: "ask", size: 12.5, price: 131.4, title: null, body: null };
  const rows = [
    { event: event({ key, happenedMs: nowMs, fields }), acknowledgement: null },
    {
      event: event({
        key: "notification:admin:7",
        symbol: null,
        fields: { title: "Upgrade at noon", body: "b" },
      }),
      acknowledgement: null,
    },
  ];

  test("are listed with what narrows them", async () => {
    const asked: unknown[] = [];
    await using it = await daemon({
      notifications: async (query) => {
        asked.push(query);
        return rows;
      },
    });
    const { stdout } = await it.run("notifications", "--wallet", "main", "--unacked", "--limit", "7");
    expect(asked).toEqual([{ wallet: "main", unacked: true, limit: 7 }]);
    const [head, first, second] = stdout.split("\n").map((line) => line.split(/ {2,}/));
    const columns = ["TYPE", "SYMBOL", "SIDE", "SIZE", "PRICE", "ACKNOWLEDGED", "ID", "TEXT"];
    expect(head).toEqual(["HAPPENED", "WALLET", ...columns]);
    const told = ["stopLossExecuted", "SOL", "ask", "12.5", "$131.40", "no", "event:312:4:0:1:2"];
    expect(first).toEqual(["2026-11-20 12:00:00 UTC", "main", ...told]);
    expect(second!.slice(3)).toEqual(["no", "admin:7", "Upgrade at noon"]);
    const answer = (await it.run("notifications", "list", "--json")).json() as { notifications: unknown[] };
    expect(answer).toMatchObject({
      running: true,
      notifications: [
        { id: "event:312:4:0:1:2", symbol: "SOL", side: "ask", size: 12.5, price: 131.4, event: { key } },
        { id: "admin:7", symbol: null, side: null, size: null, price: null },
      ],
    });
    expect(asked[1]).toEqual({ unacked: false, limit: 50 });
  });

  test("an announcement's text conceals and colours nothing", async () => {
    const unprintable = /(?!\n)[\p{Cc}\p{Cf}]/u;
    const hostile = "\u001b[8mhello\u009b31m\u202e";
    await using it = await daemon({
      notifications: async () => [
        { event: event({ key, happenedMs: nowMs, fields: { title: hostile } }), acknowledgement: null },
        ...rows,
      ],
      auditNotifications: async () => [
        { wallet: "main", atMs: nowMs, failure: hostile, there: 0, differences: [], left: [] },
      ],
    });
    for (const [args, told] of [
      [["notifications"], String.raw`\u001b[8mhello\u009b31m\u202e`],
      [
        ["notifications", "audit"],
        String.raw`main: its inbox could not be read: \u001b[8mhello\u009b31m\u202e`,
      ],
    ] as const) {
      const { stdout } = await it.run(...args);
      expect(stdout).toContain(told);
      expect(stdout).not.toMatch(unprintable);
    }
    const json = await it.run("notifications", "--json");
    expect(json.stdout).not.toMatch(unprintable);
    expect(json.json()).toMatchObject({ notifications: [{ event: { fields: { title: hostile } } }, {}, {}] });
  });

  test("are acknowledged by id, as listed or whole", async () => {
    await using it = await daemon();
    const done = await it.run("notifications", "ack", "event:1:2:3:4:5", key, "--wallet", "main");
    expect(done).toMatchObject({ status: 0, stdout: "main: 2 notifications acknowledged at the exchange\n" });
    expect(it.asked).toEqual([
      ["acknowledgeNotifications", { wallet: "main", keys: ["notification:event:1:2:3:4:5", key] }],
    ]);
  });

  test("are acknowledged up to a time; whose has to be said where several are watched", async () => {
    await using it = await daemon();
    const args = ["notifications", "ack", "--up-to", "2026-03-01T12:00:00Z"];
    expect(await it.run(...args)).toMatchObject({
      status: 2,
      stderr: "perpwatch: say whose with --wallet; notifications are read of desk, main\n",
    });
    expect((await it.run(...args, "--wallet", "main", "--json")).json()).toMatchObject({ wallet: "main" });
    expect(it.asked).toEqual([
      ["acknowledgeNotifications", { wallet: "main", upToMs: Date.UTC(2026, 2, 1, 12) }],
    ]);
  });

  test("what could not be acknowledged is named, and exits 1", async () => {
    const failed = [{ key, detail: "500 internal" }];
    await using it = await daemon({
      status: calmStatus,
      acknowledgeNotifications: async () => ({ confirmed: [], already: ["a"], unknown: ["b"], failed }),
    });
    const ran = await it.run("notifications", "ack", key);
    expect(ran).toMatchObject({ status: 1, stderr: "" });
    expect(ran.stdout.split("\n")).toEqual([
      "desk: 1 notification had been acknowledged before",
      "b: there is no such notification of desk",
      "event:312:4:0:1:2: 500 internal",
      "",
    ]);
  });
});

test("nothing acknowledged is no success to begin with", async () => {
  const none = { confirmed: [], already: [], failed: [] };
  await using it = await daemon({
    status: calmStatus,
    acknowledgeNotifications: async () => ({ ...none, unknown: ["notification:nope:1"] }),
  });
  expect(await it.run("notifications", "ack", "nope:1")).toMatchObject({
    status: 1,
    stdout: "nope:1: there is no such notification of desk\n",
  });
});

test("up to a time before which there is nothing, that is said", async () => {
  await using it = await daemon({
    status: calmStatus,
    acknowledgeNotifications: async () => ({ confirmed: [], already: [], failed: [], unknown: [] }),
  });
  expect(await it.run("notifications", "ack", "--up-to", "1h")).toMatchObject({
    status: 0,
    stdout: "desk: there was no notification to acknowledge\n",
  });
});

test("channels test prints the answer of the other side", async () => {
  await using it = await daemon();
  expect(await it.run("channels", "test", "chat")).toMatchObject({
    status: 0,
    stdout: "chat took the test message of the running daemon: 1187\n",
  });
  expect(await it.run("channels", "test", "mail")).toMatchObject({
    status: 1,
    stderr: "perpwatch: mail did not take it (timeout): no greeting within 10 s\n",
  });
  expect((await it.run("channels", "test", "fax", "--json")).json()).toEqual({
    error: "no channel is called fax; configured: chat, mail",
    known: ["chat", "mail"],
  });
  expect(it.asked.map(([what, name]) => [what, name])).toEqual([
    ...[
      ["testChannel", "chat"],
      ["testChannel", "mail"],
      ["testChannel", "fax"],
    ],
  ]);
});

test("wallet login and logout are the daemon's where it runs", async () => {
  await using it = await daemon();
  expect(await it.run("wallet", "login", "main")).toMatchObject({ status: 0, stdout: "main: until 14:00\n" });
  expect(await it.run("wallet", "logout", "main")).toMatchObject({
    status: 1,
    stderr: "perpwatch: logout of main failed: the exchange is unreachable\n",
  });
  expect(await it.run("wallet", "login", "watched")).toMatchObject({ status: 1 });
  expect(it.asked).toEqual([
    ["login", "main"],
    ["logout", "main"],
    ["login", "watched"],
  ]);
});

describe("a daemon that does not behave", () => {
  const cases: [what: string, answer: (server: Server) => void, said: RegExp][] = [
    [
      "hangs up",
      (server) => server.on("request", (request) => request.socket.destroy()),
      /the daemon at .*sock hung up before it answered/,
    ],
    [
      "answers no JSON",
      (server) => server.on("request", (_request, reply) => reply.end("<html>")),
      /the daemon at .*sock cannot be asked: .*is no JSON/,
    ],
    [
      "fails without a word",
      (server) =>
        server.on("request", (_request, reply) => {
          reply.statusCode = 500;
          reply.end("{}");
        }),
      /the daemon answered 500/,
    ],
  ];
  test.each(cases)("%s", async (_what, answer, said) => {
    using place = desk();
    place.write("config.yaml", "history: { path: ./p }\n");
    const server = createServer();
    answer(server);
    await new Promise<void>((resolve) => server.listen(path.join(place.folder, "p.sock"), resolve));
    try {
      const ran = await run(["status"], place);
      expect(ran).toMatchObject({ status: 1, stdout: "" });
      expect(ran.stderr).toMatch(said);
      expect(ran.stderr).not.toMatch(/^\s+at /m);
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
