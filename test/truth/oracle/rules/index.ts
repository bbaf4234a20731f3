/** All predicates. */
import type { Predicate } from "../predicate.ts";
import { exchangeRules } from "./exchange.ts";
import { accountLiquidationNear, liquidationNear } from "./liquidation.ts";
import { accountLiquidatable, marginHigh, ordersMayBeCancelled } from "./margin.ts";
import { stopLossBehindLiquidation, stopLossMissing } from "./stop-loss.ts";
import { dailyLoss, drawdown, manyWithdrawals } from "./wallet.ts";

export const predicates: readonly Predicate[] = [
  liquidationNear,
  accountLiquidationNear,
  marginHigh,
  ordersMayBeCancelled,
  accountLiquidatable,
  stopLossMissing,
  stopLossBehindLiquidation,
  drawdown,
  dailyLoss,
  manyWithdrawals,
  ...exchangeRules,
];
