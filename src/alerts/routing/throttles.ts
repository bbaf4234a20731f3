/**
 * Sends at most one message a subject in the throttle's time; held events leave as one message at its end. Stored in
 * history for restarts: one row a match, so the cost does not grow with the number held.
 */
import { z } from "zod";
import type { AlertChange } from "../../domain/alerts/alert.ts";
import { throttleGroup } from "../../domain/alerts/delivery.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { KeptKind, type KeptValues, keptNumber } from "../../domain/stored/kept.ts";
import type { Deadlines, Due } from "../../domain/structures/deadlines.ts";
import type { EventRule } from "../../rules/index.ts";
import type { AlertBook } from "../alert-book.ts";

interface Throttle extends Due {
  readonly key: string;
  readonly throttleMs: number;
  untilMs: number;
  held: AlertChange[];
}

interface KeptThrottle {
  readonly throttleMs: number;
  readonly untilMs: number;
}

/** By the throttle's key. */
export const keptThrottle: KeptKind<KeptThrottle> = new KeptKind(
  "throttle/{}",
  z.object({ throttleMs: keptNumber, untilMs: keptNumber }),
);
/** The held events by the number of their change, with the key of the throttle that holds each. */
export const keptThrottled: KeptKind<string, number> = new KeptKind("throttled/{}", z.string());

export class Throttles {
  readonly #throttles = new Map<string, Throttle>();
  readonly #alerts: AlertBook;
  readonly #deadlines: Deadlines;
  readonly #builder: () => ChangesBuilder;
  /** The throttles from before a reload, until they are taken over. */
  #former: ReadonlyMap<string, Throttle>;

  constructor(options: {
    alerts: AlertBook;
    deadlines: Deadlines;
    builder: () => ChangesBuilder;
    before?: Throttles | undefined;
  }) {
    this.#former = options.before ? options.before.#throttles : new Map();
    this.#alerts = options.alerts;
    this.#deadlines = options.deadlines;
    this.#builder = options.builder;
  }

  /** Returns true if a match now is held back. */
  holds(rule: EventRule, subject: string, nowMs: number): boolean {
    const throttle = this.#throttles.get(keyOf(rule, subject));
    return throttle !== undefined && nowMs < throttle.untilMs;
  }

  /** Records a match: `held` is its change if it was held back, null if it left. */
  note(rule: EventRule, subject: string, held: AlertChange | null, builder: ChangesBuilder): void {
    const key = keyOf(rule, subject);
    const throttle = this.#throttles.get(key) ?? this.#make(key, rule.throttleMs ?? 0);
    if (held) {
      throttle.held.push(held);
      keptThrottled.put(held.id, key, builder);
    } else this.#rest(throttle, builder.atMs, builder);
  }

  /** @param changes the held changes by id, read from history. */
  restore(keep: KeptValues, changes: ReadonlyMap<number, AlertChange>): void {
    for (const [key, { throttleMs, untilMs }] of keptThrottle.all(keep)) {
      const throttle = this.#make(key, throttleMs);
      throttle.untilMs = untilMs;
      throttle.order = this.#former.get(throttle.key)?.order;
      this.#deadlines.set(throttle, untilMs);
    }
    this.#former = new Map();
    for (const id of Throttles.heldIds(keep)) {
      const change = changes.get(id);
      const key = keptThrottled.get(keep, id);
      if (!change || key === null) continue;
      // Its throttle could not be read: its held events leave at once.
      const throttle = this.#throttles.get(key) ?? this.#make(key, 0);
      throttle.held.push(change);
      if (throttle.dueMs === Number.POSITIVE_INFINITY) this.#deadlines.set(throttle, 0);
    }
  }

  /** Returns the numbers of the held changes, in order of arrival. */
  static heldIds(keep: KeptValues): readonly number[] {
    return keptThrottled
      .keys(keep)
      .map(Number)
      .sort((a, b) => a - b);
  }

  #make(key: string, throttleMs: number): Throttle {
    const throttle: Throttle = {
      key,
      throttleMs,
      untilMs: 0,
      held: [],
      dueMs: Number.POSITIVE_INFINITY,
      queuedMs: Number.POSITIVE_INFINITY,
      place: -1,
      onDue: (nowMs) => this.#release(throttle, nowMs),
    };
    this.#throttles.set(key, throttle);
    return throttle;
  }

  #release(throttle: Throttle, nowMs: number): void {
    const builder = this.#builder();
    if (throttle.held.length === 0) {
      this.#throttles.delete(throttle.key);
      keptThrottle.drop(throttle.key, builder);
      return;
    }
    const groupKey = `${throttleGroup}${throttle.key}/${nowMs}`;
    for (const change of throttle.held) {
      this.#alerts.enqueue(builder, change, this.#alerts.receivers(change.alert), groupKey);
      keptThrottled.drop(change.id, builder);
    }
    throttle.held = [];
    this.#rest(throttle, nowMs, builder);
  }

  /** Starts the throttle's time after a message left. */
  #rest(throttle: Throttle, nowMs: number, builder: ChangesBuilder): void {
    throttle.untilMs = nowMs + throttle.throttleMs;
    this.#deadlines.set(throttle, throttle.untilMs);
    const { key, throttleMs, untilMs } = throttle;
    keptThrottle.put(key, { throttleMs, untilMs }, builder);
  }
}

function keyOf(rule: EventRule, subject: string): string {
  return `${rule.name}/${subject}`;
}
