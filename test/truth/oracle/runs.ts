/**
 * For how long the levels of one rule and subject have held, and have been gone: beyond doubt, and by all that is known at most.
 * Times are the daemon's, ms.
 */
import type { Ease, Level, Predicate } from "./predicate.ts";
import type { View } from "./view.ts";

/** Since when; null: not now. */
interface LevelRuns {
  readonly severity: Level["severity"];
  surelyOnMs: number | null;
  perhapsOnMs: number | null;
  /** It holds by positions that are too old. */
  byOld: boolean;
  /** Time for which it held when positions became too old, ms; null: they are fresh. */
  frozenMs: number | null;
  surelyGoneMs: number | null;
  perhapsGoneMs: number | null;
  /** The longest time for which it may have been gone since it surely held last, ms: one that is over, too. */
  mostGoneMs: number;
  /** Times for which it surely held, and was surely gone, when the life before ended or what it rests on became too old, ms. */
  carriedOnMs: number;
  carriedGoneMs: number;
  /** They are of the life before: what is not there yet, or cannot be judged yet, takes them back only once it is judged. */
  isOfLifeBefore: boolean;
  /** The first judgement after that, where it goes on with such a time. */
  againMs: number | null;
}

/** A time during which a level surely held, or was surely gone. */
export interface Run {
  readonly severity: Level["severity"];
  readonly holds: boolean;
  /** It held by positions that are too old, for some of the time. */
  readonly byOld: boolean;
  /** Time without a daemon, and with data that are too old, is left out. */
  readonly fromMs: number;
  readonly toMs: number;
  /** The first judgement after such a time; null: there was none in it. */
  readonly againMs: number | null;
}

/** All that a rule rests on is fresh; positions are too old, and prices are not; nothing is beyond doubt. */
export type Freshness = "fresh" | "old positions" | "old";

/** Judgements come with answers, ms. */
const slackMs = 2_000;

export class Runs {
  readonly predicate: Predicate;
  readonly subject: string;
  readonly levels: LevelRuns[] = [];
  /** Since when nothing is known, before it is judged again. */
  #doubtMs: number | null = null;
  /** The position that it is about: another one begins anew. */
  #identity = "";
  readonly #ended: (run: Run) => void;

  /** @param ended told of each run when it is over */
  constructor(predicate: Predicate, subject: string, ended: (run: Run) => void) {
    this.predicate = predicate;
    this.subject = subject;
    this.#ended = ended;
  }

  /** True while one of its levels holds, or is gone, beyond doubt. */
  get isSure(): boolean {
    return this.levels.some((one) => one.surelyOnMs !== null || one.surelyGoneMs !== null);
  }

  /** Judges by a view. */
  judge(view: View, identity: string, atMs: number, freshness: Freshness, arePositionsOld: boolean): void {
    const fresh = freshness === "fresh";
    if (identity !== this.#identity) {
      this.breakOff(atMs);
      this.levels.length = 0;
      this.#identity = identity;
    }
    const levels = (ease: Ease) => this.predicate.levels(view, this.subject, ease);
    const [most, least] = [levels(1), levels(-1)];
    if (!most || !least) {
      this.breakOff(atMs);
      return;
    }
    const sinceMs = this.#doubtMs ?? atMs;
    this.#doubtMs = null;
    for (const [index, { severity }] of most.entries()) {
      this.levels[index] ??= {
        ...{
          severity,
          surelyOnMs: null,
          perhapsOnMs: null,
          surelyGoneMs: null,
          perhapsGoneMs: null,
          mostGoneMs: 0,
          byOld: false,
          frozenMs: null,
          carriedOnMs: 0,
          carriedGoneMs: 0,
          isOfLifeBefore: false,
          againMs: null,
        },
      };
      const runs = this.levels[index];
      const above = (of: readonly Level[]) => of.slice(index);
      const surelyOn = above(least).some(({ on }) => on);
      const perhapsOn = above(most).some(({ on }) => on);
      const surelyGone = !perhapsOn && above(least).every(({ off }) => off);
      const perhapsGone = !surelyOn && most[index]!.off;
      runs.byOld ||= freshness === "old positions";
      if (this.predicate.standsStill && arePositionsOld)
        // A condition that begins to hold afterwards does so by a streamed state, which makes the positions fresh.
        runs.frozenMs ??= runs.perhapsOnMs === null ? Number.POSITIVE_INFINITY : atMs - runs.perhapsOnMs;
      const { frozenMs } = runs;
      if (fresh && frozenMs !== null) {
        const { accountsMs, pricesMs, historiesMs } = view.terms;
        const othersMs = this.predicate.reads ? historiesMs : 0;
        const mostMs = frozenMs + Math.max(accountsMs, pricesMs, othersMs) + slackMs;
        if (runs.perhapsOnMs !== null) runs.perhapsOnMs = Math.max(runs.perhapsOnMs, atMs - mostMs);
        runs.frozenMs = null;
      }
      this.#set(runs, "surelyOnMs", freshness !== "old" && surelyOn, atMs);
      this.#set(runs, "surelyGoneMs", fresh && surelyGone, atMs);
      if (freshness !== "old" || !surelyOn)
        Object.assign(runs, { carriedOnMs: 0, carriedGoneMs: 0, isOfLifeBefore: false });
      // Old inputs may not have been judged.
      const stops = fresh && !most[index]!.perhapsUnknown;
      if (stops || perhapsOn) runs.perhapsOnMs = perhapsOn ? (runs.perhapsOnMs ?? sinceMs) : null;
      if (stops || perhapsGone) runs.perhapsGoneMs = perhapsGone ? (runs.perhapsGoneMs ?? sinceMs) : null;
      if (surelyOn) runs.mostGoneMs = 0;
      else if (runs.perhapsGoneMs !== null)
        runs.mostGoneMs = Math.max(runs.mostGoneMs, atMs - runs.perhapsGoneMs);
    }
  }

