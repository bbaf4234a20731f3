/**
 * A timing wheel: many entries, each due at a time of the monotonic clock, with one timer.
 *
 * Times are rounded up to 10 ms and kept in 8,192 slots, a turn of 82 s; later ones stay in their slot for several
 * turns. Setting, moving and cancelling have the same cost for any number of entries. If many are due at once (after
 * a stall), a limited number is processed in one turn of the event loop.
 */
import type { Clock } from "../../domain/clock.ts";

const SLOT_MS = 10;
const SLOTS = 8_192;
const maxPerTurn = 200;

/** An entry, due at one time or not at all. */
export interface WheelEntry {
  /** Monotonic, ms; Infinity while not set. Only the wheel writes it. */
  dueMs: number;
  /** Its bucket; −1: nowhere. Only the wheel writes it. */
  slot: number;
}

export class Wheel<E extends WheelEntry> {
  readonly #clock: Clock;
  readonly #onDue: (entry: E) => void;
  readonly #slots: Set<E>[] = Array.from({ length: SLOTS }, () => new Set<E>());
  /** Due entries, postponed to the next turn of the event loop. */
  #ready: E[] = [];
  /** The next slot to check, counted from the clock's start. */
  #tick: number;
  #size = 0;
  #timer: (() => void) | null = null;
  #timerTick = Number.POSITIVE_INFINITY;
  /** True within a turn, in which no timer is set: its end computes the next time once. */
  #turning = false;

  /** @param onDue called with one entry at a time; may set it again */
  constructor(clock: Clock, onDue: (entry: E) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
    this.#tick = Math.floor(clock.elapsedMs() / SLOT_MS);
  }

  /** The number of waiting entries. */
  get size(): number {
    return this.#size;
  }

  /** Makes an entry due at this time only. */
  set(entry: E, dueMs: number): void {
    this.cancel(entry);
    const tick = Math.max(Math.ceil(dueMs / SLOT_MS), this.#tick);
    entry.dueMs = dueMs;
    entry.slot = tick % SLOTS;
    this.#slots[entry.slot]!.add(entry);
    this.#size++;
    this.#wake(Math.min(tick, this.#tick + SLOTS));
  }

  cancel(entry: E): void {
    if (entry.slot < 0) return;
    if (entry.slot < SLOTS) this.#slots[entry.slot]!.delete(entry);
    entry.slot = -1;
    entry.dueMs = Number.POSITIVE_INFINITY;
    this.#size--;
  }

  /** Removes all entries. */
  stop(): void {
    this.#timer?.();
    this.#timer = null;
    this.#timerTick = Number.POSITIVE_INFINITY;
    for (const slot of this.#slots) for (const entry of slot) this.cancel(entry);
    for (const entry of this.#ready) this.cancel(entry);
    this.#ready = [];
  }

  #wake(tick: number): void {
    if (this.#turning || (this.#timer && this.#timerTick <= tick)) return;
    this.#timer?.();
    this.#timerTick = tick;
    const inMs = Math.max(0, tick * SLOT_MS - this.#clock.elapsedMs());
    this.#timer = this.#clock.after(inMs, () => this.#turn());
  }

  #turn(): void {
    this.#timer = null;
    this.#timerTick = Number.POSITIVE_INFINITY;
    this.#gather();
    const now = this.#ready.splice(0, maxPerTurn);
    this.#turning = true;
    try {
      for (const entry of now) {
        if (entry.slot !== SLOTS) continue;
        entry.slot = -1;
        this.#size--;
        this.#onDue(entry);
      }
    } finally {
      this.#turning = false;
    }
    if (this.#ready.length > 0) this.#wake(this.#tick);
    else this.#wakeForNext();
  }

  /** Takes the due entries from the slots, oldest first. */
  #gather(): void {
    const nowTick = Math.floor(this.#clock.elapsedMs() / SLOT_MS);
    const first = this.#tick;
    if (nowTick < first) return;
    const due: E[] = [];
    for (let tick = first; tick <= nowTick && tick < first + SLOTS; tick++) {
      for (const entry of this.#slots[tick % SLOTS]!) {
        if (Math.ceil(entry.dueMs / SLOT_MS) > nowTick) continue;
        this.#slots[tick % SLOTS]!.delete(entry);
        entry.slot = SLOTS;
        due.push(entry);
      }
    }
    this.#tick = nowTick + 1;
    due.sort((a, b) => a.dueMs - b.dueMs);
    this.#ready.push(...due);
  }

  #wakeForNext(): void {
    if (this.#size === 0) return;
    for (let tick = this.#tick; tick < this.#tick + SLOTS; tick++) {
      if (this.#slots[tick % SLOTS]!.size === 0) continue;
      this.#wake(tick);
      return;
    }
  }
}

/**
 * Returns the next turn of an interval after `lastMs`: a whole number of intervals later, so that it does not drift, and
 * later than `nowMs`, so that missed turns are skipped.
 */
export function nextTurn(lastMs: number, everyMs: number, nowMs: number): number {
  const missed = Math.max(0, Math.floor((nowMs - lastMs) / everyMs));
  const next = lastMs + (missed + 1) * everyMs;
  return next > nowMs ? next : next + everyMs;
}
