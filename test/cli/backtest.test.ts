/** `perpwatch rules backtest` and `rules shadow` over a database that a daemon left. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { Observation } from "../../src/domain/observation.ts";
import { type Changes, changes } from "../../src/domain/stored/changes.ts";
import { openStore } from "../../src/history/index.ts";
import { event, Harness, marketConfig, position, prices, subaccount } from "../engine/harness.ts";
import { alert } from "../history/examples.ts";
import { desk, plainConfig, run } from "./run.ts";

const nearBelow = (warning: number, mode = "live") => `
rules:
  - name: Near
    scope: position
    value: position.liquidationDistance
    levels:
      warning: { when: value < ${warning} }
      critical: { when: value < 0.1 }
    for: 0s
    keepFiringFor: 5s
    mode: ${mode}
    summary: "{{ position.symbol }} {{ percent(value) }}"
  - name: Unprotected
    scope: position
    when: "!position.hasStopLoss && position.notional > 1000000.0"
    severity: info
    summary: "{{ position.symbol }}"
`;

/**
 * An hour of samples long ago, then ten minutes of a complete recording. Each time the price falls towards the
 * liquidation price and returns; the second time the position is liquidated at the bottom.
 */
async function record(file: string, endMs: number): Promise<void> {
  const store = openStore({ path: file });
  const falls = (share: number) => 150 - 40 * Math.max(0, 1 - Math.abs(share - 0.5) * 4);
  const observe = (harness: Harness, atMs: number, share: number): Observation[] => {
    harness.nowMs = atMs;
    return [
      { kind: "marketConfig", atMs, markets: [marketConfig()] },
      { kind: "prices", atMs, markets: [prices(falls(share))] },
      {
        kind: "accounts",
        wallet: "main",
        pdaIndex: 0,
        atMs,
        slot: Math.floor(atMs / 400),
        slotIndex: 0,
        subaccounts: [subaccount(2_500, [position(60, 150)])],
      },
    ];
  };
  let aliveMs: number | null = null;
  const commit = async (fromMs: number, lastsMs: number, recorded: boolean) => {
    const harness = new Harness({ rules: nearBelow(0.2), atMs: fromMs });
    const seen: Observation[] = recorded ? [{ kind: "watching", atMs: fromMs, reloaded: false }] : [];
    const led: Changes[] = [];
    const begins: Observation = { kind: "started", atMs: fromMs, version: "1", lastAliveMs: aliveMs };
    seen.push(begins);
    const { milestones } = harness.see(begins);
    led.push(changes({ milestones }));
    aliveMs = fromMs + lastsMs;
    for (let atMs = fromMs; atMs < fromMs + lastsMs; atMs += 5_000) {
      for (const one of observe(harness, atMs, (atMs - fromMs) / lastsMs)) {
        seen.push(one);
        const { ticks, facts } = harness.see(one);
        led.push(changes({ ticks, facts }));
      }
    }
    if (recorded) led.push(changes({ observations: seen }));
    await store.commit(led);
  };
  await commit(endMs - 4 * 3_600_000, 3_600_000, false);
  await commit(endMs - 600_000, 600_000, true);
  const happenedMs = endMs - 300_000;
  const fields = { role: "liquidatee", kind: "market" };
  await store.commit([
    changes({ events: [event({ kind: "liquidation", key: "l1", happenedMs, seenMs: happenedMs, fields })] }),
  ]);
  await store.close();
}

/** The texts of a picture with the width that they take, at 0.6 em a character. */
function textsOf(svg: string): readonly { words: string; from: number; to: number }[] {
  return [...svg.matchAll(/<text x="([\d.]+)" y="[\d.]+" ([^>]*)>([^<]*)<\/text>/g)].map(
    ([, x, style, words]) => {
      const size = Number(/font-size="(\d+)"/.exec(style!)?.[1] ?? 12);
      const wide = words!.length * size * 0.6;
      const anchor = /text-anchor="(\w+)"/.exec(style!)?.[1];
      const from = Number(x) - (anchor === "end" ? wide : anchor === "middle" ? wide / 2 : 0);
      return { words: words!, from, to: from + wide };
    },
  );
}

const config = (rules: string) => `${plainConfig}rules: [${rules}]\n`;

