/** Every example of a record is read by its schema, and read as what it says. */
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { allEndpoints, type EndpointName, endpoints } from "../../src/contract/endpoints.ts";
import { parseReply } from "../../src/contract/reply.ts";
import { example, examplesFolder } from "./example.ts";

const replies: Readonly<Record<string, readonly EndpointName[]>> = {
  "auth-nonce": ["authNonce"],
  "auth-session": ["loginWallet", "loginWalletTransaction", "refresh"],
  "auth-transaction-challenge": ["transactionChallenge"],
  "calendar-transition": ["nextMarketCalendarTransition", "nextCommodityMarketTransition"],
  candles: ["candles"],
  "collateral-history": ["userCollateralHistory", "authorityCollateralHistory", "traderCollateralHistory"],
  "exchange-keys": ["exchangeKeys"],
  "exchange-markets": ["markets"],
  "exchange-snapshot": ["exchangeSnapshot"],
  "exchange-status": ["exchangeStatus"],
  "funding-hourly": ["fundingHourly", "fundingHistory"],
  "funding-overview": ["fundingOverview"],
  "funding-rates": ["fundingRates"],
  "liquidation-history": ["liquidationHistory"],
  "mark-price": ["markPrice"],
  "market-stats": ["marketStats"],
  "market-stats-latest": ["latestMarketStats"],
  notifications: ["notifications"],
  "order-history": ["orderHistory"],
  orderbook: ["orderbook"],
  pnl: ["userPnl", "traderPnl"],
  "pnl-markets": ["marketPnl"],
  "portfolio-values": ["portfolioValues"],
  "trader-capabilities": ["traderCapabilities"],
  "trader-state-snapshot": ["traderState"],
  "trader-view": ["traderView"],
  "trader-view-isolated": ["traderView"],
  "trades-history": ["tradesHistory"],
};

for (const [file, names] of Object.entries(replies)) {
  test.each(names)(`${file}.json is a reply of %s`, (name) => {
    const json = example(file);
    const reply = parseReply<unknown>(endpoints[name], json);
    expect(reply).toMatchObject({ ok: true, rejected: [] });
    if (!reply.ok) return;
    // No row was lost and no field dropped.
    expect(fieldPaths(json).filter((path) => !fieldPaths(reply.record).includes(path))).toEqual([]);
  });
}

test("every example file is used by a test", () => {
  const elsewhere = /-request$|^ws-|^errors$|^build-register-response$/;
  const files = readdirSync(examplesFolder).map((file) => file.replace(/\.json$/, ""));
  expect(files.filter((file) => !elsewhere.test(file) && !(file in replies))).toEqual([]);
});

test("names and groups stand in the entries", () => {
  for (const [name, endpoint] of Object.entries(endpoints)) expect(endpoint.name).toBe(name);
  expect(allEndpoints.length).toBe(Object.keys(endpoints).length);
});

function fieldPaths(value: unknown, at = ""): string[] {
  if (typeof value !== "object" || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, inner]) => fieldPaths(inner, `${at}.${key}`))];
}
