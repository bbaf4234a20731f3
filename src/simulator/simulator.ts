/**
 * A server of the exchange's API: a world of markets and traders, served over the contract on one port.
 *
 *   clock ─► simulated time ─► world (steps) ─► answers ─► HTTP, streams
 *                                 ▲
 *                     control calls, scenario
 *
 * The same seed, start and calls make the same world. Each request first advances the world to the present; a timer
 * does so too, so that events happen without requests.
 */
import { createHash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Clock, seededRandom, systemClock } from "../domain/clock.ts";
import { traderAddress } from "../wallet/address.ts";
import { WalletKey } from "../wallet/wallet-key.ts";
import { populate, traderName } from "./accounts/population.ts";
import { answerRpc } from "./ledger/rpc.ts";
import { fundingIntervalMs } from "./markets/markets.ts";
import { parseScenario, ScenarioPlayer } from "./scenario.ts";
import { createAnswers } from "./server/answers/index.ts";
import { type Control, createControl } from "./server/control.ts";
import { BadCall } from "./server/control-bodies.ts";
import { Faults } from "./server/faults.ts";
import { type Asking, createHttp, type Told } from "./server/http.ts";
import { errorReply } from "./server/reply.ts";
import { RequestLog } from "./server/request-log.ts";
import { createSessions, type SessionSettings, type Sessions, sessionDefaults } from "./server/sessions.ts";
import type { World } from "./state.ts";
import type { Handshake } from "./stream/admission.ts";
import { createStreams, type StreamVisit } from "./stream/streams.ts";
import type { StreamEnd } from "./stream/subscribers.ts";
import { simulatedTime } from "./time.ts";
import { advanceTo, createWorld, openWallet, step } from "./world.ts";

export interface SimulatorOptions extends Partial<SessionSettings> {
  /** 0: a free port. Null: none, only this process can access it (`ask`, `enter`). */
  readonly port?: number | null;
  readonly host?: string;
  readonly seed?: number;
  /** Simulated ms in one real ms; 0: time moves only by `advance`. */
  readonly speed?: number;
  readonly traders?: number;
  /** The folder of key files, mode 0600; without it none are written. */
  readonly keysDir?: string | null;
  /** Text of a scenario file. */
  readonly scenario?: string | null;
  /** Prices move at random. Without it everything changes by control calls only. */
  readonly walk?: boolean;
  /** Traders act at random. Default: as `walk`. */
  readonly activity?: boolean;
  /** The age of the world at its start. Default: a day with `walk`, otherwise 0. */
  readonly pastMs?: number;
  /** Answers in the forms observed at the live exchange, where its contract differs or is silent. Default: true. */
  readonly observed?: boolean;
  /** Markets listed beside SOL, BTC, ETH and GOLD: PUMP (negative `baseLotsDecimals`), TSLA (an equity). */
  readonly markets?: readonly string[];
  /** The interval of the grid of steps; divides an hour. */
  readonly stepMs?: number;
  /** A ceiling; further requests are answered with 429 and Retry-After. */
  readonly requestsPerSecond?: number | null;
  readonly clock?: Clock;
  /** Called for each scenario step that failed. */
  readonly onProblem?: (problem: string) => void;
  /** The start of simulated time. Default: the clock's wall time. */
  readonly startMs?: number;
}

export interface SimulatedTrader {
  readonly name: string;
  readonly authority: string;
  /** Address of subaccount 0. */
  readonly traderPda: string;
  /** Null without key files, and for a watch-only wallet. */
  readonly keyFile: string | null;
}

