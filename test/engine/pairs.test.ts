/** Declared hedges: what is naked, since when and why, in whichever order states and events arrive. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { PositionState } from "../../src/domain/account.ts";
import type { WatchedPair, WatchedWallet } from "../../src/state/wallets/watched.ts";
import {
  event,
  Harness,
  mainWallet,
  marketConfig,
  notification,
  position,
  prices,
  rulesOf,
  subaccount,
} from "./harness.ts";

const wallets: readonly WatchedWallet[] = [
  mainWallet,
  { ...mainWallet, name: "hedge", authority: "6JMzcBHW9QMNkeXGLvD37tn4Y5gMrBiBTBVkUp6WEVye" },
  { ...mainWallet, name: "third", authority: "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi" },
];
const pairs: readonly WatchedPair[] = [{ name: "basis", legs: ["main/SOL", "hedge/SOL"], tolerance: 0.02 }];
const pack = readFileSync(new URL("../../rules/hedge.yaml", import.meta.url), "utf8");
const plain = `
rules:
  - name: Naked
    scope: pair
    when: pair.imbalance > pair.tolerance
    severity: warning
    keepFiringFor: 0s
    noData: alert
    summary: "{{ pair.name }} {{ percent(pair.imbalance) }} {{ amount(pair.nakedSize) }} {{ pair.symbol }} {{ usd(pair.nakedNotional) }} by {{ pair.brokenBy }}: {{ pair.legs }}"
`;

interface More {
  readonly pairs?: readonly WatchedPair[];
  readonly remembered?: Harness["remembered"];
  readonly atMs?: number;
}

function begun(rules: string, { pairs: declared = pairs, ...more }: More = {}): Harness {
  const h = new Harness({ rules: rulesOf(rules, wallets), wallets, pairs: declared, ...more });
  h.config(marketConfig());
  h.mark(100);
  return h;
}

const holding = (size: number): PositionState[] => (size === 0 ? [] : [position(size, 100)]);
const hold = (h: Harness, name: string, ...sizes: readonly number[]) =>
  h.account(
    sizes.map((size, index) => subaccount(1_000_000, holding(size), { subaccount: index })),
    name,
  );
/** A pair within one wallet, and its accounts: the first is long 10. */
const accountsOfOne: readonly WatchedPair[] = [
  { name: "basis", legs: ["main/0.0/SOL", "main/0.1/SOL"], tolerance: 0 },
];
const both = (size: number) => [
  subaccount(1_000_000, holding(10)),
  subaccount(1_000_000, holding(size), { subaccount: 1 }),
];
/** A frame of the stream, which tells of one of the two. */
function stream(h: Harness, size: number, told: number): void {
  h.slot += 10;
  const { slot, nowMs: atMs } = h;
  h.see({
    ...{ kind: "accounts", wallet: "main", pdaIndex: 0, slotIndex: 0 },
    ...{ atMs, slot, subaccounts: both(size), told: [told] },
  });
}
const summaries = (h: Harness) => h.changes.map(({ kind, alert }) => `${kind} ${alert.summary}`);
/** Answers every second for a while. */
function live(h: Harness, sizes: Readonly<Record<string, number>>, ms: number): void {
  for (let passed = 0; passed < ms; passed += 1_000) {
    h.pass(1_000);
    h.config(marketConfig());
    h.mark(100);
    for (const [name, size] of Object.entries(sizes)) hold(h, name, size);
  }
}

test("its value is known while its own market has a price, whatever else its wallets hold", () => {
  const h = begun(
    `
rules:
  - name: NakedUsd
    scope: pair
    when: pair.nakedNotional > 250.0
    severity: warning
    noData: alert
    summary: "naked {{ usd(pair.nakedNotional) }}"
`,
  );
  const all = [marketConfig(), marketConfig("ETH")];
  const both = (size: number) => {
    const other = position(1, 3_000, "ETH");
    h.account([subaccount(1_000_000, [...holding(10), other])]);
    hold(h, "hedge", size);
  };
  h.config(...all);
  h.mark(100, prices(3_000, "ETH"));
  both(-9);
  for (let i = 0; i < 60; i++) {
    h.pass(1_000);
    h.config(...all);
    h.mark(100);
    both(-9);
  }
  both(-7);
  expect(summaries(h).filter((text) => text.includes("naked"))).toEqual(["fired naked $300.00"]);
});

