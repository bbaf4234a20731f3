/** Reference of all functions of the language: form and result. A test compares it with the compiled functions. */

export interface FunctionRow {
  readonly name: string;
  readonly group: "history" | "numbers" | "lists" | "texts" | "times" | "printing";
  /** The form of a call. */
  readonly form: string;
  readonly gives: string;
}

const rows = (
  group: FunctionRow["group"],
  ...of: readonly (readonly [name: string, form: string, gives: string])[]
): readonly FunctionRow[] => of.map(([name, form, gives]) => ({ name, group, form, gives }));

export const functionRows: readonly FunctionRow[] = [
  ...rows(
    "history",
    [
      "ago",
      'ago("trader.equity", "1h")',
      "the value then: the last sample at or before that time, unless that was stale by then",
    ],
    ["change", 'change("market.openInterest", "1h")', "now − then"],
    ["changeRatio", 'changeRatio("trader.equity", "today")', "(now − then) / |then|"],
    ["minOver", 'minOver("trader.equity", "24h")', "the lowest value"],
    [
      "maxOver",
      'maxOver("trader.marginRatio", "24h")',
      "the highest value; answers from partial cover, and messages say so",
    ],
    ["avgOver", 'avgOver("market.fundingRate", "7d")', "the mean, weighted by time"],
    ["stddevOver", 'stddevOver("market.markPrice", "24h")', "the standard deviation, weighted by time"],
    [
      "quantileOver",
      'quantileOver("market.fundingRate", 0.9, "7d")',
      "the value below which it stood for that share of the time; above an hour, of one-minute means",
    ],
    [
      "zscore",
      'zscore("market.fundingRate", "7d")',
      "(now − mean) / standard deviation; unknown for a series that stands still",
    ],
    [
      "drawdown",
      'drawdown("wallet.pnl", "24h")',
      "from the peak to now, as a share of the equity at the peak; answers from partial cover",
    ],
    [
      "sumOver",
      'sumOver("funding.payment", "24h")',
      "a field of the subject's events, added up; a filter may follow as third argument; answers from partial cover, and messages say so",
    ],
    [
      "countOver",
      'countOver("liquidation", "1h")',
      'how many events; a filter may follow: countOver("collateral", "24h", "collateral.eventType == \'withdrawal\'"); answers from partial cover too',
    ],
    [
      "since",
      'since("position.size")',
      "how long it has had its value, looking back 7d at most, or as far as a second argument says",
    ],
    [
      "seriesAge",
      'seriesAge("market.markPrice")',
      "time since the last sample, looking back 24h at most, or as far as a second argument says; never stale itself",
    ],
  ),
  ...rows(
    "numbers",
    ["abs", "abs(position.size)", "without the sign"],
    ["min", "min(trader.equity, 1000.0)", "the smaller of two, or the smallest of a list"],
    ["max", "max(trader.positions.map(p, p.notional))", "the larger of two, or the largest of a list"],
    ["sum", "sum(trader.positions.map(p, p.notional))", "a list added up"],
    [
      "depositTo",
      "depositTo(trader.marginRatio < 0.5)",
      "the least deposit with which a condition about the account would hold, USD, rounded up to cents; 0 if it holds, +∞ where no amount is enough. For positions and trader accounts",
    ],
    [
      "reduceTo",
      "reduceTo(position.liquidationDistance > 0.15)",
      "the least reduction of this position alone, as a taker at the mark, with which it would hold: the change of its size in base units, negative to sell; 0 if it holds, infinite where closing all of it is not enough. For positions",
    ],
    ["double", 'double("0.5")', "as a number with a fraction"],
    ["int", "int(position.leverage)", "as a whole number, cut off"],
  ),
  ...rows(
    "lists",
    ["exists", "trader.positions.exists(p, p.notional > 50000.0)", "some item fits"],
    ["exists_one", "trader.orders.exists_one(o, o.reduceOnly)", "exactly one item fits"],
    ["all", "trader.positions.all(p, p.hasStopLoss)", "every item fits"],
    ["filter", 'trader.positions.filter(p, p.side == "short")', "the items that fit"],
    ["map", "trader.positions.map(p, p.notional)", "something of each item"],
    ["size", "size(trader.orders)", "how many; of a text, its characters"],
  ),
  ...rows(
    "texts",
    ["like", 'wallet.name.like("mm-*")', "fits a pattern as a whole: * is any text, ? one character"],
    ["startsWith", 'wallet.name.startsWith("mm-")', "begins with it"],
    ["endsWith", 'wallet.name.endsWith("-eu")', "ends with it"],
    ["contains", 'event.title.contains("maintenance")', "has it in it"],
    ["lowerAscii", "wallet.labels.desk.lowerAscii()", "in small letters"],
    ["upperAscii", "position.side.upperAscii()", "in capitals"],
    ["string", "string(position.size)", "as text"],
  ),
  ...rows(
    "times",
    ["duration", 'duration("30s")', "a duration: 250ms, 5s, 10m, 4h, 7d; of a duration, its text"],
    ["timestamp", 'timestamp("2026-01-31T00:00:00Z")', "a time"],
    [
      "getFullYear",
      'now.getFullYear("Europe/Berlin")',
      "the year; UTC without a zone, unknown of an infinite time",
    ],
    ["getMonth", 'now.getMonth("Europe/Berlin")', "0 is January"],
    ["getDate", 'now.getDate("Europe/Berlin")', "the day of the month, from 1"],
    ["getDayOfWeek", 'now.getDayOfWeek("Europe/Berlin")', "0 is Sunday"],
    ["getHours", 'now.getHours("Europe/Berlin")', "0–23; of a duration, its whole hours"],
    ["getMinutes", "now.getMinutes()", "0–59; of a duration, its whole minutes"],
    ["getSeconds", "wallet.dataAge.getSeconds()", "of a duration, its whole seconds"],
  ),
  ...rows(
    "printing",
    ["percent", "percent(trader.marginRatio)", "8.12%; beyond 10,000%: over 10,000%"],
    ["usd", "usd(position.notional)", "$1,234.50"],
    [
      "price",
      "price(position.markPrice)",
      "$60,400 or $151.35, with the digits of the market's tick; $0.0012345, five digits at least, where no one market is meant",
    ],
    ["amount", "amount(position.size)", "1,234.5678"],
    ["ago", "ago(event.at)", "2m 30s ago, or in 5h; of a duration too: ago(position.openedAgo)"],
    ["has", "has(event.price)", "whether it is there; true or false, never unknown because it is missing"],
    ["market", 'market("BTC").markPrice', "any market by its symbol"],
  ),
];
