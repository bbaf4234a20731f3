/** Settings that are given as `…File`: the text of the file takes their place. */

import path from "node:path";
import { readTextFile } from "../files/index.ts";
import type { HiddenTexts } from "./hidden-texts.ts";
import type { Path } from "./issues.ts";
import type { SourceMistakes } from "./source-mistakes.ts";
import type { Entry, MappingEntry } from "./tree.ts";

/** A setting that may be given as `…File` instead. Its path may hold `*` for any key or place in a list. */
export interface FileSetting {
  readonly path: readonly string[];
  /** Never repeated, and its file has to be its owner's alone. */
  readonly secret: boolean;
  /** Another process reads the file: its name stands for the value. */
  readonly unread?: boolean;
}

const largestSecret = 64 * 1_024;

/** The folder that relative names are relative to, and the home that `~` stands for. */
export interface NamedFolder {
  readonly folder: string;
  readonly home: string | undefined;
}

export class SettingFiles {
  readonly #mistakes: SourceMistakes;
  readonly #hidden: HiddenTexts;
  readonly #exposed: string | null;
  readonly #folder: NamedFolder;

  constructor(options: {
    readonly mistakes: SourceMistakes;
    readonly hidden: HiddenTexts;
    /** As of `SourceInput`. */
    readonly exposed: string | null;
    readonly folder: NamedFolder;
  }) {
    this.#mistakes = options.mistakes;
    this.#hidden = options.hidden;
    this.#exposed = options.exposed;
    this.#folder = options.folder;
  }

  /** Puts the texts of files in the place of their names, at a path and below. */
  take(setting: FileSetting, at: Path, entry: Entry | null): void {
    if (entry === null) return;
    const [step, ...rest] = setting.path.slice(at.length);
    if (step === undefined) return;
    if (step === "*") {
      if (entry.kind === "list")
        for (const [index, item] of entry.items.entries()) this.take(setting, [...at, index], item);
      else if (entry.kind === "mapping")
        for (const [key, { entry: item }] of entry.entries) this.take(setting, [...at, key], item);
      return;
    }
    if (entry.kind !== "mapping") return;
    if (rest.length > 0) this.take(setting, [...at, step], entry.entries.get(step)?.entry ?? null);
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
          this.#mistakes.addAt(
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
      this.#mistakes.addAt(place, `${key} and ${fileKey} are both given: one is enough`, { atKey: true });
    } else if (entry.kind === "scalar" && entry.broken) {
      // Told where the variable in it was looked up.
    } else if (entry.kind !== "scalar" || typeof entry.value !== "string" || entry.value === "") {
      this.#mistakes.addAt(place, "expected the name of a file");
    } else {
      const name = resolveFile(entry.value, this.#folder);
      if (setting.unread === true) {
        put(name, false);
        return;
      }
      const file = readTextFile(name, { largestBytes: largestSecret, secret: setting.secret });
      if ("wrong" in file) {
        this.#mistakes.addAt(place, this.#hidden.hide(`${name} ${file.wrong}`));
      } else {
        // Editors end a file with a line break that is no part of the secret.
        const text = file.text.replace(/\r?\n$/, "");
        if (text === "") this.#mistakes.addAt(place, `${name} is empty`);
        if (setting.secret && text !== "") this.#hidden.add(text);
        put(text, text === "");
        return;
      }
    }
    put("", true);
  }
}

/** An address is one where it holds credentials, a query, or a part of its path that nobody guesses. */
function isSecret(value: string): boolean {
  if (!URL.canParse(value) || !/^https?:/.test(value)) return value !== "";
  const { username, password, search, pathname } = new URL(value);
  return username + password + search !== "" || /[\w.~%-]{16,}/.test(pathname);
}

/** The file that a setting names. */
export function resolveFile(name: string, { folder, home }: NamedFolder): string {
  if (home !== undefined && (name === "~" || name.startsWith("~/"))) return path.join(home, name.slice(1));
  return path.resolve(folder, name);
}
