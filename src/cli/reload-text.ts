/**
 * Describes the differences of a reloaded configuration: the settings that the running daemon applies, and those that
 * need a restart.
 */

import type { DaemonSettings } from "../daemon/settings.ts";
import { hasSameNames } from "../web/settings.ts";

/** The sections that a reload applies. `timezone` is applied to rules; channels keep theirs. */
const appliedSections = ["routing", "remind", "advice", "acknowledge", "timezone"] as const;

/** A listener cannot switch between HTTP and TLS. */
function isAppliedToPage(key: string, before: DaemonSettings, after: DaemonSettings): boolean {
  if (key === "dashboard.tls") return (before.dashboard?.tls != null) === (after.dashboard?.tls != null);
  if (key === "dashboard.allowedHosts") return hasSameNames(before.dashboard!, after.dashboard!);
  return key === "dashboard.passwordHash";
}

/** The depth to which a section's keys are named; 0: the section alone. */
const depths: Readonly<Record<string, number>> = {
  ...{ exchange: 1, wallets: 2, signer: 1, schedules: 1, history: 1, channels: 2, mention: 1, dashboard: 1 },
  ...{ routing: 1, remind: 1, advice: 1, acknowledge: 1, timezone: 0, templates: 2 },
};

/** Settings with another name in the file. */
const fileNames: Readonly<Record<string, string>> = {
  pdaIndices: "accounts",
  authority: "key",
  keptIn: "key",
};

/** @returns the keys, by their names in the file, that a reload from one to the other applies */
export function appliedKeys(before: DaemonSettings, after: DaemonSettings): string[] {
  const rules = before.ruleSetText === after.ruleSetText ? [] : ["rules"];
  const words = changedKeys("templates", before, after).flatMap((key) => {
    const [, channel, rest = ""] = /^templates\.channels\.(\S+)(.*)$/.exec(key) ?? [];
    return channel === undefined ? [] : [`channels.${channel}.templates${rest}`];
  });
  const page = changedKeys("dashboard", before, after).filter((key) => isAppliedToPage(key, before, after));
  return [
    ...rules,
    ...appliedSections.flatMap((section) => changedKeys(section, before, after)),
    ...words,
    ...page,
  ];
}

/** @returns the differing keys of one section: `wallets.main.labels`, `channels.chat (new)` */
export function changedKeys(
  section: keyof DaemonSettings,
  before: DaemonSettings,
  after: DaemonSettings,
): string[] {
  return [
    ...new Set(differing(section, named(before[section]), named(after[section]), depths[section] ?? 0)),
  ];
}

function differing(at: string, before: unknown, after: unknown, depth: number): string[] {
  if (exactJson(before) === exactJson(after)) return [];
  if (depth === 0 || !isMapping(before) || !isMapping(after)) return [at];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
    const place = `${at}.${fileNames[key] ?? key}`;
    if (!Object.hasOwn(before, key)) return [`${place} (new)`];
    if (!Object.hasOwn(after, key)) return [`${place} (gone)`];
    return differing(place, before[key], after[key], depth - 1);
  });
}

/** Turns a list of wallets into a mapping by name. */
function named(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const entries = value.map((one: unknown) => [isMapping(one) ? String(one.name) : "", one] as const);
  return Object.fromEntries(entries);
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function exactJson(value: unknown): string {
  return (
    JSON.stringify(value, (_, part: unknown) => (typeof part === "bigint" ? part.toString() : part)) ?? ""
  );
}
