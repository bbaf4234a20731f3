/**
 * The circuit, slots and health of one channel, shared by all that leaves by it: its own messages, and those of a person's rotas.
 * Each person of a rota therefore has a circuit, slots and health of their own.
 */
import type { SendResult } from "../channels/channel.ts";
import { Circuit } from "./circuit.ts";
import { Health, type HealthOptions } from "./health.ts";
import { Slots } from "./slots.ts";

/** The time after which a channel that fails is passed over where others can stand in for it, ms: three attempts at least. */
export const standInAfterMs = 30_000;
/** The interval at which one that is passed over is tried again with a message, ms. */
const triedAgainMs = 60_000;

export interface ChannelStateOptions extends HealthOptions {
  /** The name in the configuration. */
  readonly name: string;
  readonly random: () => number;
}

/** A line, as the states of the channels by which it sends know it. */
export interface StateUser {
  /** Returns true if a message of the line is on its way by this channel. */
  uses(state: ChannelState): boolean;
  pump(): void;
}

export class ChannelState {
  readonly circuit: Circuit;
  readonly slots = new Slots();
  readonly health: Health;
  readonly #users = new Set<StateUser>();
  /** Since when messages have failed without one that was taken, monotonic; null: none has. */
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

  /** Returns true if a message of any line is on its way by this channel. */
  get inUse(): boolean {
    return [...this.#users].some((user) => user.uses(this));
  }

  /** Lets the other lines look whether they may send now. */
  changed(by: StateUser): void {
    for (const user of this.#users) if (user !== by) user.pump();
  }

  /** The time from which on others stand in for it, monotonic ms. Infinity: they do not. @param patienceMs for failures that may pass */
  passedOverAtMs(patienceMs: number): number {
    if (this.circuit.broken) return Number.NEGATIVE_INFINITY;
    return this.#failingSinceMs === null ? Number.POSITIVE_INFINITY : this.#failingSinceMs + patienceMs;
  }

  /** The time from which on a message may find out whether it takes messages again while others stand in for it, monotonic ms. */
  get triedAgainAtMs(): number {
    const opensMs = this.circuit.opensAtMs(false);
    return this.circuit.broken ? opensMs : Math.max(opensMs, this.#lastFailureMs + triedAgainMs);
  }

  /** The last failure of a message or a check, for people; empty: none yet. */
  get lastFailure(): string {
    return this.#lastFailure;
  }

  /** The fault is the channel's own. */
  broke(detail: string, nowMs: number): void {
    this.#lastFailure = detail;
    this.circuit.broke(nowMs);
  }

  /** @param delivers false: a check says so, which knows less than a message @returns true when the channel was not well before */
  succeeded(delivers: boolean): boolean {
    if (delivers) this.#failingSinceMs = null;
    return this.circuit.succeeded();
  }

  /** An attempt failed in a way that may pass. @returns ms after which the same message may be tried again: see `Circuit.failed` */
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
