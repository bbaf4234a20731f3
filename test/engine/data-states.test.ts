/** The data states of rules: ok, no data, or error; what each of these means for alerts, and what is told of it. */
import { describe, expect, test } from "vitest";
import { event, Harness, mainWallet, position, subaccount } from "./harness.ts";

const near = (more = ""): string => `
rules:
  - name: Near
    scope: position
    when: position.liquidationDistance < 0.05
    severity: critical
    for: 1m
    keepFiringFor: 1m
    summary: "near"
${more}`;

/** 100 SOL long at 150: with 1000 USD critical, with 5000 USD far away. */
const endangered = [subaccount(1_000, [position(100, 150)])];
const safe = [subaccount(5_000, [position(100, 150)])];
const empty = [subaccount(1_000, [])];

/** The largest of no positions has no result; with one it has. */
const failing = (mode = "live", severity = "warning"): string => `
rules:
  - name: Largest
    scope: trader
    when: max(trader.positions.map(p, p.notional)) > 1000000.0
    severity: ${severity}
    mode: ${mode}
    summary: "large"
`;

describe("the data state of a rule and a subject", () => {
  test("is counted by rule, and listed with the source that is missing and since when", () => {
    const harness = Harness.seeing({ rules: near() }, 150, safe);
    harness.pass(1_000);
    const ok = { rule: "Near", mode: "live", ok: 1, noData: 0, error: 0 };
    expect(harness.watch.status(harness.nowMs)).toMatchObject({ ruleStates: [ok], unjudged: [] });
    harness.live(10_000, safe, 150);
    const staleMs = harness.nowMs + 15_001;
    for (let passed = 0; passed < 30_000; passed += 5_000) {
      harness.pass(5_000);
      harness.mark(150);
      harness.config();
    }
    const unjudged = [
      { rule: "Near", subject: "main/0.0/SOL", state: "noData", source: "traderState", sinceMs: staleMs },
    ];
    expect(harness.watch.status(harness.nowMs)).toMatchObject({
      ruleStates: [{ ...ok, ok: 0, noData: 1 }],
      unjudged,
    });
    harness.live(5_000, safe, 150);
    expect(harness.watch.status(harness.nowMs)).toMatchObject({ ruleStates: [ok], unjudged: [] });
  });

  test("is an error where the expression has no result, and names it", () => {
    const harness = Harness.seeing({ rules: failing("shadow") }, 150, empty);
    harness.pass(1_000);
    expect(harness.watch.status(harness.nowMs)).toMatchObject({
      ruleStates: [{ rule: "Largest", mode: "shadow", ok: 0, noData: 0, error: 1 }],
      unjudged: [{ rule: "Largest", subject: "main/0.0", state: "error", source: null }],
    });
  });
});

