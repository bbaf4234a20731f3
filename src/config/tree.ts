/**
 * Parses YAML to a tree whose values have their positions. Supports what a configuration needs: mappings with text
 * keys, lists, and scalars. Aliases (which could expand without limit), custom tags and further documents are refused.
 */
import { type ErrorCode, isAlias, isMap, isScalar, isSeq, type Node, type Scalar } from "yaml";
import { nearestName } from "../domain/text/nearest.ts";
import { parsedYaml, tooManyParts } from "../domain/text/yaml.ts";
import { type Environment, hasMarks, markVariables, substitute } from "./variables.ts";

export type ScalarValue = string | number | boolean | null;

export interface ScalarEntry {
  readonly kind: "scalar";
  /** Offset in the text. */
  readonly at: number;
  /** End offset; left out: the value does not occur literally in the text. */
  readonly end?: number;
  readonly value: ScalarValue;
  /**
   * The scalar as the other type: `007` is a number and the text "007"; a variable that holds 587 is a text and the
   * number. A schema that expects the other type uses it.
   */
  readonly other: ScalarValue | undefined;
  /** From the environment or a secret file, or in a place for secrets: never shown. */
  readonly hidden: boolean;
  /** Invalid; reported already. */
  readonly broken: boolean;
}

export interface MappingEntry {
  readonly kind: "mapping";
  readonly at: number;
  readonly entries: Map<string, { readonly keyAt: number; readonly entry: Entry }>;
}

export interface ListEntry {
  readonly kind: "list";
  readonly at: number;
  readonly items: readonly Entry[];
}

export type Entry = ScalarEntry | MappingEntry | ListEntry;

export interface TreeProblem {
  readonly at: number;
  readonly message: string;
  readonly nearest?: string | null;
  /** Top-level key above it; left out: none. */
  readonly section?: string;
}

export interface Tree {
  /** Null if the text is empty or cannot be parsed. */
  readonly root: Entry | null;
  readonly troubles: readonly TreeProblem[];
  /** Texts that must not be shown. */
  readonly hidden: readonly string[];
  /** True if the text has no YAML content. */
  readonly empty: boolean;
}

/** Messages by the parser's error code. The parser's own messages may quote a line, which may contain a secret. */
const syntaxMessages: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_ALIAS: "an alias (*name) is not taken: write the value out, or put it in quotes",
  BAD_DQ_ESCAPE: "a \\ inside \"…\" begins an escape that YAML does not know: use '…'",
  BAD_INDENT:
    "this line fits none above it: is it indented as it should be, and is every bracket and quote closed?",
  BAD_SCALAR_START: "a value cannot begin with this character: put it in quotes",
  BLOCK_AS_IMPLICIT_KEY:
    "a mapping cannot begin here: is a line break missing, or does a text with : need quotes?",
  BLOCK_IN_FLOW: "inside { … } or [ … ] an indented block cannot stand",
  KEY_OVER_1024_CHARS: "this key is far too long: is a space missing after the colon?",
  MISSING_CHAR: "something is missing before here: a closing quote, bracket or brace, a colon or a comma",
  MULTILINE_IMPLICIT_KEY:
    "a key has to stand on one line: is a colon missing, or a space after it, or a closing quote?",
  MULTIPLE_DOCS: "a second document begins here (---): a configuration is one",
  RESOURCE_EXHAUSTION: "this is nested too deeply",
  TAB_AS_INDENT: "a tab cannot indent in YAML: use spaces",
  TAG_RESOLVE_FAILED: "a tag (!name) is not taken",
};

/**
 * Message for MISSING_CHAR. The parser uses this code for everything that may be missing; its messages are constant and
 * quote nothing.
 */
function missingPartMessage(message: string): string {
  if (message === "Sequence item without - indicator")
    return "this line is indented otherwise than what it belongs to: a list's items begin with - in one column, their keys stand in another";
  if (message.startsWith("Missing closing")) return "a closing quote is missing before here";
  return syntaxMessages.MISSING_CHAR!;
}

const maxDepth = 50;

export function parseTree(text: string, env: Environment): Tree {
  const troubles: TreeProblem[] = [];
  const hidden: string[] = [];
  const none = (empty: boolean) => ({ root: null, troubles, hidden, empty });
  // \p{Cc} are the control characters; tabs and line ends are permitted.
  const control = /(?![\t\n\r])\p{Cc}|[\uE000-\uE002]/u.exec(text);
  if (control !== null) {
    troubles.push({
      at: control.index,
      message: "a control character stands here: the file is no plain text",
    });
    return none(false);
  }
  let contents: Node | null;
  try {
    const document = parsedYaml(markVariables(text), { prettyErrors: false, uniqueKeys: false });
    if (document === null) {
      troubles.push({ at: 0, message: tooManyParts });
      return none(false);
    }
    const seen = new Set<number>();
    for (const { code, pos, message } of [...document.errors, ...document.warnings]) {
      const shownText =
        code === "MISSING_CHAR"
          ? missingPartMessage(message)
          : (syntaxMessages[code] ?? "this is no valid YAML");
      if (!seen.has(pos[0])) troubles.push({ at: pos[0], message: shownText });
      seen.add(pos[0]);
    }
    if (troubles.length > 0) return none(false);
    contents = document.contents;
  } catch {
    // The parser threw; its message may quote the text.
    troubles.push({ at: 0, message: "the file cannot be read as YAML" });
    return none(false);
  }
  const empty = contents === null || (isScalar(contents) && contents.value === null);
  if (empty) return none(true);
  const trouble = (one: TreeProblem) => void troubles.push(one);
  const root = entryOf(contents as Node, 0, { env, hidden, trouble }, 0);
  return { root, troubles, hidden, empty: false };
}

