/**
 * Translates a schema's issues into sentences: the place, the value found, and the allowed values. zod's standard texts
 * are not used, because they speak of objects and strings and omit the value found.
 */
import { z } from "zod";
import { nearestName } from "../domain/text/nearest.ts";
import { type Entry, shownKey } from "./tree.ts";

export type Path = readonly (string | number)[];

export interface Mistake {
  readonly path: Path;
  /** True if the mistake is in the key, not its value. */
  readonly atKey: boolean;
  readonly message: string;
  readonly allowed: readonly string[];
  readonly nearest: string | null;
  /** True if the message contains text of a schema, which may repeat the input. */
  readonly foreign: boolean;
}

type Issue = z.core.$ZodIssue;

/** The allowed keys of a mapping, by zod's list of its refused keys. */
const allowedKeys = new WeakMap<object, readonly string[]>();

/**
 * Parses with standard texts turned off (an empty message stands for our own text), and records the allowed keys. The
 * setting is zod's global one; it is restored after the call, and also applies to schemas that parse inside a
 * transform.
 */
export function parseQuietly<T>(
  schema: z.ZodType<T>,
  value: unknown,
): { readonly value: T } | { readonly issues: readonly Issue[] } {
  const before = z.config().customError;
  z.config({
    customError: (issue) => {
      const shape: unknown = (issue.inst as { shape?: unknown } | undefined)?.shape;
      if (issue.code === "unrecognized_keys" && typeof shape === "object" && shape !== null)
        allowedKeys.set(issue.keys as unknown as object, Object.keys(shape));
      return "";
    },
  });
  try {
    const parsed = schema.safeParse(value);
    return parsed.success ? { value: parsed.data } : { issues: parsed.error.issues };
  } finally {
    z.config({ customError: before });
  }
}

/** Returns the paths at which a schema may expect the other type of a scalar. */
export function misreadPaths(issues: readonly Issue[]): Path[] {
  return issues.flatMap((issue) => {
    const path = pathOf(issue);
    if (issue.code === "invalid_union") {
      const inner = issue.errors.flatMap((branch) => misreadPaths(branch));
      return [path, ...inner.map((below) => [...path, ...below])];
    }
    // A fraction in place of a whole number is a number, and has no other type.
    if (issue.code === "invalid_type" && issue.expected === "int") return [];
    return issue.code === "invalid_type" || issue.code === "invalid_value" ? [path] : [];
  });
}

/** @param at returns the entry at a path below the parsed one; undefined: there is none */
export function mistakesOf(issues: readonly Issue[], at: (path: Path) => Entry | undefined): Mistake[] {
  return issues.flatMap((issue) => mistakeOf(issue, [], at));
}

function mistakeOf(issue: Issue, base: Path, at: (path: Path) => Entry | undefined): Mistake[] {
  const path = [...base, ...pathOf(issue)];
  if (issue.code === "unrecognized_keys") {
    const allowed = allowedKeys.get(issue.keys) ?? [];
    return issue.keys.map((key) => ({
      path: [...path, key],
      atKey: true,
      message: `unknown key ${shownKey(key)}${shownKey(key) === key ? "" : ": is a space missing after a colon?"}`,
      allowed,
      nearest: nearestName(key, allowed),
      foreign: false,
    }));
  }
  if (issue.code === "invalid_union") {
    const best = bestBranch(issue.errors);
    if (best !== null) return best.flatMap((inner) => mistakeOf(inner, path, at));
  }
  if (issue.code === "invalid_key") {
    const said = issue.issues.find((one) => one.message !== "")?.message ?? "this is no name for a key here";
    return [{ path, atKey: true, message: said, allowed: [], nearest: null, foreign: true }];
  }
  const entry = at(path);
  const own = issue.message === "";
  const expected = own ? expectedOf(issue) : "";
  const values = issue.code === "invalid_value" ? issue.values.map(String) : [];
  const written = entry?.kind === "scalar" && !entry.hidden ? String(entry.value) : "";
  const common = { path, atKey: false, allowed: [], nearest: nearestName(written, values) };
  if (entry === undefined) {
    const wish = own ? `expected ${expected}` : issue.message;
    return [{ ...common, message: `missing: ${wish}`, foreign: !own }];
  }
  if (own) return [{ ...common, message: `expected ${expected}, found ${foundOf(entry)}`, foreign: false }];
  // Some schemas state the found value themselves.
  const statesFound = /\bfound\b|\bis no\b/.test(issue.message) || entry.kind !== "scalar";
  return [
    {
      ...common,
      message: statesFound ? issue.message : `${issue.message}, found ${foundOf(entry)}`,
      foreign: true,
    },
  ];
}

