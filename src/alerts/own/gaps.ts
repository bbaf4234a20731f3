/**
 * Gaps in the data: the rules that cannot be judged because a source of a wallet has no data, and since when. Sources
 * without a wallet (prices, configuration, status) belong to the exchange.
 *
 *   open ──30 s without data in the last two minutes──► due ──data again──► closed
 *                                                        └──data now and then──► settling ──data for steadyMs──► closed
 */
import type { Severity } from "../../domain/alerts/alert.ts";
import type { FailureReason } from "../../domain/observation.ts";
import { exchangeSources, marketSources, type Source } from "../../domain/sources.ts";
import type { NoDataSource } from "../../domain/status.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Deadlines, Due } from "../../domain/structures/deadlines.ts";
import type { Subject } from "../../domain/subject.ts";
import type { Unknown } from "../../rules/index.ts";
import { noDataForMs } from "../patience.ts";
import { NoDataTime, noDataWindowMs } from "./no-data-time.ts";

/** A rule that judges a subject, or one whose subjects are not known (`evaluate/no-data-watches.ts`). */
export interface RuleOfSubject {
  readonly rule: {
    readonly name: string;
    readonly noData: "alert" | "keep";
    readonly levels: readonly { readonly severity: Severity }[];
    readonly reads: readonly { readonly sources: readonly Source[]; readonly symbol?: string | null }[];
    readonly staleAfterMs: Readonly<Record<Source, number>>;
  };
  readonly node: { readonly subject: Subject };
  /** The reason why it cannot be judged now; null: it can. */
  readonly unknown: Unknown | null;
}

/** The kind of failed read; null: none failed, so answers are late or incomplete. */
export type Cause = FailureReason | null;

export interface Gap extends Due {
  readonly key: string;
  /** Null: the exchange or the configuration. */
  readonly wallet: string | null;
  readonly source: NoDataSource;
  /** The rules and subjects that cannot be judged now. */
  readonly unjudged: Set<RuleOfSubject>;
  /** Time since which part of it cannot be judged, ms. */
  sinceMs: number;
  /** Time from which its duration counts, ms: after a start the first round of readings takes time. */
  countsFromMs: number;
  /** True if it was open before within the last two minutes: its source answers irregularly. */
  readonly intermittent: boolean;
  /** The time at which its source last answered while it was open, ms: part of the data may still be missing. */
  answeredMs: number | null;
  /** Time for which all must be judged without interruption before it closes, ms. It only grows. */
  steadyMs: number;
  /**
   * Its causes and those of preceding gaps, each of which closed less than two minutes before the next; null: not due
   * yet.
   */
  causes: ReadonlySet<Cause> | null;
  /** True if something cannot be judged now; false: settling. */
  open: boolean;
  /** Settling: time since which all of it is judged again, ms; null: not settling. */
  judgedMs: number | null;
  /** True if it lasted long enough to be reported. */
  due: boolean;
}

export interface GapsOptions {
  readonly deadlines: Deadlines;
  readonly builder: () => ChangesBuilder;
  /** Returns the time since which a rule has been judged, ms. */
  readonly sinceMs: (rule: string) => number;
  /** Returns the source whose missing data is the cause; null: none. */
  readonly sourceOf: (one: RuleOfSubject, unknown: Unknown) => Source | null;
  /** Returns the kind of failed read that caused a gap. */
  readonly causeOf: (source: NoDataSource, wallet: string | null) => Cause;
  /** Returns true if an alert lists the gap already: it is due at once. */
  readonly isListed: (wallet: string | null, source: NoDataSource) => boolean;
  /**
   * Returns true if another alert already reports the cause, for all wallets: the gap is not due while that alert
   * fires.
   */
  readonly isReportedElsewhere: (source: NoDataSource, wallet: string | null) => boolean;
  readonly onDue: (gap: Gap, builder: ChangesBuilder) => void;
  /** Returns true if a source that is always read has been without a reading for longer than allowed. */
  readonly isMissing: (source: NoDataSource, wallet: string | null, nowMs: number) => boolean;
  /** Called for a gap that continues after a reload and is listed by an alert, though it settles or is not due yet. */
  readonly onGoesOn: (gap: Gap) => void;
  /**
   * Rules that could not be judged because of a due gap now cannot be judged because of this one, which is then due
   * too.
   */
  readonly onMoved: (gap: Gap, from: Gap) => void;
  /** Called when the set of rules that cannot be judged because of a due gap changes. */
  readonly onChanged: (gap: Gap, builder: ChangesBuilder) => void;
  /** Called when all can be judged again, or nothing remains to be judged. */
  readonly onClosed: (gap: Gap, builder: ChangesBuilder) => void;
}

