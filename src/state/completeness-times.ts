/**
 * The times since which the histories of events are complete. On first use they are read backwards, page by page: until a
 * history reaches back further than a rule's window, a sum over the window is incomplete.
 */
import type { Source } from "../domain/sources.ts";
import type { Subject } from "../domain/subject.ts";
import { eventSources, type WindowSpec } from "../rules/index.ts";

export class CompletenessTimes {
  /** By wallet, then by source and PDA index ("" where a history is the whole wallet's), ms. */
  readonly #wallets = new Map<string, Map<string, number>>();

  /** Notes that a history is complete after `coversMs`. */
  note(wallet: string, source: Source, pdaIndex: number | undefined, coversMs: number): void {
    const known = this.#wallets.get(wallet) ?? new Map<string, number>();
    this.#wallets.set(wallet, known.set(`${source}/${pdaIndex ?? ""}`, coversMs));
  }

  /**
   * @param pdaIndices PDA indices whose histories all have to be read; undefined: those that were
   * @returns ms; +∞ if one of them was not read yet
   */
  sinceMs(wallet: string, source: Source, pdaIndices?: readonly number[]): number {
    const known = this.#wallets.get(wallet);
    if (known === undefined) return Number.POSITIVE_INFINITY;
    const times = pdaIndices
      ? pdaIndices.map((index) => known.get(`${source}/${index}`))
      : [...known].flatMap(([name, ms]) => (name.startsWith(`${source}/`) ? [ms] : []));
    return times.length === 0
      ? Number.POSITIVE_INFINITY
      : Math.max(...times.map((ms) => ms ?? Number.POSITIVE_INFINITY));
  }

  /**
   * The share of a window over events for which the history is complete, 0–1; null if completeness is not tracked: perpwatch's
   * own events, and events that only an earlier run read.
   */
  share({ path, windowMs }: WindowSpec, subject: Subject, nowMs: number, midnightMs: number): number | null {
    if (path.kind !== "event" || !("wallet" in subject)) return null;
    const fromMs = windowMs === "today" ? midnightMs : nowMs - windowMs;
    const sinceMs = this.sinceMs(subject.wallet, eventSources[path.event as keyof typeof eventSources]);
    if (sinceMs === Number.POSITIVE_INFINITY || nowMs <= fromMs) return null;
    return Math.min(Math.max((nowMs - Math.max(sinceMs, fromMs)) / (nowMs - fromMs), 0), 1);
  }
}
