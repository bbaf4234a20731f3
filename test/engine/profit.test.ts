/** Equity and profit of a wallet: complete, as fresh as its accounts, and moved by no deposit or withdrawal. */
import { expect, test } from "vitest";
import type { SubaccountState } from "../../src/domain/account.ts";
import type { Event } from "../../src/domain/event.ts";
import type { Source } from "../../src/domain/sources.ts";
import { Profit } from "../../src/state/profit/profit.ts";
import {
  event,
  Harness,
  type HarnessOptions,
  mainWallet,
  position,
  prices,
  rulesOf,
  scheduleMs,
  subaccount,
} from "./harness.ts";

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
  const h = Harness.seeing({ rules, wallets }, 150);
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

const second = 1_000;
const calm = (collateralUsd: number) => [subaccount(collateralUsd, [position(100, 150)])];

/** Answers every 5 s, and the collateral history with each of them. */
function live(h: Harness, ms: number, accounts: readonly SubaccountState[], markUsd = 150): void {
  for (let passed = 0; passed < ms; passed += 5_000) {
    h.live(5_000, accounts, markUsd);
    h.events("collateral", []);
  }
}

/** Begins with an equity of 10,000 USD that stands still for a minute. */
function boot(rules: string, over: Partial<HarnessOptions> = {}): Harness {
  const h = new Harness({ rules, ...over });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, minute, calm(10_000));
  expect(h.told).toEqual([]);
  return h;
}

const loss = (when = "wallet.pnl < -300.0") =>
  `rules:\n  - { name: Loss, scope: wallet, when: '${when}', severity: critical, summary: "pnl {{ usd(wallet.pnl) }}" }`;

let rows = 0;
/** A record of the newest answer's slot. */
const flow = (h: Harness, amountUsd: number, slot = h.slot): Event =>
  event({
    kind: "collateral",
    key: `flow${++rows}`,
    symbol: null,
    slot,
    fields: { eventType: amountUsd < 0 ? "withdrawal" : "deposit", amountUsd },
  });
const fill = (h: Harness, side: string, size: number, price: number, fee = 0): Event =>
  event({ kind: "fill", key: `fill${++rows}`, slot: h.slot, fields: { side, size, price, fee } });
const summaries = (h: Harness) => h.changes.map(({ alert }) => alert.summary);

test("a price that makes a loss is notified with it, and the figure is that of the moment", () => {
  const h = boot(loss());
  h.pass(second);
  h.see({ kind: "prices", atMs: h.nowMs, markets: [prices(145)], live: true });
  expect(h.told).toEqual(["Loss main fired critical"]);
  expect(summaries(h)).toEqual(["pnl -$500.00"]);
});

test("a fall within ten minutes is seen in the price that makes it, not with the next answer", () => {
  const h = boot(loss('change("wallet.pnl", "1m") < -300.0 && drawdown("wallet.pnl", "24h") > 0.04'));
  live(h, minute, calm(10_000));
  h.pass(second);
  h.see({ kind: "prices", atMs: h.nowMs, markets: [prices(145)], live: true });
  expect(h.told).toEqual(["Loss main fired critical"]);
});

test.each([
  ["that nothing explains", false],
  ["that the collateral history explains later", true],
])("cents %s, again and again, hide no fall of profit", (_what, recorded) => {
  const drop = 'drawdown("wallet.pnl", "24h") > 0.1 && change("wallet.pnl", "10m") < -400.0';
  const h = boot(loss(drop));
  let usd = 10_000;
  const dust = (ms: number, markUsd: number): void => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      usd = Math.round(usd * 100 + 2) / 100;
      const before = h.slot;
      h.live(5_000, calm(usd), markUsd);
      h.events("collateral", recorded ? [flow(h, 0.02, before)] : []);
    }
  };
  dust(10 * minute, 165);
  expect(h.told).toEqual([]);
  dust(minute, 150);
  expect(h.told).toEqual(["Loss main fired critical"]);
});

test("a trade is no flow: what it lost is known with the state that shows it", () => {
  const h = boot(loss());
  h.pass(second);
  h.mark(145);
  expect(h.told).toEqual(["Loss main fired critical"]);
  // Closed at 145.2, with its fee.
  h.account([subaccount(10_000 - 480 - 5.1, [])]);
  expect(figure(h, "pnl")).toBeCloseTo(-485.1, 6);
});

const closed = (collateralUsd: number) => [subaccount(collateralUsd, [])];

test.each([
  ["paid in beside a trade that closes a position", 90, (usd: number) => closed(9_500 + usd), 145],
  ["paid out beside a trade that closes a position", -90, (usd: number) => closed(9_500 + usd), 145],
  [
    "paid in beside a trade that opens one",
    20,
    (usd: number) => [subaccount(10_000 + usd, [position(200, 150)])],
    150,
  ],
])(
  "money %s counts with the collateral history, which is read with the fills at once, after five and twenty seconds, and when none can be late",
  (_, usd, after, markUsd) => {
    const h = boot(loss("wallet.pnl > 100.0"));
    const asked = () => h.asks.filter((one) => one === "collateral main").length;
    h.pass(second);
    h.mark(markUsd);
    h.account(after(usd));
    expect(h.asks).toEqual(["collateral main", "fills main"]);
    const before = figure(h, "pnl") as number;
    h.events("collateral", []);
    h.pass(5 * second);
    expect(h.asks).toEqual(["collateral main", "fills main", "collateral main", "fills main"]);
    h.events("collateral", [flow(h, usd)]);
    expect(figure(h, "pnl")).toBeCloseTo(before - usd, 6);
    expect(figure(h, "netDeposits")).toBe(usd);
    for (const [ms, times] of [
      [14 * second, 2],
      [second, 3],
      [104 * second, 3],
      [second, 4],
      [10 * minute, 4],
    ] as const) {
      h.pass(ms);
      expect(asked()).toBe(times);
    }
  },
);

