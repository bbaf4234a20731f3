/** The mistakes in a configuration, each with its place, and none told twice. */

import type { Path } from "./issues.ts";
import type { ConfigProblem } from "./problem.ts";
import { shownKey } from "./tree.ts";
import type { TreePlaces } from "./tree-places.ts";

export interface ProblemExtra {
  readonly allowed?: readonly string[];
  readonly nearest?: string | null;
  /** The key is meant, not its value. */
  readonly atKey?: boolean;
}

/** Nobody reads further; a binary file has a problem in every line. */
export const maxProblems = 100;

export class SourceMistakes {
  readonly #file: string;
  readonly #places: TreePlaces;
  readonly #problems: ConfigProblem[] = [];
  /** The sections of mistakes that were found before any path was read. */
  readonly #sections = new WeakMap<ConfigProblem, string>();

  constructor(file: string, places: TreePlaces) {
    this.#file = file;
    this.#places = places;
  }

  get all(): readonly ConfigProblem[] {
    return this.#problems;
  }

  /** True if a mistake stands in this section of the file. */
  isIn(problem: ConfigProblem, section: string): boolean {
    if (problem.file !== this.#file) return false;
    return (this.#sections.get(problem) ?? problem.path.split(/[.[]/, 1)[0]) === section;
  }

  /** Adds a mistake at a path. */
  addAt(at: Path, message: string, extra: ProblemExtra = {}): void {
    this.addIn(this.#places.offset(at, extra.atKey ?? false), pathName(at), message, extra);
  }

  /** Adds a mistake at an offset of the text; null: of the file as a whole. */
  addIn(
    offset: number | null,
    path: string,
    message: string,
    extra: ProblemExtra = {},
    section?: string,
  ): void {
    const place = offset === null ? { line: 0, column: 0 } : this.#places.position(offset);
    const { allowed = [], nearest = null } = extra;
    // A section that is read twice may be wrong twice.
    const same = this.#problems.some(
      (one) =>
        one.line === place.line &&
        one.path === path &&
        one.message === message &&
        this.#sections.get(one) === section,
    );
    if (same) return;
    const problem = { file: this.#file, ...place, path, message, allowed, nearest, source: "" };
    if (section !== undefined) this.#sections.set(problem, section);
    this.add(problem);
  }

  /** A problem of another file, or of this one as a whole. */
  add(problem: ConfigProblem): void {
    if (this.#problems.length < maxProblems - 1) this.#problems.push(problem);
    else if (this.#problems.length < maxProblems)
      this.#problems.push({
        ...{ file: this.#file, line: 0, column: 0, path: "", allowed: [], nearest: null, source: "" },
        message: `more than ${maxProblems - 1} mistakes: mend some, then look again`,
      });
  }
}

/** `wallets[0].name`. Keys that are no names are not repeated. */
export function pathName(at: Path): string {
  return at.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text === "" ? shownKey(step) : `${text}.${shownKey(step)}`;
  }, "");
}
