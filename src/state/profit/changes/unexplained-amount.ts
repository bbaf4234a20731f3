/** The amount of a change that is not explained, and how far the estimates in it may be wrong. Pure. */
import type { OpenChange } from "./open-change.ts";

/** Collateral in another asset is sold at a discount when it is liquidated: up to this share of its value. */
const saleSlack = 0.2;
export const centUsd = 0.01;

export function takenUsdOf({ taken }: OpenChange): number {
  let usd = 0;
  if (taken !== undefined) for (const one of Object.values(taken)) usd += one.usd;
  return usd;
}

/** True if a sale of the collateral that was taken is about what came in. */
export function isLikeSale(open: OpenChange): boolean {
  // Fills leave nothing, as far as that can be: funding that is known roughly does not make up for a sale to the cent.
  const isExact = Object.keys(open.traded).length === 0 && Math.abs(unexplainedUsd(open)) <= centUsd;
  if (isExact) return false;
  const takenUsd = takenUsdOf(open);
  return Math.abs(unexplainedUsd(open) - takenUsd) <= slackOf(open) + takenUsd * saleSlack;
}

/** True if collateral that was taken was more likely sold than paid out, by the cash alone. */
export function isSale(open: OpenChange): boolean {
  const usd = unexplainedUsd(open);
  return isLikeSale(open) && Math.abs(usd - takenUsdOf(open)) < Math.abs(usd);
}

/** The part of a change that trades at their estimated prices do not explain, USD. */
export function unexplainedUsd({ cashUsd, traded }: OpenChange): number {
  let usd = cashUsd;
  for (const { units, price } of Object.values(traded)) usd += units * price;
  return usd;
}

export function slackOf(open: OpenChange): number {
  return centUsd + roughnessOf(open);
}

/** The amount by which the estimates of trades and funding in it may be wrong, USD. */
export function roughnessOf({ traded, slackUsd }: OpenChange): number {
  let usd = slackUsd;
  for (const { units, price, slack } of Object.values(traded)) usd += Math.abs(units) * price * slack;
  return usd;
}

export function isExplained(open: OpenChange): boolean {
  // Each trade is its own estimate: those that opened and closed a position explain nothing one by one.
  if (open.unlisted && Object.keys(open.traded).length > 0) return false;
  // Nor do they without what was paid in for them.
  if (open.unlisted && open.flowUsd === 0 && open.cashUsd !== 0) return false;
  // Money that came and went again leaves nothing; else the estimates of trades do not explain money moved beside them.
  const isMoved = open.movedBeside === true && Object.keys(open.traded).length > 0;
  return Math.abs(unexplainedUsd(open)) <= (isMoved ? centUsd : slackOf(open));
}
