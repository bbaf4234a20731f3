/**
 * The interface as it is spelled on the wire, written a second time by hand: a slip in the table would otherwise be
 * the same slip in client and server, and no other test would see it.
 * Columns: method, path, then query or body parameters; `*` required, `=` default, `a…b` bounds, `+S` session needed.
 */
import { expect, test } from "vitest";
import type { Endpoint } from "../../src/contract/endpoint.ts";
import { allEndpoints } from "../../src/contract/endpoints.ts";
import { type Param, wireName } from "../../src/contract/params.ts";

const SPELLING = `
exchange                      GET /v1/view/exchange
exchangeKeys                  GET /v1/view/exchange/keys
markets                       GET /v1/view/exchange/markets
market                        GET /v1/view/exchange/market/{symbol}
exchangeStatus                GET /v1/view/exchange/status
exchangeSnapshot              GET /v1/exchange/snapshot
collateralAssets              GET /v1/collateral/assets
orderbook                     GET /v1/view/orderbook/{symbol} include_splines bypass_execution_band
markPrice                     GET /v1/market/{symbol}/mark-price
marketStats                   GET /v1/market/{symbol}/stats start_time end_time limit=1000[1…10000] timeframe
latestMarketStats             GET /v1/market/{symbol}/stats/latest
latestMarketsStats            GET /v1/markets/stats/latest
candles                       GET /v1/candles/{symbol} timeframe* startTime endTime limit=2500[1…] enableExternalSource=false
fundingRates                  GET /v1/funding/{symbol}/rates startTime endTime limit=1000[1…10000]
fundingOverview               GET /v1/funding/overview startTime endTime perMarketLimit=500[1…5000]
marketFills                   GET /v1/trades/{symbol}/fills limit=100[1…10000] cursor startTime endTime
nextMarketCalendarTransition  GET /v1/market/{symbol}/next-market-calendar-transition
nextCommodityMarketTransition GET /v1/market/next-commodity-market-transition
marketCalendar                GET /v1/market/{symbol}/market-calendar
marketCalendarById            GET /v1/market-calendar/{market_calendar_id}
commodityCalendar             GET /v1/market/commodity-calendar
traderState                   GET /v1/trader/state/{authority_pubkey} traderPdaIndex=0[0…255]
traderView                    GET /v1/view/trader/{pubkey}
traderCapabilities            GET /v1/view/trader-capabilities
userPnl                       GET /v1/users/{user_pubkey}/pnl resolution* startTime endTime limit=1000[1…1440] includeEarliest includeLatest
traderPnl                     GET /v1/traders/{trader_pubkey}/pnl resolution* startTime endTime limit=1000[1…1440] includeEarliest includeLatest
portfolioValues               GET /v1/traders/{trader_pubkey}/portfolio-values resolution* startTime endTime limit=1440[1…2000] includeEarliest includeLatest
marketPnl                     GET /v1/traders/{trader_pubkey}/pnl/markets resolution* startTime endTime limit=1000[1…1000] symbols
timeWeightedReturns           GET /v1/traders/{trader_pubkey}/time-weighted-returns resolution* startTime endTime limit[1…]
userCollateralHistory         GET /v1/users/{user_pubkey}/collateral-history limit*[1…1000] nextCursor prevCursor cursor
authorityCollateralHistory    GET /v1/trader/{authority}/collateral-history pdaIndex[0…255] limit*[1…1000] nextCursor prevCursor cursor
traderCollateralHistory       GET /v1/traders/{trader_pubkey}/collateral-history limit*[1…1000] nextCursor prevCursor cursor
liquidationHistory            GET /v1/users/{user_pubkey}/liquidation-history pdaIndex=0[0…255] subaccountIndex[0…255] symbol limit=100[1…100] cursor
fundingHistory                GET /v1/trader/{authority}/funding-history traderPdaIndex[0…255] symbol startTime endTime limit=100[1…1000] cursor resolution
fundingHourly                 GET /v1/users/{user_pubkey}/funding-hourly traderPdaIndex=0[0…255] symbol limit=50[1…200] cursor
orderHistory                  GET /v1/trader/{authority}/order-history traderPdaIndex[0…255] marketSymbol limit*[1…1000] cursor privyId orderStatus
tradesHistory                 GET /v1/trader/{authority}/trades-history pdaIndex[0…255] marketSymbol limit[1…1000] cursor privyId
tradesV2                      GET /v1/traders/{trader_pubkey}/trades_v2 market_symbol limit[1…1000] cursor privy_id
userTradesV2                  GET /v1/users/{user_pubkey}/trades_v2 trader_pda_index[0…255] market_symbol limit[1…1000] cursor privy_id
ordersV2                      GET /v1/traders/{trader_pubkey}/orders_v2 market_symbol limit*[1…1000] cursor start_time end_time
authNonce                     GET /v1/auth/nonce wallet_pubkey*
loginWallet                   POST /v1/auth/login/wallet wallet_pubkey* signature* nonce_id*
transactionChallenge          POST /v1/auth/wallet/transaction-challenge wallet_pubkey*
loginWalletTransaction        POST /v1/auth/login/wallet/transaction wallet_pubkey* nonce_id* signed_transaction*
refresh                       POST /v1/auth/refresh refresh_token*
logout                        POST /v1/auth/logout +S
jwks                          GET /v1/auth/jwks
notifications                 GET /v1/traders/{trader_pubkey}/notifications limit[1…100] cursor unackedOnly +S
ackNotifications              POST /v1/traders/{trader_pubkey}/notifications/ack/notifications items* +S
ackUpTo                       POST /v1/traders/{trader_pubkey}/notifications/ack/up-to beforeTimestamp* +S
buildRegisterIxs              POST /v1/exchange/build-register-ixs traderAuthority* txFeePayer* maxPositions=128[32…128]
sendRegisterIxs               POST /v1/exchange/send-register-ixs transaction* traderAuthority* txFeePayer* maxPositions=128[32…128] traderPdaIndex[0…0] traderSubaccountIndex[0…0]
activateReferralTx            POST /v1/referral/activate-tx referral_code* trader_authority* trader_pda_index[0…255] trader_subaccount_index[0…255] recent_blockhash* transaction* +S
activationPermission          GET /v1/referral/activation-permission
placeStopLossOrder            POST /v1/ix/place-stop-loss-order authority* traderPdaIndex*[0…255] symbol* side* numBaseLots[0…] quantity[0…] stopLossTriggerPriceInTicks[0…] stopLossTriggerPrice[0…] stopLossExecutionPriceInTicks[0…] stopLossExecutionPrice[0…] takeProfitTriggerPriceInTicks[0…] takeProfitTriggerPrice[0…] takeProfitExecutionPriceInTicks[0…] takeProfitExecutionPrice[0…] orderKind traderSubaccountIndex[0…255] isIsolated positionAuthority feePayer flightBuilderAuthority flightFeeCollectorTrader +S
activateReferral              POST /v1/referral/activate authority* referral_code*
activateInvite                POST /v1/invite/activate authority* code*
`;

