/** The amounts that clear an account, in USD and units. */
import type { ClearAmounts, EnoughAmounts } from "../domain/what-if.ts";
import { shrink, unitsFromBaseLots, usdFromQuoteLots, usdFromTicks } from "../margin/units.ts";
import { type AmountsOptions, type Closing, type Enough, leastAmounts } from "./amounts.ts";
import type { Situation, Supposed } from "./situation.ts";

/** @returns null if no rule about its margin fires, or one that does cannot be judged */
export function clearOf(
  situation: Situation,
  supposed: Supposed,
  options: AmountsOptions,
): ClearAmounts | null {
  const { markets } = situation;
  const { positions } = supposed.risk;
  const amounts = leastAmounts(situation, supposed, options);
  if (amounts === null) return null;
  const enough = ({ transfer, deposit, reductions }: Enough): EnoughAmounts => ({
    transfer: transfer && {
      from: transfer.from.name,
      usd: usdFromQuoteLots(shrink(transfer.quoteLots)),
    },
    deposit: {
      usd: deposit.quoteLots === null ? null : usdFromQuoteLots(shrink(deposit.quoteLots)),
      obstacle: deposit.obstacle,
    },
    reductions: positions.flatMap(({ symbol }) => {
      const found = reductions.get(symbol);
      const market = markets.get(symbol);
      if (found === undefined || market === undefined) return [];
      const trade = ({ trade: way, lots, bookUsd }: Closing) => ({
        trade: way,
        units: unitsFromBaseLots(lots, market),
        bookUsd,
      });
      return {
        symbol,
        least: found.least && trade(found.least),
        along: found.along.map((one) => ({ account: one.situation.name, ...trade(one) })),
        obstacle: found.obstacle,
      };
    }),
  });
  return {
    order: options.order,
    ...enough(amounts),
    critical: amounts.critical && enough(amounts.critical),
    upTo: positions.map(({ symbol, baseLots }) => ({
      symbol,
      direction: baseLots > 0 ? "down" : "up",
      usd: usdFromTicks(amounts.marks.get(symbol)!, markets.get(symbol)!),
    })),
  };
}
