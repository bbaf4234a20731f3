/**
 * One rule that judges one subject: its clocks, its windows, and its alert. With thousands of wallets there would be a hundred
 * thousand instances, nearly all of them quiet; no instance is kept for a quiet rule.
 */

import { type Lifecycle, newLifecycle } from "../../alerts/lifecycle.ts";
import type { LiveAlert } from "../../alerts/live-alert.ts";
import type { Severity } from "../../domain/alerts/alert.ts";
import type { Due } from "../../domain/structures/deadlines.ts";
import type { ConditionRule, Unknown, Window } from "../../rules/index.ts";
import type { SubjectNode } from "../../state/subjects.ts";

export const noViews: readonly (readonly Window[])[] = [];
export const noInstances: readonly Instance[] = [];

export class Instance {
  readonly rule: ConditionRule;
  readonly node: SubjectNode;
  readonly windows: readonly Window[];
  /** Its index among the instances of its subject. */
  readonly index: number;
  /** True if judged since the start: a condition that holds at the first known judgement may have held before the start. */
  judged = false;
  /** The timer of the next time at which time alone can change the result; null: there is none. */
  timer: Timer | null = null;
  /** Orders two deadlines of the same time; see `Due`. Kept when timers are replaced. */
  order: number | undefined = undefined;
  /** Its state while it is not quiet; null: the initial state. */
  #course: Course | null = null;

  constructor(rule: ConditionRule, node: SubjectNode, windows: readonly Window[], index: number) {
    this.rule = rule;
    this.node = node;
    this.windows = windows;
    this.index = index;
  }

