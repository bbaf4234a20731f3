/** All predicates. */
import type { Predicate } from "../predicate.ts";
import { accountRules } from "./account.ts";
import { daemonRules } from "./daemon.ts";
import { exchangeRules } from "./exchange.ts";
import { fundingRules } from "./funding.ts";
import { hedgeBroken } from "./hedge.ts";
import { accountLiquidationNear, liquidationNear } from "./liquidation.ts";
import { accountLiquidatable, marginHigh, ordersMayBeCancelled } from "./margin.ts";
import { marketRules } from "./markets.ts";
import { stopLossBehindLiquidation, stopLossMissing } from "./stop-loss.ts";
import { dailyLoss, drawdown, losingFast } from "./wallet.ts";
import { whaleRules } from "./whales.ts";

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
  losingFast,
  ...accountRules,
  ...exchangeRules,
  ...marketRules,
  ...fundingRules,
  ...daemonRules,
  hedgeBroken,
  ...whaleRules,
];
