/** Knowledge that is in memory only, or that history gives back in another form: a reload keeps it. */
import { expect, test } from "vitest";
import type { TraderViewState } from "../../src/domain/account.ts";
import { event, figures, Harness, mainWallet, position, rulesOf, startMs, subaccount } from "./harness.ts";

const minute = 60_000;
const held = [subaccount(1_000, [position(100, 150)])];

/** A view of the exchange's that values the account at half of what we do. */
const differing: TraderViewState = {
  ...{ pdaIndex: 0, subaccount: 0, slot: 0, riskState: "healthy", riskTier: "safe" },
  ...{
    effectiveCollateralUsd: 500,
    portfolioValueUsd: 500,
    initialMarginUsd: 1_000,
    maintenanceMarginUsd: 500,
  },
  ...{ spotNotionalUsd: null, spotDiscountedUsd: null },
  positions: [{ symbol: "SOL", sizeUnits: 100, markPriceUsd: 150, liquidationPriceUsd: 0 }],
};

/** The rest of a run, with and without a reload at its beginning. */
function each<T>(rest: (reload: boolean) => T): T {
  const still = rest(false);
  expect(rest(true)).toEqual(still);
  return still;
}

test("a liquidation from before the last stop is not the reason for an end that is seen after a reload", () => {
  const rules = `
rules:
  - { name: Near, scope: position, when: position.liquidationDistance < 0.1, severity: critical, for: 0s, summary: near }
`;
  const told = each((reload) => {
    const before = Harness.seeing({ rules }, 150, held);
    const part = { role: "liquidatee", kind: "market", size: 10, price: 144, positionClosed: true };
    const place = { happenedMs: before.nowMs, slot: before.slot + 1, fields: part };
    before.events("liquidations", [event({ kind: "liquidation", key: "part", ...place })]);
    before.account(held);
    before.account([subaccount(900, [position(90, 150)])]);
    const h = before.restarted({ rules });
    if (reload) h.reload({ rules });
    h.live(60_000, [subaccount(900, [])], 150);
    return h.told;
  });
  expect(told).toEqual(["Near main/0.0/SOL ended critical closed"]);
});

const poor = (more: string, when = "trader.marginRatio > 0.2"): string => `
rules:
  - { name: Poor, scope: trader, when: ${when}, severity: critical, for: 0s, ${more} }
`;

test.each([
  ["texts", "summary: rich, description: why, runbook: 'https://example.org'", {}],
  ["labels", "summary: poor, labels: { team: a }", {}],
  ["times and data ages", "summary: poor, keepFiringFor: 5m, staleAfter: 60s, noData: keep", {}],
  ["reminders", "summary: poor", { remind: { critical: { every: "2m", acknowledgedFor: "1h" } } }],
])("an acknowledgement outlasts a change of %s", (_, more, settings) => {
  const h = Harness.seeing({ rules: poor("summary: poor") }, 100, held);
  h.see({ kind: "acknowledged", atMs: h.nowMs, alert: h.changes[0]!.alert, by: "ann", comment: "" });
  h.reload({ rules: poor(more), ...settings });
  h.live(10 * minute, held, 100);
  expect(h.told).toEqual(["Poor main/0.0 fired critical", "Poor main/0.0 acknowledged critical"]);
});

test("an acknowledgement ends with its alert where the condition was changed", () => {
  const h = Harness.seeing({ rules: poor("summary: poor") }, 100, held);
  h.see({ kind: "acknowledged", atMs: h.nowMs, alert: h.changes[0]!.alert, by: "ann", comment: "" });
  h.reload({ rules: poor("summary: poor", "trader.marginRatio > 0.25") });
  h.live(10_000, held, 100);
  const told = h.changes.map(({ kind, alert }) => [kind, alert.ending, alert.acknowledgedBy]);
  expect(told.slice(2)).toEqual([
    ["ended", "ruleChanged", "ann"],
    ["fired", null, null],
  ]);
});

test("equity read before a reload is held against the exchange's value of that quarter", () => {
  const rules = `
rules:
  - { name: Differs, scope: daemon, when: daemon.equityMismatch > 0.05, severity: warning, summary: "{{ daemon.equityMismatchAccount }}" }
`;
  const h = Harness.seeing({ rules, atMs: startMs + 14 * minute }, 150, held);
  h.live(2 * minute, held, 150);
  const portfolio = () => {
    const values = [{ pdaIndex: 0, subaccount: 0, ofMs: startMs + 15 * minute, valueUsd: 500 }];
    h.see({ kind: "portfolio", atMs: h.nowMs, wallet: "main", values });
  };
  h.reload({ rules });
  portfolio();
  expect(h.told).toEqual(["Differs daemon fired warning"]);
  expect(h.changes[0]!.alert.summary).toBe("main/0.0");
  expect(h.notes).toHaveLength(1);
  h.reload({ rules });
  portfolio();
  expect(h.notes).toHaveLength(1);
});

