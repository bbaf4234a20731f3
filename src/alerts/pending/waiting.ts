/**
 * The pending items of one receiver, and which of them leave next in one message: in lanes by severity, and in order for each
 * alert. The outbox and replays ask it alike. Pure: time is handed in.
 *
 * The items of one alert are a thread: only its head may leave, and the whole thread stands in the lane of its worst item,
 * so that a critical rise pulls the firing message before it along instead of passing it.
 */
import { type AlertChange, type Severity, severityRank, worseOf } from "../../domain/alert.ts";
import {
  drillGroup,
  type Folded,
  firstOfIncident,
  lateAfterMs,
  maxNamed,
  maxReported,
  type OwedItem,
  throttleGroup,
} from "../../domain/delivery.ts";

/** An owed item on its way, until its end is recorded. */
export interface Entry {
  item: OwedItem;
  /** The change; null until it is read from history. */
  change: AlertChange | null;
  /** Its row could not be committed yet: nothing that concerns it may be written. */
  stuck: boolean;
}

/**
 * From when on it could leave, ms: what its group waits before that is waited by wish. What calls and is told again after a refusal
 * could leave before.
 */
export function dueSinceMs({ owedAtMs, releaseAtMs = 0, again, quiet }: OwedItem): number {
  return again && !quiet ? owedAtMs : Math.max(owedAtMs, releaseAtMs);
}

/** Returns the item of an earlier run where the clock was fast when it was owed: it waits for its group as long as was wished, from now on. */
export function takenUp(item: OwedItem, nowMs: number): OwedItem {
  const { owedAtMs, releaseAtMs } = item;
  if (releaseAtMs === undefined || owedAtMs <= nowMs) return item;
  return { ...item, releaseAtMs: nowMs + releaseAtMs - owedAtMs };
}

/** Each lane of a receiver has one message under way, so that nothing lesser holds up what is critical. */
export type Lane = "critical" | "rest";
/** In the order in which they are looked at. */
export const lanes: readonly Lane[] = ["critical", "rest"];
export const laneSeverities: Readonly<Record<Lane, readonly Severity[]>> = {
  critical: ["critical"],
  rest: ["warning", "info"],
};

/** The level by which something waits for its turn: what is quiet calls nobody, and holds up nothing that does. */
export function turnOf({ severity, quiet }: Pick<OwedItem, "severity" | "quiet">): Severity {
  return quiet && severity === "critical" ? "warning" : severity;
}

/** Most reminders of one alert that one message stands for. */
const maxReminders = 1_000;

/** After a long wait so many critical messages still leave one by one. */
const maxLateSingly = 10;

/** The time for which a critical message waits for a slot of its own where slots are scarce; then it leaves with the others, ms. */
const aloneForMs = 1_000;

/** Under which circumstances something leaves now. */
export interface Leaving {
  readonly nowMs: number;
  /** More messages than this are folded into one. */
  readonly stormFold: number;
  /** The receiver is a program that has to be told each alert: nothing is folded. */
  readonly tellsEach: boolean;
  /** The receiver keeps one incident for each account: no message of an incident is folded. Left out: they are like others. */
  readonly byAccount?: boolean | undefined;
  /** Max changes that one message of the channel names: the others leave in further messages. Left out: `maxNamed`. */
  readonly maxNamed?: number | undefined;
  /** The channel accepts only so many messages in a time, and that is reached. */
  readonly scarce: boolean;
  /** The program ends: groups do not wait for more. */
  readonly draining: boolean;
}

export interface Taken {
  readonly entries: readonly Entry[];
  readonly folded: Folded | null;
}

