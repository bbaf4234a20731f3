/** The rules that judge a subject, each with its windows and its state. */
import type { Window } from "../../rules/index.ts";
import type { Evaluated, SubjectNode } from "../../state/subjects.ts";
import { Instance, noInstances, noViews } from "./instance.ts";
import { noPlan, type Plan, Quiet } from "./plan.ts";
import { Staleness } from "./staleness.ts";

export type Former = Pick<SubjectRules, "plan" | "instances" | "quiet">;

export class SubjectRules implements Evaluated {
  readonly node: SubjectNode;
  /** The rules, and how they are looked at one by one. */
  plan: Plan = noPlan;
  /** By their place in the plan: the windows through which they look back. */
  views: readonly (readonly Window[])[] = noViews;
  /** The states of the rules, in their order; none of one that is quiet (see `Quiet`) and was not marked by anything. */
  instances: readonly Instance[] = noInstances;
  quiet = new Quiet();
  staleness = new Staleness<SubjectRules>(this);
  /** The rules that judged it before a reload, until the new ones are attached. */
  former: Former | null = null;

  constructor(node: SubjectNode) {
    this.node = node;
  }

  /** The state of the rule of this place in the plan. Of a quiet one that is kept nowhere; see `rouse`. */
  instance(index: number): Instance {
    const kept = this.instances[placeOf(this.instances, index)];
    if (kept?.index === index) return kept;
    const instance = new Instance(this.plan[index]!.rule, this.node, this.views[index]!, index);
    instance.judged = true;
    return instance;
  }

  /** The same to be judged: what becomes of it is kept. */
  rouse(index: number): Instance {
    const place = placeOf(this.instances, index);
    const instance = this.instance(index);
    if (this.instances[place] !== instance) this.instances = this.instances.toSpliced(place, 0, instance);
    return instance;
  }

  /** The state of the rule of this name; null: none of this name judges the subject. */
  named(rule: string): Instance | null {
    const index = this.plan.findIndex((one) => one.rule.name === rule);
    return index < 0 ? null : this.instance(index);
  }

  /**
   * It is known, nothing holds and no clock runs: nothing of what came before means anything from here on.
   * @returns true if it is let go of
   */
  rest(instance: Instance): boolean {
    if (instance.isMarked) return false;
    this.instances =
      this.instances.length === 1 ? noInstances : this.instances.filter((one) => one !== instance);
    return true;
  }

  strip(): void {
    const { plan, instances, quiet } = this;
    this.former = { plan, instances, quiet };
    this.plan = noPlan;
    this.views = noViews;
    this.instances = noInstances;
    this.quiet = new Quiet();
    const { order } = this.staleness;
    this.staleness = new Staleness<SubjectRules>(this);
    this.staleness.order = order;
  }
}

/** The rules of a subject; none before some are attached. */
export function rulesOf(node: SubjectNode): SubjectRules {
  node.evaluated ??= new SubjectRules(node);
  return node.evaluated as SubjectRules;
}

/**
 * The index at which the instance of this place in the plan is, or would be: where data are missing there is one of each of
 * hundreds of rules.
 */
function placeOf(instances: readonly Instance[], index: number): number {
  let low = 0;
  let high = instances.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (instances[middle]!.index < index) low = middle + 1;
    else high = middle;
  }
  return low;
}
