/** Changes of a market: of its configuration, a field an event, and of its session. */
import type { MarketConfig } from "../../domain/account.ts";
import { formatDurationMs } from "../../domain/duration.ts";
import type { Event } from "../../domain/event.ts";
import { unitsFromBaseLots } from "../../margin/units.ts";
import { formatAmount } from "../../rules/index.ts";
import { own } from "./own-events.ts";

/** The changes of a market's configuration, a field an event. @param before as `comparable` gave it */
export function marketChanges(
  before: Readonly<Record<string, string>>,
  after: MarketConfig,
  atMs: number,
): readonly Event[] {
  const events: Event[] = [];
  const now = comparable(after);
  for (const field of comparedNames) {
    const was = before[field];
    const is = now[field];
    if (was === undefined || is === undefined || was === is) continue;
    const key = `${after.symbol}:${field}:${atMs}`;
    events.push(own("marketChange", key, after.symbol, atMs, { field, before: was, after: is }));
  }
  return events;
}

/** A session of a market that began or ended. */
export function sessionChange(symbol: string, before: string, after: string, atMs: number): Event {
  const fields = { field: "sessionState", before, after };
  return own("marketChange", `${symbol}:sessionState:${atMs}`, symbol, atMs, fields);
}

/**
 * The fields that marketChanges compares, as it is kept: by name, as text. What an older record did not hold yet is left
 * out.
 */
export function comparable(config: MarketConfig): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const [field, text] of comparedFields) {
    const is = text(config);
    if (is !== undefined) texts[field] = is;
  }
  return texts;
}

/** Undefined: the configuration does not say, or is of before it was read. */
type FieldText = (config: MarketConfig) => string | undefined;

const comparedFields: readonly (readonly [string, FieldText])[] = [
  ["status", (config) => config.status],
  ["commodityStatus", ({ commodityStatus }) => commodityStatus ?? undefined],
  ["maxLeverage", (config) => String(config.leverageTiers[0]?.maxLeverage ?? 0)],
  [
    "leverageTiers",
    (config) =>
      config.leverageTiers
        .map((tier) => `${tier.maxLeverage}× up to ${units(tier.maxSizeBaseLots, config)}`)
        .join(", "),
  ],
  ["maintenanceFactor", ({ riskFactors }) => percent(riskFactors.maintenance)],
  ["cancelFactor", ({ riskFactors }) => percent(riskFactors.cancelOrder)],
  ["backstopFactor", ({ riskFactors }) => percent(riskFactors.backstop)],
  ["highRiskFactor", ({ riskFactors }) => percent(riskFactors.highRisk)],
  ["profitFactor", ({ riskFactors }) => percent(riskFactors.upnl)],
  ["withdrawalProfitFactor", ({ riskFactors }) => percent(riskFactors.upnlForWithdrawals)],
  ["takerFee", (config) => fee(config.takerFee)],
  ["makerFee", (config) => fee(config.makerFee)],
  ["fundingInterval", (config) => formatDurationMs(config.fundingIntervalSeconds * 1_000)],
  [
    "maxFundingRate",
    ({ maxFundingRatePercent: most }) => (typeof most === "number" ? `${most} % an interval` : undefined),
  ],
  ["openInterestCap", (config) => units(config.openInterestCapBaseLots, config)],
  ["maxLiquidationSize", (config) => units(config.maxLiquidationSizeBaseLots, config)],
  ["isolatedOnly", (config) => String(config.isolatedOnly)],
];

/** The fields of a market's changes that come of its configuration. */
export const comparedNames: readonly string[] = comparedFields.map(([name]) => name);

function percent(bps: number): string {
  return `${bps / 100} %`;
}

/** A fraction of the notional. */
function fee(fraction: number): string {
  return `${Number((fraction * 10_000).toPrecision(10))} bps`;
}

/** @param lots as text where the configuration comes from history; undefined where it did not hold it */
function units(lots: bigint | string | undefined, config: MarketConfig): string | undefined {
  if (lots === undefined) return undefined;
  return `${formatAmount(unitsFromBaseLots(Number(lots), config))} ${config.symbol}`;
}
