/** The watch's part of a configuration. */

import { capacitiesOf } from "../../channels/registry.ts";
import { schedulesMs } from "../../collect/index.ts";
import type { WatchSettings } from "../../engine/settings.ts";
import type { DaemonSettings } from "../settings.ts";

/**
 * @param running wallets, schedules and channels are those that run, whatever the configuration says since
 * @param from rules, routes and reminders are the newest
 */
export function watchSettingsOf(running: DaemonSettings, from: DaemonSettings, nowMs: number): WatchSettings {
  return {
    wallets: running.wallets.map(({ name, authority, labels, limits, key, pdaIndices }) => ({
      name,
      authority,
      labels,
      limits,
      watchOnly: key === null,
      pdaIndices,
    })),
    pairs: from.pairs,
    ruleSet: from.ruleSet,
    routing: from.routing,
    inhibit: from.inhibit,
    channels: Object.keys(running.channels),
    drills: running.drill.schedule !== null,
    named: from.templates.named,
    capacities: capacitiesOf(running.channels),
    remind: from.remind,
    advice: from.advice,
    acknowledge: from.acknowledge,
    scheduleMs: schedulesMs(running.schedules, nowMs, running.exchange.streams !== "off"),
    timezone: from.timezone,
  };
}
