/**
 * Gaps in the data: which rules cannot be judged for want of which source of which wallet, and since when. Sources that
 * no wallet owns (prices, configuration, status) belong to the exchange.
 *
 *   open ──30 s without data in the last two minutes──► due ──data again──► closed
 *                                                        └──data now and then──► settling ──data for steadyMs──► closed
 */
import type { Severity } from "../../domain/alert.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Deadlines, Due } from "../../domain/deadlines.ts";
import type { FailureReason } from "../../domain/observation.ts";
import { exchangeSources, marketSources, type Source } from "../../domain/sources.ts";
import type { BlindSource } from "../../domain/status.ts";
import type { Subject } from "../../domain/subject.ts";
import type { Unknown } from "../../rules/index.ts";
import { noDataForMs } from "../patience.ts";
import { DarkTime, darkWindowMs } from "./dark-time.ts";

/** A rule that judges a subject, or one whose subjects cannot even be known (`evaluate/no-data-watches.ts`). */
export interface Sighted {
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

/** The kind of failed read; null: none failed, so answers are late or leave something out. */
export type Cause = FailureReason | null;

export interface Gap extends Due {
  readonly key: string;
  /** Null: of the exchange, or of the configuration. */
  readonly wallet: string | null;
  readonly source: BlindSource;
  /** The rules and subjects that cannot be judged now. */
  readonly unjudged: Set<Sighted>;
  /** Since when something of it cannot be judged, ms. */
  sinceMs: number;
  /** From when on its time counts, ms: at a start the first round of readings takes its time. */
  countsFromMs: number;
  /** It was open before within the last two minutes: its source answers now and then. */
  readonly intermittent: boolean;
  /** The time at which its source last answered while it was open, ms: a part of it may still be missing. */
  answeredMs: number | null;
  /** Time for which all has to be judged without a break until it closes, ms. It only grows. */
  steadyMs: number;
  /** Causes of it and of those just before, each of which closed less than two minutes before the next; null: not due yet. */
  causes: ReadonlySet<Cause> | null;
  /** Something cannot be judged now; false: settling. */
  open: boolean;
  /** Settling: since when all of it is judged again, ms; null: it is not. */
  judgedMs: number | null;
  /** It lasted long enough to be reported. */
  due: boolean;
}

export interface GapsOptions {
  readonly deadlines: Deadlines;
  readonly builder: () => ChangesBuilder;
  /** Since when a rule has been judged by, ms. */
  readonly sinceMs: (rule: string) => number;
  /** The source whose silence is the cause; null: none's. */
  readonly sourceOf: (one: Sighted, unknown: Unknown) => Source | null;
  /** The kind of failed read behind a gap. */
  readonly causeOf: (source: BlindSource, wallet: string | null) => Cause;
  /** A gap is listed by an alert already: it is due at once. */
  readonly isListed: (wallet: string | null, source: BlindSource) => boolean;
  /** Another alert tells the cause already, for all wallets: the gap is not due as long as that fires. */
  readonly isToldElsewhere: (source: BlindSource, wallet: string | null) => boolean;
  readonly onDue: (gap: Gap, builder: ChangesBuilder) => void;
  /** True if a source that is always read was not for longer than it may be. */
  readonly isMissing: (source: BlindSource, wallet: string | null, nowMs: number) => boolean;
  /** It goes on after a reload, listed by an alert though it settles or is not due yet. */
  readonly onGoesOn: (gap: Gap) => void;
  /** Rules that could not be judged for want of one that is due cannot be judged for want of this one now: it is due, too. */
  readonly onMoved: (gap: Gap, from: Gap) => void;
  /** Called when other rules than before cannot be judged because of a gap that is due. */
  readonly onChanged: (gap: Gap, builder: ChangesBuilder) => void;
  /** All can be judged again, or nothing is to be judged any more. */
  readonly onClosed: (gap: Gap, builder: ChangesBuilder) => void;
}

/** One that was due and closed. */
interface Closed {
  readonly atMs: number;
  readonly steadyMs: number;
  readonly causes: ReadonlySet<Cause>;
}

const noCauses: ReadonlySet<Cause> = new Set();

/** No wallet owns these. */
const ofTheExchange: ReadonlySet<BlindSource> = new Set<BlindSource>(["configuration", ...exchangeSources]);

export class Gaps {
  readonly #options: GapsOptions;
  readonly #gaps = new Map<string, Gap>();
  readonly #keyOf = new Map<Sighted, string>();
  /** Rules and subjects that cannot be judged, from when on their own time counts, ms; −∞: one of their wallet was due. */
  readonly #ownMs = new Map<Sighted, number>();
  readonly #darkTime: DarkTime;
  /** Those that were due and closed last, by key. */
  readonly #closed: Map<string, Closed>;
  /** Those of before a reload, until they are taken over. */
  #former: ReadonlyMap<string, Gap>;

  /** @param before those of the watch that is replaced at a reload */
  constructor(options: GapsOptions, before?: Gaps) {
    this.#options = options;
    this.#darkTime = before ? before.#darkTime : new DarkTime();
    this.#closed = before ? before.#closed : new Map();
    this.#former = before ? before.#gaps : new Map();
  }

