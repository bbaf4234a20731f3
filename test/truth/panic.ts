/** Traders who close what a liquidation left them, some seconds later. */
import type { Simulator } from "../../src/simulator/index.ts";
import { Draw } from "./draw.ts";
import type { Deed, WorldPlan } from "./world.ts";

/** The share of scenarios in which traders do so. */
const panicShare = 0.5;
const soonestMs = 300;
const latestMs = 25_000;

/** @param later has a deed done after so many ms */
export function closeWhatIsLeft(
  simulator: Simulator,
  { accounts }: WorldPlan,
  seed: number,
  later: (ms: number, deed: Deed) => void,
): void {
  const draw = new Draw(seed, 53);
  if (!draw.chance(panicShare)) return;
  /** By wallet. */
  const seen = new Map<string, number>();
  simulator.world.listeners.add(({ accounts: changed }) => {
    for (const { name, liquidations } of new Set([...changed.keys()].map(({ wallet }) => wallet))) {
      const all = liquidations.all();
      const fresh = all.slice(seen.get(name) ?? 0);
      seen.set(name, all.length);
      for (const { account, detail, symbol } of fresh) {
        if (account === null || detail.kind !== "market_order" || detail.positionClosed) continue;
        const number = accounts.findIndex(
          (one) =>
            one.wallet === name && one.pdaIndex === account.pdaIndex && one.subaccount === account.subaccount,
        );
        if (number < 0) continue;
        const ms = draw.between(soonestMs, latestMs);
        later(ms, { kind: "close", atMs: 0, account: number, symbol, share: 1 });
      }
    }
  });
}
