/**
 * The earnings and payments of a wallet since midnight: rolls over, survives a start, and is not known rather than a false
 * 0.
 */
import { expect, test } from "vitest";
import type { SubaccountState } from "../../src/domain/account.ts";
import type { Event } from "../../src/domain/event.ts";
import {
  event,
  Harness,
  mainWallet,
  marketConfig,
  position,
  prices,
  rulesOf,
  scheduleMs,
  subaccount,
} from "./harness.ts";

const midnight = Date.UTC(2026, 0, 6);
const minute = 60_000;
const hour = 60 * minute;
const wallets = [{ ...mainWallet, pdaIndices: [0] }];
const holding = (collateralUsd = 1_000) => [subaccount(collateralUsd, [position(10, 150)])];

const rule = (scope: string, when: string, more = "") =>
  `rules:\n  - { name: R, scope: ${scope}, when: "${when}", severity: warning, keepFiringFor: 0s, summary: s${more} }`;

function boot(rules: string, atMs: number, before?: Harness, collateralUsd?: number): Harness {
  const remembered = before ? { remembered: before.remembered } : {};
  const h = new Harness({ rules: rulesOf(rules, wallets), wallets, atMs, ...remembered });
  h.slot = before?.slot ?? h.slot;
  read(h, collateralUsd);
  return h;
}

/** Fresh answers of everything, nothing new in any history. */
function read(h: Harness, collateralUsd = 1_000, markUsd = 150): void {
  h.config();
  h.mark(prices(markUsd));
  h.account(holding(collateralUsd));
  for (const source of ["fills", "collateral"] as const) h.events(source, [], "main", { coversMs: 0 });
  h.events("funding", [], "main", { pdaIndex: 0, coversMs: 0 });
}

function until(h: Harness, ms: number, collateralUsd?: number, markUsd?: number): void {
  while (h.nowMs < ms) {
    h.pass(Math.min(5_000, ms - h.nowMs));
    read(h, collateralUsd, markUsd);
  }
}

const figure = (h: Harness, name: string) => h.watch.status(h.nowMs).wallets[0]!.figures[name];
const realized = (h: Harness) =>
  h.watch.status(h.nowMs).wallets[0]!.accounts[0]!.positions[0]!.figures.realizedPnlToday;

let count = 0;
const fill = (happenedMs: number, fee: number, realizedPnl: number): Event =>
  event({ kind: "fill", key: `f${++count}`, happenedMs, fields: { side: "ask", fee, realizedPnl } });
const funding = (happenedMs: number, payment: number): Event =>
  event({ kind: "funding", key: `p${++count}`, happenedMs, subaccount: null, fields: { payment } });
const flow = (happenedMs: number, slot: number, amountUsd: number | null, more: Partial<Event> = {}): Event =>
  event({
    kind: "collateral",
    key: `c${++count}`,
    happenedMs,
    slot,
    symbol: null,
    fields: {
      eventType: amountUsd === null ? "transfer" : amountUsd < 0 ? "withdrawal" : "deposit",
      amountUsd,
    },
    ...(amountUsd === null ? { data: { transferUsd: 100, within: false } } : {}),
    ...more,
  });

test("fees and realized profit are those of today: not of yesterday, and from midnight on anew", () => {
  const h = boot(rule("wallet", "wallet.feesToday > 5.0"), midnight - hour);
  h.events("fills", [fill(midnight - 25 * hour, 100, 500), fill(midnight - 2 * hour, 4, -20)]);
  expect([figure(h, "feesToday"), realized(h)]).toEqual([4, -20]);
  expect(h.told).toEqual([]);
  h.events("fills", [fill(h.nowMs, 2, -1)]);
  expect([figure(h, "feesToday"), realized(h)]).toEqual([6, -21]);
  expect(h.told).toEqual(["R main fired warning"]);
  until(h, midnight - 1);
  // The exchange's clock is a little ahead of ours.
  h.events("fills", [fill(midnight + 500, 3, -7)]);
  expect([figure(h, "feesToday"), realized(h)]).toEqual([6, -21]);
  h.pass(1);
  expect([figure(h, "feesToday"), realized(h)]).toEqual([3, -7]);
  expect(h.told.at(-1)).toBe("R main ended warning recovered");
  h.events("fills", [fill(midnight - minute, 50, 50)]);
  expect([figure(h, "feesToday"), realized(h)]).toEqual([3, -7]);
});

