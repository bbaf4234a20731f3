/** The configuration of a scenario's daemon: the shipped rules, short schedules, and what a seed makes of the rest. */
import fs from "node:fs";
import { parse } from "yaml";
import { sources } from "../../src/domain/observation.ts";
import { type DaemonSettings, settingsFromText } from "../../src/settings.ts";
import type { Simulator } from "../../src/simulator/index.ts";
import { every } from "../support/daemon.ts";
import { channelTraits } from "./channels.ts";
import { Draw } from "./draw.ts";
import type { Plan } from "./scenario.ts";
import type { Start } from "./start.ts";

/** The longest interval between two reads of anything, ms. */
export const longestScheduleMs = 30_000;

const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "America/Santiago"];
const zoneAt = ({ timezone }: Start, drawn: string): string => timezone ?? drawn;

/** Sections of config.yaml. @param version another one is a changed configuration */
export function sections(
  { seed, start, world: { wallets } }: Plan,
  simulator: Simulator,
  version: number,
): Record<string, unknown> {
  const draw = new Draw(seed, 3);
  const channels = draw.some(Object.keys(channelTraits), 0.6);
  const url = "https://truth.invalid/hook";
  return {
    exchange: {
      baseUrl: "https://truth.invalid",
      requestsPerSecond: draw.chance(0.6) ? "auto" : 40,
      streams: draw.chance(0.25) ? "off" : "auto",
    },
    timezone: zoneAt(start, draw.one(zones)),
    wallets: wallets.map(({ name, watchOnly, pdaIndices, labels }) => {
      const { authority } = simulator.traders.find((one) => one.name === name)!;
      const key = simulator.keyOf(name).withKeypair((pair) => JSON.stringify([...pair]));
      const accounts = pdaIndices.length === 1 ? "all" : { pdaIndices };
      return { name, labels, accounts, ...(watchOnly ? { authority } : { secret: key }) };
    }),
    schedules: {
      ...every("30s", sources),
      traderState: { every: draw.one(["2s", "5s"]), atRisk: "1s" },
      ...every("2s", ["markets"]),
      notifications: { every: "10s", whenStreaming: "30s" },
      ...every("8s", ["marketConfig"]),
      ...every(draw.one(["10s", "30s"]), ["collateral", "fills", "liquidations"]),
    },
    // No file stands there: the store of each life is opened elsewhere. It is part of the ids of messages.
    history: { path: "/var/lib/perpwatch/perpwatch.db" },
    ruleOverrides: {
      ...shortened(seed),
      ...shorterWindows(seed),
      ...(version % 2 === 0 ? {} : { MarginHigh: { for: "20s" }, DatabaseLarge: { enabled: false } }),
    },
    channels: Object.fromEntries(channels.map((name) => [name, { type: "webhook", url }])),
    routing: {
      receivers: channels,
      groupBy: draw.one([["wallet"], ["wallet", "rule"], []]),
      stormFold: draw.one([3, 100]),
    },
    remind: { critical: { every: draw.one(["2m", "5m"]), acknowledgedFor: "1h" } },
    acknowledge: { audit: draw.one(["1m", "off"]), unmatched: draw.one(["leave", "always"]) },
    dashboard: { listen: "off" },
  };
}

/** Rules that would not come true and end within a scenario. */
const slow = [
  "FundingCostHigh",
  "FundingRateHigh",
  "FundingEatsMargin",
  "ExitLargerThanBook",
  "MarkOffOtherVenues",
];

/** Their times, short ones. */
function shortened(seed: number): Record<string, unknown> {
  const draw = new Draw(seed, 6);
  const times = slow.map((rule) => {
    return [rule, { for: draw.one(["20s", "45s"]), keepFiringFor: draw.one(["0s", "20s", "45s"]) }] as const;
  });
  const window = draw.one(["1m", "2m"]);
  return {
    ...Object.fromEntries(times),
    // Ten minutes are a whole scenario.
    LosingFast: { value: shippedValue("drawdown", "LosingFast").replaceAll('"10m"', `"${window}"`) },
  };
}

/** Times and windows of rules about accounts, wallets and the exchange, shorter ones as well. */
function shorterWindows(seed: number): Record<string, unknown> {
  const draw = new Draw(seed, 34);
  const gates = ["ExchangeGated", "WithdrawalsOff"].map((rule) => {
    return [rule, { for: draw.one(["10s", "30s"]), keepFiringFor: draw.one(["0s", "20s", "60s"]) }] as const;
  });
  const within = (rule: string, shippedWindow: string): Record<string, string> => {
    const window = draw.one(["1m", "2m", "3m"]);
    const words = new RegExp(`(["'])${shippedWindow}\\1`, "g");
    const texts = ["when", "summary", "description"].map((name) => {
      return [name, String(shipped("account", rule)[name]).replace(words, `$1${window}$1`)] as const;
    });
    return Object.fromEntries(texts);
  };
  return {
    ...Object.fromEntries(gates),
    Drawdown: { for: draw.one(["20s", "2m"]), keepFiringFor: draw.one(["20s", "45s", "2m"]) },
    ManyWithdrawals: within("ManyWithdrawals", "1h"),
    RiskEngineClearsOrders: within("RiskEngineClearsOrders", "10m"),
  };
}

const shippedValue = (pack: string, rule: string): string => String(shipped(pack, rule).value);

function shipped(pack: string, rule: string): Readonly<Record<string, unknown>> {
  const file = new URL(`../../rules/${pack}.yaml`, import.meta.url);
  const { rules } = parse(fs.readFileSync(file, "utf8")) as {
    readonly rules: readonly Readonly<Record<string, unknown>>[];
  };
  return rules.find(({ name }) => name === rule)!;
}

export function settingsOf(sections: Readonly<Record<string, unknown>>): DaemonSettings {
  // JSON is YAML.
  const read = settingsFromText(JSON.stringify(sections), {
    file: null,
    folder: "/var/lib/perpwatch",
    env: {},
  });
  if ("problems" in read)
    throw new Error(read.problems.map(({ path: at, message }) => `${at}: ${message}`).join("\n"));
  return read.settings;
}
