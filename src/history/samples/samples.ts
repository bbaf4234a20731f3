/**
 * Ticks of one owner, oldest first, from chunks and the tick log. Ticks of the same time come in the order of commits. Lazy:
 * one chunk of each overlapping run is unpacked at a time, and the event loop runs in between.
 */
import { setImmediate as breathe } from "node:timers/promises";
import type Database from "better-sqlite3";
import type { Tick } from "../../domain/observation.ts";
import type { TickQuery } from "../../domain/ports.ts";
import { type Chunk, decodeChunk } from "./chunk.ts";
import type { Tail } from "./tail.ts";
import { type LogRow, valuesOf } from "./ticklog.ts";

/** Ticks returned before the event loop runs. */
const ticksPerBreath = 512;

/** A layout for a query: the wanted series and their indices. */
interface View {
  readonly series: readonly string[];
  /** Undefined: all are wanted. */
  readonly indices: readonly number[] | undefined;
  readonly width: number;
}

/** Ticks of one layout in order, with the reading position. */
interface Run {
  readonly series: readonly string[];
  readonly chunk: Chunk;
  index: number;
  atMs: number;
  seq: number;
}

interface ChunkRow {
  readonly id: number;
  readonly layout_id: number;
  readonly from_ms: number;
  readonly count: number;
}

export class Samples {
  readonly #layouts = new Map<number, readonly string[]>();
  readonly #sql: ReturnType<typeof statements>;
  readonly #tail: Tail;
  /** Returns a snapshot of chunks and log. */
  readonly #look: (ownerId: number, fromMs: number, toMs: number) => { chunks: ChunkRow[]; tail: LogRow[] };

  constructor(db: Database.Database, tail: Tail) {
    this.#sql = statements(db);
    this.#tail = tail;
    this.#look = db.transaction((ownerId: number, fromMs: number, toMs: number) => {
      const packedTo = this.#sql.packedTo.get()?.packed_to ?? 0;
      return {
        chunks: this.#sql.chunks.all(ownerId, fromMs, toMs, packedTo),
        tail: this.#tail.rows(packedTo, ownerId, fromMs, toMs),
      };
    });
  }

  async *ticks(query: TickQuery): AsyncGenerator<Tick, void, undefined> {
    const ownerId = this.#sql.owner.get(query.owner)?.id;
    if (ownerId === undefined) return;
    const { owner, fromMs } = query;
    const toMs = query.toMs ?? Number.POSITIVE_INFINITY;
    const { chunks, tail } = this.#look(ownerId, fromMs, toMs);
    const waiting = chunks.sort((a, b) => a.from_ms - b.from_ms);
    const views = new Map<number, View>();
    const viewOf = (layoutId: number) => {
      const view = views.get(layoutId) ?? this.#view(layoutId, query.wanted);
      views.set(layoutId, view);
      return view;
    };
    const runs: Run[] = tailRuns(tail, viewOf).map((chunk) =>
      begin(chunk, viewOf(chunk.layoutId).series, Number.NEGATIVE_INFINITY),
    );
    let next = 0;
    let handed = 0;
    for (;;) {
      let first = earliest(runs);
      // A chunk is unpacked when its first tick could be the next one.
      while (
        next < waiting.length &&
        (first === undefined || (waiting[next] as ChunkRow).from_ms <= first.atMs)
      ) {
        const run = this.#open(waiting[next++] as ChunkRow, fromMs, viewOf);
        if (run !== undefined) runs.push(run);
        await breathe();
        handed = 0;
        first = earliest(runs);
      }
      if (first === undefined || first.atMs > toMs) return;
      yield { atMs: first.atMs, owner, series: first.series, values: first.chunk.valuesAt(first.index) };
      if (!advance(first)) runs.splice(runs.indexOf(first), 1);
      if (++handed >= ticksPerBreath) {
        await breathe();
        handed = 0;
      }
    }
  }

  /** Returns the owners that have ticks, by name. */
  owners(): string[] {
    return this.#sql.owners.all().map(({ name }) => name);
  }

  /** Returns every series that has samples or roll-ups, by owner and in the order of layouts. */
  series(): ReadonlyMap<string, readonly string[]> {
    const found = new Map<string, Set<string>>();
    for (const { name, layout_id } of this.#sql.layoutsOf.all()) {
      const list = found.get(name) ?? new Set();
      found.set(name, list);
      for (const one of this.#series(layout_id)) list.add(one);
    }
    return new Map([...found].map(([name, list]) => [name, [...list]]));
  }

  #open(row: ChunkRow, fromMs: number, viewOf: (layoutId: number) => View): Run | undefined {
    const found = this.#sql.body.get(row.id);
    if (found === undefined) return undefined; // Retention took it meanwhile.
    const { series, indices, width } = viewOf(row.layout_id);
    const run = begin(decodeChunk(found.body, row.count, width, indices), series, fromMs);
    return run.index < run.chunk.count ? run : undefined;
  }

  #view(layoutId: number, wanted: TickQuery["wanted"]): View {
    const all = this.#series(layoutId);
    if (wanted === undefined) return { series: all, indices: undefined, width: all.length };
    const indices = [...all.keys()].filter((index) => wanted(all[index]!));
    return { series: indices.map((index) => all[index]!), indices, width: all.length };
  }

  #series(layoutId: number): readonly string[] {
    const known = this.#layouts.get(layoutId);
    if (known !== undefined) return known;
    const row = this.#sql.layout.get(layoutId);
    if (row === undefined) throw new Error(`layout ${layoutId} is missing`);
    const series = JSON.parse(row.series) as readonly string[];
    this.#layouts.set(layoutId, series);
    return series;
  }
}