/** A due gap that has closed. */
interface Closed {
  readonly atMs: number;
  readonly steadyMs: number;
  readonly causes: ReadonlySet<Cause>;
}

const noCauses: ReadonlySet<Cause> = new Set();

/** Sources that belong to no wallet. */
const ofTheExchange: ReadonlySet<NoDataSource> = new Set<NoDataSource>(["configuration", ...exchangeSources]);

export class Gaps {
  readonly #options: GapsOptions;
  readonly #gaps = new Map<string, Gap>();
  readonly #keyOf = new Map<RuleOfSubject, string>();
  /**
   * Rules and subjects that cannot be judged, with the start of their own duration, ms; −∞: a gap of their wallet was
   * due.
   */
  readonly #ownMs = new Map<RuleOfSubject, number>();
  readonly #noDataTime: NoDataTime;
  /** The due gaps that closed last, by key. */
  readonly #closed: Map<string, Closed>;
  /** The gaps from before a reload, until they are taken over. */
  #former: ReadonlyMap<string, Gap>;

  /** @param before the gaps of the watch that is replaced at a reload */
  constructor(options: GapsOptions, before?: Gaps) {
    this.#options = options;
    this.#noDataTime = before ? before.#noDataTime : new NoDataTime();
    this.#closed = before ? before.#closed : new Map();
    this.#former = before ? before.#gaps : new Map();
  }

