/** Adds the changes to pending items: an item may be pending long after its change was committed. */

import type { ReportedItem } from "../../alerts/pending/reported.ts";
import type { Entry } from "../../alerts/pending/waiting.ts";
import type { Store } from "../../domain/ports.ts";
import type { DeliverLog } from "../log.ts";

export interface ItemsWithChanges {
  readonly found: readonly ReportedItem[];
  /** Entries whose change is not in history. */
  readonly lost: readonly Entry[];
}

/** @returns null if history cannot be read now */
export async function withChanges(
  entries: readonly Entry[],
  store: Pick<Store, "alertChanges">,
  log: DeliverLog,
): Promise<ItemsWithChanges | null> {
  const ids = entries.filter(({ change }) => change === null).map(({ item }) => item.changeId);
  try {
    const read = ids.length === 0 ? [] : await store.alertChanges({ ids });
    const changes = new Map(read.map((change) => [change.id, change]));
    for (const entry of entries) entry.change ??= changes.get(entry.item.changeId) ?? null;
  } catch (error) {
    const detail = error instanceof Error ? error.message : "failed";
    log.warn({ detail }, "alerts cannot be read from history");
    return null;
  }
  const found: ReportedItem[] = [];
  const lost: Entry[] = [];
  for (const entry of entries) {
    if (entry.change) found.push({ item: entry.item, change: entry.change });
    else lost.push(entry);
  }
  const items = lost.map(({ item }) => item.id);
  if (items.length > 0)
    log.warn({ items }, "pending items refer to alert changes that history does not have");
  return { found, lost };
}
