// Reads markets, an account and its notifications, and follows a mark price. The exchange is a simulated one.
import { type ArgsFor, accountRisk, connect, ExchangeError, marketRisk, nextArgs } from "perpwatch/client";
import { assessAccount, ticksFromUsd } from "perpwatch/margin";
import { startSimulator } from "perpwatch/simulator";

const simulator = await startSimulator({ walk: false, speed: 0, traders: 0 });
await simulator.call("trader", { name: "ann" });
await simulator.call("collateral", { trader: "ann", amount: "4000" });
await simulator.call("position", { trader: "ann", symbol: "SOL", size: "100", entryPrice: "150" });
await simulator.call("mark-price", { symbol: "SOL", price: "145" });
for (const title of ["Maintenance", "Maintenance is over"])
  await simulator.call("notification", {
    trader: "ann",
    source: "general",
    notificationType: "notice",
    title,
  });
const ann = simulator.traders[0]!;

const exchange = connect({
  baseUrl: simulator.url,
  wallets: [{ name: "main", key: simulator.keyOf("ann") }],
});
const { api } = exchange;
try {
  const markets = await api.markets();
  console.log(`markets: ${markets.map(({ symbol }) => symbol).join(", ")}`);

  // Records of the exchange are what perpwatch/margin takes, by way of marketRisk and accountRisk.
  const risks = new Map(markets.map((market) => [market.symbol, marketRisk(market)]));
  const { mark_price } = await api.latestMarketStats({ symbol: "SOL" });
  const marks = new Map([["SOL", ticksFromUsd(mark_price, risks.get("SOL")!)]]);
  const { snapshot } = await api.traderState({ authority: ann.authority });
  for (const subaccount of snapshot.subaccounts)
    for (const { symbol, liquidation } of assessAccount(accountRisk(subaccount), risks, marks).markets)
      console.log(`${symbol}: ${liquidation.kind === "price" ? `liquidation at $${liquidation.usd}` : "–"}`);

  // Endpoints that need a session name the wallet; it signs in at the first of them.
  let [pages, rows] = [0, 0];
  let args: ArgsFor<"notifications"> | null = { traderPubkey: ann.traderPda, limit: 1 };
  for (; args !== null; pages++) {
    const page = await api.notifications(args, { wallet: "main" });
    rows += page.items.length;
    args = nextArgs("notifications", args, page);
  }
  console.log(`notifications: ${rows} on ${pages} pages`);

  try {
    await api.market({ symbol: "NOPE" });
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error;
    console.log(`refused: ${error.endpoint} with ${error.status}`);
  }

  const { promise: price, resolve } = Promise.withResolvers<number>();
  const stream = exchange.openStream({
    message(told) {
      if (told.channel === "markPrice") resolve(told.message.markPrice);
    },
  });
  stream.subscribe("markPrice", { symbol: "SOL" });
  console.log(`SOL at $${await price}`);
} finally {
  await exchange.close();
  await simulator.stop();
}