export interface Simulator {
  /** Empty without a port. */
  readonly url: string;
  readonly traders: readonly SimulatedTrader[];
  readonly world: World;
  readonly sessions: Sessions;
  readonly faults: Faults;
  readonly requests: RequestLog;
  /** The key of a trader by name, for tests in this process. */
  keyOf(name: string): WalletKey;
  /** Simulated time, ms, after advancing the world to it. */
  nowMs(): number;
  /** Moves simulated time. */
  advance(ms: number): void;
  /**
   * A control call from this process: the same as `POST /sim/<name>`.
   * @throws {BadCall}
   */
  call(name: string, body?: unknown): Promise<unknown>;
  /**
   * A request from this process, without a connection.
   * @returns null where a connection would end without an answer
   */
  ask(request: Asking): Promise<Told | null>;
  /**
   * A stream from this process.
   * @throws {Refusal}, or another error where a connection would end without an answer
   */
  enter(handshake: Handshake, socket: StreamEnd): Promise<StreamVisit>;
  /** Number of requests that a fault delays, for clocks that wait for idleness. */
  held(): number;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Name of the counterparty account of all trades. */
const house = "house";

/** Resolves when it listens. Rejects when the port is taken or an option is invalid. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const clock = options.clock ?? systemClock();
  const seed = options.seed ?? 1;
  const speed = options.speed ?? 1;
  const walk = options.walk ?? true;
  const stepMs = options.stepMs ?? 1_000;
  if (fundingIntervalMs % stepMs !== 0) throw new RangeError("stepMs: must divide an hour");
  const startMs = options.startMs ?? Math.floor(clock.nowMs());
  const pastMs = options.pastMs ?? (walk ? 86_400_000 : 0);
  const host = options.host ?? "127.0.0.1";

  const keys = new Map<string, WalletKey>();
  const traders: SimulatedTrader[] = [];
  const world = createWorld({
    seed,
    startMs: startMs - pastMs,
    stepMs,
    walk,
    activity: options.activity ?? walk,
    observed: options.observed ?? true,
    moreMarkets: options.markets ?? [],
    houseAuthority: keyFor(seed, house).address,
    deriveAddress: (authority, pdaIndex, subaccount) => traderAddress(authority, { pdaIndex, subaccount }),
  });
  const count = options.traders ?? 1;
  for (let i = 0; i < count; i++) populate(world, addTrader(traderName(i), i > 0), i);
  advancePast(world, startMs, pastMs, count);

  const time = simulatedTime(clock, speed, startMs);
  const player = options.scenario ? new ScenarioPlayer(parseScenario(options.scenario)) : null;
  const sessions = await createSessions(
    hashed(`session key ${seed}`),
    seededRandom(seed ^ 0x5e55),
    () => world.nowMs,
    { ...sessionDefaults, ...given(options) },
  );
  const faults = new Faults();
  const log = new RequestLog();
  const control: Control = createControl({ world, sessions, faults, log, advance, newTrader });
  const http = createHttp({
    world,
    sessions,
    answers: createAnswers(),
    faults,
    log,
    clock,
    present,
    requestsPerSecond: options.requestsPerSecond ?? null,
    rpc: (body) => answerRpc(world, body).finally(() => streams.flush()),
    control: async (request) => {
      if (!loopback) return errorReply(403, "Control calls are taken on loopback only");
      return control.answer(request).finally(() => streams.flush());
    },
  });
  const streams = createStreams({
    world,
    sessions,
    faults,
    log,
    clock,
    graceMs: options.graceMs ?? sessionDefaults.graceMs,
    present,
  });

  /** Advances the world to the present; scenario steps run at their times. */
  function present(): number {
    const now = time.nowMs();
    if (now <= world.nowMs) return world.nowMs;
    for (let due = player?.take(now - startMs); due; due = player?.take(now - startMs)) {
      advanceTo(world, startMs + due.dueMs);
      void run(due.step.call, due.step.with);
    }
    advanceTo(world, now);
    streams.flush();
    return world.nowMs;
  }

  /** Runs a scenario's step; a failed one is skipped and reported. */
  async function run(name: string, body: unknown): Promise<void> {
    try {
      await control.call(name, body);
    } catch (error) {
      if (!(error instanceof BadCall)) throw error;
      options.onProblem?.(`scenario, ${name}: ${error.message}`);
    }
  }

  function advance(ms: number): void {
    time.advance(Math.round(ms));
    present();
  }

  function addTrader(name: string, acts: boolean, authority?: string) {
    const key = authority === undefined ? keyFor(seed, name) : null;
    const address = key?.address ?? (authority as string);
    let keyFile: string | null = null;
    if (key) {
      keys.set(name, key);
      if (options.keysDir) keyFile = writeKeyFile(options.keysDir, name, key);
    }
    const wallet = openWallet(world, name, address, acts);
    const traderPda = world.deriveAddress(address, 0, 0);
    traders.push({ name, authority: address, traderPda, keyFile });
    return wallet;
  }

