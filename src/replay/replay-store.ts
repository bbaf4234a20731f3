/**
 * The store of a replay: its own decisions in memory, and the samples and events of history from before it began. A
 * watch is restored from it at each start within the replay, as a live one is from the database.
 */
import type { Alert, AlertChange, RuleState } from "../domain/alerts/alert.ts";
import type { DeliveryItem } from "../domain/alerts/delivery.ts";
import { type Event, type EventKind, eventName } from "../domain/event.ts";
import type { Tick } from "../domain/observation.ts";
import type { EventQuery, Store, TickQuery } from "../domain/ports.ts";
import type { Changes, FactChange } from "../domain/stored/changes.ts";
import { factName } from "../domain/stored/facts.ts";
import {
  bucketOf,
  inBlocks,
  type RollUp,
  type RollUpBlock,
  type RollUpQuery,
  resolutionMs,
  rolledUp,
} from "../domain/stored/history.ts";
import type { WatchHistory } from "../ingest/restore-watch.ts";

/** The parts of history that a replay reads. */
export type PastHistory = Pick<Store, "ticks" | "rollups" | "tickOwners" | "events" | "eventByKey">;

export interface ReplayStoreOptions {
  /** Null: there is no earlier history. */
  readonly past: PastHistory | null;
  /** The start of the replay, ms: only earlier history is read. */
  readonly fromMs: number;
  /** The reach of windows, ms: older samples of the replay are dropped. 0: no samples are kept. */
  readonly samplesMs: number;
}

/** Samples added between two removals of old ones. */
const pruneEvery = 10_000;

export class ReplayStore implements WatchHistory {
  readonly #options: ReplayStoreOptions;
  readonly #ticks = new Map<string, Tick[]>();
  readonly #events = new Map<string, Event>();
  readonly #facts = new Map<string, FactChange>();
  readonly #keep = new Map<string, string>();
  readonly #ruleStates = new Map<string, RuleState>();
  readonly #alerts = new Map<number, Alert>();
  readonly #changes = new Map<number, AlertChange>();
  readonly #changesOf = new Map<number, AlertChange[]>();
  readonly #owedOf = new Map<number, DeliveryItem[]>();
  #ids = { alert: 0, change: 0, item: 0 };
  #addedSincePruning = 0;

  constructor(options: ReplayStoreOptions) {
    this.#options = options;
  }

  /** Values that the first watch is restored from. */
  begin({
    facts = [],
    keep = [],
  }: {
    facts?: Iterable<FactChange>;
    keep?: Iterable<[string, string]>;
  }): void {
    for (const fact of facts) this.#facts.set(factName(fact.owner, fact.name), fact);
    for (const [name, value] of keep) this.#keep.set(name, value);
  }