describe("what is naked", () => {
  test("is the sum of the legs against the largest of them", () => {
    const h = begun(plain);
    hold(h, "main", 10);
    hold(h, "hedge", -10);
    expect(h.told).toEqual([]);
    hold(h, "hedge", -9.9);
    expect(h.told).toEqual([]);
    hold(h, "hedge", -7);
    expect(summaries(h)).toEqual(["fired basis 30% 3 SOL $300.00 by –: main/SOL long 10, hedge/SOL short 7"]);
    hold(h, "main", 7.1);
    expect(summaries(h).at(-1)).toMatch(/^ended basis 1\.41% 0\.1 SOL \$10\.00 by –: /);
  });

  test("a leg without its counterpart is all naked, and flat legs are whole", () => {
    const h = begun(plain);
    hold(h, "main", 0);
    hold(h, "hedge", 0);
    expect(h.told).toEqual([]);
    hold(h, "hedge", -4);
    expect(summaries(h)).toEqual(["fired basis 100% -4 SOL $400.00 by –: main/SOL flat, hedge/SOL short 4"]);
    hold(h, "hedge", 0);
    expect(summaries(h).at(-1)).toBe("ended basis 0% 0 SOL $0.00 by –: main/SOL flat, hedge/SOL flat");
  });

  test("legs on one side are worse than none", () => {
    const h = begun(plain);
    hold(h, "main", 5);
    hold(h, "hedge", 5);
    expect(summaries(h)[0]).toMatch(/^fired basis 200% 10 SOL/);
  });

  test("a fill in the slot of the last whole state, and after it, is what broke it", () => {
    const h = begun(plain);
    hold(h, "main", 10);
    hold(h, "hedge", -10);
    const { slot } = h;
    h.pass(1_000);
    h.events(
      "fills",
      [event({ kind: "fill", wallet: "hedge", key: "f", slot, fields: { side: "bid", size: 3 } })],
      "hedge",
    );
    h.slot = slot - 10;
    hold(h, "hedge", -10);
    hold(h, "hedge", -7);
    expect(summaries(h)).toEqual([
      "fired basis 30% 3 SOL $300.00 by fill: main/SOL long 10, hedge/SOL short 7",
    ]);
  });

  test("a fill whose account is not shown anew is what broke it, whatever the stream tells of another one meanwhile", () => {
    const h = begun(plain, { pairs: accountsOfOne });
    h.account(both(-10));
    h.pass(1_000);
    h.events("fills", [
      event({ kind: "fill", key: "f", subaccount: 1, slot: h.slot + 5, fields: { side: "bid", size: 3 } }),
    ]);
    stream(h, -10, 0);
    h.account(both(-7));
    expect(summaries(h)).toEqual([
      "fired basis 30% 3 SOL $300.00 by fill: main/0.0/SOL long 10, main/0.1/SOL short 7",
    ]);
  });

  test.each([
    ["of an account that was streamed after it", 1, [1]],
    ["without a subaccount, where all accounts were streamed after it", null, [0, 1]],
  ] as const)("an event %s is not why it breaks now", (_, subaccount, streamed) => {
    const h = begun(plain, { pairs: accountsOfOne });
    h.account(both(-10));
    const fields = { kind: "market", role: "liquidatee" };
    h.events("liquidations", [
      event({ kind: "liquidation", key: "before", slot: h.slot + 5, subaccount, fields }),
    ]);
    for (const account of streamed) stream(h, -10, account);
    h.events("fills", [
      event({ kind: "fill", key: "f", subaccount: 1, slot: h.slot + 5, fields: { size: 3 } }),
    ]);
    h.account(both(-7));
    expect(summaries(h)[0]).toMatch(/ by fill: /);
  });

  test("what rounding leaves of equal legs is nothing", () => {
    const three = [{ name: "basis", legs: ["main/SOL", "hedge/SOL", "third/SOL"], tolerance: 0 }];
    const h = begun(plain, { pairs: three });
    hold(h, "main", 0.1);
    hold(h, "hedge", 0.2);
    hold(h, "third", -0.3);
    expect(h.told).toEqual([]);
  });

  test("what rounding leaves of positions of one leg that cancel out is flat", () => {
    const h = begun(plain);
    // As doubles they add up to 2.8e-17.
    hold(h, "main", 0.1, 0.2, -0.3);
    hold(h, "hedge", 0);
    h.pass(1_000);
    expect(summaries(h)).toEqual([]);
  });

  test("a leg is all accounts of a wallet, or one of them", () => {
    const one = [{ name: "basis", legs: ["main/0.1/SOL", "hedge/SOL"], tolerance: 0.02 }];
    const h = begun(plain, { pairs: one });
    hold(h, "main", 50, 10);
    hold(h, "hedge", -4, -6);
    expect(h.told).toEqual([]);
    hold(h, "main", -50, 11);
    expect(summaries(h)[0]).toMatch(/main\/0\.1\/SOL long 11, hedge\/SOL short 10$/);
    hold(h, "main", 50);
    expect(h.watch.status(h.nowMs).firing[0]!.summary).toMatch(/main\/0\.1\/SOL flat, hedge\/SOL short 10$/);
  });

  test("follows the mark", () => {
    const h = begun(plain);
    hold(h, "main", 10);
    hold(h, "hedge", -5);
    h.mark(prices(150));
    expect(h.watch.status(h.nowMs).firing[0]!.summary).toMatch(/5 SOL \$750\.00/);
  });
});

