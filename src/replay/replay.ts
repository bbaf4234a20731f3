/**
 * The tick over the past: the same Watch as live, fed what was recorded (or what a test makes up), started anew wherever
 * the daemon was. What it decides is kept in memory; nothing is sent, and nothing is written.
 */
import type { Changes } from "../domain/changes.ts";
import type { Capacity } from "../domain/delivery.ts";
import type { Observation } from "../domain/observation.ts";
import { nothingRemembered } from "../engine/remembered.ts";
import type { WatchSettings } from "../engine/settings.ts";
import { Watch } from "../engine/watch.ts";
import { restoreWatch } from "../ingest/restore-watch.ts";
import { LookBack } from "../state/windows/look-back.ts";
import { Journal } from "./journal.ts";
import { type Past, ReplayStore } from "./store.ts";

export interface ReplayOptions {
  readonly settings: WatchSettings;
  /** History from before it begins; null: there is none. */
  readonly past: Past | null;
  readonly fromMs: number;
  /** Told of everything that is decided. */
  readonly onChanges?: (changes: Changes) => void;
  /** Capacities of receivers, by name. Left out: the usual ones. */
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
    const samplesMs = new LookBack(settings.ruleSet).longestMs;
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
   * Watching begins, at first or anew, with what the store knows.
   * @param reloaded as of WatchSettings   @param by other settings from here on   @param wentOn it takes over what the one before it knows
   */
  async begin(atMs: number, reloaded: boolean, by?: WatchSettings, wentOn = false): Promise<void> {
    if (by !== undefined) this.#settings = by;
    this.#nowMs = Math.max(this.#nowMs, atMs);
    if (!reloaded) this.journal.delivery.starts();
    const { reloaded: _, ...settings } = this.#settings;
    const before = wentOn ? this.#watch : null;
    const watched = reloaded ? { ...settings, reloaded } : settings;
    this.#watch = await restoreWatch(watched, this.store, atMs, before);
  }

  observe(observation: Observation): void {
    const seen = observation.kind === "acknowledged" ? this.#ours(observation) : observation;
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

  /** Nothing more happens: the messages that wait for their groups leave. */
  finish(): void {
    this.journal.delivery.finish();
  }

  /** Lets time pass until just before `untilMs`: whatever comes due on the way comes at its moment. */
  passUntil(untilMs: number): void {
    for (;;) {
      const dueMs = this.#watch.nextDeadlineMs();
      if (dueMs === null || dueMs >= untilMs) return;
      const atMs = Math.max(dueMs, this.#nowMs + 1);
      if (atMs >= untilMs) return;
      this.observe({ kind: "time", atMs });
    }
  }

  /** A person acknowledged an alert of the live run: here it is the one of the same rule about the same. Null: there is none. */
  #ours(seen: Observation & { readonly kind: "acknowledged" }): Observation | null {
    const alert = this.store.alertOf(seen.alert);
    return alert === undefined ? null : { ...seen, alert };
  }
}