test("the table spells the interface as it is", () => {
  const written = SPELLING.trim()
    .split("\n")
    .map((line) => line.replace(/\s+/g, " "));
  expect(allEndpoints.map(spelled)).toEqual(written);
});

test("path templates and path parameters agree", () => {
  for (const endpoint of allEndpoints) {
    const inTemplate = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
    const inTable = Object.entries(endpoint.params).filter(([, p]) => p.in === "path");
    expect(inTable.map(([name, p]) => wireName(name, p))).toEqual(inTemplate);
    const others = endpoint.method === "GET" ? "query" : "body";
    for (const [, p] of Object.entries(endpoint.params)) expect(["path", others]).toContain(p.in);
    for (const way of [endpoint.paging?.older, endpoint.paging?.newer]) {
      if (way) expect(Object.keys(endpoint.params)).toContain(way.argument);
    }
    for (const rule of endpoint.constraints) {
      const named = rule.kind === "range" ? [rule.from, rule.to] : rule.params;
      for (const name of named) expect(Object.keys(endpoint.params)).toContain(name);
    }
  }
});

function spelled(endpoint: Endpoint): string {
  const parameters = Object.entries(endpoint.params)
    .filter(([, param]) => param.in !== "path")
    .map(
      ([name, param]) =>
        `${wireName(name, param)}${param.required ? "*" : ""}${fallback(param)}${bounds(param)}`,
    );
  const session = endpoint.session === "required" ? ["+S"] : [];
  return [endpoint.name, endpoint.method, endpoint.path, ...parameters, ...session].join(" ");
}

function fallback(param: Param): string {
  return param.filled ? `=${String(param.default)}` : "";
}

function bounds({ min, max }: Param): string {
  return min === null && max === null ? "" : `[${min ?? ""}…${max ?? ""}]`;
}
