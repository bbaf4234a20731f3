/** The unexplained amount of a change, and the possible error of the estimates in it. Pure. */
import type { OpenChange } from "./open-change.ts";

/** Maximum discount at which collateral in another asset is sold in a liquidation, a share of its value. */
const saleSlack = 0.2;
export const centUsd = 0.01;

export function takenUsdOf({ taken }: OpenChange): number {
  let usd = 0;
  if (taken !== undefined) for (const one of Object.values(taken)) usd += one.usd;
  return usd;
}

/** True if a sale of the removed collateral would bring about the amount that was received. */
export function isLikeSale(open: OpenChange): boolean {
  // Fills leave no rest as far as is possible: roughly known funding does not match a sale to the cent.
  const isExact = Object.keys(open.traded).length === 0 && Math.abs(unexplainedUsd(open)) <= centUsd;
  if (isExact) return false;
  const takenUsd = takenUsdOf(open);
  return Math.abs(unexplainedUsd(open) - takenUsd) <= slackOf(open) + takenUsd * saleSlack;
}

/** True if removed collateral was probably sold, not withdrawn, judging by the cash alone. */
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

/** The possible error of its estimates of trades and funding, USD. */
export function roughnessOf({ traded, slackUsd }: OpenChange): number {
  let usd = slackUsd;
  for (const { units, price, slack } of Object.values(traded)) usd += Math.abs(units) * price * slack;
  return usd;
}

export function isExplained(open: OpenChange): boolean {
  // Each trade is its own estimate, so those that opened and closed a position explain nothing individually.
  if (open.unlisted && Object.keys(open.traded).length > 0) return false;
  // They also explain nothing without the money that was paid in for them.
  if (open.unlisted && open.flowUsd === 0 && open.cashUsd !== 0) return false;
  // Money that was paid in and out again leaves no rest; otherwise estimates of trades do not explain money moved besides them.
  const isMoved = open.movedBeside === true && Object.keys(open.traded).length > 0;
  return Math.abs(unexplainedUsd(open)) <= (isMoved ? centUsd : slackOf(open));
}
