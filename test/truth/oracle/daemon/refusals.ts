/** Sign-ins and sessions that the exchange refused in one run of the daemon: those that surely count, and all that may. */
import type { Logged } from "../../log.ts";
import { type Range, Tally } from "./tally.ts";

/** A request may wait for its turn so long with the token of before, ms. */
const queuedMs = 5_000;

export class Refusals {
  readonly #sure = new Tally();
  readonly #most = new Tally();
  /** By wallet: refusals after which the way to sign in begins anew, once. */
  readonly #repeated = new Map<string, number>();
  /** By wallet, the time at which it signed in. */
  readonly #signedInMs = new Map<string, number>();
  /** Wallets whose token was refused since then. */
  readonly #refused = new Set<string>();

  take({ target, status, garbled, wallet, atMs, sentMs }: Extract<Logged, { kind: "asked" }>): void {
    const isRefusal = status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429;
    if (target.startsWith("/v1/auth/")) {
      if (garbled !== null) this.#most.add(1, atMs);
      if (isRefusal) this.#signIn(target, status, wallet ?? "", atMs);
      else if (wallet !== null && status === 200 && target.startsWith("/v1/auth/login/")) {
        this.#signedInMs.set(wallet, atMs);
        this.#refused.delete(wallet);
      }
    } else if (status === 401) {
      this.#most.add(1, atMs);
      const name = wallet ?? "";
      const signedInMs = this.#signedInMs.get(name) ?? Number.NEGATIVE_INFINITY;
      if (this.#refused.has(name) || sentMs < signedInMs + queuedMs) return;
      this.#refused.add(name);
      this.#sure.add(1, atMs);
    }
  }

  /** A stream was refused or ended, maybe for the sake of its session. */
  perhaps(atMs: number): void {
    this.#most.add(1, atMs);
  }

  at(atMs: number): Range {
    return { low: this.#sure.at(atMs).low, high: this.#most.at(atMs).high };
  }

  #signIn(target: string, status: number, wallet: string, atMs: number): void {
    this.#most.add(1, atMs);
    const begunAnew = target.startsWith("/v1/auth/login/") && status !== 403;
    const count = (this.#repeated.get(wallet) ?? 0) + 1;
    if (begunAnew) this.#repeated.set(wallet, count);
    if (!begunAnew || count % 2 === 0) this.#sure.add(1, atMs);
  }
}
