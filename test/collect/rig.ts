/** Simulator, client and collectors in this process: real sockets, one clock that the test moves, a store in memory. */
import type { Collectors, CollectorsOptions } from "../../src/collect/index.ts";
import { createCollectors, scheduleSettings } from "../../src/collect/index.ts";
import { seededRandom } from "../../src/domain/clock.ts";
import { type Event, eventName } from "../../src/domain/event.ts";
import type { Observation } from "../../src/domain/observation.ts";
import type { EventQuery } from "../../src/domain/ports.ts";
import type { Source } from "../../src/domain/sources.ts";
import { createExchange, createStreams, type Exchange } from "../../src/exchange/index.ts";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../src/simulator/index.ts";
import { testSigner } from "../exchange/local-exchange.ts";
import { MemorySessions } from "../exchange/rig.ts";
import { FakeClock } from "../support/clock.ts";

export type Seen<K extends Observation["kind"]> = Observation & { kind: K };

/** The part of the daemon's store that collectors read back. */
export class MemoryStore {
  readonly stored = new Map<string, Event>();
  readonly kept = new Map<string, string>();
  lookups = 0;

  async knownEvents(keys: readonly { readonly kind: Event["kind"]; readonly key: string }[]) {
    this.lookups++;
    return new Set(keys.map(({ kind, key }) => eventName(kind, key)).filter((name) => this.stored.has(name)));
  }
  async events({ kind, wallet, fromMs = 0, toMs = Number.POSITIVE_INFINITY }: EventQuery) {
    return [...this.stored.values()].filter(
      (one) =>
        one.kind === kind && one.wallet === wallet && one.happenedMs >= fromMs && one.happenedMs <= toMs,
    );
  }
  async cursors() {
    return new Map(this.kept);
  }
  take(observation: Observation): void {
    if (observation.kind !== "events") return;
    for (const event of observation.events) {
      const name = eventName(event.kind, event.key);
      if (!this.stored.has(name)) this.stored.set(name, event);
    }
    if (observation.cursor) this.kept.set(observation.cursor.name, observation.cursor.value);
  }
}

export interface Logged {
  readonly level: "info" | "warn";
  readonly message: string;
}

export interface RigOptions {
  readonly simulator?: SimulatorOptions;
  readonly traders?: number;
  readonly watchOnly?: boolean;
  readonly schedules?: object;
  readonly requestsPerSecond?: number;
  readonly marginRatio?: (wallet: string) => number | null;
  readonly needs?: CollectorsOptions["needs"];
  readonly wantedMarkets?: CollectorsOptions["wantedMarkets"];
  /** Gives the address for HTTP. Default: the simulator itself. */
  readonly line?: (simulatorUrl: string, clock: FakeClock) => Promise<string>;
  /** Gives the address of the stream, when there is one. */
  readonly streams?: (simulatorUrl: string) => Promise<string>;
}

export interface Booted {
  readonly collectors: Collectors;
  readonly exchange: Exchange;
  readonly observations: Observation[];
  readonly log: Logged[];
  readonly kept: Parameters<CollectorsOptions["onBadRecord"]>[0][];
  of<K extends Observation["kind"]>(kind: K): Seen<K>[];
  /** All events told, in order. */
  events(kind?: Event["kind"]): Event[];
  failed(source: Source): Seen<"failed">[];
  stop(): Promise<void>;
}

