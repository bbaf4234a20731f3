/** Funding that no reading shows, since its position closed before the next one: payments of the funding history explain it. */
import { describe, expect, test } from "vitest";
import type { Event } from "../../src/domain/event.ts";
import { event, Harness, mainWallet, position, rulesOf, startMs, subaccount } from "./harness.ts";

const wallets = [{ ...mainWallet, pdaIndices: [0] }];
const rules = rulesOf(
  `rules:
  - { name: Loss, scope: wallet, when: 'wallet.pnl < -1000.0', severity: critical, summary: "pnl {{ usd(wallet.pnl) }}" }`,
  wallets,
);
const pnl = (h: Harness) => h.watch.status(h.nowMs).wallets[0]!.figures.pnl;

let keys = 0;
const payment = (usd: number, happenedMs: number, fields = {}): Event =>
  event({
    ...{ kind: "funding", key: `payment${++keys}`, slot: 0, subaccount: null, happenedMs },
    ...{ fields: { payment: usd, size: 20, side: "long", rate: 0.01 }, ...fields },
  });
const sold = (h: Harness) =>
  event({ kind: "fill", key: `fill${++keys}`, slot: h.slot, fields: { side: "ask", size: 20, price: 150 } });

const markets = (h: Harness) => {
  h.config();
  h.mark(150);
};
const read = (h: Harness, source: "funding" | "fills" | "collateral", events: readonly Event[] = []) =>
  h.events(source, events, "main", { coversMs: 0 });

const long = position(20, 150);

function begun(): Harness {
  const h = new Harness({ rules, wallets });
  markets(h);
  read(h, "collateral");
  for (let i = 0; i < 3; i++) {
    h.account([subaccount(10_000, [long])]);
    h.pass(5_000);
    markets(h);
  }
  expect(pnl(h)).toBe(0);
  return h;
}

/** The position is closed at its entry price after it paid 50 USD of funding. */
function closed(h: Harness): void {
  h.pass(5_000);
  markets(h);
  h.account([subaccount(9_950, [])]);
  read(h, "fills", [sold(h)]);
}

describe("a position that closes after a payment of funding", () => {
  test("leaves profit unknown until the payment is read, which is asked for", () => {
    const h = begun();
    closed(h);
    expect(pnl(h)).toBeUndefined();
    expect(h.asks).toContain("funding main");
    read(h, "funding", [payment(-50, h.nowMs - 2_000)]);
    expect(pnl(h)).toBe(-50);
  });

  test("is explained at once by a payment that was read before", () => {
    const h = begun();
    read(h, "funding", [payment(-50, h.nowMs)]);
    closed(h);
    expect(pnl(h)).toBe(-50);
  });

  test("is explained by two of three payments of its market, since one was another account's", () => {
    const h = begun();
    read(h, "funding", [payment(-30, h.nowMs), payment(-7, h.nowMs), payment(-20, h.nowMs)]);
    closed(h);
    expect(pnl(h)).toBe(-50);
  });

  test.each([
    ["of another market", { symbol: "BTC" }],
    ["of another PDA index", { pdaIndex: 1 }],
    ["of an hour before the state that shows the position", { happenedMs: startMs - 3_600_000 }],
  ])("is not explained by a payment %s", (_, fields) => {
    const h = begun();
    closed(h);
    read(h, "funding", [payment(-50, h.nowMs, fields)]);
    expect(pnl(h)).toBeUndefined();
  });

  test("is not explained by another amount: so much may have been paid out", () => {
    const h = begun();
    closed(h);
    read(h, "funding", [payment(-40, h.nowMs)]);
    expect(pnl(h)).toBeUndefined();
  });
});

test.each(["after", "before"])(
  "a position that no state shows is explained by its fills, of which the first is of the slot of the state before, and a payment that is read %s them",
  (when) => {
    const h = new Harness({ rules, wallets });
    markets(h);
    read(h, "collateral");
    for (let i = 0; i < 3; i++) {
      h.account([subaccount(10_000, [])]);
      h.pass(5_000);
      markets(h);
    }
    const fields = { side: "bid", size: 20, price: 150 };
    const bought = event({ kind: "fill", key: `fill${++keys}`, slot: h.slot, fields });
    const paid = payment(-50, h.nowMs);
    if (when === "before") read(h, "funding", [paid]);
    h.account([subaccount(9_950, [])]);
    read(h, "fills", [bought, sold(h)]);
    if (when === "after") {
      expect(pnl(h)).toBeUndefined();
      read(h, "funding", [paid]);
    }
    expect(pnl(h)).toBe(-50);
  },
);

test("funding that accrued before a stop is known after it, where the position closed meanwhile", () => {
  const before = begun();
  before.pass(60_000);
  markets(before);
  const accrued = { ...long, unsettledFundingQuoteLots: -50_000_000n };
  before.account([subaccount(10_000, [accrued])]);
  const h = before.restarted({ rules, wallets });
  h.slot = before.slot;
  closed(h);
  expect(pnl(h)).toBe(-50);
});

test("funding is kept for a stop as soon as it accrues after a minute of readings that are the same, as recorded ones are", () => {
  const before = begun();
  before.pass(60_000);
  markets(before);
  before.account([subaccount(10_000, [{ ...long }])]);
  before.pass(1_000);
  before.account([subaccount(10_000, [{ ...long, unsettledFundingQuoteLots: -50_000_000n }])]);
  const h = before.restarted({ rules, wallets });
  h.slot = before.slot;
  closed(h);
  expect(pnl(h)).toBe(-50);
});

test("a payment that was stored before a stop explains a position that closed meanwhile", () => {
  const before = begun();
  const paid = payment(-50, before.nowMs);
  const h = before.restarted({ rules, wallets });
  h.slot = before.slot;
  h.watch.warmUp.rememberPayments([paid]);
  closed(h);
  expect(pnl(h)).toBe(-50);
});
