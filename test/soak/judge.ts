/**
 * Reads a daemon's database while the daemon is dead, with SQL of its own, so that what is shown does not rest on the code
 * that is put to the test.
 */
import Database from "better-sqlite3";
import { type ChannelName, channelNames } from "./far-sides.ts";

/** Messages that tell of one alert, by receiver. */
export type Tellings = Readonly<
  Record<ChannelName, readonly { readonly id: string; readonly delivered: boolean }[]>
>;

export class Judge implements Disposable {
  readonly #db: Database.Database;
  /** Alerts by what they say. Rows of alerts are never taken back. */
  static readonly #alerts = new Map<string, { upTo: number; readonly bySummary: Map<string, number[]> }>();
  readonly #alertsOf: ReadonlyMap<string, readonly number[]>;

  constructor(file: string) {
    this.#db = new Database(file, { readonly: true });
    const known = Judge.#alerts.get(file) ?? { upTo: 0, bySummary: new Map<string, number[]>() };
    Judge.#alerts.set(file, known);
    const rows = this.#db
      .prepare("SELECT id, row ->> 'summary' AS summary FROM alerts WHERE id > ? ORDER BY id")
      .all(known.upTo) as { id: number; summary: string }[];
    for (const { id, summary } of rows) {
      known.bySummary.set(summary, [...(known.bySummary.get(summary) ?? []), id]);
      known.upTo = id;
    }
    this.#alertsOf = known.bySummary;
  }

  /** Alerts with this summary. */
  alerts(summary: string): readonly number[] {
    return this.#alertsOf.get(summary) ?? [];
  }

  tellings(alertId: number): Tellings {
    const rows = this.#db
      .prepare(
        `SELECT id, status, row ->> 'receiver' AS receiver FROM message_alerts
         JOIN messages ON messages.id = message_id WHERE alert_id = ?`,
      )
      .all(alertId) as { id: string; status: string; receiver: ChannelName }[];
    const of = (name: ChannelName) =>
      rows
        .filter(({ receiver }) => receiver === name)
        .map(({ id, status }) => ({ id, delivered: status === "delivered" }));
    return Object.fromEntries(channelNames.map((name) => [name, of(name)])) as unknown as Tellings;
  }

  /** The messages that are sealed and not concluded: ids by receiver. */
  open(): readonly { readonly id: string; readonly receiver: ChannelName }[] {
    return this.#db
      .prepare("SELECT id, row ->> 'receiver' AS receiver FROM messages WHERE status = 'sealed'")
      .all() as { id: string; receiver: ChannelName }[];
  }

  /** All messages by status, and the most alerts that one stands for. */
  totals(): { readonly byStatus: Readonly<Record<string, number>>; readonly largest: number } {
    const rows = this.#db.prepare("SELECT status, count(*) AS n FROM messages GROUP BY status").all() as {
      status: string;
      n: number;
    }[];
    const { largest } = this.#db
      .prepare("SELECT max(n) AS largest FROM (SELECT count(*) AS n FROM message_alerts GROUP BY message_id)")
      .get() as { largest: number | null };
    return {
      byStatus: Object.fromEntries(rows.map(({ status, n }) => [status, n])),
      largest: largest ?? 0,
    };
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}
