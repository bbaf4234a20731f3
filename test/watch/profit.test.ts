/** Equity and profit of a wallet: complete, as fresh as its accounts, and moved by no deposit or withdrawal. */
import { expect, test } from "vitest";
import type { Source } from "../../src/domain/observation.ts";
import { Harness, mainWallet, position, rulesOf, scheduleMs, subaccount } from "./harness.ts";

const minute = 60_000;

const figure = (h: Harness, name: string) => h.watch.status(h.nowMs).wallets[0]!.figures[name];

const rule = (when: string, more = "") =>
  `rules:\n  - { name: R, scope: wallet, when: '${when}', severity: warning, keepFiringFor: 0s, summary: "{{ usd(wallet.equity) }}"${more} }`;

/** One answer about one PDA index. */
function answer(h: Harness, pdaIndex: number, collateralUsd: number): void {
  h.slot += 10;
  h.see({
    kind: "accounts",
    wallet: "main",
    pdaIndex,
    atMs: h.nowMs,
    slot: h.slot,
    slotIndex: 0,
    subaccounts: [subaccount(collateralUsd, [])],
  });
}

test("a wallet with two PDA indices is worth nothing known before both were read", () => {
  const wallets = [{ ...mainWallet, pdaIndices: [0, 1] }];
  const rules = rulesOf(
    rule("wallet.equity < 2000.0 || wallet.moveToLiquidation > 0.0", ", noData: alert"),
    wallets,
  );
  const h = new Harness({ rules, wallets });
  h.config();
  h.mark(150);
  answer(h, 0, 1_000);
  expect([figure(h, "equity"), h.watch.status(h.nowMs).wallets[0]!.seenMs]).toEqual([undefined, null]);
  h.mark(151);
  expect(figure(h, "equity")).toBe(undefined);
  expect(h.told).toEqual([]);
  h.pass(1_000);
  answer(h, 1, 1_500);
  expect([figure(h, "equity"), figure(h, "moveToLiquidation")]).toEqual([2_500, Number.POSITIVE_INFINITY]);
});

test("equity of a wallet is sampled with each answer, as that of an account is", () => {
  const everyMs: Record<Source, number> = { ...scheduleMs, collateral: minute };
  const rules = rulesOf(rule('changeRatio("wallet.equity", "1m") < -0.1'), [mainWallet], everyMs);
  const h = new Harness({ rules });
  h.events("collateral", []);
  h.live(2 * minute, [subaccount(5_000, [position(10, 150)])], 150);
  expect(h.told).toEqual([]);
  h.live(5_000, [subaccount(5_000, [position(10, 150)])], 90);
  expect(h.told).toEqual(["R main fired warning"]);
});
