/**
 * The subjects that are watched now, each with its facts (what rules see), its surroundings (a path in an expression
 * resolves to the subject or to the ancestor that owns it), and the rule instances that judge it.
 */
import type { Source } from "../domain/observation.ts";
import { type Subject, subjectName } from "../domain/subject.ts";
import type { Env, Facts, Unknown, Window } from "../rules/index.ts";
import { Instance, noInstances, noViews, noWindows } from "./instance.ts";
import { noPlan, type Plan, Quiet } from "./plan.ts";
import { Staleness } from "./staleness.ts";
import type { WindowSet } from "./windows.ts";

export type Former = Pick<SubjectNode, "plan" | "instances" | "quiet">;

/** Surroundings of a subject with the windows that `window` reads. */
export interface NodeEnv extends Env {
  /** The windows of the rule that is being judged. */
  looked: readonly Window[];
}

/** The same function for all subjects: there are thousands. */
export function readWindow(this: NodeEnv, index: number): number | Unknown {
  return this.looked[index]?.read(this.nowMs) ?? Number.NaN;
}

export class SubjectNode {
  readonly subject: Subject;
  readonly name: string;
  readonly facts: Facts;
  readonly env: NodeEnv;
  /** Tells a position from the one of the same name before it: side and sequence (`long 318`). Empty for other subjects. */
  readonly incarnation: string;
  /** Marks what was already so when watching began: true for subjects of the first answer after the start. */
  readonly first: boolean;
  /** A position's own past begins here, ms: what came before belongs to another one of its name. 0: not known. */
  bornMs = 0;
  /** The opening time of a position, ms; null: not known. */
  openedMs: number | null = null;
  /** Its rules, and how they are looked at one by one. */
  plan: Plan = noPlan;
  /** By their place in the plan: the windows through which they look back. */
  views: readonly (readonly Window[])[] = noViews;
  /** The states of its rules, in their order; none of one that is quiet (see `Quiet`) and was not marked by anything. */
  instances: readonly Instance[] = noInstances;
  quiet = new Quiet();
  staleness: Staleness = new Staleness(this);
  /** The rules that judged it before a reload, until the new ones are attached. */
  former: Former | null = null;
  windows: WindowSet | null = null;

  constructor(subject: Subject, facts: Facts, env: NodeEnv, incarnation: string, first: boolean) {
    this.subject = subject;
    this.name = subjectName(subject);
    this.facts = facts;
    this.env = env;
    this.incarnation = incarnation;
    this.first = first;
  }

  /** The state of the rule of this place in the plan. Of a quiet one that is kept nowhere; see `rouse`. */
  instance(index: number): Instance {
    const kept = this.instances[placeOf(this.instances, index)];
    if (kept?.index === index) return kept;
    const instance = new Instance(this.plan[index]!.rule, this, this.views[index]!, index);
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

  /**
   * It is known, nothing holds and no clock runs: nothing of what came before means anything from here on.
   * @returns whether it is let go of
   */
  rest(instance: Instance): boolean {
    if (instance.isMarked) return false;
    this.instances =
      this.instances.length === 1 ? noInstances : this.instances.filter((one) => one !== instance);
    return true;
  }

  /** Takes off the rules with their windows; what they had concluded stays in `former`. */
  strip(): void {
    const { plan, instances, quiet } = this;
    this.former = { plan, instances, quiet };
    this.plan = noPlan;
    this.views = noViews;
    this.instances = noInstances;
    this.quiet = new Quiet();
    const { order } = this.staleness;
    this.staleness = new Staleness(this);
    this.staleness.order = order;
    this.windows = null;
    this.env.looked = noWindows;
  }

  seen(source: Source, atMs: number): void {
    this.facts.seenMs[source] = atMs;
  }
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

export function newFacts(): Facts {
  return { values: {}, seenMs: {} };
}
