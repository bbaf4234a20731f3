/**
 * Texts with `{{ expression }}` in them. Expressions are the only logic, and are checked at load. Printed values come from the
 * exchange and from the user's files, so invisible characters are escaped and the length is limited.
 */
import { escaped, escapedLines } from "../domain/text/escape.ts";
import { plainWords } from "../domain/text/plain-words.ts";
import { formatTime, hasDate } from "../domain/text/time-text.ts";
import { compileExpression } from "./expression/compile.ts";
import type { ExpressionProblem, Gathered, Naming } from "./expression/context.ts";
import { absentText, formatAmount, formatNumber } from "./format.ts";
import type { Compiled, Template } from "./rule.ts";
import { type Env, Unknown } from "./value.ts";

export const maxTemplate = 4_000;
const maxHoles = 40;
/** Maximum length of one value in a message, characters: enough for a name or a sentence of an announcement. */
const maxValue = 300;

/** @param maxLength maximum length of the rendered text, characters */
export function compileTemplate(
  text: string,
  maxLength: number,
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
        if (result.length > maxLength * 2) break;
      }
      return shorten(escapedLines(result), maxLength);
    },
  };
}

/**
 * Parses a template into texts and expressions.
 * @returns undefined if there was a mistake; every mistake was reported
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
  /** Its last alternative is the empty text, which is printed if the expression is that or unknown. */
  readonly mayBeEmpty: boolean;
}

/** The end of an expression, which may contain quoted braces. */
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
  /** Time zone of printed times; default UTC. */
  readonly timezone?: string;
  /** Maximum length of a value in the text, characters. */
  readonly maxLength?: number;
  /** Words of fixed lists are printed as plain text: `at risk` for `atRisk`. */
  readonly plain?: boolean;
  /** Line breaks are kept, as the text is perpwatch's own: values from outside have none. */
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
    : shown(value, how.lines === true ? escapedLines : escaped, how.maxLength ?? maxValue);
}

/** Truncates before escaping, too, since the length of the value is not limited. */
function shown(value: string, write: (text: string) => string, maxLength: number): string {
  return shorten(write(value.slice(0, 4 * maxLength)), maxLength);
}

export function shorten(text: string, maxLength: number): string {
  const characters = [...text];
  return characters.length <= maxLength ? text : `${characters.slice(0, maxLength - 1).join("")}…`;
}