test("a difference from the exchange's risk is logged once, reloads or not", () => {
  const rules = `
rules:
  - { name: Near, scope: position, when: position.liquidationDistance < 0.01, severity: critical, summary: near }
`;
  const h = Harness.seeing({ rules }, 150, held);
  const view = () => {
    h.see({ kind: "traderView", atMs: h.nowMs, wallet: "main", view: { ...differing, slot: h.slot } });
  };
  view();
  expect(h.notes).toEqual([expect.stringMatching(/^main\/0\.0: our risk and the exchange's differ: /)]);
  h.reload({ rules });
  view();
  expect(h.notes).toHaveLength(1);
  expect(h.watch.status(h.nowMs).viewMismatches).toBe(2);
});

test("a rule that a reload brings waits for the first answers that it needs before it lacks data", () => {
  const near =
    "  - { name: Near, scope: position, when: position.liquidationDistance < 0.01, severity: critical, summary: near }";
  const wide =
    "  - { name: Wide, scope: market, when: market.spread > 0.1, severity: warning, noData: alert, summary: wide }";
  const of = (...rules: string[]) => rulesOf(`rules:\n${rules.join("\n")}\n`);
  const h = Harness.seeing({ rules: of(near) }, 150, held);
  h.live(2 * minute, held, 150);
  h.reload({ rules: of(near, wide) });
  h.live(40_000, held, 150);
  expect(h.told).toEqual([]);
  h.live(10_000, held, 150);
  expect(h.told).toEqual(["Blind exchange fired warning"]);
});

test("throttles that end in one moment release in the order in which they began, reloads or not", () => {
  const rules = `
rules:
  - { name: Second, on: fill, when: event.size > 1.0, severity: info, throttle: 20s, summary: second }
  - { name: First, on: fill, when: event.size > 1.0, severity: info, throttle: 20s, summary: first }
`;
  const owed = each((reload) => {
    const h = new Harness({ rules });
    const fill = (key: string) => h.events("fills", [event({ kind: "fill", key, fields: { size: 2 } })]);
    fill("one");
    h.pass(1_000);
    fill("two");
    if (reload) h.reload({ rules });
    h.pass(20_000);
    return h.owed;
  });
  expect(owed).toHaveLength(4);
});

test("a PDA index that was never read is missing after a reload too, though the other one waits for its market", () => {
  const rules = `
rules:
  - { name: Near, scope: position, when: position.liquidationDistance < 0.1, severity: critical, for: 0s, summary: near }
`;
  const wallets = [{ ...mainWallet, pdaIndices: [0, 1] }];
  const told = each((reload) => {
    const h = new Harness({ rules, wallets });
    h.pass(2 * minute);
    h.account(held);
    if (reload) h.reload({ rules, wallets });
    h.pass(1_000);
    return h.watch
      .status(h.nowMs)
      .blind.map(({ source, wallet }) => `${source} of ${wallet}`)
      .sort();
  });
  expect(told).toContain("traderState of main");
});

test("a rule that holds back while no-data alerts fire does so right after a reload and after a restart", () => {
  const rules = `
rules:
  - { name: Near, scope: position, when: position.liquidationDistance < 0.05, severity: critical, summary: near }
  - name: Failing
    scope: daemon
    when: daemon.failedPolls >= 5 && daemon.noDataAlerts == 0.0
    severity: warning
    summary: failing
`;
  const tick = (h: Harness): void => {
    h.see({ kind: "daemon", atMs: h.nowMs, figures: { ...figures, failedPolls: 9 } });
  };
  const before = Harness.seeing({ rules }, 150, [subaccount(5_000, [position(100, 150)])]);
  before.pass(60_000);
  tick(before);
  expect(before.told).toEqual(["Blind main fired warning"]);
  before.reload({ rules });
  before.see({ kind: "channel", atMs: before.nowMs, channel: "chat", working: true, detail: "it answers" });
  before.pass(1_000);
  tick(before);
  const after = before.restarted({ rules });
  after.pass(1_000);
  tick(after);
  expect([...before.told, ...after.told]).toEqual(["Blind main fired warning"]);
});
