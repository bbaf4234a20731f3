import { describe, expect, test } from "vitest";
import { seededRandom } from "../../src/domain/clock.ts";
import { moveExternally } from "../../src/simulator/collateral.ts";
import { settleIn } from "../../src/simulator/population.ts";
import { assess, totals } from "../../src/simulator/risk.ts";
import type { World } from "../../src/simulator/state.ts";
import { unsettledFunding } from "../../src/simulator/trade.ts";
import { transact } from "../../src/simulator/transaction.ts";
import { createWorld, openWallet, step } from "../../src/simulator/world.ts";
import { traderAddress } from "../../src/wallet/address.ts";
import { WalletKey } from "../../src/wallet/wallet-key.ts";
import { ask, quiet, sim } from "./support.ts";

const hourMs = 3_600_000;

function newWorld(seed: number, traders: number): World {
  const key = (index: number) => WalletKey.fromSeed(new Uint8Array(32).fill(index + 1)).address;
  const world = createWorld({
    seed,
    startMs: Date.parse("2026-01-01T00:00:00Z"),
    stepMs: 60_000,
    walk: true,
    activity: true,
    houseAuthority: key(0),
    deriveAddress: (authority, pdaIndex, subaccount) => traderAddress(authority, { pdaIndex, subaccount }),
  });
  for (let i = 0; i < traders; i++) settleIn(world, openWallet(world, `t${i}`, key(i + 1), true), i);
  return world;
}

/** Over all accounts: money with its promises, and sizes by market. */
function sums(world: World) {
  let money = 0n;
  const lots = new Map<string, bigint>();
  for (const account of world.accounts.values()) {
    money += account.collateral;
    for (const [symbol, position] of account.positions) {
      money += position.virtualQuoteLots + unsettledFunding(world.markets.get(symbol)!, position);
      lots.set(symbol, (lots.get(symbol) ?? 0n) + position.baseLots);
    }
  }
  return { money, lots: [...lots.values()] };
}

/** Leaves one account with hardly more than it must have, so that the next fall reaches some tier. */
function takeMoneyOut(world: World, random: () => number): void {
  const accounts = [...world.accounts.values()].filter((it) => it !== world.house && it.positions.size > 0);
  const account = accounts[Math.floor(random() * accounts.length)];
  if (!account) return;
  const { effectiveCollateralQuoteLots, maintenanceMarginQuoteLots } = totals(world, account);
  const spare = BigInt(effectiveCollateralQuoteLots) - (BigInt(maintenanceMarginQuoteLots) * 102n) / 100n;
  if (spare > 0n) transact(world, (tx) => moveExternally(world, tx, account, -spare));
}

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));

