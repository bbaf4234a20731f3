/** Reductions of legs of declared pairs: never one leg without the others, in the ratio of the hedge, and the others unharmed. */
import { describe, expect, test } from "vitest";
import type { PositionState, SubaccountState } from "../../src/domain/account.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import type { WhatIfAccount } from "../../src/domain/what-if.ts";
import type { WatchedPair, WatchedWallet } from "../../src/state/wallets/watched.ts";
import { Harness, mainWallet, position, rulesOf, subaccount } from "../engine/harness.ts";

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

/** @param prices supposed: fills are at these */
function asked(
  h: Harness,
  closes: readonly string[] = [],
  wallet = "main",
  prices: readonly string[] = [],
): WhatIfAccount {
  const outcome = h.watch.whatIf({ wallet, account: null, prices, depositUsd: 0, closes }, h.nowMs);
  if (outcome.kind !== "done") throw new Error(JSON.stringify(outcome));
  return outcome.answer.accounts[0]!;
}

/** The price of a fill, and that at which an amount has to be enough: 0.1 % against a position. */
const nearPrice = (isLong: boolean) => `SOL=${isLong ? 99.9 : 100.1}`;

function reductionOf(h: Harness) {
  const { least, along, obstacle } = asked(h).clear!.reductions[0]!;
  return { units: least?.units ?? null, trade: least?.trade, along, obstacle };
}

test("joint reductions at random: enough, in the ratio of the hedge, no harm to the other leg, and one lot less is too little", () => {
  const seed = Number(process.env.PERPWATCH_SEED ?? Date.now() % 2 ** 31);
  console.log(`joint reductions: PERPWATCH_SEED=${seed}`);
  const random = seededRandom(seed);
  const between = (low: number, high: number) => Math.round(100 * (low + random() * (high - low))) / 100;
  const seen = { clear: 0, joint: 0 };
  const severity = (h: Harness, wallet: string, units: number, prices: readonly string[] = []) =>
    asked(h, units === 0 ? [] : [`SOL=${units.toFixed(2)}`], wallet, prices).rules[0]?.after ?? null;
  for (let index = 0; index < 200; index++) {
    const [size, other] = [between(20, 200), between(20, 200)];
    const entry = between(80, 130);
    const side = random() < 0.5 ? 1 : -1;
    const h = begun({
      main: [subaccount(size * between(2, 40), [position(side * size, entry)])],
      hedge: [subaccount(other * between(2, 60), [position(-side * other, entry)])],
    });
    const name = `case ${index} of seed ${seed}: ${size} and ${other} from ${entry}`;
    const { clear } = asked(h);
    if (clear === null) {
      seen.clear++;
      continue;
    }
    const { least, along, obstacle } = clear.reductions[0]!;
    expect(obstacle, name).toBeNull();
    const near = [nearPrice(side > 0)];
    if (least === null) {
      expect(severity(h, "main", size, near), name).toBe("critical");
      continue;
    }
    seen.joint++;
    const { units } = least;
    const [leg] = along;
    expect(leg!.trade, name).toBe(side > 0 ? "buy" : "sell");
    expect(Math.abs(leg!.units - (units * other) / size), name).toBeLessThanOrEqual(0.005 + 1e-9);
    expect(severity(h, "main", units, near), name).toBeNull();
    // The other account is as well as before.
    if (severity(h, "hedge", 0) === null) expect(severity(h, "hedge", leg!.units), name).toBeNull();
    if (units > 0.01) expect(severity(h, "main", units - 0.01, near), name).toBe("critical");
  }
  console.log(JSON.stringify(seen));
  for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(15);
});

describe("a leg of a declared pair", () => {
  test("is reduced along with the other, by the least that clears the account", () => {
    const h = begun({ main: poor, hedge: [rich(position(-100, 100))] });
    const { units, along, obstacle } = reductionOf(h);
    expect(along).toEqual([{ account: "hedge/0.0", trade: "buy", units, bookUsd: null }]);
    expect(obstacle).toBeNull();
    const poorAfter = (closed: number) =>
      asked(h, [`SOL=${closed.toFixed(2)}`], "main", [nearPrice(true)]).rules[0]!.after;
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
