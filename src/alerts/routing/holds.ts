/**
 * Decides why the notification of an alert is held now: a silence, a mute time of its route, an alert that it follows from.
 * And when that may change. Inhibition holds no event, no ending, and no alert whose inputs are fresh.
 */

import { z } from "zod";
import type { Severity } from "../../domain/alert.ts";
import { severities } from "../../domain/alert.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Deadlines, Due } from "../../domain/deadlines.ts";
import { KeptKind, type KeptValues, keptNumber } from "../../domain/kept.ts";
import type { Silence } from "../../domain/silence.ts";
import { type Inhibitions, inhibits } from "./inhibit.ts";
import type { Labels } from "./match.ts";
import { intervalsFor, isMute, type MuteTimes, muteEndMs } from "./mute.ts";
import type { Routing, Way } from "./route.ts";
import { silences } from "./silence.ts";

/** The alert or event whose holds are asked for. */
export interface Holdable {
  readonly labels: Labels;
  readonly severity: Severity;
  readonly event: boolean;
  /** Its number, so that it does not hold itself. */
  readonly alertId: number;
  /** It can be judged now, or is known to be over. */
  readonly fresh: () => boolean;
}

export interface HoldsOptions {
  readonly routing: Routing;
  readonly inhibit: Inhibitions;
  readonly timezone: string;
  readonly deadlines: Deadlines;
  readonly builder: () => ChangesBuilder;
  /** Labels of the alerts that fire and are told of, by number. */
  readonly firing: () => Iterable<readonly [number, Labels]>;
  /** Something may be held no longer. */
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
/** After a start what is held is looked at when there were first answers: a silence or a night may have ended meanwhile. */
const firstAnswersMs = 5_000;
/** Silences that are over are kept for the list, ms. */
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

  /** Newest first, those that are over for not too long among them. */
  get silences(): readonly Silence[] {
    return [...this.#silences.values()].sort((a, b) => b.id - a.id);
  }

  restore(keep: KeptValues, nowMs: number): void {
    const silences = [...keptSilence.all(keep)].map(([, silence]) => silence);
    for (const one of silences.sort((a, b) => a.id - b.id)) this.#silences.set(one.id, one);
    this.#schedule(nowMs);
    this.wakeAt(nowMs + firstAnswersMs, nowMs);
  }

  /** Adds a silence, or puts another in its place (an earlier end). */
  put(silence: Silence, builder: ChangesBuilder): void {
    this.#silences.set(silence.id, silence);
    keptSilence.put(silence.id, silence, builder);
    this.#options.changed();
    this.#schedule(builder.atMs);
  }

  /** @returns why, for people; null where nothing holds it */
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

  /** An alert ended: what it held back is looked at when all that happens now has. */
  sourceEnded(nowMs: number): void {
    if (this.#options.inhibit.length > 0 && nowMs < this.#timer.dueMs)
      this.#options.deadlines.set(this.#timer, nowMs);
  }

  /**
   * The end of a mute time that holds a level now, ms; null: it does not hold it. Looked up once: thousands of alerts may be held
   * through a weekend, and the calendar is slow to ask.
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
    // One that never ends is asked again.
    const endMs = muteEndMs(times, nowMs, timezone) ?? nowMs + 3_600_000;
    this.#mutedUntil.set(key, endMs);
    return endMs;
  }

  /** Looks at what is held again at a time, ms, or before. */
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
