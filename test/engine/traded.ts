/** A trade in whose estimate money may hide that was paid in or out with it. */
import { expect } from "vitest";
import type { SubaccountState } from "../../src/domain/account.ts";
import type { Event } from "../../src/domain/event.ts";
import { event, Harness, position, subaccount } from "./harness.ts";

export const second = 1_000;
export const minute = 60_000;

export const figure = (h: Harness, name: string) => h.watch.status(h.nowMs).wallets[0]!.figures[name];

/** Answers every 5 s, and the collateral history with each of them. */
export function live(h: Harness, ms: number, accounts: readonly SubaccountState[], markUsd = 150): void {
  for (let passed = 0; passed < ms; passed += 5_000) {
    h.live(5_000, accounts, markUsd);
    h.events("collateral", []);
  }
}

export const loss = (when: string, more = "") =>
  `rules:\n  - { name: Loss, scope: wallet, when: '${when}', severity: critical${more}, summary: "pnl {{ usd(wallet.pnl) }}" }`;
export const drawdown = 'drawdown("wallet.pnl", "24h") > 0.05';
export const never = "wallet.pnl > 90000.0";

let rows = 0;
/** A record of the newest answer's slot. */
export const flow = (h: Harness, amountUsd: number, slot = h.slot, number = 0): Event =>
  event({
    kind: "collateral",
    key: `flow${++rows}`,
    symbol: null,
    slot,
    subaccount: number,
    fields: { eventType: amountUsd < 0 ? "withdrawal" : "deposit", amountUsd },
  });

/** 700 of 1,000 SOL are sold at the mark of 150, and money is paid in or out with it: the fill may have had another price. */
export function sold(
  when: string,
  paidUsd: number,
  usd = 10_000,
): { readonly h: Harness; readonly after: SubaccountState[] } {
  const h = new Harness({ rules: loss(when) });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, minute, [subaccount(usd, [position(1_000, 150)])]);
  h.pass(second);
  const after = [subaccount(usd + paidUsd, [position(300, 150)])];
  h.account(after);
  expect(figure(h, "pnl")).toBe(paidUsd);
  return { h, after };
}

/** The fill of such a trade. */
export const fill = (h: Harness, side: "bid" | "ask", size: number, price: number, slot = h.slot): Event =>
  event({
    kind: "fill",
    key: `fill${++rows}`,
    slot,
    subaccount: 0,
    fields: { role: "taker", side, size, price, fee: 0, valueUsd: size * price },
  });

/** The history of fills tells of the sale: it earned so much more, USD, than at 150. */
export function filled(h: Harness, moreUsd: number, slot = h.slot): void {
  h.events("fills", [fill(h, "ask", 700, 150 + moreUsd / 700, slot)]);
}