describe("missing data", () => {
  /** Nothing but failed reads. */
  const silence = (harness: Harness, ms: number): void => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      for (const [source, wallet] of [
        ["traderState", "main"],
        ["markets", null],
      ] as const)
        harness.see({
          kind: "failed",
          atMs: harness.nowMs,
          ...{ source, wallet, symbol: null, reason: "unreachable", detail: "no route" },
        });
      harness.pass(5_000);
    }
  };
  const begin = (): Harness => {
    const harness = Harness.seeing({ rules: near() }, 150, endangered);
    return harness;
  };
  const own = (harness: Harness) =>
    harness.told.filter((line) => line.startsWith("Near") && !line.includes("reminder"));

  test("neither restarts a pending alert nor counts for it", () => {
    const harness = begin();
    harness.live(40_000, endangered, 150);
    silence(harness, 10 * 60_000);
    expect(own(harness)).toEqual([]);
    const [pending, ...others] = harness.watch.status(harness.nowMs).pending;
    expect(others).toEqual([]);
    expect(harness.nowMs - pending!.sinceMs).toBeGreaterThan(10 * 60_000);
    // It is pending for no longer than its `for`: only what was known counts.
    expect(pending).toMatchObject({ forMs: 60_000, heldMs: expect.closeTo(55_000, -4) });
    // Forty seconds were known before and fifteen more until the data were too old, so little is left of the minute.
    const againMs = harness.nowMs;
    harness.live(30_000, endangered, 150);
    expect(own(harness)).toEqual(["Near main/0.0/SOL fired critical"]);
    const fired = harness.changes.find(({ alert }) => alert.rule === "Near")!;
    expect(fired.atMs - againMs).toBeGreaterThan(5_000);
    expect(fired.alert.sinceMs).toBeLessThan(againMs - 10 * 60_000);
  });

  test("never resolves an alert, nor does its absence count for keepFiringFor", () => {
    const harness = begin();
    harness.live(70_000, endangered, 150);
    expect(own(harness)).toEqual(["Near main/0.0/SOL fired critical"]);
    harness.live(40_000, safe, 150);
    silence(harness, 10 * 60_000);
    expect(own(harness)).toHaveLength(1);
    harness.live(10_000, safe, 150);
    expect(own(harness)).toHaveLength(1);
    harness.live(40_000, safe, 150);
    expect(own(harness).at(-1)).toBe("Near main/0.0/SOL ended critical recovered");
  });

  test("is told with how long, of which wallet, what is missing, and which rules cannot judge", () => {
    const harness = begin();
    silence(harness, 60_000);
    const blind = harness.changes.filter(({ alert }) => alert.rule === "Blind");
    expect(blind.map(({ alert }) => alert.summary)).toEqual([
      "main SOL long was 3.45% from liquidation 45s ago. No data on wallet main for 45s: no read of the exchange succeeds since 12:00:00 UTC (no route)",
    ]);
    expect(blind[0]!.details).toEqual([
      ["Nearest position", "main SOL long was 3.45% from liquidation 45s ago"],
      [
        "Not read",
        "positions and balances of main (schedule traderState): no route, last read 2026-01-05 12:00:00 UTC",
      ],
      ["Not read", "prices (schedule markets): no route, last read 2026-01-05 12:00:00 UTC"],
      ["Not read", "market rules (schedule marketConfig): last read 2026-01-05 12:00:00 UTC"],
      ["Rules that cannot judge", "Near"],
      ["Last failure", "unreachable: no route"],
    ]);
    // The age that messages print.
    expect(blind.map(({ atMs, alert }) => atMs - alert.dataAtMs).every((ageMs) => ageMs >= 45_000)).toBe(
      true,
    );
  });

  test("never seen at all is not told as fresh", () => {
    const harness = new Harness({ rules: near() });
    silence(harness, 60_000);
    const blind = harness.changes.find(({ alert }) => alert.rule === "Blind" && alert.wallet === "main")!;
    expect(blind.atMs - blind.alert.dataAtMs).toBeGreaterThanOrEqual(45_000);
    expect(blind.alert.summary).toMatch(/ever since the start \(no route\)$/);
  });

  test("is told as less once it is sure that less is at stake, and as more at once", () => {
    const rules = near(`
  - name: Poor
    scope: trader
    when: trader.equity < 1.0
    severity: warning
    noData: alert
    staleAfter: 20s
    summary: "poor"
`);
    const harness = Harness.seeing({ rules }, 150, endangered);
    silence(harness, 60_000);
    const told = () =>
      harness.changes
        .filter(({ alert }) => alert.rule === "Blind")
        .map(({ kind, alert }) => `${kind} ${alert.severity}`);
    const without = (accounts: typeof endangered, ms: number): void => {
      for (let passed = 0; passed < ms; passed += 5_000) {
        harness.account(accounts);
        harness.pass(5_000);
      }
    };
    without(endangered, 60_000);
    // Positions are read again, prices are not: as much is at stake.
    expect(told()).toEqual(["fired critical"]);
    // The position is closed: nothing is at stake.
    without(empty, 20_000);
    expect(told().slice(1)).toEqual([]);
    without(empty, 40_000);
    expect(told().slice(1)).toEqual(["fell warning"]);
    without(endangered, 5_000);
    expect(told().slice(2)).toEqual(["rose critical"]);
    harness.live(5_000, endangered, 150);
    expect(told().slice(3)).toEqual(["ended critical"]);
  });
});

