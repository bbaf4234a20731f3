/**
 * The pending items of one receiver, and the ones that leave next in one message: in lanes by severity, and in order
 * for each alert. The outbox and replays share this code. Pure: time is a parameter.
 *
 * The items of one alert are a thread: only its head may leave, and the whole thread stands in the lane of its worst item,
 * so that a critical rise pulls the firing message before it along instead of passing it.
 */
import { type AlertChange, type Severity, severityRank, worseOf } from "../../domain/alerts/alert.ts";
import {
  type DeliveryItem,
  drillGroup,
  type Folded,
  firstOfIncident,
  lateAfterMs,
  maxNamed,
  maxReported,
  throttleGroup,
} from "../../domain/alerts/delivery.ts";

/** A pending item, until its end is recorded. */
export interface Entry {
  item: DeliveryItem;
  /** The change; null until it is read from history. */
  change: AlertChange | null;
  /** True if its row could not be committed yet: nothing that refers to it may be written. */
  stuck: boolean;
}

/**
 * Returns the time from which it could leave, ms: the earlier wait for its group is intended. A notifying item that is
 * sent again after a refusal could leave before.
 */
export function dueSinceMs({ owedAtMs, releaseAtMs = 0, again, quiet }: DeliveryItem): number {
  return again && !quiet ? owedAtMs : Math.max(owedAtMs, releaseAtMs);
}

/**
 * Returns the item of an earlier run with a corrected time, if the clock was fast when it was created: its group wait
 * starts now.
 */
export function takenUp(item: DeliveryItem, nowMs: number): DeliveryItem {
  const { owedAtMs, releaseAtMs } = item;
  if (releaseAtMs === undefined || owedAtMs <= nowMs) return item;
  return { ...item, releaseAtMs: nowMs + releaseAtMs - owedAtMs };
}

/** Each lane of a receiver has one message under way, so that lesser messages do not delay critical ones. */
export type Lane = "critical" | "rest";
/** In processing order. */
export const lanes: readonly Lane[] = ["critical", "rest"];
export const laneSeverities: Readonly<Record<Lane, readonly Severity[]>> = {
  critical: ["critical"],
  rest: ["warning", "info"],
};

/** Returns the level that orders an item: a quiet one notifies nobody, and does not delay notifying ones. */
export function turnOf({ severity, quiet }: Pick<DeliveryItem, "severity" | "quiet">): Severity {
  return quiet && severity === "critical" ? "warning" : severity;
}

/** Maximum reminders of one alert that one message covers. */
const maxReminders = 1_000;

/** Maximum critical messages that still leave one by one after a long wait. */
const maxLateSingly = 10;

/**
 * Time for which a critical message waits for its own slot while slots are scarce; then it leaves with the others, ms.
 */
const aloneForMs = 1_000;

/** The conditions under which items leave now. */
export interface Leaving {
  readonly nowMs: number;
  /** More messages than this are folded into one. */
  readonly stormFold: number;
  /** True if the receiver is a program that needs each alert: nothing is folded. */
  readonly isNeverFolded: boolean;
  /** True if the receiver keeps one incident for each account: no message of an incident is folded. Left out: false. */
  readonly byAccount?: boolean | undefined;
  /**
   * Maximum changes that one message of the channel names: the others leave in further messages. Left out: `maxNamed`.
   */
  readonly maxNamed?: number | undefined;
  /** True if the channel's rate limit is reached. */
  readonly scarce: boolean;
  /** True if the program is stopping: groups do not wait for more. */
  readonly draining: boolean;
}

export interface Taken {
  readonly entries: readonly Entry[];
  readonly folded: Folded | null;
}

