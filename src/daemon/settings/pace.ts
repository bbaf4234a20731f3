/**
 * Stale ages that follow the request rate that the exchange grants. By default data are stale after three times the
 * schedule. Where the granted rate stretches a schedule, they are stale after three times the actual interval, or they
 * would be stale for a part of each interval. A rule's own `staleAfter` is not changed. Data that the risk of positions
 * depends on are never fresh for more than a minute because of this.
 */
import { isDeepStrictEqual } from "node:util";
import { realSchedulesMs } from "../../collect/schedule/demand.ts";
import { type Source, sources } from "../../domain/sources.ts";
import type { ScheduleStatus, StretchedSource } from "../../domain/status.ts";
import { plannedPerSecond } from "../../exchange/settings.ts";
import { type LoadInput, loadRules, type RuleSet } from "../../rules/index.ts";
import type { DaemonSettings } from "../settings.ts";

const intervals = 3;
const maxRiskAgeMs = 60_000;
const ofRisk: ReadonlySet<Source> = new Set<Source>(["traderState", "markets"]);
/** Minimum time between two changes, ms: each reloads the rules. */
const minBetweenMs = 30_000;
/** Time for which intervals have to be shorter before ages follow them, ms. */
const shorterAfterMs = 120_000;

/** By source, the default of `staleAfter` where it is longer than in the configuration, ms. */
export type StretchedAges = NonNullable<LoadInput["stretchedAgesMs"]>;

export class Pace {
  readonly #defaultMs: Readonly<Record<Source, number>>;
  #ages: StretchedAges = {};
  #before: StretchedAges = {};
  #changedMs = Number.NEGATIVE_INFINITY;
  #shorterSinceMs: number | null = null;

  constructor(settings: DaemonSettings, nowMs: number) {
    const scheduleMs = configuredMs(settings, nowMs);
    this.#defaultMs = Object.fromEntries(
      sources.map((source) => [source, intervals * scheduleMs[source]]),
    ) as Record<Source, number>;
  }

  get ages(): StretchedAges {
    return this.#ages;
  }

  get stretched(): readonly StretchedSource[] {
    return sources.flatMap((source) => {
      const staleAfterMs = this.#ages[source];
      return staleAfterMs === undefined ? [] : [{ source, staleAfterMs, usuallyMs: this.#defaultMs[source] }];
    });
  }

  /** Restores the ages before the last change, which could not be applied. */
  undo(): void {
    this.#ages = this.#before;
  }

  /**
   * Computes the ages from the actual intervals.
   * @returns true if ages changed
   */
  update(schedules: readonly Pick<ScheduleStatus, "source" | "everyMs">[], nowMs: number): boolean {
    const wanted: Partial<Record<Source, number>> = {};
    for (const { source, everyMs } of schedules) {
      const ageMs = ofRisk.has(source) ? Math.min(intervals * everyMs, maxRiskAgeMs) : intervals * everyMs;
      if (ageMs > this.#defaultMs[source]) wanted[source] = Math.max(ageMs, wanted[source] ?? 0);
    }
    let longer = false;
    let shorter = false;
    for (const source of sources) {
      const nowAgeMs = this.#ages[source] ?? this.#defaultMs[source];
      const wantedAgeMs = wanted[source] ?? this.#defaultMs[source];
      // Two intervals have to fit into an age.
      if (wantedAgeMs > 1.5 * nowAgeMs || (wantedAgeMs > nowAgeMs && wantedAgeMs === maxRiskAgeMs))
        longer = true;
      if (wantedAgeMs < nowAgeMs / 2 || (wanted[source] === undefined && nowAgeMs > wantedAgeMs))
        shorter = true;
    }
    if (!shorter) this.#shorterSinceMs = null;
    else this.#shorterSinceMs ??= nowMs;
    const isShorter = this.#shorterSinceMs !== null && nowMs - this.#shorterSinceMs >= shorterAfterMs;
    if ((!longer && !isShorter) || nowMs - this.#changedMs < minBetweenMs) return false;
    this.#before = this.#ages;
    this.#ages = wanted;
    this.#changedMs = nowMs;
    this.#shorterSinceMs = null;
    return true;
  }
}

function configuredMs(settings: DaemonSettings, nowMs: number): Record<Source, number> {
  return realSchedulesMs({
    settings: settings.schedules,
    requestsPerSecond: plannedPerSecond(settings.exchange),
    wallets: settings.wallets.map(({ key, pdaIndices }) => ({ watchOnly: key === null, pdaIndices })),
    nowMs,
    streams: settings.exchange.streams !== "off",
  });
}

/**
 * The rules of a configuration, with ages that follow the actual intervals.
 * @param running the settings at the start: schedules, wallets and the request ceiling do not change until a restart
 * @param from the settings with the rules
 */
export function rulesAtPace(
  running: DaemonSettings,
  from: DaemonSettings,
  stretchedAgesMs: StretchedAges,
  nowMs: number,
): RuleSet {
  const scheduleMs = configuredMs(running, nowMs);
  const isLoadedSo = isDeepStrictEqual(scheduleMs, configuredMs(from, nowMs));
  if (isLoadedSo && Object.keys(stretchedAgesMs).length === 0) return from.ruleSet;
  const loaded = loadRules({
    ...from.ruleTexts,
    scheduleMs,
    stretchedAgesMs,
    wallets: from.wallets.map(({ name, labels, limits, key }) => ({
      name,
      labels,
      limits,
      watchOnly: key === null,
    })),
    pairs: from.pairs,
    timezone: from.timezone,
  });
  // These texts were loaded successfully before.
  if (!("ruleSet" in loaded)) throw new Error(`rules: ${loaded.problems[0]?.message}`);
  return loaded.ruleSet;
}
