/** One rule judging one subject: its clocks, its windows, and the alert that it raised. */
import { type Lifecycle, newLifecycle } from "../alerts/lifecycle.ts";
import type { ConditionRule, Env, Unknown, Window } from "../rules/index.ts";
import type { LiveAlert } from "./alert-book.ts";
import type { Due } from "./deadlines.ts";
import type { SubjectNode } from "./subjects.ts";

export class Instance implements Due {
  readonly rule: ConditionRule;
  readonly node: SubjectNode;
  readonly windows: readonly Window[];
  /** Where it stands among those of its subject. */
  readonly index: number;
  lifecycle: Lifecycle;
  alert: LiveAlert | null = null;
  /** Judged since the start of the daemon: a condition that holds at the first known judgement was "already so". */
  judged = false;
  alreadySo = false;
  /**
   * When it could be judged last, ms; NaN: not since the start. Not kept while it is quiet. Always a double: it is written with
   * each judgement, and what may be null, too, would be made anew each time.
   */
  knownAtMs = Number.NaN;
  /** When its condition was last known to hold, ms; null: not since the start. */
  heldAtMs: number | null = null;
  /** Why the last judgement was unknown; null while it is known. */
  unknown: Unknown | null = null;
  /** Since when it cannot be judged, ms; means nothing while it can. */
  unknownSinceMs = 0;
  /** A row of it stands in history. */
  stored = false;
  /** When what it read last becomes stale, ms; +∞ when that cannot change anything. Not kept while it is quiet. */
  staleMs = Number.POSITIVE_INFINITY;
  dueMs = Number.POSITIVE_INFINITY;
  queuedMs = Number.POSITIVE_INFINITY;
  place = -1;
  /** What `env.window` is while this judges: the reading at the time of the judgement. */
  readonly window: Env["window"];
  readonly #judge: (instance: Instance) => void;

  constructor(
    rule: ConditionRule,
    node: SubjectNode,
    windows: readonly Window[],
    index: number,
    nowMs: number,
    judge: (instance: Instance) => void,
  ) {
    this.rule = rule;
    this.node = node;
    this.windows = windows;
    this.index = index;
    this.window = (index) => windows[index]!.read(node.env.nowMs);
    this.lifecycle = newLifecycle(rule, nowMs);
    this.#judge = judge;
  }

  onDue(): void {
    this.#judge(this);
  }
}