  function newTrader(name: string | undefined, authority: string | undefined): SimulatedTrader {
    const wanted = name ?? traderName(traders.length);
    if (wanted === house || traders.some((it) => it.name === wanted))
      throw new BadCall(`name: ${wanted} is taken`);
    if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/.test(wanted))
      throw new BadCall("name: letters, digits, - _ . only");
    const there = (key: string) => world.wallets.has(key) || key === world.house.wallet.authority;
    if (authority !== undefined && there(authority)) throw new BadCall("authority: is there already");
    addTrader(wanted, false, authority);
    return traders.at(-1) as SimulatedTrader;
  }

  const { server } = http;
  server.on("upgrade", streams.upgrade);
  const { port = 0 } = options;
  if (port !== null)
    await new Promise<void>((resolve, reject) => {
      const failed = (error: Error) => {
        streams.stop();
        reject(error);
      };
      server.once("error", failed);
      server.listen(port, host, () => {
        server.off("error", failed);
        resolve();
      });
    });
  const address = server.address() as AddressInfo | null;
  const loopback = address === null || isLoopback(address.address);

  let cancelTimer = () => {};
  const tick = () => {
    present();
    cancelTimer = clock.after(Math.max(20, stepMs / speed), tick);
  };
  if (speed > 0) cancelTimer = clock.after(Math.max(20, stepMs / speed), tick);

  let stopped: Promise<void> | undefined;
  const stop = () => {
    stopped ??= new Promise<void>((resolve) => {
      cancelTimer();
      streams.stop();
      if (address === null) return resolve();
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return stopped;
  };

  return {
    url: address === null ? "" : urlOf(address),
    traders,
    world,
    sessions,
    faults,
    requests: log,
    keyOf: (name) => {
      const key = keys.get(name);
      if (!key) throw new RangeError(`no key of a trader ${name}`);
      return key;
    },
    nowMs: present,
    advance,
    call: async (name, body) => {
      present();
      const result = await control.call(name, body);
      streams.flush();
      return result;
    },
    ask: http.ask,
    enter: streams.enter,
    held: http.held,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Advances the world's past in longer steps: the more traders, the longer. */
function advancePast(world: World, startMs: number, pastMs: number, traders: number): void {
  const minutes = [1, 2, 5, 10, 15, 30, 60].find((it) => it >= traders / 50) ?? 60;
  const stepMs = minutes * 60_000;
  const end = startMs - (startMs % world.stepMs);
  for (let ms = nextMultiple(startMs - pastMs, stepMs); ms <= end; ms += stepMs) {
    world.nowMs = Math.max(world.nowMs, ms);
    step(world, stepMs);
  }
  world.steppedMs = end;
  world.nowMs = Math.max(world.nowMs, startMs);
}

const nextMultiple = (ms: number, of: number): number => ms - (ms % of) + of;

function given(options: SimulatorOptions): Partial<SessionSettings> {
  const names = ["accessTtlMs", "refreshTtlMs", "graceMs", "nonceTtlMs"] as const;
  return Object.fromEntries(
    names.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  );
}

const hashed = (text: string): Uint8Array =>
  createHash("sha256").update(`perpwatch simulator ${text}`).digest();

/** The same seed gives the same wallets. The keys are worthless anywhere else. */
function keyFor(seed: number, name: string): WalletKey {
  return WalletKey.fromSeed(hashed(`wallet ${seed} ${name}`));
}

/**
 * Writes a 64-byte JSON keypair, mode 0600, and replaces an existing file. Symbolic links are not followed, so that a
 * key is not written through one.
 */
function writeKeyFile(directory: string, name: string, key: WalletKey): string {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, `${name}.json`);
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new Error(`${path} is a symbolic link: keys are not written through one`);
  }
  key.withKeypair((pair) => writeFileSync(path, JSON.stringify([...pair]), { mode: 0o600 }));
  // The mode above applies only to a new file.
  chmodSync(path, 0o600);
  return path;
}

function urlOf({ family, address, port }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}

function isLoopback(address: string): boolean {
  return address === "::1" || /^(::ffff:)?127\./.test(address);
}
