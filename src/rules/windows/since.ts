/** `since`: the time for which a series has had its value; `seriesAge`: the age of its last sample. Both look back a limited time. */
import { Unknown } from "../value.ts";
import { pushMinutes } from "./buckets.ts";
import type { Edge } from "./edge.ts";
import type { Shape } from "./shape.ts";
import type { BucketStats, Window } from "./window.ts";

/**
 * The time since the first of the newest samples that are all equal, at most the window's length, so that a restart, which reads
 * that much of the past, does not change it. Gaps between samples are ignored.
 */
export class SinceWindow implements Window {
  readonly #edge: Edge;
  #startMs = Number.NaN;
  #newestMs = Number.NEGATIVE_INFINITY;
  #newest = Number.NaN;
  /** True if another value came before this one: the start of the value is known, and not just the start of the data. */
  #witnessed = false;

  constructor({ edge }: Shape) {
    this.#edge = edge;
  }

  push(atMs: number, value: number): boolean {
    if (Number.isNaN(value)) return false;
    if (atMs >= this.#newestMs) {
      if (value !== this.#newest) this.#begin(atMs, value);
      this.#newestMs = atMs;
    } else if (value === this.#newest) {
      if (atMs < this.#startMs && !this.#witnessed) this.#startMs = atMs;
    } else if (atMs >= this.#startMs) {
      // The next of the equal samples is no longer known, so the start is the next millisecond at the earliest.
      this.#startMs = atMs + 1;
      this.#witnessed = true;
    }
    return true;
  }

  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void {
    pushMinutes(this, atMs, stats, companion, widthMs);
  }

  takeMinute(atMs: number, { min, max, last, lastMs }: BucketStats): void {
    if (min === max) this.push(Math.min(atMs, lastMs), last);
    else this.push(atMs, last === max ? min : max);
    this.push(lastMs, last);
  }

  read(nowMs: number): number | Unknown {
    if (Number.isNaN(this.#startMs)) return new Unknown("uncovered", null, "no sample yet");
    return Math.min(Math.max(nowMs - this.#startMs, 0), this.#length(nowMs));
  }

  coverage(nowMs: number): number {
    if (Number.isNaN(this.#startMs)) return 0;
    const length = this.#length(nowMs);
    if (this.#witnessed || length === 0) return 1;
    return Math.min((nowMs - this.#startMs) / length, 1);
  }

  nextEdgeMs(nowMs: number): number | null {
    return Number.isNaN(this.#startMs) ? null : nowMs + 1_000;
  }

  clear(): void {
    this.#startMs = this.#newest = Number.NaN;
    this.#newestMs = Number.NEGATIVE_INFINITY;
    this.#witnessed = false;
  }

  #begin(atMs: number, value: number): void {
    this.#witnessed = this.#newestMs !== Number.NEGATIVE_INFINITY;
    this.#startMs = atMs;
    this.#newest = value;
  }

  #length(nowMs: number): number {
    return Math.max(0, nowMs - this.#edge.at(nowMs));
  }
}

export class AgeWindow implements Window {
  readonly #edge: Edge;
  #newestMs = Number.NEGATIVE_INFINITY;

  constructor({ edge }: Shape) {
    this.#edge = edge;
  }

  push(atMs: number, value: number): boolean {
    if (Number.isNaN(value)) return false;
    this.#newestMs = Math.max(this.#newestMs, atMs);
    return true;
  }

  pushBucket(atMs: number, stats: BucketStats, companion?: BucketStats, widthMs?: number): void {
    pushMinutes(this, atMs, stats, companion, widthMs);
  }

  takeMinute(_: number, { last, lastMs }: BucketStats): void {
    this.push(lastMs, last);
  }

  read(nowMs: number): number | Unknown {
    return this.#inside(nowMs)
      ? Math.max(nowMs - this.#newestMs, 0)
      : new Unknown("uncovered", null, "nothing was seen in as far as it looks back");
  }

  coverage(nowMs: number): number {
    return this.#inside(nowMs) ? 1 : 0;
  }

  nextEdgeMs(nowMs: number): number | null {
    return this.#inside(nowMs) ? nowMs + 1_000 : null;
  }

  clear(): void {
    this.#newestMs = Number.NEGATIVE_INFINITY;
  }

  #inside(nowMs: number): boolean {
    return this.#newestMs >= this.#edge.at(nowMs);
  }
}
