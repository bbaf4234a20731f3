/** Books, other venues and trading hours through the whole daemon: from the exchange's answers to a person's messages. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test, vi } from "vitest";
import { every, openHouse } from "../support/daemon.ts";

vi.setConfig({ testTimeout: 120_000 });

const rules = `
rules:
  - name: HardToLeave
    scope: position
    when: position.notional > market.bidDepth50Bps
    severity: critical
    keepFiringFor: 0s
    summary: "{{ position.symbol }}: {{ usd(position.notional) }} held, {{ usd(market.bidDepth50Bps) }} bid"
  - name: OffMarket
    scope: position
    when: abs(market.markPrice / market.externalPrice - 1.0) > 0.03
    severity: warning
    summary: "{{ position.symbol }}: mark {{ price(market.markPrice) }}, elsewhere {{ price(market.externalPrice) }}"
  - name: Hours
    on: marketChange
    when: event.field == "sessionState"
    severity: info
    summary: "{{ event.symbol }}: {{ event.before }} → {{ event.after }}"
`;

test("a position that the book cannot take, a mark that stands alone, a session that ends", async () => {
  await using house = await openHouse();
  await house.hold({ collateral: "4000000", symbol: "SOL", size: "1000", entryPrice: "150" });
  await house.call("market", { symbol: "GOLD", session: "open", nextTransitionMs: 20 * 60_000 });
  const file = path.join(house.folder, "own.yaml");
  writeFileSync(file, rules);
  const { daemon } = await house.start({
    rules: [file],
    schedules: { ...every("5s", ["traderState", "markets"]), ...every("1m", ["candles"]) },
    channels: { chat: house.chat() },
  });
  await house.clock.advance(60_000);
  const told = () => house.headlines().map((line) => line.replace(/^.*?(?=SOL:|GOLD:)|\*\* \(#\d+\)$/g, ""));
  expect(told()).toEqual([]);
  const asked = (at: string) => house.simulator.requests.query(at).count;
  // Of four markets one is held, and nobody needs the books of the others.
  expect(asked("/v1/view/orderbook/*")).toBe(asked("/v1/view/orderbook/SOL"));
  const sol = () => daemon.status().watch.markets.find(({ symbol }) => symbol === "SOL")!;
  expect(sol().figures.bidDepth50Bps).toBeGreaterThan(200_000);
  expect(sol().figures.externalPrice).toBe(150);

  // Others go on bidding as they did; the position has become larger than all of it.
  await house.hold({ collateral: "4000000", symbol: "SOL", size: "20000", entryPrice: "150" });
  await house.clock.advance(20_000);
  expect(told().at(-1)).toMatch(/^SOL: \$3,\d{3},\d{3} held, \$\d{3},\d{3} bid$/);
  await house.hold({ collateral: "4000000", symbol: "SOL", size: "1000", entryPrice: "150" });
  await house.clock.advance(20_000);
  expect(daemon.status().watch.firing).toEqual([]);

  await house.call("mark-price", { symbol: "SOL", price: "143", oraclePrice: "150" });
  await house.clock.advance(90_000);
  expect(told().at(-1)).toBe("SOL: mark $143.00, elsewhere $150.00");

  await house.clock.advance(20 * 60_000);
  expect(told().at(-1)).toBe("GOLD: open → afterHours");
  // Seen seconds after it happened, though hours are read once an hour.
  const [change] = await house.read((store) => store.events({ kind: "marketChange", fromMs: 0 }));
  expect(change?.symbol).toBe("GOLD");
  // At the start, when the transition is due, and when the market list shows it.
  expect(asked("/v1/market/GOLD/next-market-calendar-transition")).toBeLessThanOrEqual(4);
});