describe("a leg that is not seen", () => {
  test("makes the pair unknown, and its wallet is the blind one", () => {
    const h = begun(plain);
    live(h, { main: 10, hedge: -10 }, 5_000);
    live(h, { main: 5 }, 16_000);
    live(h, { main: 10 }, 60_000);
    expect(h.told).toEqual(["Naked pair/basis fired warning", "Blind hedge fired warning"]);
    live(h, { main: 10, hedge: -3 }, 2_000);
    expect(h.told.slice(2)).toEqual(["Blind hedge ended warning recovered"]);
    expect(h.watch.status(h.nowMs).firing.map(({ rule }) => rule)).toEqual(["Naked"]);
  });

  test("never since the start is no flat leg", () => {
    const h = begun(plain);
    live(h, { main: 10 }, 90_000);
    // Nobody knows what is at stake.
    expect(h.told).toEqual(["Blind hedge fired critical"]);
  });
});

describe("what broke it", () => {
  const adl = (over = {}) =>
    event({ kind: "liquidation", key: "l", wallet: "hedge", slot: 1_000, fields: { kind: "adl" }, ...over });
  const fill = (key: string, over = {}) =>
    event({ kind: "fill", key, wallet: "hedge", slot: 1_000, fields: { tradeType: "limit" }, ...over });
  const why = (h: Harness) =>
    /by ([\w–]*):/.exec(h.watch.status(h.nowMs).firing[0]?.summary ?? "")?.[1]?.replace("–", "");
  const broken = (): Harness => {
    const h = begun(plain);
    hold(h, "main", 10);
    hold(h, "hedge", -10);
    hold(h, "hedge", -2);
    return h;
  };

  test("state first: the word is asked for, and taken when it comes", () => {
    const h = broken();
    expect(why(h)).toBe("");
    expect(h.asks).toContain("liquidations hedge");
    expect(h.asks).toContain("notifications main");
    h.events("liquidations", [adl()], "hedge");
    expect(why(h)).toBe("adl");
  });

  test("event first: the state is asked for", () => {
    const h = begun(plain);
    hold(h, "main", 10);
    hold(h, "hedge", -10);
    h.events("liquidations", [adl()], "hedge");
    expect(h.asks).toContain("traderState hedge");
    // An answer from before it, which was on its way.
    hold(h, "hedge", -10);
    hold(h, "hedge", -2);
    expect(why(h)).toBe("adl");
  });

  test.each([
    ["a liquidation", { kind: "liquidation", fields: { kind: "market" } }, "liquidation"],
    ["a fill that is one", { kind: "fill", fields: { tradeType: "liquidation" } }, "liquidation"],
    ["a fill", { kind: "fill", fields: { tradeType: "limit" } }, "fill"],
    ["of another market", { kind: "fill", fields: { tradeType: "limit" }, symbol: "BTC" }, ""],
    ["of another wallet", { kind: "fill", fields: { tradeType: "limit" }, wallet: "third" }, ""],
    ["from before watching began", { kind: "fill", fields: { tradeType: "adl" }, backfilled: true }, ""],
    ["a deposit", { kind: "collateral", fields: { eventType: "deposit" } }, ""],
  ] as const)("%s", (_, over, wanted) => {
    const h = broken();
    const one = event({ key: "e", wallet: "hedge", slot: 1_000, ...over });
    h.events("fills", [one], one.wallet);
    expect(why(h)).toBe(wanted);
  });

  test.each([
    ["stop_loss_executed", "stop"],
    ["conditional_order_executed", "stop"],
    ["adl", "adl"],
    ["backstop_liquidation", "liquidation"],
    ["order_filled", "fill"],
    ["stop_loss_order_placed", ""],
  ])("a notification of %s", (type, wanted) => {
    const h = broken();
    h.events("notifications", [notification("n", type, { wallet: "hedge", slot: 1_000 })], "hedge");
    expect(why(h)).toBe(wanted);
  });

  test("a notification that is called like what every object has hides nothing", () => {
    const h = broken();
    const odd = notification("n", "constructor", { wallet: "hedge", slot: 1_000 });
    h.events("notifications", [odd], "hedge");
    h.events("liquidations", [adl()], "hedge");
    expect(why(h)).toBe("adl");
  });

  test("a fill of the same trade, or of a repair, hides nothing that tells more", () => {
    const h = broken();
    h.events("liquidations", [adl()], "hedge");
    h.events("fills", [fill("same"), fill("repair", { slot: 1_010, happenedMs: h.nowMs + 5_000 })], "hedge");
    expect(why(h)).toBe("adl");
  });

  test("what happened before it was last whole is not why it breaks now", () => {
    const h = broken();
    h.events("liquidations", [adl({ slot: h.slot })], "hedge");
    expect(why(h)).toBe("adl");
    hold(h, "hedge", -10);
    hold(h, "hedge", -5);
    expect(why(h)).toBe("");
    h.events("fills", [fill("later", { slot: h.slot })], "hedge");
    expect(why(h)).toBe("fill");
  });

  test("nor is it where word of it comes after the break", () => {
    const h = broken();
    const { slot } = h;
    hold(h, "hedge", -10);
    hold(h, "hedge", -5);
    h.events("liquidations", [adl({ slot })], "hedge");
    expect(why(h)).toBe("");
    h.events("fills", [fill("own", { slot: h.slot })], "hedge");
    expect(why(h)).toBe("fill");
  });
});

