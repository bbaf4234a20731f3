/** The moments at which conditions are judged again though nothing arrives: their clocks, and the ages of what they read. */

import { type LifecycleRule, nextDeadlineMs } from "../../alerts/lifecycle.ts";
import type { Deadlines } from "../../domain/deadlines.ts";
import { type Env, freshUntilMs } from "../../rules/index.ts";
import { type Instance, Timer } from "./instance.ts";
import { rulesOf } from "./subject-rules.ts";

/** Judging again at most this often for what drifts with time alone (`now`, window edges). */
export const driftMs = 1_000;

export class ConditionSchedule {
  readonly #deadlines: Deadlines;
  readonly #onDue: (instance: Instance) => void;

  constructor(deadlines: Deadlines, onDue: (instance: Instance) => void) {
    this.#deadlines = deadlines;
    this.#onDue = onDue;
  }

  /** No clock of it runs and nothing that it reads drifts: only that its data get stale can change anything. */
  rest(instance: Instance, env: Env): void {
    const { rule, node, index } = instance;
    const { windows } = node;
    const rules = rulesOf(node);
    const known = instance.unknown === null;
    const staleMs = known ? staleFromMs(env) : Number.POSITIVE_INFINITY;
    this.stop(instance);
    // What is known while something behind it is stale has another moment than that of its inputs.
    if (known && freshUntilMs(rule.inputs, env) >= env.nowMs) {
      rules.quiet.set(index, true);
      // Those that were quiet before hold until another moment than this one does.
      if (windows !== null) windows.heldUntilMs = Number.NEGATIVE_INFINITY;
      // It makes another timer when it is roused: this one would stand in the heap for as long as its clock might have run.
      if (rules.rest(instance) && instance.timer !== null) this.#deadlines.drop(instance.timer);
    } else instance.staleMs = staleMs;
    rules.staleness.noted(staleMs);
  }

  /**
   * @param terms of the rule, as the last judgement has them
   * @param known it was judged, by whatever is behind it
   */
  next(instance: Instance, env: Env, terms: LifecycleRule, known = instance.unknown === null): void {
    const { rule } = instance;
    let dueMs = nextDeadlineMs(instance.lifecycle, terms) ?? Number.POSITIVE_INFINITY;
    const staleMs = known ? staleFromMs(env) : Number.POSITIVE_INFINITY;
    // What time moves is unknown until something arrives, but for what nothing is behind that could.
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

/** One past the last moment at which all that counts now still does. */
function staleFromMs({ freshUntilMs, nowMs }: Env): number {
  return Math.max((freshUntilMs ?? Number.POSITIVE_INFINITY) + 1, nowMs + 1);
}
