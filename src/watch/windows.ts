/**
 * The windows that loaded rules look through, kept with the subject whose series they cover. A window is fed exactly
 * what history stores, when it is stored, so that it comes out the same after a restart or in a replay.
 */
import type { EventKind } from "../domain/event.ts";
import { createWindow, type Window, type WindowSpec } from "../rules/index.ts";

/** A window, and where the numbers that it is fed stand; -1 beside: nowhere. */
export interface WindowPlace {
  readonly window: Window;
  readonly index: number;
  readonly beside: number;
}

export class WindowSet {
  readonly #byKey = new Map<string, Window>();
  readonly #byField = new Map<string, { readonly window: Window; readonly companion: string | null }[]>();
  /** The same one after the other, since each answer walks through them. */
  readonly #fed: {
    readonly field: string;
    readonly window: Window;
    readonly companion: string | null;
  }[] = [];
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
      this.#fed.push({ field: path.field, ...entry });
    } else this.#byEvent.set(path.event, [...(this.#byEvent.get(path.event) ?? []), { spec, window }]);
    return window;
  }

  /**
   * Feeds the windows over numbers among these values. What is not known leaves a gap.
   * @param but fields that are fed when they are seen themselves
   */
  feed(atMs: number, values: Readonly<Record<string, unknown>>, but?: ReadonlySet<string>): void {
    const fed = this.#fed;
    for (let i = 0; i < fed.length; i++) {
      const { field, window, companion } = fed[i]!;
      if (but?.has(field)) continue;
      const value = values[field];
      if (typeof value !== "number" || Number.isNaN(value)) continue;
      const beside = companion === null ? undefined : values[companion];
      if (typeof beside === "number") window.push(atMs, value, beside);
      else window.push(atMs, value);
    }
  }

  /** How many there are. */
  get size(): number {
    return this.#byKey.size;
  }

  /** The windows over fields that stand somewhere in samples or roll-ups. @param indexOf where */
  places(indexOf: ReadonlyMap<string, number>): readonly WindowPlace[] {
    return [...this.#byField].flatMap(([field, entries]) => {
      const index = indexOf.get(field);
      if (index === undefined) return [];
      return entries.map(({ window, companion }) => ({
        window,
        index,
        beside: companion === null ? -1 : (indexOf.get(companion) ?? -1),
      }));
    });
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
