/** A rule file with the positions of nodes and of characters within expressions. */
import { isScalar, LineCounter, type Node, type Scalar } from "yaml";
import { parsedYaml, tooManyParts } from "../../domain/text/yaml.ts";
import { offsetInScalar } from "../../domain/text/yaml-place.ts";
import type { RuleProblem } from "../problem.ts";

export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly source: string;
}

export interface ProblemText {
  readonly message: string;
  readonly allowed?: readonly string[];
  readonly nearest?: string | null;
}

/** Maximum size of a rule file, bytes. A larger one is a mistake or an attack. */
const largestFile = 512 * 1024;

export class RuleSource {
  readonly name: string;
  readonly text: string;
  readonly #lines = new LineCounter();

  constructor(name: string, text: string) {
    this.name = name;
    this.text = text;
  }

  /** @returns the root node, or undefined if the text is not valid YAML, which is reported with `report` */
  parse(report: (problem: RuleProblem) => void): Node | null | undefined {
    if (this.text.length > largestFile) {
      report(problemAt(this.place(0), { message: `the file is larger than ${largestFile / 1024} KB` }));
      return undefined;
    }
    try {
      const document = parsedYaml(this.text, { lineCounter: this.#lines, prettyErrors: false });
      if (document === null) {
        report(problemAt(this.place(0), { message: tooManyParts }));
        return undefined;
      }
      for (const error of document.errors)
        report(
          problemAt(this.place(error.pos[0]), { message: `not valid YAML: ${firstLine(error.message)}` }),
        );
      return document.errors.length > 0 ? undefined : (document.contents as Node | null);
    } catch (error) {
      // Extremely deep nesting overflows the parser's stack.
      report(problemAt(this.place(0), { message: `not valid YAML: ${firstLine(String(error))}` }));
      return undefined;
    }
  }

  place(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset);
    const known = line > 0 ? { line, column: col } : { line: 1, column: 1 };
    return { file: this.name, ...known, source: this.#lineAt(known.line) };
  }

  /** Uses the line starts that the parser recorded: a file with thousands of mistakes reads as many lines. */
  #lineAt(line: number): string {
    const start = this.#lines.lineStarts[line - 1] ?? 0;
    const end = this.text.indexOf("\n", start);
    const whole = end === -1 ? this.text.slice(start) : this.text.slice(start, end);
    return end !== -1 && whole.endsWith("\r") ? whole.slice(0, -1) : whole;
  }

  /** The place of the character at `offset` of a scalar's value; the beginning of the scalar if that is not known. */
  placeIn(node: Scalar, value: string, offset: number): Place {
    const [start, end] = node.range ?? [0, 0];
    return this.place(start + offsetInScalar(this.text.slice(start, end), value, offset));
  }
}

export function problemAt(place: Place, { message, allowed = [], nearest = null }: ProblemText): RuleProblem {
  return { ...place, message, allowed, nearest };
}

/** The text of a scalar as written; for `when: true` the text `true`. */
export function scalarText(node: unknown): string | undefined {
  if (!isScalar(node) || node.value === null || node.value === undefined) return undefined;
  return typeof node.value === "string" ? node.value : (node.source ?? String(node.value));
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0]!;
}
