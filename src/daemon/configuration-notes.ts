import type { Clock } from "../domain/clock.ts";
import { CommitFailed } from "../domain/ports.ts";
import { changes, type Milestone } from "../domain/stored/changes.ts";
import type { History } from "../history/index.ts";

/** Delay before a failed write is tried again, ms. */
const retryMs = 5_000;

/**
 * Records the rules and routes in use as milestones, when they differ from the previous ones. They are in use even if
 * the write fails; it is repeated later.
 */
export class ConfigurationNotes {
  readonly #store: Pick<History, "commit" | "milestones">;
  readonly #clock: Clock;
  readonly #onBroken: (error: unknown) => void;
  #waiting: readonly Milestone[] = [];
  #cancel: () => void = () => {};
  /** Writes run one after the other, so that nothing is written twice. */
  #writing: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(
    store: Pick<History, "commit" | "milestones">,
    clock: Clock,
    onBroken: (error: unknown) => void,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#onBroken = onBroken;
  }

  async note(
    settings: { readonly ruleSetText: string; readonly routing: unknown },
    atMs: number,
  ): Promise<void> {
    const sets = [
      ["ruleSet", settings.ruleSetText],
      ["routingSet", JSON.stringify(settings.routing)],
    ] as const;
    for (const [kind, value] of sets) {
      const stored = (await this.#store.milestones(kind)).at(-1)?.value;
      const newest = this.#waiting.findLast((one) => one.kind === kind)?.value ?? stored;
      if (newest !== value) this.#waiting = [...this.#waiting, { atMs, kind, value }];
    }
    await this.#write();
  }

  /** Tries once more to write. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#write();
  }

  #write(): Promise<void> {
    this.#writing = this.#writing.catch(() => {}).then(() => this.#writeNow());
    return this.#writing;
  }

  async #writeNow(): Promise<void> {
    this.#cancel();
    const milestones = this.#waiting;
    if (milestones.length === 0) return;
    try {
      await this.#store.commit([changes({ milestones })]);
    } catch (error) {
      if (!(error instanceof CommitFailed)) throw error;
      if (!this.#stopped)
        this.#cancel = this.#clock.after(retryMs, () => void this.#write().catch(this.#onBroken));
      return;
    }
    this.#waiting = this.#waiting.filter((one) => !milestones.includes(one));
  }
}