function pathOf(issue: Issue): Path {
  return issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
}

/** Selects the branch of a union that matches the value but for mistakes deeper in it; null if none does. */
function bestBranch(branches: readonly (readonly Issue[])[]): readonly Issue[] | null {
  // An issue of the value as a whole shows that another branch was meant.
  const matching = branches.filter((issues) => issues.length > 0 && !issues.some(isOfWholeValue));
  return matching.reduce<readonly Issue[] | null>(
    (best, issues) => (best === null || issues.length < best.length ? issues : best),
    null,
  );
}

function isOfWholeValue({ path, code }: Issue): boolean {
  return path.length === 0 && code !== "unrecognized_keys" && code !== "too_small" && code !== "too_big";
}

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "a mapping (key: value)",
  record: "a mapping (key: value)",
  array: "a list",
};

function expectedOf(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return kinds[issue.expected] ?? issue.expected;
    case "invalid_value":
      return orList(issue.values.map(String));
    case "invalid_union": {
      const wishes = issue.errors.flatMap((branch) =>
        branch.filter((one) => one.path.length === 0).map((one) => one.message || expectedOf(one)),
      );
      const words = wishes.flatMap((wish) =>
        wish === kinds.boolean ? ["true", "false"] : [wish.replace(/^expected /, "")],
      );
      return orList([...new Set(words)]);
    }
    case "too_small":
      return sizeText(
        issue.origin,
        issue.inclusive === false ? "more than" : "at least",
        Number(issue.minimum),
      );
    case "too_big":
      return sizeText(
        issue.origin,
        issue.inclusive === false ? "less than" : "at most",
        Number(issue.maximum),
      );
    case "invalid_format":
      return issue.format === "url"
        ? "a URL such as https://example.org"
        : `text of the form ${issue.format}`;
    case "not_multiple_of":
      return `a multiple of ${issue.divisor}`;
    default:
      return "something else";
  }
}

function sizeText(origin: string, bound: string, size: number): string {
  if (origin === "array") return `a list with ${bound} ${size} ${size === 1 ? "entry" : "entries"}`;
  if (origin === "string") return `a text with ${bound} ${size} ${size === 1 ? "character" : "characters"}`;
  return `${bound} ${size}`;
}

function orList(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

const maxQuote = 40;

/** Describes the value found, as far as it may be repeated. */
export function foundOf(entry: Entry): string {
  switch (entry.kind) {
    case "mapping":
      return "a mapping";
    case "list":
      return entry.items.length === 0 ? "an empty list" : "a list";
    case "scalar": {
      if (entry.value === null) return "nothing";
      if (entry.hidden) return "a value that is not shown";
      if (typeof entry.value !== "string") return String(entry.other ?? entry.value);
      if (entry.value === "") return "an empty text";
      if (entry.value.includes("://")) return shownAddress(entry.value);
      const quotable = entry.value.length <= maxQuote && !/[\r\n]/.test(entry.value);
      return quotable ? `"${entry.value}"` : `a text of ${entry.value.length} characters`;
    }
  }
}

/** A URL up to its host. Its other parts may be a password or a key. */
function shownAddress(text: string): string {
  if (!/^(https?|wss?):/i.test(text) || !URL.canParse(text)) return "an address that is not shown";
  const { protocol, host, username, password, pathname, search, hash } = new URL(text);
  const user = username + password === "" ? "" : "…@";
  const rest = pathname + search + hash;
  const shown = `${protocol}//${user}${host}${/^\/?$/.test(rest) ? "" : "/…"}`;
  return shown.length <= maxQuote ? `"${shown}"` : "an address that is not shown";
}
