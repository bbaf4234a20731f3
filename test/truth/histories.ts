/**
 * Histories that lag: while a fault `historiesLate` is in force, the histories of collateral, fills and liquidations of a wallet show
 * an entry some time after it happened. Entries keep their order, and those of one transaction are shown together.
 */
import type { Random } from "../../src/domain/clock.ts";
import type { Journal } from "../../src/simulator/journal.ts";
import type { Wallet } from "../../src/simulator/state.ts";
import type { VirtualTime } from "./clock.ts";
import type { Weather } from "./weather.ts";

interface Parts {
  readonly time: VirtualTime;
  readonly weather: Weather;
  readonly random: Random;
}

export function letHistoriesLag(wallet: Wallet, parts: Parts): void {
  const { name, collateral, fills, liquidations } = wallet;
  lag(collateral, name, parts);
  lag(fills, name, parts);
  lag(liquidations, name, parts);
}

function lag<T>(journal: Journal<T>, wallet: string, { time, weather, random }: Parts): void {
  const push = journal.push.bind(journal);
  let shownMs = 0;
  let pushedMs = -1;
  let together: T[] = [];
  journal.push = (row) => {
    const fault = weather.now("historiesLate", ({ wallets }) => wallets.includes(wallet));
    const nowMs = time.elapsedMs;
    if (fault === null && shownMs <= nowMs) return push(row);
    const lateMs = fault === null ? 0 : random() * fault.mostMs;
    if (pushedMs === nowMs) {
      together.push(row);
      return;
    }
    pushedMs = nowMs;
    const rows = [row];
    together = rows;
    // To the fraction of a ms, since no two timers may share a moment.
    shownMs = Math.max(nowMs + lateMs, shownMs + random() / 10);
    time.after(shownMs - nowMs, () => {
      for (const one of rows) push(one);
    });
  };
}
