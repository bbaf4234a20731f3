/** The rules that judge a subject, each with its windows and its state. */
import type { Window } from "../../rules/index.ts";
import type { Evaluated, SubjectNode } from "../../state/subjects.ts";
import { Instance, noInstances, noViews } from "./instance.ts";
import { noPlan, type Plan, Quiet } from "./plan.ts";
import { Staleness } from "./staleness.ts";

export type Former = Pick<SubjectRules, "plan" | "instances" | "quiet">;

export class SubjectRules implements Evaluated {
  readonly node: SubjectNode;
  /** The rules, and how each is checked. */
  plan: Plan = noPlan;
  /** The windows that each rule reads, by index in the plan. */
  views: readonly (readonly Window[])[] = noViews;
  /** The states of the rules, in order. A quiet rule without earlier state has none (see `Quiet`). */
  instances: readonly Instance[] = noInstances;
  quiet = new Quiet();
  staleness = new Staleness<SubjectRules>(this);
  /** The rules from before a reload, until the new ones are attached. */
  former: Former | null = null;

  constructor(node: SubjectNode) {
    this.node = node;
  }

  /** The state of a rule by index in the plan. For a quiet rule it is a new object that is not kept; see `rouse`. */
  instance(index: number): Instance {
    const kept = this.instances[placeOf(this.instances, index)];
    if (kept?.index === index) return kept;
    const instance = new Instance(this.plan[index]!.rule, this.node, this.views[index]!, index);
    instance.judged = true;
    return instance;
  }

  /** The state of a rule for a judgement: it is kept. */
  rouse(index: number): Instance {
    const place = placeOf(this.instances, index);
    const instance = this.instance(index);
    if (this.instances[place] !== instance) this.instances = this.instances.toSpliced(place, 0, instance);
    return instance;
  }

  /** The state of the rule of this name; null: no such rule judges the subject. */
  named(rule: string): Instance | null {
    const index = this.plan.findIndex((one) => one.rule.name === rule);
    return index < 0 ? null : this.instance(index);
  }

  /**
   * Makes a rule quiet if it is known, nothing holds, no clock runs, and no earlier state matters.
   * @returns true if its state is dropped
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

/** The rules of a subject; empty before some are attached. */
export function rulesOf(node: SubjectNode): SubjectRules {
  node.evaluated ??= new SubjectRules(node);
  return node.evaluated as SubjectRules;
}

/**
 * The index of an instance, or of its insertion, by index in the plan. A search, as missing data give one instance for each of
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
