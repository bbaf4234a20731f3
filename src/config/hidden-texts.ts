/** Texts of a configuration that may not be repeated: they came from the environment or from where secrets stand. */
import type { Entry } from "./tree.ts";

export class HiddenTexts {
  readonly #texts: Set<string>;

  constructor(texts: readonly string[]) {
    this.#texts = new Set(texts);
  }

  add(text: string): void {
    this.#texts.add(text);
  }

  /** A text without any of them. */
  hide(text: string): string {
    let result = text;
    for (const secret of [...this.#texts].sort((a, b) => b.length - a.length)) {
      // Shorter ones are no secrets, and cutting them out would leave gibberish.
      if (secret.length >= 4) result = result.replaceAll(secret, "(not shown)");
    }
    return result;
  }
}

/** An entry with what is hidden left out. */
export function withoutHidden(entry: Entry): Entry {
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
