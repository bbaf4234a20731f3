/**
 * Buckets of one owner, oldest first, from roll-ups, ticks that were packed before roll-ups existed, and the tick log. A
 * bucket is stored in parts, one for each packing and layout; they are merged here.
 *
 * Read by block, each from one snapshot: no stored roll-up lies in two blocks.
 */
import { setImmediate as breathe } from "node:timers/promises";
import type Database from "better-sqlite3";
import {
  bucketOf,
  mergeStats,
  noStats,
  type Resolution,
  type RollUp,
  type RollUpBlock,
  RollUpBlocks,
  type RollUpQuery,
  resolutionMs,
  type Stats,
  type StatsColumns,
  statsAt,
} from "../../domain/stored/history.ts";
import { decodeChunk } from "./chunk.ts";
import { RollUpTable, StoredRollUps } from "./rollup-table.ts";
import type { Tail } from "./tail.ts";
import { valuesOf } from "./ticklog.ts";

/** The span that is read and merged at once, ms. */
export const blockMs: Readonly<Record<Resolution, number>> = {
  minute: 6 * 3_600_000,
  hour: 16 * 86_400_000,
};

/** Buckets returned before the event loop runs. */
const bucketsPerBreath = 512;

/** Buckets of one layout within one block. */
interface Part {
  readonly view: View;
  readonly times: readonly number[];
  /** The columns of the wanted series. */
  readonly columns: readonly StatsColumns[];
}

interface RollUpRow {
  readonly layout_id: number;
  readonly count: number;
  readonly body: Buffer;
}

/** A layout for a query: the wanted series and their indices. */
interface View {
  readonly layoutId: number;
  readonly series: readonly string[];
  readonly indices: readonly number[];
  readonly width: number;
}

/** A span of one owner, from a bucket to before the end of a block. */
interface Span {
  readonly ownerId: number;
  readonly bucketMs: number;
  readonly fromMs: number;
  readonly endMs: number;
  readonly viewOf: (layoutId: number) => View;
}

export class RollUps {
  readonly #sql: ReturnType<typeof statements>;
  readonly #tail: Tail;
  readonly #partsOf: (span: Span) => Part[];
  readonly #firstOf: (ownerId: number, bucketMs: number, fromMs: number) => number;

  constructor(db: Database.Database, tail: Tail) {
    this.#sql = statements(db);
    this.#tail = tail;
    this.#partsOf = db.transaction((span: Span) => this.#parts(span));
    this.#firstOf = db.transaction((...args: readonly [number, number, number]) => this.#first(...args));
  }

  async *rollups(query: RollUpQuery): AsyncGenerator<RollUp, void, undefined> {
    let handed = 0;
    for await (const { owner, series, times, columns, from, to } of this.blocks(query)) {
      for (let i = from; i < to; i++) {
        yield { atMs: times[i]!, owner, series, stats: columns.map((column) => statsAt(column, i)) };
        if (++handed % bucketsPerBreath === 0) await breathe();
      }
    }
  }

  async *blocks(query: RollUpQuery): AsyncGenerator<RollUpBlock, void, undefined> {
    const { owner, resolution, fromMs, toMs = Number.POSITIVE_INFINITY, wanted } = query;
    const ownerId = this.#sql.owner.get(owner)?.id;
    if (ownerId === undefined) return;
    const bucketMs = resolutionMs[resolution];
    const views = new Map<number, View>();
    const viewOf = (layoutId: number) => {
      const known = views.get(layoutId) ?? this.#view(layoutId, wanted);
      views.set(layoutId, known);
      return known;
    };
    const unions: Unions = new Map();
    for (let atMs = Math.ceil(fromMs / bucketMs) * bucketMs; ; ) {
      const firstMs = this.#firstOf(ownerId, bucketMs, atMs);
      if (firstMs > toMs || firstMs === Number.POSITIVE_INFINITY) return;
      const beginMs = bucketOf(firstMs, blockMs[resolution]);
      const endMs = beginMs + blockMs[resolution];
      const parts = this.#partsOf({ ownerId, bucketMs, fromMs: Math.max(beginMs, atMs), endMs, viewOf });
      for (const block of joined(parts, { owner, fromMs: atMs, toMs, unions })) yield block;
      atMs = endMs;
      await breathe();
    }
  }

