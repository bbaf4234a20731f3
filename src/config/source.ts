/**
 * A configuration on its way from text to values: sections are read by the schemas of the rooms that they belong to, and
 * every mistake is gathered with its place, the schemas' as well as those of whoever compares sections with each other.
 */

import type { z } from "zod";
import { nearestName } from "../domain/text/nearest.ts";
import { offsetInScalar } from "../domain/text/yaml-place.ts";
import { HiddenTexts, withoutHidden } from "./hidden-texts.ts";
import { misreadPaths, mistakesOf, type Path, parseQuietly } from "./issues.ts";
import type { ConfigProblem, ConfigWarning } from "./problem.ts";
import { type FileSetting, resolveFile, SettingFiles } from "./setting-files.ts";
import { maxProblems, type ProblemExtra, pathName, SourceMistakes } from "./source-mistakes.ts";
import { type Entry, parseTree, plainValue, shownKey } from "./tree.ts";
import { isNothing, TreePlaces } from "./tree-places.ts";
import type { Environment } from "./variables.ts";

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

export class ConfigSource {
  readonly file: string;
  readonly folder: string;
  readonly #home: string | undefined;
  readonly #root: Entry | null;
  readonly #text: string;
  readonly #places: TreePlaces;
  readonly #hidden: HiddenTexts;
  readonly #mistakes: SourceMistakes;
  readonly #warnings: ConfigWarning[] = [];

  constructor(input: SourceInput) {
    this.file = input.file;
    this.folder = input.folder;
    this.#home = input.env.HOME;
    this.#text = input.text;
    const { root, troubles, hidden, empty } = parseTree(input.text, input.env);
    this.#root = root;
    this.#places = new TreePlaces(root, input.text);
    this.#hidden = new HiddenTexts(hidden);
    const mistakes = new SourceMistakes(input.file, this.#places);
    this.#mistakes = mistakes;
    for (const one of troubles.slice(0, maxProblems))
      mistakes.addIn(one.at, "", one.message, { nearest: one.nearest ?? null }, one.section);
    if (empty) mistakes.addIn(null, "", "the file is empty: config.example.yaml shows what it may hold");
    else if (root !== null && root.kind !== "mapping")
      mistakes.addIn(root.at, "", "a configuration is a mapping of sections, such as wallets: and channels:");
    const files = new SettingFiles({
      ...{ mistakes, hidden: this.#hidden, exposed: input.exposed ?? null },
      folder: { folder: input.folder, home: input.env.HOME },
    });
    for (const setting of input.fileSettings) files.take(setting, [], root);
  }

  get problems(): readonly ConfigProblem[] {
    return this.#mistakes.all;
  }

  get warnings(): readonly ConfigWarning[] {
    return this.#warnings;
  }

  /** True if a mistake stands in this section of the file. */
  isIn(problem: ConfigProblem, section: string): boolean {
    return this.#mistakes.isIn(problem, section);
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
    const entry = this.#places.entry(at);
    const given = entry === undefined || isNothing(entry) ? undefined : entry;
    const swapped = new Set<Entry>();
    const value = () => (given === undefined ? absent : plainValue(given, swapped));
    let parsed = parseQuietly(schema, value());
    if ("issues" in parsed) {
      for (const path of misreadPaths(parsed.issues)) {
        const found = this.#places.entry([...at, ...path]);
        if (found?.kind === "scalar" && found.other !== undefined) swapped.add(found);
      }
      if (swapped.size > 0) parsed = parseQuietly(schema, value());
    }
    if ("value" in parsed) return parsed.value;
    for (const one of mistakesOf(parsed.issues, (path) => this.#places.entry([...at, ...path]))) {
      if (this.isBroken([...at, ...one.path])) continue;
      const message = one.foreign ? this.hide(one.message) : one.message;
      this.problem([...at, ...one.path], message, one);
    }
    return undefined;
  }

  has(at: Path): boolean {
    const entry = this.#places.entry(at);
    return entry !== undefined && !isNothing(entry);
  }

  /** True if the value there could not be made out, which was reported. */
  isBroken(at: Path): boolean {
    const entry = this.#places.entry(at);
    return entry?.kind === "scalar" && entry.broken;
  }

  /** The value as it stands, unchecked. */
  raw(at: Path): unknown {
    const entry = this.#places.entry(at);
    return entry === undefined ? undefined : plainValue(entry, new Set());
  }

  /** As `raw`, with what came from the environment or a secret's file left out. For texts that are kept. */
  rawShown(at: Path): unknown {
    const entry = this.#places.entry(at);
    return entry === undefined ? undefined : plainValue(withoutHidden(entry), new Set());
  }

  /** The keys of a mapping, or the places of a list as numbers; none where neither stands. */
  keys(at: Path): readonly string[] {
    const entry = this.#places.entry(at);
    return entry?.kind === "mapping" ? [...entry.entries.keys()] : [];
  }

  length(at: Path): number {
    const entry = this.#places.entry(at);
    return entry?.kind === "list" ? entry.items.length : 0;
  }

  problem(at: Path, message: string, extra: ProblemExtra = {}): void {
    this.#mistakes.addAt(at, message, extra);
  }

  /** A problem within a text, at the character at `offset` of its value; at its beginning where that cannot be said. */
  problemIn(at: Path, offset: number, message: string, extra: ProblemExtra = {}): void {
    const entry = this.#places.entry(at);
    if (entry?.kind !== "scalar" || entry.end === undefined || typeof entry.value !== "string") {
      this.problem(at, message, extra);
      return;
    }
    const raw = this.#text.slice(entry.at, entry.end);
    this.#mistakes.addIn(entry.at + offsetInScalar(raw, entry.value, offset), pathName(at), message, extra);
  }

  /** True if the value there came from the environment: nothing of it may be repeated. */
  isHidden(at: Path): boolean {
    const entry = this.#places.entry(at);
    return entry?.kind === "scalar" && entry.hidden;
  }

  /** A problem at a path, told by whoever found it and not kept here. */
  problemAt(at: Path, message: string): ConfigProblem {
    const offset = this.#places.offset(at, false);
    const place = offset === null ? { line: 0, column: 0 } : this.#places.position(offset);
    const path = pathName(at);
    return { file: this.file, ...place, path, message, allowed: [], nearest: null, source: "" };
  }

  /** Warns of a setting that is no mistake and yet worth a word. Nothing hidden is in it. */
  warn(at: Path, message: string): void {
    const offset = this.#places.offset(at, true);
    const line = offset === null ? 0 : this.#places.position(offset).line;
    this.addWarning({ file: this.file, line, path: pathName(at), message });
  }

  addWarning(warning: ConfigWarning): void {
    this.#warnings.push({ ...warning, message: this.hide(warning.message) });
  }

  /** A problem of another file, or of this one as a whole. */
  add(problem: ConfigProblem): void {
    this.#mistakes.add(problem);
  }

  /** The place of a path, as `file:line`. */
  placeName(at: Path): string {
    const offset = this.#places.offset(at, true);
    return offset === null ? this.file : `${this.file}:${this.#places.position(offset).line}`;
  }

  /** The file that a setting names. */
  resolve(name: string): string {
    return resolveFile(name, { folder: this.folder, home: this.#home });
  }

  /** The text without anything that came from the environment or from where secrets stand. */
  hide(text: string): string {
    return this.#hidden.hide(text);
  }
}
