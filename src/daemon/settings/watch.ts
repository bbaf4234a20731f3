/** The settings of the watch in a configuration. */

import { capacitiesOf } from "../../channels/registry.ts";
import { schedulesMs } from "../../collect/index.ts";
import type { WatchSettings } from "../../engine/settings.ts";
import type { DaemonSettings } from "../settings.ts";

/**
 * @param running the settings at the start: wallets, schedules and channels do not change until a restart
 * @param from the newest settings: rules, routes and reminders
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
