/**
 * Texts with `{{ expression }}` in them: no logic beyond expressions, checked when they are loaded. What they print is
 * made of what the exchange and the user's files say, so what cannot be seen in a value is shown escaped, and the length is bounded.
 */
import { escaped, escapedLines } from "../domain/escape.ts";
import { plainWords } from "../domain/plain-words.ts";
import { formatTime, hasDate } from "../domain/time-text.ts";
import { compileExpression } from "./expression/compile.ts";
import type { ExpressionProblem, Gathered, Naming } from "./expression/context.ts";
import { absentText, formatAmount, formatNumber } from "./format.ts";
import type { Compiled, Template } from "./rule.ts";
import { type Env, Unknown } from "./value.ts";

export const maxTemplate = 4_000;
const maxHoles = 40;
/** One value in a message: enough for a name or a sentence of an announcement. */
const maxValue = 300;

/** @param longest of the rendered text, characters. */
export function compileTemplate(
  text: string,
  longest: number,
  naming: Naming,
  gathered: Gathered,
  report: (problem: ExpressionProblem) => void,
): Template | undefined {
  const parts = partsOf(text, naming, gathered, report);
  if (parts === undefined) return undefined;
  return {
    text,
    render: (env) => {
      let result = "";
      for (const part of parts) {
        result += typeof part === "string" ? part : print(part, env, { plain: true });
        if (result.length > longest * 2) break;
      }
      return shorten(escapedLines(result), longest);
    },
  };
}

/**
 * A template as what stands in it and the expressions between.
 * @returns undefined when something was wrong; every mistake was told
 */
export function partsOf(
  text: string,
  naming: Naming,
  gathered: Gathered,
  report: (problem: ExpressionProblem) => void,
): readonly (string | Hole)[] | undefined {
  if (text.length > maxTemplate) {
    report({
      start: 0,
      message: `the text is ${text.length} characters long; at most ${maxTemplate} are taken`,
    });
    return undefined;
  }
  const parts: (string | Hole)[] = [];
  let failed = false;
  let at = 0;
  let holes = 0;
  while (at < text.length) {
    const open = text.indexOf("{{", at);
    if (open < 0) {
      parts.push(text.slice(at));
      break;
    }
    parts.push(text.slice(at, open));
    const close = closing(text, open + 2);
    if (close < 0) {
      report({ start: open, message: "`{{` is never closed by `}}`" });
      return undefined;
    }
    if (++holes > maxHoles) {
      report({ start: open, message: `more than ${maxHoles} expressions in one text` });
      return undefined;
    }
    const inner = text.slice(open + 2, close);
    const indent = inner.length - inner.trimStart().length;
    const compiled = compileExpression(inner.trim(), "text", naming, gathered, (problem) =>
      report({ ...problem, start: open + 2 + indent + problem.start }),
    );
    if (compiled === undefined) failed = true;
    else parts.push({ compiled, mayBeEmpty: /:\s*(""|'')[\s)]*$/.test(inner) });
    at = close + 2;
  }
  return failed ? undefined : parts;
}

export interface Hole {
  readonly compiled: Compiled;
  /** Its last alternative is the empty text: it prints nothing where it is that, or cannot be told. */
  readonly mayBeEmpty: boolean;
}

/** The end of an expression, which may itself hold braces in quotes. */
function closing(text: string, from: number): number {
  let quote: string | null = null;
  for (let i = from; i < text.length; i++) {
    const character = text[i]!;
    if (quote !== null) {
      if (character === "\\") i++;
      else if (character === quote) quote = null;
    } else if (character === '"' || character === "'") quote = character;
    else if (character === "}" && text[i + 1] === "}") return i;
  }
  return -1;
}

export interface Printing {
  /** In which times are told; default UTC. */
  readonly timezone?: string;
  /** Maximum length of a value in the text, characters. */
  readonly longest?: number;
  /** Words of fixed lists are printed as people write them: `at risk` for `atRisk`. */
  readonly plain?: boolean;
  /** Line breaks of a text are ours: values from outside have none. */
  readonly lines?: boolean;
}

export function print({ compiled: part, mayBeEmpty }: Hole, env: Env, how: Printing = {}): string {
  const value = part.run(env);
  if (mayBeEmpty && (value === "" || value instanceof Unknown)) return "";
  if (value instanceof Unknown) return absentText;
  if (typeof value === "number" && part.unit === "time" && how.timezone !== undefined)
    return hasDate(value) ? formatTime(value, how.timezone) : absentText;
  if (typeof value === "number")
    return part.unit === "none" ? formatAmount(value) : formatNumber(value, part.unit, part.tick?.(env));
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "string" || value === "") return absentText;
  return how.plain === true && part.isWord === true
    ? plainWords(value)
    : shown(value, how.lines === true ? escapedLines : escaped, how.longest ?? maxValue);
}

/** Cut before it is escaped, too: the exchange says how long it is. */
function shown(value: string, write: (text: string) => string, longest: number): string {
  return shorten(write(value.slice(0, 4 * longest)), longest);
}

export function shorten(text: string, longest: number): string {
  const characters = [...text];
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join("")}…`;
}