test("one trade a second has the histories read every five seconds, and four times after the last one at most", () => {
  const h = boot(loss());
  let usd = 10_000;
  for (let i = 0; i < 60; i++) {
    h.pass(second);
    usd -= 4.5;
    h.account([subaccount(usd, [position(i % 2 === 0 ? 190 : 100, 150)])]);
  }
  expect(figure(h, "pnl")).toBeCloseTo(usd - 10_000, 6);
  expect([...new Set(h.asks)]).toEqual(["collateral main", "fills main"]);
  expect(h.asks.length).toBe(24);
  h.pass(3 * minute);
  expect(h.asks.length).toBe(32);
});

test("no history is read at once for a trade whose estimate hides less than a thousandth of equity", () => {
  const h = boot(loss());
  h.pass(second);
  h.account([subaccount(9_999.75, [position(91, 150)])]);
  h.pass(second);
  // Their fills are known.
  h.events("fills", [{ ...fill(h, "ask", 91, 150, 0.25), slot: h.slot + 10 }]);
  h.account(closed(9_999.5));
  expect([figure(h, "pnl"), h.asks]).toEqual([-0.5, []]);
});

test("a withdrawal whose record is late is reported as what it may be, and ends as what it was", () => {
  const h = boot(loss());
  h.pass(second);
  h.account(calm(9_000));
  expect(figure(h, "pnl")).toBe(undefined);
  expect(h.asks).toEqual(["collateral main", "fills main"]);
  live(h, 5 * second, calm(9_000));
  expect(h.told).toEqual([]);
  expect(h.asks.filter((one) => one === "collateral main").length).toBeGreaterThan(2);
  const slot = h.slot - 10;
  live(h, minute, calm(9_000));
  expect(h.told).toEqual(["Loss main fired critical"]);
  expect(h.changes[0]!.atMs - startOf(h)).toBeLessThan(11 * second);
  expect(summaries(h)).toEqual(["pnl -$1,000.00 (a withdrawal, or a loss of $1,000.00)"]);
  h.events("collateral", [flow(h, -1_000, slot)]);
  expect(h.told.at(-1)).toBe("Loss main ended critical explained");
  expect(summaries(h).at(-1)).toBe("main: a withdrawal of $1,000.00, no loss");
  expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([0, -1_000]);
  h.asks.length = 0;
  live(h, minute, calm(9_000));
  expect(h.asks).toEqual([]);
  expect(h.told.length).toBe(2);
});

/** The time at which the change of collateral was seen. */
function startOf(h: Harness): number {
  return h.changes[0]!.alert.sinceMs;
}

test("a withdrawal that is explained while its rule cannot look back ends as what it was", () => {
  const h = boot(loss('change("wallet.pnl", "30s") < -300.0'));
  h.pass(second);
  h.account(calm(9_000));
  const slot = h.slot;
  // Nothing that may be no profit is looked back at: after 45 s there is nothing left.
  live(h, 2 * minute, calm(9_000));
  expect(h.told).toEqual(["Loss main fired critical"]);
  h.events("collateral", [flow(h, -1_000, slot)]);
  expect(h.told.length).toBe(1);
  live(h, 40 * second, calm(9_000));
  expect(h.told.slice(1)).toEqual(["Loss main ended critical explained"]);
  expect(summaries(h).at(-1)).toBe("main: a withdrawal of $1,000.00, no loss");
});

test.each(["nothing", "prices", "a reload", "a restart"])(
  "time in which a withdrawal might have been a loss counts for no loss after it, explained while nothing was read, with %s then",
  (meanwhile) => {
    const rules = loss().replace("severity", "for: 1m, severity");
    let h = boot(rules);
    h.pass(second);
    h.account(calm(9_000));
    const slot = h.slot;
    live(h, 40 * second, calm(9_000));
    // Positions are too old by then.
    const wait = (seconds: number): void => {
      for (let i = 0; i < seconds; i++) {
        h.pass(second);
        if (meanwhile === "prices") h.mark(150);
      }
    };
    wait(30);
    if (meanwhile === "a reload") h.reload({ rules });
    if (meanwhile === "a restart") h = h.restarted({ rules });
    h.events("collateral", [flow(h, -1_000, slot)]);
    wait(5);
    live(h, 45 * second, calm(9_000), 145);
    expect(h.told).toEqual([]);
    live(h, 25 * second, calm(9_000), 145);
    expect(h.told).toEqual(["Loss main fired critical"]);
  },
);

test.each(["nothing", "a restart"])(
  "time in which a loss held in any case counts, whatever a withdrawal beside it might have been, with %s then",
  (meanwhile) => {
    const rules = `rules:
  - name: Loss
    scope: wallet
    value: wallet.pnl
    levels: { warning: { when: value < -300.0 }, critical: { when: value < -2000.0 } }
    for: 90s
    summary: "pnl {{ usd(wallet.pnl) }}"`;
    let h = boot(rules);
    live(h, 30 * second, calm(10_000), 144);
    h.account(calm(8_000));
    const slot = h.slot;
    live(h, 20 * second, calm(8_000), 144);
    for (let i = 0; i < 30; i++) h.pass(second);
    if (meanwhile === "a restart") h = h.restarted({ rules });
    h.events("collateral", [flow(h, -2_000, slot)]);
    live(h, 60 * second, calm(8_000), 144);
    expect(h.told).toEqual(["Loss main fired warning"]);
  },
);

test.each([4_000, -4_000])(
  "a flow of %d USD in the slot of a state from before it waits for a state that shows it",
  (usd) => {
    const h = boot(loss());
    h.pass(second);
    const before = figure(h, "netDeposits");
    const one = flow(h, usd);
    h.events("collateral", [{ ...one, fields: { ...one.fields, after: 10_000 + usd } }]);
    expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([0, before]);
    h.pass(second);
    h.account(calm(10_000 + usd));
    expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([0, usd]);
    live(h, 2 * minute, calm(10_000 + usd));
    expect([h.told, h.asks]).toEqual([[], []]);
  },
);

