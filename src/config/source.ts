/**
 * A configuration on its way from text to values: sections are read by the schemas of the rooms that they belong to, and
 * every mistake is gathered with its place, the schemas' as well as those of whoever compares sections with each other.
 */
import path from "node:path";
import type { z } from "zod";
import { nearestName } from "../domain/nearest.ts";
import { offsetInScalar } from "../domain/yaml-place.ts";
import { readTextFile } from "../files/index.ts";
import { misreadPaths, mistakesOf, type Path, parseQuietly } from "./issues.ts";
import type { ConfigProblem, ConfigWarning } from "./problem.ts";
import { type Entry, type MappingEntry, parseTree, plainValue, shownKey } from "./tree.ts";
import type { Environment } from "./variables.ts";

export type { Path } from "./issues.ts";

/** A setting that may be given as `…File` instead. Its path may hold `*` for any key or place in a list. */
export interface FileSetting {
  readonly path: readonly string[];
  /** Never repeated, and its file has to be its owner's alone. */
  readonly secret: boolean;
  /** Another process reads the file: its name stands for the value. */
  readonly unread?: boolean;
}

export interface SourceInput {
  readonly text: string;
  /** As people name it, in problems. */
  readonly file: string;
  /** Absolute; what relative paths in the configuration are relative to. */
  readonly folder: string;
  readonly env: Environment;
  readonly fileSettings: readonly FileSetting[];
  /** The reason why a secret must not stand in the file, as the end of a sentence that begins with its name. */
  readonly exposed?: string | null;
}

export interface ProblemExtra {
  readonly allowed?: readonly string[];
  readonly nearest?: string | null;
  /** The key is meant, not its value. */
  readonly atKey?: boolean;
}

const largestSecret = 64 * 1_024;
/** Nobody reads further; a binary file has a problem in every line. */
const maxProblems = 100;

export class ConfigSource {
  readonly file: string;
  readonly folder: string;
  readonly #home: string | undefined;
  readonly #root: Entry | null;
  readonly #text: string;
  readonly #lines: readonly number[];
  readonly #hidden: Set<string>;
  readonly #exposed: string | null;
  readonly #problems: ConfigProblem[] = [];
  /** The sections of mistakes that were found before any path was read. */
  readonly #sections = new WeakMap<ConfigProblem, string>();
  readonly #warnings: ConfigWarning[] = [];

  constructor(input: SourceInput) {
    this.file = input.file;
    this.folder = input.folder;
    this.#exposed = input.exposed ?? null;
    this.#home = input.env.HOME;
    this.#text = input.text;
    this.#lines = lineStarts(input.text);
    const { root, troubles, hidden, empty } = parseTree(input.text, input.env);
    this.#root = root;
    this.#hidden = new Set(hidden);
    for (const one of troubles.slice(0, maxProblems))
      this.#add(one.at, "", one.message, { nearest: one.nearest ?? null }, one.section);
    if (empty) this.#add(null, "", "the file is empty: config.example.yaml shows what it may hold");
    else if (root !== null && root.kind !== "mapping")
      this.#add(root.at, "", "a configuration is a mapping of sections, such as wallets: and channels:");
    for (const setting of input.fileSettings) this.#takeFiles(setting, [], this.#root);
  }

  get problems(): readonly ConfigProblem[] {
    return this.#problems;
  }

  get warnings(): readonly ConfigWarning[] {
    return this.#warnings;
  }

