/** `rules explain`: a real watch, behind the real local API on a real socket. */

import { describe, expect, test } from "vitest";
import { explanationText } from "../../src/cli/commands/rules/explain.ts";
import { builtInRules } from "../../src/domain/alerts/built-in.ts";
import type { ExplainedPart, Explanation } from "../../src/domain/alerts/explanation.ts";
import { explainParts } from "../../src/rules/index.ts";
import {
  Harness,
  marketConfig,
  position,
  rulesOf,
  scheduleMs,
  startMs,
  subaccount,
} from "../engine/harness.ts";
import { env } from "../rules/kit.ts";
import { openDashboard } from "../web/open.ts";
import { desk, run } from "./run.ts";

const rules = `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < 0.50, resolveWhen: value > 0.60 && trader.marginRatio < 0.9 }
      critical: { when: 'value < 0.05 || maxOver("trader.equity", "1h") < 10.0' }
    keepFiringFor: 1m
    summary: s
  - name: Soon
    scope: wallet
    when: wallet.equity > 1.0 && wallet.labels.desk == "alpha"
    for: 10m
    severity: info
    summary: s
  - name: Losing
    scope: wallet
    when: wallet.pnl < -300.0
    severity: info
    summary: s
  - name: Quiet
    scope: trader
    mode: shadow
    when: trader.positions.exists(p, p.size > 100.0)
    severity: info
    summary: s
  - name: Told
    on: fill
    severity: info
    summary: s
`;

/** Long 100 SOL at 150 with 5 000: liquidated at P (1 − 1/30) = 100, 31 % below. */
function watched(): Harness {
  const h = new Harness({
    rules,
    routing: {
      receivers: ["chat"],
      routes: [{ match: { severity: "critical" }, receivers: ["chat", "mail"] }],
    },
  });
  h.config(marketConfig());
  h.mark(150);
  h.account([subaccount(5_000, [position(100, 150)])]);
  return h;
}

async function daemon(h: Harness) {
  const dashboard = await openDashboard({
    explain: (rule, subject) => h.watch.explain(rule, subject, h.nowMs),
  });
  const place = desk();
  const database = dashboard.socketPath.replace(/\.sock$/, "");
  place.write("config.yaml", `history: { path: ${database} }\n`);
  return {
    explain: (...args: string[]) => run(["rules", "explain", ...args], place),
    async [Symbol.asyncDispose]() {
      place[Symbol.dispose]();
      await dashboard[Symbol.asyncDispose]();
    },
  };
}