  #view(layoutId: number, wanted: RollUpQuery["wanted"]): View {
    const row = this.#sql.layout.get(layoutId);
    if (row === undefined) throw new Error(`layout ${layoutId} is missing`);
    const all = JSON.parse(row.series) as readonly string[];
    const indices = [...all.keys()].filter((index) => wanted === undefined || wanted(all[index]!));
    return { layoutId, series: indices.map((index) => all[index]!), indices, width: all.length };
  }

  /** Returns the parts of a span, in the order of commits. Requires a transaction. */
  #parts({ ownerId, bucketMs, fromMs, endMs, viewOf }: Span): Part[] {
    const sql = this.#sql;
    const { packed_to, rolled_from, rolled_to } = sql.pulse.get()!;
    const parts: Part[] = [];
    if (rolled_from < rolled_to) {
      for (const row of sql.unrolled.all(ownerId, fromMs, endMs, packed_to, rolled_from, rolled_to)) {
        const view = viewOf(row.layout_id);
        const table = new RollUpTable(view.width, bucketMs);
        const chunk = decodeChunk(row.body, row.count, view.width);
        for (let i = 0; i < chunk.count; i++) {
          const atMs = chunk.atMsAt(i);
          if (atMs < fromMs || atMs >= endMs) continue;
          const values = chunk.valuesAt(i);
          table.addTick(atMs, (index) => values[index]!);
        }
        parts.push(gathered(view, table));
      }
    }
    for (const row of sql.stored.all(ownerId, bucketMs, fromMs, endMs, packed_to))
      parts.push(stored(viewOf(row.layout_id), row, bucketMs));
    const tables = new Map<number, RollUpTable>();
    const rows = this.#tail.rows(packed_to, ownerId, fromMs, endMs);
    for (const row of rows.sort((a, b) => a.at_ms - b.at_ms || a.seq - b.seq)) {
      if (row.at_ms >= endMs || row.body.length === 0) continue;
      const values = valuesOf(row.body);
      const table = tables.get(row.layout_id) ?? new RollUpTable(values.length, bucketMs);
      tables.set(row.layout_id, table);
      table.addTick(row.at_ms, (index) => values[index]!);
    }
    for (const [layoutId, table] of tables) parts.push(gathered(viewOf(layoutId), table));
    return parts;
  }

  /**
   * Returns the beginning of the first bucket at or after `fromMs`, or an earlier time of its block; ∞: there is none.
   * Requires a transaction.
   */
  #first(ownerId: number, bucketMs: number, fromMs: number): number {
    const sql = this.#sql;
    const { packed_to, rolled_from, rolled_to } = sql.pulse.get()!;
    const firsts = [
      sql.first.get(ownerId, bucketMs, fromMs, packed_to)?.from_ms,
      bucketOf(this.#tail.firstMs(packed_to, ownerId, fromMs), bucketMs),
    ];
    if (rolled_from < rolled_to) {
      const unrolled = sql.firstUnrolled.get(ownerId, fromMs, packed_to, rolled_from, rolled_to)?.from_ms;
      firsts.push(bucketOf(unrolled ?? Number.POSITIVE_INFINITY, bucketMs));
    }
    return Math.max(fromMs, Math.min(...firsts.map((ms) => ms ?? Number.POSITIVE_INFINITY)));
  }
}

function stored(view: View, row: RollUpRow, bucketMs: number): Part {
  const body = new StoredRollUps(row.body, row.count, view.width, bucketMs);
  return { view, times: body.times, columns: view.indices.map((index) => body.series(index)) };
}

function gathered(view: View, table: RollUpTable): Part {
  return { view, times: table.times, columns: view.indices.map((index) => table.series(index)) };
}

interface Place {
  readonly part: Part;
  readonly bucket: number;
}

/**
 * Yields every bucket of the parts, oldest first. A bucket in only one part is passed on unchanged; those in several parts are
 * merged, in the order of the parts.
 */
