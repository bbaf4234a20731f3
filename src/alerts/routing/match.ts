/**
 * Matchers over the labels of an alert, used by routes, silences and inhibitions. A label matches a value, one of a
 * list, or a pattern; all given matchers have to match. A missing label is the empty text. Pure.
 */
import { z } from "zod";
import type { Matcher } from "../../domain/alerts/silence.ts";

const texts = z.union([z.coerce.string(), z.array(z.coerce.string()).min(1)]);
const plain = z.union([z.string(), z.number().transform(String)]);

/** Maximum length of a pattern and of the text it is matched with: both are written by people and short. */
const maxPattern = 200;
const maxValue = 300;
/** Maximum number of ways through a pattern: optional parts and groups of alternatives multiply. */
const maxWays = 64;

const pattern = z
  .string()
  .min(1)
  .max(maxPattern)
  .superRefine((text, context) => {
    const wrong = wrongPattern(text);
    if (wrong !== null) context.addIssue({ code: "custom", message: wrong });
  });

const condition = z.union([
  plain.transform((value) => ({ in: [value] })),
  z
    .array(plain)
    .min(1)
    .transform((values) => ({ in: values })),
  z.strictObject({ not: texts }).transform(({ not }) => ({ notIn: [not].flat() })),
  z.strictObject({ matches: pattern }),
  z.strictObject({ notMatches: pattern }),
]);

/** `{ severity: critical, wallet: { matches: "mm-.*" }, rule: [A, B], symbol: { not: SOL } }` */
export const matchSettings = z.record(z.string(), condition);
export type Matchers = Readonly<Record<string, Matcher>>;

export type Labels = Readonly<Record<string, string>>;

const compiled = new Map<string, RegExp>();

export function matches(wanted: Matchers, labels: Labels): boolean {
  for (const [name, one] of Object.entries(wanted)) {
    const actual = labelOf(labels, name);
    if ("in" in one) {
      if (!one.in.includes(actual)) return false;
    } else if ("notIn" in one) {
      if (one.notIn.includes(actual)) return false;
    } else if ("matches" in one) {
      if (!whole(one.matches, actual)) return false;
    } else if (whole(one.notMatches, actual)) return false;
  }
  return true;
}

/** Names are written by people: a name that every object has as a property (`constructor`) is no label. */
export function labelOf(labels: Labels, name: string): string {
  return Object.hasOwn(labels, name) ? (labels[name] ?? "") : "";
}

/** A pattern covers the whole value, as in Alertmanager: `mm-.*`, not `mm-`. */
function whole(text: string, value: string): boolean {
  let found = compiled.get(text);
  if (!found) {
    found = new RegExp(`^(?:${text})$`, "u");
    compiled.set(text, found);
  }
  return found.test(value.slice(0, maxValue));
}

/**
 * Checks a pattern. Nested repetitions can take exponential time to fail: `(a+)+b`. They are refused, as are invalid
 * patterns.
 * @returns the error, or null
 */
function wrongPattern(text: string): string | null {
  try {
    new RegExp(`^(?:${text})$`, "u");
  } catch (error) {
    // "Invalid regular expression: /…/u: Unterminated group"
    const why = /\/u: (.+)$/s.exec((error as Error).message)?.[1];
    return `"${text}" is no pattern${why === undefined ? "" : `: ${why.toLowerCase()}`}`;
  }
  if (/\\[1-9k]|\(\?[=!<]/.test(text)) return "a pattern has no references and does not look around";
  if (/\)[*+{]/.test(text)) return "a group in a pattern cannot repeat: write alternatives, [classes] or .*";
  const repeats = text.replaceAll(/\\./g, "x").match(/[*+]|\{\d+,?\d*\}/g)?.length ?? 0;
  if (repeats > 3) return "a pattern repeats at most three times";
  if (waysToFit(text) > maxWays)
    return "a pattern has too many ways to fit: write fewer parts that may be missing (x?) and fewer (a|b) in a row";
  return null;
}

/**
 * Returns the number of paths through a pattern, repetitions apart: each optional part doubles it, each group of
 * alternatives multiplies it, and all are tried before a match fails. For alternatives of the whole pattern it is the
 * largest of them.
 */
function waysToFit(text: string): number {
  let worst = 1;
  let ways = 1;
  const groups: number[] = [];
  let before = "";
  for (let i = 0; i < text.length; i++) {
    const one = text[i]!;
    if (one === "\\") i++;
    else if (one === "[") {
      for (i++; i < text.length && text[i] !== "]"; i++) if (text[i] === "\\") i++;
    } else if (one === "(") {
      groups.push(1);
      if (text[i + 1] === "?") i++;
    } else if (one === ")") ways *= groups.pop() ?? 1;
    else if (one === "|") {
      if (groups.length > 0) groups[groups.length - 1]!++;
      else {
        worst = Math.max(worst, ways);
        ways = 1;
      }
    } else if (one === "?" && before !== "*" && before !== "+") ways *= 2;
    before = one;
  }
  return Math.max(worst, ways);
}

/** Returns matchers as people write them: `severity=critical, wallet=~mm-.*`. */
export function matchersText(wanted: Matchers): string {
  const parts = Object.entries(wanted).map(([name, one]) => {
    if ("in" in one) return `${name}=${one.in.join("|")}`;
    if ("notIn" in one) return `${name}!=${one.notIn.join("|")}`;
    return "matches" in one ? `${name}=~${one.matches}` : `${name}!~${one.notMatches}`;
  });
  return parts.length === 0 ? "everything" : parts.join(", ");
}

export class Wrong {
  readonly wrong: string;
  constructor(wrong: string) {
    this.wrong = wrong;
  }
}

export function isWrong(found: Matchers | Wrong): found is Wrong {
  return found instanceof Wrong;
}

/**
 * Parses matchers: `wallet=main`, `severity=warning,info`, `rule!=Blind`, `wallet=~mm-.*`, `symbol!~X.*`.
 * @returns the matchers, or the error in the first text that is none
 */
export function parseMatchers(texts: readonly string[]): Matchers | Wrong {
  const raw: Record<string, unknown> = {};
  for (const text of texts) {
    const [, name, operator, value] = /^([A-Za-z_][\w-]*)(=~|!~|!=|=)(.*)$/s.exec(text.trim()) ?? [];
    if (name === undefined || value === undefined || name === "__proto__")
      return new Wrong(
        `"${text}" is no matcher; they look like wallet=main, severity=warning,info, rule!=Blind, wallet=~mm-.*`,
      );
    if (Object.hasOwn(raw, name)) return new Wrong(`${name} is given twice`);
    const values = value.split(",").map((one) => one.trim());
    raw[name] =
      operator === "="
        ? values
        : operator === "!="
          ? { not: values }
          : operator === "=~"
            ? { matches: value }
            : { notMatches: value };
  }
  const parsed = matchSettings.safeParse(raw);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const inner =
    issue.code === "invalid_union" ? issue.errors.flat().find((one) => one.code === "custom") : issue;
  return new Wrong(`${issue.path.join(".")}: ${inner?.message ?? issue.message}`);
}