test("a backtest reports times, durations, receivers, and lead times of liquidations", {
  timeout: 120_000,
}, async () => {
  using at = desk();
  const endMs = Date.now() - 60_000;
  await record(path.join(at.folder, "perpwatch"), endMs);
  at.write("config.yaml", config("./near.yaml"));
  at.write("near.yaml", nearBelow(0.2));
  at.write("early.yaml", nearBelow(0.22));

  const ran = await run(["rules", "backtest", "--since", "6h", "--svg", "out.svg"], at);
  expect(ran.stderr).toBe("");
  expect(ran.status).toBe(0);
  expect(ran.stdout).toMatch(/^2 alerts, \d+ messages in /);
  expect(ran.stdout).toMatch(/nobody watched .* \(2h 50m\)/);
  expect(ran.stdout).toContain("\nWhat went on while nobody watched counts on.\n");
  expect(ran.stdout).toContain("stored samples");
  expect(ran.stdout).toContain("what was observed: exactly as a live run");
  expect(ran.stdout).toContain("Unprotected reads position.hasStopLoss, which samples do not keep");
  expect(ran.stdout).toMatch(/main\/0\.0\/SOL +market +\d+m.* before \(Near\) +\d+.* before \(Near\)/);
  const svg = readFileSync(path.join(at.folder, "out.svg"), "utf8");
  expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
  expect(svg).toContain("main/0.0/SOL liquidated (market)");
  expect(svg.match(/<path d="M/g)?.length).toBeGreaterThanOrEqual(2);
  const texts = textsOf(svg);
  // The axis of a lane: its thresholds, and the ends of its scale where they stand apart.
  const axis = texts.filter(({ words }) => /^[\d.]+%$/.test(words)).map(({ words }) => words);
  expect(axis).toEqual(["20%", "10%", "0%"]);
  const wide = Number(/ width="(\d+)"/.exec(svg)![1]);
  for (const { words, from, to } of texts) {
    expect(from, words).toBeGreaterThanOrEqual(0);
    expect(to, words).toBeLessThanOrEqual(wide);
  }

  const beside = await run(
    ["rules", "backtest", "near.yaml", "--since", "6h", "--compare", "early.yaml", "--json"],
    at,
  );
  const report = beside.json() as {
    periods: { resolution: string }[];
    alerts: { rule: string; severity: string; ending: string; resolution: string }[];
    liquidations: { warning: { leadMs: number } | null; critical: { leadMs: number } | null }[];
    compared: { comparison: { onlyA: []; onlyB: []; different: { laterMs: number }[]; same: number } };
  };
  expect(report.periods.map(({ resolution }) => resolution)).toEqual(["samples", "raw"]);
  expect(
    report.alerts
      .filter(({ rule }) => rule === "Near")
      .map(({ rule, severity, ending, resolution }) => [rule, severity, ending, resolution]),
  ).toEqual([
    ["Near", "critical", "recovered", "samples"],
    ["Near", "critical", "recovered", "raw"],
  ]);
  const [liquidation] = report.liquidations;
  expect(liquidation!.warning!.leadMs).toBeGreaterThan(liquidation!.critical!.leadMs);
  // Downtime is reported for any rules.
  expect(report.compared.comparison).toMatchObject({ onlyA: [], onlyB: [], same: 1 });
  const laters = report.compared.comparison.different.map(({ laterMs }) => laterMs);
  expect(laters).toHaveLength(2);
  for (const laterMs of laters) expect(laterMs).toBeLessThan(0);
});

test("invalid requests are reported", { timeout: 120_000 }, async () => {
  using at = desk();
  at.write("config.yaml", config("./near.yaml"));
  at.write("near.yaml", nearBelow(0.2));
  const none = await run(["rules", "backtest"], at);
  expect(none.status).toBe(1);
  expect(none.stderr).toContain("the past cannot be read");
  await openStore({ path: path.join(at.folder, "perpwatch") }).close();
  const empty = await run(["rules", "backtest", "--since", "1d"], at);
  expect(empty).toMatchObject({ status: 1 });
  expect(empty.stderr).toContain("history holds nothing from");
  // A time without its zone would mean something else on each machine.
  for (const since of ["soon", "2026-01-05T12:00:00"])
    expect((await run(["rules", "backtest", "--since", since], at)).stderr).toContain(
      `--since is a duration such as 30d, or a time such as 2026-01-05T12:00:00Z; found ${since}`,
    );
  at.write("bad.yaml", nearBelow(0.2).replace("liquidationDistance", "liquidationDistanze"));
  const bad = await run(["rules", "backtest", "bad.yaml"], at);
  expect(bad.status).toBe(2);
  expect(bad.stderr).toContain("bad.yaml:5:21: unknown field position.liquidationDistanze");
  const shadow = await run(["rules", "shadow"], at);
  expect(shadow).toMatchObject({ status: 0 });
  expect(shadow.stdout).toContain("No rule is in shadow mode");
});

test("messages of rules in shadow mode are reported separately", { timeout: 120_000 }, async () => {
  using at = desk();
  const endMs = Date.now() - 60_000;
  const harness = new Harness({ rules: nearBelow(0.2, "shadow"), atMs: endMs - 600_000 });
  harness.config();
  harness.mark(150);
  harness.account([subaccount(2_500, [position(60, 150)])]);
  harness.live(20_000, [subaccount(2_500, [position(60, 150)])], 118);
  harness.live(20_000, [subaccount(2_500, [position(60, 150)])], 150);
  expect(harness.changes.length).toBeGreaterThan(1);
  const store = openStore({ path: path.join(at.folder, "perpwatch") });
  await store.commit(harness.all);
  await store.close();
  at.write("config.yaml", config("./near.yaml"));
  at.write("near.yaml", nearBelow(0.2, "shadow"));
  const ran = await run(["rules", "shadow", "--since", "1d"], at);
  expect(ran.status).toBe(0);
  expect(ran.stdout).toMatch(/Near +1 +\d+ +here/);
  expect(ran.stdout).toMatch(/Near +main\/0\.0\/SOL +(warning|critical) +recovered/);
  // Settings of channels may be missing.
  at.write(
    "config.yaml",
    config("./near.yaml").replace("type: console", 'type: discord, webhookUrl: "$' + '{NOT_SET_HERE}"'),
  );
  const bare = await run(["rules", "shadow", "--since", "1d"], at);
  expect(bare).toMatchObject({ status: 0, stderr: "" });
  // The first line states the beginning.
  expect(bare.stdout.split("\n").slice(1)).toEqual(ran.stdout.split("\n").slice(1));
  const json = (await run(["rules", "shadow", "--json"], at)).json() as {
    rules: { rule: string; alerts: number }[];
  };
  expect(json.rules).toContainEqual(expect.objectContaining({ rule: "Near", alerts: 1, isShadow: true }));
});

test("a rule is explained as it stood at a time of the past", { timeout: 120_000 }, async () => {
  using at = desk();
  const endMs = Date.now() - 60_000;
  await record(path.join(at.folder, "perpwatch"), endMs);
  // Its id is that of the alert that fired, not the count of the new evaluation.
  const store = openStore({ path: path.join(at.folder, "perpwatch") });
  const near = { rule: "Near", subject: "main/0.0/SOL", state: "ended" as const };
  const fires = { firedAtMs: endMs - 320_000, endedAtMs: endMs - 200_000 };
  const alerts = [
    alert({ ...near, id: 56, firedAtMs: endMs - 500_000, endedAtMs: endMs - 400_000 }),
    alert({ ...near, ...fires, id: 57 }),
    alert({ ...near, ...fires, id: 58, subject: "other/0.0/SOL" }),
    alert({ ...near, ...fires, id: 59, rule: "Another" }),
  ];
  await store.commit([changes({ alerts })]);
  await store.close();
  at.write("config.yaml", config("./near.yaml"));
  at.write("near.yaml", nearBelow(0.2));
  const explain = (...args: string[]) =>
    run(["rules", "explain", "Near", "--subject", "main/SOL", ...args], at);
  // The recorded ten minutes fall to the bottom in their middle, and are calm at their end.
  const worst = await explain("--at", new Date(endMs - 300_000).toISOString());
  expect(worst.stderr).toBe("");
  expect(worst.stdout).toMatch(/^As of .*, judged from what was observed: exactly as a live run, from /);
  expect(worst.stdout).toMatch(/Near of main\/0\.0\/SOL fires \(critical, alert 57\), since /);
  expect(worst.stdout).toMatch(/value < 0\.1 = true/);
  const calm = (await explain("--at", new Date(endMs - 1_000).toISOString(), "--json")).json();
  expect(calm).toMatchObject({ rule: "Near", state: "inactive", severity: null });
  // Of the hour long ago there are samples only.
  const before = await explain("--at", new Date(endMs - 3.5 * 3_600_000).toISOString());
  expect(before.stdout).toContain("judged from stored samples");
  expect(before.stdout).toContain("fires (critical), since");
  const never = await explain("--at", "2020-01-01T00:00:00Z");
  expect(never).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("history holds nothing of 2020-01-01"),
  });
  const future = await explain("--at", "2999-01-01T00:00:00Z");
  expect(future).toMatchObject({ status: 2, stderr: expect.stringContaining("--at is in the future") });
  const nobody = await run(["rules", "explain", "Near", "--subject", "main/DOGE", "--at", "2m"], at);
  expect(nobody.stderr).toContain("Near judged no main/DOGE then; it judged main/0.0/SOL");
  const misspelt = await run(["rules", "explain", "Naer", "--subject", "main/SOL", "--at", "2m"], at);
  expect(misspelt.stderr).toContain("no rule is called Naer (did you mean Near?)");
});
