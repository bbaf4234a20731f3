/** The events at the desk, scene by scene. Each leaves the world as the next one may find it. */
import type { Desk } from "./desk.ts";
import { midnightMs, usualRate } from "./desk.ts";
import { startPrices, wallets } from "./wallets.ts";

export interface Scene {
  readonly name: string;
  readonly about: string;
  readonly play: (desk: Desk) => Promise<void>;
}

const s = 1_000;
const crashed = { SOL: 0.75, BTC: 0.75, ETH: 0.75 };
const marketsOf = ({ GOLD: _gold, ...rest }: Readonly<Record<string, number>>) => rest;

/** Puts every account back to what it began with, and prices with them. */
async function recover(desk: Desk, overMs: number): Promise<void> {
  desk.note("recovery: prices, then accounts");
  await desk.moveTo(marketsOf(startPrices), overMs);
  for (const { name, accounts, spot } of wallets) {
    if (spot !== undefined && Number(desk.account(name).spot ?? 0n) / 1e9 !== spot)
      await desk.spot(name, spot);
    for (const { collateral, holdings, pdaIndex, subaccountIndex } of accounts) {
      const account = desk.account(name, `${pdaIndex}.${subaccountIndex}`);
      const place = { trader: name, pdaIndex, subaccountIndex };
      // Money before positions, so that none is liquidated in between.
      const missing = () => collateral - Number(account.collateral) / 1e6;
      const refill = () => desk.flow(name, missing(), `${pdaIndex}.${subaccountIndex}`);
      if (missing() > 500) await refill();
      for (const { symbol, size, stop } of holdings) {
        const held = account.positions.get(symbol);
        const scale = 10 ** desk.simulator.world.markets.get(symbol)!.spec.baseLotsDecimals;
        if (held && Number(held.baseLots) / scale === size) continue;
        await desk.call("position", {
          ...place,
          symbol,
          size: String(size),
          ...(stop === undefined ? {} : { stopLossPrice: String(stop) }),
        });
      }
      if (Math.abs(missing()) > 500) await refill();
    }
  }
}