describe("a rule whose expression fails", () => {
  const seen = (rules: string, of: object = {}): Harness => {
    const harness = Harness.seeing({ rules, ...of }, 150, empty);
    return harness;
  };

  test("is told once it is sure, with its expression, the reason and the subjects, and again when it can be judged", () => {
    const harness = seen(failing());
    harness.live(20_000, empty, 150);
    expect(harness.told).toEqual([]);
    harness.live(20_000, empty, 150);
    expect(harness.told).toEqual(["RuleFailing daemon fired warning"]);
    const { alert, details } = harness.changes[0]!;
    expect(alert.summary).toMatch(/^The rule Largest fails on main\/0\.0: /);
    expect(alert.labels).toEqual({ failing: "Largest" });
    expect(Object.fromEntries(details)).toMatchObject({
      Expression: "max(trader.positions.map(p, p.notional)) > 1000000.0",
      Subjects: "main/0.0",
    });
    harness.live(5_000, safe, 150);
    expect(harness.told.at(-1)).toBe("RuleFailing daemon ended warning recovered");
    expect(harness.changes.at(-1)!.alert.summary).toBe("The rule Largest can be judged again");
  });

  test("is as bad as the rule, one alert for all of its subjects", () => {
    const two = ["main", "hedge"].map((name, index) => ({
      ...mainWallet,
      name,
      authority: `${mainWallet.authority.slice(0, -1)}${index + 1}`,
    }));
    const harness = new Harness({ rules: failing("live", "critical"), wallets: two });
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      harness.config();
      harness.mark(150);
      for (const { name } of two) harness.account(empty, name);
      harness.pass(5_000);
    }
    const own = harness.changes.filter(({ alert }) => alert.rule === "RuleFailing");
    expect(own.map(({ kind, alert }) => `${kind} ${alert.severity}`)).toEqual(["fired critical"]);
    expect(own[0]!.alert.summary).toMatch(/^The rule Largest fails on 2 subjects: /);
    expect(own[0]!.details.at(-1)).toEqual(["Subjects", "hedge/0.0, main/0.0"]);
  });

  test("stands through missing data, which is no word of the expression", () => {
    const harness = seen(failing());
    harness.live(40_000, empty, 150);
    harness.pass(5 * 60_000);
    expect(harness.told.filter((line) => line.startsWith("RuleFailing"))).toEqual([
      "RuleFailing daemon fired warning",
    ]);
  });

  test.each([
    ["goes on after a restart while it fails", failing(), empty, []],
    ["ends after a restart in which it can be judged", failing(), safe, ["recovered"]],
    ["ends after a restart without the rule", near(), safe, ["ruleChanged"]],
    ["ends after a restart in which the rule is in shadow mode", failing("shadow"), empty, ["ruleChanged"]],
  ])("%s", (_, rules, accounts, endings) => {
    const before = seen(failing());
    before.live(40_000, empty, 150);
    const after = before.restarted({ rules });
    after.live(5 * 60_000, accounts, 150);
    expect(after.told.filter((line) => line.startsWith("RuleFailing"))).toEqual(
      endings.map((ending) => `RuleFailing daemon ended warning ${ending}`),
    );
  });

  test("is not over after a restart before its wallet was seen", () => {
    const before = seen(failing());
    before.live(40_000, empty, 150);
    const after = before.restarted({ rules: failing() });
    after.pass(10 * 60_000);
    expect(after.told.filter((line) => line.startsWith("RuleFailing"))).toEqual([]);
    after.live(3 * 60_000, safe, 150);
    expect(after.told.at(-1)).toBe("RuleFailing daemon ended warning recovered");
  });

  test("is not over after a restart before the markets that it is about are known", () => {
    const rules = `
rules:
  - name: Least
    scope: market
    when: max([1.0].filter(one, one > market.markPrice)) > 1.0
    severity: warning
    noData: keep
    summary: "least"
`;
    const own = (of: Harness) => of.told.filter((line) => line.startsWith("RuleFailing"));
    const before = seen(rules);
    before.live(40_000, safe, 150);
    expect(own(before)).toEqual(["RuleFailing daemon fired warning"]);
    const after = before.restarted({ rules });
    after.pass(10 * 60_000);
    after.live(5 * 60_000, safe, 150);
    expect(own(after)).toEqual([]);
  });

  test("in shadow mode is shown and never told", () => {
    const harness = seen(failing("shadow"));
    harness.live(60_000, empty, 150);
    expect(harness.told).toEqual([]);
  });

  test("on an event is told at once, and over when later ones can be judged", () => {
    const rules = `
rules:
  - name: Filled
    on: fill
    when: max(trader.positions.map(p, p.notional)) > 1.0
    severity: warning
    summary: "filled"
`;
    const harness = seen(rules);
    harness.events("fills", [event({ kind: "fill", key: "1" })]);
    expect(harness.told).toEqual(["RuleFailing daemon fired warning"]);
    harness.account(safe);
    harness.events("fills", [event({ kind: "fill", key: "2" })]);
    expect(harness.told.slice(1)).toEqual(["Filled main/0.0/SOL fired warning"]);
    harness.live(125_000, safe, 150);
    expect(harness.told.slice(2)).toEqual(["RuleFailing daemon ended warning recovered"]);
  });

  test("on events of which one can be judged and the next cannot is one alert", () => {
    const rules = `
rules:
  - name: Filled
    on: fill
    when: max(trader.positions.map(p, p.notional)) > 1000000.0
    severity: critical
    summary: "filled"
`;
    const two = { ...mainWallet, name: "two", authority: `${mainWallet.authority.slice(0, -1)}2` };
    let harness = new Harness({ rules, wallets: [mainWallet, two] });
    const own = () => harness.told.filter((line) => /^RuleFailing daemon (fired|ended)/.test(line));
    const restart = () => {
      const { remembered, nowMs } = harness;
      harness = new Harness({ rules, wallets: [mainWallet, two], remembered, atMs: nowMs + 1_000 });
    };
    const see = (ms: number, ...wallets: readonly string[]) => {
      for (let passed = 0; passed < ms; passed += 5_000) {
        harness.pass(5_000);
        harness.config();
        harness.mark(150);
        harness.account(empty);
        harness.account(safe, "two");
        for (const wallet of wallets)
          harness.events(
            "fills",
            [event({ kind: "fill", key: `${wallet} ${harness.nowMs}`, wallet })],
            wallet,
          );
      }
    };
    see(300_000, "main", "two");
    expect(own()).toEqual(["RuleFailing daemon fired critical"]);
    see(130_000, "two");
    expect(own().slice(1)).toEqual(["RuleFailing daemon ended critical recovered"]);
    see(5_000, "main");
    see(300_000);
    // Nobody knows whether the next one could be judged.
    expect(own().slice(2)).toEqual(["RuleFailing daemon fired critical"]);

    // After a restart too it takes more than one that can be judged.
    restart();
    see(300_000, "two", "main");
    expect(own()).toEqual([]);
    restart();
    see(115_000, "two");
    expect(own()).toEqual([]);
    see(10_000, "two");
    expect(own()).toEqual(["RuleFailing daemon ended critical recovered"]);
  });
});
