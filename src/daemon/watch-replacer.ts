/** Replaces the watch of a running daemon after a reload of the rules, or when the ages of data change. */
import { prepareRestore } from "../ingest/restore-watch.ts";
import type { EngineParts, StoreParts } from "./assembly/parts.ts";
import { type Pace, rulesAtPace } from "./settings/pace.ts";
import type { DaemonSettings } from "./settings.ts";

interface ReplacerParts extends StoreParts, EngineParts {
  readonly settings: DaemonSettings;
}

export class WatchReplacer {
  readonly #parts: ReplacerParts;
  readonly #pace: Pace;
  #newest: DaemonSettings;
  #replaced: Promise<unknown> = Promise.resolve();

  constructor(parts: ReplacerParts, pace: Pace) {
    this.#parts = parts;
    this.#pace = pace;
    this.#newest = parts.settings;
  }

  /**
   * Replaces the watch; it keeps the state of the old one. Replacements run one at a time.
   * @param next the new settings; default: the newest
   */
  replace(next?: DaemonSettings): Promise<void> {
    const done = this.#replaced.then(() => this.#replaceNow(next ?? this.#newest));
    this.#replaced = done.catch(() => {});
    return done;
  }

  async #replaceNow(next: DaemonSettings): Promise<void> {
    const { settings, store, clock, ingest, watchSettings } = this.#parts;
    const ruleSet = rulesAtPace(settings, next, this.#pace.ages, clock.nowMs());
    const build = await prepareRestore(
      { ...watchSettings(next), ruleSet, reloaded: true },
      store,
      clock.nowMs(),
    );
    await ingest.replace((before) => build(clock.nowMs(), before));
    this.#newest = next;
  }
}
