/**
 * Slows down whoever guesses passwords, by address and over all addresses that nobody has logged in from, and logs it. The wait of an
 * address ends by itself and grows to a minute at most, and asking during it changes nothing. Links, sessions and tokens never wait.
 *
 * Guesses from elsewhere do not make an address wait from which somebody has logged in since the start. Guesses from the same address
 * do, as do those of many addresses one from which nobody has logged in: as long as they go on, a password may find no turn there.
 */
import type { Clock } from "../../domain/clock.ts";
import type { DashboardLog } from "../log.ts";

/** Failures of an address without a wait: people mistype. */
const freeFailures = 5;
const firstWaitMs = 1_000;
const maxWaitMs = 60_000;
/** An address that failed no more for so long begins anew. */
const forgetMs = 3_600_000;
const maxAddresses = 1_000;
/** Addresses that somebody has logged in from. */
const maxKnown = 100;
/** Failures of all addresses together, at once and each second after it. */
const overallBurst = 20;
const overallPerSecond = 0.5;
const linesAMinute = 10;

interface Failures {
  readonly count: number;
  readonly lastMs: number;
  readonly untilMs: number;
}

export type FailedWith = "password" | "link" | "token";

export class SlowDown {
  readonly #clock: Clock;
  readonly #log: DashboardLog;
  /** The one that failed last stands last. */
  readonly #addresses = new Map<string, Failures>();
  /** The one that was used last stands last. */
  readonly #known = new Set<string>();
  #left = overallBurst;
  #leftAtMs: number;
  #lines = { sinceMs: Number.NEGATIVE_INFINITY, count: 0, untold: 0 };

  constructor(clock: Clock, log: DashboardLog) {
    this.#clock = clock;
    this.#log = log;
    this.#leftAtMs = clock.elapsedMs();
  }

  /** The time to wait before a password of this address is looked at, ms; 0: none. */
  waitMs(address: string): number {
    this.#refill();
    const ownMs = (this.#addresses.get(address)?.untilMs ?? 0) - this.#clock.elapsedMs();
    const overallMs =
      this.#left >= 1 || this.isKnown(address) ? 0 : ((1 - this.#left) / overallPerSecond) * 1_000;
    return Math.max(0, ownMs, overallMs);
  }

  /** @param shown the address as the log has it */
  failed(address: string, shown: string, what: FailedWith): void {
    this.#tell(shown, what);
    // Nobody guesses 256 bits: what is slowed down is guessing passwords.
    if (what !== "password") return;
    this.#refill();
    if (!this.isKnown(address)) this.#left = Math.max(0, this.#left - 1);
    const nowMs = this.#clock.elapsedMs();
    const before = this.#addresses.get(address);
    const count = before && nowMs - before.lastMs < forgetMs ? before.count + 1 : 1;
    const waitMs = count <= freeFailures ? 0 : firstWaitMs * 2 ** Math.min(count - freeFailures - 1, 10);
    this.#addresses.delete(address);
    this.#addresses.set(address, { count, lastMs: nowMs, untilMs: nowMs + Math.min(waitMs, maxWaitMs) });
    const [oldest] = this.#addresses.keys();
    if (this.#addresses.size > maxAddresses) this.#addresses.delete(oldest!);
  }

  /** A password was right. */
  succeeded(address: string): void {
    this.#addresses.delete(address);
  }

  /** Notes that somebody is logged in there. Changes nothing about the waits of guesses from the same address. */
  know(address: string): void {
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
    this.#left = Math.min(overallBurst, this.#left + ((nowMs - this.#leftAtMs) / 1_000) * overallPerSecond);
    this.#leftAtMs = nowMs;
  }

  /** One line for each failure, at most ten a minute; the next line counts those that had none. */
  #tell(address: string, what: FailedWith): void {
    const nowMs = this.#clock.elapsedMs();
    if (nowMs - this.#lines.sinceMs >= 60_000) this.#lines = { ...this.#lines, sinceMs: nowMs, count: 0 };
    if (this.#lines.count >= linesAMinute) {
      this.#lines.untold++;
      return;
    }
    const { untold } = this.#lines;
    this.#lines.count++;
    this.#lines.untold = 0;
    const others = untold === 0 ? {} : { failuresWithoutLine: untold };
    this.#log.warn({ address, with: what, ...others }, `a login to the local address failed: wrong ${what}`);
  }
}
