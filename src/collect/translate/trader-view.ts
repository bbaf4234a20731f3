/** Translates the exchange's own figures of one trader account: doubles, for comparison. */
import { amountToNumber, RISK_STATES, RISK_TIERS, type TraderView } from "../../contract/index.ts";
import type { TraderViewState } from "../../domain/account.ts";
import { type OnUnknownWord, wordOf } from "../anomalies/known-words.ts";

export function traderViewState(view: TraderView, onUnknown: OnUnknownWord): TraderViewState {
  const spot = view.spotCollaterals;
  const total = (of: (one: (typeof spot)[number]) => number) =>
    spot.length === 0 ? null : spot.reduce((sum, one) => sum + of(one), 0);
  return {
    pdaIndex: view.traderPdaIndex,
    subaccount: view.traderSubaccountIndex,
    slot: view.slot,
    effectiveCollateralUsd: amountToNumber(view.effectiveCollateral),
    portfolioValueUsd: amountToNumber(view.portfolioValue),
    initialMarginUsd: amountToNumber(view.initialMargin),
    maintenanceMarginUsd: amountToNumber(view.maintenanceMargin),
    spotNotionalUsd: total((one) => amountToNumber(one.notional)),
    spotDiscountedUsd: total((one) => amountToNumber(one.discounted)),
    riskState: wordOf(RISK_STATES, view.riskState, "riskState", onUnknown),
    riskTier: wordOf(RISK_TIERS, view.riskTier, "riskTier", onUnknown),
    positions: view.positions
      .filter((position) => position.positionSize.value !== 0n)
      .map((position) => {
        const sizeUnits = amountToNumber(position.positionSize);
        return {
          symbol: position.symbol,
          sizeUnits,
          markPriceUsd: Math.abs(amountToNumber(position.positionValue) / sizeUnits),
          liquidationPriceUsd: amountToNumber(position.liquidationPrice),
        };
      }),
  };
}
