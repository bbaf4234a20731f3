/** Sign-ins and sessions that the exchange refused in one run of the daemon: those that surely count, and all that may. */
import type { Logged } from "../../log.ts";
import { type Range, Tally } from "./tally.ts";

/** The daemon tries again no sooner after a try to sign in that failed, ms. */
const nextTryMs = 850;
const givesToken = /^\/v1\/auth\/(?:login\/|refresh)/;

export class Refusals {
  readonly #sure = new Tally();
  readonly #most = new Tally();
  /** By wallet, the time of a refusal after which the way to sign in begins anew, once. */
  readonly #begunAnewMs = new Map<string, number>();
  /** By wallet, the access token that it was given last in this run; empty where that cannot be known. */
  readonly #given = new Map<string, string>();
  /** Access tokens that were refused. */
  readonly #refused = new Set<string>();

  take({ target, status, garbled, wallet, token, atMs }: Extract<Logged, { kind: "asked" }>): void {
    const isRefusal = status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429;
    if (target.startsWith("/v1/auth/")) {
      if (garbled !== null) this.#most.add(1, atMs);
      if (isRefusal) this.#signIn(target, status, wallet ?? "", atMs);
      else if (wallet !== null && status === 200 && givesToken.test(target))
        this.#given.set(wallet, token ?? "");
    } else if (status === 401) {
      this.#most.add(1, atMs);
      // A request may have waited for its turn with a token that was replaced meanwhile. Before a run is given one it
      // uses the stored one.
      const newest = this.#given.get(wallet ?? "") ?? token;
      if (token === null || token !== newest || this.#refused.has(token)) return;
      this.#refused.add(token);
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
    const beginsAnew = target.startsWith("/v1/auth/login/") && status !== 403;
    const before = this.#begunAnewMs.get(wallet) ?? Number.NEGATIVE_INFINITY;
    // The second of a try. A refusal later than that may be the first of the next: this try failed without an answer.
    const isSecond = atMs - before < nextTryMs;
    if (beginsAnew && !isSecond) this.#begunAnewMs.set(wallet, atMs);
    else {
      this.#begunAnewMs.delete(wallet);
      this.#sure.add(1, atMs);
    }
  }
}
