/** Profit of a wallet with several accounts: what moves between them, or is lost in one that no reading shows, counts as what it is. */
import { describe, expect, test } from "vitest";
import { collateralEvents } from "../../src/collect/translate/collateral.ts";
import type { CollateralEvent } from "../../src/contract/index.ts";
import type { SubaccountState } from "../../src/domain/account.ts";
import type { Event } from "../../src/domain/event.ts";
import {
  event,
  Harness,
  mainWallet,
  marketConfig,
  notification,
  position,
  rulesOf,
  startMs,
  subaccount,
} from "./harness.ts";

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

const sol = { assetIndex: 4_294_901_760, symbol: "SOL", decimals: 9 };
const asset = {
  ...{ ...sol, perpAssetId: 1, maxGlobalBalance: 10n ** 15n },
  ...{ minMarginDiscountBps: 500, maxMarginDiscountBps: 1_000 },
};
/** Readings of all that profit depends on, nothing new in the histories, every 5 s. */
function readings(h: Harness, count: number, accounts: readonly SubaccountState[], markUsd = 150): void {
  for (let i = 0; i < count; i++) {
    h.pass(5_000);
    h.config();
    h.mark(markUsd);
    h.see({ kind: "collateralAssets", atMs: h.nowMs, assets: [asset] });
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

/** The same after a restart, with markets read. */
function restarted(before: Harness): Harness {
  const h = before.restarted({ rules, wallets });
  h.slot = before.slot;
  h.config();
  h.mark(150);
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
const fill = (
  slot: number,
  subaccountIndex: number,
  side: string,
  size: number,
  price: number,
  fee = 0,
): Event =>
  event({
    kind: "fill",
    key: `fill${++fills}`,
    slot,
    subaccount: subaccountIndex,
    fields: { side, size, price, fee },
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

test("a position that was opened and taken over is explained by a fill that is read after another change", () => {
  const h = begun([subaccount(10_000, [position(40, 150)])]);
  h.pass(1_000);
  const slot = h.slot + 1;
  const fields = {
    ...{ kind: "backstop", role: "liquidatee", side: "short" },
    ...{ size: 20, price: 150, notional: 3_000, collateralChange: -300 },
  };
  h.events("liquidations", [event({ kind: "liquidation", key: "l1", slot, fields })]);
  h.account([subaccount(9_700, [position(40, 150)])]);
  h.pass(5_000);
  h.config();
  h.mark(150);
  // Somebody pays in 500.
  h.account([subaccount(10_200, [position(40, 150)])]);
  h.events("collateral", translated([row(h.slot, 0, "deposit", 500, 10_200)], h), "main", { coversMs: 0 });
  h.events("fills", [fill(slot, 0, "ask", 20, 150)], "main", { coversMs: 0 });
  expect(h.watch.status(h.nowMs).wallets[0]!.unexplained).toBeUndefined();
  expect(figures(h)).toEqual({ pnl: -300, netDeposits: 500 });
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

test.each([
  ["flows, fills, state", ["flows", "fills", "state"]],
  ["fills, flows, state", ["fills", "flows", "state"]],
  ["fills, state, flows", ["fills", "state", "flows"]],
  ["state, flows, fills", ["state", "flows", "fills"]],
  ["state, fills, restart, flows", ["state", "fills", "restart", "flows"]],
] as const)(
  "an account that no reading shows received its first transfer, though no record says so, read in this order: %s",
  (_, order) => {
    let h = begun([subaccount(10_000, [position(20, 150)])]);
    const { slot } = h;
    const rows = lost(slot);
    // A position that is closed with a profit just before leaves both sides of the transfer without a direction.
    const flows = rows.flows.map((one) =>
      one.traderSubaccountIndex === 0 ? { ...one, collateralAfter: one.collateralAfter + 300_000_000n } : one,
    );
    expect(translated(flows, h).map(({ fields }) => fields.amountUsd)).toEqual([null, null, -1_000, 1_000]);
    h.pass(5_000);
    h.config();
    h.mark(165);
    for (const part of order) {
      if (part === "state") h.account([subaccount(6_300, [])]);
      else if (part === "fills")
        h.events("fills", [fill(slot + 1, 0, "ask", 20, 165), ...rows.fills], "main", { coversMs: 0 });
      else if (part === "flows") h.events("collateral", translated(flows, h), "main", { coversMs: 0 });
      else {
        const before = h;
        h = before.restarted({ rules, wallets });
        h.slot = before.slot;
        h.config();
        h.mark(165);
        h.account([subaccount(6_300, [])]);
      }
    }
    expect(figures(h)).toEqual({ pnl: -3_700, netDeposits: 0 });
    h.asks.length = 0;
    h.pass(60_000);
    expect(h.asks.length).toBeLessThanOrEqual(3);
  },
);

test("a second trade in an isolated account that no reading shows, read after all else of it, leaves profit known", () => {
  const h = begun([subaccount(10_000, [])]);
  const { slot } = h;
  const flows = lost(slot).flows;
  const last = flows[2]!;
  const back = [
    { ...last, amount: 1_000_100_000n },
    { ...flows[3]!, amount: 1_000_100_000n, collateralAfter: 6_000_100_000n },
  ];
  h.pass(5_000);
  h.config();
  h.mark(140);
  h.account([subaccount(6_000.1, [])]);
  const known = { pnl: -3_999.9, netDeposits: 0 };
  h.events("fills", lost(slot).fills, "main", { coversMs: 0 });
  h.events("collateral", translated([...flows.slice(0, 2), ...back], h), "main", { coversMs: 0 });
  expect(figures(h).pnl).toBeCloseTo(known.pnl, 6);
  // Sold and bought again for 10 cents more: as little as the rounding of the first trade.
  const second = [fill(slot + 3, 1, "ask", 1, 140), fill(slot + 3, 1, "bid", 1, 139.9)];
  h.events("fills", second.slice(0, 1), "main", { coversMs: 0 });
  h.events("fills", second.slice(1), "main", { coversMs: 0 });
  expect(figures(h).pnl).toBeCloseTo(known.pnl, 6);
  expect(h.told).toEqual(["Loss main fired critical"]);
});

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

test("a transfer to an account that owed something came in, though it has less than that now", () => {
  const h = begun([subaccount(-1_500, [])]);
  const { slot } = h;
  h.pass(5_000);
  h.config();
  h.mark(150);
  h.account([subaccount(4_300, [])]);
  const [row0] = collateralEvents([row(slot + 1, 0, "transfer", 5_800, 4_300)], wallet, h.nowMs, () => {});
  h.events("collateral", [row0!], "main", { coversMs: 0 });
  expect(figures(h)).toEqual({ pnl: 0, netDeposits: 5_800 });
});

test("a transfer of which no record says the direction is told it by fills that are read later", () => {
  const h = begun([
    subaccount(10_000, [position(100, 150)]),
    subaccount(5_000, [position(50, 150)], { subaccount: 1 }),
  ]);
  h.slot += 100;
  const { slot } = h;
  h.pass(5_000);
  h.config();
  h.mark(150);
  // Closed at 140; what is left is known to some cents.
  h.account([subaccount(6_999.92, []), subaccount(6_500, [], { subaccount: 1 })]);
  const rows = [row(slot + 5, 0, "transfer", 2_000, 6_999.92), row(slot + 5, 1, "transfer", 2_000, 6_500)];
  h.events("collateral", translated(rows, h), "main", { coversMs: 0 });
  expect(figures(h).pnl).toBe(undefined);
  h.events("fills", [fill(slot + 4, 0, "ask", 100, 140), fill(slot + 4, 1, "ask", 50, 140)]);
  expect(figures(h)).toEqual({ pnl: expect.closeTo(-1_500.08, 6), netDeposits: 0 });
});

const withSol = (collateralUsd: number, units: number, positions: SubaccountState["positions"] = []) => [
  subaccount(collateralUsd, positions, {
    spotCollaterals: units === 0 ? [] : [{ ...sol, balance: BigInt(units) * 10n ** 9n }],
  }),
];

function begunWithSol(accounts: readonly SubaccountState[]): Harness {
  const h = new Harness({ rules, wallets });
  h.see({ kind: "collateralAssets", atMs: h.nowMs, assets: [asset] });
  h.config();
  h.mark(150);
  h.events("collateral", [], "main", { coversMs: 0 });
  readings(h, 12, accounts);
  expect(figures(h)).toEqual({ pnl: 0, netDeposits: 0 });
  return h;
}

const sale = (slot: number, units: number, usd: number): Event =>
  event({
    kind: "notification",
    key: `sale${++fills}`,
    slot,
    fields: { source: "event", type: "spot_collateral_liquidation" },
    data: {
      ...{ slot, liquidator: "house", assetIndex: sol.assetIndex, quoteLotsDeposited: String(usd * 1e6) },
      liquidationSize: String(BigInt(units) * 10n ** 9n),
    },
  });

test.each([0, 0.5, 50, -50])(
  "a withdrawal of SOL is no loss, though %d USD came in at that time that no record tells of",
  (usd) => {
    const h = begunWithSol(withSol(10_000, 100));
    readings(h, 1, withSol(10_000 + usd, 0));
    expect(figures(h).pnl).toBe(usd === 0 ? 0 : undefined);
    readings(h, 120, withSol(10_000 + usd, 0));
    expect(figures(h)).toEqual({ pnl: usd, netDeposits: -15_000 });
    // Nothing says for certain that it was a loss.
    const certain = h.changes.filter(({ alert }) => !alert.summary.includes("(a withdrawal, or a loss"));
    expect(certain.filter(({ alert }) => alert.summary.startsWith("pnl -$1"))).toEqual([]);
    expect(h.told.at(-1)).toBe(usd === 0 ? undefined : "Loss main ended critical recovered");
  },
);

test("SOL that comes with the first reading after a withdrawal was explained is no profit of a short window either", () => {
  const gain = rulesOf(
    `rules:
  - { name: Gain, scope: wallet, when: 'change("wallet.pnl", "1m") > 1000.0', severity: info, summary: "up {{ usd(change('wallet.pnl', '1m')) }}" }`,
    wallets,
  );
  const h = new Harness({ rules: gain, wallets });
  h.see({ kind: "collateralAssets", atMs: h.nowMs, assets: [asset] });
  h.config();
  h.mark(150);
  h.events("collateral", [], "main", { coversMs: 0 });
  readings(h, 12, withSol(10_000, 0));
  readings(h, 1, withSol(9_500, 0));
  h.events("collateral", translated([row(h.slot, 0, "withdrawal", 500, 9_500)], h));
  readings(h, 24, withSol(9_500, 100));
  expect(figures(h)).toEqual({ pnl: 0, netDeposits: 14_500 });
  expect(h.told).toEqual([]);
});

test.each([
  { before: 0, after: 69 },
  { before: 102, after: 5 },
])(
  "SOL that moves in the slot of the baseline, after its state, is no profit and no loss: $before to $after",
  ({ before, after }) => {
    const h = new Harness({ rules, wallets });
    h.see({ kind: "collateralAssets", atMs: h.nowMs, assets: [asset] });
    h.config();
    h.mark(150);
    h.events("collateral", [], "main", { coversMs: 0 });
    h.account(withSol(10_000, before));
    h.slot -= 10;
    h.account(withSol(10_000, after));
    expect(figures(h)).toEqual({ pnl: 0, netDeposits: (after - before) * 150 });
    expect(h.told).toEqual([]);
  },
);

test("a withdrawal of SOL beside trades is one as soon as their fills are read", () => {
  const h = begunWithSol(withSol(10_000, 100));
  const { slot } = h;
  readings(h, 1, withSol(10_040, 0));
  expect(figures(h).pnl).toBe(undefined);
  h.events("fills", [fill(slot + 2, 0, "bid", 40, 149), fill(slot + 3, 0, "ask", 40, 150)]);
  expect(figures(h)).toEqual({ pnl: 40, netDeposits: -15_000 });
  expect(h.told).toEqual([]);
});

test.each([
  ["after", true],
  ["before", false],
])("SOL that is sold in a liquidation is no withdrawal, its notification read %s the state", (_, after) => {
  const h = begunWithSol(withSol(3_000, 60, [position(700, 150)]));
  const { slot } = h;
  const told = (): void => {
    h.events("fills", [fill(slot + 2, 0, "ask", 700, 135)]);
    h.events("notifications", [sale(slot + 3, 40, 5_200), sale(slot + 4, 20, 2_600)]);
  };
  if (!after) told();
  // The risk engine sells the position at 135, and the SOL at 130.
  h.pass(5_000);
  h.config();
  h.mark(135);
  h.account(withSol(300, 0));
  if (after) {
    expect(figures(h).pnl).toBe(undefined);
    expect(h.asks).toContain("notifications main");
    told();
  }
  expect(figures(h)).toEqual({ pnl: -11_700, netDeposits: 0 });
  readings(h, 120, withSol(300, 0), 135);
  expect(figures(h)).toEqual({ pnl: -11_700, netDeposits: 0 });
  expect(h.told.filter((one) => one.includes("ended"))).toEqual([]);
});

test("SOL that was paid in and sold between two states counts as paid in for what it was sold for", () => {
  const h = begunWithSol(withSol(3_000, 0));
  const { slot } = h;
  h.pass(5_000);
  // 20 more came after it.
  h.account(withSol(8_200, 20));
  h.events("notifications", [sale(slot + 3, 30, 3_900), sale(slot + 4, 10, 1_300)]);
  expect(figures(h)).toEqual({ pnl: 0, netDeposits: 8_200 });
});

test.each([
  ["before the second state", false, 0],
  ["before the second state, and a restart between", true, 0],
  ["after the second state, which is of a later slot", false, 10],
])(
  "SOL that is sold in the slot of a state, and shown by the next one, is known as sold: told %s",
  (_, restart, later) => {
    const before = begunWithSol(withSol(3_000, 60));
    const told = sale(before.slot, 40, 6_000);
    if (later === 0) before.events("notifications", [told]);
    const h = restart ? restarted(before) : before;
    if (restart) {
      h.see({ kind: "collateralAssets", atMs: h.nowMs, assets: [asset] });
      h.slot = before.slot;
    }
    h.slot += later;
    again(h, withSol(9_000, 20));
    if (later > 0) h.events("notifications", [told]);
    expect(figures(h)).toEqual({ pnl: 0, netDeposits: 0 });
  },
);

test("SOL that is sold in a liquidation is no withdrawal, though the mark came back before the state", () => {
  const h = begunWithSol(withSol(3_000, 60, [position(700, 150)]));
  const { slot } = h;
  // Sold at 135: at a mark of 146.14 that looks as if nothing had come in for the SOL.
  h.pass(5_000);
  h.config();
  h.mark(146.14);
  h.account(withSol(300, 0));
  expect(figures(h).pnl).toBe(undefined);
  h.events("fills", [fill(slot + 2, 0, "ask", 700, 135)]);
  h.events("notifications", [sale(slot + 3, 60, 7_800)]);
  expect(figures(h)).toEqual({ pnl: -11_700, netDeposits: 0 });
});

test("SOL of which a part is sold in a liquidation and the rest withdrawn counts as both", () => {
  const h = begunWithSol(withSol(3_000, 60));
  const { slot } = h;
  readings(h, 1, withSol(3_000 + 5_600, 0));
  expect(figures(h).pnl).toBe(undefined);
  h.events("notifications", [sale(slot + 3, 40, 5_600)]);
  expect(figures(h)).toEqual({ pnl: -400, netDeposits: -3_000 });
});

test("a message about a sale of SOL whose asset cannot be read tells of no deposit", () => {
  const h = begunWithSol(withSol(3_000, 60));
  const { slot } = h;
  const told = sale(slot + 3, 40, 5_940);
  h.events("notifications", [{ ...told, data: { ...(told.data as object), assetIndex: { garbled: true } } }]);
  readings(h, 1, withSol(3_000 + 5_940, 20));
  expect(figures(h).pnl).toBe(undefined);
  readings(h, 72, withSol(3_000 + 5_940, 20));
  expect(figures(h)).toEqual({ pnl: -60, netDeposits: 0 });
});

const { inbox } = notification("unread", "spot_collateral_liquidation");
test.each([
  ["cannot be read", { inbox: { ...inbox!, unread: true as const } }, 1e15],
  ["states numbers that no lots have", {}, 1e308],
  ["states text that no lots have", {}, `1${"0".repeat(300)}`],
])(
  "a message about a sale of SOL that %s leaves profit right and finite, also after a restart",
  (_, over, lots) => {
    const before = begunWithSol(withSol(3_000, 60));
    const { slot } = before;
    const told = sale(slot + 3, 40, 5_940);
    const data = { ...(told.data as object), liquidationSize: lots, quoteLotsDeposited: lots };
    readings(before, 1, withSol(3_000 + 5_940, 20));
    before.events("notifications", [{ ...told, ...over, data }]);
    expect(figures(before)).toEqual({ pnl: undefined, netDeposits: 0 });
    const h = restarted(before);
    readings(h, 72, withSol(3_000 + 5_940, 20));
    expect(figures(h)).toEqual({ pnl: -60, netDeposits: 0 });
  },
);

test("SOL that was sold for all that the readings show counts as sold after five minutes without a record", () => {
  const h = begunWithSol(withSol(3_000, 60));
  readings(h, 12, withSol(3_000 + 8_700, 0));
  expect(figures(h).pnl).toBe(undefined);
  readings(h, 60, withSol(3_000 + 8_700, 0));
  expect(figures(h)).toEqual({ pnl: -300, netDeposits: 0 });
});

test("SOL that is withdrawn while as much is deposited is no loss when the deposit is read", () => {
  const h = begunWithSol(withSol(3_000, 60));
  const { slot } = h;
  readings(h, 1, withSol(3_000 + 8_950, 0));
  expect(figures(h).pnl).toBe(undefined);
  h.events(
    "collateral",
    collateralEvents([row(slot + 5, 0, "deposit", 8_950, 11_950)], wallet, h.nowMs, () => {}).filter(
      (one) => one !== null,
    ),
  );
  expect(figures(h)).toEqual({ pnl: 0, netDeposits: -50 });
  expect(h.told).toEqual([]);
});

test("an unknown deposit beside an unknown withdrawal makes profit uncertain in both directions", () => {
  const h = begun([subaccount(10_000, [])]);
  readings(h, 1, [subaccount(14_000, [])]);
  readings(h, 1, [subaccount(11_000, [])]);
  readings(h, 5, [subaccount(11_000, [])]);
  expect(figures(h).pnl).toBe(undefined);
  expect(h.told.sort()).toEqual(["Gain main fired info", "Loss main fired critical"]);
  const open = "a withdrawal, or a loss of $3,000.00; and a deposit, or a profit of $4,000.00";
  expect(h.changes.map(({ alert }) => alert.summary).sort()).toEqual(
    [`pnl $4,000.00 (${open})`, `pnl -$3,000.00 (${open})`].sort(),
  );
});

test.each([
  ["as the history tells it", (one: Event) => one],
  [
    "where the history tells of no direction",
    (one: Event) => ({ ...one, fields: { ...one.fields, amountUsd: null } }),
  ],
  [
    "where the history tells of no direction of the side that received",
    (one: Event) =>
      one.subaccount === 1 ? { ...one, fields: { ...one.fields, amountUsd: null, after: null } } : one,
  ],
])("a profit that is moved into an isolated position at once is no loss, %s", (_, told) => {
  const h = begun([subaccount(10_000, [position(100, 150)])]);
  const { slot } = h;
  const rows = [row(slot + 2, 0, "transfer", 1_500, 10_500), row(slot + 2, 1, "transfer", 1_500, 1_500)];
  const accounts = [subaccount(10_500, []), subaccount(1_500, [position(10, 170)], { subaccount: 1 })];
  // 2,000 USD are realized at 170 before.
  h.pass(5_000);
  h.config();
  h.mark(170);
  h.account(accounts);
  expect(figures(h).pnl).toBeCloseTo(2_000, 0);
  h.events("collateral", translated(rows, h).map(told));
  expect(figures(h).pnl).toBeCloseTo(2_000, 0);
  h.events("fills", [fill(slot + 1, 0, "ask", 100, 170), fill(slot + 3, 1, "bid", 10, 170)]);
  readings(h, 80, accounts, 170);
  expect(figures(h)).toEqual({ pnl: expect.closeTo(2_000, 6), netDeposits: 0 });
  expect(h.told).toEqual([]);
});

test.each([
  ["trades", 100],
  ["does nothing", 0],
])(
  "an account that is given collateral, %s and gives it back, all in the slot of a state, leaves profit known",
  (_, gainUsd) => {
    const accounts = (cashUsd: number) => [subaccount(cashUsd, []), subaccount(0, [], { subaccount: 1 })];
    const h = begun(accounts(10_000));
    h.pass(5_000);
    h.config();
    h.mark(150);
    h.account(accounts(10_000 + gainUsd));
    const { slot } = h;
    const rows = [
      { ...row(slot, 0, "transfer", 4_000, 6_000), slotIndex: 0 },
      { ...row(slot, 1, "transfer", 4_000, 4_000), slotIndex: 0 },
      { ...row(slot, 1, "transfer", 4_000 + gainUsd, 0), slotIndex: 3 },
      { ...row(slot, 0, "transfer", 4_000 + gainUsd, 10_000 + gainUsd), slotIndex: 3 },
    ];
    h.events("collateral", translated(rows, h));
    if (gainUsd > 0) h.events("fills", [fill(slot, 1, "bid", 100, 150), fill(slot, 1, "ask", 100, 151)]);
    expect(figures(h)).toEqual({ pnl: gainUsd, netDeposits: 0 });
    readings(h, 1, accounts(10_000 + gainUsd));
    expect(figures(h)).toEqual({ pnl: gainUsd, netDeposits: 0 });
  },
);

test("a transfer in a stop whose record does not say which way it went is told by the state of before it", () => {
  const accounts = (cashUsd: number) => [subaccount(cashUsd, []), subaccount(0, [], { subaccount: 1 })];
  const before = begun(accounts(10_000));
  const { slot } = before;
  const h = restarted(before);
  h.slot = slot + 10;
  h.pass(5_000);
  h.account(accounts(10_100));
  const rows = [
    row(slot + 2, 0, "transfer", 5_000, 5_000),
    row(slot + 2, 1, "transfer", 5_000, 5_000),
    row(slot + 5, 1, "transfer", 5_100, 0),
    row(slot + 5, 0, "transfer", 5_100, 10_100),
  ];
  const untold = (one: Event) =>
    one.slot === slot + 2 ? { ...one, fields: { ...one.fields, amountUsd: null } } : one;
  h.events("collateral", translated(rows, h).map(untold));
  h.events("fills", [fill(slot + 3, 1, "bid", 100, 150), fill(slot + 4, 1, "ask", 100, 151)]);
  expect(figures(h)).toEqual({ pnl: 100, netDeposits: 0 });
});

test("a transfer within the wallet counts on both sides whatever the rounding of their amounts", () => {
  const h = begun([subaccount(17_696.399384, []), subaccount(3_540.326523, [], { subaccount: 1 })]);
  const { slot } = h;
  h.pass(5_000);
  h.account([subaccount(16_103.72344, []), subaccount(5_133.002467, [], { subaccount: 1 })]);
  const rows = [
    row(slot + 2, 0, "transfer", 1_592.675944, 16_103.72344),
    row(slot + 2, 1, "transfer", 1_592.675944, 5_133.002467),
  ];
  h.events("collateral", translated(rows, h));
  expect(figures(h)).toEqual({ pnl: expect.closeTo(0, 6), netDeposits: expect.closeTo(0, 6) });
  const stored = JSON.parse(h.remembered.keep.get("wallet/main/profit")!) as { readonly open: unknown };
  expect(stored.open).toEqual([]);
});

test.each([
  ["a moment", 5_000, { pnl: -15, netDeposits: 0 }],
  ["an outage", 60_000, { pnl: undefined, netDeposits: 0 }],
] as const)("changes that may be the sides of a transfer are taken for one after %s", (_, ms, expected) => {
  const h = begun([subaccount(10_000, []), subaccount(5_000, [position(100, 150)], { subaccount: 1 })]);
  h.nowMs += ms;
  h.slot += ms / 400;
  h.config();
  h.mark(150);
  // 9,000 USD of the position are sold, and about as much as the one account has more the other has less.
  h.account([subaccount(13_000, []), subaccount(1_985, [position(40, 150)], { subaccount: 1 })]);
  expect(figures(h)).toEqual(expected);
});

test("a deposit is no side of a transfer from an account that was not read for a minute after it", () => {
  const h = begun([subaccount(10_000, []), subaccount(5_000, [position(100, 150)], { subaccount: 1 })]);
  h.pass(2_000);
  h.slot += 5;
  // A stream tells of the one account at once.
  h.see({
    ...{
      kind: "accounts",
      wallet: "main",
      pdaIndex: 0,
      atMs: h.nowMs,
      slot: h.slot,
      slotIndex: 0,
      told: [0],
    },
    subaccounts: [subaccount(13_000, [])],
  });
  expect(figures(h).pnl).toBe(undefined);
  h.nowMs += 60_000;
  h.slot += 150;
  h.config();
  h.mark(150);
  // Meanwhile 60 of the other one were sold, at a price below the current mark.
  h.account([subaccount(13_000, []), subaccount(1_985, [position(40, 150)], { subaccount: 1 })]);
  expect(figures(h).pnl).toBe(undefined);
});

test("a transfer of the slot of the states before it, which are of before it, makes no peak", () => {
  const accounts = (cashUsd: number, isolated: readonly SubaccountState[]) => [
    subaccount(cashUsd, []),
    ...isolated,
  ];
  const h = begun(accounts(10_000, [subaccount(5_000, [position(100, 150)], { subaccount: 1 })]));
  const { slot } = h;
  // It is closed at 151, and all of it is moved.
  const after = accounts(15_100, [subaccount(0, [], { subaccount: 1 })]);
  h.pass(5_000);
  h.config();
  h.mark(151);
  h.account(after);
  h.events("fills", [fill(slot, 1, "ask", 100, 151)]);
  const rows = [row(slot, 1, "transfer", 5_100, 0), row(slot, 0, "transfer", 5_100, 15_100)];
  h.events("collateral", translated(rows, h));
  readings(h, 12, after, 151);
  expect(figures(h)).toEqual({ pnl: 100, netDeposits: 0 });
  expect(h.watch.status(h.nowMs).wallets[0]!.figures.highWaterMark).toBe(100);
});

test("a transfer between accounts that a second state of the slot of a trade shows is no loss", () => {
  const accounts = (cashUsd: number, isolatedUsd: number, size: number) => [
    subaccount(cashUsd, []),
    subaccount(isolatedUsd, [position(size, 150)], { subaccount: 1 }),
  ];
  const h = begun(accounts(10_000, 5_000, 100));
  h.pass(5_000);
  h.config();
  h.mark(150);
  // 40 of 100 are sold at a price that the mark is far from.
  h.account(accounts(10_000, 4_600, 60));
  const { slot } = h;
  h.slot -= 10;
  h.account(accounts(13_000, 1_600, 60));
  expect(h.slot).toBe(slot);
  const rows = [row(slot, 1, "transfer", 3_000, 1_600), row(slot, 0, "transfer", 3_000, 13_000)];
  h.events("collateral", translated(rows, h));
  h.events("fills", [fill(slot, 1, "ask", 40, 140)]);
  expect(figures(h)).toEqual({ pnl: expect.closeTo(-400, 6), netDeposits: 0 });
  readings(h, 12, accounts(13_000, 1_600, 60));
  expect(h.told).toEqual([]);
});

test.each([
  ["the one that tells its direction first", ["payer", "payee", "fill"]],
  ["the one that tells its direction last", ["payee", "payer", "fill"]],
] as const)("the sides of a transfer that are read one after the other both count: %s", (_, order) => {
  const accounts = (cashUsd: number, isolatedUsd: number, size: number) => [
    subaccount(cashUsd, []),
    subaccount(isolatedUsd, [position(size, 150)], { subaccount: 1 }),
  ];
  const h = begun(accounts(10_000, 5_000, 100));
  const { slot } = h;
  // 40 of 100 are sold at a price that the mark is far from, then comes the transfer.
  const after = accounts(7_000, 7_600, 60);
  h.pass(5_000);
  h.config();
  h.mark(150);
  h.account(after);
  const rows = {
    payer: row(slot + 3, 0, "transfer", 3_000, 7_000),
    payee: row(slot + 3, 1, "transfer", 3_000, 7_600),
  };
  const page: CollateralEvent[] = [];
  for (const part of order) {
    h.pass(1_000);
    if (part === "fill") h.events("fills", [fill(slot + 2, 1, "ask", 40, 140)]);
    else {
      page.push(rows[part]);
      const read = collateralEvents(page, wallet, h.nowMs, () => {}).at(-1)!;
      h.events("collateral", [read]);
    }
  }
  expect(figures(h)).toEqual({ pnl: expect.closeTo(-400, 6), netDeposits: 0 });
  readings(h, 12, after);
  expect([h.told, figures(h)]).toEqual([[], { pnl: expect.closeTo(-400, 6), netDeposits: 0 }]);
});

test("a transfer within the wallet of which neither side tells its direction counts on no side", () => {
  const h = begun([subaccount(10_000, [position(100, 150)]), subaccount(3_000, [], { subaccount: 1 })]);
  const { slot } = h;
  // Both sides moved by more than the transfer, and the trades of neither are read yet.
  const accounts = [subaccount(10_900, [position(60, 150)]), subaccount(4_300, [], { subaccount: 1 })];
  h.pass(5_000);
  h.config();
  h.mark(150);
  h.account(accounts);
  const rows = [row(slot + 2, 0, "transfer", 700, 9_300), row(slot + 2, 1, "transfer", 700, 3_700)];
  h.events(
    "collateral",
    translated(rows, h).map((one) => ({ ...one, fields: { ...one.fields, amountUsd: null, after: null } })),
  );
  expect(figures(h).netDeposits).toBe(0);
});

/** The start after a run, a minute later, with answers of these sources in this order. */
function startedAnew(
  before: Harness,
  accounts: readonly SubaccountState[],
  order: readonly ("assets" | "market" | "accounts")[] = ["assets", "market", "accounts"],
): Harness {
  const h = before.restarted({ rules, wallets }, 60_000);
  h.slot = before.slot + 100;
  for (const source of order) {
    if (source === "accounts") h.account(accounts);
    else if (source === "assets") h.see({ kind: "collateralAssets", atMs: h.nowMs, assets: [asset] });
    else {
      h.config();
      h.mark(150);
    }
  }
  return h;
}

describe("an account that holds SOL", () => {
  const paidOut = (h: Harness): Event[] =>
    collateralEvents([row(h.slot - 5, 0, "withdrawal", 3_000, 0)], wallet, h.nowMs, () => {}).filter(
      (one) => one !== null,
    );

  test.each([0, 3_000])("and is emptied and gone with the next answer lost nothing, beside %d USD", (usd) => {
    const h = begunWithSol(withSol(usd, 20));
    h.pass(5_000);
    h.account([]);
    if (usd > 0) {
      expect(figures(h).pnl).toBe(undefined);
      h.events("collateral", paidOut(h));
    }
    expect(figures(h)).toEqual({ pnl: 0, netDeposits: -3_000 - usd });
    readings(h, 12, []);
    expect([h.told, figures(h).pnl]).toEqual([[], 0]);
  });

  test.each([
    [["assets", "market", "accounts"]],
    [["market", "accounts", "assets"]],
    [["accounts", "market", "assets"]],
    [["accounts", "assets", "market"]],
  ] as const)("and is emptied and gone in a stop lost nothing, first answers: %j", (order) => {
    const h = startedAnew(begunWithSol(withSol(0, 20)), [], order);
    h.events("collateral", [], "main", { coversMs: 0 });
    expect(figures(h)).toEqual({ pnl: 0, netDeposits: -3_000 });
    readings(h, 12, []);
    expect([h.told, figures(h).pnl]).toEqual([[], 0]);
  });

  test.each(["between two answers", "in a stop"])("and was opened with it %s won nothing", (when) => {
    const before = begunWithSol([]);
    const accounts = withSol(0, 20);
    let h = before;
    if (when === "in a stop") h = startedAnew(before, accounts);
    else {
      h.pass(5_000);
      h.account(accounts);
    }
    h.events("collateral", [], "main", { coversMs: 0 });
    expect(figures(h)).toEqual({ pnl: 0, netDeposits: 3_000 });
    readings(h, 12, accounts);
    h = startedAnew(h, accounts);
    readings(h, 2, accounts);
    expect([h.told, figures(h)]).toEqual([[], { pnl: 0, netDeposits: 3_000 }]);
  });
});

test.each(["never held anything", "was emptied"])(
  "money that is paid into a wallet in a stop, which %s, is no profit before its record is read",
  (what) => {
    const before = begun(what === "was emptied" ? [subaccount(4_000, [])] : []);
    if (what === "was emptied") {
      before.pass(5_000);
      before.account([]);
      before.events("collateral", translated([row(before.slot - 5, 0, "withdrawal", 4_000, 0)], before));
      expect(figures(before)).toEqual({ pnl: 0, netDeposits: -4_000 });
    }
    const h = startedAnew(before, [subaccount(5_000, [])]);
    expect([figures(h).pnl, h.asks]).toEqual([undefined, ["collateral main", "fills main"]]);
    const paid = collateralEvents([row(h.slot - 5, 0, "deposit", 5_000, 5_000)], wallet, h.nowMs, () => {});
    h.events(
      "collateral",
      paid.filter((one) => one !== null),
      "main",
      { coversMs: 0 },
    );
    expect([figures(h).pnl, h.told]).toEqual([0, []]);
  },
);

test("a record that is read before the market list belongs to the beginning if the first state shows it", () => {
  const h = new Harness({ rules, wallets });
  h.slot = 100;
  h.account([subaccount(10_000, [])]);
  h.events("collateral", translated([row(50, 0, "deposit", 5_000, 15_000)], h), "main", { coversMs: 0 });
  h.config();
  h.mark(150);
  readings(h, 2, [subaccount(10_000, [])]);
  expect(figures(h)).toEqual({ pnl: 0, netDeposits: 0 });
});

test.each([1_000, 1_000_000_000])(
  "many deposits %d slots ahead of the newest state are stored once a reading",
  (ahead) => {
    const h = begun([subaccount(10_000, [])]);
    const deposits = (count: number, fromSlot: number) =>
      translated(
        Array.from({ length: count }, (_, i) => row(fromSlot + i, 0, "deposit", 1, 10_000)),
        h,
      );
    const one = h.events("collateral", deposits(1, h.slot + ahead), "main", { coversMs: 0 });
    const many = h.events("collateral", deposits(500, h.slot + ahead + 1), "main", { coversMs: 0 });
    const names = (changes: typeof one) => changes.keep.map(({ name }) => name).sort();
    expect(names(one).length).toBeGreaterThan(0);
    expect(new Set(names(many)).size).toBe(names(many).length);
    expect(h.events("collateral", [], "main", { coversMs: 0 }).keep).toEqual([]);
    expect(many.keep.some(({ value }) => value?.match(/"kind":"flow"/g)?.length === 501)).toBe(true);
  },
);

describe("two trades of one slot that two states show", () => {
  const bought = { side: "bid", size: 10, price: 160, fee: 1 };
  const sold = { side: "ask", size: 30, price: 140, fee: 2 };
  /** Prices of both are far from the mark. States: size, entry price and cash, USD. */
  const orders = [
    [
      [bought, 110, 16_600 / 110, 9_999] as const,
      [sold, 80, 16_600 / 110, 9_997 + 30 * (140 - 16_600 / 110)] as const,
    ],
    [[sold, 70, 150, 9_698] as const, [bought, 80, 12_100 / 80, 9_697] as const],
  ] as const;

  test.each(
    orders.flatMap((order) => [true, false].map((between) => [order[0][0].side, between, order] as const)),
  )("the first is a %s, and its fill told before the second: %s", (_, between, order) => {
    const h = begun([subaccount(10_000, [position(100, 150)])]);
    h.pass(5_000);
    h.config();
    h.mark(150);
    const slot = h.slot + 10;
    const [one, other] = order.map(([{ side, size, price, fee }]) => fill(slot, 0, side, size, price, fee));
    for (const [index, [, size, entry, cash]] of order.entries()) {
      h.slot = slot - 10;
      h.account([subaccount(cash, [position(size, entry)])]);
      if (between && index === 0) h.events("fills", [one!]);
    }
    h.events("fills", between ? [other!] : [one!, other!]);
    expect(figures(h)).toEqual({ pnl: expect.closeTo(-403, 4), netDeposits: 0 });
    const [, size, entry, cash] = order[1];
    readings(h, 12, [subaccount(cash, [position(size, entry)])]);
    expect(h.told).toEqual([]);
  });
});

/** Another state of the same slot. */
const again = (h: Harness, accounts: readonly SubaccountState[]) =>
  h.see({
    ...{ kind: "accounts", wallet: "main", pdaIndex: 0, atMs: h.nowMs, slot: h.slot, slotIndex: 0 },
    subaccounts: accounts,
  });

describe("a record of the very slot of the newest state, which does not show it yet", () => {
  const deposit = (slot: number) => row(slot, 0, "deposit", 5_000, 15_000);
  const known = { pnl: 0, netDeposits: 0 };
  const shown = { pnl: 0, netDeposits: 5_000 };

  test.each([
    ["the next state", []],
    ["the same state again", ["again"]],
    ["a restart", ["restart"]],
  ] as const)("counts with the state that shows it, after %s", (_, between) => {
    let h = begun([subaccount(10_000, [])]);
    h.events("collateral", translated([deposit(h.slot)], h), "main", { coversMs: 0 });
    expect(figures(h)).toEqual(known);
    for (const what of between) {
      if (what === "again") again(h, [subaccount(10_000, [])]);
      else h = restarted(h);
    }
    h.asks.length = 0;
    readings(h, 3, [subaccount(15_000, [])]);
    expect([h.asks, figures(h), h.told]).toEqual([[], shown, []]);
  });

  test("is in a state of that slot that shows it", () => {
    const h = begun([subaccount(10_000, [])]);
    h.pass(5_000);
    h.account([subaccount(15_000, [])]);
    h.events("collateral", translated([deposit(h.slot)], h), "main", { coversMs: 0 });
    expect(figures(h)).toEqual(shown);
    readings(h, 3, [subaccount(15_000, [])]);
    expect([figures(h), h.told]).toEqual([shown, []]);
  });

  test.each([
    [15_000, 5_000],
    [18_000, 8_000],
  ])("counts beside another one of the next states, read after them: %d", (cash, paid) => {
    const h = begun([subaccount(10_000, [])]);
    const { slot } = h;
    h.pass(5_000);
    h.account([subaccount(cash, [])]);
    // Deposits of 2,000 and 3,000 came in the slot of the state before, after it, and the rest later.
    const later = cash > 15_000 ? [row(slot + 2, 0, "deposit", 3_000, 18_000)] : [];
    const rows = [row(slot, 0, "deposit", 2_000, 12_000), row(slot, 0, "deposit", 3_000, 15_000), ...later];
    for (const [index, one] of rows.entries()) one.slotIndex = index;
    h.events("collateral", translated(rows, h), "main", { coversMs: 0 });
    expect(figures(h)).toEqual({ pnl: 0, netDeposits: paid });
    readings(h, 3, [subaccount(cash, [])]);
    expect([figures(h), h.told]).toEqual([{ pnl: 0, netDeposits: paid }, []]);
  });

  test.each([
    ["a deposit", [5_000]],
    ["two deposits", [2_000, 3_000]],
  ] as const)("is not in a baseline of that slot where another state of it shows %s", (_, amounts) => {
    const h = new Harness({ rules, wallets });
    h.config();
    h.mark(150);
    h.account([subaccount(10_000, [])]);
    h.events("collateral", [], "main", { coversMs: 0 });
    const { slot } = h;
    h.slot -= 10;
    h.account([subaccount(15_000, [])]);
    let afterUsd = 10_000;
    const rows = amounts.map((usd, index) => {
      afterUsd += usd;
      return { ...row(slot, 0, "deposit", usd, afterUsd), slotIndex: index };
    });
    h.events("collateral", translated(rows, h), "main", { coversMs: 0 });
    expect(figures(h)).toEqual(shown);
    readings(h, 3, [subaccount(15_000, [])]);
    expect([figures(h), h.told]).toEqual([shown, []]);
  });

  test("is not in a baseline of that slot where its record comes after the next state", () => {
    const h = new Harness({ rules, wallets });
    h.config();
    h.mark(150);
    h.account([subaccount(10_000, [])]);
    h.events("collateral", [], "main", { coversMs: 0 });
    const { slot } = h;
    h.pass(1_000);
    h.account([subaccount(15_000, [])]);
    h.events("collateral", translated([deposit(slot)], h), "main", { coversMs: 0 });
    expect(figures(h)).toEqual(shown);
    readings(h, 3, [subaccount(15_000, [])]);
    expect([figures(h), h.told]).toEqual([shown, []]);
  });

  test.each([
    ["the next state", false],
    ["a restart", true],
  ])("waits on where a state of its slot shows the one before it, until %s", (_, restart) => {
    let h = begun([subaccount(10_000, [])]);
    const rows = [row(h.slot, 0, "deposit", 1_000, 11_000), row(h.slot, 0, "deposit", 2_000, 13_000)];
    for (const [index, one] of rows.entries()) one.slotIndex = index;
    h.events("collateral", translated(rows, h), "main", { coversMs: 0 });
    again(h, [subaccount(11_000, [])]);
    if (restart) h = restarted(h);
    h.asks.length = 0;
    readings(h, 3, [subaccount(13_000, [])]);
    expect([h.asks, figures(h), h.told]).toEqual([[], { pnl: 0, netDeposits: 3_000 }, []]);
  });

  test("is not in a baseline of that slot", () => {
    const h = new Harness({ rules, wallets });
    h.config();
    h.mark(150);
    h.account([subaccount(10_000, [])]);
    h.events("collateral", translated([deposit(h.slot)], h), "main", { coversMs: 0 });
    readings(h, 3, [subaccount(15_000, [])]);
    expect([figures(h), h.told]).toEqual([shown, []]);
  });
});

test.each([
  ["both states, fills", ["opened", "closed", "fills"]],
  ["a state, fills, the other state", ["opened", "fills", "closed"]],
  ["fills, both states", ["fills", "opened", "closed"]],
] as const)(
  "fills of one slot belong to all changes of it, of which the first explains itself: %s",
  (_, order) => {
    const h = begun([subaccount(10_000, [])]);
    h.pass(5_000);
    h.config();
    // Closed far from the mark, as a deleveraged one is.
    h.mark(250);
    const slot = h.slot + 10;
    for (const part of order) {
      if (part === "opened") h.account([subaccount(9_999, [position(-10, 150)])]);
      else if (part === "closed") again(h, [subaccount(9_799, [])]);
      else {
        const opening = fill(slot, 0, "ask", 10, 150);
        const fills = [{ ...opening, fields: { ...opening.fields, fee: 1 } }, fill(slot, 0, "bid", 10, 170)];
        h.events("fills", fills, "main", { coversMs: 0 });
      }
    }
    expect(figures(h)).toEqual({ pnl: -201, netDeposits: 0 });
    // A flow may be hidden in an estimate: the history is read again, and again.
    readings(h, 5, [subaccount(9_799, [])], 250);
    h.asks.length = 0;
    readings(h, 3, [subaccount(9_799, [])], 250);
    expect([h.asks, figures(h)]).toEqual([[], { pnl: -201, netDeposits: 0 }]);
  },
);

test.each([
  ["fill, state", ["fill", "state"]],
  ["state, fill", ["state", "fill"]],
  ["fill, the same state again, state", ["fill", "again", "state"]],
] as const)("a fill of the very slot of the newest state, which does not show it yet: %s", (_, order) => {
  const h = begun([subaccount(10_000, [position(10, 150)])]);
  const { slot } = h;
  h.pass(1_000);
  for (const part of order) {
    if (part === "fill") h.events("fills", [fill(slot, 0, "ask", 10, 130)], "main", { coversMs: 0 });
    else if (part === "again") again(h, [subaccount(10_000, [position(10, 150)])]);
    else h.account([subaccount(9_800, [])]);
  }
  expect(figures(h)).toEqual({ pnl: -200, netDeposits: 0 });
  readings(h, 3, [subaccount(9_800, [])]);
  h.asks.length = 0;
  readings(h, 3, [subaccount(9_800, [])]);
  expect([h.asks, figures(h)]).toEqual([[], { pnl: -200, netDeposits: 0 }]);
});

test.each([
  ["fills, state", ["fills", "state"]],
  ["state, fills", ["state", "fills"]],
  ["a fill, state, a fill", ["one", "state", "other"]],
] as const)("opposite fills of the slot of the state before explain a change together: %s", (_, order) => {
  const h = begun([subaccount(10_000, [position(-10, 150)])]);
  const { slot } = h;
  h.pass(1_000);
  // 5 are sold at 130, and the 15 bought back at 170.
  const fills = [fill(slot, 0, "ask", 5, 130), fill(slot, 0, "bid", 15, 170)];
  for (const part of order) {
    if (part === "state") h.account([subaccount(9_600, [])]);
    else
      h.events("fills", part === "fills" ? fills : [fills[part === "one" ? 0 : 1]!], "main", { coversMs: 0 });
  }
  expect(figures(h)).toEqual({ pnl: -400, netDeposits: 0 });
  readings(h, 3, [subaccount(9_600, [])]);
  h.asks.length = 0;
  readings(h, 3, [subaccount(9_600, [])]);
  expect([h.asks, figures(h)]).toEqual([[], { pnl: -400, netDeposits: 0 }]);
});

test("a state amid the fills of a slot leaves the last ones to the next change, whatever part of it the first ones explain", () => {
  const h = begun([subaccount(10_000, [])]);
  h.pass(1_000);
  // In one slot 3 and 6 are bought, 1 is sold, and then all the rest, far below the mark.
  h.account([subaccount(9_999, [position(8, 150)])]);
  const { slot } = h;
  h.pass(1_000);
  h.mark(200);
  h.account([subaccount(9_199, [])]);
  const ofSlot = [
    fill(slot, 0, "bid", 3, 150),
    fill(slot, 0, "bid", 6, 150),
    fill(slot, 0, "ask", 1, 149),
    fill(slot, 0, "ask", 8, 50),
  ];
  h.events("fills", ofSlot, "main", { coversMs: 0 });
  expect(figures(h)).toEqual({ pnl: -801, netDeposits: 0 });
});

test.each([
  ["flows, state, fill", ["flows", "state", "fill"]],
  ["fill, flows, state", ["fill", "flows", "state"]],
  ["fill, state, flows", ["fill", "state", "flows"]],
  ["state, flows, fill", ["state", "flows", "fill"]],
  ["state, fill, flows", ["state", "fill", "flows"]],
] as const)(
  "a transfer of what a position left, in the slot of a reading from before both, is neither profit nor loss: %s",
  (_, order) => {
    const h = begun([subaccount(10_000, []), subaccount(1_000, [position(10, 150)], { subaccount: 1 })]);
    const { slot } = h;
    // 10 are sold at 180, far from the mark, and what is left is taken over to the other account at once.
    const rows = [row(slot, 1, "transfer", 1_300, 0), row(slot, 0, "transfer", 1_300, 11_300)];
    for (const part of order) {
      if (part === "flows") {
        h.events("collateral", translated(rows, h), "main", { coversMs: 0 });
      } else if (part === "fill") h.events("fills", [fill(slot, 1, "ask", 10, 180)], "main", { coversMs: 0 });
      else {
        h.pass(1_000);
        h.account([subaccount(11_300, [])]);
      }
    }
    expect(figures(h)).toEqual({ pnl: expect.closeTo(300, 6), netDeposits: 0 });
    readings(h, 12, [subaccount(11_300, [])]);
    expect([figures(h), h.told]).toEqual([{ pnl: expect.closeTo(300, 6), netDeposits: 0 }, []]);
    h.asks.length = 0;
    readings(h, 3, [subaccount(11_300, [])]);
    expect(h.asks).toEqual([]);
  },
);

test.each([
  ["takeover, state", ["takeover", "state"], 0],
  ["state, takeover", ["state", "takeover"], 0],
  ["takeover, another state of the slot", ["takeover", "again"], 0],
  ["another state of the slot, takeover", ["again", "takeover"], 0],
  ["a trade at the mark, takeover, another state of the slot", ["takeover", "again"], 130],
  ["a trade off the mark, takeover, another state of the slot", ["takeover", "again"], 110],
] as const)(
  "a takeover in the very slot of the newest state, which does not show it yet: %s",
  (_, order, tradedAt) => {
    const h = begun([subaccount(10_000, [position(40, 150)])]);
    h.pass(1_000);
    h.mark(130);
    const [units, lossUsd] = tradedAt === 0 ? [40, 0] : [36, (150 - tradedAt) * 4];
    if (tradedAt > 0) h.account([subaccount(10_000 - lossUsd, [position(units, 150)])]);
    const { slot } = h;
    const left = [subaccount(7_000 - lossUsd, [])];
    const fields = {
      ...{ kind: "backstop", role: "liquidatee", side: "long" },
      ...{ size: units, price: 150, notional: units * 150, collateralChange: -3_000 },
    };
    for (const part of order) {
      if (part === "state") h.account(left);
      else if (part === "again") again(h, left);
      else h.events("liquidations", [event({ kind: "liquidation", key: "l1", slot, fields })]);
    }
    if (tradedAt > 0) h.events("fills", [fill(slot, 0, "ask", 4, tradedAt)], "main", { coversMs: 0 });
    expect(figures(h)).toEqual({ pnl: -3_000 - lossUsd, netDeposits: 0 });
  },
);

test.each([
  ["state, takeover, fill", ["state", "takeover", "fill"]],
  ["state, fill, takeover", ["state", "fill", "takeover"]],
  ["takeover, state, fill", ["takeover", "state", "fill"]],
  ["takeover, fill, state", ["takeover", "fill", "state"]],
] as const)("a position that was opened and taken over between two readings: %s", (_, order) => {
  const h = begun([subaccount(10_000, [position(40, 150)])]);
  h.pass(1_000);
  const slot = h.slot + 1;
  const fields = {
    ...{ kind: "backstop", role: "liquidatee", side: "short" },
    ...{ size: 20, price: 150, notional: 3_000, collateralChange: -300 },
  };
  for (const part of order) {
    if (part === "state") h.account([subaccount(9_700, [position(40, 150)])]);
    else if (part === "fill") h.events("fills", [fill(slot, 0, "ask", 20, 150)], "main", { coversMs: 0 });
    else h.events("liquidations", [event({ kind: "liquidation", key: "l1", slot, fields })]);
  }
  expect(h.watch.status(h.nowMs).wallets[0]!.unexplained).toBeUndefined();
  expect(figures(h)).toEqual({ pnl: -300, netDeposits: 0 });
});

describe.each([
  ["in one run", false, "long"],
  ["with a restart after each", true, "long"],
  ["by a record that does not say its side", false, null],
])("a position that two states of one slot show, opened and taken over, %s", (_, restarts, side) => {
  test.each([
    ["opened, taken, takeover, fill", ["opened", "taken", "takeover", "fill"]],
    ["opened, taken, fill, takeover", ["opened", "taken", "fill", "takeover"]],
    ["opened, takeover, taken, fill", ["opened", "takeover", "taken", "fill"]],
    ["opened, fill, takeover, taken", ["opened", "fill", "takeover", "taken"]],
    ["takeover, opened, taken, fill", ["takeover", "opened", "taken", "fill"]],
    ["fill, takeover, opened, taken", ["fill", "takeover", "opened", "taken"]],
  ] as const)("%s", (_, order) => {
    let h = begun([subaccount(1_057, [])]);
    h.pass(1_000);
    const slot = h.slot + 10;
    const fields = {
      ...{ kind: "backstop", role: "liquidatee", side },
      ...{ size: 40, price: 150, notional: 6_000, collateralChange: -1_054 },
    };
    let newest = [subaccount(1_057, [])];
    for (const part of order) {
      if (part === "opened") {
        newest = [subaccount(1_054, [position(40, 150)])];
        h.account(newest);
      } else if (part === "taken") {
        newest = [subaccount(0, [])];
        again(h, newest);
      } else if (part === "fill")
        h.events("fills", [fill(slot, 0, "bid", 40, 150, 3)], "main", { coversMs: 0 });
      else h.events("liquidations", [event({ kind: "liquidation", key: "l1", slot, fields })]);
      if (!restarts) continue;
      h = restarted(h);
      if (part === "taken") again(h, newest);
    }
    if (restarts) h.account(newest);
    expect(h.watch.status(h.nowMs).wallets[0]!.unexplained).toBeUndefined();
    expect(figures(h)).toEqual({ pnl: -1_057, netDeposits: 0 });
  });
});

describe.each([
  ["in its slot", 0, false, "short"],
  ["one slot later", 1, false, "short"],
  ["in its slot, with a restart after each", 0, true, "short"],
  ["one slot later, with a restart after each", 1, true, "short"],
  ["in its slot, by a record that does not say its side", 0, false, null],
  ["one slot later, by a record that does not say its side", 1, false, null],
] as const)(
  "a position that was opened after a reading, in its slot, and taken over %s",
  (_, later, restarts, side) => {
    test.each([
      ["state, takeover, fill", ["state", "takeover", "fill"]],
      ["state, fill, takeover", ["state", "fill", "takeover"]],
      ["takeover, state, fill", ["takeover", "state", "fill"]],
      ["takeover, fill, state", ["takeover", "fill", "state"]],
      ["fill, state, takeover", ["fill", "state", "takeover"]],
      ["fill, takeover, state", ["fill", "takeover", "state"]],
    ] as const)("%s", (_, order) => {
      let h = begun([subaccount(26_246, [])]);
      const { slot } = h;
      h.pass(1_000);
      const fields = {
        ...{ kind: "backstop", role: "liquidatee", side },
        ...{ size: 1_000, price: 150, notional: 150_000, collateralChange: -26_186 },
      };
      for (const part of order) {
        if (part === "state") h.account([subaccount(0, [])]);
        else if (part === "fill")
          h.events("fills", [fill(slot, 0, "ask", 1_000, 150, 60)], "main", { coversMs: 0 });
        else
          h.events("liquidations", [event({ kind: "liquidation", key: "l1", slot: slot + later, fields })]);
        if (restarts) h = restarted(h);
      }
      if (restarts) h.account([subaccount(0, [])]);
      expect(h.watch.status(h.nowMs).wallets[0]!.unexplained).toBeUndefined();
      expect(figures(h)).toEqual({ pnl: -26_246, netDeposits: 0 });
    });
  },
);

test.each([
  ["flow, fill", ["flow", "fill"]],
  ["fill, flow", ["fill", "flow"]],
] as const)(
  "a withdrawal of all that a closed position left, after a state of their slot: %s",
  (_, order) => {
    const h = begun([subaccount(4_500, [position(40, 150)])]);
    h.pass(1_000);
    // As the history of withdrawals is late, the reading that shows the trade is the middle of its slot.
    h.account([subaccount(5_500, [])]);
    const slot = h.slot;
    h.pass(5_000);
    h.account([subaccount(0, [])]);
    for (const part of order) {
      if (part === "fill") h.events("fills", [fill(slot, 0, "ask", 40, 175)], "main", { coversMs: 0 });
      else
        h.events("collateral", translated([row(slot, 0, "withdrawal", 5_500, 0)], h), "main", {
          coversMs: 0,
        });
    }
    expect(h.watch.status(h.nowMs).wallets[0]!.unexplained).toBeUndefined();
    expect(figures(h)).toEqual({ pnl: 1_000, netDeposits: -5_500 });
  },
);

test("a trade in a market that the first list after a stop left out is explained by its fill", () => {
  const before = begun([subaccount(10_000, [position(100, 150)])]);
  const h = before.restarted({ rules, wallets });
  h.slot = before.slot;
  // Its row in the list could not be read.
  h.config({ ...marketConfig("BTC") });
  h.mark(150);
  h.pass(1_000);
  h.account([subaccount(9_000, [])]);
  h.events("fills", [fill(h.slot, 0, "ask", 100, 140)], "main", { coversMs: 0 });
  h.events("collateral", [], "main", { coversMs: 0 });
  h.asks.length = 0;
  readings(h, 3, [subaccount(9_000, [])], 140);
  expect([h.asks, figures(h)]).toEqual([[], { pnl: -1_000, netDeposits: 0 }]);
});

test("a withdrawal that the first reading after a stop shows before the market list is read is no loss of today", () => {
  const beforeMidnightMs = Date.UTC(2026, 0, 6) - 60_000;
  const before = new Harness({ rules, wallets, atMs: beforeMidnightMs });
  before.config();
  before.mark(150);
  before.events("collateral", [], "main", { coversMs: 0 });
  readings(before, 24, [subaccount(10_000, [])]);
  const today = (h: Harness) => h.watch.status(h.nowMs).wallets[0]!.figures.pnlToday;
  expect(today(before)).toBe(0);
  const h = before.restarted({ rules, wallets });
  h.slot = before.slot;
  h.account([subaccount(4_000, [])]);
  h.events("collateral", translated([row(h.slot - 1, 0, "withdrawal", 6_000, 4_000)], h), "main", {
    coversMs: 0,
  });
  expect(today(h)).toBe(undefined);
  readings(h, 2, [subaccount(4_000, [])]);
  expect([today(h), figures(h)]).toEqual([0, { pnl: 0, netDeposits: -6_000 }]);
});

test("what happened in a stop is explained by the first reading of the histories ever, which came after it", () => {
  const before = new Harness({ rules, wallets });
  before.config();
  before.mark(150);
  before.account([subaccount(10_000, [position(10, 150)])]);
  const { slot } = before;
  const h = restarted(before);
  h.slot = slot + 100;
  h.account([subaccount(3_900, [])]);
  const flows = [row(slot - 5, 0, "deposit", 10_000, 10_000), row(slot + 40, 0, "withdrawal", 6_000, 3_900)];
  const old = (events: readonly Event[]) => events.map((one) => ({ ...one, backfilled: true }));
  h.events("collateral", old(translated(flows, h)), "main", { coversMs: 0 });
  h.events("fills", old([fill(slot + 30, 0, "ask", 10, 140)]), "main", { coversMs: 0 });
  readings(h, 3, [subaccount(3_900, [])]);
  expect(figures(h)).toEqual({ pnl: -100, netDeposits: -6_000 });
});

test("funding at the rate of the market, settled with a position that is gone, is no flow", () => {
  const h = begun([subaccount(10_000, [position(40, 150)])]);
  h.pass(1_000);
  h.see({ kind: "fundingRate", symbol: "SOL", atMs: h.nowMs, ratePerHour: 0.0025, exchangeMs: h.nowMs });
  // An hour's funding of 15 USD was paid after the state before, and before all was sold below the mark.
  h.account([subaccount(9_585, [])]);
  h.events("fills", [fill(h.slot, 0, "ask", 40, 140)], "main", { coversMs: 0 });
  readings(h, 1, [subaccount(9_585, [])]);
  expect(figures(h)).toEqual({ pnl: -415, netDeposits: 0 });
});

test("funding of a position that is gone is no flow where the mark fell far after it was paid", () => {
  const h = begun([subaccount(10_000, [position(40, 150)])]);
  h.pass(1_000);
  h.see({ kind: "fundingRate", symbol: "SOL", atMs: h.nowMs, ratePerHour: 0.0025, exchangeMs: h.nowMs });
  // Funding of 30 USD was paid at 150, before all was sold at 130, and the mark fell on.
  h.mark(110);
  h.account([subaccount(9_170, [])]);
  h.events("fills", [fill(h.slot, 0, "ask", 40, 130)], "main", { coversMs: 0 });
  readings(h, 1, [subaccount(9_170, [])], 110);
  expect(figures(h)).toEqual({ pnl: -830, netDeposits: 0 });
});

test("fills of the slot of the state before explain a trade beside a deposit, once that is known", () => {
  const h = begun([subaccount(10_000, [position(10, 150)])]);
  const { slot } = h;
  h.pass(1_000);
  h.account([subaccount(14_800, [])]);
  h.events("fills", [fill(slot, 0, "ask", 10, 130)], "main", { coversMs: 0 });
  h.events("collateral", translated([row(h.slot, 0, "deposit", 5_000, 14_800)], h), "main", { coversMs: 0 });
  expect(figures(h)).toEqual({ pnl: -200, netDeposits: 5_000 });
});
