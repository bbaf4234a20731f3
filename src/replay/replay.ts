/**
 * Runs the live `Watch` over past observations, or those of a test, with a new watch at each start of the daemon. Its
 * decisions are kept in memory; nothing is sent or written.
 */

import type { Capacity } from "../domain/alerts/delivery.ts";
import type { Observation } from "../domain/observation.ts";
import type { Changes } from "../domain/stored/changes.ts";
import { nothingRemembered } from "../engine/remembered.ts";
import type { WatchSettings } from "../engine/settings.ts";
import { Watch } from "../engine/watch.ts";
import { restoreWatch } from "../ingest/restore-watch.ts";
import { LookBack } from "../state/windows/look-back.ts";
import { Journal } from "./journal.ts";
import { type PastHistory, ReplayStore } from "./replay-store.ts";

export interface ReplayOptions {
  readonly settings: WatchSettings;
  /** History from before the start; null: there is none. */
  readonly past: PastHistory | null;
  readonly fromMs: number;
  /** Called with all changes. */
  readonly onChanges?: (changes: Changes) => void;
  /** Capacities of receivers, by name. Default: those of an ordinary channel. */
  readonly capacities?: ReadonlyMap<string, Capacity>;
}

export class Replay {
  readonly journal: Journal;
  readonly store: ReplayStore;
  #settings: WatchSettings;
  readonly #onChanges: (changes: Changes) => void;
  #watch: Watch;
  #nowMs: number;

  constructor({ settings, past, fromMs, onChanges, capacities = new Map() }: ReplayOptions) {
    this.journal = new Journal({ stormFold: settings.routing.stormFold, capacities });
    this.#settings = settings;
    this.#onChanges = onChanges ?? (() => {});
    this.#watch = new Watch(settings, nothingRemembered, fromMs);
    const samplesMs = new LookBack(settings.ruleSet).maxSpanMs;
    this.store = new ReplayStore({ past, fromMs, samplesMs });
    this.#nowMs = fromMs;
  }

  get watch(): Watch {
    return this.#watch;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /**
   * Begins a watch, the first or a new one, with the state of the store.
   * @param reloaded as in WatchSettings
   * @param by settings from here on
   * @param wentOn the watch takes over the state of the previous one
   */
  async begin(atMs: number, reloaded: boolean, by?: WatchSettings, wentOn = false): Promise<void> {
    if (by !== undefined) this.#settings = by;
    this.#nowMs = Math.max(this.#nowMs, atMs);
    if (!reloaded) this.journal.delivery.beginStart();
    const { reloaded: _, ...settings } = this.#settings;
    const before = wentOn ? this.#watch : null;
    const watched = reloaded ? { ...settings, reloaded } : settings;
    this.#watch = await restoreWatch(watched, this.store, atMs, before);
  }

  observe(observation: Observation): void {
    const seen =
      observation.kind === "acknowledged" ? this.#matchingAcknowledgement(observation) : observation;
    if (seen === null) return;
    this.#nowMs = Math.max(this.#nowMs, seen.atMs);
    const { changes } = this.#watch.observe(seen);
    this.store.take(changes);
    const { journal } = this;
    if (seen.kind === "started") journal.delivery.started(seen.lastAliveMs, this.#nowMs);
    journal.take(changes, this.#nowMs);
    if (seen.kind === "stopped") journal.delivery.stopped(this.#nowMs);
    this.#onChanges(changes);
  }

  /** Ends the replay: messages that wait for their groups leave. */
  finish(): void {
    this.journal.delivery.finish();
  }

  /** Passes time until just before `untilMs`, and observes each deadline on the way. */
  passUntil(untilMs: number): void {
    for (;;) {
      const dueMs = this.#watch.nextDeadlineMs();
      if (dueMs === null || dueMs >= untilMs) return;
      const atMs = Math.max(dueMs, this.#nowMs + 1);
      if (atMs >= untilMs) return;
      this.observe({ kind: "time", atMs });
    }
  }

  /**
   * Translates an acknowledgement of the live run to the alert of the same rule and subject here. Null: there is none.
   */
  #matchingAcknowledgement(seen: Observation & { readonly kind: "acknowledged" }): Observation | null {
    const alert = this.store.alertOf(seen.alert);
    return alert === undefined ? null : { ...seen, alert };
  }
}
