/**
 * Past samples of series, kept until their subjects appear: samples read from history at a start, and what the exchange stores
 * for the time before the first sample. They enter windows with their own times and trigger no rule.
 */

import type { Tick } from "../../domain/observation.ts";
import type { StatsColumns } from "../../domain/stored/history.ts";
import { accountName, type Subject, subjectName } from "../../domain/subject.ts";
import type { BucketStats } from "../../rules/index.ts";
import type { SubjectNode } from "../subjects.ts";
import type { HeldBlock, HeldMinutes } from "./held-minutes.ts";
import { parseSeries } from "./series.ts";
import type { WindowPlace, WindowSet } from "./windows.ts";

/** The columns of a subject's fields in ticks of one layout. */
interface Plan {
  /** True if a column exists. */
  readonly any: boolean;
  /** -1: not present. */
  readonly sizeIndex: number;
  /** The subject's windows at the time the plan was made. */
  readonly places: readonly WindowPlace[];
  readonly windows: number;
  /** True for samples of a whole account: a position that is missing there did not exist. Other samples hold single figures. */
  readonly whole: boolean;
}

export class EarlierSamples {
  readonly #ticks = new Map<string, Tick[]>();
  /** The minutes before the ticks. */
  readonly #minutes = new Map<string, { readonly minutes: HeldMinutes; readonly sinceMs: number }>();
  /** By subject and layout, of the subject that was fed last: ticks come grouped by owner. */
  #plans: { readonly node: SubjectNode; readonly byLayout: Map<readonly string[], Plan> } | null = null;

  get owners(): Iterable<string> {
    return this.#ticks.keys();
  }

  /** Takes a tick. Ticks of one owner come oldest first. */
  tick(tick: Tick): void {
    const list = this.#ticks.get(tick.owner);
    if (list) list.push(tick);
    else this.#ticks.set(tick.owner, [tick]);
  }

  /** Takes minutes of one owner, before its ticks. Minutes that began before `sinceMs` are skipped: the name was another wallet's then. */
  minutes(minutes: HeldMinutes, sinceMs: number): void {
    this.#minutes.set(minutes.owner, { minutes, sinceMs });
  }

  clear(): void {
    this.#ticks.clear();
    this.#minutes.clear();
    this.#plans = null;
  }

  /** Feeds the kept samples to a subject's windows. */
  replay(node: SubjectNode): void {
    if (node.windows === null) return;
    for (const owner of ownersOf(node.subject)) {
      const before = this.#minutes.get(owner);
      if (before) this.feedMinutes(node, before.minutes, before.sinceMs);
      for (const tick of this.#ticks.get(owner) ?? []) this.feed(node, tick);
    }
  }

  feedMinutes(node: SubjectNode, minutes: HeldMinutes, sinceMs: number): void {
    if (node.windows !== null)
      for (const held of minutes.blocks) this.#feedBlock(node, node.windows, held, sinceMs);
  }

  #feedBlock(
    node: SubjectNode,
    windows: WindowSet,
    { block, widthMs, atPeaks }: HeldBlock,
    sinceMs: number,
  ): void {
    const { series, times, columns, from, to } = block;
    windows.heldUntilMs = Number.NEGATIVE_INFINITY;
    const { any, sizeIndex, places, whole } = this.#planOf(node, windows, series);
    const ofPosition = node.subject.scope === "position";
    const fromMs = Math.max(sinceMs, node.bornMs - widthMs + 1);
    const isLong = node.incarnation.startsWith("long");
    const size = ofPosition && sizeIndex >= 0 ? columns[sizeIndex]! : null;
    const rows = new Map<number, Row>();
    const rowOf = (index: number): Row => {
      const row = rows.get(index) ?? new Row(columns[index]!);
      rows.set(index, row);
      return row;
    };
    const fed = places.map(({ window, index, beside }) => ({
      window,
      row: rowOf(index),
      beside: beside < 0 ? null : rowOf(beside),
      peaks: beside < 0 ? undefined : atPeaks.get(series[index]!),
    }));
    const all = [...rows.values()];
    for (let i = from; i < to; i++) {
      const atMs = times[i]!;
      if (atMs < fromMs) continue;
      if (!any) {
        if (ofPosition && whole) windows.clearFields();
        return;
      }
      // If the subject began within a bucket, only the end of the bucket is certain to be its own.
      let partly = atMs < node.bornMs;
      if (size !== null && size.count[i]! > 0) {
        if (size.last[i]! > 0 !== isLong) {
          windows.clearFields();
          continue;
        }
        if (size.min[i]! > 0 !== size.max[i]! > 0) {
          windows.clearFields();
          partly = true;
        }
      }
      for (let k = 0; k < all.length; k++) {
        if (partly) all[k]!.toLastOf(i, node.bornMs);
        else all[k]!.to(i);
      }
      for (let k = 0; k < fed.length; k++) {
        const { window, row, beside, peaks } = fed[k]!;
        if (row.count === 0) continue;
        const atPeak = peaks?.get(atMs);
        const companion =
          atPeak !== undefined
            ? alike(atPeak, row)
            : beside === null || beside.count === 0
              ? undefined
              : beside;
        window.pushBucket(atMs, row, companion, widthMs);
      }
    }
  }