describe("the shipped rule", () => {
  const adl = (h: Harness) =>
    event({ kind: "liquidation", key: "l", wallet: "hedge", slot: h.slot + 5, fields: { kind: "adl" } });
  const whole = { main: 10, hedge: -10 };

  test("fires at once when a leg was deleveraged, with what is naked", () => {
    const h = begun(pack);
    live(h, whole, 5_000);
    h.events("liquidations", [adl(h)], "hedge");
    hold(h, "hedge", -3);
    expect(summaries(h)).toEqual([
      'fired Hedge "basis" is broken by auto-deleveraging: long 7 SOL naked ($700.00), 70% of the largest leg (limit 2%)',
    ]);
    expect(h.changes[0]!.alert.severity).toBe("critical");
    expect(h.changes[0]!.alert.description).toMatch(/Now: sell 7 SOL, /);
    expect(new Map(h.changes[0]!.details).get("Legs")).toBe("main/SOL long 10, hedge/SOL short 3");
    expect(new Map(h.changes[0]!.details).get("Naked")).toBe("long 7 ($700.00)");
    live(h, { main: 3, hedge: -3 }, 15_000);
    expect(summaries(h).at(-1)).toBe('ended Hedge "basis" is whole again');
  });

  test("fires at once when the word of it comes after the state", () => {
    const h = begun(pack);
    live(h, whole, 5_000);
    hold(h, "hedge", 0);
    expect(h.told).toEqual([]);
    h.pass(1_000);
    h.events("liquidations", [adl(h)], "hedge");
    expect(summaries(h)).toEqual([
      'fired Hedge "basis" is broken by auto-deleveraging: long 10 SOL naked ($1,000.00), 100% of the largest leg (limit 2%)',
    ]);
  });

  test.each([
    ["while nobody answers", false],
    ["although somebody takes care of the other side", true],
  ])("tells at once that the other side is naked, %s, also after a restart", (_, isAcknowledged) => {
    const before = begun(pack);
    live(before, { main: 10, hedge: -10 }, 5_000);
    live(before, { main: 1, hedge: -10 }, 30_000);
    expect(before.told).toEqual(["HedgeBroken pair/basis fired critical"]);
    expect(before.changes[0]).toMatchObject({
      alert: { value: -900 },
      quietIfAcknowledged: "for 1h, unless its value (-$900.00) falls below -$1,080.00 or its sign changes",
    });
    if (isAcknowledged)
      before.see({
        ...{ kind: "acknowledged", atMs: before.nowMs, alert: before.changes[0]!.alert },
        ...{ by: "ann", comment: "" },
      });
    const h = begun(pack, { remembered: before.remembered, atMs: before.nowMs + 1_000 });
    live(h, { main: 10, hedge: -1.5 }, 1_000);
    expect(summaries(h)).toEqual([
      'changed Hedge "basis" is broken: long 8.5 SOL naked ($850.00), 85% of the largest leg (limit 2%)',
    ]);
    expect(h.changes[0]!.alert.acknowledgedAtMs).toBeNull();
    live(h, { main: 10, hedge: -1.5 }, 30_000);
    expect(h.changes).toHaveLength(1);
    // Back on the side that was told first: after a minute.
    live(h, { main: 10, hedge: -15 }, 20_000);
    expect(h.changes).toHaveLength(1);
    live(h, { main: 10, hedge: -15 }, 20_000);
    expect(h.told.at(-1)).toBe("HedgeBroken pair/basis changed critical");
    live(h, { main: 22, hedge: -10 }, 1_000);
    expect(h.told.at(-1)).toBe("HedgeBroken pair/basis worsened critical");
  });

  test("a hedge that wavers around its tolerance is told once for each side, and then while nobody takes care of it", () => {
    const h = begun(pack);
    const acknowledge = () =>
      h.see({
        ...{ kind: "acknowledged", atMs: h.nowMs, alert: h.changes.at(-1)!.alert },
        ...{ by: "ann", comment: "" },
      });
    const waver = (times: number) => {
      for (let i = 0; i < times; i++) {
        live(h, { main: 10, hedge: -10.3 }, 1_000);
        live(h, { main: 10, hedge: -9.7 }, 1_000);
      }
    };
    live(h, { main: 10, hedge: -10 }, 5_000);
    live(h, { main: 10, hedge: -9.7 }, 30_000);
    acknowledge();
    waver(20);
    const steps = () => h.changes.map(({ kind }) => kind);
    expect(steps()).toEqual(["fired", "acknowledged", "changed"]);
    expect(h.changes.at(-1)).toMatchObject({
      quietIfAcknowledged: "for 1h, unless its value (-$30.00) gets worse by 20%",
    });
    waver(30);
    expect(steps().slice(3)).toEqual(["changed"]);
    acknowledge();
    waver(60);
    expect(steps().slice(4)).toEqual(["acknowledged"]);
  });

  test("says nothing of a trade on both legs whose second half follows within seconds", () => {
    const h = begun(pack);
    live(h, whole, 5_000);
    h.events("fills", [event({ kind: "fill", key: "f", fields: { tradeType: "limit" } })], "main");
    live(h, { main: 20, hedge: -10 }, 8_000);
    live(h, { main: 20, hedge: -20 }, 60_000);
    expect(h.told).toEqual([]);
  });

  test("fires when the second half does not follow, also without another answer", () => {
    const h = begun(pack);
    live(h, whole, 5_000);
    live(h, { main: 20, hedge: -10 }, 15_000);
    expect(h.told).toEqual([]);
    live(h, { main: 20, hedge: -10 }, 2_000);
    expect(summaries(h)).toEqual([
      'fired Hedge "basis" is broken: long 10 SOL naked ($1,000.00), 50% of the largest leg (limit 2%)',
    ]);
  });

  test("what is lopsided when watching begins was already so", () => {
    const h = begun(pack);
    hold(h, "main", 10);
    hold(h, "hedge", -5);
    expect(h.told).toEqual(["HedgeBroken pair/basis fired critical"]);
    expect(h.changes[0]!.alert.alreadySo).toBe(true);
  });

  test("is told of when a leg is not seen, and of no hedge when none is declared", () => {
    const h = begun(pack);
    live(h, whole, 5_000);
    live(h, { main: 10 }, 60_000);
    expect(h.told).toEqual(["Blind hedge fired warning"]);
    const none = begun(pack, { pairs: [] });
    live(none, { third: 10 }, 60_000);
    expect(none.told).toEqual([]);
  });
});

