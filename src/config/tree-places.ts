/** The entries of a configuration by their paths, and the places where they stand in its text. */

import type { Path } from "./issues.ts";
import type { Entry } from "./tree.ts";

export class TreePlaces {
  readonly #root: Entry | null;
  readonly #lines: readonly number[];

  constructor(root: Entry | null, text: string) {
    this.#root = root;
    this.#lines = lineStarts(text);
  }

  entry(at: Path): Entry | undefined {
    let entry: Entry | undefined = this.#root ?? undefined;
    for (const step of at) {
      if (entry?.kind === "mapping") entry = entry.entries.get(String(step))?.entry;
      else if (entry?.kind === "list") entry = typeof step === "number" ? entry.items[step] : undefined;
      else return undefined;
    }
    return entry;
  }

  /** The offset of the value at a path, else of its nearest ancestor's key; null when not even a section is there. */
  offset(at: Path, atKey: boolean): number | null {
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

  position(offset: number): { line: number; column: number } {
    let low = 0;
    let high = this.#lines.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#lines[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - this.#lines[low]! + 1 };
  }
}

export function isNothing(entry: Entry): boolean {
  return entry.kind === "scalar" && entry.value === null;
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
