/**
 * A live run for tests: the real queue, watch and database, simulated answers, and optionally the real outbox over a
 * local HTTP socket. Tests advance the time. The run is recorded, so that a replay can be compared with it.
 */
import { Waiting } from "../../src/alerts/pending/waiting.ts";
import type { Channel, Outgoing } from "../../src/channels/channel.ts";
import { createOutbox, type Outbox } from "../../src/deliver/index.ts";
import type { AlertChange, Severity } from "../../src/domain/alerts/alert.ts";
import type { Capacity, Message } from "../../src/domain/alerts/delivery.ts";
import { type Clock, seededRandom } from "../../src/domain/clock.ts";
import type { Observation } from "../../src/domain/observation.ts";
import type { Source } from "../../src/domain/sources.ts";
import type { WatchSettings } from "../../src/engine/settings.ts";
import { type History, openStore } from "../../src/history/index.ts";
import { IngestLoop } from "../../src/ingest/loop.ts";
import { restoreWatch } from "../../src/ingest/restore-watch.ts";
import { FarSide, httpChannel } from "../deliver/support.ts";
import {
  event,
  marketConfig,
  notification,
  position,
  prices,
  startMs,
  subaccount,
} from "../engine/harness.ts";
import { FakeClock } from "../support/clock.ts";

export type Step =
  | { readonly do: "pass"; readonly ms: number; readonly failing: readonly Source[] }
  | { readonly do: "mark"; readonly usd: number; readonly live: boolean }
  | {
      readonly do: "hold";
      readonly size: number;
      readonly collateral: number;
      readonly sequence: number;
      /** Index of the wallet, or all of them, read in one batch. Default: the first. */
      readonly wallet?: number | "all";
    }
  | {
      readonly do: "events";
      readonly kind: "fill" | "funding" | "filled" | "liquidation" | "collateral";
      readonly key: number;
      readonly wallet?: number;
    }
  | { readonly do: "status"; readonly active: boolean }
  | { readonly do: "acknowledge" }
  | { readonly do: "silence"; readonly ms: number; readonly upTo: Severity }
  | { readonly do: "reload" }
  | {
      readonly do: "restart";
      readonly downMs: number;
      readonly crash: boolean;
      /** The time without observations before it, ms. Default: none. */
      readonly quietMs?: number;
    };

export interface LiveRunOptions {
  readonly file: string;
  readonly settings: WatchSettings;
  /** Names of the receivers that pending items are sent to. Default: nothing is delivered. */
  readonly receivers?: readonly string[];
  readonly capacities?: ReadonlyMap<string, Capacity>;
}

interface Held {
  readonly size: number;
  readonly collateral: number;
  readonly sequence: number;
  /** Collateral before its newest change. */
  readonly before: number;
}

const held: Held = { size: 60, collateral: 2_000, sequence: 1, before: 0 };

export class LiveRun {
  readonly clock = new FakeClock(startMs);
  readonly #options: LiveRunOptions;
  readonly #held = new Map<string, Held>();
  #store: History;
  #loop!: IngestLoop;
  #outbox: Outbox | null = null;
  #far: FarSide | null = null;
  #endRun = (): void => {};
  #restoreTake = (): void => {};
  #slot = 1;
  #usd = 150;
  #active = true;
  #silences = 0;
  #runs = 0;
  /** First items of all messages, in the order of their first attempts. */
  readonly #begun: number[] = [];
  readonly #messages = new Map<number, Message>();
  /** First items of messages that are in flight: they are accepted one after another, in this order. */
  readonly #turns: number[] = [];
  readonly #waiting = new Map<number, () => void>();