export const scenes: readonly Scene[] = [
  {
    name: "calm",
    about: "a start with conditions that hold already, a midnight with funding, reloads",
    async play(desk) {
      await desk.call("funding-rate", { symbol: "SOL", ratePercentage: "0.005" });
      await desk.pause(12 * s);
      desk.reload(false);
      await desk.pause(Math.max(0, midnightMs + 8 * s - desk.now()));
      desk.reload(true);
      await desk.pause(10 * s);
      await desk.restart(1 * s);
      await desk.pause(8 * s);
    },
  },
  {
    name: "funding",
    about: "the current rate of SOL rises to 175 % a year for longs, and falls again",
    async play(desk) {
      await desk.pause(10 * s);
      await desk.call("funding-rate", { symbol: "SOL", ratePercentage: "0.02" });
      desk.note("the rate of SOL is 0.02 % an hour");
      await desk.pause(28 * s);
      await desk.call("funding-rate", { symbol: "SOL", ratePercentage: usualRate });
      desk.note(`the rate of SOL is ${usualRate} %`);
      await desk.pause(25 * s);
    },
  },
  {
    name: "flows",
    about: "deposits, withdrawals and transfers while prices move",
    async play(desk) {
      await desk.move({ BTC: 0.96, SOL: 0.97 }, 6 * s);
      await desk.flow("juliet", 9_000);
      await desk.move({ BTC: 0.97, SOL: 0.98 }, 6 * s);
      desk.transfer("juliet", "0.0", "0.1", 2_000);
      await desk.pause(4 * s);
      desk.reload(false);
      await desk.flow("foxtrot", 1_500, "3.0");
      await desk.move({ BTC: 1.02 }, 4 * s);
      await desk.flow("juliet", -6_000);
      await desk.flow("alpha", -3_000);
      await desk.move({ BTC: 0.95, ETH: 0.97 }, 8 * s);
      await desk.pause(8 * s);
      desk.transfer("juliet", "0.1", "0.0", 1_000);
      desk.reload(true);
      await desk.pause(4 * s);
      await desk.flow("foxtrot", -1_000);
      await desk.moveTo(marketsOf(startPrices), 10 * s);
      await desk.pause(20 * s);
    },
  },
  {
    name: "late",
    about: "a collateral history that is 40 s late for one wallet and 120 s for another",
    async play(desk) {
      desk.delayHistory("kilo", 40 * s);
      desk.delayHistory("lima", 120 * s);
      await desk.flow("kilo", 6_000);
      await desk.flow("lima", -3_000);
      await desk.pause(20 * s);
      desk.reload(false);
      await desk.pause(30 * s);
      await desk.flow("kilo", -4_000);
      await desk.pause(20 * s);
      desk.reload(true);
      await desk.pause(65 * s);
      desk.delayHistory("kilo", 0);
      desk.delayHistory("lima", 0);
    },
  },
  {
    name: "spot",
    about: "spot collateral is paid in and taken out, and its price falls",
    async play(desk) {
      await desk.spot("golf", 60);
      await desk.pause(12 * s);
      desk.reload(false);
      await desk.spot("golf", 30);
      await desk.pause(12 * s);
      await desk.move({ SOL: 0.95 }, 5 * s);
      desk.reload(true);
      await desk.pause(8 * s);
      await desk.moveTo(marketsOf(startPrices), 3 * s);
      await desk.spot("golf", 40);
      await desk.pause(12 * s);
    },
  },
  {
    name: "stops",
    about: "a stop loss is lost, and set again",
    async play(desk) {
      const place = { trader: "india", symbol: "BTC", size: "0.3", entryPrice: "60000" };
      desk.loseStops("india");
      await desk.pause(12 * s);
      desk.reload(false);
      await desk.pause(6 * s);
      await desk.call("position", { ...place, stopLossPrice: "55000" });
      desk.note("india: a stop loss at $55000");
      await desk.pause(12 * s);
      desk.reload(true);
      await desk.pause(6 * s);
    },
  },
  {
    name: "crash",
    about: "all but gold fall by 25 % within 60 s: partial and whole liquidations, a stop; two reloads",
    async play(desk) {
      const reloads = (async () => {
        await desk.pause(20 * s);
        desk.reload(false);
        await desk.pause(20 * s);
        desk.reload(true);
      })();
      await desk.move(crashed, 60 * s);
      await reloads;
      await desk.pause(25 * s);
    },
  },
  {
    name: "recovery",
    about: "prices come back, positions and collateral with them",
    async play(desk) {
      await recover(desk, 20 * s);
      await desk.pause(30 * s);
    },
  },
  {
    name: "killed",
    about: "prices fall by 12 % within 20 s, the daemon is killed in the middle and started again",
    async play(desk) {
      const killed = (async () => {
        await desk.pause(9 * s);
        await desk.restart(2 * s);
      })();
      await desk.move({ SOL: 0.88, ETH: 0.93 }, 20 * s);
      await killed;
      await desk.pause(15 * s);
      await recover(desk, 5 * s);
      await desk.pause(20 * s);
    },
  },
  {
    name: "adl",
    about: "a bankrupt long takes a part of the short leg of a hedge with it",
    async play(desk) {
      const victim = { trader: "victim", symbol: "ETH" };
      await desk.call("trader", { name: "victim" });
      await desk.call("collateral", { trader: "victim", amount: "10000" });
      await desk.call("position", { ...victim, size: "40" });
      await desk.pause(5 * s);
      await desk.price("ETH", startPrices.ETH! * 0.91);
      desk.note("ETH falls by 9 % at once");
      await desk.pause(12 * s);
      desk.reload(false);
      await desk.pause(6 * s);
      await recover(desk, 5 * s);
      await desk.pause(20 * s);
    },
  },
  {
    name: "partial",
    about: "503 for 4 of 12 wallets for 2 min; a fall of 6 % within; reloads",
    async play(desk) {
      await desk.refuse(["alpha", "bravo", "echo", "lima"], async () => {
        await desk.pause(40 * s);
        desk.reload(false);
        await desk.pause(30 * s);
        await desk.move({ SOL: 0.94, ETH: 0.95 }, 10 * s);
        desk.reload(true);
        await desk.pause(40 * s);
      });
      await desk.pause(20 * s);
      await recover(desk, 5 * s);
      await desk.pause(20 * s);
    },
  },
  {
    name: "outage",
    about: "no connection for 2 min; prices fall by 12 % in the middle of it; a reload",
    async play(desk) {
      await desk.outage(async () => {
        await desk.pause(50 * s);
        await desk.move({ SOL: 0.88, BTC: 0.9, ETH: 0.93 }, 15 * s);
        desk.reload(false);
        await desk.pause(55 * s);
      });
      await desk.pause(25 * s);
      desk.reload(true);
      await recover(desk, 5 * s);
      await desk.pause(20 * s);
    },
  },
  {
    name: "limited",
    about:
      "429 for 60 s while prices stream: a fall of 8 % within, another one right after its end; a reload",
    async play(desk) {
      await desk.limit(async () => {
        await desk.pause(25 * s);
        await desk.move({ SOL: 0.95, ETH: 0.95 }, 5 * s);
        await desk.pause(10 * s);
        desk.reload(false);
        await desk.pause(20 * s);
      });
      await desk.move({ SOL: 0.93, ETH: 0.97 }, 6 * s);
      await desk.pause(30 * s);
      desk.reload(true);
      await recover(desk, 5 * s);
      await desk.pause(20 * s);
    },
  },
  {
    name: "pause",
    about: "an announcement to all, and the market of SOL is paused for 30 s",
    async play(desk) {
      await desk.announce("SOL pauses for 30 s");
      await desk.call("market", { symbol: "SOL", status: "paused" });
      desk.note("SOL is paused");
      await desk.pause(15 * s);
      desk.reload(false);
      await desk.pause(15 * s);
      await desk.call("market", { symbol: "SOL", status: "active" });
      desk.note("SOL is active");
      await desk.pause(25 * s);
    },
  },
  {
    name: "zero",
    about: "statistics answer with a mark of 0 for 10 s",
    async play(desk) {
      desk.zeroMarks();
      await desk.pause(5 * s);
      desk.reload(false);
      await desk.pause(5 * s);
      desk.simulator.faults.clear();
      desk.note("marks are told as they are");
      await desk.pause(8 * s);
    },
  },
];

/** For .ci/run: a start, a midnight, a fall and a kill in less than a minute. */
export const quick: Scene = {
  name: "quick",
  about: "a midnight, a fall of 12 % with a kill in the middle, a reload",
  async play(desk) {
    await desk.pause(Math.max(0, midnightMs + 3 * s - desk.now()));
    const killed = (async () => {
      await desk.pause(5 * s);
      await desk.restart(500);
    })();
    await desk.move({ SOL: 0.88, ETH: 0.93 }, 10 * s);
    await killed;
    desk.reload(false);
    await desk.pause(8 * s);
  },
};
