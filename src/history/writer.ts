/** Writes one `Changes` value with prepared statements, always within a transaction of the store. */
import type Database from "better-sqlite3";
import type { Alert, AlertChange, RuleState } from "../domain/alerts/alert.ts";
import type { Acknowledgement, DeliveryItem, Message } from "../domain/alerts/delivery.ts";
import type { Event } from "../domain/event.ts";
import type { Changes, FactChange, FailedRead, KeptPayload, Milestone } from "../domain/stored/changes.ts";
import { encode, encodeForeign } from "../domain/text/json.ts";
import type { RecordingLog } from "./recording/recording.ts";
import { compress, shorten } from "./samples/compression.ts";
import type { TickLog } from "./samples/ticklog.ts";

export class Writer {
  readonly #log: TickLog;
  readonly #recording: RecordingLog;
  readonly #sql: ReturnType<typeof statements>;

  constructor(db: Database.Database, log: TickLog, recording: RecordingLog) {
    this.#log = log;
    this.#recording = recording;
    this.#sql = statements(db);
  }

  write(changes: Changes): void {
    this.#recording.append(changes.observations);
    for (const tick of changes.ticks) this.#log.append(tick);
    for (const fact of changes.facts) this.#fact(fact);
    for (const event of changes.events) this.#event(event);
    for (const read of changes.failedReads) this.#failedRead(read);
    for (const milestone of changes.milestones) this.#milestone(milestone);
    for (const payload of changes.payloads) this.#payload(payload);
    for (const alert of changes.alerts) this.#alert(alert);
    for (const change of changes.alertChanges) this.#alertChange(change);
    for (const { rule, subject } of changes.ruleStatesGone) this.#sql.ruleStateGone.run(rule, subject);
    for (const state of changes.ruleStates) this.#ruleState(state);
    for (const item of changes.deliveryItems) this.#deliveryItem(item);
    for (const message of changes.messages) this.#message(message);
    for (const acknowledgement of changes.acknowledgements) this.#acknowledgement(acknowledgement);
    for (const { name, value } of changes.cursors) this.#sql.cursor.run(name, value);
    for (const { name, value } of changes.keep) {
      if (value === null) this.#sql.keepGone.run(name);
      else this.#sql.keep.run(name, value);
    }
  }

  /** Notes that the daemon was alive at this time. */
  alive(nowMs: number): void {
    this.#sql.alive.run(nowMs);
  }

  #fact({ atMs, owner, name, value }: FactChange): void {
    this.#sql.fact.run(atMs, owner, name, value);
    this.#sql.factNow.run(owner, name, atMs, value);
  }

  #event(event: Event): void {
    const data = event.data === null || event.data === undefined ? undefined : encodeForeign(event.data);
    this.#sql.event.run(
      event.kind,
      event.key,
      event.wallet,
      event.pdaIndex,
      event.subaccount,
      event.symbol,
      event.happenedMs,
      event.seenMs,
      event.slot,
      event.slotIndex,
      event.eventIndex,
      encode(event.fields),
      data === undefined ? null : shorten(data),
      event.backfilled ? 1 : 0,
      event.inbox === null ? null : encode(event.inbox),
      event.notificationKey,
    );
  }

  #failedRead({ atMs, source, wallet, symbol, reason, detail }: FailedRead): void {
    this.#sql.failedRead.run(atMs, source, wallet, symbol, reason, detail);
  }

  #milestone({ atMs, kind, value }: Milestone): void {
    this.#sql.milestone.run(atMs, kind, value);
  }

  #payload({ atMs, source, wallet, problem, body }: KeptPayload): void {
    this.#sql.payload.run(atMs, source, wallet, problem, compress(body));
  }

  #alert(alert: Alert): void {
    this.#sql.alert.run(alert.id, alert.state, encode(alert));
  }

  #alertChange(change: AlertChange): void {
    this.#sql.alertChange.run(change.id, change.alertId, encode(change));
  }

  #ruleState(state: RuleState): void {
    this.#sql.ruleState.run(state.rule, state.subject, encode(state));
  }

  #deliveryItem(item: DeliveryItem): void {
    this.#sql.deliveryItem.run(item.id, item.alertId, item.status, encode(item));
  }

  #message(message: Message): void {
    this.#sql.message.run(message.id, message.sealedAtMs, message.status, encode(message));
    this.#sql.messageAlertsGone.run(message.id);
    for (const alertId of message.alertIds) this.#sql.messageAlert.run(message.id, alertId);
  }

  #acknowledgement(row: Acknowledgement): void {
    this.#sql.acknowledgement.run(row.key, row.wallet, row.status, encode(row));
  }
}

/**
 * Returns true if losing this commit in a power cut could lose or repeat a notification, or leave an acknowledgement
 * unexplained.
 */
export function mustBeDurable(changes: Changes): boolean {
  return (
    changes.deliveryItems.length > 0 || changes.messages.length > 0 || changes.acknowledgements.length > 0
  );
}

function statements(db: Database.Database) {
  const sql = (text: string) => db.prepare<unknown[]>(text);
  return {
    alive: sql("UPDATE pulse SET alive_ms = ?"),
    fact: sql("INSERT INTO facts (at_ms, owner, name, value) VALUES (?, ?, ?, ?)"),
    // A fact of an earlier time that is read later does not replace a newer one.
    factNow: sql(`INSERT INTO facts_now VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
      SET at_ms = excluded.at_ms, value = excluded.value WHERE excluded.at_ms >= at_ms`),
    event:
      sql(`INSERT INTO events (kind, key, wallet, pda_index, subaccount, symbol, happened_ms, seen_ms, slot,
      slot_index, event_index, fields, data, backfilled, inbox, notification_key)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (kind, key) DO NOTHING`),
    failedRead: sql(
      "INSERT INTO failed_reads (at_ms, source, wallet, symbol, reason, detail) VALUES (?, ?, ?, ?, ?, ?)",
    ),
    milestone: sql("INSERT INTO milestones (at_ms, kind, value) VALUES (?, ?, ?)"),
    payload: sql("INSERT INTO payloads (at_ms, source, wallet, problem, body) VALUES (?, ?, ?, ?, ?)"),
    alert: sql("INSERT OR REPLACE INTO alerts VALUES (?, ?, ?)"),
    alertChange: sql("INSERT INTO alert_changes VALUES (?, ?, ?)"),
    ruleStateGone: sql("DELETE FROM rule_states WHERE rule = ? AND subject = ?"),
    ruleState: sql("INSERT OR REPLACE INTO rule_states VALUES (?, ?, ?)"),
    deliveryItem: sql("INSERT OR REPLACE INTO owed VALUES (?, ?, ?, ?)"),
    message: sql("INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?)"),
    messageAlertsGone: sql("DELETE FROM message_alerts WHERE message_id = ?"),
    messageAlert: sql("INSERT OR IGNORE INTO message_alerts VALUES (?, ?)"),
    acknowledgement: sql(`INSERT INTO acknowledgements (key, wallet, status, row) VALUES (?, ?, ?, ?)
      ON CONFLICT (key) DO UPDATE SET wallet = excluded.wallet, status = excluded.status, row = excluded.row`),
    cursor: sql("INSERT OR REPLACE INTO cursors VALUES (?, ?)"),
    keep: sql("INSERT OR REPLACE INTO keep VALUES (?, ?)"),
    keepGone: sql("DELETE FROM keep WHERE name = ?"),
  };
}