  /** Continues with the state of another instance of the same condition. */
  goOn(before: Instance): void {
    this.judged = before.judged;
    this.order = before.order;
    if (before.#course === null) return;
    const { alert, stored, ...course } = before.#course;
    Object.assign(this.#own(), course);
  }

  get lifecycle(): Lifecycle {
    return this.#course?.lifecycle ?? begunOf(this.rule);
  }
  set lifecycle(lifecycle: Lifecycle) {
    this.#own().lifecycle = lifecycle;
  }

  get alert(): LiveAlert | null {
    return this.#course?.alert ?? null;
  }
  set alert(alert: LiveAlert | null) {
    if (alert !== null || this.#course !== null) this.#own().alert = alert;
  }

  get alreadySo(): boolean {
    return this.#course?.alreadySo ?? false;
  }
  set alreadySo(alreadySo: boolean) {
    if (alreadySo || this.#course !== null) this.#own().alreadySo = alreadySo;
  }

  /** The time of its last known judgement, ms; NaN: none since the start. Not kept while it is quiet. */
  get knownAtMs(): number {
    return this.#course?.knownAtMs ?? Number.NaN;
  }
  set knownAtMs(atMs: number) {
    this.#own().knownAtMs = atMs;
  }

  /** The time at which its alert last held although a flow had just been explained, ms; -∞: never. */
  get outlivedMs(): number {
    return this.#course?.outlivedMs ?? Number.NEGATIVE_INFINITY;
  }
  set outlivedMs(atMs: number) {
    this.#own().outlivedMs = atMs;
  }

  /** The time at which its condition was last known to hold, ms; null: not since the start. Not kept while it is quiet. */
  get heldAtMs(): number | null {
    return this.#course?.heldAtMs ?? null;
  }
  set heldAtMs(atMs: number | null) {
    this.#own().heldAtMs = atMs;
  }

  /**
   * The least slot of a liquidation that may be later than the state of its account in which the condition was last known to
   * hold; 0: not known. Not kept while it is quiet.
   */
  get heldSlot(): number {
    return this.#course?.heldSlot ?? 0;
  }
  set heldSlot(slot: number) {
    this.#own().heldSlot = slot;
  }

  /**
   * If the condition last held while its account had no position: the time at which one of its positions last shrank, ms; null: it
   * had a position. Not kept while it is quiet.
   */
  get heldEmptyMs(): number | null {
    return this.#course?.heldEmptyMs ?? null;
  }
  set heldEmptyMs(atMs: number | null) {
    this.#own().heldEmptyMs = atMs;
  }

  /** True if levels of the last known judgement held because of an unexplained change of collateral. Not kept while it is quiet. */
  get doubted(): boolean {
    return this.#course?.doubted ?? false;
  }
  set doubted(doubted: boolean) {
    if (doubted || this.#course !== null) this.#own().doubted = doubted;
  }

  /** The level that held at both ends at the last known judgement with a profit range. */
  get certain(): Severity | null {
    return this.#course?.certain ?? null;
  }
  set certain(certain: Severity | null) {
    if (certain !== null || this.#course !== null) this.#own().certain = certain;
  }

  /** The reason why the last judgement was unknown; null: it was known. */
  get unknown(): Unknown | null {
    return this.#course?.unknown ?? null;
  }
  set unknown(unknown: Unknown | null) {
    if (unknown !== null || this.#course !== null) this.#own().unknown = unknown;
  }

  /** Time since which it cannot be judged, ms; without meaning while it can. */
  get unknownSinceMs(): number {
    return this.#course?.unknownSinceMs ?? 0;
  }
  set unknownSinceMs(sinceMs: number) {
    this.#own().unknownSinceMs = sinceMs;
  }

  /** True if it has a row in history. */
  get stored(): boolean {
    return this.#course?.stored ?? false;
  }
  set stored(stored: boolean) {
    if (stored || this.#course !== null) this.#own().stored = stored;
  }

  /** The time at which its last inputs become stale, ms; +∞: no effect on the result. Not kept while it is quiet. */
  get staleMs(): number {
    return this.#course?.staleMs ?? Number.POSITIVE_INFINITY;
  }
  set staleMs(staleMs: number) {
    this.#own().staleMs = staleMs;
  }

  /**
   * For a known instance of which nothing holds and no clock runs: true if any earlier state still matters.
   */
  get isMarked(): boolean {
    const course = this.#course;
    if (course === null) return false;
    const { lifecycle, alert, unknown, stored, alreadySo } = course;
    return lifecycle.sinceMs !== null || alert !== null || unknown !== null || stored || alreadySo;
  }

  #own(): Course {
    this.#course ??= new Course(begunOf(this.rule));
    return this.#course;
  }
}

class Course {
  lifecycle: Lifecycle;
  alert: LiveAlert | null = null;
  alreadySo = false;
  // Always doubles: they are written at each judgement, and a nullable field would allocate a new number each time.
  knownAtMs = Number.NaN;
  staleMs = Number.POSITIVE_INFINITY;
  outlivedMs = Number.NEGATIVE_INFINITY;
  heldAtMs: number | null = null;
  heldSlot = 0;
  heldEmptyMs: number | null = null;
  doubted = false;
  certain: Severity | null = null;
  unknown: Unknown | null = null;
  unknownSinceMs = 0;
  stored = false;

  constructor(lifecycle: Lifecycle) {
    this.lifecycle = lifecycle;
  }
}

/** A time at which an instance is to be judged without new data. */
export class Timer implements Due {
  dueMs = Number.POSITIVE_INFINITY;
  queuedMs = Number.POSITIVE_INFINITY;
  place = -1;
  order: number | undefined;
  readonly #instance: Instance;
  readonly #judge: (instance: Instance) => void;

  constructor(instance: Instance, judge: (instance: Instance) => void) {
    this.#instance = instance;
    this.#judge = judge;
    this.order = instance.order;
  }

  onDue(): void {
    this.#judge(this.#instance);
    this.onLeft();
  }

  onLeft(): void {
    if (this.place === -1 && this.#instance.timer === this) this.#instance.timer = null;
  }
}

const begun = new WeakMap<ConditionRule, Lifecycle>();

/**
 * The initial clocks of a rule. Shared by all of its subjects, since time counts only between two judgements at which a level
 * holds.
 */
function begunOf(rule: ConditionRule): Lifecycle {
  const known = begun.get(rule);
  if (known !== undefined) return known;
  const made = newLifecycle(rule, 0);
  begun.set(rule, made);
  return made;
}

/** The identity of a condition: another rule of its name, another mode, or another position of its subject has another one. */
export function judgedAs({ rule, node }: Pick<Instance, "rule" | "node">): string {
  return `${rule.mode} ${rule.fingerprint} ${node.incarnation}`;
}
