/**
 * Since when the histories of events are told without a gap. At first sight they are read backwards, page by page: until a
 * history reaches behind what a rule looks back over, a sum over it is one of a part.
 */
import type { Source } from "../domain/sources.ts";
import type { Subject } from "../domain/subject.ts";
import { eventSources, type WindowSpec } from "../rules/index.ts";

export class CompleteSince {
  /** By wallet, then by source and PDA index ("" where a history is the whole wallet's), ms. */
  readonly #wallets = new Map<string, Map<string, number>>();

  /** A history told all that happened after `coversMs`. */
  note(wallet: string, source: Source, pdaIndex: number | undefined, coversMs: number): void {
    const known = this.#wallets.get(wallet) ?? new Map<string, number>();
    this.#wallets.set(wallet, known.set(`${source}/${pdaIndex ?? ""}`, coversMs));
  }

  /**
   * @param pdaIndices whose histories all have to be told; undefined: of those of which anything was
   * @returns ms; +∞ where one of them told nothing yet
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
   * The share of a window over events whose time is told, 0–1; null where nobody tells: perpwatch's own events, and what
   * was read by an earlier run only.
   */
  share({ path, windowMs }: WindowSpec, subject: Subject, nowMs: number, midnightMs: number): number | null {
    if (path.kind !== "event" || !("wallet" in subject)) return null;
    const fromMs = windowMs === "today" ? midnightMs : nowMs - windowMs;
    const sinceMs = this.sinceMs(subject.wallet, eventSources[path.event as keyof typeof eventSources]);
    if (sinceMs === Number.POSITIVE_INFINITY || nowMs <= fromMs) return null;
    return Math.min(Math.max((nowMs - Math.max(sinceMs, fromMs)) / (nowMs - fromMs), 0), 1);
  }
}
