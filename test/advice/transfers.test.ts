/** Collateral from another account of the wallet: only from one that stays clear itself, by what the exchange lets out. */
import { expect, test } from "vitest";
import type { SubaccountState } from "../../src/domain/account.ts";
import type { ClearAmounts, WhatIfQuestion } from "../../src/domain/what-if.ts";
import { Harness, position, subaccount } from "../engine/harness.ts";

const rules = `
rules:
  - name: Poor
    scope: trader
    when: trader.marginRatio > 0.5
    resolveWhen: trader.marginRatio < 0.4
    severity: critical
    summary: "poor"
`;

/** Long 100 SOL at 100 USD: a maintenance margin of 333.33 USD, and an initial margin of 666.67. */
const held = [position(100, 100)];
const poor = subaccount(600, held, { subaccount: 1 });

function begun(...others: readonly SubaccountState[]): Harness {
  const h = new Harness({ rules });
  h.config();
  h.mark(100);
  h.account([poor, ...others]);
  return h;
}

const nothing: WhatIfQuestion = { wallet: "main", account: null, prices: [], depositUsd: 0, closes: [] };

function clearOf(h: Harness, name = "main/0.1", more: Partial<WhatIfQuestion> = {}) {
  const outcome = h.watch.whatIf({ ...nothing, ...more }, h.nowMs);
  if (outcome.kind !== "done") throw new Error(JSON.stringify(outcome));
  return outcome.answer.accounts.find((one) => one.name === name)!.clear;
}

const transferOf = (h: Harness): ClearAmounts["transfer"] => clearOf(h)!.transfer;

test("an account is named that can spare the least deposit, rounded up to cents", () => {
  const h = begun(subaccount(10_000, []));
  const { transfer, deposit } = clearOf(h)!;
  expect(transfer).toEqual({ from: "main/0.0", usd: Math.ceil(deposit.usd! * 100) / 100 });
  // With the transfer the account is clear, and the giver is, too.
  expect(clearOf(h, "main/0.1", { account: "0.1", depositUsd: transfer!.usd })).toBeNull();
  expect(clearOf(h, "main/0.0", { account: "0.0", depositUsd: -transfer!.usd })).toBeNull();
});

test("the giver stays clear of its own levels, with headroom, and above what the exchange lets out", () => {
  const { usd } = transferOf(begun(subaccount(10_000, [])))!;
  // After a fall of 2 % its loss is 200 USD and its maintenance margin 326.67: clear up to an equity of 653.33 there.
  const enough = usd + 653.34 + 200;
  expect(transferOf(begun(subaccount(enough, held)))).toEqual({ from: "main/0.0", usd });
  expect(transferOf(begun(subaccount(enough - 0.02, held)))).toBeNull();
  const cash = subaccount(usd, []);
  expect(transferOf(begun(cash))).toEqual({ from: "main/0.0", usd });
  expect(transferOf(begun(subaccount(usd - 0.01, [])))).toBeNull();
  const order = {
    ...{ symbol: "SOL", sequence: "9", side: "bid" as const, kind: "limit", stopLoss: false },
    ...{ priceTicks: 9_000n, remainingLots: 10_000n, initialLots: 10_000n, reduceOnly: false },
  };
  // Orders cost all of their margin where collateral is to leave: 666.67.
  const quoting = (collateral: number) =>
    subaccount(collateral, [], { orders: [{ ...order, status: "active" }] });
  expect(transferOf(begun(quoting(usd + 666.67)))).toEqual({ from: "main/0.0", usd });
  expect(transferOf(begun(quoting(usd + 666.6)))).toBeNull();
});

test("the exchange still lets it out when the mark has moved 0.1 % against the giver", () => {
  const offered = [];
  for (let collateral = 815; collateral < 925; collateral += 0.5) {
    // A short with much profit, which is not let out: no rule of its own fires.
    const h = begun(subaccount(collateral, [position(-100, 200)]));
    const transfer = transferOf(h);
    if (transfer === null) continue;
    offered.push(collateral);
    h.mark(100.1);
    const outcome = h.watch.whatIf({ ...nothing, account: "0.0", depositUsd: -transfer.usd }, h.nowMs);
    expect(JSON.stringify(outcome), `${collateral}`).not.toContain("refuses");
  }
  expect(offered.length).toBeGreaterThan(10);
  expect(offered.length).toBeLessThan(220);
});

test("the account with the most is asked first, and another where it cannot spare it", () => {
  const rich = subaccount(5_000, []);
  const richer = (positions: SubaccountState["positions"]) => subaccount(6_000, positions, { subaccount: 2 });
  expect(transferOf(begun(rich, richer([])))!.from).toBe("main/0.2");
  expect(transferOf(begun(rich, richer([position(800, 100)])))!.from).toBe("main/0.0");
});

test("none is named that may give nothing, nor while nothing is let out, nor of another PDA index", () => {
  const withdrawCollateral = { immediate: false, viaColdActivation: false };
  expect(transferOf(begun(subaccount(10_000, [], { capabilities: { withdrawCollateral } })))).toBeNull();
  const halted = begun(subaccount(10_000, []));
  const status = { active: true, gated: false, withdrawalsAvailable: false };
  halted.see({ kind: "exchangeStatus", atMs: halted.nowMs, ...status });
  expect(transferOf(halted)).toBeNull();
  const h = begun();
  const at = { atMs: h.nowMs, slot: 50, slotIndex: 0 };
  h.see({ kind: "accounts", wallet: "main", pdaIndex: 1, ...at, subaccounts: [subaccount(10_000, [])] });
  expect(transferOf(h)).toBeNull();
});

test("a giver from which money is supposed to be taken already has that much less", () => {
  const h = begun(subaccount(1_000, []));
  const usd = transferOf(h)!.usd;
  const taken = { account: "0.0", depositUsd: -(1_000 - usd) };
  expect(clearOf(h, "main/0.1", taken)!.transfer).toEqual({ from: "main/0.0", usd });
  expect(clearOf(h, "main/0.1", { ...taken, depositUsd: -(1_000 - usd + 0.01) })!.transfer).toBeNull();
});