/** Returns a run positioned at the first tick that is not before `fromMs`. */
function begin(chunk: Chunk, series: readonly string[], fromMs: number): Run {
  let low = 0;
  let high = chunk.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (chunk.atMsAt(middle) < fromMs) low = middle + 1;
    else high = middle;
  }
  const run = { series, chunk, index: low - 1, atMs: 0, seq: 0 };
  advance(run);
  return run;
}

function advance(run: Run): boolean {
  run.index++;
  if (run.index >= run.chunk.count) return false;
  run.atMs = run.chunk.atMsAt(run.index);
  run.seq = run.chunk.seqAt(run.index);
  return true;
}

function earliest(runs: readonly Run[]): Run | undefined {
  let first: Run | undefined;
  for (const run of runs)
    if (first === undefined || run.atMs < first.atMs || (run.atMs === first.atMs && run.seq < first.seq))
      first = run;
  return first;
}

/** Returns rows of the log in the form of chunks, one for each layout. */
function tailRuns(
  rows: readonly LogRow[],
  viewOf: (layoutId: number) => View,
): (Chunk & { readonly layoutId: number })[] {
  const byLayout = new Map<number, LogRow[]>();
  for (const row of rows) {
    const list = byLayout.get(row.layout_id);
    if (list) list.push(row);
    else byLayout.set(row.layout_id, [row]);
  }
  return [...byLayout].map(([layoutId, list]) => {
    list.sort((a, b) => a.at_ms - b.at_ms || a.seq - b.seq);
    const at = (index: number) => list[index] as LogRow;
    const { indices } = viewOf(layoutId);
    return {
      layoutId,
      count: list.length,
      seqAt: (index: number) => at(index).seq,
      atMsAt: (index: number) => at(index).at_ms,
      valuesAt(index: number) {
        const values = valuesOf(at(index).body);
        return indices === undefined ? values : indices.map((one) => values[one]!);
      },
    };
  });
}

function statements(db: Database.Database) {
  return {
    owner: db.prepare<[string], { id: number }>("SELECT id FROM owners WHERE name = ?"),
    owners: db.prepare<[], { name: string }>(`SELECT name FROM owners, pulse WHERE
      EXISTS (SELECT 1 FROM chunks WHERE owner_id = owners.id AND upto <= packed_to)
      OR owners.id IN (SELECT owner_id FROM ticks WHERE seq > (SELECT packed_to FROM pulse)) ORDER BY name`),
    layoutsOf: db.prepare<[], { name: string; layout_id: number }>(`SELECT name, layout_id FROM (
      SELECT owner_id, layout_id FROM chunks UNION SELECT owner_id, layout_id FROM rollups
      UNION SELECT owner_id, layout_id FROM ticks) JOIN owners ON owners.id = owner_id ORDER BY name, layout_id`),
    layout: db.prepare<[number], { series: string }>("SELECT series FROM layouts WHERE id = ?"),
    packedTo: db.prepare<[], { packed_to: number }>("SELECT packed_to FROM pulse"),
    chunks: db.prepare<[number, number, number, number], ChunkRow>(
      "SELECT id, layout_id, from_ms, count FROM chunks WHERE owner_id = ? AND to_ms >= ? AND from_ms <= ? AND upto <= ?",
    ),
    body: db.prepare<[number], { body: Buffer }>("SELECT body FROM chunks WHERE id = ?"),
  };
}
