/** Reductions of legs of declared pairs: never one leg without the others, in the ratio of the hedge, and the others unharmed. */
import { describe, expect, test } from "vitest";
import type { PositionState, SubaccountState } from "../../src/domain/account.ts";
import type { WhatIfAccount } from "../../src/domain/what-if.ts";
import type { WatchedPair, WatchedWallet } from "../../src/watch/settings.ts";
import { Harness, mainWallet, position, rulesOf, subaccount } from "../watch/harness.ts";

const wallets: readonly WatchedWallet[] = ["main", "hedge", "third"].map((name) => ({ ...mainWallet, name }));
const basis: WatchedPair = { name: "basis", legs: ["main/SOL", "hedge/SOL"], tolerance: 0.02 };
const rules = rulesOf(
  `
rules:
  - name: Poor
    scope: trader
    when: trader.marginRatio > 0.5
    resolveWhen: trader.marginRatio < 0.3
    severity: critical
    summary: "poor"
`,
  wallets,
);

/** Long 100 SOL at 100 USD: a maintenance margin of 333.33 USD. */
const poor = [subaccount(600, [position(100, 100)])];
const rich = (...positions: readonly PositionState[]) => subaccount(100_000, positions);

type Accounts = Readonly<Record<string, readonly SubaccountState[]>>;

function begun(accounts: Accounts, pairs: readonly WatchedPair[] = [basis]): Harness {
  const h = new Harness({ rules, wallets, pairs });
  h.config();
  h.mark(100);
  for (const [wallet, subaccounts] of Object.entries(accounts)) h.account(subaccounts, wallet);
  return h;
}

function asked(h: Harness, closes: readonly string[] = [], wallet = "main"): WhatIfAccount {
  const outcome = h.watch.whatIf({ wallet, account: null, prices: [], depositUsd: 0, closes }, h.nowMs);
  if (outcome.kind !== "done") throw new Error(JSON.stringify(outcome));
  return outcome.answer.accounts[0]!;
}

function reductionOf(h: Harness) {
  const { least, along, obstacle } = asked(h).clear!.reductions[0]!;
  return { units: least?.units ?? null, trade: least?.trade, along, obstacle };
}

describe("a leg of a declared pair", () => {
  test("is reduced along with the other, by the least that clears the account", () => {
    const h = begun({ main: poor, hedge: [rich(position(-100, 100))] });
    const { units, along, obstacle } = reductionOf(h);
    expect(along).toEqual([{ account: "hedge/0.0", trade: "buy", units, bookUsd: null }]);
    expect(obstacle).toBeNull();
    const poorAfter = (closed: number) => asked(h, [`SOL=${closed.toFixed(2)}`]).rules[0]!.after;
    expect(poorAfter(units!)).toBeNull();
    expect(poorAfter(units! - 0.01)).toBe("critical");
  });

  test("keeps the ratio of the hedge, to the lot", () => {
    const h = begun({ main: poor, hedge: [rich(position(-33, 100))] });
    const { units, along } = reductionOf(h);
    expect(along.map((one) => one.units)).toEqual([Math.round(units! * 33) / 100]);
  });

  test("is not offered alone where the joint reduction harms the other account", () => {
    // Bids against a short cost margin from where they more than flip it.
    const bid = {
      ...{ symbol: "SOL", sequence: "9", side: "bid" as const, kind: "limit", stopLoss: false },
      ...{ priceTicks: 9_000n, remainingLots: 20_000n, initialLots: 20_000n },
      ...{ reduceOnly: false, status: "active" },
    };
    const hedge = (orders: SubaccountState["orders"]) => [subaccount(670, [position(-100, 100)], { orders })];
    expect(reductionOf(begun({ main: poor, hedge: hedge([]) })).units).toBeGreaterThan(0);
    expect(reductionOf(begun({ main: poor, hedge: hedge([bid]) }))).toMatchObject({
      units: null,
      along: [{ account: "hedge/0.0", units: 100 }],
      obstacle: null,
    });
  });

  test("is reduced as far as the account that holds the most of the other leg allows", () => {
    const halves = [
      subaccount(100_000, [position(-50, 100)]),
      subaccount(100_000, [position(-50, 100)], { subaccount: 1 }),
    ];
    const { units, along } = reductionOf(begun({ main: poor, hedge: halves }));
    expect(units).toBeGreaterThan(0);
    expect(along).toEqual([{ account: "hedge/0.0", trade: "buy", units, bookUsd: null }]);
    const poorer = [subaccount(500, [position(100, 100)])];
    expect(reductionOf(begun({ main: poorer, hedge: halves }))).toMatchObject({ units: null });
    expect(reductionOf(begun({ main: poorer, hedge: [rich(position(-100, 100))] })).units).toBeGreaterThan(
      50,
    );
  });

  test("takes the legs of further pairs along", () => {
    const carry: WatchedPair = { name: "carry", legs: ["hedge/SOL", "third/0.0/SOL"], tolerance: 0 };
    const accounts = { main: poor, hedge: [rich(position(-100, 100))], third: [rich(position(50, 100))] };
    const { units, along } = reductionOf(begun(accounts, [basis, carry]));
    expect(along).toEqual([
      { account: "hedge/0.0", trade: "buy", units, bookUsd: null },
      { account: "third/0.0", trade: "sell", units: Math.round(units! * 50) / 100, bookUsd: null },
    ]);
  });

  test("is not offered while the other leg is not read, or where it stands against its own leg", () => {
    expect(reductionOf(begun({ main: poor }))).toMatchObject({
      ...{ units: null, along: [] },
      obstacle: "SOL is a leg of the pair basis, of which hedge/SOL is not read",
    });
    const short = subaccount(100_000, [position(-300, 100)], { subaccount: 1 });
    const against = begun({ main: [...poor, short], hedge: [rich(position(200, 100))] });
    expect(reductionOf(against)).toMatchObject({
      units: null,
      obstacle: "SOL is a leg of the pair basis, and against main/SOL as a whole",
    });
  });

  test("is reduced by itself where the other leg is flat, and where it is of no pair", () => {
    for (const h of [begun({ main: poor, hedge: [rich()] }), begun({ main: poor }, [])])
      expect(reductionOf(h)).toMatchObject({ units: expect.any(Number), along: [], obstacle: null });
  });
});
