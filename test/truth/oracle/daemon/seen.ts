/** Figures of the daemon about itself as they were recorded, and what rules make of them over time. */
import type { DaemonFigures, Observation } from "../../../../src/domain/observation.ts";
import { EquitySeen } from "./equity.ts";

type Counted = "authFailures" | "repeatedAuthFailures" | "badRecords";

interface Sample {
  readonly atMs: number;
  /** Over all runs. */
  readonly counts: Readonly<Record<Counted, number>>;
  /** Since the start of its run. */
  readonly deadMessages: number;
}

/** A sample so old says nothing of now, ms. */
const staleMs = 60_000;

/** The first figures after a gap come within this, ms. */
const settleMs = 10_000;

export class DaemonSeen {
  /** The newest of this run; null: none yet. */
  figures: DaemonFigures | null = null;
  /** There may be newer ones, which nobody recorded. */
  isOld = false;
  readonly equity = new EquitySeen();
  /** The last time at which all rules of the daemon were judged, ms. */
  judgedMs = Number.NEGATIVE_INFINITY;
  /** Those of all runs, which history has; the newest last. */
  readonly #samples: Sample[] = [];
  /** Times of which there are none. */
  readonly #gaps: { readonly fromMs: number; readonly toMs: number }[] = [];

  /** The wallets that were refused, as they were named at the last refusal, and before this run. */
  #refused = { names: "", atMs: Number.NEGATIVE_INFINITY };
  #refusedBefore = this.#refused;

  /** A daemon begins. */
  forget(): void {
    this.#refusedBefore = this.#refused;
    this.figures = null;
    this.equity.forget();
  }

  /** Forgets the records of a time that is lost. Counts go on. */
  lose(fromMs: number, toMs: number): void {
    this.#gaps.push({ fromMs, toMs });
    this.isOld = true;
    this.equity.lose(fromMs, toMs);
  }

  take({ figures, atMs }: Observation & { readonly kind: "daemon" }): void {
    const first = this.figures === null;
    const before = this.#samples.at(-1);
    const grown = (name: Counted): number =>
      (before?.counts[name] ?? 0) + figures[name] - (first ? 0 : this.figures![name]);
    const counts = {
      authFailures: grown("authFailures"),
      repeatedAuthFailures: grown("repeatedAuthFailures"),
      badRecords: grown("badRecords"),
    };
    if (counts.authFailures > (before?.counts.authFailures ?? 0))
      this.#refused = { names: this.#refusedOf(figures, atMs).join(", "), atMs };
    this.#samples.push({ atMs, counts, deadMessages: figures.deadMessages });
    this.figures = figures;
    this.isOld = false;
    this.judgedMs = atMs;
  }

  /** The names of this run and, while recent, of those before: five, and the number of the others. */
  refusedWallets(figures: DaemonFigures, nowMs: number): string {
    const names = this.#refusedOf(figures, nowMs);
    return names.length <= 5
      ? names.join(", ")
      : `${names.slice(0, 5).join(", ")} and ${names.length - 5} more`;
  }

  #refusedOf({ refusedWallets }: DaemonFigures, nowMs: number): readonly string[] {
    const { names, atMs } = this.#refusedBefore;
    const all = nowMs - atMs > 15 * 60_000 ? [refusedWallets] : [names, refusedWallets];
    const each = new Set(all.flatMap((one) => one.split(", ")).filter((one) => one !== ""));
    return [...each].sort();
  }

  /** True if nobody knows what was so long before. */
  isLost(windowMs: number, nowMs: number): boolean {
    const edgeMs = nowMs - windowMs;
    return this.#gaps.some(({ fromMs, toMs }) => fromMs <= edgeMs && edgeMs <= toMs + settleMs);
  }

  /** For how long within a window figures are not known, ms: counts of that time are in no sample. 0: they all are. */
  gapMs(windowMs: number, nowMs: number): number {
    const overlaps = this.#gaps
      .filter(({ fromMs, toMs }) => fromMs <= nowMs && toMs >= nowMs - windowMs)
      .map(({ fromMs, toMs }) => Math.max(1, Math.min(toMs, nowMs) - Math.max(fromMs, nowMs - windowMs)));
    return overlaps.reduce((sum, ms) => sum + ms, 0);
  }

  /** The growth of a count within a window. Undefined: nothing was seen at its beginning, or nothing lately. */
  change(name: Counted, windowMs: number, nowMs: number): number | undefined {
    const edgeMs = nowMs - windowMs;
    if (this.isLost(windowMs, nowMs)) return undefined;
    const first = this.#samples.findLast(({ atMs }) => atMs <= edgeMs);
    const last = this.#samples.at(-1);
    if (!first || !last || edgeMs - first.atMs > staleMs || nowMs - last.atMs > staleMs) return undefined;
    return last.counts[name] - first.counts[name];
  }

  /** The times between which it lies since when as many messages were given up as now, ms. */
  get deadSince(): { readonly fromMs: number; readonly toMs: number } | undefined {
    const last = this.#samples.at(-1);
    const other = this.#samples.findLastIndex(({ deadMessages }) => deadMessages !== last?.deadMessages);
    const toMs = this.#samples[other + 1]?.atMs;
    if (toMs === undefined) return undefined;
    const beforeMs = this.#samples[other]?.atMs ?? Number.NEGATIVE_INFINITY;
    const gap = this.#gaps.find((one) => one.fromMs >= beforeMs && one.fromMs <= toMs);
    return { fromMs: gap?.fromMs ?? toMs, toMs };
  }
}
