/**
 * The circuit, slots and health of one channel, shared by all of its queues: the channel's own, and those of rotas with
 * its person. Each person of a rota therefore has a separate circuit, slots and health.
 */
import type { SendResult } from "../../channels/channel.ts";
import { Circuit } from "./circuit.ts";
import { Health, type HealthOptions } from "./health.ts";
import { Slots } from "./slots.ts";

/** The time after which a failing channel is passed over if others can stand in for it, ms: at least three attempts. */
export const standInAfterMs = 30_000;
/** The interval at which a passed-over channel is tried again with a message, ms. */
const triedAgainMs = 60_000;

export interface ChannelStateOptions extends HealthOptions {
  /** The name in the configuration. */
  readonly name: string;
  readonly random: () => number;
}

/** A queue, as seen by the states of its channels. */
export interface StateUser {
  /** Returns true if a message of the queue is on its way by this channel. */
  uses(state: ChannelState): boolean;
  pump(): void;
}

export class ChannelState {
  readonly circuit: Circuit;
  readonly slots = new Slots();
  readonly health: Health;
  readonly #users = new Set<StateUser>();
  /** Start of the failures since the last accepted message, monotonic; null: none. */
  #failingSinceMs: number | null = null;
  #lastFailureMs = Number.NEGATIVE_INFINITY;
  #lastFailure = "";

  constructor(options: ChannelStateOptions) {
    this.circuit = new Circuit(options.random);
    this.health = new Health(options.name, options);
  }

  joins(user: StateUser): void {
    this.#users.add(user);
  }

  /** Returns true if a message of any queue is on its way by this channel. */
  get inUse(): boolean {
    return [...this.#users].some((user) => user.uses(this));
  }

  /** Tells the other queues to check if they may send now. */
  changed(by: StateUser): void {
    for (const user of this.#users) if (user !== by) user.pump();
  }

  /**
   * Returns the time from which others stand in for it, monotonic ms; Infinity: they do not. @param patienceMs for
   * temporary failures
   */
  passedOverAtMs(patienceMs: number): number {
    if (this.circuit.broken) return Number.NEGATIVE_INFINITY;
    return this.#failingSinceMs === null ? Number.POSITIVE_INFINITY : this.#failingSinceMs + patienceMs;
  }

  /** The time from which a message may test the channel again while others stand in for it, monotonic ms. */
  get triedAgainAtMs(): number {
    const opensMs = this.circuit.opensAtMs(false);
    return this.circuit.broken ? opensMs : Math.max(opensMs, this.#lastFailureMs + triedAgainMs);
  }

  /** The last failure of a message or a check, for people; empty: none yet. */
  get lastFailure(): string {
    return this.#lastFailure;
  }

  /** Notes a fault of the channel itself. */
  broke(detail: string, nowMs: number): void {
    this.#lastFailure = detail;
    this.circuit.broke(nowMs);
  }

  /**
   * Notes a success. @param delivers false: only a check succeeded, which is weaker evidence than a message @returns
   * true if the channel was failing before
   */
  succeeded(delivers: boolean): boolean {
    if (delivers) this.#failingSinceMs = null;
    return this.circuit.succeeded();
  }

  /**
   * Notes a temporary failure of an attempt. @returns ms after which the same message may be tried again: see
   * `Circuit.failed`
   */
  failed(
    result: SendResult & { readonly kind: "retry" },
    id: string,
    attempts: number,
    nowMs: number,
  ): number {
    this.#failingSinceMs ??= nowMs;
    this.#lastFailureMs = nowMs;
    this.#lastFailure = result.detail;
    if ((result.afterMs ?? 0) >= standInAfterMs) this.#failingSinceMs = Number.NEGATIVE_INFINITY;
    if (result.afterMs !== null) this.slots.limited(nowMs + result.afterMs);
    return this.circuit.failed(result, id, attempts, nowMs);
  }
}
