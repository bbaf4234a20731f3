/**
 * Fire drills: started by a person or by the calendar, followed until every channel took its message or the time is
 * over.
 *
 *   begin ──observe "drill"──► the watch's marked alert ──► outbox ──► channels
 *     └── items settled, or `withinMs` over ──observe "drilled"──► failures are reported (scheduled drills), logged, shown
 */
import { standInOf } from "../channels/rota/channel.ts";
import type { Clock } from "../domain/clock.ts";
import type { Observation } from "../domain/observation.ts";
import type { Store } from "../domain/ports.ts";
import type { DrillStatus } from "../domain/status.ts";
import type { Changes } from "../domain/stored/changes.ts";
import { formatDurationMs } from "../domain/text/duration.ts";
import { type DeliverLog, silentLog } from "./log.ts";
import { Work } from "./work.ts";

export interface DrillsOptions {
  readonly store: Pick<Store, "deliveryItems" | "messages">;
  /** The names of all channels. */
  readonly channels: readonly string[];
  readonly clock: Clock;
  readonly log?: DeliverLog;
  /** Resolves when the observation was judged and committed, or is held. */
  readonly observe: (observation: Observation) => Promise<void>;
  /** The first scheduled time after this one, wall ms; null if there is none. */
  readonly nextMs: (afterMs: number) => number | null;
  /** Time limit of a channel. */
  readonly withinMs: number;
  /** Returns a new unique id. */
  readonly newId: () => string;
}

export interface DrillBegun {
  readonly alertId: number;
  readonly channels: readonly string[];
  readonly withinMs: number;
}

/** Maximum time between checks of the calendar: the machine's clock may be set, or the machine may sleep. */
const lookAgainMs = 60_000;

export class Drills {
  readonly #options: DrillsOptions;
  readonly #log: DeliverLog;
  readonly #work: Work;
  /** Alerts of started drills, by id of the drill; null until found. */
  readonly #alertIds = new Map<string, number | null>();
  readonly #waiting = new Map<number, () => void>();
  #last: DrillStatus["last"] = null;
  #nextMs: number | null = null;
  #cancel: () => void = () => {};
  #stopped = false;

  constructor(options: DrillsOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLog;
    this.#work = new Work(this.#log, "the fire drill met a fault of its own");
  }