/** The lanes that are told together when they are late. */
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

  /** Takes an entry in, at its place in the order of ids. */
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

  /** Takes entries back of which no message is made. */
  putBack(entries: readonly Entry[]): void {
    for (const entry of entries) {
      entry.item = { ...entry.item, status: "owed", messageId: null };
      this.add(entry);
    }
  }

  /**
   * Puts what waits of an alert that joins an incident into that, and what is quiet before something that calls into the group of
   * that, so that it leaves with it and not in a message of its own before.
   */
  #bringAlong(thread: Thread, until: number, { quiet }: OwedItem, groupKey: string): void {
    const joins = firstOfIncident(groupKey) !== null;
    for (const entry of thread.entries.slice(0, until)) {
      const before = entry.item.groupKey;
      if (before === null || before === groupKey || isDrill(entry)) continue;
      if (!joins && (quiet === true || entry.item.quiet !== true)) continue;
      entry.item = { ...entry.item, groupKey };
      this.#leaveGroup(thread, before);
    }
  }

  /** Takes a thread out of a group of which it has no entry left. */
  #leaveGroup(thread: Thread, groupKey: string): void {
    if (thread.entries.some(({ item }) => item.groupKey === groupKey)) return;
    const group = this.#groups.get(groupKey);
    group?.delete(thread);
    if (group?.size === 0) this.#groups.delete(groupKey);
  }

  /**
   * Takes out what makes up the next message of these lanes, the first lane first: an item alone, its group, or, where more
   * wait than a person reads one by one, all of them, the worst first.
   * @param held says which may not leave yet
   * @returns null when nothing may leave
   */
  take(lanes: readonly Severity[], held: (entry: Entry) => boolean, leaving: Leaving): Taken | null {
    for (const lane of lanes) {
      const ready = this.#ready([lane], held, leaving);
      if (ready.length === 0) continue;
      // What is critical brings along what waits of its group; how long that waited says nothing of the critical.
      const own =
        lane === "critical" ? ready.flat().filter(({ item }) => item.severity === lane) : ready.flat();
      const late = own.some((entry) => isLate(entry, leaving));
      // What piled up while nothing could leave is told as one, whatever its level; critical ones singly first.
      const all = late && lane !== "critical" ? this.#ready(lesser, held, leaving) : ready;
      const hurried = lane === "critical" && own.some((entry) => isHurried(entry, leaving));
      const fold = hurried ? 1 : leaving.stormFold;
      const most = !late ? fold : lane === "critical" ? maxLateSingly : 1;
      // A drill is told alone, and after what is real.
      const real = all.filter(([head]) => !isDrill(head!));
      const ofAccount = leaving.byAccount ? real.find(([head]) => isOfIncident(head!)) : undefined;
      const folds = !leaving.tellsEach && ofAccount === undefined && real.length > most;
      const taken = folds
        ? asMany(worstFirst(real.flat()), leaving.maxNamed ?? maxNamed)
        : asMessage(ofAccount ?? real[0] ?? all[0]!, leaving);
      for (const entry of taken) this.#remove(entry);
      return { entries: taken, folded: !folds ? null : late ? "digest" : "storm" };
    }
    return null;
  }

  /** True if something of this lane could leave. */
  holds(lane: Severity, held: (entry: Entry) => boolean, leaving: Leaving): boolean {
    return this.#lanes[lane].size > 0 && this.#ready([lane], held, leaving).length > 0;
  }

  /** The time at which the next of the items waiting for their group may leave, ms; null when nothing waits for that. */
  nextReleaseMs(nowMs: number): number | null {
    let next = Number.POSITIVE_INFINITY;
    for (const { item } of this.entries()) {
      const at = item.releaseAtMs ?? 0;
      if (at > nowMs && at < next) next = at;
    }
    return Number.isFinite(next) ? next : null;
  }

  /** True if what waits of an alert may not leave yet: what calls takes what is quiet before it along, and waits for nothing quiet. */
  #isHeld({ entries }: Thread, held: (entry: Entry) => boolean): boolean {
    return held(entries.find(({ item }) => item.quiet !== true) ?? entries[0]!);
  }

  /** The messages that may leave of these lanes, message by message as it would without folding. */
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

  /** One of a group whose time has come takes the others along. */
  #isReleased(groupKey: string, held: (entry: Entry) => boolean, leaving: Leaving): boolean {
    for (const thread of this.#groups.get(groupKey) ?? [])
      if (!this.#isHeld(thread, held) && thread.entries.some((entry) => isReleased(entry, leaving)))
        return true;
    return false;
  }

  /** The group of this head, however many they are: what stands at the front of its threads, in order. */
  #group(head: Entry, held: (entry: Entry) => boolean): Entry[] {
    const taken: Entry[] = [];
    for (const thread of this.#groups.get(head.item.groupKey ?? "") ?? []) {
      const first = thread.entries[0]!;
      if (first !== head && this.#isHeld(thread, held)) continue;
      const calls = thread.entries.findIndex(({ item }) => item.quiet !== true);
      for (const [at, entry] of thread.entries.entries()) {
        if (entry.item.groupKey !== head.item.groupKey) break;
        // A calling change does not wait behind a quiet one because its own row cannot be written yet.
        if (entry.stuck !== head.stuck && (at === 0 || at > calls)) break;
        // A rise may pass a message that failed, and what comes after it may not.
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
 * The part of a group that one message names, the worst first, in order: nobody was notified of what it does not name. What a
 * throttle held back stands in as few messages as name all of it.
 */
function asMessage(entries: readonly Entry[], leaving: Leaving): readonly Entry[] {
  const isThrottled = entries[0]?.item.groupKey?.startsWith(throttleGroup) ?? false;
  const most = leaving.maxNamed ?? maxNamed;
  const limit = isThrottled && !leaving.tellsEach ? most : Math.min(most, maxReported);
  if (entries.length <= limit) return entries;
  return asMany(worstFirst(entries), limit).toSorted((a, b) => a.item.id - b.item.id);
}

/** The entries of the first so many alerts. */
function asMany(entries: readonly Entry[], limit: number): readonly Entry[] {
  const alerts = new Set<number>();
  return entries.filter(({ item }) => {
    if (alerts.size < limit) alerts.add(item.alertId);
    return alerts.has(item.alertId);
  });
}

/** By level, what calls before what is quiet, then alert by alert in the order in which they came. */
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

/** An item alone, with what is quiet before it; reminders that piled up while nothing could leave are one message together. */
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
