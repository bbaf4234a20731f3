/**
 * The subjects that are watched now, each with its facts (what rules see) and its surroundings (a path in an expression
 * resolves to the subject or to the ancestor that owns it).
 */
import type { Source } from "../domain/sources.ts";
import { type Subject, subjectName } from "../domain/subject.ts";
import type { Env, Facts, Unknown, Window } from "../rules/index.ts";
import { type WindowPlan, WindowSet } from "./windows/windows.ts";

export const noWindows: readonly Window[] = [];

/** The state of the rules that judge a subject. Only the evaluation knows more of it: see `rulesOf`. */
export interface Evaluated {
  /** Takes the rules off; what they had concluded is kept for those that come next. */
  strip(): void;
}

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
  /** Null: no rules were attached to it yet. */
  evaluated: Evaluated | null = null;
  windows: WindowSet | null = null;

  constructor(subject: Subject, facts: Facts, env: NodeEnv, incarnation: string, first: boolean) {
    this.subject = subject;
    this.name = subjectName(subject);
    this.facts = facts;
    this.env = env;
    this.incarnation = incarnation;
    this.first = first;
  }

  /** Takes off the rules with their windows. */
  strip(): void {
    this.evaluated?.strip();
    this.windows = null;
    this.env.looked = noWindows;
  }

  seen(source: Source, atMs: number): void {
    this.facts.seenMs[source] = atMs;
  }
}

export function newFacts(): Facts {
  return { values: {}, seenMs: {} };
}

/** @param none the windows of a subject that has none yet */
export function windowsOf(node: SubjectNode, none: WindowPlan): WindowSet {
  node.windows ??= new WindowSet(none);
  return node.windows;
}