  /** True if a mistake stands in this section of the file. */
  isIn(problem: ConfigProblem, section: string): boolean {
    if (problem.file !== this.file) return false;
    return (this.#sections.get(problem) ?? problem.path.split(/[.[]/, 1)[0]) === section;
  }

  /** False when there is nothing that sections could be read from. */
  get readable(): boolean {
    return this.#root?.kind === "mapping";
  }

  /** Refuses sections that are not offered. */
  allowSections(allowed: readonly string[]): void {
    for (const key of this.keys([])) {
      if (allowed.includes(key)) continue;
      this.problem([key], `unknown section ${shownKey(key)}`, {
        allowed,
        nearest: nearestName(key, allowed),
        atKey: true,
      });
    }
  }

  /**
   * Reads and checks the value at a path; undefined when it is wrong, which is told.
   * @param absent taken where nothing stands; left out, the schema decides
   */
  read<T>(at: Path, schema: z.ZodType<T>, absent?: unknown): T | undefined {
    const entry = this.#entry(at);
    const given = entry === undefined || isNothing(entry) ? undefined : entry;
    const swapped = new Set<Entry>();
    const value = () => (given === undefined ? absent : plainValue(given, swapped));
    let parsed = parseQuietly(schema, value());
    if ("issues" in parsed) {
      for (const path of misreadPaths(parsed.issues)) {
        const found = this.#entry([...at, ...path]);
        if (found?.kind === "scalar" && found.other !== undefined) swapped.add(found);
      }
      if (swapped.size > 0) parsed = parseQuietly(schema, value());
    }
    if ("value" in parsed) return parsed.value;
    for (const one of mistakesOf(parsed.issues, (path) => this.#entry([...at, ...path]))) {
      if (this.isBroken([...at, ...one.path])) continue;
      const message = one.foreign ? this.hide(one.message) : one.message;
      this.problem([...at, ...one.path], message, one);
    }
    return undefined;
  }

  has(at: Path): boolean {
    const entry = this.#entry(at);
    return entry !== undefined && !isNothing(entry);
  }

  /** True if the value there could not be made out, which was reported. */
  isBroken(at: Path): boolean {
    const entry = this.#entry(at);
    return entry?.kind === "scalar" && entry.broken;
  }

  /** The value as it stands, unchecked. */
  raw(at: Path): unknown {
    const entry = this.#entry(at);
    return entry === undefined ? undefined : plainValue(entry, new Set());
  }

  /** As `raw`, with what came from the environment or a secret's file left out. For texts that are kept. */
  rawShown(at: Path): unknown {
    const entry = this.#entry(at);
    return entry === undefined ? undefined : plainValue(withoutHidden(entry), new Set());
  }

  /** The keys of a mapping, or the places of a list as numbers; none where neither stands. */
  keys(at: Path): readonly string[] {
    const entry = this.#entry(at);
    return entry?.kind === "mapping" ? [...entry.entries.keys()] : [];
  }

  length(at: Path): number {
    const entry = this.#entry(at);
    return entry?.kind === "list" ? entry.items.length : 0;
  }

  problem(at: Path, message: string, extra: ProblemExtra = {}): void {
    this.#add(this.#offset(at, extra.atKey ?? false), pathName(at), message, extra);
  }

  /** A problem within a text, at the character at `offset` of its value; at its beginning where that cannot be said. */
  problemIn(at: Path, offset: number, message: string, extra: ProblemExtra = {}): void {
    const entry = this.#entry(at);
    if (entry?.kind !== "scalar" || entry.end === undefined || typeof entry.value !== "string") {
      this.problem(at, message, extra);
      return;
    }
    const raw = this.#text.slice(entry.at, entry.end);
    this.#add(entry.at + offsetInScalar(raw, entry.value, offset), pathName(at), message, extra);
  }

  /** True if the value there came from the environment: nothing of it may be repeated. */
  isHidden(at: Path): boolean {
    const entry = this.#entry(at);
    return entry?.kind === "scalar" && entry.hidden;
  }

  /** A problem at a path, told by whoever found it and not kept here. */
  problemAt(at: Path, message: string): ConfigProblem {
    const offset = this.#offset(at, false);
    const place = offset === null ? { line: 0, column: 0 } : this.#position(offset);
    const path = pathName(at);
    return { file: this.file, ...place, path, message, allowed: [], nearest: null, source: "" };
  }

  /** Warns of a setting that is no mistake and yet worth a word. Nothing hidden is in it. */
  warn(at: Path, message: string): void {
    const offset = this.#offset(at, true);
    const line = offset === null ? 0 : this.#position(offset).line;
    this.addWarning({ file: this.file, line, path: pathName(at), message });
  }

  addWarning(warning: ConfigWarning): void {
    this.#warnings.push({ ...warning, message: this.hide(warning.message) });
  }

  /** A problem of another file, or of this one as a whole. */
  add(problem: ConfigProblem): void {
    if (this.#problems.length < maxProblems - 1) this.#problems.push(problem);
    else if (this.#problems.length < maxProblems)
      this.#problems.push({
        ...{ file: this.file, line: 0, column: 0, path: "", allowed: [], nearest: null, source: "" },
        message: `more than ${maxProblems - 1} mistakes: mend some, then look again`,
      });
  }

  /** The place of a path, as `file:line`. */
  placeName(at: Path): string {
    const offset = this.#offset(at, true);
    return offset === null ? this.file : `${this.file}:${this.#position(offset).line}`;
  }

  /** The file that a setting names. */
  resolve(name: string): string {
    const home = this.#home;
    if (home !== undefined && (name === "~" || name.startsWith("~/"))) return path.join(home, name.slice(1));
    return path.resolve(this.folder, name);
  }

  /** The text without anything that came from the environment or from where secrets stand. */
  hide(text: string): string {
    let result = text;
    for (const secret of [...this.#hidden].sort((a, b) => b.length - a.length)) {
      // Shorter ones are no secrets, and cutting them out would leave gibberish.
      if (secret.length >= 4) result = result.replaceAll(secret, "(not shown)");
    }
    return result;
  }

  #add(
    offset: number | null,
    path: string,
    message: string,
    extra: ProblemExtra = {},
    section?: string,
  ): void {
    const place = offset === null ? { line: 0, column: 0 } : this.#position(offset);
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
    const problem = { file: this.file, ...place, path, message, allowed, nearest, source: "" };
    if (section !== undefined) this.#sections.set(problem, section);
    this.add(problem);
  }

  #entry(at: Path): Entry | undefined {
    let entry: Entry | undefined = this.#root ?? undefined;
    for (const step of at) {
      if (entry?.kind === "mapping") entry = entry.entries.get(String(step))?.entry;
      else if (entry?.kind === "list") entry = typeof step === "number" ? entry.items[step] : undefined;
      else return undefined;
    }
    return entry;
  }

  /** The offset of the value at a path, else of its nearest ancestor's key; null when not even a section is there. */
  #offset(at: Path, atKey: boolean): number | null {
    let entry: Entry | undefined = this.#root ?? undefined;
    let offset: number | null = null;
    for (const step of at) {
      let keyAt: number | null = null;
      let next: Entry | undefined;
      if (entry?.kind === "mapping") {
        const found = entry.entries.get(String(step));
        next = found?.entry;
        keyAt = found?.keyAt ?? null;
      } else if (entry?.kind === "list" && typeof step === "number") {
        next = entry.items[step];
        keyAt = next?.at ?? null;
      }
      if (next === undefined) return offset;
      offset = keyAt;
      entry = next;
    }
    if (atKey || entry === undefined || isNothing(entry)) return offset;
    // A mapping or list on lines of its own is best known by its key.
    return entry.kind === "scalar" ? entry.at : (offset ?? entry.at);
  }

