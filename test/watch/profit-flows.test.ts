/** Profit of a wallet with several accounts: what moves between them, or is lost in one that no reading shows, counts as what it is. */
import { expect, test } from "vitest";
import { collateralEvents } from "../../src/collect/translate/collateral.ts";
import type { CollateralEvent } from "../../src/contract/index.ts";
import type { SubaccountState } from "../../src/domain/account.ts";
import type { Event } from "../../src/domain/event.ts";
import { event, Harness, mainWallet, rulesOf, startMs, subaccount } from "./harness.ts";

const wallet = { ...mainWallet, pdaIndices: [0] };
const wallets = [wallet];
const rules = rulesOf(
  `rules:
  - { name: Loss, scope: wallet, when: 'wallet.pnl < -1000.0', severity: critical, summary: "pnl {{ usd(wallet.pnl) }}" }
  - { name: Gain, scope: wallet, when: 'wallet.pnl > 2500.0', severity: info, summary: "pnl {{ usd(wallet.pnl) }}" }`,
  wallets,
);
const figures = (h: Harness) => {
  const { pnl, netDeposits } = h.watch.status(h.nowMs).wallets[0]!.figures;
  return { pnl, netDeposits };
};

/** Readings of all that profit depends on, nothing new in the histories, every 5 s. */
function readings(h: Harness, count: number, accounts: readonly SubaccountState[], markUsd = 150): void {
  for (let i = 0; i < count; i++) {
    h.pass(5_000);
    h.config();
    h.mark(markUsd);
    h.account(accounts);
    for (const source of ["collateral", "fills"] as const) h.events(source, [], "main", { coversMs: 0 });
  }
}

function begun(accounts: readonly SubaccountState[]): Harness {
  const h = new Harness({ rules, wallets });
  h.config();
  h.mark(150);
  h.events("collateral", [], "main", { coversMs: 0 });
  readings(h, 12, accounts);
  expect(figures(h)).toEqual({ pnl: 0, netDeposits: 0 });
  return h;
}

/** A row of the collateral history, its amounts in USD. */
const row = (
  slot: number,
  traderSubaccountIndex: number,
  eventType: string,
  usd: number,
  afterUsd: number,
) => ({
  ...{ slot, slotIndex: 0, eventIndex: traderSubaccountIndex, traderPdaIndex: 0, traderSubaccountIndex },
  ...{ eventType, amount: BigInt(usd * 1e6), collateralAfter: BigInt(Math.round(afterUsd * 1e6)) },
  timestamp: startMs,
});
const first = row(1, 0, "deposit", 10_000, 10_000);
/** Rows as their collector translates them, after a deposit of 10,000 USD. */
const translated = (rows: readonly CollateralEvent[], h: Harness): Event[] =>
  collateralEvents([first, ...rows], wallet, h.nowMs, () => {})
    .slice(1)
    .filter((one) => one !== null);
let fills = 0;
const fill = (slot: number, subaccountIndex: number, side: string, size: number, price: number): Event =>
  event({
    kind: "fill",
    key: `fill${++fills}`,
    slot,
    subaccount: subaccountIndex,
    fields: { side, size, price, fee: 0 },
  });

/** Isolated margin of 5,000 USD, of which 4,000 are lost and 1,000 come back. */
const lost = (slot: number) => ({
  flows: [
    row(slot + 1, 0, "transfer", 5_000, 5_000),
    row(slot + 1, 1, "transfer", 5_000, 5_000),
    row(slot + 3, 1, "transfer", 1_000, 0),
    row(slot + 3, 0, "transfer", 1_000, 6_000),
  ],
  fills: [fill(slot + 2, 1, "bid", 400, 150), fill(slot + 3, 1, "ask", 400, 140)],
});

test.each([
  ["flows, fills, state", ["flows", "fills", "state"]],
  ["fills, flows, state", ["fills", "flows", "state"]],
  ["flows, state, fills", ["flows", "state", "fills"]],
  ["fills, state, flows", ["fills", "state", "flows"]],
  ["state, flows, fills", ["state", "flows", "fills"]],
  ["state, fills, flows", ["state", "fills", "flows"]],
] as const)(
  "the loss of an isolated position that no reading shows is a loss, read in this order: %s",
  (_, order) => {
    const h = begun([subaccount(10_000, [])]);
    const { slot } = h;
    const rows = lost(slot);
    h.pass(5_000);
    h.config();
    h.mark(140);
    for (const part of order) {
      if (part === "state") h.account([subaccount(6_000, [])]);
      else if (part === "fills") h.events("fills", rows.fills, "main", { coversMs: 0 });
      else h.events("collateral", translated(rows.flows, h), "main", { coversMs: 0 });
    }
    expect(figures(h)).toEqual({ pnl: -4_000, netDeposits: 0 });
    expect(h.told).toEqual(["Loss main fired critical"]);
    // Nothing waits any more.
    h.asks.length = 0;
    readings(h, 12, [subaccount(6_000, [])], 140);
    expect([h.asks, figures(h)]).toEqual([[], { pnl: -4_000, netDeposits: 0 }]);
  },
);

test("the loss of an isolated position in a stop is a loss, and so is the next one of that account", () => {
  const before = begun([subaccount(10_000, [])]);
  const rows = lost(before.slot);
  const h = before.restarted({ rules, wallets }, 60_000);
  h.slot = before.slot;
  h.config();
  h.mark(140);
  h.events("collateral", translated(rows.flows, h), "main", { coversMs: 0 });
  h.account([subaccount(6_000, [])]);
  h.events("fills", rows.fills, "main", { coversMs: 0 });
  expect(figures(h)).toEqual({ pnl: -4_000, netDeposits: 0 });
  readings(h, 12, [subaccount(6_000, [])], 140);
  const { slot } = h;
  h.account([subaccount(5_500, [])]);
  h.events("fills", [fill(slot + 2, 1, "bid", 50, 150), fill(slot + 3, 1, "ask", 50, 140)]);
  h.events(
    "collateral",
    collateralEvents(
      [
        row(slot - 1, 0, "deposit", 0, 6_000),
        row(slot + 1, 0, "transfer", 500, 5_500),
        row(slot + 1, 1, "transfer", 500, 500),
      ],
      wallet,
      h.nowMs,
      () => {},
    ).filter((one) => one !== null),
  );
  expect(figures(h)).toEqual({ pnl: -4_500, netDeposits: 0 });
});

test("an isolated account that closed before watching began leaves no flow, though its transfer is read later", () => {
  const h = new Harness({ rules, wallets });
  h.slot = 100;
  h.config();
  h.mark(150);
  h.events("collateral", [], "main", { coversMs: 0 });
  readings(h, 12, [subaccount(10_000, [])]);
  h.events(
    "collateral",
    translated([row(50, 1, "transfer", 1_000, 0), row(50, 0, "transfer", 1_000, 11_000)], h),
  );
  expect(figures(h)).toEqual({ pnl: 0, netDeposits: 0 });
});
