/**
 * Stores Discord's rate limits, so that requests that would be refused are not made. There are a global limit for the
 * bot, and one per bucket; a bucket is method and path without message ids.
 */
import type { Clock } from "../../domain/clock.ts";
import { boundedWaitMs } from "../post.ts";

/** Thrown instead of making a request, and for an answer of 429. */
export class RateLimited extends Error {
  readonly afterMs: number;
  readonly global: boolean;
  constructor(afterMs: number, global: boolean) {
    super("rate limited");
    this.name = "RateLimited";
    this.afterMs = afterMs;
    this.global = global;
  }
}

/** Wait after a 429 that states no time. */
const defaultWaitMs = 1_000;
/** Every interaction has its own bucket, which is not used again: buckets without a limit are removed. */
const maxBuckets = 200;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

export class RateMemory {
  readonly #clock: Clock;
  readonly #freeAtMs = new Map<string, number>();
  #globalFreeAtMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws {RateLimited} while a limit applies to the request */
  check(method: string, path: string): void {
    const now = this.#clock.elapsedMs();
    if (now < this.#globalFreeAtMs) throw new RateLimited(Math.ceil(this.#globalFreeAtMs - now), true);
    const freeAtMs = this.#freeAtMs.get(bucketOf(method, path)) ?? 0;
    if (now < freeAtMs) throw new RateLimited(Math.ceil(freeAtMs - now), false);
  }

  /** Stores the limits of an answer. @throws {RateLimited} if the answer is 429 */
  note(method: string, path: string, status: number, headers: Headers, body: string): void {
    const now = this.#clock.elapsedMs();
    const bucket = bucketOf(method, path);
    if (status === 429) {
      const { afterMs, global } = waitOf(headers, body);
      if (global) this.#globalFreeAtMs = now + afterMs;
      else this.#freeAtMs.set(bucket, now + afterMs);
      throw new RateLimited(afterMs, global);
    }
    const resetMs = number(headers["x-ratelimit-reset-after"]);
    if (number(headers["x-ratelimit-remaining"]) === 0 && resetMs !== null) {
      this.#freeAtMs.set(bucket, now + boundedWaitMs(resetMs * 1_000));
      if (this.#freeAtMs.size > maxBuckets)
        for (const [known, freeAtMs] of this.#freeAtMs) if (freeAtMs <= now) this.#freeAtMs.delete(known);
    } else {
      this.#freeAtMs.delete(bucket);
    }
  }
}

function waitOf(headers: Headers, body: string): { afterMs: number; global: boolean } {
  let stated: { retry_after?: unknown; global?: unknown } = {};
  try {
    stated = (JSON.parse(body) ?? {}) as typeof stated;
  } catch {
    // An answer of a proxy in front of Discord is not JSON; its headers still count.
  }
  const header = number(headers["retry-after"]) ?? 0;
  const inBody = typeof stated.retry_after === "number" ? stated.retry_after : 0;
  const afterMs = boundedWaitMs(Math.max(header, inBody, 0) * 1_000) || defaultWaitMs;
  return { afterMs, global: headers["x-ratelimit-global"] !== undefined || stated.global === true };
}

function bucketOf(method: string, path: string): string {
  return `${method} ${path.replace(/\/messages\/\d+/, "/messages/:id")}`;
}

function number(header: string | string[] | undefined): number | null {
  if (header === undefined || Array.isArray(header)) return null;
  const value = Number(header);
  return header !== "" && Number.isFinite(value) && value >= 0 ? value : null;
}
