/**
 * Parses the values of a series over time in one line, in promtool's notation: `0.3 0.2x10 0.04 _x12 stale`.
 *
 *   a        this value in this step             a+bxn    a, a+b, … , a+n·b (n+1 steps); a-bxn likewise
 *   axn      a, and n more of it                 _  _xn   in this step (these n) the read fails
 *   stale    no answers from here on             gone     the position or account does not exist
 *
 * Numbers may be percentages (`5%`), `inf`, `-inf` or `nan`; durations are written `30s`; enums and texts as they are.
 */

import type { Figure } from "../../domain/observation.ts";
import { parseDurationMs } from "../../domain/text/duration.ts";
import { type Field, nearestName } from "../../rules/index.ts";

/** The value of one field in one step. `silent`: there is no answer, and no failure. */
export type Step =
  | { readonly kind: "value"; readonly value: Figure }
  | { readonly kind: "failed" }
  | { readonly kind: "silent" }
  | { readonly kind: "gone" };

export interface NotationProblem {
  /** The offset of the character from the beginning of the text. */
  readonly offset: number;
  readonly message: string;
  readonly allowed?: readonly string[];
  readonly nearest?: string | null;
}

/** Maximum steps of one series; more are a mistyped repetition. */
export const maxSteps = 1_000_000;

const numberForm = String.raw`[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?%?|inf)`;
const risingForm = new RegExp(String.raw`^(${numberForm})([+-]\d+(?:\.\d+)?(?:[eE][+-]?\d+)?%?)$`);
const oneNumber = new RegExp(`^${numberForm}$`);

/** @returns the steps, of which the last one also stands for all that follow; null after mistakes were reported */
export function parseSteps(
  text: string,
  field: Field,
  report: (problem: NotationProblem) => void,
): readonly Step[] | null {
  const steps: Step[] = [];
  let isValid = true;
  for (const match of text.matchAll(/\S+/g)) {
    const [token] = match;
    const more = stepsOf(token, field);
    if ("message" in more) {
      report({ ...more, offset: match.index });
      isValid = false;
    } else if (steps.length + more.count > maxSteps) {
      report({ offset: match.index, message: `more than ${maxSteps} steps` });
      return null;
    } else for (let i = 0; i < more.count; i++) steps.push(more.at(i));
  }
  return isValid ? steps : null;
}

type Steps = { readonly count: number; readonly at: (index: number) => Step };

function stepsOf(token: string, field: Field): Steps | Omit<NotationProblem, "offset"> {
  const repeated = /^(.+?)x(\d+)$/.exec(token);
  const head = repeated?.[1] ?? token;
  const more = repeated ? Number(repeated[2]) : null;
  // As in promtool: `_xn` is n steps, `axn` is n+1 steps.
  if (head === "_") return { count: more ?? 1, at: () => ({ kind: "failed" }) };
  const count = (more ?? 0) + 1;
  if (head === "stale") return { count, at: () => ({ kind: "silent" }) };
  if (head === "gone") return { count, at: () => ({ kind: "gone" }) };
  const rising = field.type === "number" && more !== null ? risingForm.exec(head) : null;
  if (rising) {
    const first = numberOf(rising[1]!);
    const step = numberOf(rising[2]!);
    // Multiplication avoids the accumulated error of a sum.
    return { count, at: (index) => ({ kind: "value", value: rounded(first + step * index) }) };
  }
  const value = scalarOf(head, field);
  if (typeof value === "object") return value;
  return { count, at: () => ({ kind: "value", value }) };
}

/** Parses a single value of a field. */
export function scalarOf(
  text: string,
  field: Field,
): number | boolean | string | Omit<NotationProblem, "offset"> {
  const wrong = (what: string, allowed: readonly string[] = []) => ({
    message: `${field.name} is ${what}, and ${text} is none`,
    allowed,
  });
  switch (field.type) {
    case "number":
      if (text === "nan") return Number.NaN;
      return oneNumber.test(text)
        ? numberOf(text)
        : wrong("a number", ["0.3", "5%", "inf", "nan", "_", "stale", "gone"]);
    case "duration": {
      // A duration without an end.
      if (text === "inf") return Number.POSITIVE_INFINITY;
      const ms = parseDurationMs(text.replace(/^-/, ""));
      if (ms === undefined) return wrong("a duration", ["250ms", "5s", "10m", "4h", "7d", "inf"]);
      return text.startsWith("-") ? -ms : ms;
    }
    case "time": {
      // A time that is never reached.
      if (text === "inf") return Number.POSITIVE_INFINITY;
      const ms = Date.parse(text);
      return Number.isNaN(ms) ? wrong("a time", ["2026-01-01T00:00:00Z", "inf"]) : ms;
    }
    case "boolean":
      if (text === "true" || text === "false") return text === "true";
      return wrong("true or false");
    case "enum": {
      const members = field.members ?? [];
      if (members.includes(text) || field.open === true) return text;
      return {
        message: `${field.name} cannot be ${text}`,
        allowed: members,
        nearest: nearestName(text, members),
      };
    }
    case "text":
      return text;
    default:
      return wrong("given as a list or a mapping");
  }
}

function numberOf(text: string): number {
  const sign = text.startsWith("-") ? -1 : 1;
  const plain = text.replace(/^[+-]/, "");
  if (plain === "inf") return sign * Number.POSITIVE_INFINITY;
  return plain.endsWith("%") ? rounded((sign * Number(plain.slice(0, -1))) / 100) : sign * Number(plain);
}

/** Rounds to 15 digits, so that 0.1 + 0.2 is 0.3. */
function rounded(value: number): number {
  return Number(value.toPrecision(15));
}
