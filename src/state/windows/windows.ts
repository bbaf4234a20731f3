/**
 * The windows of loaded rules, kept with the subject whose series they cover. A window is fed exactly what history stores, at
 * the time it is stored, so that a restart or a replay gives the same window.
 */
import type { EventKind } from "../../domain/event.ts";
import { rawUpToMs, type Window, type WindowSpec, windowMaker } from "../../rules/index.ts";

/** A window, and the indices of the numbers that it is fed; -1: not present. */
export interface WindowPlace {
  readonly window: Window;
  readonly index: number;
  readonly beside: number;
}

/** A window over a field: its index in a set, and the samples that it takes. */
interface Fed {
  readonly place: number;
  readonly field: string;
  readonly companion: string | null;
  /** Takes profit that becomes known late (see profit-gaps.ts). */
  readonly late: boolean;
  /** Looks for a peak of profit, and takes the minimum possible profit as a sample. */
  readonly least: boolean;
}

/**
 * The windows of a subject, in the order in which they were requested. Thousands of subjects have the same windows and share
 * one plan; a subject that requests another window moves on to the plan that contains it.
 */
export class WindowPlan {
  readonly #timezone: string;
  readonly #makers: readonly (() => Window)[];
  readonly #places: ReadonlyMap<string, number>;
  readonly #next = new Map<string, WindowPlan>();
  readonly fed: readonly Fed[];
  readonly overEvents: readonly { readonly place: number; readonly spec: WindowSpec }[];
  /** True if some of them take profit that becomes known late. */
  readonly takesLate: boolean;

  /** The plan of subjects without windows. */
  static none(timezone: string): WindowPlan {
    return new WindowPlan(timezone, [], new Map(), [], []);
  }

  private constructor(
    timezone: string,
    makers: readonly (() => Window)[],
    places: ReadonlyMap<string, number>,
    fed: readonly Fed[],
    overEvents: WindowPlan["overEvents"],
  ) {
    this.#timezone = timezone;
    this.#makers = makers;
    this.#places = places;
    this.fed = fed;
    this.overEvents = overEvents;
    this.takesLate = fed.some(({ late }) => late);
  }

  get size(): number {
    return this.#makers.length;
  }

  /** The index of the window with this specification; -1: none. */
  placeOf(spec: WindowSpec): number {
    return this.#places.get(spec.key) ?? -1;
  }

  make(place: number): Window {
    return this.#makers[place]!();
  }

