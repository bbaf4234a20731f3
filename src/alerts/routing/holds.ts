/**
 * Decides why the notification of an alert is held now: a silence, a mute time of its route, or an alert that it
 * follows from; and when that may change. Inhibition does not hold events, ends, and alerts whose inputs are fresh.
 */

import { z } from "zod";
import type { Severity } from "../../domain/alerts/alert.ts";
import { severities } from "../../domain/alerts/alert.ts";
import type { Silence } from "../../domain/alerts/silence.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { KeptKind, type KeptValues, keptNumber } from "../../domain/stored/kept.ts";
import type { Deadlines, Due } from "../../domain/structures/deadlines.ts";
import { type Inhibitions, inhibits } from "./inhibit.ts";
import type { Labels } from "./match.ts";
import { intervalsFor, isMute, type MuteTimes, muteEndMs } from "./mute.ts";
import type { Routing, Way } from "./route.ts";
import { silences } from "./silence.ts";

/** The alert or event to check for holds. */
export interface Holdable {
  readonly labels: Labels;
  readonly severity: Severity;
  readonly event: boolean;
  /** Its number, so that it does not hold itself. */
  readonly alertId: number;
  /** Returns true if it can be judged now, or is known to be over. */
  readonly fresh: () => boolean;
}

export interface HoldsOptions {
  readonly routing: Routing;
  readonly inhibit: Inhibitions;
  readonly timezone: string;
  readonly deadlines: Deadlines;
  readonly builder: () => ChangesBuilder;
  /** Labels of the firing alerts that are notified, by number. */
  readonly firing: () => Iterable<readonly [number, Labels]>;
  /** Called when a hold may have ended. */
  readonly changed: () => void;
}

const names = z.array(z.string());
const matcher = z.union([
  z.object({ in: names }),
  z.object({ notIn: names }),
  z.object({ matches: z.string() }),
  z.object({ notMatches: z.string() }),
]);
/** By number. */
export const keptSilence: KeptKind<Silence, number> = new KeptKind(
  "silence/{}",
  z.object({
    id: keptNumber,
    match: z.record(z.string(), matcher),
    upTo: z.enum(severities),
    author: z.string(),
    comment: z.string(),
    startsMs: keptNumber,
    endsMs: keptNumber,
    createdMs: keptNumber,
  }),
);
/**
 * Time after a start at which holds are checked, ms: there are first answers, and a silence or a night may have ended
 * meanwhile.
 */
const firstAnswersMs = 5_000;
/** Time for which ended silences stay in the list, ms. */
const keptMs = 7 * 86_400_000;

export class Holds {
  readonly #options: HoldsOptions;
  readonly #silences = new Map<number, Silence>();
  readonly #mutedUntil = new Map<string, number>();
  readonly #timer: Due;

  constructor(options: HoldsOptions) {
    this.#options = options;
    this.#timer = {
      dueMs: Number.POSITIVE_INFINITY,
      queuedMs: Number.POSITIVE_INFINITY,
      place: -1,
      onDue: (nowMs) => {
        this.#forget(nowMs);
        options.changed();
        this.#schedule(nowMs);
      },
    };
  }

  /** Newest first, with recently ended ones. */
  get silences(): readonly Silence[] {
    return [...this.#silences.values()].sort((a, b) => b.id - a.id);
  }

  restore(keep: KeptValues, nowMs: number): void {
    const silences = [...keptSilence.all(keep)].map(([, silence]) => silence);
    for (const one of silences.sort((a, b) => a.id - b.id)) this.#silences.set(one.id, one);
    this.#schedule(nowMs);
    this.wakeAt(nowMs + firstAnswersMs, nowMs);
  }

  /** Adds a silence, or replaces one (an earlier end). */
  put(silence: Silence, builder: ChangesBuilder): void {
    this.#silences.set(silence.id, silence);
    keptSilence.put(silence.id, silence, builder);
    this.#options.changed();
    this.#schedule(builder.atMs);
  }

  /** @returns the reason for people; null if nothing holds it */
  why(of: Holdable, way: Way, nowMs: number): string | null {
    for (const silence of this.#silences.values())
      if (silences(silence, of.labels, of.severity, nowMs))
        return `silence ${silence.id} of ${silence.author}`;
    const { routing, timezone, inhibit } = this.#options;
    for (const name of way.mute) {
      const endMs = this.#muteEndMs(name, routing.muteTimes[name], of.severity, nowMs, timezone);
      if (endMs === null) continue;
      this.wakeAt(endMs, nowMs);
      return `mute time ${name}`;
    }
    if (of.event || inhibit.length === 0 || of.fresh()) return null;
    for (const [id, labels] of this.#options.firing()) {
      if (id === of.alertId) continue;
      if (inhibit.some((one) => inhibits(one, labels, of.labels)))
        return `alert #${id}, from which it follows`;
    }
    return null;
  }

  /** An alert ended: the notifications that it inhibited are checked at the end of the tick. */
  sourceEnded(nowMs: number): void {
    if (this.#options.inhibit.length > 0 && nowMs < this.#timer.dueMs)
      this.#options.deadlines.set(this.#timer, nowMs);
  }

  /**
   * Returns the end of a mute time that holds a level now, ms; null: none does. Cached: a weekend may hold thousands of
   * alerts, and the calendar lookup is slow.
   */
  #muteEndMs(
    name: string,
    intervals: MuteTimes[string] | undefined,
    level: Severity,
    nowMs: number,
    timezone: string,
  ): number | null {
    const key = `${level} ${name}`;
    const known = this.#mutedUntil.get(key);
    if (known !== undefined && nowMs < known) return known;
    const times = intervalsFor(intervals ?? [], level);
    if (!isMute(times, nowMs, timezone)) return null;
    // A mute time without end is checked again.
    const endMs = muteEndMs(times, nowMs, timezone) ?? nowMs + 3_600_000;
    this.#mutedUntil.set(key, endMs);
    return endMs;
  }

  /** Schedules a check of the held notifications at this time, ms, or earlier. */
  wakeAt(atMs: number, nowMs: number): void {
    const dueMs = Math.max(atMs, nowMs + 1);
    if (dueMs < this.#timer.dueMs) this.#options.deadlines.set(this.#timer, dueMs);
  }

  #schedule(nowMs: number): void {
    for (const { startsMs, endsMs } of this.#silences.values())
      for (const ms of [startsMs, endsMs, endsMs + keptMs]) if (ms > nowMs) this.wakeAt(ms, nowMs);
  }

  #forget(nowMs: number): void {
    for (const { id, endsMs } of this.#silences.values()) {
      if (endsMs + keptMs > nowMs) continue;
      this.#silences.delete(id);
      keptSilence.drop(id, this.#options.builder());
    }
  }
}
