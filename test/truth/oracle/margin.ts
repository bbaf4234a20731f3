/**
 * Figures of an account at given prices, by the exchange's published client library.
 *
 * The joint move has no figure there. It is looked for with the library's margins: each mark against its own position by the same
 * share, in hundredths of a tick.
 */
import * as sdk from "@ellipsis-labs/rise";
import type { AccountTruth, MarketRules } from "./truth.ts";

/** Ticks of one market. */
export interface Price {
  readonly markTicks: number;
  readonly oracleTicks: number;
}

export type Prices = ReadonlyMap<string, Price>;

export interface PositionFigures {
  readonly symbol: string;
  readonly side: "long" | "short";
  /** Signed, units. */
  readonly size: number;
  /** USD, as all that follow but for shares. */
  readonly mark: number;
  readonly entry: number;
  readonly notional: number;
  readonly unrealized: number;
  /** Null: nothing liquidates it. */
  readonly liquidation: number | null;
  /** Share of the mark; infinite where nothing liquidates it. */
  readonly distance: number;
}

export interface AccountFigures {
  readonly collateral: number;
  readonly equity: number;
  readonly effective: number;
  readonly initial: number;
  readonly maintenance: number;
  readonly cancel: number;
  readonly free: number;
  readonly unrealized: number;
  readonly tier: string;
  readonly ratio: number;
  readonly gross: number;
  readonly net: number;
  readonly positions: ReadonlyMap<string, PositionFigures>;
  /** Move of each mark against its own position at which it is liquidatable. */
  readonly adverse: number;
}

/** Terms of SOL as collateral, as the exchange publishes them. */
const spotTerms = {
  assetIndex: 4_294_901_760,
  symbol: "SOL",
  decimals: 9,
  maxGlobalBalance: "100000000000000000",
  minMarginDiscountBps: 1_000,
  maxMarginDiscountBps: 1_000,
};
const fine = 100n;
/** A joint move is found to this, and looked for up to that. */
export const moveResolution = 1e-6;
const farthest = 10;

type Params = sdk.NormalizedMarketParamsBySymbol;

export class Margins {
  readonly rules: ReadonlyMap<string, MarketRules>;
  readonly #known = new Map<
    AccountTruth,
    { readonly key: string; readonly figures: AccountFigures | undefined }
  >();

  constructor(rules: ReadonlyMap<string, MarketRules>) {
    this.rules = rules;
  }

  /** Undefined where a price is not known. */
  of(account: AccountTruth, prices: Prices): AccountFigures | undefined {
    const key = symbolsOf(account)
      .map((symbol) => `${prices.get(symbol)?.markTicks} ${prices.get(symbol)?.oracleTicks}`)
      .join();
    const known = this.#known.get(account);
    if (known?.key === key) return known.figures;
    const figures = this.#compute(account, prices);
    this.#known.set(account, { key, figures });
    return figures;
  }

