/** Queries of the store's tables. Samples are read by samples.ts. */
import type Database from "better-sqlite3";
import type { Alert, AlertChange, RuleState, Severity } from "../domain/alerts/alert.ts";
import type { Acknowledgement, DeliveryItem, Message } from "../domain/alerts/delivery.ts";
import { type Event, type EventKind, earlierKeyOf, eventName } from "../domain/event.ts";
import type { EventQuery } from "../domain/ports.ts";
import type { FactChange, FailedRead, KeptPayload, Milestone } from "../domain/stored/changes.ts";
import { decode, encode } from "../domain/text/json.ts";
import { type EventRow, eventOf } from "./eventrow.ts";
import { decompress } from "./samples/compression.ts";

/** A span of time, both ends included. */
export interface Span {
  readonly fromMs?: number;
  readonly toMs?: number;
}

type Values = (string | number | null)[];

export class Reader {
  readonly #db: Database.Database;
  /** Prepared statements by their text: there are few different ones. */
  readonly #prepared = new Map<string, Database.Statement<unknown[], unknown>>();

  constructor(db: Database.Database) {
    this.#db = db;
  }

  knownEvents(keys: readonly { readonly kind: EventKind; readonly key: string }[]): ReadonlySet<string> {
    const known = new Set<string>();
    const kinds = new Map<EventKind, string[]>();
    const renamed = new Map<string, string[]>();
    for (const { kind, key } of keys) {
      const list = kinds.get(kind) ?? [];
      kinds.set(kind, list);
      list.push(key);
      const earlier = kind === "notification" ? earlierKeyOf(key) : null;
      if (earlier === null) continue;
      list.push(earlier);
      renamed.set(earlier, [...(renamed.get(earlier) ?? []), key]);
    }
    for (const [kind, list] of kinds) {
      const rows = this.#all<{ key: string }>(
        `SELECT key FROM events WHERE kind = ? AND key IN (${listed})`,
        kind,
        JSON.stringify(list),
      );
      for (const { key } of rows)
        for (const one of [key, ...(renamed.get(key) ?? [])]) known.add(eventName(kind, one));
    }
    return known;
  }

  events(query: EventQuery): Event[] {
    const where = new Where();
    if (query.kind !== undefined) where.and("kind = ?", query.kind);
    if (query.wallet !== undefined) where.and("wallet IS ?", query.wallet);
    where.within("happened_ms", query);
    const down = query.newestFirst === true ? "DESC" : "ASC";
    const order = ["happened_ms", "slot", "slot_index", "event_index", "id"]
      .map((c) => `${c} ${down}`)
      .join(", ");
    const limit = query.limit ?? -1;
    const rows = this.#all<EventRow>(
      `SELECT * FROM events ${where} ORDER BY ${order} LIMIT ?`,
      ...where.values,
      limit,
    );
    return rows.map(eventOf);
  }

  eventByKey(kind: EventKind, key: string): Event | null {
    const [row] = this.#all<EventRow>("SELECT * FROM events WHERE kind = ? AND key = ?", kind, key);
    return row === undefined ? null : eventOf(row);
  }

  facts(owner?: string): FactChange[] {
    const where = new Where();
    if (owner !== undefined) where.and("owner = ?", owner);
    return this.#all(
      `SELECT at_ms AS atMs, owner, name, value FROM facts_now ${where} ORDER BY owner, name`,
      ...where.values,
    );
  }

  /** Yields every change of an owner's facts, or of all, oldest first. */
  factHistory(query: Span & { readonly owner?: string }): FactChange[] {
    const where = new Where();
    if (query.owner !== undefined) where.and("owner = ?", query.owner);
    where.within("at_ms", query);
    return this.#all(
      `SELECT at_ms AS atMs, owner, name, value FROM facts ${where} ORDER BY at_ms, id`,
      ...where.values,
    );
  }

  failedReads(span: Span): FailedRead[] {
    const where = new Where().within("at_ms", span);
    return this.#all(
      `SELECT at_ms AS atMs, source, wallet, symbol, reason, detail FROM failed_reads ${where} ORDER BY at_ms, id`,
      ...where.values,
    );
  }

  payloads(span: Span): KeptPayload[] {
    const where = new Where().within("at_ms", span);
    const rows = this.#all<Omit<KeptPayload, "body"> & { body: Buffer }>(
      `SELECT at_ms AS atMs, source, wallet, problem, body FROM payloads ${where} ORDER BY at_ms, id`,
      ...where.values,
    );
    return rows.map((row) => ({ ...row, body: decompress(row.body).toString("utf8") }));
  }

  milestones(kind?: Milestone["kind"]): Milestone[] {
    const where = new Where();
    if (kind !== undefined) where.and("kind = ?", kind);
    return this.#all(
      `SELECT at_ms AS atMs, kind, value FROM milestones ${where} ORDER BY id`,
      ...where.values,
    );
  }

  ruleStates(): RuleState[] {
    return this.#rows("SELECT row FROM rule_states ORDER BY rule, subject");
  }

  alerts(query: {
    readonly state?: Alert["state"];
    readonly ids?: readonly number[];
    readonly shadow?: boolean;
    readonly limit?: number;
  }): Alert[] {
    const where = new Where();
    if (query.state !== undefined) where.and("state = ?", query.state);
    if (query.ids !== undefined) where.among("id", query.ids);
    if (query.shadow !== undefined)
      where.and("coalesce(json_extract(row, '$.shadow'), 0) = ?", Number(query.shadow));
    return this.#rows<Alert>(
      `SELECT row FROM alerts ${where} ORDER BY id DESC LIMIT ?`,
      ...where.values,
      query.limit ?? -1,
    );
  }

  alertChanges(query: { readonly alertId?: number; readonly ids?: readonly number[] }): AlertChange[] {
    const where = new Where();
    if (query.alertId !== undefined) where.and("alert_id = ?", query.alertId);
    if (query.ids !== undefined) where.among("id", query.ids);
    return this.#rows(`SELECT row FROM alert_changes ${where} ORDER BY id`, ...where.values);
  }

  deliveryItems(query: { readonly open?: boolean; readonly alertIds?: readonly number[] }): DeliveryItem[] {
    const where = new Where();
    where.open(query.open, "status IN ('owed', 'sealed')");
    if (query.alertIds !== undefined) where.among("alert_id", query.alertIds);
    return this.#rows(`SELECT row FROM owed ${where} ORDER BY id`, ...where.values);
  }

  messages(query: {
    readonly open?: boolean;
    readonly alertIds?: readonly number[];
    readonly ids?: readonly string[];
    readonly sealedFromMs?: number;
    readonly severity?: Severity;
    readonly incident?: string;
  }): Message[] {
    const where = new Where();
    if (query.sealedFromMs !== undefined) where.and("sealed_at_ms >= ?", query.sealedFromMs);
    if (query.severity !== undefined) where.and("row ->> 'severity' = ?", query.severity);
    where.open(query.open, "status = 'sealed'");
    if (query.ids !== undefined) where.among("id", query.ids);
    if (query.alertIds !== undefined)
      where.and(
        `id IN (SELECT message_id FROM message_alerts WHERE alert_id IN (${listed}))`,
        JSON.stringify(query.alertIds),
      );
    if (query.incident !== undefined)
      where.and("json_extract(row, '$.content.incident.id') = ?", query.incident);
    return this.#rows(`SELECT row FROM messages ${where} ORDER BY sealed_at_ms, id`, ...where.values);
  }

  acknowledgements(query: {
    readonly open?: boolean;
    readonly keys?: readonly string[];
    readonly wallet?: string;
    readonly alertIds?: readonly number[];
  }): Acknowledgement[] {
    const where = new Where();
    where.open(query.open, "status IN ('waiting', 'due')");
    if (query.keys !== undefined) where.among("key", query.keys);
    if (query.wallet !== undefined) where.and("wallet = ?", query.wallet);
    if (query.alertIds !== undefined)
      where.and(
        `EXISTS (SELECT 1 FROM json_each(row, '$.rules') AS rule, json_each(rule.value, '$.alertIds') AS alert
          WHERE alert.value IN (${listed}))`,
        JSON.stringify(query.alertIds),
      );
    return this.#rows(`SELECT row FROM acknowledgements ${where} ORDER BY id`, ...where.values);
  }

  cursors(): ReadonlyMap<string, string> {
    return this.#map("SELECT name, value FROM cursors ORDER BY name");
  }

  keep(): ReadonlyMap<string, string> {
    return this.#map("SELECT name, value FROM keep ORDER BY name");
  }

  lastIds(): { readonly alert: number; readonly change: number; readonly item: number } {
    const [row] = this.#all<{ alert: number; change: number; item: number }>(
      `SELECT coalesce((SELECT max(id) FROM alerts), 0) AS alert,
        coalesce((SELECT max(id) FROM alert_changes), 0) AS change,
        coalesce((SELECT max(id) FROM owed), 0) AS item`,
    );
    return row ?? { alert: 0, change: 0, item: 0 };
  }

  lastAliveMs(): number | null {
    const [row] = this.#all<{ alive_ms: number | null }>("SELECT alive_ms FROM pulse");
    return row?.alive_ms ?? null;
  }

  session(wallet: string): Uint8Array | null {
    const [row] = this.#all<{ sealed: Buffer }>("SELECT sealed FROM sessions WHERE wallet = ?", wallet);
    return row === undefined ? null : new Uint8Array(row.sealed);
  }

  #all<Row>(sql: string, ...values: Values): Row[] {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare<unknown[], unknown>(sql);
      this.#prepared.set(sql, statement);
    }
    return statement.all(...values) as Row[];
  }

  #rows<T>(sql: string, ...values: Values): T[] {
    return this.#all<{ row: string }>(sql, ...values).map(({ row }) => decode<T>(row));
  }

  #map(sql: string): ReadonlyMap<string, string> {
    return new Map(this.#all<{ name: string; value: string }>(sql).map(({ name, value }) => [name, value]));
  }
}

/** Encodes a list of any length as one value, so that the statement stays the same. */
const listed = "SELECT value FROM json_each(?)";

class Where {
  readonly #terms: string[] = [];
  readonly values: Values = [];

  and(term: string, value: string | number | null): this {
    this.#terms.push(term);
    this.values.push(value);
    return this;
  }

  within(column: string, span: Span): this {
    if (span.fromMs !== undefined) this.and(`${column} >= ?`, span.fromMs);
    if (span.toMs !== undefined) this.and(`${column} <= ?`, span.toMs);
    return this;
  }

  among(column: string, list: readonly (string | number)[]): this {
    return this.and(`${column} IN (${listed})`, encode(list));
  }

  /** Adds the condition as the partial index has it, so that SQLite uses that index. */
  open(wanted: boolean | undefined, condition: string): this {
    if (wanted !== undefined) this.#terms.push(wanted ? condition : `NOT (${condition})`);
    return this;
  }

  toString(): string {
    return this.#terms.length === 0 ? "" : `WHERE ${this.#terms.join(" AND ")}`;
  }
}
