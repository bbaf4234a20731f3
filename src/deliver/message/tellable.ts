/** Adds the changes to pending items: an item may be pending long after its change was committed. */

import type { Told } from "../../alerts/pending/reported.ts";
import type { Entry } from "../../alerts/pending/waiting.ts";
import type { Store } from "../../domain/ports.ts";
import type { DeliverLog } from "../log.ts";

export interface Tellable {
  readonly told: readonly Told[];
  /** Entries whose change is not in history. */
  readonly lost: readonly Entry[];
}

/** @returns null if history cannot be read now */
export async function tellable(
  entries: readonly Entry[],
  store: Pick<Store, "alertChanges">,
  log: DeliverLog,
): Promise<Tellable | null> {
  const ids = entries.filter(({ change }) => change === null).map(({ item }) => item.changeId);
  try {
    const read = ids.length === 0 ? [] : await store.alertChanges({ ids });
    const found = new Map(read.map((change) => [change.id, change]));
    for (const entry of entries) entry.change ??= found.get(entry.item.changeId) ?? null;
  } catch (error) {
    const detail = error instanceof Error ? error.message : "failed";
    log.warn({ detail }, "alerts cannot be read from history");
    return null;
  }
  const told: Told[] = [];
  const lost: Entry[] = [];
  for (const entry of entries) {
    if (entry.change) told.push({ item: entry.item, change: entry.change });
    else lost.push(entry);
  }
  const items = lost.map(({ item }) => item.id);
  if (items.length > 0) log.warn({ items }, "owed items tell of alert changes that history does not hold");
  return { told, lost };
}
