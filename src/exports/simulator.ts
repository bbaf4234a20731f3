/**
 * `perpwatch/simulator`: the exchange, simulated, as a server in this process. docs/library.md has the example.
 *
 * The same seed, start and calls make the same world. Keys of its traders are worth nothing anywhere else.
 */
import type { ControlArguments, ControlCall } from "../simulator/server/control-bodies.ts";
import { startSimulator as start } from "../simulator/simulator.ts";

export { BadScenario } from "../simulator/scenario.ts";
export {
  BadCall,
  type ControlArguments,
  type ControlCall,
  controlCalls,
} from "../simulator/server/control-bodies.ts";

export interface SimulatorOptions {
  /** Default 0: a free one. */
  readonly port?: number;
  /** Default 127.0.0.1. Control calls over HTTP are taken on loopback only. */
  readonly host?: string;
  /** Another seed has other wallets and prices. Default 1. */
  readonly seed?: number;
  /** Default 1. */
  readonly traders?: number;
  /** Simulated ms in one real ms; 0: time moves by `advance` alone. Default 1. */
  readonly speed?: number;
  /** Prices move and traders act by themselves. Default true; without it everything happens by control calls. */
  readonly walk?: boolean;
  /** Symbols listed beside SOL, BTC, ETH and GOLD: PUMP, TSLA. */
  readonly markets?: readonly string[];
  /** The start of simulated time, ms since the epoch. Default: now. */
  readonly startMs?: number;
  /** A ceiling, answered with 429 and Retry-After. Default: none. */
  readonly requestsPerSecond?: number;
  /** The folder in which the traders' key files are written, mode 0600. Default: none is written. */
  readonly keysDir?: string;
  /** YAML text of a scenario: a list of `{ at: 10s, call: mark-price, with: {…} }`. */
  readonly scenario?: string;
  /** Called with each step of the scenario that could not be done. */
  readonly onProblem?: (problem: string) => void;
}

export interface SimulatedTrader {
  readonly name: string;
  /** The wallet's address, base58. */
  readonly authority: string;
  /** Address of its subaccount 0. */
  readonly traderPda: string;
  /** Null where none is written. */
  readonly keyFile: string | null;
}

export interface Simulator {
  /** The base URL of its API. */
  readonly url: string;
  /** In the order in which they came. */
  readonly traders: readonly SimulatedTrader[];
  /** The key of a trader as a key file has it: a JSON array of 64 numbers. @throws {RangeError} when it has no key */
  keyOf(trader: string): string;
  /** Simulated time, ms since the epoch. */
  nowMs(): number;
  /** Moves simulated time, ms; all that is due until then happens. */
  advance(ms: number): void;
  /** A control call, such as a mark price; answers after all that follows from it. @throws {BadCall} */
  call<C extends ControlCall>(name: C, body?: ControlArguments<C>): Promise<unknown>;
  /** Ends all connections. Repeatable. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Starts a simulated exchange; it listens when this resolves.
 * @throws {BadScenario} when the scenario has mistakes; an error of Node when the port cannot be had
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const running = await start(options);
  return {
    url: running.url,
    traders: running.traders,
    keyOf: (trader) => running.keyOf(trader).withKeypair((pair) => JSON.stringify([...pair])),
    nowMs: running.nowMs,
    advance: running.advance,
    call: running.call,
    stop: running.stop,
    [Symbol.asyncDispose]: running.stop,
  };
}