test("an hour of funding belongs to the day in which it ended", () => {
  const h = boot(rule("wallet", "wallet.fundingToday < -5.0"), midnight + 2 * hour);
  h.events(
    "funding",
    [funding(midnight, -100), funding(midnight + hour, -2), funding(midnight + 2 * hour, 1)],
    "main",
    {
      pdaIndex: 0,
    },
  );
  expect(figure(h, "fundingToday")).toBe(-1);
  h.events("funding", [funding(h.nowMs, -5)], "main", { pdaIndex: 0 });
  expect(h.told).toEqual(["R main fired warning"]);
});

test("nothing is known before the histories were read back to midnight, and nobody is told of a 0", () => {
  const h = Harness.seeing(
    {
      rules: rulesOf(rule("wallet", "wallet.feesToday < 1.0", ", noData: alert"), wallets),
      wallets,
      atMs: midnight + hour,
    },
    150,
    holding(),
  );
  h.events("fills", [fill(h.nowMs, 0.5, 3)], "main", { coversMs: h.nowMs - minute });
  expect([figure(h, "feesToday"), realized(h)]).toEqual([undefined, undefined]);
  h.events("fills", [fill(h.nowMs - 30 * minute, 7, 4)], "main", {
    past: true,
    coversMs: h.nowMs - 30 * minute,
  });
  h.pass(minute);
  expect(h.told).toEqual(["Blind main fired warning"]);
  h.events("fills", [fill(h.nowMs - 70 * minute, 7, 4)], "main", { past: true, coversMs: 0 });
  expect([figure(h, "feesToday"), realized(h)]).toEqual([7.5, 7]);
});

test("the sums go stale with their history, and a start goes on with what was told before it", () => {
  const rules = rule("position", "position.realizedPnlToday < -10.0", ", noData: alert");
  const before = boot(rules, midnight + hour);
  before.events("fills", [fill(midnight + 10 * minute, 1, -8)]);
  const h = boot(rules, before.nowMs + hour, before);
  expect([figure(h, "feesToday"), realized(h)]).toEqual([1, -8]);
  h.events("fills", [fill(h.nowMs - 30 * minute, 1, -4)]);
  expect(h.told).toEqual(["R main/0.0/SOL fired warning"]);
  h.pass(2 * minute);
  expect(h.told.at(-1)).toBe("Blind main fired warning");
  const stale = boot(rules, midnight + 30 * hour, h);
  expect([figure(stale, "feesToday"), realized(stale)]).toEqual([0, 0]);
});

test("events of today that history had before anything was kept are read again, once", () => {
  const told = [fill(midnight + minute, 1, -8), flow(midnight + minute, 1, 100)];
  const h = new Harness({
    rules: rulesOf(rule("wallet", "wallet.feesToday > 5.0"), wallets),
    wallets,
    atMs: midnight + hour,
  });
  expect(h.watch.warmUp.dayToReadMs).toBe(midnight);
  for (const one of told) h.watch.warmUp.rememberToday(one);
  read(h);
  expect(figure(h, "feesToday")).toBe(1);
  h.events("fills", [fill(h.nowMs, 1, 0)]);
  const again = new Harness({
    rules: rulesOf(rule("wallet", "wallet.feesToday > 5.0"), wallets),
    wallets,
    atMs: h.nowMs + 1_000,
    remembered: h.remembered,
  });
  expect(again.watch.warmUp.dayToReadMs).toBe(null);
  for (const one of told) again.watch.warmUp.rememberToday(one);
  read(again);
  expect(figure(again, "feesToday")).toBe(2);
});