  #planOf(node: SubjectNode, windows: WindowSet, series: readonly string[]): Plan {
    if (this.#plans?.node !== node) this.#plans = { node, byLayout: new Map() };
    let plan = this.#plans.byLayout.get(series);
    if (plan?.windows !== windows.size) {
      plan = planOf(series, node.subject, windows);
      this.#plans.byLayout.set(series, plan);
    }
    return plan;
  }

  feed(node: SubjectNode, tick: Tick): void {
    const { windows } = node;
    if (windows === null) return;
    if (tick.atMs < node.bornMs) return;
    windows.heldUntilMs = Number.NEGATIVE_INFINITY;
    const plan = this.#planOf(node, windows, tick.series);
    const ofPosition = node.subject.scope === "position";
    if (!plan.any) {
      // The position did not exist then, so later samples are of another one: its windows are cleared.
      if (ofPosition && plan.whole) windows.clearFields();
      return;
    }
    const { values } = tick;
    const size = ofPosition && plan.sizeIndex >= 0 ? values[plan.sizeIndex]! : Number.NaN;
    // An unknown size is no sign of the other side.
    if (!Number.isNaN(size) && size > 0 !== node.incarnation.startsWith("long")) {
      windows.clearFields();
      return;
    }
    for (let i = 0; i < plan.places.length; i++) {
      const { window, index, beside } = plan.places[i]!;
      const value = values[index]!;
      // An unknown value leaves a gap.
      if (Number.isNaN(value)) continue;
      const companion = beside < 0 ? Number.NaN : values[beside]!;
      window.push(tick.atMs, value, Number.isNaN(companion) ? undefined : companion);
    }
  }
}

/** One bucket of a series, reused for all: windows copy the numbers, and there are very many buckets. */
class Row {
  count = 0;
  // Fractions, so that V8 stores the fields as doubles from the beginning.
  min = 0.5;
  max = 0.5;
  sum = 0.5;
  sumSquares = 0.5;
  last = 0.5;
  lastMs = 0.5;
  readonly #columns: StatsColumns;

  constructor(columns: StatsColumns) {
    this.#columns = columns;
  }

  to(index: number): void {
    const columns = this.#columns;
    this.count = columns.count[index]!;
    this.min = columns.min[index]!;
    this.max = columns.max[index]!;
    this.sum = columns.sum[index]!;
    this.sumSquares = columns.sumSquares[index]!;
    this.last = columns.last[index]!;
    this.lastMs = columns.lastMs[index]!;
  }

  /** Reduces a bucket to its last sample, if that was taken since a time. */
  toLastOf(index: number, sinceMs: number): void {
    this.to(index);
    const { last } = this;
    this.count = this.count === 0 || this.lastMs < sinceMs ? 0 : 1;
    this.min = this.max = this.sum = last;
    this.sumSquares = last * last;
  }
}

/** A bucket with the same number of samples as another one, all of one value. */
function alike(value: number, { count, lastMs }: BucketStats): BucketStats {
  return {
    count,
    min: value,
    max: value,
    sum: value * count,
    sumSquares: value ** 2 * count,
    last: value,
    lastMs,
  };
}

function planOf(series: readonly string[], subject: Subject, windows: WindowSet): Plan {
  // The name of a book already contains its market.
  const symbol = "symbol" in subject && subject.scope !== "book" ? subject.symbol : null;
  const indexOf = new Map<string, number>();
  series.forEach((name, index) => {
    const parsed = parseSeries(name);
    if (parsed?.scope === subject.scope && parsed.symbol === symbol) indexOf.set(parsed.field, index);
  });
  return {
    any: indexOf.size > 0,
    places: windows.places(indexOf),
    windows: windows.size,
    sizeIndex: indexOf.get("size") ?? -1,
    whole: series.includes("trader.collateral"),
  };
}

/** The owners under which history stores the series of a subject. */
function ownersOf(subject: Subject): readonly string[] {
  switch (subject.scope) {
    case "market":
      return ["markets", "fundingRates"];
    case "wallet":
      return [subject.wallet];
    case "trader":
    case "position":
      return [accountName(subject)];
    case "daemon":
      return ["daemon"];
    case "book":
    case "pair":
      return [subjectName(subject)];
    default:
      return [];
  }
}
