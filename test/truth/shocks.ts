/**
 * Prices that move, planned from a seed: while the disk is full, since alerts have to fire, rise and end then, and right after a
 * trade, so that what it opened may be liquidated in the slot of its first reading.
 */
import { Draw } from "./draw.ts";
import type { Troubles } from "./faults.ts";
import type { Deed } from "./world.ts";

const coins = ["SOL", "BTC", "ETH"];

export function planShocks(seed: number, { faults }: Troubles, deeds: readonly Deed[]): readonly Deed[] {
  return [...whileFull(seed, faults), ...afterTrade(seed, deeds)];
}

/** The share of scenarios with one right after a trade. */
const afterTradeShare = 0.25;
/** Events before the first reading are nobody's news, ms. */
const readMs = 15_000;
/** Within the time of a slot. */
const soonMs = 300;

function afterTrade(seed: number, deeds: readonly Deed[]): readonly Deed[] {
  const draw = new Draw(seed, 55);
  if (!draw.chance(afterTradeShare)) return [];
  const trades = deeds.flatMap((deed) =>
    deed.kind === "trade" && coins.includes(deed.symbol) && deed.atMs > readMs ? [deed] : [],
  );
  if (trades.length === 0) return [];
  const { symbol, leverage, atMs: tradedMs } = draw.one(trades);
  const factor = 1 - draw.between(0.05, 0.3) * Math.sign(leverage);
  const atMs = tradedMs + draw.between(0, soonMs);
  const back: Deed = { kind: "mark", atMs: atMs + draw.between(2_000, 60_000), symbol, factor: 1 / factor };
  return [{ kind: "mark", atMs, symbol, factor }, ...(draw.chance(0.7) ? [back] : [])];
}

function whileFull(seed: number, faults: Troubles["faults"]): readonly Deed[] {
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
