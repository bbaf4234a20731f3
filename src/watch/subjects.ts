/**
 * The subjects that are watched now, each with its facts (what rules see), its surroundings (a path in an expression
 * resolves to the subject or to the ancestor that owns it), and the rule instances that judge it.
 */
import type { Source } from "../domain/observation.ts";
import { type Subject, subjectName } from "../domain/subject.ts";
import type { Env, Facts, Window } from "../rules/index.ts";
import { type Instance, noWindows } from "./instance.ts";
import { noPlan, type Plan, Quiet } from "./plan.ts";
import { Staleness } from "./staleness.ts";
import type { WindowSet } from "./windows.ts";

export class SubjectNode {
  readonly subject: Subject;
  readonly name: string;
  readonly facts: Facts;
  readonly env: Env;
  /** Tells a position from the one of the same name before it: side and sequence (`long 318`). Empty for other subjects. */
  readonly incarnation: string;
  /** What was already so when watching began is marked: true for subjects of the first answer after the start. */
  readonly first: boolean;
  /** A position's own past begins here, ms: what came before belongs to another one of its name. 0: not known. */
  bornMs = 0;
  /** When a position was opened, ms; null: not known. */
  openedMs: number | null = null;
  instances: Instance[] = [];
  /** How those are looked at, one by one. */
  plan: Plan = noPlan;
  readonly quiet = new Quiet();
  readonly staleness: Staleness = new Staleness(this);
  windows: WindowSet | null = null;
  /** Those that `env.window` tells of: of the rule that is being judged. */
  looked: readonly Window[] = noWindows;

  constructor(subject: Subject, facts: Facts, env: Env, incarnation: string, first: boolean) {
    this.subject = subject;
    this.name = subjectName(subject);
    this.facts = facts;
    this.env = env;
    this.incarnation = incarnation;
    this.first = first;
    env.window = (index) => this.looked[index]!.read(env.nowMs);
  }

  seen(source: Source, atMs: number): void {
    this.facts.seenMs[source] = atMs;
  }
}

export function newFacts(): Facts {
  return { values: {}, seenMs: {} };
}