  constructor(options: LiveRunOptions) {
    this.#options = options;
    this.#store = openStore({ path: options.file, clock: this.clock });
    this.clock.watch(() => this.#turns.length > 0);
  }

  /** Messages in the order of their first attempts. */
  get messages(): readonly Message[] {
    return this.#begun.map((itemId) => this.#messages.get(itemId)!);
  }

  get nowMs(): number {
    return this.clock.nowMs();
  }

  /** Ids of the messages received over the socket, in order. */
  get arrived(): readonly string[] {
    return (this.#far?.accepted ?? []).map(({ id }) => id);
  }

  async start(lastAliveMs: number | null): Promise<void> {
    const { settings } = this.#options;
    const clock = this.#clockOfRun();
    const watch = await restoreWatch(settings, this.#store, this.nowMs);
    await this.#deliver(clock);
    const outbox = this.#outbox;
    this.#loop = new IngestLoop({
      watch,
      store: this.#store,
      // Tests feed the time.
      clock: { ...clock, after: () => () => {} },
      onCommitted: (changes) => outbox?.committed(changes),
      onStuck: () => {},
      onAsk: () => {},
      onNote: () => {},
      onDegraded: () => {},
      onBroken: (error) => {
        throw error;
      },
    });
    await this.#see({ kind: "started", atMs: this.nowMs, version: "1", lastAliveMs });
  }

  /** The clock of one run of the daemon: after a crash none of its timers fires. */
  #clockOfRun(): Clock {
    let runs = true;
    this.#endRun = () => {
      runs = false;
    };
    const { clock } = this;
    return {
      nowMs: () => clock.nowMs(),
      elapsedMs: () => clock.elapsedMs(),
      after: (ms, run) => clock.after(ms, () => runs && run()),
      sleep: (ms, signal) => clock.sleep(ms, signal),
    };
  }

  async #deliver(clock: Clock): Promise<void> {
    const { receivers = [], capacities, settings } = this.#options;
    if (receivers.length === 0) return;
    if (this.#far === null) {
      this.#far = await FarSide.start(this.clock);
      const { take } = Waiting.prototype;
      const noteTaken = (itemId: number) => {
        this.#begun.push(itemId);
        this.#turns.push(itemId);
      };
      this.#restoreTake = () => {
        Waiting.prototype.take = take;
      };
      Waiting.prototype.take = function (this: Waiting, ...how) {
        const taken = take.apply(this, how);
        if (taken !== null) noteTaken(taken.entries[0]!.item.id);
        return taken;
      };
    }
    const far = this.#far;
    const channels = receivers.map((name): [string, Channel] => {
      const channel = httpChannel(name, far);
      const send = async (outgoing: Outgoing, signal: AbortSignal) => {
        await this.#turn(outgoing.message.itemIds[0]!);
        return channel.send(outgoing, signal);
      };
      return [name, { ...channel, send, ...capacities?.get(name) }];
    });
    this.#outbox = createOutbox({
      store: this.#store,
      channels: new Map(channels),
      ...{ clock, random: seededRandom(++this.#runs), sender: "perpwatch on test", instance: "/one.db" },
      stormFold: () => settings.routing.stormFold,
      observe: () => {},
      applyTemplates: (message) => {
        this.#messages.set(message.itemIds[0]!, message);
        return message;
      },
      probe: (step) => {
        // The next message is accepted after the attempts that follow from this one.
        if (step === "recorded") setImmediate(() => this.#nextTurn());
      },
    });
    await this.#outbox.start(new AbortController().signal);
    await this.clock.settle();
  }

  /** Lanes and receivers answer in the order of their attempts, so that a run can be repeated. */
  #turn(itemId: number): Promise<void> {
    if (this.#turns[0] === itemId) return Promise.resolve();
    return new Promise((resolve) => void this.#waiting.set(itemId, resolve));
  }

  #nextTurn(): void {
    this.#turns.shift();
    const [next] = this.#turns;
    if (next === undefined) return;
    this.#waiting.get(next)?.();
    this.#waiting.delete(next);
  }

  async #see(...observations: readonly Observation[]): Promise<void> {
    await Promise.all(observations.map((one) => this.#loop.observe(one)));
    await this.#loop.settled();
    // All decisions in one millisecond are one commit.
    if (this.#outbox !== null) await this.clock.advance(1);
  }

  get #wallets(): readonly string[] {
    return this.#options.settings.wallets.map(({ name }) => name);
  }

  async #answers(failing: readonly Source[]): Promise<void> {
    const { nowMs: atMs } = this;
    const failed = (source: Source, wallet: string | null): Observation => ({
      kind: "failed",
      source,
      wallet,
      symbol: null,
      atMs,
      reason: "timeout",
      detail: "no answer",
    });
    const market = failing.includes("markets")
      ? failed("markets", null)
      : ({ kind: "prices", atMs, markets: [prices(this.#usd)] } as const);
    const ofWallets = this.#wallets.flatMap((wallet): Observation[] => {
      const read = (source: Source): Observation => ({ kind: "events", source, wallet, atMs, events: [] });
      return [
        failing.includes("traderState") ? failed("traderState", wallet) : this.#accounts(wallet),
        failing.includes("notifications") ? failed("notifications", wallet) : read("notifications"),
        read("liquidations"),
        read("funding"),
        read("collateral"),
      ];
    });
    await this.#see(
      { kind: "marketConfig", atMs, markets: [marketConfig()] },
      market,
      ...ofWallets,
      this.#status(atMs),
    );
  }

  #status(atMs: number): Observation {
    return {
      kind: "exchangeStatus",
      atMs,
      active: this.#active,
      gated: false,
      withdrawalsAvailable: true,
    };
  }

  /** Answers share no objects with earlier ones, as answers of different sources do not. */
  #accounts(wallet: string): Observation {
    this.#slot += 10;
    const { size, collateral, sequence } = this.#held.get(wallet) ?? held;
    const positions = size === 0 ? [] : [{ ...position(size, 150), sequence: String(sequence) }];
    return {
      kind: "accounts",
      wallet,
      pdaIndex: 0,
      atMs: this.nowMs,
      slot: this.#slot,
      slotIndex: 0,
      subaccounts: [subaccount(collateral, positions, { sequence: this.#slot })],
    };
  }

  async run(one: Step): Promise<void> {
    const { nowMs: atMs } = this;
    switch (one.do) {
      case "pass": {
        const untilMs = this.nowMs + one.ms;
        while (this.nowMs < untilMs) {
          const dueMs = this.#loop.watch.nextDeadlineMs() ?? untilMs;
          const beforeMs = this.nowMs;
          await this.clock.advance(
            Math.min(untilMs, beforeMs + 1_000, Math.max(dueMs, beforeMs + 1)) - beforeMs,
          );
          const thenMs = this.nowMs;
          await this.#see({ kind: "time", atMs: thenMs });
          if (Math.floor(thenMs / 4_000) !== Math.floor((thenMs - 1_000) / 4_000))
            await this.#answers(one.failing);
        }
        return;
      }
      case "mark":
        this.#usd = one.usd;
        return this.#see({
          kind: "prices",
          atMs,
          markets: [prices(one.usd)],
          ...(one.live ? { live: true } : {}),
        });
      case "hold": {
        const { wallet = 0, size, collateral, sequence } = one;
        const wallets = wallet === "all" ? this.#wallets : [this.#wallets[wallet] ?? this.#wallets[0]!];
        for (const name of wallets) {
          const before = (this.#held.get(name) ?? held).collateral;
          this.#held.set(name, { size, collateral, sequence, before });
        }
        return this.#see(...wallets.map((name) => this.#accounts(name)));
      }
      case "events":
        return this.#see(this.#event(one.kind, one.key, this.#wallets[one.wallet ?? 0] ?? this.#wallets[0]!));
      case "status":
        this.#active = one.active;
        return this.#see(this.#status(atMs));
      case "acknowledge": {
        const [alert] = await this.#store.alerts({ limit: 1 });
        if (alert) await this.#see({ kind: "acknowledged", atMs, alert, by: "me", comment: "" });
        return;
      }
      case "silence": {
        const id = ++this.#silences;
        const silence = { id, match: {}, upTo: one.upTo, author: "me", comment: "", startsMs: atMs };
        return this.#see({
          kind: "silenced",
          atMs,
          silence: { ...silence, endsMs: atMs + one.ms, createdMs: atMs },
        });
      }
      case "reload":
        return this.#loop.replace((before) =>
          restoreWatch({ ...this.#options.settings, reloaded: true }, this.#store, this.nowMs, before),
        );
      case "restart": {
        await this.clock.advance(one.quietMs ?? 0);
        if (!one.crash) await this.#stop();
        const lastAliveMs = this.nowMs;
        this.#endRun();
        await this.#store.close();
        await this.clock.advance(one.downMs);
        this.#store = openStore({ path: this.#options.file, clock: this.clock });
        return this.start(lastAliveMs);
      }
    }
  }

  #event(kind: (Step & { do: "events" })["kind"], key: number, wallet: string): Observation {
    const { nowMs: atMs } = this;
    const common = {
      ...{ wallet, key: `${kind} ${key} ${wallet}`, happenedMs: atMs - 500, seenMs: atMs },
      slot: this.#slot,
    };
    const of = (source: Source, told: ReturnType<typeof event>): Observation => ({
      kind: "events",
      source,
      wallet,
      atMs,
      events: [told],
    });
    switch (kind) {
      case "fill":
        return of("fills", event({ kind, ...common, fields: { side: "ask", price: this.#usd, size: 1 } }));
      case "funding":
        return of(
          "funding",
          event({ kind, ...common, fields: { payment: -key, rate: 0.001, size: 1, side: "long" } }),
        );
      case "collateral": {
        const { collateral, before } = this.#held.get(wallet) ?? held;
        const fields = { eventType: "deposit", amountUsd: collateral - before };
        return of("collateral", event({ kind, ...common, symbol: null, fields }));
      }
      case "filled":
        return of("notifications", notification(common.key, "order_filled", common));
      case "liquidation":
        return of(
          "liquidations",
          event({ kind, ...common, fields: { kind: "market", role: "liquidatee", positionClosed: true } }),
        );
    }
  }

  async #stop(): Promise<void> {
    await this.#loop.observe({ kind: "stopped", atMs: this.nowMs });
    await this.#loop.stop();
    if (this.#outbox !== null) await this.clock.finish(this.#outbox.stop());
  }

  /** Stops the daemon in order. */
  async end(): Promise<{ changes: readonly AlertChange[]; owed: readonly string[] }> {
    await this.#stop();
    const changes = await this.#store.alertChanges({});
    const owed = await this.#store.deliveryItems({});
    await this.#store.close();
    this.#restoreTake();
    await this.#far?.[Symbol.asyncDispose]();
    return { changes, owed: owed.map(({ receiver, changeId }) => `${changeId} ${receiver}`) };
  }
}