  /** All rules of a reload are attached: gaps that are no longer open end now. */
  tookOver(builder: ChangesBuilder): void {
    for (const [key, { source, wallet, open, due, countsFromMs, dueMs, ...former }] of this.#former) {
      if (this.#gaps.has(key)) continue;
      if (open) {
        this.#noDataTime.add(key, countsFromMs, builder.atMs);
        const { steadyMs, causes } = former;
        if (due) this.#closed.set(key, { atMs: builder.atMs, steadyMs, causes: causes ?? noCauses });
        continue;
      }
      const gap = this.#make(key, source, wallet, builder.atMs);
      const { sinceMs, answeredMs, judgedMs } = former;
      Object.assign(gap, { open, due, countsFromMs, sinceMs, answeredMs, judgedMs });
      this.#options.deadlines.set(gap, dueMs);
      this.#options.onGoesOn(gap);
    }
    this.#former = new Map();
  }

  get size(): number {
    return this.#gaps.size;
  }

  get(source: NoDataSource, wallet: string | null): Gap | undefined {
    return this.#gaps.get(gapKey(source, wallet));
  }

  /** The open gaps. */
  *open(): Iterable<Gap> {
    for (const gap of this.#gaps.values()) if (gap.open) yield gap;
  }

  /** Returns the wallets of which something cannot be judged now. @param max the search stops at this number */
  wallets(nowMs: number, max = Number.POSITIVE_INFINITY): Set<string> {
    const wallets = new Set<string>();
    for (const { wallet, open, due, countsFromMs } of this.#gaps.values()) {
      if (wallet !== null && open && (due || countsFromMs <= nowMs)) wallets.add(wallet);
      if (wallets.size >= max) break;
    }
    return wallets;
  }

  /** Takes a judgement that became unknown, known, or unknown for another reason. */
  note(one: RuleOfSubject, builder: ChangesBuilder): void {
    const before = this.#keyOf.get(one);
    const found = one.rule.noData === "alert" ? this.#gapOf(one) : null;
    const key = found === null ? undefined : gapKey(found.source, found.wallet);
    if (before === key) return;
    const from = before === undefined ? undefined : this.#gaps.get(before);
    if (found !== null) {
      const countsFromMs = this.#countsFromMs(one, found.source, builder);
      const ownMs = Math.min(this.#ownMs.get(one) ?? Number.POSITIVE_INFINITY, countsFromMs);
      // A gap of the exchange may be due because of data that only another wallet lacks.
      const isOwn = found.wallet === null || from?.wallet !== null || builder.atMs - ownMs >= noDataForMs;
      const moved = from?.due && isOwn && from.source !== "configuration" && found.source !== "configuration";
      this.#ownMs.set(one, moved && from.wallet !== null ? Number.NEGATIVE_INFINITY : ownMs);
      // A gap that continues for another source has no new start.
      const since = moved ? Math.min(countsFromMs, from.countsFromMs) : countsFromMs;
      const gap = this.#enter(found, one, since, builder);
      if (moved && !gap.due) {
        gap.due = true;
        gap.steadyMs = Math.max(gap.steadyMs, from.steadyMs);
        gap.causes ??= from.causes;
        this.#options.deadlines.cancel(gap);
      }
      if (moved) this.#options.onMoved(gap, from);
    } else this.#ownMs.delete(one);
    if (before !== undefined) this.#leave(before, one, builder);
  }

  #gapOf(one: RuleOfSubject): { readonly source: NoDataSource; readonly wallet: string | null } | null {
    const { unknown, node } = one;
    if (unknown === null) return null;
    const { unknown: cause } = unknown;
    if (cause === "unset") return { source: "configuration", wallet: null };
    if (cause !== "stale" && cause !== "missing" && cause !== "absent") return null;
    const source = this.#options.sourceOf(one, unknown);
    if (source === null) return null;
    const wallet = unknown.wallet ?? ("wallet" in node.subject ? node.subject.wallet : null);
    return { source, wallet: ofTheExchange.has(source) ? null : wallet };
  }

  #enter(
    { source, wallet }: { readonly source: NoDataSource; readonly wallet: string | null },
    one: RuleOfSubject,
    countsFromMs: number,
    builder: ChangesBuilder,
  ): Gap {
    const key = gapKey(source, wallet);
    this.#keyOf.set(one, key);
    const known = this.#gaps.get(key);
    if (known === undefined) {
      const gap = this.#make(key, source, wallet, builder.atMs);
      gap.unjudged.add(one);
      gap.countsFromMs = countsFromMs;
      const former = this.#former.get(key);
      if (former?.open) {
        const { sinceMs, answeredMs } = former;
        Object.assign(gap, {
          sinceMs,
          answeredMs,
          countsFromMs: Math.min(countsFromMs, former.countsFromMs),
        });
      }
      const isListed = this.#options.isListed(wallet, source);
      // An alert may list a gap that is not due; a reload does not make it due.
      const wasEarly = former?.open === true && !former.due;
      if (isListed && wasEarly) this.#options.onGoesOn(gap);
      if (isListed && !wasEarly) this.#due(gap);
      else this.#options.deadlines.set(gap, gap.countsFromMs + this.#untilDueMs(gap, gap.countsFromMs));
      return gap;
    }
    known.unjudged.add(one);
    if (known.due) this.#options.onChanged(known, builder);
    if (!known.open) {
      known.open = true;
      known.judgedMs = null;
      known.sinceMs = builder.atMs;
      known.countsFromMs = countsFromMs;
    } else if (countsFromMs >= known.countsFromMs) return known;
    else known.countsFromMs = countsFromMs;
    if (known.due) this.#options.deadlines.cancel(known);
    else this.#options.deadlines.set(known, countsFromMs + this.#untilDueMs(known, countsFromMs));
    return known;
  }

  /**
   * Returns the time for which it must stay open until it is due, ms: 30 s of the last two minutes, counted since it
   * last closed.
   */
  #untilDueMs({ key, countsFromMs }: Gap, nowMs: number): number {
    const fromMs = Math.max(nowMs - noDataWindowMs, this.#closed.get(key)?.atMs ?? Number.NEGATIVE_INFINITY);
    const openMs = Math.max(0, nowMs - Math.max(countsFromMs, fromMs));
    return Math.max(0, noDataForMs - openMs - this.#noDataTime.within(key, fromMs, nowMs));
  }

  #make(key: string, source: NoDataSource, wallet: string | null, atMs: number): Gap {
    const former = this.#former.get(key);
    const intermittent =
      former?.intermittent ?? this.#noDataTime.within(key, atMs - noDataWindowMs, atMs) > 0;
    const gap: Gap = {
      ...{ key, wallet, source, unjudged: new Set(), sinceMs: atMs, countsFromMs: atMs },
      ...{
        intermittent,
        answeredMs: null,
        open: true,
        judgedMs: null,
        due: false,
        steadyMs: former?.steadyMs ?? 0,
        causes: former?.causes ?? null,
      },
      ...{ dueMs: Number.POSITIVE_INFINITY, queuedMs: Number.POSITIVE_INFINITY, place: -1 },
      order: former?.order,
      onDue: () => (gap.open ? this.#due(gap) : this.#closeIfRead(gap, this.#options.builder())),
    };
    this.#gaps.set(key, gap);
    return gap;
  }

  /** Returns the time until the next check, ms; 0: it is due. */
  #restMs(gap: Gap, nowMs: number): number {
    const { isListed, isReportedElsewhere } = this.#options;
    if (isListed(gap.wallet, gap.source)) return 0;
    const restMs = this.#untilDueMs(gap, nowMs);
    return restMs === 0 && isReportedElsewhere(gap.source, gap.wallet) ? noDataForMs : restMs;
  }

  #due(gap: Gap): void {
    if (this.#gaps.get(gap.key) !== gap || gap.due) return;
    const builder = this.#options.builder();
    const restMs = this.#restMs(gap, builder.atMs);
    if (restMs > 0) {
      // Earlier periods are older than two minutes by then.
      this.#options.deadlines.set(gap, builder.atMs + restMs);
      return;
    }
    // Part of the missing data may have arrived, and another source may be missing now.
    for (const one of [...gap.unjudged]) {
      const found = this.#gapOf(one);
      if (found !== null && gapKey(found.source, found.wallet) === gap.key) continue;
      gap.unjudged.delete(one);
      this.#keyOf.delete(one);
      if (found === null) this.#ownMs.delete(one);
      else this.#enter(found, one, gap.countsFromMs, builder);
    }
    if (gap.unjudged.size === 0) {
      this.#close(gap, builder);
      return;
    }
    gap.due = true;
    if (gap.causes === null) this.#weigh(gap);
    this.#options.onDue(gap, builder);
  }

  /**
   * A gap that reopens soon after it closed had closed too early, and needs a longer time with data. With a cause that
   * it did not have before it is a new problem.
   */
  #weigh(gap: Gap): void {
    const closed = this.#closed.get(gap.key);
    const recent = closed !== undefined && gap.countsFromMs - closed.atMs < noDataWindowMs ? closed : null;
    const cause = this.#options.causeOf(gap.source, gap.wallet);
    if (recent !== null && (cause === null || recent.causes.has(null) || recent.causes.has(cause)))
      gap.steadyMs = Math.max(gap.steadyMs, noDataForMs, Math.min(2 * recent.steadyMs, noDataWindowMs));
    gap.causes = new Set([...(recent?.causes ?? []), cause]);
  }

