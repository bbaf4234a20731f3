/**
 * The past of the series, until the subjects that it belongs to have appeared: samples read from history at a start, and
 * what the exchange itself keeps of the time before the first one. It enters windows at its own time and fires nothing.
 */

import type { Stats } from "../domain/history.ts";
import type { Tick } from "../domain/observation.ts";
import { accountName, type Subject, subjectName } from "../domain/subject.ts";
import type { HeldBucket, HeldMinutes } from "./held-minutes.ts";
import { parseSeries } from "./series.ts";
import type { SubjectNode } from "./subjects.ts";

/** Where a subject's fields stand in ticks of one layout. */
interface Plan {
  readonly fields: readonly { readonly index: number; readonly field: string }[];
  /** A whole account: a position that is not in it was not there. Samples from elsewhere hold a figure or two. */
  readonly whole: boolean;
}

export class Recall {
  readonly #ticks = new Map<string, Tick[]>();
  /** What lies before the ticks. */
  readonly #minutes = new Map<string, { readonly minutes: HeldMinutes; readonly sinceMs: number }>();
  /** By subject and layout, of the subject that was fed last: ticks come owner by owner. */
  #plans: { readonly node: SubjectNode; readonly byLayout: Map<readonly string[], Plan> } | null = null;

  get owners(): Iterable<string> {
    return this.#ticks.keys();
  }

  /** Ticks of one owner come oldest first. */
  tick(tick: Tick): void {
    const list = this.#ticks.get(tick.owner);
    if (list) list.push(tick);
    else this.#ticks.set(tick.owner, [tick]);
  }

  /** Of one owner, before its ticks. What began before `sinceMs` is left out: its name was another's then. */
  minutes(minutes: HeldMinutes, sinceMs: number): void {
    this.#minutes.set(minutes.owner, { minutes, sinceMs });
  }

  clear(): void {
    this.#ticks.clear();
    this.#minutes.clear();
    this.#plans = null;
  }

  /** Feeds what is held to a subject's windows, where it has any. */
  replay(node: SubjectNode): void {
    if (node.windows === null) return;
    for (const owner of ownersOf(node.subject)) {
      const before = this.#minutes.get(owner);
      if (before) this.feedMinutes(node, before.minutes, before.sinceMs);
      for (const tick of this.#ticks.get(owner) ?? []) this.feed(node, tick);
    }
  }

  feedMinutes(node: SubjectNode, minutes: HeldMinutes, sinceMs: number): void {
    for (const bucket of minutes.buckets()) if (bucket.atMs >= sinceMs) this.#feedBucket(node, bucket);
  }

  #feedBucket(node: SubjectNode, { atMs, widthMs, series, statsAt }: HeldBucket): void {
    const { windows } = node;
    if (windows === null || atMs + widthMs <= node.bornMs) return;
    const plan = this.#planOf(node, series);
    const ofPosition = node.subject.scope === "position";
    if (plan.fields.length === 0) {
      if (ofPosition && plan.whole) windows.clear();
      return;
    }
    const statsOf = new Map(plan.fields.map(({ index, field }) => [field, statsAt(index)]));
    const size = ofPosition ? statsOf.get("size") : undefined;
    const isLong = node.incarnation.startsWith("long");
    // Of a stretch in which it began, only the end is surely its own.
    let partly = atMs < node.bornMs;
    if (size !== undefined && size.count > 0) {
      if (size.last > 0 !== isLong) {
        windows.clear();
        return;
      }
      if (size.min > 0 !== size.max > 0) {
        windows.clear();
        partly = true;
      }
    }
    windows.feedBucket(atMs, widthMs, (field) => {
      const stats = statsOf.get(field);
      return stats !== undefined && partly ? onlyLast(stats, node.bornMs) : stats;
    });
  }

  #planOf(node: SubjectNode, series: readonly string[]): Plan {
    if (this.#plans?.node !== node) this.#plans = { node, byLayout: new Map() };
    let plan = this.#plans.byLayout.get(series);
    if (!plan) {
      plan = planOf(series, node.subject);
      this.#plans.byLayout.set(series, plan);
    }
    return plan;
  }

  feed(node: SubjectNode, tick: Tick): void {
    const { windows } = node;
    if (windows === null) return;
    const plan = this.#planOf(node, tick.series);
    const ofPosition = node.subject.scope === "position";
    if (tick.atMs < node.bornMs) return;
    if (plan.fields.length === 0) {
      // A position that was not there is another one: its windows start anew.
      if (ofPosition && plan.whole) windows.clear();
      return;
    }
    const values: Record<string, number> = {};
    for (const { index, field } of plan.fields) values[field] = tick.values[index]!;
    const onOtherSide =
      ofPosition && values.size !== undefined && values.size > 0 !== node.incarnation.startsWith("long");
    if (onOtherSide) windows.clear();
    else windows.feed(tick.atMs, values);
  }
}

function onlyLast({ count, last, lastMs }: Stats, bornMs: number): Stats | undefined {
  if (count === 0 || lastMs < bornMs) return undefined;
  return { count: 1, min: last, max: last, sum: last, sumSquares: last * last, last, lastMs };
}

function planOf(series: readonly string[], subject: Subject): Plan {
  // A book's own name says which market it is of.
  const symbol = "symbol" in subject && subject.scope !== "book" ? subject.symbol : null;
  const fields: { index: number; field: string }[] = [];
  series.forEach((name, index) => {
    const parsed = parseSeries(name);
    if (parsed?.scope === subject.scope && parsed.symbol === symbol)
      fields.push({ index, field: parsed.field });
  });
  return { fields, whole: series.includes("trader.collateral") };
}

/** Under which owners the series of a subject stand in history. */
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
