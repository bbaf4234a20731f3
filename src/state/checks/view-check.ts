/**
 * Compares computed risk with the exchange's own view. The view has its own time and its own marks, so the account is computed
 * again at the view's marks, and compared only if both are about the same positions.
 */
import type { TraderViewState } from "../../domain/account.ts";
import { assessAccount } from "../../margin/assess.ts";
import type { SpotRisk } from "../../margin/model.ts";
import {
  quoteLotsFromUsd,
  ticksFromUsd,
  unitsFromBaseLots,
  usdFromQuoteLots,
  usdFromTicks,
} from "../../margin/units.ts";
import type { AccountEntry } from "../accounts/account-entry.ts";
import type { Markets } from "../markets/markets.ts";

/** A difference counts if it exceeds a tick and this share of the figure. */
const tolerance = 0.001;
/** One cent: the exchange rounds figures in USD. */
const cent = 0.01;

/**
 * Spot collateral as the view values it: at the index price of its time, which no other source states.
 * @returns null if the two cannot be compared
 */
function spotOfView(
  { spotNotionalUsd, spotDiscountedUsd }: TraderViewState,
  ours: readonly SpotRisk[] | undefined,
): readonly SpotRisk[] | null | undefined {
  if (ours === undefined || ours.length === 0) return spotNotionalUsd ? null : undefined;
  if (ours.length > 1 || spotNotionalUsd === null || spotDiscountedUsd === null) return null;
  const notionalQuoteLots = quoteLotsFromUsd(spotNotionalUsd);
  return [{ ...ours[0]!, notionalQuoteLots, discountedQuoteLots: quoteLotsFromUsd(spotDiscountedUsd) }];
}

/** @returns texts for the differences; empty if the two agree or cannot be compared */
export function compareWithView(account: AccountEntry, markets: Markets): readonly string[] {
  const view = account.view?.view;
  if (!view || view.positions.length !== account.positions.size) return [];
  const marks = new Map(markets.markTicks);
  for (const position of view.positions) {
    const symbol = position.symbol.toUpperCase();
    const entry = account.positions.get(symbol);
    const market = markets.risk.get(symbol);
    if (!entry || !market || position.markPriceUsd <= 0) return [];
    const size = unitsFromBaseLots(entry.state.baseLots, market);
    if (Math.abs(size - position.sizeUnits) > 1e-9 * Math.abs(size)) return [];
    marks.set(symbol, ticksFromUsd(position.markPriceUsd, market));
  }
  const spot = spotOfView(view, account.risk.spot);
  if (spot === null) return [];
  const ours = assessAccount({ ...account.risk, spot }, markets.risk, marks);
  if (!ours.totals) return [];
  const differences: string[] = [];
  const check = (name: string, our: number, theirs: number, step: number): void => {
    if (Math.abs(our - theirs) > Math.max(step, Math.abs(theirs) * tolerance)) {
      differences.push(`${name} is ${our} here and ${theirs} at the exchange`);
    }
  };
  // Orders in markets without a position are margined at marks that the view does not state: compared only without such orders.
  const everyMarkKnown = ours.markets.every((one) => account.positions.has(one.symbol));
  if (everyMarkKnown) {
    check(
      "maintenance margin",
      usdFromQuoteLots(ours.totals.maintenanceMarginQuoteLots),
      view.maintenanceMarginUsd,
      cent,
    );
    check(
      "effective collateral",
      usdFromQuoteLots(ours.totals.effectiveCollateralQuoteLots),
      view.effectiveCollateralUsd,
      cent,
    );
    for (const position of view.positions) {
      const symbol = position.symbol.toUpperCase();
      const market = markets.risk.get(symbol)!;
      const of = ours.markets.find((one) => one.symbol === symbol);
      if (!of || of.liquidation.kind === "unknown") continue;
      const tickUsd = usdFromTicks(1, market);
      const our = of.liquidation.kind === "price" ? of.liquidation.usd : 0;
      check(`liquidation price of ${symbol}`, our, position.liquidationPriceUsd, tickUsd * 1.001);
    }
  }
  return differences;
}