const losing = rule("wallet", "wallet.pnlToday < -100.0", ", noData: alert");

test("profit of today is counted from our own equity of midnight, without what came in and went out", () => {
  const h = boot(losing, midnight - 5 * minute);
  until(h, midnight - 1_000);
  expect(figure(h, "pnlToday")).toBe(undefined);
  expect(h.watch.midnightMs("main")).toBe(midnight - 24 * hour);
  until(h, midnight + minute, 1_000, 148);
  expect(figure(h, "pnlToday")).toBeCloseTo(-20, 9);
  expect(h.watch.midnightMs("main")).toBe(null);
  h.account(holding(1_500));
  h.events("collateral", [flow(h.nowMs, h.slot, 500)], "main", { coversMs: 0 });
  until(h, midnight + 3 * minute, 1_500, 148);
  expect(figure(h, "pnlToday")).toBeCloseTo(-20, 9);
  until(h, midnight + 5 * minute, 1_500, 139);
  expect(figure(h, "pnlToday")).toBeCloseTo(-110, 9);
  expect(h.told.filter((one) => one.startsWith("R "))).toEqual(["R main fired warning"]);

  const after = boot(losing, h.nowMs + hour, h, 1_500);
  until(after, after.nowMs + minute, 1_500, 140);
  expect(figure(after, "pnlToday")).toBeCloseTo(-100, 9);
});

test("a deposit in the slot of the last reading of yesterday, and after it, is today's and no profit", () => {
  const h = boot(losing, midnight - 5 * minute);
  until(h, midnight - 1_000);
  const { slot } = h;
  h.pass(2_000);
  read(h, 1_500);
  const fields = { eventType: "deposit", amountUsd: 500, after: 1_500 };
  h.events("collateral", [flow(midnight - 500, slot, 500, { fields })], "main", { coversMs: 0 });
  until(h, midnight + minute, 1_500);
  expect([figure(h, "pnlToday"), figure(h, "pnl")]).toEqual([0, 0]);
});

/** Lists an asset as collateral. @returns the account with so many units of it */
function spotOf(h: Harness, symbol: string, perpAssetId: number): (units: number) => SubaccountState[] {
  const asset = { assetIndex: 4_294_901_760, symbol, decimals: 9 };
  const margins = { maxGlobalBalance: 10n ** 15n, minMarginDiscountBps: 0, maxMarginDiscountBps: 0 };
  h.see({ kind: "collateralAssets", atMs: h.nowMs, assets: [{ ...asset, perpAssetId, ...margins }] });
  return (units) =>
    holding().map((one) => ({ ...one, spotCollaterals: [{ ...asset, balance: BigInt(units * 1e9) }] }));
}

test.each(["before", "after"])(
  "a withdrawal between two readings of one slot, just before midnight, is yesterday's, read %s it",
  (read) => {
    const h = boot(losing, midnight - 5 * minute, undefined, 1_500);
    until(h, midnight - 2_000, 1_500);
    const { slot } = h;
    h.pass(500);
    const subaccounts = holding(1_000);
    h.see({ kind: "accounts", wallet: "main", pdaIndex: 0, atMs: h.nowMs, slot, slotIndex: 0, subaccounts });
    const fields = { eventType: "withdrawal", amountUsd: -500, after: 1_000 };
    const record = flow(h.nowMs - 100, slot, -500, { fields });
    if (read === "after") until(h, midnight + 5_000, 1_000);
    h.events("collateral", [record], "main", { coversMs: 0 });
    until(h, midnight + minute, 1_000);
    expect([figure(h, "pnlToday"), figure(h, "pnl")]).toEqual([0, 0]);
  },
);