  start(): void {
    this.#nextMs = this.#options.nextMs(this.#options.clock.nowMs());
    this.#wait();
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel();
    for (const wake of this.#waiting.values()) wake();
  }

  status(): DrillStatus {
    return { nextMs: this.#nextMs, last: this.#last };
  }

  /** Takes committed changes. */
  committed({ alerts }: Changes): void {
    for (const { id, drill, eventKey } of alerts)
      if (drill && eventKey !== null && this.#alertIds.has(eventKey)) this.#alertIds.set(eventKey, id);
  }

  /** Called when deliveries of these alerts were recorded as delivered or dead. */
  settled(alertIds: readonly number[]): void {
    for (const id of alertIds) this.#waiting.get(id)?.();
  }

  /** @returns once it is on its way; null if history takes no commits now */
  async begin(channels: readonly string[], by: string, scheduled: boolean): Promise<DrillBegun | null> {
    const { clock, observe, newId, withinMs } = this.#options;
    const id = newId();
    const key = `drill:${id}`;
    this.#alertIds.set(key, null);
    const atMs = clock.nowMs();
    await observe({ kind: "drill", atMs, id, by, receivers: channels });
    const alertId = this.#alertIds.get(key) ?? null;
    this.#alertIds.delete(key);
    if (alertId === null) {
      const detail = "history takes no commits, so nothing could be followed";
      await this.#end({ id, atMs, by, alertId, scheduled }, new Map(channels.map((name) => [name, detail])));
      return null;
    }
    this.#log.info({ alert: alertId, channels: [...channels] }, `fire drill by ${by}`);
    this.#work.track(this.#follow({ id, atMs, by, alertId, scheduled }, channels));
    return { alertId, channels, withinMs };
  }

  async #follow(drill: Begun & { readonly alertId: number }, channels: readonly string[]): Promise<void> {
    const { clock, withinMs } = this.#options;
    const endMs = clock.elapsedMs() + withinMs;
    for (;;) {
      // Before the check, so that no settled delivery is missed.
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.set(drill.alertId, resolve);
      const { failures, open } = await this.#look(drill.alertId, channels).catch((error: unknown) => {
        // It may become readable before the time is over; if not, the error is reported.
        const why = `What became of it cannot be read: ${error instanceof Error ? error.message : "failed"}`;
        return { failures: new Map(channels.map((name) => [name, why])), open: channels.length };
      });
      const leftMs = endMs - clock.elapsedMs();
      if (open === 0 || leftMs <= 0) {
        this.#waiting.delete(drill.alertId);
        await this.#end(drill, failures);
        return;
      }
      const cancel = clock.after(leftMs, resolve);
      await promise;
      cancel();
      // A drill interrupted by a stop says nothing about the channels.
      if (this.#stopped) return;
    }
  }

  /** Returns its outcome so far, by channel: null, or the reason why it was not taken. */
  async #look(alertId: number, channels: readonly string[]) {
    const { store, withinMs } = this.#options;
    const items = await store.deliveryItems({ alertIds: [alertId] });
    const messages = new Map((await store.messages({ alertIds: [alertId] })).map((one) => [one.id, one]));
    const failures = new Map<string, string | null>();
    let open = 0;
    for (const channel of channels) {
      const item = items.find(({ receiver }) => receiver === channel);
      const message = messages.get(item?.messageId ?? "");
      const why = message?.lastFailure ? `: ${message.lastFailure}, ${message.lastDetail ?? ""}` : "";
      const standIn = message ? standInOf(message) : null;
      if (item?.status === "delivered" && standIn !== null) {
        const { person, insteadOf } = standIn;
        failures.set(channel, `It was taken by ${person} in place of ${insteadOf}, who is on duty`);
      } else if (item?.status === "delivered") failures.set(channel, null);
      else if (item?.status === "dead") failures.set(channel, `It was given up${why}`);
      else {
        failures.set(channel, `It was not taken within ${formatDurationMs(withinMs)}${why}`);
        open++;
      }
    }
    return { failures, open };
  }

  async #end({ id, atMs, by, alertId, scheduled }: Begun, failures: ReadonlyMap<string, string | null>) {
    const { clock, observe } = this.#options;
    const channels = [...failures].map(([channel, failure]) => ({ channel, failure }));
    this.#last = { atMs, by, alertId, channels };
    const failed = channels.filter(({ failure }) => failure !== null);
    for (const { channel, failure } of failed)
      this.#log.warn({ alert: alertId, channel }, `fire drill: ${channel} did not take it. ${failure}`);
    if (failed.length === 0) this.#log.info({ alert: alertId }, "fire drill: every channel took it in time");
    await observe({ kind: "drilled", atMs: clock.nowMs(), id, scheduled, channels });
  }

  #wait(): void {
    if (this.#nextMs === null || this.#stopped) return;
    const { clock, nextMs, channels } = this.#options;
    const waitMs = Math.max(0, Math.min(this.#nextMs - clock.nowMs(), lookAgainMs));
    this.#cancel = clock.after(waitMs, () => {
      const nowMs = clock.nowMs();
      if (this.#nextMs !== null && nowMs >= this.#nextMs) {
        this.#nextMs = nextMs(nowMs);
        this.#work.track(this.begin(channels, "the schedule", true).then(() => {}));
      }
      this.#wait();
    });
  }
}

interface Begun {
  readonly id: string;
  readonly atMs: number;
  readonly by: string;
  readonly alertId: number | null;
  readonly scheduled: boolean;
}
