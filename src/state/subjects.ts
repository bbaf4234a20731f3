/**
 * The watched subjects, each with its facts (the values that rules see) and its surroundings (a path in an expression resolves
 * to the subject or to the ancestor that owns it).
 */
import type { Source } from "../domain/sources.ts";
import { type Subject, subjectName } from "../domain/subject.ts";
import type { Env, Facts, Unknown, Window } from "../rules/index.ts";
import { type WindowPlan, WindowSet } from "./windows/windows.ts";

export const noWindows: readonly Window[] = [];

/** The state of the rules that judge a subject. Only the evaluation knows its content: see `rulesOf`. */
export interface Evaluated {
  /** Removes the rules; their conclusions are kept for the next ones. */
  strip(): void;
}

/** The surroundings of a subject, with the windows that `window` reads. */
export interface NodeEnv extends Env {
  /** The windows of the rule that is being judged. */
  looked: readonly Window[];
}

/** One function shared by all subjects: there are thousands. */
export function readWindow(this: NodeEnv, index: number): number | Unknown {
  return this.looked[index]?.read(this.nowMs) ?? Number.NaN;
}

export class SubjectNode {
  readonly subject: Subject;
  readonly name: string;
  readonly facts: Facts;
  readonly env: NodeEnv;
  /** Distinguishes a position from earlier ones of the same name: side and sequence (`long 318`). Empty for other subjects. */
  readonly incarnation: string;
  /** True for subjects of the first answer after the start: they existed before the daemon watched. */
  readonly first: boolean;
  /** Start of the position's own history, ms: earlier samples belong to another position of its name. 0: not known. */
  bornMs = 0;
  /** The opening time of a position, ms; null: not known. */
  openedMs: number | null = null;
  /** Null: no rules are attached. */
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

  /** Removes the rules and their windows. */
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

/** @param none the plan of a subject without windows */
export function windowsOf(node: SubjectNode, none: WindowPlan): WindowSet {
  node.windows ??= new WindowSet(none);
  return node.windows;
}
