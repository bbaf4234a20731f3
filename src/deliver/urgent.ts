/** Finds the critical changes that reached no receiver: one accepting channel is enough. */
import { dueSinceMs, type Entry } from "../alerts/pending/waiting.ts";
import { type DeliveryItem, drillGroup } from "../domain/alerts/delivery.ts";
import type { CriticalFigures } from "./critical-figures.ts";

export function isUrgent({ severity, groupKey }: Pick<DeliveryItem, "severity" | "groupKey">): boolean {
  return severity === "critical" && groupKey?.startsWith(drillGroup) !== true;
}

export class Urgent {
  /** Changes that one channel accepted and that are still pending for another. */
  readonly #reached = new Set<number>();
  #lost = 0;

  /** @param items every delivery item of the alerts concerned */
  restore(items: readonly DeliveryItem[]): void {
    const open = new Set(
      items.filter(({ status }) => status === "owed" || status === "sealed").map(({ changeId }) => changeId),
    );
    for (const item of items)
      if (item.status === "delivered" && open.has(item.changeId)) this.#reached.add(item.changeId);
  }

  /** Notes entries that are delivered or dead, and recorded. @param open the others */
  settled(entries: readonly Entry[], open: Iterable<Entry>): void {
    const urgent = entries.filter(({ item }) => isUrgent(item));
    if (urgent.length === 0) return;
    const waiting = new Set([...open].map(({ item }) => item.changeId));
    for (const { item } of urgent) if (item.status === "delivered") this.#reached.add(item.changeId);
    for (const changeId of new Set(urgent.map(({ item }) => item.changeId))) {
      if (waiting.has(changeId)) continue;
      if (!this.#reached.delete(changeId)) this.#lost++;
    }
  }

  figures(open: Iterable<Entry>): CriticalFigures {
    const since = new Map<number, number>();
    const taken = new Set(this.#reached);
    for (const { item } of open) {
      if (!isUrgent(item)) continue;
      // Accepted, and not recorded yet.
      if (item.status === "delivered") taken.add(item.changeId);
      const sinceMs = dueSinceMs(item);
      since.set(item.changeId, Math.min(since.get(item.changeId) ?? sinceMs, sinceMs));
    }
    for (const changeId of taken) since.delete(changeId);
    return { waitingSinceMs: since.size === 0 ? null : Math.min(...since.values()), lost: this.#lost };
  }
}
