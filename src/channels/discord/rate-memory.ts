/**
 * Remembers Discord's rate limits, so that a request which would be refused is not made. Two kinds: one for the whole bot
 * ("global"), and one for each bucket, here method and path without message ids.
 */
import type { Clock } from "../../domain/clock.ts";
import { bounded } from "../post.ts";

/** Thrown instead of making a request, or for an answer 429. */
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

/** Used when a 429 names no time. */
const defaultWaitMs = 1_000;
/** Every interaction is a bucket of its own, which nobody asks about again: those that are free are forgotten. */
const maxBuckets = 200;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

export class RateMemory {
  readonly #clock: Clock;
  readonly #freeAtMs = new Map<string, number>();
  #globalFreeAtMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws {RateLimited} while Discord wants none of these requests */
  check(method: string, path: string): void {
    const now = this.#clock.elapsedMs();
    if (now < this.#globalFreeAtMs) throw new RateLimited(Math.ceil(this.#globalFreeAtMs - now), true);
    const freeAtMs = this.#freeAtMs.get(bucketOf(method, path)) ?? 0;
    if (now < freeAtMs) throw new RateLimited(Math.ceil(freeAtMs - now), false);
  }

  /** Remembers what an answer said. @throws {RateLimited} when the answer is 429 */
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
      this.#freeAtMs.set(bucket, now + bounded(resetMs * 1_000));
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
    // An answer from in front of Discord (a proxy) is no JSON; its headers still count.
  }
  const header = number(headers["retry-after"]) ?? 0;
  const inBody = typeof stated.retry_after === "number" ? stated.retry_after : 0;
  const afterMs = bounded(Math.max(header, inBody, 0) * 1_000) || defaultWaitMs;
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