  /** Returns the plan with one more window. */
  with(spec: WindowSpec): WindowPlan {
    const known = this.#next.get(spec.key);
    if (known !== undefined) return known;
    const { path, windowMs } = spec;
    const place = this.size;
    const ofProfit = path.kind === "field" && path.field === "pnl";
    const late = ofProfit && windowMs !== "today" && windowMs <= rawUpToMs;
    const least = ofProfit && (spec.fn === "maxOver" || spec.fn === "drawdown");
    const next = new WindowPlan(
      this.#timezone,
      [...this.#makers, windowMaker(spec, this.#timezone)],
      new Map([...this.#places, [spec.key, place]]),
      path.kind === "field"
        ? [...this.fed, { place, field: path.field, companion: path.companion, late, least }]
        : this.fed,
      path.kind === "event" ? [...this.overEvents, { place, spec }] : this.overEvents,
    );
    this.#next.set(spec.key, next);
    return next;
  }
}

export class WindowSet {
  #plan: WindowPlan;
  #windows: readonly Window[] = [];
  /**
   * The time until which judgements that read only these windows are known to stay the same, ms. A sample that changes no window
   * (a price between the extremes) leaves it unchanged.
   */
  heldUntilMs = Number.NEGATIVE_INFINITY;

  constructor(none: WindowPlan) {
    this.#plan = none;
  }

  /** The window with this specification; created on first use. */
  of(spec: WindowSpec): Window {
    const known = this.#plan.placeOf(spec);
    if (known >= 0) return this.#windows[known]!;
    this.#plan = this.#plan.with(spec);
    const window = this.#plan.make(this.#windows.length);
    this.#windows = this.#windows.concat(window);
    return window;
  }

  /**
   * Feeds the windows over numbers among these values. An unknown value leaves a gap.
   * @param but fields to skip, as they are fed when their own source is read
   */
  feed(atMs: number, values: Readonly<Record<string, unknown>>, but?: ReadonlySet<string>): void {
    const { fed } = this.#plan;
    let moved = false;
    for (let i = 0; i < fed.length; i++) {
      const { place, field, companion } = fed[i]!;
      if (but?.has(field)) continue;
      const value = values[field];
      if (typeof value !== "number" || Number.isNaN(value)) continue;
      const window = this.#windows[place]!;
      const beside = companion === null ? undefined : values[companion];
      if (window.push(atMs, value, typeof beside === "number" ? beside : undefined)) moved = true;
    }
    if (moved) this.heldUntilMs = Number.NEGATIVE_INFINITY;
  }

  get takesLate(): boolean {
    return this.#plan.takesLate;
  }

  /** Feeds the profit of an earlier sample to the windows that take it late. */
  feedLate(atMs: number, pnl: number, equity: number): void {
    this.#feedProfit(({ late }) => late, atMs, pnl, equity);
  }

  /** Feeds the profit of an earlier sample that was uncertain at that time. */
  feedHeld(atMs: number, pnl: number, equity: number): void {
    this.#feedProfit(({ field }) => field === "pnl", atMs, pnl, equity);
  }

  /** Feeds the minimum possible profit to the windows that look for its peak. */
  feedLeast(atMs: number, pnl: number, equity: number): void {
    this.#feedProfit(({ least }) => least, atMs, pnl, equity);
  }

  #feedProfit(takes: (fed: Fed) => boolean, atMs: number, pnl: number, equity: number): void {
    for (const fed of this.#plan.fed)
      if (takes(fed)) this.#windows[fed.place]!.push(atMs, pnl, fed.companion === null ? undefined : equity);
    this.heldUntilMs = Number.NEGATIVE_INFINITY;
  }

  /** The number of windows. */
  get size(): number {
    return this.#windows.length;
  }

  /** The windows over fields that are present in samples or roll-ups. @param indexOf index by field */
  places(indexOf: ReadonlyMap<string, number>): readonly WindowPlace[] {
    return this.#plan.fed.flatMap(({ place, field, companion }) => {
      const index = indexOf.get(field);
      if (index === undefined) return [];
      const beside = companion === null ? -1 : (indexOf.get(companion) ?? -1);
      return [{ window: this.#windows[place]!, index, beside }];
    });
  }

  /** Clears the windows over fields. Windows over events are kept, as events have their own times. */
  clearFields(): void {
    this.heldUntilMs = Number.NEGATIVE_INFINITY;
    for (const { place } of this.#plan.fed) this.#windows[place]!.clear();
  }

  /**
   * Feeds an event to the windows of its kind.
   * @param amount null for windows that it does not belong to
   * @param attributed false: it is not known if the event belongs to the subject
   */
  feedEvent(
    kind: EventKind,
    amount: (spec: WindowSpec) => number | null,
    happenedMs: number,
    attributed: boolean,
  ): void {
    for (const { place, spec } of this.#plan.overEvents) {
      if (spec.path.kind !== "event" || spec.path.event !== kind) continue;
      const value = amount(spec);
      if (value === null) continue;
      if (attributed) this.#windows[place]!.push(happenedMs, value);
      else this.#windows[place]!.pushUnknown?.(happenedMs);
    }
  }

  /** True if it has a window over a field. */
  get hasFields(): boolean {
    return this.#plan.fed.length > 0;
  }

  get hasEvents(): boolean {
    return this.#plan.overEvents.length > 0;
  }
}