test("collateral in another asset that came in the slot of a reading, just before midnight, is no loss of the new day", () => {
  const h = boot(losing, midnight - 5 * minute);
  const withSpot = spotOf(h, "SOL", 1);
  until(h, midnight - 1_000);
  h.pass(200);
  const subaccounts = withSpot(10);
  const told = { kind: "accounts", wallet: "main", pdaIndex: 0, slotIndex: 0, subaccounts } as const;
  h.see({ ...told, atMs: h.nowMs, slot: h.slot });
  expect(figure(h, "equity")).toBe(2_500);
  for (let passed = 0; passed < 60_000; passed += 5_000) {
    h.pass(5_000);
    h.config();
    h.mark(prices(150));
    h.slot += 10;
    h.see({ ...told, atMs: h.nowMs, slot: h.slot });
    h.events("collateral", [], "main", { coversMs: 0 });
  }
  expect([figure(h, "pnlToday"), figure(h, "pnl")]).toEqual([0, 0]);
});

test("collateral in another asset is valued at the first price of its market after the reading that shows it", () => {
  const h = boot(losing, midnight + hour);
  const withSpot = spotOf(h, "ETH", 2);
  until(h, midnight + hour + minute);
  h.config(marketConfig(), marketConfig("ETH", { assetId: 2 }));
  const subaccounts = withSpot(1);
  const read = (usd: number | null) => {
    h.pass(1_000);
    h.mark(...(usd === null ? [prices(150)] : [prices(150), prices(usd, "ETH")]));
  };
  const told = () =>
    h.see({
      kind: "accounts",
      wallet: "main",
      pdaIndex: 0,
      atMs: h.nowMs,
      slot: h.slot,
      slotIndex: 0,
      subaccounts,
    });
  h.slot += 10;
  told();
  read(null);
  read(3_000);
  read(3_100);
  h.slot += 10;
  told();
  expect([figure(h, "equity"), figure(h, "pnl")]).toEqual([4_100, 100]);
});

test("an account that waits for the price of its collateral leaves the slots of the others as they were", () => {
  const h = boot(losing, midnight + hour);
  const withSpot = spotOf(h, "ETH", 2);
  until(h, midnight + hour + minute);
  h.config(marketConfig(), marketConfig("ETH", { assetId: 2 }));
  const tell = (slot: number, subaccounts: readonly SubaccountState[], told?: number[]) => {
    h.slot = slot;
    const of = { wallet: "main", pdaIndex: 0, atMs: h.nowMs, slot, slotIndex: 0 };
    h.see({ kind: "accounts", ...of, subaccounts, ...(told ? { told } : {}) });
    h.pass(1_000);
  };
  const other = (usd: number) => subaccount(usd, [], { subaccount: 1 });
  const { slot } = h;
  tell(slot + 10, [...holding(), other(0)]);
  tell(slot + 20, withSpot(1), [0]);
  h.mark(prices(150), prices(3_000, "ETH"));
  const fields = { eventType: "deposit", amountUsd: 500, after: 500 };
  h.events("collateral", [flow(h.nowMs, slot + 15, 500, { subaccount: 1, fields })], "main", { coversMs: 0 });
  const pnls = [figure(h, "pnl")];
  tell(slot + 30, [...withSpot(1), other(500)]);
  expect([...pnls, figure(h, "pnl"), figure(h, "equity")]).toEqual([0, 0, 4_500]);
});

test("nobody who watches over midnight goes blind by it, and the next day begins with 0", () => {
  const h = boot(losing, midnight - 5 * minute);
  h.see(portfolio(h, 1_500, midnight - 24 * hour));
  until(h, midnight - 1_000, 1_000, 149);
  expect(figure(h, "pnlToday")).toBeCloseTo(-510, 9);
  const before = h.told.length;
  until(h, midnight, 1_000, 149);
  expect(figure(h, "pnlToday")).toBe(0);
  until(h, midnight + 3 * minute, 1_000, 149);
  expect(h.told.slice(before).filter((one) => one.startsWith("Blind"))).toEqual([]);
  expect(figure(h, "pnlToday")).toBe(0);
});

function portfolio(h: Harness, usd: number, startMs: number) {
  const told = { startMs, usd, accounts: ["main/0.0"] };
  return { kind: "portfolio", atMs: h.nowMs, wallet: "main", values: [], midnight: told } as const;
}