  #compute(account: AccountTruth, prices: Prices): AccountFigures | undefined {
    const symbols = symbolsOf(account);
    if (symbols.some((symbol) => !prices.has(symbol))) return undefined;
    const params: Params = Object.fromEntries(
      symbols.map((symbol) => [symbol, this.#market(symbol, BigInt(prices.get(symbol)!.markTicks), 1n)]),
    );
    const inputs = inputsOf(account, prices, 1n, false);
    const result = sdk.computeSubaccountMarginFromInputs(inputs, params);
    const liquidations = sdk.computeSubaccountLiquidationPricesFromMargin(result, params, inputs);
    const usd = (quoteLots: string): number => Number(quoteLots) / 1e6;
    const { margin } = result;
    const positions = new Map<string, PositionFigures>();
    for (const { symbol, baseLots, virtualQuoteLots } of account.positions) {
      const rules = this.rules.get(symbol)!;
      const market = result.marketMargins.find((one) => one.symbol === symbol)!;
      const found =
        liquidations.positions.find((one) => one.symbol === symbol)?.liquidationPriceTicks ?? null;
      const markTicks = prices.get(symbol)!.markTicks;
      const size = Number(baseLots) / 10 ** rules.baseLotsDecimals;
      const value = usd(market.positionValueQuoteLots);
      positions.set(symbol, {
        symbol,
        side: baseLots > 0n ? "long" : "short",
        size,
        mark: tickUsd(rules) * markTicks,
        entry: Math.abs(Number(virtualQuoteLots) / 1e6 / size),
        notional: Math.abs(value),
        unrealized: usd(market.unrealizedPnlQuoteLots),
        liquidation: found === null ? null : tickUsd(rules) * Number(found),
        distance: found === null ? Number.POSITIVE_INFINITY : Math.abs(markTicks - Number(found)) / markTicks,
      });
    }
    const sum = (of: (one: PositionFigures) => number) =>
      [...positions.values()].reduce((all, one) => all + of(one), 0);
    const [effective, maintenance, initial] = [
      usd(margin.effectiveCollateralQuoteLots),
      usd(margin.maintenanceMarginQuoteLots),
      usd(margin.initialMarginQuoteLots),
    ];
    let adverse: number | undefined;
    const findAdverse = () => this.#adverse(account, prices);
    return {
      collateral: Number(account.collateral) / 1e6,
      equity: usd(margin.portfolioValueQuoteLots),
      effective,
      initial,
      maintenance,
      cancel: usd(margin.cancelMarginQuoteLots),
      free: Math.max(0, effective - initial),
      unrealized: usd(margin.unrealizedPnlQuoteLots),
      tier: margin.riskTier,
      ratio: maintenance === 0 ? 0 : effective > 0 ? maintenance / effective : Number.POSITIVE_INFINITY,
      gross: sum(({ notional }) => notional),
      net: sum(({ notional, side }) => (side === "long" ? notional : -notional)),
      positions,
      get adverse() {
        adverse ??= findAdverse();
        return adverse;
      },
    };
  }

  /** Infinite where no move makes it liquidatable. */
  #adverse(account: AccountTruth, prices: Prices): number {
    const symbols = symbolsOf(account);
    const sides = new Map(account.positions.map(({ symbol, baseLots }) => [symbol, baseLots > 0n ? -1 : 1]));
    const inputs = inputsOf(account, prices, fine, true);
    // Spot collateral whose market has no position can only fall here.
    const spotSide = sides.get("SOL") ?? -1;
    const liquidatable = (move: number): boolean => {
      const moved = (ticks: number, side: number) =>
        BigInt(Math.max(0, Math.round(ticks * Number(fine) * Math.max(0, 1 + side * move))));
      const params: Params = Object.fromEntries(
        symbols.map((symbol) => [
          symbol,
          this.#market(symbol, moved(prices.get(symbol)!.markTicks, sides.get(symbol) ?? 0), fine),
        ]),
      );
      const spot = inputs.spotCollaterals?.flatMap((one) => {
        const indexTicks = moved(prices.get("SOL")!.oracleTicks, spotSide);
        // The library takes no price of nothing.
        return indexTicks > 0n ? [{ ...one, indexPriceTicks: String(indexTicks) }] : [];
      });
      const { margin } = sdk.computeSubaccountMarginFromInputs(
        spot ? { ...inputs, spotCollaterals: spot } : inputs,
        params,
      );
      return BigInt(margin.effectiveCollateralQuoteLots) < BigInt(margin.maintenanceMarginQuoteLots);
    };
    if (liquidatable(0)) return 0;
    let low = liquidatable(1) ? 0 : 1;
    let high = low === 0 ? 1 : farthest;
    if (low === 1 && !liquidatable(high)) return Number.POSITIVE_INFINITY;
    while (high - low > moveResolution) {
      const middle = (low + high) / 2;
      if (liquidatable(middle)) high = middle;
      else low = middle;
    }
    return low;
  }

