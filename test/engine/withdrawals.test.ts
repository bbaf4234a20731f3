/** The shipped rules that compare shares of a wallet: a withdrawal raises none of them, and hides no loss. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Event } from "../../src/domain/event.ts";
import { event, Harness, type HarnessOptions, mainWallet, position, rulesOf, subaccount } from "./harness.ts";

const midnight = Date.UTC(2026, 0, 6);
const minute = 60_000;
const wallets = [{ ...mainWallet, pdaIndices: [0] }];

/** One rule of a shipped pack. */
function shipped(pack: string, rule: string): string {
  const text = readFileSync(new URL(`../../rules/${pack}.yaml`, import.meta.url), "utf8");
  const found = text.split(/^(?= {2}- name: )/m).find((part) => part.startsWith(`  - name: ${rule}\n`));
  if (found === undefined) throw new Error(`no rule ${rule}`);
  return `rules:\n${found}`;
}

let rows = 0;

/** A wallet with 10 SOL at 150 USD, of which the exchange tells everything every five seconds. */
class Wallet {
  readonly h: Harness;
  readonly #rules: string;
  collateralUsd: number;
  markUsd = 150;

  constructor(rules: string, collateralUsd: number, atMs: number, over: Partial<HarnessOptions> = {}) {
    this.#rules = rules;
    this.collateralUsd = collateralUsd;
    this.h = new Harness({ rules: rulesOf(rules, wallets), wallets, atMs, ...over });
    this.read();
  }

  read(): void {
    const { h } = this;
    h.config();
    h.mark(this.markUsd);
    h.account([subaccount(this.collateralUsd, [position(10, 150)])]);
    for (const source of ["fills", "collateral"] as const) h.events(source, [], "main", { coversMs: 0 });
    h.events("funding", [], "main", { pdaIndex: 0, coversMs: 0 });
  }

  pass(ms: number): void {
    for (const endMs = this.h.nowMs + ms; this.h.nowMs < endMs; ) {
      this.h.pass(Math.min(5_000, endMs - this.h.nowMs));
      this.read();
    }
  }

  /** Pays in or, negative, out. @returns the record that the history does not show yet */
  payUntold(usd: number): Event {
    const { h } = this;
    const happenedMs = h.nowMs;
    this.collateralUsd += usd;
    h.pass(1_000);
    h.account([subaccount(this.collateralUsd, [position(10, 150)])]);
    return event({
      kind: "collateral",
      key: `pay${++rows}`,
      happenedMs,
      symbol: null,
      slot: h.slot,
      fields: { eventType: usd < 0 ? "withdrawal" : "deposit", amountUsd: usd },
    });
  }

  /** Pays in or, negative, out. @param lateMs time after which the history shows it; negative: it shows it before the account does */
  pay(usd: number, lateMs = 0): void {
    const { h } = this;
    const happenedMs = h.nowMs;
    const record = (slot: number): Event =>
      event({
        kind: "collateral",
        key: `pay${++rows}`,
        happenedMs,
        symbol: null,
        slot,
        fields: { eventType: usd < 0 ? "withdrawal" : "deposit", amountUsd: usd },
      });
    if (lateMs < 0) h.events("collateral", [record(h.slot + 15)], "main", { coversMs: 0 });
    this.collateralUsd += usd;
    h.pass(1_000);
    if (lateMs < 0) h.slot += 10;
    h.account([subaccount(this.collateralUsd, [position(10, 150)])]);
    const { slot } = h;
    if (lateMs < 0) return;
    this.pass(lateMs);
    h.events("collateral", [record(slot)], "main", { coversMs: 0 });
  }

  /** Loses by the price. */
  lose(usd: number): void {
    this.markUsd -= usd / 10;
    this.read();
  }