describe("a restart", () => {
  test("goes on with the alert, and still knows why", () => {
    const first = begun(plain);
    hold(first, "main", 10);
    hold(first, "hedge", -10);
    hold(first, "hedge", -2);
    const adl = event({ kind: "liquidation", key: "l", wallet: "hedge", slot: 999, fields: { kind: "adl" } });
    first.events("liquidations", [adl], "hedge");
    const second = begun(plain, { remembered: first.remembered, atMs: first.nowMs + 60_000 });
    hold(second, "main", 10);
    hold(second, "hedge", -2);
    expect(second.told).toEqual([]);
    expect(second.watch.status(second.nowMs).firing[0]!.summary).toMatch(/by adl:/);
    hold(second, "hedge", -10);
    expect(second.told).toEqual(["Naked pair/basis ended warning recovered"]);
    expect(second.remembered.keep.has("pair/basis")).toBe(false);
  });

  test("a pair that is declared no more is watched no longer", () => {
    const first = begun(plain);
    hold(first, "main", 10);
    hold(first, "hedge", -2);
    const second = begun(plain, { pairs: [], remembered: first.remembered, atMs: first.nowMs + 60_000 });
    second.see({ kind: "time", atMs: second.nowMs });
    expect(second.told).toEqual(["Naked pair/basis ended warning noLongerWatched"]);
  });
});