interface Reading {
  readonly env: Environment;
  readonly hidden: string[];
  readonly trouble: (one: TreeProblem) => void;
}

function entryOf(node: Node | null, fallbackAt: number, reading: Reading, depth: number): Entry {
  const at = node?.range?.[0] ?? fallbackAt;
  const nothing: Entry = {
    kind: "scalar",
    at: fallbackAt,
    value: null,
    other: undefined,
    hidden: false,
    broken: false,
  };
  if (node === null) return nothing;
  if (depth > maxDepth) {
    reading.trouble({ at, message: `this is nested more than ${maxDepth} levels deep` });
    return nothing;
  }
  if (isAlias(node)) {
    reading.trouble({ at, message: syntaxMessages.BAD_ALIAS! });
    return nothing;
  }
  if (isScalar(node)) return scalarOf(node, at, fallbackAt, reading);
  if (isSeq(node)) {
    const items = node.items.map((item) => entryOf(item as Node | null, at, reading, depth + 1));
    return { kind: "list", at, items };
  }
  if (!isMap(node)) return nothing;
  const entries: MappingEntry["entries"] = new Map();
  for (const pair of node.items) {
    const key = pair.key as Node | null;
    const keyAt = key?.range?.[0] ?? at;
    const name = keyName(key);
    if (typeof name !== "string") {
      reading.trouble({ at: keyAt, message: name.wrong });
      continue;
    }
    if (entries.has(name)) {
      reading.trouble({ at: keyAt, message: `the key ${shownKey(name)} stands here for the second time` });
      continue;
    }
    const trouble = (one: TreeProblem) => reading.trouble({ ...one, section: name });
    const inside = depth === 0 ? { ...reading, trouble } : reading;
    entries.set(name, { keyAt, entry: entryOf(pair.value as Node | null, keyAt, inside, depth + 1) });
  }
  return { kind: "mapping", at, entries };
}

function keyName(key: Node | null): string | { readonly wrong: string } {
  if (isAlias(key)) return { wrong: syntaxMessages.BAD_ALIAS! };
  if (!isScalar(key)) return { wrong: "a key has to be a name" };
  const name = typeof key.value === "string" ? key.value : (key.source ?? String(key.value));
  if (hasMarks(name)) return { wrong: "a variable is taken in values only, not in keys" };
  if (name === "<<") return { wrong: "<< is not taken: write the keys out" };
  if (name === "" || name === "__proto__") return { wrong: "a key has to be a name" };
  return name;
}

function scalarOf(node: Scalar, at: number, fallbackAt: number, reading: Reading): Entry {
  const { value } = node;
  if (value === null || value === undefined) {
    return { kind: "scalar", at: fallbackAt, value: null, other: undefined, hidden: false, broken: false };
  }
  if (typeof value === "number" || typeof value === "boolean") {
    return { kind: "scalar", at, value, other: node.source ?? String(value), hidden: false, broken: false };
  }
  if (typeof value !== "string") {
    reading.trouble({ at, message: "a text, a number, true or false is expected here" });
    return { kind: "scalar", at, value: null, other: undefined, hidden: false, broken: true };
  }
  if (!hasMarks(value)) {
    const end = node.range?.[1] ?? at;
    return { kind: "scalar", at, end, value, other: undefined, hidden: false, broken: false };
  }
  const { text, values, whole, unset, badNames } = substitute(value, reading.env);
  for (const name of unset) {
    reading.trouble({
      at,
      message: `the environment variable ${name} is not set`,
      nearest: nearestName(name, Object.keys(reading.env)),
    });
  }
  for (const name of badNames) {
    const shown = name.length > 40 ? "what stands between the braces" : `"${name}"`;
    reading.trouble({
      at,
      message: `${shown} is no name of an environment variable: letters, digits and _ are allowed`,
    });
  }
  for (const hidden of values) reading.hidden.push(hidden);
  if (values.length > 0) reading.hidden.push(text);
  const other = whole && node.type === "PLAIN" ? plainScalar(text) : undefined;
  const broken = unset.length + badNames.length > 0;
  return { kind: "scalar", at, value: text, other, hidden: values.length > 0, broken };
}

/** The number or boolean that YAML would make of a plain text; undefined: neither. */
function plainScalar(text: string): number | boolean | undefined {
  if (text === "true" || text === "false") return text === "true";
  if (!/^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isFinite(number) ? number : undefined;
}

/** A key for messages. A key that is not a name is not shown; it may be a secret with a missing space. */
export function shownKey(key: string): string {
  return /^[A-Za-z0-9_./-]{1,40}$/.test(key) ? key : "(not shown)";
}

/** Converts entries to plain values for schemas. Entries in `swap` have their other type. */
export function plainValue(entry: Entry, swap: ReadonlySet<Entry>): unknown {
  switch (entry.kind) {
    case "scalar":
      return swap.has(entry) && entry.other !== undefined ? entry.other : entry.value;
    case "list":
      return entry.items.map((item) => plainValue(item, swap));
    case "mapping":
      return Object.fromEntries(
        [...entry.entries].map(([key, { entry: inner }]) => [key, plainValue(inner, swap)]),
      );
  }
}