  /** All rules of a reload are attached: what is not open any more was so until now. */
  tookOver(builder: ChangesBuilder): void {
    for (const [key, { source, wallet, open, due, countsFromMs, dueMs, ...former }] of this.#former) {
      if (this.#gaps.has(key)) continue;
      if (open) {
        this.#darkTime.add(key, countsFromMs, builder.atMs);
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

  get(source: BlindSource, wallet: string | null): Gap | undefined {
    return this.#gaps.get(gapKey(source, wallet));
  }

  /** Those that are open now. */
  *open(): Iterable<Gap> {
    for (const gap of this.#gaps.values()) if (gap.open) yield gap;
  }

  /** Wallets of which something cannot be judged now. @param max no more are looked for */
  wallets(nowMs: number, max = Number.POSITIVE_INFINITY): Set<string> {
    const wallets = new Set<string>();
    for (const { wallet, open, due, countsFromMs } of this.#gaps.values()) {
      if (wallet !== null && open && (due || countsFromMs <= nowMs)) wallets.add(wallet);
      if (wallets.size >= max) break;
    }
    return wallets;
  }

  /** A judgement turned unknown, known again, or unknown for another reason. */
  note(one: Sighted, builder: ChangesBuilder): void {
    const before = this.#keyOf.get(one);
    const found = one.rule.noData === "alert" ? this.#gapOf(one) : null;
    const key = found === null ? undefined : gapKey(found.source, found.wallet);
    if (before === key) return;
    const from = before === undefined ? undefined : this.#gaps.get(before);
    if (found !== null) {
      const countsFromMs = this.#countsFromMs(one, found.source, builder);
      const ownMs = Math.min(this.#ownMs.get(one) ?? Number.POSITIVE_INFINITY, countsFromMs);
      // One of the exchange may be due for want of what only another wallet lacks.
      const isOwn = found.wallet === null || from?.wallet !== null || builder.atMs - ownMs >= noDataForMs;
      const moved = from?.due && isOwn && from.source !== "configuration" && found.source !== "configuration";
      this.#ownMs.set(one, moved && from.wallet !== null ? Number.NEGATIVE_INFINITY : ownMs);
      // It goes on for want of another source, and is not the lateness of that one after an answer.
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

  #gapOf(one: Sighted): { readonly source: BlindSource; readonly wallet: string | null } | null {
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
    { source, wallet }: { readonly source: BlindSource; readonly wallet: string | null },
    one: Sighted,
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
      // An alert may list one that is not due, which a reload does not make due.
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

  /** Time that it still has to be open until it is due, ms: 30 s of the last two minutes, and since it closed last. */
  #untilDueMs({ key, countsFromMs }: Gap, nowMs: number): number {
    const fromMs = Math.max(nowMs - darkWindowMs, this.#closed.get(key)?.atMs ?? Number.NEGATIVE_INFINITY);
    const openMs = Math.max(0, nowMs - Math.max(countsFromMs, fromMs));
    return Math.max(0, noDataForMs - openMs - this.#darkTime.within(key, fromMs, nowMs));
  }

  #make(key: string, source: BlindSource, wallet: string | null, atMs: number): Gap {
    const former = this.#former.get(key);
    const intermittent = former?.intermittent ?? this.#darkTime.within(key, atMs - darkWindowMs, atMs) > 0;
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

  /** The time until it is looked at again, ms; 0: it is due. */
  #restMs(gap: Gap, nowMs: number): number {
    const { isListed, isToldElsewhere } = this.#options;
    if (isListed(gap.wallet, gap.source)) return 0;
    const restMs = this.#untilDueMs(gap, nowMs);
    return restMs === 0 && isToldElsewhere(gap.source, gap.wallet) ? noDataForMs : restMs;
  }

  #due(gap: Gap): void {
    if (this.#gaps.get(gap.key) !== gap || gap.due) return;
    const builder = this.#options.builder();
    const restMs = this.#restMs(gap, builder.atMs);
    if (restMs > 0) {
      // Earlier periods are no longer among the last two minutes.
      this.#options.deadlines.set(gap, builder.atMs + restMs);
      return;
    }
    // A part of what was missing may have come, and what is missing now may be another source's.
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
   * One that came back soon after it closed closed too early, and has to be read for longer this time. With a cause that it
   * did not have yet it is another trouble.
   */
  #weigh(gap: Gap): void {
    const closed = this.#closed.get(gap.key);
    const recent = closed !== undefined && gap.countsFromMs - closed.atMs < darkWindowMs ? closed : null;
    const cause = this.#options.causeOf(gap.source, gap.wallet);
    if (recent !== null && (cause === null || recent.causes.has(null) || recent.causes.has(cause)))
      gap.steadyMs = Math.max(gap.steadyMs, noDataForMs, Math.min(2 * recent.steadyMs, darkWindowMs));
    gap.causes = new Set([...(recent?.causes ?? []), cause]);
  }

  #leave(key: string, one: Sighted, builder: ChangesBuilder): void {
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
    if (isSingle && this.#darkTime.within(name, atMs - darkWindowMs, countsFromMs) > 0)
      gap.steadyMs = Math.max(gap.steadyMs, noDataForMs);
    this.#darkTime.add(name, Math.max(countsFromMs, gap.sinceMs), atMs);
    gap.open = false;
    gap.judgedMs = atMs;
    if (!gap.due || gap.steadyMs === 0) this.#close(gap, builder);
    else this.#options.deadlines.set(gap, atMs + gap.steadyMs);
  }

  /** Rules may lack something else by now, so that nothing but the source tells that it is missing again. */
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
   * The time from which missing data count. Data that were seen and are too old count at once. What is missing after a start
   * may still be on its way: the first round over many wallets takes long, and some figures need two readings.
   */
  #countsFromMs(one: Sighted, source: BlindSource, builder: ChangesBuilder): number {
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

export function gapKey(source: BlindSource, wallet: string | null): string {
  return `${ofTheExchange.has(source) ? "" : (wallet ?? "")}\n${source}`;
}