function* joined(
  parts: readonly Part[],
  {
    owner,
    fromMs,
    toMs,
    unions,
  }: { readonly owner: string; readonly fromMs: number; readonly toMs: number; readonly unions: Unions },
): Iterable<RollUpBlock> {
  const next = parts.map(({ times }) => {
    let first = 0;
    while (first < times.length && times[first]! < fromMs) first++;
    return first;
  });
  const timeOf = (i: number) => parts[i]!.times[next[i]!] ?? Number.POSITIVE_INFINITY;
  const made = new RollUpBlocks(owner);
  for (;;) {
    let [first, time, until, alone] = [0, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, true];
    for (let i = 0; i < parts.length; i++) {
      const one = timeOf(i);
      if (one < time) [first, until, time, alone] = [i, time, one, true];
      else if (one === time) alone = false;
      else if (one < until) until = one;
    }
    if (time === Number.POSITIVE_INFINITY || time > toMs) break;
    if (alone) {
      const { view, times, columns } = parts[first]!;
      const from = next[first]!;
      let to = from + 1;
      while (to < times.length && times[to]! < until && times[to]! <= toMs) to++;
      next[first] = to;
      const before = made.take();
      if (before !== null) yield before;
      yield { owner, series: view.series, times, columns, from, to };
      continue;
    }
    const places: Place[] = [];
    for (const [i, part] of parts.entries())
      if (timeOf(i) === time) places.push({ part, bucket: next[i]!++ });
    const before = made.add({ atMs: time, ...together(places, unions) });
    if (before !== null) yield before;
  }
  const last = made.take();
  if (last !== null) yield last;
}

/** The series of several layouts, each once, with their indices. */
interface Union {
  readonly series: readonly string[];
  readonly at: ReadonlyMap<string, number>;
}

/** By layouts. */
type Unions = Map<string, Union>;

function unite(places: readonly Place[]): Union {
  const series = [...new Set(places.flatMap(({ part }) => part.view.series))];
  return { series, at: new Map(series.map((name, index) => [name, index])) };
}

/** Merges the parts of one bucket. */
function together(places: readonly Place[], unions: Unions): Pick<RollUp, "series" | "stats"> {
  const [first] = places;
  const { series } = first!.part.view;
  if (places.every(({ part }) => part.view === first!.part.view)) {
    const merged = (index: number) =>
      places.map(({ part, bucket }) => statsAt(part.columns[index]!, bucket)).reduce(mergeStats);
    return { series, stats: series.map((_, index) => merged(index)) };
  }
  const key = places.map(({ part }) => part.view.layoutId).join(" ");
  const union = unions.get(key) ?? unite(places);
  unions.set(key, union);
  const stats: Stats[] = union.series.map(() => noStats);
  for (const { part, bucket } of places) {
    for (const [index, name] of part.view.series.entries()) {
      const at = union.at.get(name)!;
      stats[at] = mergeStats(stats[at]!, statsAt(part.columns[index]!, bucket));
    }
  }
  return { series: union.series, stats };
}

function statements(db: Database.Database) {
  const unrolled = "owner_id = ? AND to_ms >= ? AND from_ms < ? AND upto <= ? AND id > ? AND id <= ?";
  return {
    owner: db.prepare<[string], { id: number }>("SELECT id FROM owners WHERE name = ?"),
    layout: db.prepare<[number], { series: string }>("SELECT series FROM layouts WHERE id = ?"),
    pulse: db.prepare<[], { packed_to: number; rolled_from: number; rolled_to: number }>(
      "SELECT packed_to, rolled_from, rolled_to FROM pulse",
    ),
    // No roll-up lies in two blocks: one that ends in this block begins in it.
    stored: db.prepare<[number, number, number, number, number], RollUpRow>(
      `SELECT layout_id, count, body FROM rollups
        WHERE owner_id = ? AND bucket_ms = ? AND to_ms >= ? AND to_ms < ? AND upto <= ? ORDER BY upto, id`,
    ),
    first: db.prepare<[number, number, number, number], { from_ms: number }>(
      `SELECT from_ms FROM rollups
        WHERE owner_id = ? AND bucket_ms = ? AND to_ms >= ? AND upto <= ? ORDER BY to_ms LIMIT 1`,
    ),
    unrolled: db.prepare<[number, number, number, number, number, number], RollUpRow>(
      `SELECT layout_id, count, body FROM chunks WHERE ${unrolled} ORDER BY id`,
    ),
    firstUnrolled: db.prepare<[number, number, number, number, number], { from_ms: number }>(
      `SELECT min(from_ms) AS from_ms FROM chunks
        WHERE owner_id = ? AND to_ms >= ? AND upto <= ? AND id > ? AND id <= ?`,
    ),
  };
}
