/** Acknowledgements that wait until their notification is handled, and those of them that are to be judged again. */
import type { Acknowledgement } from "../../domain/alerts/delivery.ts";
import type { Store } from "../../domain/ports.ts";
import { isHandled } from "./handled.ts";

/** Maximum rows judged in one pass. */
const judgedAtOnce = 500;

export class WaitingAcknowledgements {
  readonly #waiting = new Map<string, Acknowledgement>();
  readonly #byAlert = new Map<number, Set<string>>();
  /** The keys to judge. */
  readonly #dirty = new Set<string>();

  get size(): number {
    return this.#waiting.size;
  }

  get anyToJudge(): boolean {
    return this.#dirty.size > 0;
  }

  add(row: Acknowledgement): void {
    this.#waiting.set(row.key, row);
    this.#dirty.add(row.key);
    for (const id of alertsOf(row)) this.#byAlert.set(id, (this.#byAlert.get(id) ?? new Set()).add(row.key));
  }

  /** An alert changed: the acknowledgements that wait for it are judged again. */
  touch(alertId: number): void {
    for (const key of this.#byAlert.get(alertId) ?? []) this.#dirty.add(key);
  }

  /** Removes one that no longer waits. */
  forget(key: string): void {
    const row = this.#waiting.get(key);
    this.#waiting.delete(key);
    this.#dirty.delete(key);
    for (const id of row ? alertsOf(row) : []) {
      const keys = this.#byAlert.get(id);
      keys?.delete(key);
      if (keys?.size === 0) this.#byAlert.delete(id);
    }
  }

  /** Takes the next keys to judge. */
  takeToJudge(): readonly string[] {
    const keys = [...this.#dirty].slice(0, judgedAtOnce);
    for (const key of keys) this.#dirty.delete(key);
    return keys;
  }

  /** Their judgement failed: they are judged again. */
  putBack(keys: readonly string[]): void {
    for (const key of keys) if (this.#waiting.has(key)) this.#dirty.add(key);
  }

  /** Returns those of them that are handled, by committed history. */
  async handled(
    keys: readonly string[],
    store: Pick<Store, "alerts" | "deliveryItems">,
  ): Promise<readonly Acknowledgement[]> {
    const rows = keys.flatMap((key) => this.#waiting.get(key) ?? []);
    if (rows.length === 0) return [];
    const ids = [...new Set(rows.flatMap(alertsOf))];
    const alerts = new Map((await store.alerts({ ids })).map((alert) => [alert.id, alert]));
    const items = Map.groupBy(await store.deliveryItems({ alertIds: ids }), ({ alertId }) => alertId);
    const recorded = { alert: (id: number) => alerts.get(id), items: (id: number) => items.get(id) ?? [] };
    return rows.filter((row) => isHandled(row, recorded));
  }
}

const alertsOf = ({ rules }: Acknowledgement): readonly number[] => rules.flatMap(({ alertIds }) => alertIds);
