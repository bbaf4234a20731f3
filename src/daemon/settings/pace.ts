/**
 * Ages of data that follow the requests which the exchange grants. By default data count as too old after three times the
 * schedule. Where the granted rate stretches a schedule, they count as too old after three times the interval that is kept, or
 * they would be too old for a part of each interval. A rule's own `staleAfter` stays. What the risk of positions rests on is
 * never fresh for longer than a minute because of that.
 */
import { isDeepStrictEqual } from "node:util";
import { realSchedulesMs } from "../../collect/demand.ts";
import { type Source, sources } from "../../domain/sources.ts";
import type { ScheduleStatus, StretchedSource } from "../../domain/status.ts";
import { plannedPerSecond } from "../../exchange/settings.ts";
import { type LoadInput, loadRules, type RuleSet } from "../../rules/index.ts";
import type { DaemonSettings } from "../settings.ts";

const intervals = 3;
const maxRiskAgeMs = 60_000;
const ofRisk: ReadonlySet<Source> = new Set<Source>(["traderState", "markets"]);
/** Between two changes, ms: each makes the rules anew. */
const betweenMs = 30_000;
/** Time for which shorter intervals have to be kept before ages follow them, ms. */
const shorterForMs = 120_000;

/** By source, the default of `staleAfter` where it is longer than by the configuration, ms. */
export type StretchedAges = NonNullable<LoadInput["stretchedAgesMs"]>;

export class Pace {
  readonly #usualMs: Readonly<Record<Source, number>>;
  #ages: StretchedAges = {};
  #before: StretchedAges = {};
  #changedMs = Number.NEGATIVE_INFINITY;
  #shorterSinceMs: number | null = null;

  constructor(settings: DaemonSettings, nowMs: number) {
    const scheduleMs = configuredMs(settings, nowMs);
    this.#usualMs = Object.fromEntries(
      sources.map((source) => [source, intervals * scheduleMs[source]]),
    ) as Record<Source, number>;
  }

  get ages(): StretchedAges {
    return this.#ages;
  }

  get stretched(): readonly StretchedSource[] {
    return sources.flatMap((source) => {
      const staleAfterMs = this.#ages[source];
      return staleAfterMs === undefined ? [] : [{ source, staleAfterMs, usuallyMs: this.#usualMs[source] }];
    });
  }

  /** The last change could not be made. */
  undo(): void {
    this.#ages = this.#before;
  }

  /** Looks at the intervals that are kept. @returns true if ages changed */
  look(schedules: readonly Pick<ScheduleStatus, "source" | "everyMs">[], nowMs: number): boolean {
    const wanted: Partial<Record<Source, number>> = {};
    for (const { source, everyMs } of schedules) {
      const ageMs = ofRisk.has(source) ? Math.min(intervals * everyMs, maxRiskAgeMs) : intervals * everyMs;
      if (ageMs > this.#usualMs[source]) wanted[source] = Math.max(ageMs, wanted[source] ?? 0);
    }
    let longer = false;
    let shorter = false;
    for (const source of sources) {
      const isMs = this.#ages[source] ?? this.#usualMs[source];
      const wantedMs = wanted[source] ?? this.#usualMs[source];
      // Two intervals have to fit in.
      if (wantedMs > 1.5 * isMs || (wantedMs > isMs && wantedMs === maxRiskAgeMs)) longer = true;
      if (wantedMs < isMs / 2 || (wanted[source] === undefined && isMs > wantedMs)) shorter = true;
    }
    if (!shorter) this.#shorterSinceMs = null;
    else this.#shorterSinceMs ??= nowMs;
    const isShorter = this.#shorterSinceMs !== null && nowMs - this.#shorterSinceMs >= shorterForMs;
    if ((!longer && !isShorter) || nowMs - this.#changedMs < betweenMs) return false;
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
 * The rules of a configuration, with ages by the pace at which the daemon really reads.
 * @param running the settings at its start: schedules, wallets and the ceiling stay theirs until a restart
 * @param from of the rules
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
  // They were loaded from these texts before.
  if (!("ruleSet" in loaded)) throw new Error(`rules: ${loaded.problems[0]?.message}`);
  return loaded.ruleSet;
}