  take(changes: Changes): void {
    for (const tick of changes.ticks) this.#addTick(tick);
    for (const event of changes.events) {
      const name = eventName(event.kind, event.key);
      if (!this.#events.has(name)) this.#events.set(name, event);
    }
    for (const fact of changes.facts) this.#facts.set(factName(fact.owner, fact.name), fact);
    for (const { name, value } of changes.keep) {
      if (value === null) this.#keep.delete(name);
      else this.#keep.set(name, value);
    }
    for (const { rule, subject } of changes.ruleStatesGone) this.#ruleStates.delete(`${rule}\n${subject}`);
    for (const state of changes.ruleStates) this.#ruleStates.set(`${state.rule}\n${state.subject}`, state);
    const ids = this.#ids;
    for (const alert of changes.alerts) {
      this.#alerts.set(alert.id, alert);
      ids.alert = Math.max(ids.alert, alert.id);
    }
    for (const change of changes.alertChanges) {
      this.#changes.set(change.id, change);
      push(this.#changesOf, change.alertId, change);
      ids.change = Math.max(ids.change, change.id);
    }
    for (const item of changes.deliveryItems) {
      push(this.#owedOf, item.alertId, item);
      ids.item = Math.max(ids.item, item.id);
    }
  }

  #addTick(tick: Tick): void {
    const { samplesMs } = this.#options;
    if (samplesMs <= 0) return;
    push(this.#ticks, tick.owner, tick);
    if (++this.#addedSincePruning < pruneEvery) return;
    this.#addedSincePruning = 0;
    const sinceMs = tick.atMs - samplesMs;
    for (const ticks of this.#ticks.values()) {
      const keepFrom = ticks.findIndex((one) => one.atMs >= sinceMs);
      if (keepFrom !== 0) ticks.splice(0, keepFrom < 0 ? ticks.length : keepFrom);
    }
  }

  async *ticks(query: TickQuery): AsyncIterable<Tick> {
    const { past, fromMs } = this.#options;
    const toMs = query.toMs ?? Number.POSITIVE_INFINITY;
    if (past && query.fromMs < fromMs) {
      for await (const tick of past.ticks({ ...query, toMs: Math.min(toMs, fromMs - 1) })) yield tick;
    }
    const own = (this.#ticks.get(query.owner) ?? []).filter(
      ({ atMs }) => atMs >= query.fromMs && atMs <= toMs,
    );
    // Samples fetched at the first answer are older than those added before them.
    yield* own.sort((a, b) => a.atMs - b.atMs);
  }

  async *rollups(query: RollUpQuery): AsyncIterable<RollUp> {
    const { past, fromMs } = this.#options;
    const { owner, resolution, toMs = Number.POSITIVE_INFINITY } = query;
    const widthMs = resolutionMs[resolution];
    // The stored bucket in which the replay begins may contain later samples.
    const beginMs = bucketOf(fromMs, widthMs);
    if (past && query.fromMs < beginMs)
      yield* past.rollups({ ...query, toMs: Math.min(toMs, beginMs - widthMs) });
    const own = { owner, fromMs: Math.max(query.fromMs, beginMs), toMs: toMs + widthMs - 1 };
    for await (const bucket of rolledUp(this.ticks(own), query)) {
      if (bucket.atMs >= query.fromMs && bucket.atMs <= toMs) yield bucket;
    }
  }

  rollupBlocks(query: RollUpQuery): AsyncIterable<RollUpBlock> {
    return inBlocks(this.rollups(query), query.owner);
  }

  async tickOwners(): Promise<readonly string[]> {
    return [...new Set([...((await this.#options.past?.tickOwners()) ?? []), ...this.#ticks.keys()])];
  }

  async events(query: EventQuery): Promise<readonly Event[]> {
    const { past, fromMs } = this.#options;
    const before = (await past?.events(query)) ?? [];
    const own = [...this.#events.values()].filter((event) => fits(event, query));
    const all = [...before.filter((event) => event.seenMs < fromMs), ...own].sort(byTime);
    if (query.newestFirst === true) all.reverse();
    return query.limit === undefined ? all : all.slice(0, query.limit);
  }

  async eventByKey(kind: EventKind, key: string): Promise<Event | null> {
    const own = this.#events.get(eventName(kind, key));
    if (own) return own;
    const before = (await this.#options.past?.eventByKey(kind, key)) ?? null;
    return before !== null && before.seenMs < this.#options.fromMs ? before : null;
  }

  async facts(owner?: string): Promise<readonly FactChange[]> {
    const all = [...this.#facts.values()];
    return owner === undefined ? all : all.filter((fact) => fact.owner === owner);
  }

  async keep(): Promise<ReadonlyMap<string, string>> {
    // Sorted as in the database: deadlines restored from it keep this order.
    return new Map([...this.#keep].sort(([a], [b]) => compare(a, b)));
  }

  async ruleStates(): Promise<readonly RuleState[]> {
    return [...this.#ruleStates.values()].sort(
      (a, b) => compare(a.rule, b.rule) || compare(a.subject, b.subject),
    );
  }

  async alerts(query: Parameters<Store["alerts"]>[0]): Promise<readonly Alert[]> {
    const found = [...this.#alerts.values()]
      .filter(
        (alert) =>
          (query.state === undefined || alert.state === query.state) &&
          (query.ids === undefined || query.ids.includes(alert.id)) &&
          (query.shadow === undefined || (alert.shadow === true) === query.shadow),
      )
      .sort((a, b) => b.id - a.id);
    return query.limit === undefined ? found : found.slice(0, query.limit);
  }

  async alertChanges(query: Parameters<Store["alertChanges"]>[0]): Promise<readonly AlertChange[]> {
    const found =
      query.alertId === undefined ? [...this.#changes.values()] : (this.#changesOf.get(query.alertId) ?? []);
    return query.ids === undefined ? [...found] : found.filter(({ id }) => query.ids!.includes(id));
  }

  async deliveryItems(query: Parameters<Store["deliveryItems"]>[0]): Promise<readonly DeliveryItem[]> {
    const ids = query.alertIds ?? [...this.#owedOf.keys()];
    return ids.flatMap((id) => this.#owedOf.get(id) ?? []).sort((a, b) => a.id - b.id);
  }

  async lastIds(): Promise<{ readonly alert: number; readonly change: number; readonly item: number }> {
    return { ...this.#ids };
  }

  /** Renames the states of positions whose identity became known. */
  renamePositions(incarnationOf: (subject: string) => string | undefined): void {
    for (const [key, state] of this.#ruleStates) {
      const incarnation = incarnationOf(state.subject);
      const sameSide = incarnation?.split(" ")[0] === state.incarnation.split(" ")[0];
      if (incarnation !== undefined && state.incarnation.endsWith(" given") && sameSide)
        this.#ruleStates.set(key, { ...state, incarnation });
    }
  }

  /** The newest alert of a rule about a subject, or about an event; undefined: there is none. */
  alertOf({ rule, subject, eventKey }: Pick<Alert, "rule" | "subject" | "eventKey">): Alert | undefined {
    let newest: Alert | undefined;
    for (const alert of this.#alerts.values()) {
      if (alert.rule === rule && alert.subject === subject && alert.eventKey === eventKey) newest = alert;
    }
    return newest;
  }
}

function push<K, V>(into: Map<K, V[]>, key: K, value: V): void {
  const list = into.get(key);
  if (list) list.push(value);
  else into.set(key, [value]);
}

function fits(event: Event, { kind, wallet, fromMs, toMs }: EventQuery): boolean {
  return (
    (kind === undefined || event.kind === kind) &&
    (wallet === undefined || event.wallet === wallet) &&
    (fromMs === undefined || event.happenedMs >= fromMs) &&
    (toMs === undefined || event.happenedMs <= toMs)
  );
}

function byTime(a: Event, b: Event): number {
  return (
    a.happenedMs - b.happenedMs || a.slot - b.slot || a.slotIndex - b.slotIndex || a.eventIndex - b.eventIndex
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