/** The lanes that are sent together when they are late. */
const lesser: readonly Severity[] = ["warning", "info"];

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

  /** Adds an entry at its place in the order of ids. */
  add(entry: Entry): void {
    const { alertId, groupKey } = entry.item;
    const thread = this.#threads.get(alertId) ?? { alertId, entries: [], lane: turnOf(entry.item) };
    this.#threads.set(alertId, thread);
    let at = thread.entries.length;
    while (at > 0 && thread.entries[at - 1]!.item.id > entry.item.id) at--;
    thread.entries.splice(at, 0, entry);
    this.#size++;
    if (groupKey !== null) {
      const group = this.#groups.get(groupKey) ?? new Set();
      this.#groups.set(groupKey, group.add(thread));
    }
    if (groupKey !== null) this.#bringAlong(thread, at, entry.item, groupKey);
    this.#place(thread);
  }

  /** Returns entries of which no message was made. */
  putBack(entries: readonly Entry[]): void {
    for (const entry of entries) {
      entry.item = { ...entry.item, status: "owed", messageId: null };
      this.add(entry);
    }
  }

  /**
   * Moves waiting items of an alert that joins an incident into that incident, and quiet items before a notifying one
   * into its group, so that they leave with it and not in an earlier message.
   */
  #bringAlong(thread: Thread, until: number, { quiet }: DeliveryItem, groupKey: string): void {
    const joins = firstOfIncident(groupKey) !== null;
    for (const entry of thread.entries.slice(0, until)) {
      const before = entry.item.groupKey;
      if (before === null || before === groupKey || isDrill(entry)) continue;
      if (!joins && (quiet === true || entry.item.quiet !== true)) continue;
      entry.item = { ...entry.item, groupKey };
      this.#leaveGroup(thread, before);
    }
  }

  /** Removes a thread from a group of which it has no entry left. */
  #leaveGroup(thread: Thread, groupKey: string): void {
    if (thread.entries.some(({ item }) => item.groupKey === groupKey)) return;
    const group = this.#groups.get(groupKey);
    group?.delete(thread);
    if (group?.size === 0) this.#groups.delete(groupKey);
  }

  /**
   * Takes the entries of the next message of these lanes, the first lane first: an item alone, its group, or, if too
   * many wait to be read one by one, all of them, the worst first.
   * @param held returns true for entries that may not leave yet
   * @returns null if nothing may leave
   */
  take(lanes: readonly Severity[], held: (entry: Entry) => boolean, leaving: Leaving): Taken | null {
    for (const lane of lanes) {
      const ready = this.#ready([lane], held, leaving);
      if (ready.length === 0) continue;
      // A critical item takes waiting items of its group along; their waiting time does not count for the critical one.
      const own =
        lane === "critical" ? ready.flat().filter(({ item }) => item.severity === lane) : ready.flat();
      const late = own.some((entry) => isLate(entry, leaving));
      // A backlog is sent as one message, whatever its level; critical ones singly first.
      const all = late && lane !== "critical" ? this.#ready(lesser, held, leaving) : ready;
      const hurried = lane === "critical" && own.some((entry) => isHurried(entry, leaving));
      const fold = hurried ? 1 : leaving.stormFold;
      const most = !late ? fold : lane === "critical" ? maxLateSingly : 1;
      // A drill is sent alone, after real alerts.
      const real = all.filter(([head]) => !isDrill(head!));
      const ofAccount = leaving.byAccount ? real.find(([head]) => isOfIncident(head!)) : undefined;
      const folds = !leaving.isNeverFolded && ofAccount === undefined && real.length > most;
      const taken = folds
        ? asMany(worstFirst(real.flat()), leaving.maxNamed ?? maxNamed)
        : asMessage(ofAccount ?? real[0] ?? all[0]!, leaving);
      for (const entry of taken) this.#remove(entry);
      return { entries: taken, folded: !folds ? null : late ? "digest" : "storm" };
    }
    return null;
  }

  /** Returns true if something of this lane could leave. */
  holds(lane: Severity, held: (entry: Entry) => boolean, leaving: Leaving): boolean {
    return this.#lanes[lane].size > 0 && this.#ready([lane], held, leaving).length > 0;
  }

  /** Returns the time at which the next item that waits for its group may leave, ms; null if none waits. */
  nextReleaseMs(nowMs: number): number | null {
    let next = Number.POSITIVE_INFINITY;
    for (const { item } of this.entries()) {
      const at = item.releaseAtMs ?? 0;
      if (at > nowMs && at < next) next = at;
    }
    return Number.isFinite(next) ? next : null;
  }

  /**
   * Returns true if the items of an alert may not leave yet: a notifying item takes earlier quiet ones along and does
   * not wait for them.
   */
  #isHeld({ entries }: Thread, held: (entry: Entry) => boolean): boolean {
    return held(entries.find(({ item }) => item.quiet !== true) ?? entries[0]!);
  }

  /** Returns the messages of these lanes that may leave, separately, as without folding. */
  #ready(lanes: readonly Severity[], held: (entry: Entry) => boolean, leaving: Leaving): Entry[][] {
    const found: Entry[][] = [];
    const groups = new Set<string>();
    for (const lane of lanes) {
      for (const thread of this.#lanes[lane]) {
        const head = thread.entries[0]!;
        const { groupKey } = head.item;
        if (this.#isHeld(thread, held)) continue;
        if (groupKey === null || head.stuck) {
          if (thread.entries.some((entry) => isReleased(entry, leaving))) found.push(alone(thread));
        } else if (!groups.has(groupKey) && this.#isReleased(groupKey, held, leaving)) {
          groups.add(groupKey);
          found.push(this.#group(head, held));
        }
      }
    }
    return found;
  }

  /** Returns true if a group is released: one released item of it takes the others along. */
  #isReleased(groupKey: string, held: (entry: Entry) => boolean, leaving: Leaving): boolean {
    for (const thread of this.#groups.get(groupKey) ?? [])
      if (!this.#isHeld(thread, held) && thread.entries.some((entry) => isReleased(entry, leaving)))
        return true;
    return false;
  }

  /** Returns the group of this head, however many: the entries at the front of its threads, in order. */
  #group(head: Entry, held: (entry: Entry) => boolean): Entry[] {
    const taken: Entry[] = [];
    for (const thread of this.#groups.get(head.item.groupKey ?? "") ?? []) {
      const first = thread.entries[0]!;
      if (first !== head && this.#isHeld(thread, held)) continue;
      const calls = thread.entries.findIndex(({ item }) => item.quiet !== true);
      for (const [at, entry] of thread.entries.entries()) {
        if (entry.item.groupKey !== head.item.groupKey) break;
        // A notifying change does not wait behind a quiet one because its own row cannot be written yet.
        if (entry.stuck !== head.stuck && (at === 0 || at > calls)) break;
        // A rise may pass a message that failed; later changes may not.
        if (at > Math.max(0, calls) && held(entry)) break;
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
    if (groupKey !== null) this.#leaveGroup(thread, groupKey);
    this.#lanes[thread.lane].delete(thread);
    if (thread.entries.length === 0) this.#threads.delete(thread.alertId);
    else this.#place(thread);
  }

  #place(thread: Thread): void {
    let lane: Severity = "info";
    for (const { item } of thread.entries) lane = worseOf(lane, turnOf(item));
    if (lane !== thread.lane) this.#lanes[thread.lane].delete(thread);
    thread.lane = lane;
    this.#lanes[lane].add(thread);
  }
}

function isReleased({ item }: Entry, { nowMs, draining }: Leaving): boolean {
  return draining || (item.releaseAtMs ?? 0) <= nowMs;
}

function isDrill({ item }: Entry): boolean {
  return item.groupKey?.startsWith(drillGroup) ?? false;
}

function isOfIncident({ item }: Entry): boolean {
  return firstOfIncident(item.groupKey) !== null;
}

function isHurried({ item }: Entry, { nowMs, scarce }: Leaving): boolean {
  return scarce && dueSinceMs(item) < nowMs - aloneForMs;
}

function isLate({ item }: Entry, { nowMs }: Leaving): boolean {
  return dueSinceMs(item) < nowMs - lateAfterMs;
}

/**
 * Returns the part of a group that one message names, the worst first, in order: a receiver is not notified of unnamed
 * changes. Throttled items are split into as few messages as possible.
 */
function asMessage(entries: readonly Entry[], leaving: Leaving): readonly Entry[] {
  const isThrottled = entries[0]?.item.groupKey?.startsWith(throttleGroup) ?? false;
  const most = leaving.maxNamed ?? maxNamed;
  const limit = isThrottled && !leaving.isNeverFolded ? most : Math.min(most, maxReported);
  if (entries.length <= limit) return entries;
  return asMany(worstFirst(entries), limit).toSorted((a, b) => a.item.id - b.item.id);
}

/** Returns the entries of the first `limit` alerts. */
function asMany(entries: readonly Entry[], limit: number): readonly Entry[] {
  const alerts = new Set<number>();
  return entries.filter(({ item }) => {
    if (alerts.size < limit) alerts.add(item.alertId);
    return alerts.has(item.alertId);
  });
}

/** Sorts by level, notifying before quiet, then alert by alert in order of arrival. */
function worstFirst(entries: readonly Entry[]): Entry[] {
  const worst = new Map<number, number>();
  for (const { item } of entries)
    worst.set(item.alertId, Math.max(worst.get(item.alertId) ?? 0, severityRank[turnOf(item)]));
  return [...entries].sort(
    (a, b) =>
      worst.get(b.item.alertId)! - worst.get(a.item.alertId)! ||
      a.item.alertId - b.item.alertId ||
      a.item.id - b.item.id,
  );
}

/** Returns one item with earlier quiet ones; accumulated reminders form one message. */
function alone({ entries }: Thread): Entry[] {
  const at = Math.max(
    0,
    entries.findIndex(({ item }) => item.quiet !== true),
  );
  const taken = entries.slice(0, at + 1);
  const { change, stuck } = taken.at(-1)!;
  if (change?.kind !== "reminder") return taken;
  for (const entry of entries.slice(at + 1)) {
    const same = entry.change?.kind === "reminder" && entry.item.groupKey === null && entry.stuck === stuck;
    if (!same || taken.length >= maxReminders) break;
    taken.push(entry);
  }
  return taken;
}
