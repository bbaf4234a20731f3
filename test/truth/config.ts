/** The configuration of a scenario's daemon: the shipped rules, short schedules, and what a seed makes of the rest. */

import { type DaemonSettings, settingsFromText } from "../../src/daemon/settings.ts";
import { sources } from "../../src/domain/sources.ts";
import type { Simulator } from "../../src/simulator/index.ts";
import { every } from "../support/daemon.ts";
import { channelTraits } from "./channels.ts";
import { Draw } from "./draw.ts";
import { legText } from "./names.ts";
import { ruleOverrides } from "./overrides.ts";
import type { Plan } from "./scenario.ts";
import type { Start } from "./start.ts";
import type { WalletPlan } from "./world.ts";

/** The longest interval between two reads of anything, ms. */
export const maxScheduleMs = 30_000;

const zones = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "America/Santiago"];
const zoneAt = ({ timezone }: Start, drawn: string): string => timezone ?? drawn;

/** The channels and the settings of the exchange that a seed draws. */
function drawnOf(seed: number) {
  const draw = new Draw(seed, 3);
  return {
    channels: draw.some(Object.keys(channelTraits), 0.6),
    requestsPerSecond: draw.chance(0.6) ? ("auto" as const) : 40,
    streams: draw.chance(0.25) ? ("off" as const) : ("auto" as const),
    draw,
  };
}

/** The channels of a scenario, and whether the daemon opens streams in it. */
export function linesOf(seed: number): { readonly channels: readonly string[]; readonly streams: boolean } {
  const { channels, streams } = drawnOf(seed);
  return { channels, streams: streams === "auto" };
}

/** Sections of config.yaml. @param version another one is a changed configuration */
export function sections(
  { seed, start, world: { wallets, pairs } }: Plan,
  simulator: Simulator,
  version: number,
): Record<string, unknown> {
  const { draw, channels, requestsPerSecond, streams } = drawnOf(seed);
  const url = "https://truth.invalid/hook";
  return {
    exchange: {
      baseUrl: "https://truth.invalid",
      requestsPerSecond: lowCeiling(seed, wallets) ?? requestsPerSecond,
      streams,
    },
    timezone: zoneAt(start, draw.one(zones)),
    wallets: wallets.map(({ name, watchOnly, pdaIndices, labels, limits = {} }) => {
      const { authority } = simulator.traders.find((one) => one.name === name)!;
      const key = simulator.keyOf(name).withKeypair((pair) => JSON.stringify([...pair]));
      const accounts = pdaIndices.length === 1 ? "all" : { pdaIndices };
      return { name, labels, limits, accounts, ...(watchOnly ? { authority } : { secret: key }) };
    }),
    pairs: pairs.map(({ name, symbol, legs, tolerance }) => {
      return {
        name,
        legs: legs.map((leg) => legText(leg, symbol)),
        ...(tolerance !== null && { tolerance }),
      };
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
      ...ruleOverrides(seed),
      ...(version % 2 === 0 ? {} : { MarginHigh: { for: "20s" }, DatabaseLarge: { enabled: false } }),
    },
    channels: Object.fromEntries(
      channels.map((name) => [name, typeOf(seed, name) ?? { type: "webhook", url }]),
    ),
    routing: {
      receivers: channels,
      groupBy: draw.one([["wallet"], ["wallet", "rule"], []]),
      stormFold: draw.one([3, 100]),
      ...routesOf(seed),
    },
    remind: { critical: { every: draw.one(["1m", "2m", "5m"]), acknowledgedFor: "1h" } },
    acknowledge: { audit: draw.one(["1m", "off"]), unmatched: draw.one(["leave", "always"]) },
    dashboard: { listen: "off" },
  };
}

/** The settings of a channel that people read, which is told incidents; null: it is told each alert by itself. */
function typeOf(seed: number, name: string): Record<string, unknown> | null {
  if (!new Draw(seed, 46).chance(0.5)) return null;
  if (name === "chat") return { type: "telegram", token: `123456:${"a".repeat(35)}`, chatId: 1 };
  return name === "mail" ? { type: "ntfy", topic: "truth-of-a-desk" } : null;
}

/** Routes below the first one, to the same channels: what they leave out they have from it. */
function routesOf(seed: number): Record<string, unknown> {
  const draw = new Draw(seed, 45);
  if (!draw.chance(0.3)) return {};
  const match = draw.one([
    { severity: "critical" },
    { severity: { not: "critical" } },
    { wallet: { matches: "w[1-3]" } },
  ]);
  return { routes: [{ match, ...(draw.chance(0.5) && { groupBy: ["wallet", "severity"] }) }] };
}

/** A ceiling that the first reading of everything uses for some time; null: a usual one. */
function lowCeiling(seed: number, wallets: readonly WalletPlan[]): number | null {
  const draw = new Draw(seed, 44);
  if (!draw.chance(0.15)) return null;
  const indices = wallets.reduce((sum, { pdaIndices }) => sum + pdaIndices.length, 0);
  return Math.ceil((1 + 0.5 * indices + 0.4 * wallets.length) * draw.between(1, 2));
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
