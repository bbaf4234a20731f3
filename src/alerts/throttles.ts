/**
 * At most one message a subject in the throttle's time; what was held back leaves as one message when it ends. Kept in
 * history, so that nothing that was held is forgotten by a restart: a row a match, which costs the same however many are held.
 */
import type { AlertChange } from "../domain/alert.ts";
import type { Deadlines, Due } from "../domain/deadlines.ts";
import { throttleGroup } from "../domain/delivery.ts";
import type { Draft } from "../domain/draft.ts";
import type { EventRule } from "../rules/index.ts";
import type { AlertBook } from "./alert-book.ts";

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

const throttlePrefix = "throttle/";
/** The held events, by the number of its change, with the throttle that holds it. */
const heldPrefix = "throttled/";

export class Throttles {
  readonly #throttles = new Map<string, Throttle>();
  readonly #alerts: AlertBook;
  readonly #deadlines: Deadlines;
  readonly #draft: () => Draft;
  /** Those before a reload, until they are taken over. */
  #former: ReadonlyMap<string, Throttle>;

  constructor(options: {
    alerts: AlertBook;
    deadlines: Deadlines;
    draft: () => Draft;
    before?: Throttles | undefined;
  }) {
    this.#former = options.before ? options.before.#throttles : new Map();
    this.#alerts = options.alerts;
    this.#deadlines = options.deadlines;
    this.#draft = options.draft;
  }

  /** True if a match now is held back. */
  holds(rule: EventRule, subject: string, nowMs: number): boolean {
    const throttle = this.#throttles.get(keyOf(rule, subject));
    return throttle !== undefined && nowMs < throttle.untilMs;
  }

  /** Records a match: `held` is its change when it was held back, null when it left. */
  note(rule: EventRule, subject: string, held: AlertChange | null, draft: Draft): void {
    const key = keyOf(rule, subject);
    const throttle = this.#throttles.get(key) ?? this.#make(key, rule.throttleMs ?? 0);
    if (held) {
      throttle.held.push(held);
      draft.changes.keep.push({ name: heldPrefix + held.id, value: JSON.stringify(key) });
    } else this.#rest(throttle, draft.atMs, draft);
  }

  /** @param changes the held changes by id, read from history. */
  restore(keep: ReadonlyMap<string, string>, changes: ReadonlyMap<number, AlertChange>): void {
    for (const [name, value] of keep) {
      if (!name.startsWith(throttlePrefix)) continue;
      const { throttleMs, untilMs } = JSON.parse(value) as KeptThrottle;
      const throttle = this.#make(name.slice(throttlePrefix.length), throttleMs);
      throttle.untilMs = untilMs;
      throttle.order = this.#former.get(throttle.key)?.order;
      this.#deadlines.set(throttle, untilMs);
    }
    this.#former = new Map();
    for (const id of Throttles.heldIds(keep)) {
      const change = changes.get(id);
      if (change) this.#throttles.get(JSON.parse(keep.get(heldPrefix + id)!))?.held.push(change);
    }
  }

  /** The changes that throttles hold, in the order in which they came. */
  static heldIds(keep: ReadonlyMap<string, string>): readonly number[] {
    return [...keep.keys()]
      .flatMap((name) => (name.startsWith(heldPrefix) ? [Number(name.slice(heldPrefix.length))] : []))
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
    const draft = this.#draft();
    if (throttle.held.length === 0) {
      this.#throttles.delete(throttle.key);
      draft.changes.keep.push({ name: throttlePrefix + throttle.key, value: null });
      return;
    }
    const groupKey = `${throttleGroup}${throttle.key}/${nowMs}`;
    for (const change of throttle.held) {
      this.#alerts.owe(draft, change, this.#alerts.receivers(change.alert), groupKey);
      draft.changes.keep.push({ name: heldPrefix + change.id, value: null });
    }
    throttle.held = [];
    this.#rest(throttle, nowMs, draft);
  }

  /** Something left: nothing more does until the throttle's time is over. */
  #rest(throttle: Throttle, nowMs: number, draft: Draft): void {
    throttle.untilMs = nowMs + throttle.throttleMs;
    this.#deadlines.set(throttle, throttle.untilMs);
    const kept: KeptThrottle = { throttleMs: throttle.throttleMs, untilMs: throttle.untilMs };
    draft.changes.keep.push({ name: throttlePrefix + throttle.key, value: JSON.stringify(kept) });
  }
}

function keyOf(rule: EventRule, subject: string): string {
  return `${rule.name}/${subject}`;
}