describe(`a world of seed ${seed}, thousands of steps`, () => {
  const world = newWorld(seed, 25);
  const shocks = seededRandom(seed + 1);
  const seen = { liquidated: 0, kinds: new Set<string>() };

  test("conserves collateral exactly, sizes cancel out, and whoever falls short is acted upon", {
    timeout: 60_000,
  }, () => {
    for (let i = 1; i <= 3_000; i++) {
      world.nowMs += 60_000;
      world.steppedMs = world.nowMs;
      if (i % 50 === 0) {
        for (const market of world.markets.values()) market.oracle *= 1 + (shocks() - 0.5) * 0.16;
      }
      if (i % 10 === 0) takeMoneyOut(world, shocks);
      const counts = new Map([...world.wallets.values()].map((it) => [it, it.liquidations.size]));
      step(world, 60_000);
      const { money, lots } = sums(world);
      expect(money).toBe(world.externalFlows);
      expect(lots.every((it) => it === 0n)).toBe(true);
      for (const account of world.accounts.values()) {
        if (account === world.house) continue;
        const { riskTier } = totals(world, account);
        const acted = account.wallet.liquidations.size > counts.get(account.wallet)!;
        if (
          ["liquidatable", "backstopLiquidatable", "highRisk"].includes(riskTier) &&
          account.positions.size > 0
        ) {
          expect(acted).toBe(true);
        }
        if (riskTier === "cancellable") expect([...account.orders].every((it) => it.reduceOnly)).toBe(true);
      }
    }
    for (const wallet of world.wallets.values()) {
      for (const row of wallet.liquidations.all()) {
        seen.liquidated += 1;
        seen.kinds.add(row.detail.kind);
        const told = wallet.notifications
          .all()
          .find(
            (it) =>
              it.place?.slot === row.slot &&
              it.place.slotIndex === row.slotIndex &&
              it.place.eventIndex === row.eventIndex,
          );
        expect(told?.account).toBe(row.account);
      }
    }
    expect(seen.liquidated).toBeGreaterThan(20);
    expect([...seen.kinds].sort()).toEqual(["adl", "backstop", "market_order"]);
  });

  test("pays as much funding as it takes, hour by hour", () => {
    const byHour = new Map<string, bigint>();
    for (const account of world.accounts.values()) {
      for (const row of account.wallet.funding.all()) {
        if (row.account !== account) continue;
        const key = `${row.symbol} ${row.atMs}`;
        byHour.set(key, (byHour.get(key) ?? 0n) + row.payment);
      }
    }
    expect(byHour.size).toBeGreaterThan(100);
    expect([...byHour.values()].every((it) => it === 0n)).toBe(true);
  });

  test("equity is deposits and results, whatever happened on the way", () => {
    for (const account of world.accounts.values()) {
      if (account === world.house) continue;
      let results = account.netDeposits;
      for (const it of account.totals.values()) {
        results += it.realizedPnl + it.fundingSettled - it.takerFees - it.makerFees;
      }
      expect(account.collateral).toBe(results);
      const { unrealizedQuoteLots, portfolioValueQuoteLots } = totals(world, account);
      const unsettled = BigInt(assess(world, account, false).unsettledFundingQuoteLots);
      expect(BigInt(portfolioValueQuoteLots)).toBe(
        account.collateral + BigInt(unrealizedQuoteLots) + unsettled,
      );
    }
  });
});

test("the same seed and the same calls give the same bytes; another seed does not", {
  timeout: 30_000,
}, async () => {
  const run = async (seed: number) => {
    await using simulator = await quiet({ seed, traders: 4, walk: true, pastMs: 6 * hourMs });
    await sim(simulator, "advance", { ms: 2 * hourMs });
    await sim(simulator, "mark-price", { symbol: "SOL", price: "120" });
    await sim(simulator, "collateral", { trader: "trader-2", amount: "10" });
    await sim(simulator, "advance", { ms: 10_000 });
    const texts = [(await ask(simulator, "/sim/state")).text];
    for (const { authority, traderPda } of simulator.traders) {
      texts.push((await ask(simulator, `/v1/trader/state/${authority}`)).text);
      texts.push((await ask(simulator, `/v1/trader/${authority}/trades-history`)).text);
      texts.push((await ask(simulator, `/v1/view/trader/${traderPda}`)).text);
      texts.push((await ask(simulator, `/v1/auth/nonce?wallet_pubkey=${authority}`)).text);
    }
    return texts.join("\n");
  };
  const first = await run(11);
  expect(await run(11)).toBe(first);
  expect(await run(12)).not.toBe(first);
});

test.each([true, false])(
  "one long step and many short ones are the same world (prices walk: %s)",
  async (walk) => {
    const run = async (parts: number[]) => {
      await using simulator = await quiet({ seed: 3, traders: 3, walk, pastMs: 0 });
      await sim(simulator, "mark-price", { symbol: "SOL", price: "150", oraclePrice: "149" });
      for (const ms of parts) await sim(simulator, "advance", { ms });
      return (await ask(simulator, "/sim/state")).text;
    };
    const hour = await run([3_600_000]);
    expect(await run([1, 999, 300_000, 500, 298_500, 3_000_000])).toBe(hour);
  },
);

test("a quiet world stands still", async () => {
  await using simulator = await quiet({ traders: 3 });
  const accounts = async () => (await ask(simulator, "/sim/state")).json.accounts;
  const before = await accounts();
  await sim(simulator, "advance", { ms: 2 * hourMs - 1 });
  const after = await accounts();
  for (const account of [...before, ...after]) delete account.sequence;
  expect(after).toEqual(before);
});