  #leave(key: string, one: RuleOfSubject, builder: ChangesBuilder): void {
    if (this.#keyOf.get(one) === key) this.#keyOf.delete(one);
    const gap = this.#gaps.get(key);
    if (!gap?.unjudged.delete(one)) return;
    if (gap.unjudged.size > 0) {
      if (gap.due) this.#options.onChanged(gap, builder);
      return;
    }
    const { key: name, countsFromMs } = gap;
    const { atMs } = builder;
    // Single answers do not close it: it would be due again soon after each of them.
    const isSingle = atMs - countsFromMs < noDataForMs;
    if (isSingle && this.#noDataTime.within(name, atMs - noDataWindowMs, countsFromMs) > 0)
      gap.steadyMs = Math.max(gap.steadyMs, noDataForMs);
    this.#noDataTime.add(name, Math.max(countsFromMs, gap.sinceMs), atMs);
    gap.open = false;
    gap.judgedMs = atMs;
    if (!gap.due || gap.steadyMs === 0) this.#close(gap, builder);
    else this.#options.deadlines.set(gap, atMs + gap.steadyMs);
  }

  /** Rules may lack other data by now, so that only the source shows that it is missing again. */
  #closeIfRead(gap: Gap, builder: ChangesBuilder): void {
    if (this.#options.isMissing(gap.source, gap.wallet, builder.atMs))
      this.#options.deadlines.set(gap, builder.atMs + noDataForMs);
    else this.#close(gap, builder);
  }

  #close(gap: Gap, builder: ChangesBuilder): void {
    if (this.#gaps.get(gap.key) !== gap) return;
    this.#gaps.delete(gap.key);
    this.#options.deadlines.cancel(gap);
    const { steadyMs, causes } = gap;
    if (gap.due) this.#closed.set(gap.key, { atMs: builder.atMs, steadyMs, causes: causes ?? noCauses });
    this.#options.onClosed(gap, builder);
  }

  /**
   * Returns the time from which missing data counts. Data that was read and is too old counts at once. Data missing
   * after a start may still arrive: the first round over many wallets takes long, and some figures need two readings.
   */
  #countsFromMs(one: RuleOfSubject, source: NoDataSource, builder: ChangesBuilder): number {
    const ofMarkets = marketSources.has(source as Source);
    if (one.unknown?.unknown !== "missing" || (ofTheExchange.has(source) && !ofMarkets)) return builder.atMs;
    let graceMs = 0;
    for (const read of one.rule.reads) {
      for (const of of read.sources) {
        if (!ofTheExchange.has(of) || marketSources.has(of))
          graceMs = Math.max(graceMs, one.rule.staleAfterMs[of]);
      }
    }
    return Math.max(builder.atMs, this.#options.sinceMs(one.rule.name) + graceMs);
  }
}

export function gapKey(source: NoDataSource, wallet: string | null): string {
  return `${ofTheExchange.has(source) ? "" : (wallet ?? "")}\n${source}`;
}
