/**
 * The time until funding alone makes an account liquidatable. At the present marks and rates it is a straight line:
 *
 *   income per hour = Σ − signed position value × hourly rate        (positive: received; a long pays a positive rate)
 *   time            = (effective collateral − maintenance margin) / payment per hour
 *
 * Unsettled funding counts in full towards effective collateral, and maintenance margin does not depend on it, so this is the
 * exchange's own arithmetic of both. The only assumption is that rates stay the same.
 */
import type { Assessment } from "./model.ts";

const msPerHour = 3_600_000;

/**
 * @param assessed the account at the present marks
 * @param ratesPerHour by symbol, as fractions of the position's value; positive: longs pay
 * @returns ms; 0: it is liquidatable now, +∞: funding is received or there is no position, NaN: an input is unknown
 */
export function fundingUntilMaintenanceMs(
  assessed: Assessment,
  ratesPerHour: ReadonlyMap<string, number>,
): number {
  const { totals } = assessed;
  if (totals === undefined) return Number.NaN;
  const left = Number(totals.effectiveCollateralQuoteLots) - Number(totals.maintenanceMarginQuoteLots);
  if (left < 0) return 0;
  let paidPerHour = 0;
  for (const { symbol, baseLots, figures } of assessed.markets) {
    // Orders pay no funding.
    if (Number(baseLots) === 0) continue;
    const rate = ratesPerHour.get(symbol);
    if (rate === undefined || figures === undefined) return Number.NaN;
    paidPerHour += Number(figures.positionValueQuoteLots) * rate;
  }
  if (Number.isNaN(paidPerHour)) return Number.NaN;
  return paidPerHour > 0 ? (left / paidPerHour) * msPerHour : Number.POSITIVE_INFINITY;
}
