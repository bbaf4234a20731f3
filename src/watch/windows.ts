/**
 * The windows that loaded rules look through, kept with the subject whose series they cover. A window is fed exactly
 * what history stores, when it is stored, so that it comes out the same after a restart or in a replay.
 */
import type { EventKind } from "../domain/event.ts";
import { type BucketStats, createWindow, type Window, type WindowSpec } from "../rules/index.ts";

export class WindowSet {
  readonly #byKey = new Map<string, Window>();
  readonly #byField = new Map<string, { readonly window: Window; readonly companion: string | null }[]>();
  readonly #byEvent = new Map<EventKind, { readonly spec: WindowSpec; readonly window: Window }[]>();
  readonly #timezone: string;

  constructor(timezone: string) {
    this.#timezone = timezone;
  }

  /** The window of this specification, made when it is asked for first. */
  of(spec: WindowSpec): Window {
    const known = this.#byKey.get(spec.key);
    if (known) return known;
    const window = createWindow(spec, this.#timezone);
    this.#byKey.set(spec.key, window);
    const { path } = spec;
    if (path.kind === "field") {
      const entry = { window, companion: path.companion };
      this.#byField.set(path.field, [...(this.#byField.get(path.field) ?? []), entry]);
    } else this.#byEvent.set(path.event, [...(this.#byEvent.get(path.event) ?? []), { spec, window }]);
    return window;
  }

  /**
   * Feeds the windows over numbers among these values. What is not known leaves a gap.
   * @param but fields that are fed when they are seen themselves
   */
  feed(atMs: number, values: Readonly<Record<string, unknown>>, but?: ReadonlySet<string>): void {
    for (const [field, entries] of this.#byField) {
      if (but?.has(field)) continue;
      const value = values[field];
      if (typeof value !== "number" || Number.isNaN(value)) continue;
      for (const { window, companion } of entries) {
        const beside = companion === null ? undefined : values[companion];
        if (typeof beside === "number") window.push(atMs, value, beside);
        else window.push(atMs, value);
      }
    }
  }

  /** Feeds the windows what of these values is a number, as `feed` does. @param indexOf where a field stands among them */
  feedFrom(atMs: number, values: readonly number[], indexOf: ReadonlyMap<string, number>): void {
    for (const [field, entries] of this.#byField) {
      const value = values[indexOf.get(field) ?? -1];
      if (value === undefined || Number.isNaN(value)) continue;
      for (const { window, companion } of entries) {
        const beside = companion === null ? undefined : values[indexOf.get(companion) ?? -1];
        if (beside !== undefined) window.push(atMs, value, beside);
        else window.push(atMs, value);
      }
    }
  }

  /**
   * Feeds the windows a stretch of the past that is known by its roll-up only. It lies before all that is fed by `feed`.
   * @param statsOf undefined for what is not known of it
   */
  feedBucket(atMs: number, widthMs: number, statsOf: (field: string) => BucketStats | undefined): void {
    for (const [field, entries] of this.#byField) {
      const stats = statsOf(field);
      if (stats === undefined || stats.count === 0) continue;
      for (const { window, companion } of entries) {
        const beside = companion === null ? undefined : statsOf(companion);
        window.pushBucket(
          atMs,
          stats,
          beside === undefined || beside.count === 0 ? undefined : beside,
          widthMs,
        );
      }
    }
  }

  clear(): void {
    for (const window of this.#byKey.values()) window.clear();
  }

  /** Feeds an event to the windows of its kind; `amount` is null for those that it does not belong in. */
  feedEvent(kind: EventKind, amount: (spec: WindowSpec) => number | null, happenedMs: number): void {
    for (const { spec, window } of this.#byEvent.get(kind) ?? []) {
      const value = amount(spec);
      if (value !== null) window.push(happenedMs, value);
    }
  }

  get hasEvents(): boolean {
    return this.#byEvent.size > 0;
  }

  get fields(): Iterable<string> {
    return this.#byField.keys();
  }
}
