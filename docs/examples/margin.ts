// Assesses an account of one position, and what a deposit and a reduction would change. Nothing is asked of an exchange.
import {
  type AccountRisk,
  assessAccount,
  type MarketRisk,
  positionOf,
  quoteLotsFromUsd,
  ticksFromUsd,
  withDeposit,
  withReduction,
} from "perpwatch/margin";

const sol: MarketRisk = {
  symbol: "SOL",
  tickSize: 100,
  baseLotsDecimals: 2,
  leverageTiers: [{ maxSizeBaseLots: 5_000_000, maxLeverage: 20, limitOrderRiskFactorBps: 10_000 }],
  // Basis points: the first four of the initial margin, the others of a profit.
  riskFactors: {
    maintenance: 5_000,
    cancelOrder: 7_500,
    backstop: 3_000,
    highRisk: 1_500,
    upnl: 9_000,
    upnlForWithdrawals: 0,
  },
};
const markets = new Map([["SOL", sol]]);
const marks = new Map([["SOL", ticksFromUsd(140, sol)]]);

const account: AccountRisk = {
  collateralQuoteLots: quoteLotsFromUsd(2_000),
  positions: [positionOf(sol, { size: 100, entryPriceUsd: 150 })],
  orders: [],
};

function show(what: string, of: AccountRisk): void {
  const { totals, markets: held } = assessAccount(of, markets, marks);
  const liquidation = held[0]?.liquidation;
  const at =
    liquidation?.kind === "price" ? `liquidation at $${liquidation.usd.toFixed(2)}` : "no liquidation";
  const ratio = ((totals?.marginRatio ?? Number.NaN) * 100).toFixed(1);
  console.log(`${what}: ${totals?.riskTier}, margin ratio ${ratio}%, ${at}`);
}

show("now", account);
show("after a deposit of $500", withDeposit(account, BigInt(quoteLotsFromUsd(500))));
const half = { symbol: "SOL", lots: 5_000n, priceTicks: ticksFromUsd(140, sol), fee: 0.00035 };
show("after selling half", withReduction(account, markets, half)!);
