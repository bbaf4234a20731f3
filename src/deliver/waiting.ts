/**
 * What one receiver is owed and what is not sealed yet: in lanes by severity, and in order for each alert.
 *
 * The items of one alert are a thread: only its head may leave, and the whole thread stands in the lane of its worst item,
 * so that a critical rise pulls the firing message before it along instead of passing it.
 */
import { type AlertChange, type Severity, severityRank } from "../domain/alert.ts";
import type { OwedItem } from "../domain/delivery.ts";

/** An owed item on its way, until its end is recorded. */
export interface Entry {
  item: OwedItem;
  /** What it tells; null until it is read from history. */
  change: AlertChange | null;
  /** Its row could not be committed yet: nothing that concerns it may be written. */
  stuck: boolean;
}

/** Most reminders of one alert that one message stands for. */
const mostReminders = 1_000;

interface Thread {
  readonly alertId: number;
  readonly entries: Entry[];
  lane: Severity;
}

export class Waiting {
  readonly #threads = new Map<number, Thread>();
  readonly #lanes: Readonly<Record<Severity, Set<Thread>>> = {
    info: new Set(),
    warning: new Set(),
    critical: new Set(),
  };
  readonly #groups = new Map<string, Set<Thread>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  *entries(): Iterable<Entry> {
    for (const { entries } of this.#threads.values()) yield* entries;
  }

  /** Takes an entry in, at its place in the order of ids. */
  add(entry: Entry): void {
    const { alertId, groupKey } = entry.item;
    const thread = this.#threads.get(alertId) ?? { alertId, entries: [], lane: entry.item.severity };
    this.#threads.set(alertId, thread);
    let at = thread.entries.length;
    while (at > 0 && thread.entries[at - 1]!.item.id > entry.item.id) at--;
    thread.entries.splice(at, 0, entry);
    this.#size++;
    if (groupKey !== null) {
      const group = this.#groups.get(groupKey) ?? new Set();
      this.#groups.set(groupKey, group.add(thread));
    }
    this.#place(thread);
  }

  /**
   * Takes out what makes up the next message of these lanes, the first lane first.
   * @param held says which head may not leave yet
   * @returns null when nothing may leave
   */
  take(lanes: readonly Severity[], held: (head: Entry) => boolean): Entry[] | null {
    for (const lane of lanes) {
      for (const thread of this.#lanes[lane]) {
        const head = thread.entries[0]!;
        if (held(head)) continue;
        const taken = head.item.groupKey === null ? alone(thread) : this.#group(head, held);
        for (const entry of taken) this.#remove(entry);
        return taken;
      }
    }
    return null;
  }

  /** The group of this head, however many they are: what stands at the front of its threads, in order. */
  #group(head: Entry, held: (head: Entry) => boolean): Entry[] {
    const taken: Entry[] = [];
    for (const thread of this.#groups.get(head.item.groupKey ?? "") ?? []) {
      const first = thread.entries[0]!;
      if (first !== head && held(first)) continue;
      for (const entry of thread.entries) {
        if (entry.item.groupKey !== head.item.groupKey || entry.stuck !== head.stuck) break;
        taken.push(entry);
      }
    }
    return taken.sort((a, b) => a.item.id - b.item.id);
  }

  #remove(entry: Entry): void {
    const thread = this.#threads.get(entry.item.alertId)!;
    thread.entries.splice(thread.entries.indexOf(entry), 1);
    this.#size--;
    const { groupKey } = entry.item;
    if (groupKey !== null && !thread.entries.some(({ item }) => item.groupKey === groupKey)) {
      const group = this.#groups.get(groupKey);
      group?.delete(thread);
      if (group?.size === 0) this.#groups.delete(groupKey);
    }
    this.#lanes[thread.lane].delete(thread);
    if (thread.entries.length === 0) this.#threads.delete(thread.alertId);
    else this.#place(thread);
  }

  #place(thread: Thread): void {
    let lane: Severity = "info";
    for (const { item } of thread.entries)
      if (severityRank[item.severity] > severityRank[lane]) lane = item.severity;
    if (lane !== thread.lane) this.#lanes[thread.lane].delete(thread);
    thread.lane = lane;
    this.#lanes[lane].add(thread);
  }
}

/** An item alone; reminders that piled up while nothing could leave are one message together. */
function alone(thread: Thread): Entry[] {
  const [head, ...later] = thread.entries;
  const taken = [head!];
  if (head!.change?.kind !== "reminder") return taken;
  for (const entry of later) {
    const same =
      entry.change?.kind === "reminder" && entry.item.groupKey === null && entry.stuck === head!.stuck;
    if (!same || taken.length >= mostReminders) break;
    taken.push(entry);
  }
  return taken;
}
