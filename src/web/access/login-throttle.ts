/**
 * Throttles password guesses, per address and over all addresses without an earlier login, and logs failures. The wait
 * of an address ends by itself and is a minute at most; attempts during it do not extend it. Links, sessions and tokens
 * are not throttled.
 *
 * Guesses from other addresses do not delay an address with a login since the start. Guesses from the same address do.
 * An address without an earlier login is also delayed by guesses from many addresses, so during such an attack its
 * password may not be checked.
 */
import type { Clock } from "../../domain/clock.ts";
import type { DashboardLog } from "../log.ts";

/** Failures without a wait, for typing errors. */
const freeFailures = 5;
const firstWaitMs = 1_000;
const maxWaitMs = 60_000;
/** An address without a failure for this long starts anew. */
const forgetMs = 3_600_000;
const maxAddresses = 1_000;
/** Maximum addresses with an earlier login. */
const maxKnown = 100;
/** Failures of all addresses together: burst and refill. */
const overallBurst = 20;
const overallPerSecond = 0.5;
const maxLinesPerMinute = 10;

interface Failures {
  readonly count: number;
  readonly lastMs: number;
  readonly untilMs: number;
}

export type FailedWith = "password" | "link" | "token";

export class LoginThrottle {
  readonly #clock: Clock;
  readonly #log: DashboardLog;
  /** In the order of their last failure. */
  readonly #addresses = new Map<string, Failures>();
  /** In the order of their last use. */
  readonly #known = new Set<string>();
  #tokens = overallBurst;
  #refilledAtMs: number;
  #lines = { sinceMs: Number.NEGATIVE_INFINITY, count: 0, unlogged: 0 };

  constructor(clock: Clock, log: DashboardLog) {
    this.#clock = clock;
    this.#log = log;
    this.#refilledAtMs = clock.elapsedMs();
  }

  /** Wait before a password from this address is checked, ms; 0: none. */
  waitMs(address: string): number {
    this.#refill();
    const ownMs = (this.#addresses.get(address)?.untilMs ?? 0) - this.#clock.elapsedMs();
    const overallMs =
      this.#tokens >= 1 || this.isKnown(address) ? 0 : ((1 - this.#tokens) / overallPerSecond) * 1_000;
    return Math.max(0, ownMs, overallMs);
  }

  /** @param displayAddress the address for the log */
  failed(address: string, displayAddress: string, what: FailedWith): void {
    this.#logFailure(displayAddress, what);
    // Only passwords can be guessed; 256-bit secrets cannot.
    if (what !== "password") return;
    this.#refill();
    if (!this.isKnown(address)) this.#tokens = Math.max(0, this.#tokens - 1);
    const nowMs = this.#clock.elapsedMs();
    const before = this.#addresses.get(address);
    const count = before && nowMs - before.lastMs < forgetMs ? before.count + 1 : 1;
    const waitMs = count <= freeFailures ? 0 : firstWaitMs * 2 ** Math.min(count - freeFailures - 1, 10);
    this.#addresses.delete(address);
    this.#addresses.set(address, { count, lastMs: nowMs, untilMs: nowMs + Math.min(waitMs, maxWaitMs) });
    const [oldest] = this.#addresses.keys();
    if (this.#addresses.size > maxAddresses) this.#addresses.delete(oldest!);
  }

  /** Resets the failures after a correct password. */
  succeeded(address: string): void {
    this.#addresses.delete(address);
  }

  /** Records a login from an address. Does not shorten waits caused by guesses from it. */
  markKnown(address: string): void {
    this.#known.delete(address);
    this.#known.add(address);
    const [oldest] = this.#known;
    if (this.#known.size > maxKnown) this.#known.delete(oldest!);
  }

  isKnown(address: string): boolean {
    return this.#known.has(address);
  }

  #refill(): void {
    const nowMs = this.#clock.elapsedMs();
    this.#tokens = Math.min(
      overallBurst,
      this.#tokens + ((nowMs - this.#refilledAtMs) / 1_000) * overallPerSecond,
    );
    this.#refilledAtMs = nowMs;
  }

  /** Logs each failure, at most ten lines a minute; the next line has the number of failures without one. */
  #logFailure(address: string, what: FailedWith): void {
    const nowMs = this.#clock.elapsedMs();
    if (nowMs - this.#lines.sinceMs >= 60_000) this.#lines = { ...this.#lines, sinceMs: nowMs, count: 0 };
    if (this.#lines.count >= maxLinesPerMinute) {
      this.#lines.unlogged++;
      return;
    }
    const { unlogged } = this.#lines;
    this.#lines.count++;
    this.#lines.unlogged = 0;
    const others = unlogged === 0 ? {} : { failuresWithoutLine: unlogged };
    this.#log.warn({ address, with: what, ...others }, `a login to the local address failed: wrong ${what}`);
  }
}