  /** @param scale parts of a tick that prices are told in */
  #market(symbol: string, markPriceTicks: bigint, scale: bigint): Params[string] {
    const { tickSize, baseLotsDecimals, leverageTiers, riskFactors } = this.rules.get(symbol)!;
    return {
      symbol,
      assetId: 0,
      markPriceTicks,
      tickSize: BigInt(tickSize) / scale,
      baseLotDecimals: baseLotsDecimals,
      leverageTiers: leverageTiers.map((tier) => ({
        upperBoundSize: BigInt(tier.maxSizeBaseLots),
        maxLeverage: BigInt(tier.maxLeverage),
        limitOrderRiskFactorBps: BigInt(Math.round(tier.limitOrderRiskFactor * 100)),
      })),
      riskFactors: {
        maintenanceMarginFactorBps: BigInt(riskFactors.maintenance),
        backstopMarginFactorBps: BigInt(riskFactors.backstop),
        highRiskMarginFactorBps: BigInt(riskFactors.highRisk),
      },
      cancelOrderRiskFactorBps: BigInt(riskFactors.cancelOrder),
      upnlRiskFactor: BigInt(riskFactors.upnl),
      upnlRiskFactorForWithdrawals: BigInt(riskFactors.upnlForWithdrawals),
      isolatedOnly: false,
    };
  }
}

/** USD of one tick. */
export function tickUsd({ tickSize, baseLotsDecimals }: MarketRules): number {
  return (tickSize * 10 ** baseLotsDecimals) / 1e6;
}

/** The markets whose prices its figures depend on. */
export function symbolsOf({ positions, orders, spot }: AccountTruth): readonly string[] {
  const symbols = new Set([...positions, ...orders].map(({ symbol }) => symbol));
  if (spot > 0n) symbols.add("SOL");
  return [...symbols];
}

/**
 * @param scale parts of a tick that prices are told in
 * @param still the orders that cross the present mark reserve a loss, wherever the mark goes from here
 */
function inputsOf(
  account: AccountTruth,
  prices: Prices,
  scale: bigint,
  still: boolean,
): sdk.SubaccountMarginInputs {
  const symbols = new Set([...account.positions, ...account.orders].map(({ symbol }) => symbol));
  const markets = [...symbols].map((symbol): sdk.MarketMarginInputs => {
    const position = account.positions.find((one) => one.symbol === symbol);
    const orders = account.orders
      .filter((order) => order.symbol === symbol)
      .map((order) => ({
        orderSequenceNumber: order.sequence,
        side: order.side,
        priceTicks: String(BigInt(order.priceTicks) * scale),
        sizeRemainingLots: String(order.lots),
        initialSizeLots: String(order.lots),
        reduceOnly: order.reduceOnly,
      }));
    const mark = BigInt(prices.get(symbol)!.markTicks) * scale;
    return {
      symbol,
      ...(position && {
        position: {
          basePositionLots: String(position.baseLots),
          virtualQuotePositionLots: String(position.virtualQuoteLots),
          entryPriceTicks: "0",
          unsettledFundingQuoteLots: String(position.unsettledFunding),
          accumulatedFundingQuoteLots: "0",
        },
      }),
      ...(orders.length > 0 &&
        (still
          ? {
              limitOrderMargin: sdk.buildLimitOrderMarginStateFromOrdersAtMark(
                orders,
                position?.baseLots ?? 0n,
                mark,
              ),
            }
          : { limitOrders: orders })),
    };
  });
  const spot = {
    ...spotTerms,
    balance: String(account.spot),
    indexPriceTicks: String(BigInt(prices.get("SOL")?.oracleTicks ?? 0) * scale),
  };
  return {
    subaccountIndex: 0,
    collateralBalanceQuoteLots: String(account.collateral),
    markets,
    ...(account.spot > 0n && { spotCollaterals: [spot] }),
  };
}