test("a flow in the slot of the state that shows it counts with it, whichever is read first", () => {
  const h = boot(loss());
  h.pass(second);
  h.events("collateral", [flow(h, 500, h.slot + 10)]);
  h.account(calm(10_500));
  expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([0, 500]);
  h.pass(second);
  h.account(calm(11_000));
  h.events("collateral", [flow(h, 500)]);
  expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([0, 1_000]);
  live(h, minute, calm(11_000));
  expect([figure(h, "pnl"), figure(h, "netDeposits"), h.told]).toEqual([0, 1_000, []]);
});

test("a loss in a window that begins after the start was not already so", () => {
  const h = new Harness({ rules: loss('change("wallet.pnl", "30s") < -300.0') });
  h.events("collateral", [], "main", { coversMs: 0 });
  live(h, 20 * second, calm(10_000));
  live(h, 15 * second, calm(10_000), 145);
  expect(h.changes.map(({ kind, alert }) => [kind, alert.alreadySo])).toEqual([["fired", false]]);
});

test("a withdrawal whose record comes within ten seconds is reported to nobody", () => {
  const h = boot(loss());
  h.pass(second);
  h.account(calm(9_000));
  const slot = h.slot;
  live(h, 5 * second, calm(9_000));
  h.events("collateral", [flow(h, -1_000, slot)]);
  live(h, minute, calm(9_000));
  expect([h.told, figure(h, "pnl")]).toEqual([[], 0]);
});

test("a fall is measured against the equity of the peak, although prices fall and money leaves in the same minute", () => {
  const h = boot(
    `rules:\n  - { name: Fall, scope: wallet, value: 'drawdown("wallet.pnl", "24h")', when: value > 0.05, severity: warning, summary: "{{ percent(value) }}" }`,
  );
  // The peak: 100 SOL at 187.50.
  live(h, 15 * second, calm(10_000), 187.5);
  live(h, 10 * second, calm(10_000), 180);
  h.account(calm(8_000));
  const slot = h.slot;
  h.events("collateral", [flow(h, -2_000, slot)]);
  live(h, 10 * second, calm(8_000), 180);
  expect(figure(h, "pnl")).toBe(3_000);
  live(h, 2 * minute, calm(8_000), 150);
  expect(h.told).toEqual(["Fall main fired warning", "Fall main worsened warning"]);
  expect(summaries(h)).toEqual(["5.45%", "27.3%"]);
  const [status] = h.watch.status(h.nowMs).firing;
  expect(status!.value).toBeCloseTo(3_750 / 13_750, 9);
});