export class Rig implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly simulator: Simulator;
  readonly store = new MemoryStore();
  readonly sessions = new MemorySessions();
  readonly #options: RigOptions;
  readonly #booted: Booted[] = [];
  /** Replaced by tests that make storing fail. */
  observe: (observation: Observation) => Promise<void> = async () => {};

  private constructor(clock: FakeClock, simulator: Simulator, options: RigOptions) {
    this.clock = clock;
    this.simulator = simulator;
    this.#options = options;
  }

  static async start(options: RigOptions = {}): Promise<Rig> {
    const clock = new FakeClock("2026-03-01T12:00:00.250Z");
    const simulator = await startSimulator({
      clock,
      walk: false,
      seed: 3,
      pastMs: 7_200_000,
      traders: options.traders ?? 1,
      ...options.simulator,
    });
    clock.allow(() => simulator.held());
    return new Rig(clock, simulator, options);
  }

  /** A daemon's collecting part, on the same exchange and store as those before it. */
  async boot(schedules: object = this.#options.schedules ?? {}): Promise<Booted> {
    const { clock, simulator, store } = this;
    const options = this.#options;
    const watchOnly = options.watchOnly ?? false;
    const observations: Observation[] = [];
    const log: Logged[] = [];
    const kept: Booted["kept"] = [];
    const requestsPerSecond = options.requestsPerSecond ?? 1_000;
    const baseUrl = (await options.line?.(simulator.url, clock)) ?? simulator.url;
    const streamsUrl = await options.streams?.(simulator.url);
    let collectors: Collectors;
    const exchange = createExchange({
      settings: { baseUrl, requestsPerSecond },
      version: "0.0.0-test",
      clock,
      random: seededRandom(11),
      wallets: watchOnly
        ? []
        : simulator.traders.map(({ name }) => ({
            name,
            key: testSigner(simulator.keyOf(name)),
            login: "message",
          })),
      store: this.sessions,
      onSession: () => {},
      onTrouble: () => {},
      onBadRecord: (report) => collectors.badRecord(report),
    });
    collectors = createCollectors({
      client: exchange.client,
      wallets: simulator.traders.map(({ name, authority }) => ({
        name,
        authority,
        watchOnly,
        pdaIndices: [0],
      })),
      schedules: scheduleSettings.parse(schedules),
      requestsPerSecond,
      budget: exchange.budget,
      clock,
      random: seededRandom(5),
      observe: async (observation) => {
        await this.observe(observation);
        observations.push(observation);
        store.take(observation);
      },
      store,
      marginRatio: options.marginRatio ?? (() => null),
      ...(options.needs ? { needs: options.needs } : {}),
      ...(options.wantedMarkets ? { wantedMarkets: options.wantedMarkets } : {}),
      onBadRecord: (record) => void kept.push(record),
      log: {
        debug: () => {},
        info: (_fields, message) => void log.push({ level: "info", message }),
        warn: (_fields, message) => void log.push({ level: "warn", message }),
      },
      ...(streamsUrl === undefined
        ? {}
        : {
            streams: (listener) =>
              createStreams({
                baseUrl: streamsUrl,
                version: "0.0.0-test",
                clock,
                random: seededRandom(17),
                sessions: exchange.sessions,
                wallets: simulator.traders,
                listener,
              }),
          }),
    });
    await exchange.start();
    await collectors.start();
    let stopped: Promise<void> | undefined;
    const booted: Booted = {
      collectors,
      exchange,
      observations,
      log,
      kept,
      of: <K extends Observation["kind"]>(kind: K) =>
        observations.filter((one): one is Seen<K> => one.kind === kind),
      events: (kind) =>
        booted
          .of("events")
          .flatMap((one) => one.events)
          .filter((event) => kind === undefined || event.kind === kind),
      failed: (source) => booted.of("failed").filter((one) => one.source === source),
      stop: () => {
        stopped ??= clock.finish(collectors.stop()).then(() => clock.finish(exchange.stop()));
        return stopped;
      },
    };
    this.#booted.push(booted);
    return booted;
  }

  get main(): { readonly authority: string; readonly name: string } {
    return this.simulator.traders[0]!;
  }

  async call(name: string, body: object = {}): Promise<unknown> {
    return this.simulator.call(name, body);
  }

  /** The number of requests for a path. */
  asked(path: string): number {
    return this.simulator.requests.query(path).count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#booted) await one.stop();
    await this.simulator.stop();
  }
}
