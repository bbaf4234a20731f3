/** Shipped rules with other times and thresholds, from a seed, where theirs outlast a scenario. */
import fs from "node:fs";
import { parse } from "yaml";
import { Draw } from "./draw.ts";

type Override = Readonly<Record<string, unknown>>;

interface Shipped {
  readonly name: string;
  readonly value: string;
  readonly when: string;
  readonly summary: string;
  readonly description: string;
}

/** Rules that would not come true and end within a scenario. */
const slow = [
  "FundingCostHigh",
  "FundingRateHigh",
  "FundingEatsMargin",
  "ExitLargerThanBook",
  "MarkOffOtherVenues",
];

export function ruleOverrides(seed: number): Readonly<Record<string, Override>> {
  const draw = new Draw(seed, 6);
  const times = slow.map((rule) => {
    return [rule, { for: draw.one(["20s", "45s"]), keepFiringFor: draw.one(["0s", "20s", "45s"]) }] as const;
  });
  const window = draw.one(["1m", "2m"]);
  const ofWhales = new Draw(seed, 22).one(["1m", "2m"]);
  // Ten minutes are a whole scenario.
  const within = (pack: string, rule: string, time: string): Override => {
    const texts = (["value", "summary", "description"] as const).map((name) => {
      const text = shipped(pack, rule)[name].replaceAll('"10m"', `"${time}"`);
      return [name, text.replaceAll("in 10m", `in ${time}`)] as const;
    });
    return Object.fromEntries(texts);
  };
  return {
    ...Object.fromEntries(times),
    LosingFast: { ...within("drawdown", "LosingFast", window), ...soonOf(seed) },
    WhaleTrades: within("whales", "WhaleTrades", ofWhales),
    ...ofAccounts(seed),
    ...ofTheDaemon(seed),
  };
}

/** The share of scenarios in which a loss is told of sooner than one that a withdrawal may be may be. */
const soonShare = 0.5;

function soonOf(seed: number): Override {
  return new Draw(seed, 35).chance(soonShare) ? { for: "4s" } : {};
}

/** Those about accounts, wallets and the exchange. */
function ofAccounts(seed: number): Readonly<Record<string, Override>> {
  const draw = new Draw(seed, 34);
  const gates = ["ExchangeGated", "WithdrawalsOff"].map((rule) => {
    return [rule, { for: draw.one(["10s", "30s"]), keepFiringFor: draw.one(["0s", "20s", "60s"]) }] as const;
  });
  const within = (rule: string, shippedWindow: string): Override => {
    const window = draw.one(["1m", "2m", "3m"]);
    const words = new RegExp(`(["'])${shippedWindow}\\1`, "g");
    const told = /within (?:an hour|10m)/;
    const texts = (["when", "summary", "description"] as const).map((name) => {
      return [
        name,
        shipped("account", rule)[name].replace(words, `$1${window}$1`).replace(told, `within ${window}`),
      ] as const;
    });
    return Object.fromEntries(texts);
  };
  return {
    ...Object.fromEntries(gates),
    Drawdown: { for: draw.one(["20s", "2m"]), keepFiringFor: draw.one(["20s", "45s", "2m"]) },
    DailyLoss: dailyLossOf(seed),
    ManyWithdrawals: within("ManyWithdrawals", "1h"),
    RiskEngineClearsOrders: within("RiskEngineClearsOrders", "10m"),
  };
}

function dailyLossOf(seed: number): Override {
  const draw = new Draw(seed, 61);
  return { for: draw.one(["10s", "1m"]), keepFiringFor: draw.one(["10s", "30s", "2m"]) };
}

/** Those about the daemon itself. */
function ofTheDaemon(seed: number): Readonly<Record<string, Override>> {
  const draw = new Draw(seed, 43);
  const short = () => draw.one(["10s", "20s", "45s"]);
  const window = draw.one(["1m", "2m", "3m"]);
  const within = (text: string): string =>
    text.replaceAll(/"(?:15m|1h)"/g, `"${window}"`).replace(/\b15m|the last hour/, window);
  const inWindow = (rule: string, key: "value" | "when"): Override => {
    const { [key]: text, summary } = shipped("daemon", rule);
    return { [key]: within(text), summary: within(summary) };
  };
  const refused = draw.one(["3", "5"]);
  const bytes = Math.round(draw.between(500_000, 8_000_000));
  return {
    PollsLate: { for: draw.one(["10s", "30s"]), keepFiringFor: short() },
    PollsFailing: { for: short(), keepFiringFor: short() },
    MessagesUndelivered: {
      levels: {
        warning: { when: `value > duration("${draw.one(["20s", "1m"])}")` },
        critical: { when: `value > duration("${draw.one(["90s", "3m"])}")` },
      },
    },
    MessagesLost: { ...inWindow("MessagesLost", "when"), keepFiringFor: short() },
    SignInsRefused: {
      ...inWindow("SignInsRefused", "value"),
      when: `value >= ${refused}`,
      keepFiringFor: short(),
    },
    RequestsNearCeiling: { for: short(), keepFiringFor: short() },
    RecordsNotUnderstood: { ...inWindow("RecordsNotUnderstood", "value"), keepFiringFor: short() },
    DatabaseLarge: {
      ...{ when: `daemon.databaseBytes > ${bytes}`, resolveWhen: `daemon.databaseBytes < ${bytes * 0.95}` },
      ...{ for: short(), keepFiringFor: short() },
    },
    StreamDown: { for: draw.one(["20s", "45s", "90s"]), keepFiringFor: short() },
    EquityMismatch: { for: draw.one(["20s", "45s"]), keepFiringFor: draw.one(["0s", "20s"]) },
  };
}

function shipped(pack: string, rule: string): Shipped {
  const file = new URL(`../../rules/${pack}.yaml`, import.meta.url);
  const { rules } = parse(fs.readFileSync(file, "utf8")) as { readonly rules: readonly Shipped[] };
  return rules.find(({ name }) => name === rule)!;
}