test("a deposit whose record is late makes no peak and no drawdown", () => {
  const rules = loss(
    'drawdown("wallet.pnl", "24h") > 0.05 || wallet.pnl < -300.0 || wallet.highWaterMark > 0.0',
  );
  const h = boot(rules.replace("wallet.highWaterMark > 0.0", "wallet.pnl > 5000.0"));
  h.pass(second);
  h.account(calm(14_000));
  const slot = h.slot;
  live(h, 70 * second, calm(14_000));
  h.events("collateral", [flow(h, 4_000, slot)]);
  live(h, 2 * minute, calm(14_000));
  expect([h.told, figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([[], 0, 0]);
});

test("a loss that stands is not resolved by money that may have been paid in", () => {
  const h = boot(loss());
  live(h, 10 * second, calm(10_000), 145);
  expect(h.told).toEqual(["Loss main fired critical"]);
  h.pass(second);
  h.account(calm(10_400));
  const slot = h.slot;
  live(h, 2 * minute, calm(10_400), 145);
  h.events("collateral", [flow(h, 400, slot)]);
  live(h, 2 * minute, calm(10_400), 145);
  expect(h.told).toEqual(["Loss main fired critical"]);
  expect(figure(h, "pnl")).toBe(-500);
});

test("an explanation shows both ends while a change of collateral is open", () => {
  const h = boot(loss());
  const explained = () => {
    const answer = h.watch.explain("Loss", "main", h.nowMs);
    if (answer.kind !== "explained") throw new Error(answer.kind);
    const { unknown, unexplained, parts } = answer.explanation;
    return { unknown, unexplained, parts: parts.map(({ text, value }) => `${text} = ${value}`) };
  };
  h.pass(second);
  h.mark(149);
  const known = {
    unknown: null,
    unexplained: null,
    parts: ["wallet.pnl < -300.0 = false", "wallet.pnl = -$100.00"],
  };
  expect(explained()).toEqual(known);
  h.account(calm(9_500));
  expect(explained()).toEqual({
    unknown: null,
    unexplained: "a withdrawal, or a loss of $500.00",
    parts: ["wallet.pnl < -300.0 = false or true", "wallet.pnl = -$100.00 or -$600.00"],
  });
  // Asking changes nothing.
  expect(figure(h, "pnl")).toBe(undefined);
  h.events("collateral", [flow(h, -500)]);
  expect(explained()).toEqual(known);
});

test("what holds at both ends is reported at once, and says what is not explained", () => {
  const h = boot(loss());
  h.pass(second);
  h.account(calm(9_500));
  expect(h.told).toEqual([]);
  h.mark(145);
  expect(h.told).toEqual(["Loss main fired critical"]);
  expect(h.changes[0]!.alert.summary).toBe("pnl -$500.00 (not counting a withdrawal, or a loss of $500.00)");
  expect(h.changes[0]!.alert.description).toBe("Not explained yet: a withdrawal, or a loss of $500.00. ");
});

test("a text whose figures are others at the other end says so, though the value is the same at both", () => {
  const h = boot(
    `rules:\n  - { name: R, scope: wallet, value: 'min(-wallet.pnl, 300.0)', when: 'value >= 300.0', severity: info, summary: "lost {{ usd(value) }}", description: "PnL {{ usd(wallet.pnl) }}." }`,
  );
  h.pass(second);
  h.account(calm(9_500));
  h.mark(145);
  expect(h.told).toEqual(["R main fired info"]);
  const { summary, description } = h.changes[0]!.alert;
  expect(summary).toBe("lost $300.00 (not counting a withdrawal, or a loss of $500.00)");
  expect(description).toBe("Not explained yet: a withdrawal, or a loss of $500.00. PnL -$500.00.");
});

test.each([
  [
    "a loss, while money came in",
    "wallet.pnl < -300.0",
    10_200,
    140,
    "-$800.00 (counting a deposit, or a profit of $200.00)",
  ],
  [
    "a loss, while money left",
    "wallet.pnl < -300.0",
    9_800,
    140,
    "-$1,000.00 (not counting a withdrawal, or a loss of $200.00)",
  ],
  [
    "a profit, while money came in",
    "wallet.pnl > 300.0",
    10_200,
    160,
    "$1,000.00 (not counting a deposit, or a profit of $200.00)",
  ],
  [
    "a profit, while money left",
    "wallet.pnl > 300.0",
    9_800,
    160,
    "$800.00 (counting a withdrawal, or a loss of $200.00)",
  ],
])(
  "of what holds at both ends the figure is the milder one, which is named: %s",
  (_, when, collateralUsd, markUsd, told) => {
    const value = when.split(" ")[0]!;
    const h = boot(
      `rules:\n  - { name: R, scope: wallet, value: '${value}', when: '${when.replace(value, "value")}', severity: info, summary: "{{ usd(value) }}" }`,
    );
    h.pass(second);
    h.account(calm(collateralUsd));
    h.mark(markUsd);
    expect(h.told).toEqual(["R main fired info"]);
    expect(summaries(h)).toEqual([told]);
    expect(h.watch.status(h.nowMs).firing[0]!.summary).toBe(told);
  },
);

test.each([
  ["before it is reported", 5 * second, "pnl -$500.00"],
  [
    "after it was reported as what it may be",
    30 * second,
    "pnl -$500.00 (a withdrawal, or a loss of $500.00)",
  ],
])("fills that explain a change make it a loss, %s", (_, lateMs, summary) => {
  const h = boot(loss());
  h.pass(second);
  // Bought and sold again between two answers.
  h.account(calm(9_500));
  const round = [fill(h, "bid", 100, 150), fill(h, "ask", 100, 145)];
  live(h, lateMs, calm(9_500));
  h.events("fills", round);
  live(h, 10 * second, calm(9_500));
  expect([h.told, summaries(h)]).toEqual([["Loss main fired critical"], [summary]]);
  expect(figure(h, "pnl")).toBe(-500);
});

test("a takeover by the liquidator is a loss, with the part that it kept", () => {
  const h = boot(loss());
  h.pass(second);
  h.mark(145);
  h.account([subaccount(10_000 - 500 - 145, [])]);
  expect([h.told, figure(h, "pnl")]).toEqual([["Loss main fired critical"], undefined]);
  h.events("liquidations", [
    event({ kind: "liquidation", key: "l1", slot: h.slot, fields: { kind: "backstop", role: "liquidatee" } }),
  ]);
  expect(figure(h, "pnl")).toBe(-645);
  // A withdrawal beside it may be hidden in what the liquidator keeps.
  h.asks.length = 0;
  h.pass(2 * second);
  expect(h.asks).toEqual(["collateral main", "fills main"]);
});

test("a takeover whose record states the change of collateral is a loss, however far the mark had fallen", () => {
  const h = boot(loss());
  h.pass(second);
  h.mark(145);
  h.account([subaccount(10_000 - 2_000, [])]);
  expect([h.told, figure(h, "pnl")]).toEqual([["Loss main fired critical"], undefined]);
  const fields = {
    ...{ kind: "backstop", role: "liquidatee", side: "long" },
    ...{ size: 100, price: 150, notional: 15_000, collateralChange: -2_000 },
  };
  h.events("liquidations", [event({ kind: "liquidation", key: "l1", slot: h.slot, fields })]);
  expect(figure(h, "pnl")).toBe(-2_000);
});

test("a withdrawal beside an auto-deleveraging is none of its loss, however near it comes to an estimate of it", () => {
  const h = boot(loss());
  h.pass(second);
  h.mark(145);
  // Closed at the mark: 500 are lost, and 600 withdrawn.
  h.account([subaccount(10_000 - 500 - 600, [])]);
  h.events("liquidations", [
    event({ kind: "liquidation", key: "l1", slot: h.slot, fields: { kind: "adl", role: "atLoss" } }),
  ]);
  expect(figure(h, "pnl")).toBe(undefined);
  h.events("fills", [fill(h, "ask", 100, 145)]);
  expect(figure(h, "pnl")).toBe(undefined);
  h.events("collateral", [flow(h, -600)]);
  expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([-500, -600]);
});

test.each(["market", "backstop"])("money that is paid in beside a liquidation (%s) is no profit", (kind) => {
  const h = boot(loss("wallet.pnl > 300.0"));
  h.pass(second);
  h.events("liquidations", [
    event({ kind: "liquidation", key: "l2", slot: h.slot + 10, fields: { kind, role: "liquidatee" } }),
  ]);
  h.account([subaccount(10_500, [])]);
  expect(figure(h, "pnl")).toBe(undefined);
  h.events("collateral", [flow(h, 500)]);
  expect([figure(h, "pnl"), figure(h, "netDeposits"), h.told]).toEqual([0, 500, []]);
});

test("a change that the history does not explain for five minutes is profit or loss", () => {
  const h = boot(loss());
  h.pass(second);
  h.account(calm(9_000));
  live(h, 4 * minute, calm(9_000));
  expect(figure(h, "pnl")).toBe(undefined);
  live(h, 2 * minute, calm(9_000));
  expect(figure(h, "pnl")).toBe(-1_000);
  // Nobody acknowledged it.
  expect(h.told).toEqual(["Loss main fired critical", "Loss main reminder critical"]);
  expect(summaries(h).at(-1)).toBe("pnl -$1,000.00");
  // The record comes all the same.
  h.events("collateral", [flow(h, -1_000, h.slot - 700)]);
  expect(figure(h, "pnl")).toBe(0);
});

test.each(["", " with a restart in it"])(
  "time in which the history was not read is none of those five minutes%s",
  (restart) => {
    let h = boot(loss("wallet.pnl < -300.0 && wallet.pnl > -1200.0"));
    h.account(calm(9_000));
    const slot = h.slot;
    live(h, minute, calm(9_000));
    h.live(5 * minute, calm(9_000), 150);
    if (restart !== "") {
      const { remembered, nowMs: atMs } = h;
      h = new Harness({ rules: loss("wallet.pnl < -300.0 && wallet.pnl > -1200.0"), remembered, atMs });
      h.slot = slot + 1_000;
    }
    live(h, 3 * minute, calm(9_000));
    expect(figure(h, "pnl")).toBe(undefined);
    h.events("collateral", [flow(h, -1_000, slot)]);
    expect(figure(h, "pnl")).toBe(0);
    expect(h.told.at(-1)).toBe("Loss main ended critical explained");
  },
);

test("a position's rule that reads profit is judged at both ends, too", () => {
  const h = boot(
    'rules:\n  - { name: R, scope: position, when: "wallet.pnl < -300.0", severity: info, summary: "{{ usd(wallet.pnl) }}" }',
  );
  h.pass(second);
  h.account(calm(9_000));
  live(h, 15 * second, calm(9_000));
  expect(h.told).toEqual(["R main/0.0/SOL fired info"]);
  expect(summaries(h)).toEqual(["-$1,000.00 (a withdrawal, or a loss of $1,000.00)"]);
});

test("nothing that may not be profit enters history", () => {
  const h = boot(loss('change("wallet.pnl", "1m") < -300.0'));
  h.pass(second);
  const tick = h.account(calm(9_000)).ticks.find(({ owner }) => owner === "main")!;
  expect(tick.values[tick.series.indexOf("wallet.equity")]).toBe(9_000);
  expect(tick.values[tick.series.indexOf("wallet.pnl")]).toBe(Number.NaN);
});

test("a stop with a withdrawal in it loses nothing, and neither does one while a change is open", () => {
  const before = boot(loss());
  const start = (from: Harness, rules = loss()): Harness => {
    const h = from.restarted({ rules }, minute);
    h.slot = from.slot + 100;
    h.config();
    h.mark(150);
    h.account(calm(9_000));
    h.events("collateral", [], "main", { coversMs: 0 });
    return h;
  };
  const h = start(before);
  expect([h.told, figure(h, "pnl")]).toEqual([[], undefined]);
  const again = start(h);
  expect([again.told, figure(again, "pnl")]).toEqual([[], undefined]);
  again.events("collateral", [flow(again, -1_000, before.slot + 50)]);
  expect([again.told, figure(again, "pnl"), figure(again, "netDeposits")]).toEqual([[], 0, -1_000]);
  const settled = start(again);
  live(settled, minute, calm(9_000));
  expect([settled.told, figure(settled, "pnl")]).toEqual([[], 0]);
});

test.each([
  ["account", "prices", "config"],
  ["account", "config", "prices"],
  ["prices", "account", "config"],
  ["config", "account", "prices"],
  ["config", "prices", "account"],
])("profit goes on after a stop with the last of the first answers: %s, %s, %s", (...order) => {
  const before = boot(loss());
  const h = before.restarted({ rules: loss() }, minute);
  h.slot = before.slot + 100;
  const answers: Record<string, () => void> = {
    account: () => h.account(calm(9_000)),
    prices: () => h.mark(145),
    config: () => h.config(),
  };
  h.events("collateral", [flow(h, -1_000, before.slot + 50)]);
  for (const [index, name] of order.entries()) {
    expect([index, figure(h, "pnl"), h.told]).toEqual([index, undefined, []]);
    answers[name]!();
  }
  expect([figure(h, "pnl"), h.told]).toEqual([-500, ["Loss main fired critical"]]);
});

test("a withdrawal during a stop is open with the market list that follows its account", () => {
  const before = boot(loss());
  const h = before.restarted({ rules: loss() }, minute);
  h.slot = before.slot + 100;
  h.account(calm(9_000));
  h.mark(150);
  expect(h.asks).toEqual([]);
  h.config();
  expect([h.asks, figure(h, "pnl")]).toEqual([["collateral main", "fills main"], undefined]);
  const slot = h.slot - 50;
  live(h, 5 * second, calm(9_000));
  h.events("collateral", [flow(h, -1_000, slot)]);
  live(h, minute, calm(9_000));
  expect([h.told, figure(h, "pnl")]).toEqual([[], 0]);
});

test("a deposit that was seen just before a stop, and before the market list, is no profit", () => {
  const before = boot(loss("wallet.pnl > 300.0"));
  const start = (from: Harness): Harness => {
    const h = new Harness({
      rules: loss("wallet.pnl > 300.0"),
      remembered: from.remembered,
      atMs: from.nowMs + minute,
    });
    h.slot = from.slot + 100;
    h.account(calm(11_000));
    return h;
  };
  const h = start(start(before));
  h.mark(150);
  h.config();
  h.events("collateral", [], "main", { coversMs: 0 });
  expect([h.told, figure(h, "pnl")]).toEqual([[], undefined]);
  h.events("collateral", [flow(h, 1_000, before.slot + 50)]);
  live(h, minute, calm(11_000));
  expect([h.told, figure(h, "pnl")]).toEqual([[], 0]);
  // It is told no second time.
  const settled = start(h);
  live(settled, minute, calm(11_000));
  expect([settled.told, figure(settled, "pnl")]).toEqual([[], 0]);
});

test.each(["before a stop", "during a stop"])(
  "an account that was closed with its withdrawal %s is no loss after the next",
  (when) => {
    const other = subaccount(1_000, [], { subaccount: 1 });
    const start = (from: Harness, accounts: readonly SubaccountState[]): Harness => {
      const h = new Harness({ rules: loss(), remembered: from.remembered, atMs: from.nowMs + minute });
      h.slot = from.slot + 100;
      h.config();
      h.mark(150);
      h.account(accounts);
      return h;
    };
    let h = new Harness({ rules: loss() });
    h.events("collateral", [], "main", { coversMs: 0 });
    live(h, minute, [...calm(10_000), other]);
    if (when === "before a stop") h.account(calm(10_000));
    else h = start(h, calm(10_000));
    const paid = flow(h, -1_000);
    h.events("collateral", [{ ...paid, subaccount: 1 }]);
    expect([h.told, figure(h, "pnl")]).toEqual([[], 0]);
    h = start(h, calm(10_000));
    live(h, minute, calm(10_000));
    expect([h.told, figure(h, "pnl")]).toEqual([[], 0]);
  },
);

test("what may be a withdrawal is reported where answers are slower than they count", () => {
  const h = boot(`${loss().slice(0, -2)}, staleAfter: 8s }`);
  live(h, 5 * second, calm(9_000));
  h.pass(12 * second);
  h.config();
  h.mark(150);
  h.account(calm(9_000));
  h.events("collateral", []);
  h.pass(second);
  expect(h.told).toEqual([]);
  h.pass(second);
  expect(h.told).toEqual(["Loss main fired critical"]);
});

test("a record that a state showed before a stop is taken no second time after it", () => {
  const before = boot(loss("wallet.pnl < -300.0 || wallet.pnl > 300.0"));
  before.events("collateral", [flow(before, 1_000, before.slot + 5)]);
  before.account(calm(11_000));
  expect(figure(before, "pnl")).toBe(0);
  const h = new Harness({
    rules: loss("wallet.pnl < -300.0 || wallet.pnl > 300.0"),
    remembered: before.remembered,
    atMs: before.nowMs + minute,
  });
  h.slot = before.slot + 100;
  h.config();
  h.mark(150);
  h.account(calm(11_000));
  expect([h.told, figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([[], 0, 1_000]);
});

test("a record that came before the state that shows it is remembered over a stop", () => {
  const before = boot(loss());
  before.events("collateral", [flow(before, -1_000, before.slot + 5)]);
  expect(figure(before, "pnl")).toBe(0);
  const h = before.restarted({ rules: loss() }, minute);
  h.slot = before.slot + 100;
  h.config();
  h.mark(150);
  h.account(calm(9_000));
  h.events("collateral", []);
  expect([h.told, figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([[], 0, -1_000]);
});

test.each([
  ["nothing", 10_000],
  ["a part of it", 10_400],
])("a deposit of which %s is left when it is seen is no loss before the withdrawal is recorded", (_, usd) => {
  const h = boot(loss());
  h.events("collateral", [flow(h, 1_000, h.slot + 5)]);
  h.account(calm(usd));
  expect([h.told, figure(h, "pnl")]).toEqual([[], undefined]);
  live(h, 5 * second, calm(usd));
  h.events("collateral", [flow(h, usd - 11_000, h.slot - 11)]);
  live(h, minute, calm(usd));
  expect([h.told, figure(h, "pnl")]).toEqual([[], 0]);
});

test("the profit of today has the same two ends, and so has the sum over a book", () => {
  const rules = `rules:
  - { name: Today, scope: wallet, when: wallet.pnlToday < -300.0, severity: warning, summary: "{{ usd(wallet.pnlToday) }}" }
  - { name: Desk, scope: book, by: none, when: book.pnlToday < -300.0, severity: warning, summary: "{{ usd(book.pnlToday) }}" }`;
  const wallets = [{ ...mainWallet, pdaIndices: [0] }];
  const atMs = Date.UTC(2026, 0, 6) - 90 * second;
  const h = boot(rules, { rules: rulesOf(rules, wallets), wallets, atMs });
  live(h, 2 * minute, calm(10_000));
  expect(figure(h, "pnlToday")).toBe(0);
  h.pass(second);
  h.account(calm(9_000));
  const slot = h.slot;
  expect(figure(h, "pnlToday")).toBe(undefined);
  live(h, 15 * second, calm(9_000));
  expect(h.told.sort()).toEqual(["Desk book/Desk fired warning", "Today main fired warning"]);
  expect(new Set(summaries(h))).toEqual(new Set(["-$1,000.00 (a withdrawal, or a loss of $1,000.00)"]));
  h.events("collateral", [flow(h, -1_000, slot)]);
  expect(h.told.slice(2).sort()).toEqual([
    "Desk book/Desk ended warning explained",
    "Today main ended warning explained",
  ]);
  expect(figure(h, "pnlToday")).toBe(0);
});

test("a withdrawal before midnight that is explained after it is none of today's", () => {
  const wallets = [{ ...mainWallet, pdaIndices: [0] }];
  const midnight = Date.UTC(2026, 0, 6);
  const rules = rulesOf(loss("wallet.pnlToday < -300.0").replace(/ }$/, ", noData: keep }"), wallets);
  const h = boot(loss(), { rules, wallets, atMs: midnight - 65 * second });
  h.pass(second);
  h.account(calm(9_000));
  const slot = h.slot;
  live(h, 30 * second, calm(9_000));
  expect(h.nowMs).toBeGreaterThan(midnight);
  h.events("collateral", [{ ...flow(h, -1_000, slot), happenedMs: midnight - 4 * second }]);
  live(h, minute, calm(9_000));
  expect([h.told, figure(h, "pnlToday")]).toEqual([[], 0]);
});

const two = [{ ...mainWallet, pdaIndices: [0, 1] }];
const stored = (profit: object) => {
  const none = new Harness({ rules: loss() }).remembered;
  return { ...none, keep: new Map([["wallet/main/profit", JSON.stringify(profit)]]) };
};

function bothRead(h: Harness, one: number, other: number): void {
  h.config();
  h.mark(150);
  answer(h, 0, one);
  h.events("collateral", []);
  expect(figure(h, "pnl")).toBe(undefined);
  h.pass(20 * second);
  h.config();
  h.mark(150);
  answer(h, 0, one);
  answer(h, 1, other);
  h.events("collateral", []);
}

test.each([
  ["lacks an index is repaired", { baselineUsd: 1_000, highUsd: 1_510 }, 20, 0],
  ["is whole stays as it is", { baselineUsd: 2_400, highUsd: 150 }, 120, 150],
  ["is whole and much too low stays as it is", { baselineUsd: 500, highUsd: 3_000 }, 2_020, 3_000],
])("a baseline that an earlier version stored and that %s", (_, kept, pnl, high) => {
  const rules = rulesOf(loss(), two);
  const remembered = stored({ baselineSlot: 0, netUsd: 0, ...kept });
  const h = new Harness({ rules, wallets: two, remembered });
  bothRead(h, 1_020, 1_500);
  expect(figure(h, "pnl")).toBe(pnl);
  expect(h.notes.filter((text) => text.includes("baseline")).length).toBe(kept.baselineUsd === 1_000 ? 1 : 0);
  expect(figure(h, "highWaterMark")).toBe(Math.max(high, pnl));
  const again = h.restarted({ rules, wallets: two }, minute);
  again.slot = h.slot;
  bothRead(again, 1_020, 1_500);
  expect([figure(again, "pnl"), again.notes]).toEqual([pnl, []]);
});

test("a PDA index that the configuration adds is no profit", () => {
  const one = [{ ...mainWallet, pdaIndices: [0] }];
  const before = Harness.seeing({ rules: rulesOf(loss(), one), wallets: one }, 150);
  answer(before, 0, 1_000);
  before.events("collateral", []);
  expect(figure(before, "pnl")).toBe(0);
  const h = new Harness({ rules: rulesOf(loss(), two), wallets: two, remembered: before.remembered });
  h.slot = before.slot;
  bothRead(h, 1_000, 2_000);
  expect(figure(h, "pnl")).toBe(0);
});

const sol = {
  assetIndex: 4_294_901_760,
  symbol: "SOL",
  decimals: 9,
  perpAssetId: 1,
  maxGlobalBalance: 10n ** 15n,
  minMarginDiscountBps: 1_000,
  maxMarginDiscountBps: 3_000,
};
const withSol = (balance: number, collateralUsd = 10_000) => [
  subaccount(collateralUsd, [position(100, 150)], {
    spotCollaterals:
      balance === 0
        ? []
        : [{ assetIndex: sol.assetIndex, symbol: "SOL", balance: BigInt(balance) * 10n ** 9n, decimals: 9 }],
  }),
];

test("collateral in another asset is paid in and out at its value, and its price makes profit and loss", () => {
  const h = new Harness({ rules: loss("wallet.pnl < -300.0 || wallet.pnl > 300.0") });
  h.see({ kind: "collateralAssets", atMs: h.nowMs, assets: [sol] });
  live(h, minute, calm(10_000));
  live(h, 10 * second, withSol(20));
  expect([figure(h, "equity"), figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([13_000, 0, 3_000]);
  live(h, 10 * second, withSol(5));
  expect([figure(h, "pnl"), figure(h, "netDeposits"), h.told]).toEqual([0, 750, []]);
  const stopped = h.remembered;
  const started = new Harness({ rules: loss(), remembered: stopped, atMs: h.nowMs + minute });
  started.slot = h.slot;
  started.see({ kind: "collateralAssets", atMs: started.nowMs, assets: [sol] });
  live(started, 10 * second, withSol(0));
  expect([figure(started, "pnl"), figure(started, "netDeposits"), started.told]).toEqual([0, 0, []]);
  h.mark({ ...prices(150), oraclePriceUsd: 250 });
  expect(figure(h, "pnl")).toBe(500);
});

test("collateral in another asset that is paid in is no profit of today", () => {
  const wallets = [{ ...mainWallet, pdaIndices: [0] }];
  const rules = rulesOf(loss(), wallets);
  const h = boot(loss(), { rules, wallets, atMs: Date.UTC(2026, 0, 6) - 65 * second });
  live(h, 30 * second, calm(10_000));
  h.see({ kind: "collateralAssets", atMs: h.nowMs, assets: [sol] });
  h.account(withSol(20));
  expect([figure(h, "equity"), figure(h, "pnl"), figure(h, "pnlToday")]).toEqual([13_000, 0, 0]);
});

test("collateral in another asset that is sold for a debt is no flow, and its discount is a loss", () => {
  const h = new Harness({ rules: loss() });
  h.see({ kind: "collateralAssets", atMs: h.nowMs, assets: [sol] });
  live(h, 5 * second, withSol(20));
  live(h, 5 * second, withSol(10, 10_000 + 1_425));
  expect([figure(h, "pnl"), figure(h, "netDeposits"), h.told]).toEqual([undefined, 0, []]);
  live(h, 5 * minute, withSol(10, 10_000 + 1_425));
  expect([figure(h, "pnl"), figure(h, "netDeposits")]).toEqual([-75, 0]);
  expect(h.told.filter((one) => one.startsWith("Loss"))).toEqual([]);
});

test("a deposit before midnight and a withdrawal after it that are not recorded yet leave no figure of today", () => {
  const wallets = [{ ...mainWallet, pdaIndices: [0] }];
  const midnight = Date.UTC(2026, 0, 6);
  const rules = rulesOf(loss("wallet.pnlToday < -1000.0").replace(/ }$/, ", noData: keep }"), wallets);
  const h = boot(loss(), { rules, wallets, atMs: midnight - 65 * second });
  h.pass(second);
  h.account(calm(15_000));
  const { slot } = h;
  live(h, 10 * second, calm(15_000));
  expect(h.nowMs).toBeGreaterThan(midnight);
  h.pass(second);
  h.account(calm(10_000));
  expect([h.told, figure(h, "pnl"), figure(h, "pnlToday")]).toEqual([[], undefined, undefined]);
  h.events("collateral", [
    { ...flow(h, 5_000, slot), happenedMs: midnight - 4 * second },
    { ...flow(h, -5_000), happenedMs: h.nowMs },
  ]);
  live(h, minute, calm(10_000));
  expect([h.told, figure(h, "pnl"), figure(h, "pnlToday")]).toEqual([[], 0, 0]);
});

test("a PDA index that the configuration adds after, or with, an upgrade is no profit", () => {
  const one = [{ ...mainWallet, pdaIndices: [0] }];
  const first = new Harness({ rules: rulesOf(loss(), one), wallets: one });
  first.config();
  first.mark(150);
  answer(first, 0, 1_000);
  first.events("collateral", []);
  // As an earlier version kept it.
  const keep = new Map(first.remembered.keep);
  keep.set(
    "wallet/main/profit",
    JSON.stringify({ baselineUsd: 1_000, baselineSlot: 1, netUsd: 0, highUsd: 100 }),
  );
  const upgraded = { ...first.remembered, keep };
  const with_ = new Harness({ rules: rulesOf(loss(), two), wallets: two, remembered: upgraded });
  with_.slot = first.slot;
  bothRead(with_, 1_000, 50_000);
  expect([figure(with_, "pnl"), figure(with_, "highWaterMark")]).toEqual([0, 100]);
  // A late record of a flow from before the baseline, which contains it.
  const fields = { eventType: "deposit", amountUsd: 500 };
  with_.events("collateral", [event({ kind: "collateral", key: "old", symbol: null, slot: 1, fields })]);
  expect([figure(with_, "pnl"), figure(with_, "netDeposits")]).toEqual([0, 0]);
  const after = new Harness({ rules: rulesOf(loss(), one), wallets: one, remembered: upgraded });
  after.slot = first.slot;
  after.config();
  after.mark(150);
  answer(after, 0, 1_000);
  after.events("collateral", []);
  expect(figure(after, "pnl")).toBe(0);
  const h = new Harness({ rules: rulesOf(loss(), two), wallets: two, remembered: after.remembered });
  h.slot = after.slot;
  bothRead(h, 1_000, 50_000);
  expect([figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([0, 100]);
});

test("the highest profit of an answer outlives a kill before the next reading of the deposits", () => {
  const h = boot(loss());
  h.live(5 * second, calm(10_000), 152);
  h.live(5 * second, calm(10_000), 151);
  expect([figure(h, "pnl"), figure(h, "highWaterMark")]).toEqual([100, 200]);
  const again = h.restarted({ rules: loss() }, minute);
  again.slot = h.slot;
  live(again, 5 * second, calm(10_000), 151);
  expect([figure(again, "pnl"), figure(again, "highWaterMark")]).toEqual([100, 200]);
});

test("collateral in another asset that came before midnight and is valued after it is no loss of the day", () => {
  const midnight = Date.UTC(2026, 0, 6);
  const options = {
    rules: loss("wallet.pnlToday < -300.0").replace(/ }$/, ", noData: keep }"),
    timezone: "UTC",
  };
  const first = new Harness({ ...options, atMs: midnight - 2 * minute });
  first.see({ kind: "collateralAssets", atMs: first.nowMs, assets: [sol] });
  first.events("collateral", [], "main", { coversMs: 0 });
  live(first, minute, calm(10_000));
  const h = first.restarted(options, 50 * second);
  h.slot = first.slot;
  h.config();
  h.see({ kind: "collateralAssets", atMs: h.nowMs, assets: [sol] });
  // A stream tells single prices; those of all markets are read later.
  h.see({ kind: "prices", atMs: h.nowMs, markets: [prices(150)], live: true });
  h.account(withSol(20));
  h.events("collateral", [], "main", { coversMs: 0 });
  h.pass(20 * second);
  expect(h.nowMs).toBeGreaterThan(midnight);
  live(h, minute, withSol(20));
  expect([figure(h, "pnl"), figure(h, "netDeposits"), h.told]).toEqual([0, 3_000, []]);
  expect(figure(h, "pnlToday") ?? 0).toBe(0);
});

test("a profit at one end of what is not explained stands in no line of context and no fact where no text says so", () => {
  const rules = `rules:
  - { name: Low, scope: wallet, value: wallet.equity, when: 'value < 9000.0 && wallet.pnl > -1000000.0', severity: info, summary: low }
`;
  const named = ["equity", "pnl"].map((field) => ({ owner: "wallet", field }) as const);
  const h = boot(rules, { named });
  h.live(5 * second, calm(8_500), 150);
  expect(h.told).toEqual(["Low main fired info"]);
  const [fired] = h.changes.filter(({ kind }) => kind === "fired");
  expect(fired!.alert.summary).toBe("low");
  expect(fired!.details.map(([name]) => name)).toEqual(["Equity"]);
  expect(fired!.facts).toEqual({ wallet: { equity: 8_500 } });
});

test.each([Number.POSITIVE_INFINITY, Number.NaN])("a flow of %d USD is refused", (usd) => {
  const profit = new Profit({ values: {}, seenMs: {} }, "main");
  profit.restore({ baselineUsd: 1_000, netUsd: 50, highUsd: 0 });
  expect([usd, 70].map((one) => profit.takeFlow("main/0.0", 5, one))).toEqual([false, true]);
});
