/** The lives of the daemon as they were committed: what each was told, in that order, and what it decided. */
import type { AlertChange } from "../../../src/domain/alerts/alert.ts";
import type { DeliveryItem } from "../../../src/domain/alerts/delivery.ts";
import type { Event } from "../../../src/domain/event.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import type { WalletStatus } from "../../../src/domain/status.ts";
import type { Changes } from "../../../src/domain/stored/changes.ts";
import type { EventLog, Logged } from "../log.ts";

export interface Told {
  readonly observation: Observation;
  /** True wall time of its commit, ms; of what the disk refused at first, that by which it was judged. */
  readonly committedMs: number;
}

/** Figures that the daemon showed, after so many of what it was told. */
export interface Shown {
  readonly after: number;
  /** The daemon's clock, ms. */
  readonly nowMs: number;
  readonly wallets: readonly WalletStatus[];
}

/** A time in which the daemon was told things that are not recorded, since the disk was full. */
export interface Gap {
  readonly observation: null;
  /** The daemon's clock. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Events that it was told of then. */
  readonly events: readonly Event[];
}

/** An item as it was owed first. True wall times, ms. */
export interface Owed {
  readonly item: DeliveryItem;
  /** Undefined: it was decided before the item was owed. */
  readonly change: AlertChange | undefined;
  readonly life: number;
  /** Give or take a second where the disk refused it at first. */
  readonly decidedMs: number;
  /** Null: it never was, and nobody knows of it in the next life. */
  readonly committedMs: number | null;
}

/** True for what was recorded. */
export const isTold = (one: Told | Gap): one is Told => one.observation !== null;

/** A change of an alert, and the true wall time of its commit, ms; of what the disk refused at first, that of its decision. */
export type Decided = AlertChange & {
  /** By the clock as the daemon had it last. */
  readonly committedMs: number;
  /** At the latest: its clock goes astray. */
  readonly latestMs: number;
};

export interface Life {
  readonly number: number;
  readonly told: readonly (Told | Gap)[];
  readonly shown: readonly Shown[];
  readonly changes: readonly Decided[];
  readonly owed: readonly Owed[];
}

/** By which the daemon's clock may go astray, ms. */
const clockMs = 1_500;

class Written implements Life {
  readonly number: number;
  readonly told: (Told | Gap)[] = [];
  readonly shown: Shown[] = [];
  readonly changes: Decided[] = [];
  readonly #owed = new Map<number, Owed>();
  /** Commits that came late. */
  #events: Event[] = [];
  #isLate = false;
  /** The daemon's clock less the true time. */
  #aheadMs = 0;

  constructor(number: number) {
    this.number = number;
  }

  get owed(): readonly Owed[] {
    return [...this.#owed.values()];
  }

  show({ nowMs, wallets }: Omit<Shown, "after">): void {
    // While commits are refused it knows more than is recorded.
    if (!this.#isLate) this.shown.push({ after: this.told.length, nowMs, wallets });
  }

  refused(batch: readonly Changes[], atMs: number): void {
    this.#isLate = true;
    for (const changes of batch) this.#owe(changes, atMs, null);
  }

  committed(changes: Changes, atMs: number): void {
    const { observations, alertChanges, events, milestones } = changes;
    const timeOf = (ms: number): number => this.#timeOf(ms, atMs);
    // A clock that is ahead is put right in time.
    const astrayMs = clockMs + Math.max(0, this.#aheadMs);
    const latestOf = (ms: number): number => Math.min(atMs, timeOf(ms) + astrayMs);
    this.#owe(changes, atMs, atMs);
    for (const observation of observations) {
      this.told.push({ observation, committedMs: latestOf(observation.atMs) });
    }
    for (const change of alertChanges)
      this.changes.push({ ...change, committedMs: timeOf(change.atMs), latestMs: latestOf(change.atMs) });
    if (this.#isLate) this.#events.push(...events);
    const gap = gapIn(milestones);
    if (gap !== null) this.told.push({ observation: null, ...gap, events: this.#events });
    const last = observations.at(-1);
    if (last !== undefined && !this.#isLate) this.#aheadMs = last.atMs - atMs;
    // Commits that were held are written together, those with observations last.
    if (last === undefined && gap === null) return;
    this.#isLate = false;
    this.#events = [];
  }

  #owe({ deliveryItems: owed, alertChanges }: Changes, atMs: number, committedMs: number | null): void {
    for (const item of owed) {
      const known = this.#owed.get(item.id);
      const decidedMs = known?.decidedMs ?? this.#timeOf(item.owedAtMs, atMs);
      // Later rows tell what became of it, and an earlier life may have owed it.
      if (known ? known.committedMs !== null : item.status !== "owed") continue;
      const change = known?.change ?? alertChanges.find(({ id }) => id === item.changeId);
      const first = { item: known?.item ?? item, change, life: this.number, decidedMs };
      this.#owed.set(item.id, { ...first, committedMs });
    }
  }

  /** @param ms by the daemon's clock @param atMs the time of its commit */
  #timeOf(ms: number, atMs: number): number {
    return this.#isLate ? Math.min(atMs, ms - this.#aheadMs) : atMs;
  }
}

/** The time whose observations were let go of; null: none. */
export function gapIn(milestones: Changes["milestones"]): Pick<Gap, "fromMs" | "toMs"> | null {
  const found = milestones.find(({ kind }) => kind === "recordingGap");
  return found ? (JSON.parse(found.value) as Pick<Gap, "fromMs" | "toMs">) : null;
}

type Committed = Extract<Logged, { kind: "committed" }>;

/** Everything that was committed, over all lives. */
export function committedOf(log: EventLog): readonly Committed[] {
  return writtenOf(log).filter((entry) => entry.kind === "committed");
}

function writtenOf(log: EventLog): readonly Extract<Logged, { kind: "committed" | "refused" | "shown" }>[] {
  const killed = new Set<number>();
  return log.entries.flatMap((entry) => {
    if (entry.kind === "life" && entry.text === "is killed") killed.add(entry.life);
    if (entry.kind !== "committed" && entry.kind !== "refused" && entry.kind !== "shown") return [];
    // The next life knows of it only if it was written before the files were copied.
    return killed.has(entry.life) ? [] : [entry];
  });
}

export function livesOf(log: EventLog): readonly Life[] {
  const lives = new Map<number, Written>();
  for (const entry of writtenOf(log)) {
    const life = lives.get(entry.life) ?? new Written(entry.life);
    lives.set(entry.life, life);
    if (entry.kind === "shown") life.show(entry);
    else if (entry.kind === "refused") life.refused(entry.changes, entry.atMs);
    else life.committed(entry.changes, entry.atMs);
  }
  return [...lives.values()];
}
