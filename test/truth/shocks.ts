/** Prices that move while the disk is full, planned from a seed: alerts have to fire, rise and end then. */
import { Draw } from "./draw.ts";
import type { Troubles } from "./faults.ts";
import type { Deed } from "./world.ts";

const coins = ["SOL", "BTC", "ETH"];

export function planShocks(seed: number, { faults }: Troubles): readonly Deed[] {
  const draw = new Draw(seed, 51);
  return faults.flatMap(({ kind, fromMs, toMs }): readonly Deed[] => {
    if (kind !== "diskFull" || !draw.chance(0.7)) return [];
    return draw.some(coins, 0.5).flatMap((symbol): readonly Deed[] => {
      const factor = 1 + draw.between(0.03, 0.25) * (draw.chance(0.6) ? -1 : 1);
      const atMs = draw.between(fromMs, toMs);
      const move: Deed = { kind: "mark", atMs, symbol, factor };
      const backMs = atMs + draw.between(1_000, 90_000);
      return draw.chance(0.7) ? [move, { kind: "mark", atMs: backMs, symbol, factor: 1 / factor }] : [move];
    });
  });
}