test("where nobody watched at midnight the exchange tells what the equity was, and what flowed since is left out", () => {
  const h = boot(losing, midnight + 8 * hour);
  const [early, late] = [flow(midnight - minute, 1, 5_000), flow(midnight + hour, 2, -300)];
  h.events(
    "collateral",
    [early, late].map((one) => ({ ...one, backfilled: true })),
    "main",
    { coversMs: 0 },
  );
  until(h, midnight + 8 * hour + 2 * minute);
  expect(figure(h, "pnlToday")).toBe(undefined);
  expect(h.told).toEqual(["Blind main fired warning"]);
  expect(h.changes[0]!.alert.labels.source).toBe("portfolio");
  h.see(portfolio(h, 1_420, midnight - 24 * hour));
  expect(figure(h, "pnlToday")).toBe(undefined);
  h.see(portfolio(h, 1_420, midnight));
  // 1000 now, and 300 that went out since: 120 less than at midnight.
  expect(figure(h, "pnlToday")).toBeCloseTo(-120, 9);
  expect(h.told).toContain("R main fired warning");
  expect(h.told).toContain("Blind main ended warning recovered");
});

test.each([
  ["a transfer of which nobody can say where it went", flow(midnight + hour, 2, null)],
  ["an account that was gone when the exchange was asked", flow(midnight + hour, 2, 50, { subaccount: 4 })],
])("%s leaves the profit of today unknown", (_, moved) => {
  const h = boot(losing, midnight + 8 * hour);
  h.events("collateral", [{ ...moved, backfilled: true }], "main", { coversMs: 0 });
  until(h, midnight + 8 * hour + minute);
  h.see(portfolio(h, 1_420, midnight));
  until(h, h.nowMs + minute);
  expect(figure(h, "pnlToday")).toBe(undefined);
});

test("midnight is that of the configured time zone", () => {
  expect(scheduleMs.portfolio).toBeGreaterThan(0);
  const h = new Harness({
    rules: rulesOf(rule("wallet", "wallet.feesToday > 5.0"), wallets),
    wallets,
    timezone: "Asia/Kathmandu",
    atMs: Date.UTC(2026, 0, 6, 18, 0),
  });
  read(h);
  h.events("fills", [fill(Date.UTC(2026, 0, 5, 18, 14), 1, 0), fill(Date.UTC(2026, 0, 5, 18, 15), 2, 0)]);
  expect(figure(h, "feesToday")).toBe(2);
  until(h, Date.UTC(2026, 0, 6, 18, 15));
  expect(figure(h, "feesToday")).toBe(0);
});

test("our equity is held against the exchange's at the quarters of the hour", () => {
  const compared =
    "  - { name: Compared, scope: daemon, when: daemon.equityMismatch >= 0.0, severity: info, summary: s }";
  const h = boot(`${rule("daemon", "daemon.equityMismatch > 0.05")}\n${compared}`, midnight + 14 * minute);
  until(h, midnight + 15 * minute - 1_000, 1_000, 150);
  until(h, midnight + 16 * minute, 1_000, 151);
  const tell = (valueUsd: number, ofMs: number) =>
    h.see({
      kind: "portfolio",
      atMs: h.nowMs,
      wallet: "main",
      values: [{ pdaIndex: 0, subaccount: 0, ofMs, valueUsd }],
    });
  tell(500, midnight);
  expect(h.told).toEqual([]);
  // Between what was read before and after: as right as can be known.
  tell(1_004, midnight + 15 * minute);
  expect(h.told).toEqual(["Compared daemon fired info"]);
  expect(h.notes).toEqual([]);
  tell(900, midnight + 15 * minute);
  expect(h.told.at(-1)).toBe("R daemon fired warning");
  expect(h.notes).toEqual([
    "main/0.0: equity at 2026-01-06T00:15:00.000Z is 1000 to 1010 here and 900 at the exchange",
  ]);
});
