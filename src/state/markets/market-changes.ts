/** Changes of a market: of its configuration, one event per field, and of its trading session. */
import { z } from "zod";
import type { MarketConfig } from "../../domain/account.ts";
import type { Event } from "../../domain/event.ts";
import { FactKind } from "../../domain/stored/facts.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { unitsFromBaseLots } from "../../margin/units.ts";
import { formatAmount } from "../../rules/index.ts";
import { own } from "./own-events.ts";

/** JSON has integers beyond 2^53 as text. */
const lots = z.union([z.string().regex(/^-?\d+$/), z.int()]).transform((value) => BigInt(value));

/** The configuration of a market as of its last change. The owner is the market. */
export const configFact = new FactKind<MarketConfig>(
  "config",
  z.object({
    symbol: z.string(),
    assetId: z.number(),
    status: z.string(),
    tickSize: z.number(),
    baseLotsDecimals: z.number(),
    takerFee: z.number(),
    makerFee: z.number(),
    leverageTiers: z.array(
      z.object({ maxLeverage: z.number(), maxSizeBaseLots: lots, limitOrderRiskFactorBps: z.number() }),
    ),
    riskFactors: z.object({
      maintenance: z.number(),
      backstop: z.number(),
      highRisk: z.number(),
      upnl: z.number(),
      upnlForWithdrawals: z.number(),
      cancelOrder: z.number(),
    }),
    fundingIntervalSeconds: z.number(),
    openInterestCapBaseLots: lots,
    isolatedOnly: z.boolean(),
    // Older records lack these fields.
    maxLiquidationSizeBaseLots: lots.nullable().default(null),
    maxFundingRatePercent: z.number().nullable().default(null),
    commodityStatus: z.string().nullable().default(null),
  }),
);

/** The trading session of a market. The owner is the market. */
export const sessionFact = new FactKind("session", z.string(), "text");

/** Events for the changed fields of a market's configuration, one for each. @param before as returned by `comparable` */
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

/** The event for a session of a market that began or ended. */
export function sessionChange(symbol: string, before: string, after: string, atMs: number): Event {
  const fields = { field: "sessionState", before, after };
  return own("marketChange", `${symbol}:sessionState:${atMs}`, symbol, atMs, fields);
}

/** The fields that marketChanges compares, by name, as text. Fields that the configuration does not state are left out. */
export function comparable(config: MarketConfig): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const [field, text] of comparedFields) {
    const is = text(config);
    if (is !== undefined) texts[field] = is;
  }
  return texts;
}

/** Undefined: the configuration does not state it. */
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
  ["maxFundingRate", ({ maxFundingRatePercent: max }) => (max === null ? undefined : `${max} % an interval`)],
  ["openInterestCap", (config) => units(config.openInterestCapBaseLots, config)],
  [
    "maxLiquidationSize",
    (config) => {
      const { maxLiquidationSizeBaseLots: max } = config;
      return max === null ? undefined : units(max, config);
    },
  ],
  ["isolatedOnly", (config) => String(config.isolatedOnly)],
];

/** The fields of market changes that come from its configuration. */
export const comparedNames: readonly string[] = comparedFields.map(([name]) => name);

function percent(bps: number): string {
  return `${bps / 100} %`;
}

/** A fraction of the notional. */
function fee(fraction: number): string {
  return `${Number((fraction * 10_000).toPrecision(10))} bps`;
}

function units(lots: bigint, config: MarketConfig): string {
  return `${formatAmount(unitsFromBaseLots(Number(lots), config))} ${config.symbol}`;
}
