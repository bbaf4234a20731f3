/** Rules that name what is not there: a market that the exchange does not list, a limit that a wallet does not have. */
import { expect, test } from "vitest";
import { Harness, mainWallet, marketConfig, position, prices, subaccount } from "./harness.ts";

const ruleOf = (scope: string, when: string, more = ""): string => `
rules:
  - { name: Odd, scope: ${scope}, ${more} when: '${when}', severity: critical, summary: odd }
`;
const safe = [subaccount(5_000, [position(100, 150)])];

function live(harness: Harness, ms: number, wallets = [mainWallet]): void {
  for (let passed = 0; passed < ms; passed += 5_000) {
    harness.pass(5_000);
    harness.config();
    harness.mark(150);
    for (const { name } of wallets) harness.account(safe, name);
  }
}

test.each([
  ["market", 'market("SOLL").markPrice > market.markPrice', 'market("SOLL")'],
  ["market", 'change("market[SOLL].markPrice", "1m") > 1.0', "market[SOLL]"],
  ["wallet", "wallet.equity > wallet.limits.most", "wallet.limits"],
])("a %s rule on %s is blind, and says why", (scope, when, what) => {
  const harness = new Harness({ rules: ruleOf(scope, when) });
  live(harness, 120_000);
  expect(harness.told).toEqual(["Blind daemon fired critical"]);
  const { summary, labels } = harness.changes[0]!.alert;
  expect(summary).toContain(what);
  expect(labels.source).toBe("configuration");
  expect(harness.changes[0]?.details).toContainEqual(["Rules that cannot judge", "Odd"]);
});

test("many wallets without a limit are one alert, and the exchange is not to blame", () => {
  const wallets = ["a", "b", "c", "d", "e"].map((name) => ({ ...mainWallet, name }));
  const harness = new Harness({ rules: ruleOf("wallet", "wallet.equity > wallet.limits.most"), wallets });
  live(harness, 120_000, wallets);
  expect(harness.told).toEqual(["Blind daemon fired critical"]);
});

test("a market that is listed later is judged, and the alert ends", () => {
  const harness = new Harness({ rules: ruleOf("market", 'market("BTC").markPrice > 1000.0') });
  live(harness, 60_000);
  expect(harness.told).toEqual(["Blind daemon fired critical"]);
  harness.config(marketConfig(), marketConfig("BTC"));
  harness.mark(prices(150), prices(500, "BTC"));
  expect(harness.told.at(-1)).toBe("Blind daemon ended critical recovered");
});

test("a limit that was set before a restart ends what was told of it", () => {
  const rules = ruleOf("wallet", "wallet.equity > wallet.limits.most");
  const before = new Harness({ rules });
  live(before, 60_000);
  const limited = [{ ...mainWallet, limits: { most: 1e9 } }];
  const atMs = before.nowMs + 1_000;
  const after = new Harness({ rules, wallets: limited, remembered: before.remembered, atMs });
  live(after, 110_000);
  expect(after.told).toEqual([]);
  live(after, 20_000);
  expect(after.told).toEqual(["Blind daemon ended critical recovered"]);
  const still = new Harness({ rules, remembered: before.remembered, atMs });
  live(still, 130_000);
  expect(still.told).toEqual([]);
});

test("while the markets were not seen yet, their silence is what is told", () => {
  const harness = new Harness({ rules: ruleOf("wallet", 'market("BTC").markPrice > wallet.equity') });
  harness.pass(120_000);
  expect(harness.changes.map(({ alert }) => alert.labels.source)).not.toContain("configuration");
});

test("a funding rate that is far from the settled one, in the unit of the statistics, is reported once", () => {
  const harness = new Harness({ rules: ruleOf("market", "market.fundingRate > 0.001") });
  const hour = (ratePerHour: number, stated: number): void => {
    harness.mark({ ...prices(150), statedFundingRate: stated });
    harness.see({ kind: "fundingRate", symbol: "SOL", atMs: harness.nowMs, ratePerHour, exchangeMs: 0 });
    harness.pass(60_000);
  };
  harness.config();
  hour(0.000019, 0.000019);
  hour(0.000019, 0.00003);
  hour(-0.000001, 0.000001);
  expect(harness.notes).toEqual([
    expect.stringMatching(/taken as a fraction an hour: 1 market was compared/),
  ]);
  hour(0.000019, 0.0019);
  hour(0.000019, 0.0019);
  expect(harness.notes.slice(1)).toEqual([
    "SOL: the statistics state a funding rate of 0.0019 an hour, the funding history one of 0.000019; rules see the former",
  ]);
  hour(0.000019, 0.000019);
  hour(0.00002, -0.00002);
  expect(harness.notes).toHaveLength(2);
});

test("symbols that the exchange does not list are said once its list is there", () => {
  const rules = ruleOf(
    "position",
    'market("BTC").markPrice < position.entryPrice',
    "select: { symbol: [SOL, SOLL] },",
  );
  const harness = new Harness({ rules });
  expect(harness.notes).toEqual([]);
  for (let i = 0; i < 3; i++) harness.config(marketConfig(), marketConfig("ETH"));
  expect(harness.notes).toEqual([
    "Odd: the exchange lists no market SOLL; did you mean SOL?",
    "Odd: the exchange lists no market BTC",
  ]);
});

test("a rule that lacks data later joins the alert, which is as severe as what is at stake", () => {
  const rules = `
rules:
  - { name: Low, scope: wallet, when: wallet.equity < 1.0, severity: warning, noData: alert, staleAfter: 10s, summary: low }
  - { name: Gone, scope: wallet, when: wallet.equity < 0.5, severity: critical, staleAfter: 2m, summary: gone }
`;
  const harness = Harness.seeing({ rules }, 150, safe);
  for (let passed = 0; passed < 100_000; passed += 5_000) {
    harness.pass(5_000);
    harness.config();
    harness.mark(150);
  }
  expect(harness.told).toEqual(["Blind main fired warning"]);
  for (let passed = 0; passed < 30_000; passed += 5_000) {
    harness.pass(5_000);
    harness.config();
    harness.mark(150);
  }
  expect(harness.told).toEqual(["Blind main fired warning"]);
  const [live] = harness.watch.status(harness.nowMs).firing;
  expect(live?.summary).toMatch(
    /^main SOL long was 31% from liquidation 2m 10s ago, mark unchanged since\. No data/,
  );
  harness.account(safe);
  expect(harness.told.slice(1)).toEqual(["Blind main ended warning recovered"]);
});