describe("rules explain", () => {
  test("a rule that fires: each part with its value and its age, what it rests on, whom it goes to", async () => {
    const h = watched();
    h.pass(3_000);
    await using it = await daemon(h);
    const { status, stdout, stderr } = await it.explain("Near", "--subject", "main/SOL");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(
      /^Near of main\/0\.0\/SOL fires \(warning, alert 1\), since 2026-01-05 12:00:00/,
    );
    const under = (title: string) => {
      const from = lines.indexOf(title) + 1;
      return lines.slice(from, lines.indexOf("", from));
    };
    expect(under("value")).toEqual(["  position.liquidationDistance = 31%  (3s old)"]);
    expect(under("warning: when")).toEqual(["  value < 0.50 = true", "    value = 31%"]);
    expect(under("warning: resolveWhen")).toEqual([
      "  value > 0.60 && trader.marginRatio < 0.9 = false  (3s old)",
      "    value > 0.60 = false",
      "      value = 31%",
      "    trader.marginRatio < 0.9 = true  (3s old)",
      "      trader.marginRatio = 10%  (3s old)",
    ]);
    expect(under("critical: when").slice(0, 2)).toEqual([
      '  value < 0.05 || maxOver("trader.equity", "1h") < 10.0 = false  (3s old)',
      "    value < 0.05 = false",
    ]);
    expect(lines).toContain("  position: traderState, 3s old, too old after 15s");
    expect(lines).toContain("Goes to chat");
  });

  test("the age is that of what is nearest to being too old, named where something else may be older", () => {
    const part = {
      ...{ label: "value", depth: 0, text: "position.size", value: "1", unknown: null, ageMs: 80_000 },
      nearestToStale: { source: "markets", ageMs: 471 },
    } as const;
    const of = { ...watched().watch.explain("Near", "main/SOL", startMs) } as { explanation: Explanation };
    const told = (one: ExplainedPart) =>
      explanationText(
        { ...of.explanation, parts: [one] },
        "UTC",
        Object.assign((_: unknown, text: string) => text, { width: 100 }),
      );
    expect(told(part)).toContain("  position.size = 1  (prices 471ms old)\n");
    expect(told({ ...part, ageMs: 471 })).toContain("  position.size = 1  (471ms old)\n");
    const everyMs = { ...scheduleMs, marketConfig: 600_000 };
    const [rule] = rulesOf(rules, undefined, everyMs).conditions;
    const seenMs = { traderState: 19_000, markets: 17_000, marketConfig: 0, traderView: 19_000 };
    const position = { values: { liquidationDistance: 0.3 }, seenMs };
    expect(explainParts(rule!, env({ nowMs: 20_000, position, window: () => 1 }))[0]).toMatchObject({
      ageMs: 20_000,
      nearestToStale: { source: "markets", ageMs: 3_000 },
    });
  });

  test("what depends on a change of collateral that is not explained has two values", async () => {
    const h = watched();
    h.events("collateral", []);
    h.pass(1_000);
    h.account([subaccount(4_500, [position(100, 150)])]);
    await using it = await daemon(h);
    const { stdout } = await it.explain("Losing", "--subject", "main");
    const lines = stdout.split("\n");
    expect(lines).toContain("A change of collateral is unexplained: a withdrawal, or a loss of $500.00");
    expect(lines).toContain("    wallet.pnl = $0.00 or -$500.00  (1s old)");
    expect(stdout).not.toContain("unknown");
  });

  test("stale inputs are marked, and explaining changes no decision", async () => {
    const h = watched();
    h.pass(16_000);
    const before = h.told.length;
    await using it = await daemon(h);
    const { stdout } = await it.explain("Near", "--subject", "main/0.0/SOL");
    expect(stdout).toContain(
      "It cannot be judged: position.liquidationDistance is too old: nothing new from traderState",
    );
    expect(stdout).toContain("  position.liquidationDistance = unknown, stale  (16s old)");
    h.see({ kind: "time", atMs: h.nowMs });
    expect(h.told.length).toBe(before);
    expect(h.watch.status(h.nowMs).firing.map(({ rule }) => rule)).toEqual(["Near"]);
  });

  test("pending, in shadow mode, and with a loop", async () => {
    await using it = await daemon(watched());
    expect((await it.explain("Soon", "--subject", "main")).stdout).toMatch(
      /^Soon of main is pending since .*: it fires when it has held for 10m by fresh data, .* so far\.$[\s\S]*^ {4}wallet\.labels\.desk == "alpha" = true$/m,
    );
    const quiet = (await it.explain("Quiet", "--subject", "main/0.0")).stdout;
    expect(quiet).toMatch(/^Quiet of main\/0\.0 does not hold\./);
    expect(quiet).toContain("  trader.positions.exists(p, p.size > 100.0) = false");
    expect(quiet).not.toContain("p.size =");
    expect(quiet).toContain("Would go to nobody: it runs in shadow mode");
  });

  test("as JSON", async () => {
    await using it = await daemon(watched());
    const { stdout } = await it.explain("Near", "--subject", "main/SOL", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      rule: "Near",
      subject: "main/0.0/SOL",
      state: "firing",
      severity: "warning",
      unknown: null,
      receivers: ["chat"],
    });
  });

  test("without a subject: the only one, else which there are", async () => {
    const h = watched();
    await using it = await daemon(h);
    expect((await it.explain("Near")).stdout).toMatch(/^Near of main\/0\.0\/SOL fires /);
    h.config(marketConfig(), marketConfig("ETH", { assetId: 2 }));
    h.account([subaccount(5_000, [position(100, 150), position(1, 150, "ETH")])]);
    const { status, stderr } = await it.explain("Near");
    expect(status).not.toBe(0);
    expect(stderr).toContain("say which with --subject: Near judges main/0.0/ETH, main/0.0/SOL");
  });

  test("an alert that is built in: its meaning, and whether it fires", async () => {
    const h = watched();
    await using it = await daemon(h);
    expect(await it.explain("ChannelBroken")).toMatchObject({
      status: 0,
      stdout:
        "ChannelBroken is built in: a channel does not take messages; what is owed there waits.\nIt does not fire now.\n",
    });
    h.see({ kind: "channel", atMs: h.nowMs, channel: "mail", working: false, detail: "401" });
    const { stdout } = await it.explain("ChannelBroken");
    expect(stdout).toMatch(
      /\nIt fires now:\n {2}alert \d+, critical, of daemon: The channel mail does not take messages\n$/,
    );
    expect((await it.explain("ChannelBroken", "--json")).json()).toMatchObject({
      builtIn: true,
      alerts: [{ subject: "daemon", severity: "critical" }],
    });
    for (const name of builtInRules) expect((await it.explain(name)).status).toBe(0);
  });

  test.each([
    [["Neer", "--subject", "main"], /no rule is called Neer; did you mean Near\?/],
    [["Near", "--subject", "main/ETH"], /Near judges no main\/ETH now; it judges main\/0\.0\/SOL/],
    [["Told", "--subject", "main"], /Told is a rule on events: those are judged once, when they happen/],
  ])("%j is refused with what there is", async (args, wanted) => {
    await using it = await daemon(watched());
    const { status, stderr } = await it.explain(...args);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(wanted);
  });
});
