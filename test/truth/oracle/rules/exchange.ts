/** exchange.yaml, and of markets.yaml what tells whether a market trades. */
import { claimsOf, minuteMs, money, type Predicate, percent } from "../predicate.ts";
import { symbolOf, type View } from "../view.ts";

const ofExchange = (
  rule: string,
  severity: "warning" | "critical",
  times: { readonly forMs: number; readonly keepMs: number },
  holds: (exchange: NonNullable<View["seen"]["exchange"]>) => boolean,
): Predicate => ({
  rule,
  ...times,
  reads: ["exchangeStatus"],
  subjects: () => ["exchange"],
  levels: (view) => {
    const { exchange } = view.seen;
    return (exchange && [{ severity, on: holds(exchange), off: !holds(exchange) }]) || undefined;
  },
  claims: () => [],
});

const slow = { forMs: minuteMs, keepMs: 5 * minuteMs };

export const exchangeRules: readonly Predicate[] = [
  ofExchange("TradingHalted", "critical", { forMs: 0, keepMs: 2 * minuteMs }, ({ active }) => !active),
  ofExchange("ExchangeGated", "warning", slow, ({ gated }) => gated),
  ofExchange("WithdrawalsOff", "warning", slow, (one) => !one.withdrawalsAvailable),
  {
    rule: "MarketNotTrading",
    onlyNamesPositions: true,
    forMs: 0,
    keepMs: 5 * minuteMs,
    reads: ["marketConfig"],
    subjects: (view) => view.positions(),
    levels: (view, subject) => {
      const status = view.seen.statuses.get(symbolOf(subject));
      if (status === undefined) return undefined;
      return [{ severity: "warning", on: status !== "active", off: status === "active" }];
    },
    claims: (view, subject, text) => {
      const figures = view.marked(subject)?.figures;
      const status = view.seen.statuses.get(symbolOf(subject));
      return claimsOf(text, [
        ["status", /is (\S+)(?: again,|\s+while) you hold/, status === "active" ? "trading" : undefined],
        ["notional", new RegExp(`you hold ${money}`), figures?.notional],
        ["distance", new RegExp(`, ${percent} from liquidation`), figures?.distance],
      ]);
    },
  },
];
