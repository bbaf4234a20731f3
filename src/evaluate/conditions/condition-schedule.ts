/** The times at which conditions are judged again without new data: when clocks end and when inputs become stale. */

import { type LifecycleRule, nextDeadlineMs } from "../../alerts/lifecycle.ts";
import type { Deadlines } from "../../domain/structures/deadlines.ts";
import { type Env, freshUntilMs } from "../../rules/index.ts";
import { type Instance, Timer } from "./instance.ts";
import { rulesOf } from "./subject-rules.ts";

/** Minimum time between judgements of a rule whose result changes with time alone (`now`, window edges), ms. */
export const driftMs = 1_000;

export class ConditionSchedule {
  readonly #deadlines: Deadlines;
  readonly #onDue: (instance: Instance) => void;

  constructor(deadlines: Deadlines, onDue: (instance: Instance) => void) {
    this.#deadlines = deadlines;
    this.#onDue = onDue;
  }

  /** Marks an instance as quiet: no clock runs and no input changes with time, so only stale data can change its result. */
  rest(instance: Instance, env: Env): void {
    const { rule, node, index } = instance;
    const { windows } = node;
    const rules = rulesOf(node);
    const known = instance.unknown === null;
    const staleMs = known ? staleFromMs(env) : Number.POSITIVE_INFINITY;
    this.stop(instance);
    // If the result is known although an input is stale, its time limit is not that of its inputs.
    if (known && freshUntilMs(rule.inputs, env) >= env.nowMs) {
      rules.quiet.set(index, true);
      // Rules that were quiet before have another time limit than this one.
      if (windows !== null) windows.heldUntilMs = Number.NEGATIVE_INFINITY;
      // A new timer is created when it is judged again: this one would stay in the heap until the end of its clock.
      if (rules.rest(instance) && instance.timer !== null) this.#deadlines.drop(instance.timer);
    } else instance.staleMs = staleMs;
    rules.staleness.noted(staleMs);
  }

  /**
   * @param terms clocks of the rule at the last judgement
   * @param known true if it was judged, by any inputs
   */
  next(instance: Instance, env: Env, terms: LifecycleRule, known = instance.unknown === null): void {
    const { rule } = instance;
    let dueMs = nextDeadlineMs(instance.lifecycle, terms) ?? Number.POSITIVE_INFINITY;
    const staleMs = known ? staleFromMs(env) : Number.POSITIVE_INFINITY;
    // An unknown result changes only with new data, unless the rule has no inputs.
    if (rule.readsNow && (instance.unknown === null || rule.inputs.length === 0))
      dueMs = Math.min(dueMs, env.nowMs + driftMs);
    for (let i = 0; i < instance.windows.length; i++) {
      if (rule.windows[i]!.path.kind !== "event") continue;
      const edgeMs = instance.windows[i]!.nextEdgeMs(env.nowMs);
      if (edgeMs !== null) dueMs = Math.min(dueMs, Math.max(edgeMs, env.nowMs + driftMs));
    }
    instance.staleMs = staleMs;
    rulesOf(instance.node).staleness.noted(staleMs);
    if (dueMs <= env.nowMs) dueMs = env.nowMs + 1;
    if (Number.isFinite(dueMs)) this.set(instance, dueMs);
    else this.stop(instance);
  }

  set(instance: Instance, dueMs: number): void {
    instance.timer ??= new Timer(instance, this.#onDue);
    this.#deadlines.set(instance.timer, dueMs);
    instance.order = instance.timer.order;
  }

  stop({ timer }: Instance): void {
    if (timer !== null) this.#deadlines.cancel(timer);
  }
}

/** Returns the time of the last moment for which the result is valid, plus 1 ms. */
function staleFromMs({ freshUntilMs, nowMs }: Env): number {
  return Math.max((freshUntilMs ?? Number.POSITIVE_INFINITY) + 1, nowMs + 1);
}
