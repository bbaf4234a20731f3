/** The rules by which a running daemon judges: a reload, or another pace, puts a new watch in the place of the old one. */
import { prepareRestore } from "../ingest/restore-watch.ts";
import type { EngineParts, StoreParts } from "./assembly/parts.ts";
import { type Pace, rulesAtPace } from "./settings/pace.ts";
import type { DaemonSettings } from "./settings.ts";

interface JudgingParts extends StoreParts, EngineParts {
  readonly settings: DaemonSettings;
}

export class Judging {
  readonly #parts: JudgingParts;
  readonly #pace: Pace;
  #newest: DaemonSettings;
  #replaced: Promise<unknown> = Promise.resolve();

  constructor(parts: JudgingParts, pace: Pace) {
    this.#parts = parts;
    this.#pace = pace;
    this.#newest = parts.settings;
  }

  /** Judges by other rules, and goes on where it was. One at a time. @param next default: the newest */
  by(next?: DaemonSettings): Promise<void> {
    const done = this.#replaced.then(() => this.#replace(next ?? this.#newest));
    this.#replaced = done.catch(() => {});
    return done;
  }

  async #replace(next: DaemonSettings): Promise<void> {
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