  restarted(): Wallet {
    const { h } = this;
    const next = new Wallet(this.#rules, this.collateralUsd, h.nowMs + 1_000, { remembered: h.remembered });
    next.h.slot = h.slot;
    next.markUsd = this.markUsd;
    next.read();
    return next;
  }

  figure(name: string): unknown {
    return this.h.watch.status(this.h.nowMs).wallets[0]!.figures[name];
  }
}

const dailyLoss = shipped("drawdown", "DailyLoss");

/** Watched over midnight, with this equity then. */
function day(equityUsd = 1_000): Wallet {
  const wallet = new Wallet(dailyLoss, equityUsd, midnight - 2 * minute);
  wallet.pass(2 * minute + 30_000);
  expect(wallet.figure("pnlToday")).toBe(0);
  return wallet;
}

describe("the loss of the day", () => {
  test("a withdrawal of most of a wallet raises no alert", () => {
    const wallet = day();
    wallet.lose(40);
    wallet.pass(10 * minute);
    wallet.pay(-900);
    wallet.pass(10 * minute);
    expect(wallet.h.told).toEqual([]);
    expect(wallet.figure("lossToday")).toBeCloseTo(0.04, 9);
  });

  test("a withdrawal makes an acknowledged alert no worse", () => {
    const wallet = day();
    wallet.lose(105);
    wallet.pass(2 * minute);
    expect(wallet.h.told).toEqual(["DailyLoss main fired critical"]);
    const { alert } = wallet.h.changes[0]!;
    wallet.h.see({ kind: "acknowledged", atMs: wallet.h.nowMs, alert, by: "ann", comment: "" });
    wallet.pay(-700);
    wallet.pass(5 * minute);
    expect(wallet.h.changes.map(({ kind }) => kind)).toEqual(["fired", "acknowledged"]);
  });

  test.each([
    ["shown by account and history at once", 0],
    ["that the history shows late", 30_000],
    ["that the history shows first", -1],
  ])("what is lost after a withdrawal %s is a share of what it left", (_, lateMs) => {
    const wallet = day();
    wallet.lose(20);
    wallet.pass(minute);
    wallet.pay(-880, lateMs);
    wallet.pass(minute);
    expect([wallet.h.told, wallet.figure("lossToday")]).toEqual([[], expect.closeTo(0.02, 9)]);
    wallet.lose(12);
    wallet.pass(2 * minute);
    expect(wallet.figure("lossToday")).toBeCloseTo(0.12, 9);
    expect(wallet.h.told).toEqual(["DailyLoss main fired critical"]);
    const after = wallet.restarted();
    after.pass(minute);
    expect(after.figure("lossToday")).toBeCloseTo(0.12, 9);
    // Another withdrawal hides none of it.
    after.pay(-80);
    after.pass(minute);
    expect(after.figure("lossToday")).toBeCloseTo(0.12, 9);
  });

  test("what was paid in and out again hides no loss after it", () => {
    const wallet = day();
    wallet.pay(9_000);
    wallet.pay(-9_000);
    wallet.lose(120);
    wallet.pass(2 * minute);
    expect(wallet.h.told).toEqual(["DailyLoss main fired critical"]);
  });

  test("a loss is a share of what was paid in as well", () => {
    const wallet = day();
    wallet.pay(1_000);
    wallet.lose(240);
    wallet.pass(2 * minute);
    expect(wallet.h.told).toEqual(["DailyLoss main fired critical"]);
    expect(wallet.figure("lossToday")).toBeCloseTo(0.12, 9);
    // Neither what leaves again.
    wallet.pay(-700);
    wallet.pass(minute);
    expect(wallet.figure("lossToday")).toBeCloseTo(0.12, 9);
  });

  test("what was won before a withdrawal makes up for what is lost after it", () => {
    const wallet = day();
    wallet.lose(-500);
    wallet.pay(-1_400);
    wallet.lose(40);
    wallet.pass(5 * minute);
    expect([wallet.h.told, wallet.figure("lossToday")]).toEqual([[], 0]);
  });

  test("it begins anew at midnight, withdrawals of the day before or not", () => {
    const wallet = day();
    wallet.lose(30);
    wallet.pay(-800);
    wallet.h.pass(midnight + 24 * 60 * minute - wallet.h.nowMs - minute);
    wallet.pass(minute - 10_000);
    wallet.lose(5);
    wallet.pass(minute);
    expect(wallet.figure("lossToday")).toBe(0);
    wallet.lose(16.5);
    expect(wallet.figure("lossToday")).toBeCloseTo(0.1, 9);
  });
});

test("a withdrawal makes no fast loss of a slow one, and hides none", () => {
  const wallet = new Wallet(shipped("drawdown", "LosingFast"), 1_000, midnight);
  wallet.pass(11 * minute);
  wallet.lose(30);
  wallet.pass(minute);
  wallet.pay(-900);
  wallet.pass(2 * minute);
  expect(wallet.h.told).toEqual([]);
  const other = new Wallet(shipped("drawdown", "LosingFast"), 1_000, midnight);
  other.pass(11 * minute);
  other.pay(-900);
  other.pass(10_000);
  other.lose(12);
  other.pass(minute);
  expect(other.h.told).toEqual(["LosingFast main fired critical"]);
});

describe("a fast loss ten minutes after a withdrawal that the history shows late", () => {
  const losingFast = shipped("drawdown", "LosingFast");
  const lateness = [20, 60, 150, 240];
  const share = [0.1, 0.5, 0.95];

  test.each(lateness.flatMap((s) => share.map((of) => [s, of] as const)))(
    "%i s late, told when ten minutes ago lies at %d of that",
    (lateS, of) => {
      const wallet = new Wallet(losingFast, 1_000, midnight);
      wallet.pass(11 * minute);
      wallet.pay(-300, lateS * 1_000);
      wallet.pass(10 * minute - lateS * 1_000 * (1 - of));
      const before = wallet.h.told;
      wallet.lose(80);
      wallet.pass(35_000);
      expect(wallet.h.told.slice(before.length)).toEqual(["LosingFast main fired critical"]);
    },
  );

  test("what was lost before the history showed it is lost fast, and no more than that", () => {
    const wallet = new Wallet(losingFast, 1_000, midnight);
    wallet.pass(11 * minute);
    wallet.pay(-400, 60_000);
    wallet.lose(20);
    wallet.pass(8 * minute);
    const before = wallet.h.told;
    wallet.lose(15);
    wallet.pass(35_000);
    expect(wallet.h.told.slice(before.length)).toEqual(["LosingFast main fired warning"]);
  });

  test.each([
    ["told after the first", [[0], [1]]],
    ["told before the first", [[1], [0]]],
    ["told together with the first", [[0, 1]]],
  ])("a second withdrawal meanwhile, %s, is no loss", (_, order) => {
    const wallet = new Wallet(losingFast, 1_000, midnight);
    wallet.pass(11 * minute);
    const records = [wallet.payUntold(-300)];
    wallet.pass(80_000);
    records.push(wallet.payUntold(-200));
    wallet.pass(20_000);
    for (const told of order) {
      const page = told.map((index) => records[index]!);
      wallet.h.events("collateral", page, "main", { coversMs: 0 });
      wallet.pass(20_000);
    }
    expect(wallet.h.told.at(-1)).toBe("LosingFast main ended critical explained");
    const before = wallet.h.told;
    wallet.pass(12 * minute);
    expect(wallet.h.told.slice(before.length)).toEqual([]);
  });

  test("a second withdrawal that is told after a restart ends what the first one raised", () => {
    const losing =
      "rules:\n  - { name: Losing, scope: wallet, when: wallet.pnl < -100.0, severity: info, summary: lost }\n";
    const wallet = new Wallet(losing, 1_000, midnight);
    wallet.pass(minute);
    const records = [wallet.payUntold(-300)];
    wallet.pass(80_000);
    records.push(wallet.payUntold(-200));
    wallet.pass(20_000);
    wallet.h.events("collateral", [records[0]!], "main", { coversMs: 0 });
    const after = wallet.restarted();
    after.pass(10_000);
    after.h.events("collateral", [records[1]!], "main", { coversMs: 0 });
    after.pass(10_000);
    expect(after.h.told).toEqual(["Losing main ended info explained"]);
    expect(after.h.changes.at(-1)!.alert.summary).toContain("a withdrawal of $500.00");
  });

  test("a deposit that the history shows late raises none", () => {
    const wallet = new Wallet(losingFast, 1_000, midnight);
    wallet.pass(11 * minute);
    wallet.pay(700, 90_000);
    wallet.pass(12 * minute);
    expect(wallet.h.told).toEqual([]);
  });

  test("what nobody read stays unknown", () => {
    const wallet = new Wallet(losingFast, 1_000, midnight);
    wallet.pass(11 * minute);
    wallet.h.pass(2 * minute);
    wallet.read();
    wallet.pass(9 * minute);
    wallet.lose(80);
    wallet.pass(35_000);
    expect(wallet.h.told).toEqual([]);
  });
});

test("a withdrawal makes no funding dearer", () => {
  const wallet = new Wallet(shipped("funding", "FundingCostHigh"), 1_000, midnight + minute);
  const payment = event({ kind: "funding", key: "paid", happenedMs: midnight, fields: { payment: -3 } });
  wallet.h.events("funding", [payment], "main", { pdaIndex: 0, coversMs: 0 });
  wallet.pass(minute);
  wallet.pay(-900);
  wallet.pass(10 * minute);
  expect(wallet.h.told).toEqual([]);
});
