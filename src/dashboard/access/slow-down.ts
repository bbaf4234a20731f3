/**
 * Slows down whoever fails to log in, by address and over all addresses, and logs it. Nobody is locked out: the wait of an address
 * ends by itself and grows to a minute at most, asking during it changes nothing, and links and tokens never wait.
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
    const overallMs = this.#left >= 1 ? 0 : ((1 - this.#left) / overallPerSecond) * 1_000;
    return Math.max(0, ownMs, overallMs);
  }

  /** @param shown the address as the log has it */
  failed(address: string, shown: string, what: FailedWith): void {
    this.#tell(shown, what);
    // Nobody guesses 256 bits: what is slowed down is guessing passwords.
    if (what !== "password") return;
    this.#refill();
    this.#left = Math.max(0, this.#left - 1);
    const nowMs = this.#clock.elapsedMs();
    const before = this.#addresses.get(address);
    const count = before && nowMs - before.lastMs < forgetMs ? before.count + 1 : 1;
    const waitMs = count <= freeFailures ? 0 : firstWaitMs * 2 ** Math.min(count - freeFailures - 1, 10);
    this.#addresses.delete(address);
    this.#addresses.set(address, { count, lastMs: nowMs, untilMs: nowMs + Math.min(waitMs, maxWaitMs) });
    const [oldest] = this.#addresses.keys();
    if (this.#addresses.size > maxAddresses) this.#addresses.delete(oldest!);
  }

  succeeded(address: string): void {
    this.#addresses.delete(address);
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