  #position(offset: number): { line: number; column: number } {
    let low = 0;
    let high = this.#lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#lines[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - this.#lines[low]! + 1 };
  }

  #takeFiles(setting: FileSetting, at: Path, entry: Entry | null): void {
    if (entry === null) return;
    const [step, ...rest] = setting.path.slice(at.length);
    if (step === undefined) return;
    if (step === "*") {
      if (entry.kind === "list")
        for (const [index, item] of entry.items.entries()) this.#takeFiles(setting, [...at, index], item);
      else if (entry.kind === "mapping")
        for (const [key, { entry: item }] of entry.entries) this.#takeFiles(setting, [...at, key], item);
      return;
    }
    if (entry.kind !== "mapping") return;
    if (rest.length > 0) this.#takeFiles(setting, [...at, step], entry.entries.get(step)?.entry ?? null);
    else this.#takeFile(setting, at, step, entry);
  }

  #takeFile(setting: FileSetting, at: Path, key: string, mapping: MappingEntry): void {
    const given = mapping.entries.get(key);
    const fileKey = `${key}File`;
    if (given !== undefined && given.entry.kind === "scalar" && setting.secret) {
      const { value, hidden } = given.entry;
      if (typeof value === "string") {
        this.#hidden.add(value);
        if (this.#exposed !== null && !hidden && isSecret(value))
          this.problem(
            [...at, key],
            `is a secret: keep it in a \${VARIABLE}, in a file (${fileKey}), or in a configuration that is yours alone; this one ${this.#exposed}`,
          );
      }
      mapping.entries.set(key, { ...given, entry: { ...given.entry, hidden: true } });
    }
    const named = mapping.entries.get(fileKey);
    if (named === undefined) return;
    const { keyAt, entry } = named;
    const place = [...at, fileKey];
    const put = (value: string, broken: boolean) => {
      mapping.entries.delete(fileKey);
      if (given !== undefined) return;
      mapping.entries.set(key, {
        keyAt,
        entry: { kind: "scalar", at: entry.at, value, other: undefined, hidden: setting.secret, broken },
      });
    };
    if (given !== undefined) {
      this.problem(place, `${key} and ${fileKey} are both given: one is enough`, { atKey: true });
    } else if (entry.kind === "scalar" && entry.broken) {
      // Told where the variable in it was looked up.
    } else if (entry.kind !== "scalar" || typeof entry.value !== "string" || entry.value === "") {
      this.problem(place, "expected the name of a file");
    } else {
      const name = this.resolve(entry.value);
      if (setting.unread === true) {
        put(name, false);
        return;
      }
      const file = readTextFile(name, { largestBytes: largestSecret, secret: setting.secret });
      if ("wrong" in file) {
        this.problem(place, this.hide(`${name} ${file.wrong}`));
      } else {
        // Editors end a file with a line break that is no part of the secret.
        const text = file.text.replace(/\r?\n$/, "");
        if (text === "") this.problem(place, `${name} is empty`);
        if (setting.secret && text !== "") this.#hidden.add(text);
        put(text, text === "");
        return;
      }
    }
    put("", true);
  }
}

/** `wallets[0].name`. Keys that are no names are not repeated. */
export function pathName(at: Path): string {
  return at.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    return text === "" ? shownKey(step) : `${text}.${shownKey(step)}`;
  }, "");
}

function isNothing(entry: Entry): boolean {
  return entry.kind === "scalar" && entry.value === null;
}

/** An address is one where it holds credentials, a query, or a part of its path that nobody guesses. */
function isSecret(value: string): boolean {
  if (!URL.canParse(value) || !/^https?:/.test(value)) return value !== "";
  const { username, password, search, pathname } = new URL(value);
  return username + password + search !== "" || /[\w.~%-]{16,}/.test(pathname);
}

function withoutHidden(entry: Entry): Entry {
  switch (entry.kind) {
    case "scalar":
      return entry.hidden ? { ...entry, value: "(not shown)" } : entry;
    case "list":
      return { ...entry, items: entry.items.map(withoutHidden) };
    case "mapping":
      return {
        ...entry,
        entries: new Map(
          [...entry.entries].map(([key, one]) => [key, { ...one, entry: withoutHidden(one.entry) }]),
        ),
      };
  }
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