  /** Nothing at all is known from then on: what is so when it is judged again may have been so all the time. */
  doubt(fromMs: number): void {
    this.breakOff(fromMs);
    this.#doubtMs = fromMs;
    for (const runs of this.levels) {
      Object.assign(runs, { carriedOnMs: 0, carriedGoneMs: 0, isOfLifeBefore: false });
      runs.perhapsOnMs ??= fromMs;
      runs.perhapsGoneMs ??= fromMs;
    }
  }

  /** The life of a daemon ends. @param carries its clocks go on in the next, if that finds the same */
  stop(atMs: number, carries: boolean): void {
    for (const runs of this.levels) {
      const lasted = (fromMs: number | null): number =>
        carries && fromMs !== null ? Math.max(0, atMs - fromMs - slackMs) : 0;
      const [onMs, goneMs] = [lasted(runs.surelyOnMs), lasted(runs.surelyGoneMs)];
      this.#set(runs, "surelyOnMs", false, atMs);
      this.#set(runs, "surelyGoneMs", false, atMs);
      // One that ends before it judged anything leaves what the one before it left.
      if (onMs > 0 || goneMs > 0 || !carries)
        Object.assign(runs, { carriedOnMs: onMs, carriedGoneMs: goneMs });
      runs.isOfLifeBefore = true;
    }
  }

  /** The daemon's clock goes on from an earlier time than it had: what lasts has lasted for as long as before. */
  setBack(byMs: number): void {
    const earlier = (ms: number | null) => (ms === null ? null : ms - byMs);
    this.#doubtMs = earlier(this.#doubtMs);
    for (const runs of this.levels) {
      runs.perhapsOnMs = earlier(runs.perhapsOnMs);
      runs.perhapsGoneMs = earlier(runs.perhapsGoneMs);
    }
  }

  /** Nothing is known beyond doubt from then on. */
  breakOff(atMs: number): void {
    for (const runs of this.levels) {
      this.#set(runs, "surelyOnMs", false, atMs);
      this.#set(runs, "surelyGoneMs", false, atMs);
      if (!runs.isOfLifeBefore) Object.assign(runs, { carriedOnMs: 0, carriedGoneMs: 0 });
    }
  }

  /** Data it rests on are too old from then on: time for which it held until then counts, if it holds once they are read. */
  becomeOld(atMs: number): void {
    for (const runs of this.levels) {
      const { surelyOnMs, byOld } = runs;
      // Time by old positions is forgotten once they are read.
      const lastedMs = surelyOnMs === null || byOld ? 0 : Math.max(0, atMs - surelyOnMs - slackMs);
      const onMs = surelyOnMs === null ? runs.carriedOnMs : lastedMs;
      this.#set(runs, "surelyOnMs", false, atMs);
      this.#set(runs, "surelyGoneMs", false, atMs);
      // A change of collateral that is explained meanwhile takes such time back.
      Object.assign(runs, { carriedOnMs: this.predicate.unreadForMs ? 0 : onMs, carriedGoneMs: 0 });
    }
  }

  /** Positions are too old from then on: nothing is gone beyond doubt, and what holds goes on by new prices. */
  positionsAreOld(atMs: number): void {
    for (const runs of this.levels) {
      runs.byOld = true;
      this.#set(runs, "surelyGoneMs", false, atMs);
    }
  }

  #set(runs: LevelRuns, name: "surelyOnMs" | "surelyGoneMs", so: boolean, atMs: number): void {
    const fromMs = runs[name];
    if (so && fromMs === null) {
      const carriedMs = name === "surelyOnMs" ? runs.carriedOnMs : runs.carriedGoneMs;
      runs[name] = atMs - carriedMs;
      runs.againMs = carriedMs > 0 ? atMs : null;
    } else if (!so && fromMs !== null) {
      runs[name] = null;
      const { severity, byOld, againMs } = runs;
      this.#ended({ severity, holds: name === "surelyOnMs", byOld, fromMs, toMs: atMs, againMs });
    }
    if (name === "surelyOnMs" && !so) runs.byOld = false;
  }
}
