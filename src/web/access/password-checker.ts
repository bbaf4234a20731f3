/** Checks passwords one at a time, after the throttle's wait. */

import type { LoginThrottle } from "./login-throttle.ts";
import { isPassword, maxPasswordLength, parsePasswordHash } from "./password.ts";

export type PasswordAnswer = { readonly kind: "right" } | { readonly kind: "wrong" } | Wait;
interface Wait {
  readonly kind: "wait";
  readonly ms: number;
}

/**
 * Maximum waiting checks per group; each takes a third of a second. Addresses with an earlier login are a group of
 * their own.
 */
const maxWaiting = 4;

export class PasswordChecker {
  readonly #throttle: LoginThrottle;
  #tail: Promise<unknown> = Promise.resolve();
  readonly #waiting = { known: 0, unknown: 0 };

  constructor(throttle: LoginThrottle) {
    this.#throttle = throttle;
  }

  /** @param displayAddress the address for the log */
  async check(
    password: string,
    hash: string,
    address: string,
    displayAddress: string,
  ): Promise<PasswordAnswer> {
    const group = this.#throttle.isKnown(address) ? "known" : "unknown";
    if (this.#waiting[group] > maxWaiting) return { kind: "wait", ms: 1_000 };
    this.#waiting[group]++;
    const result = this.#tail.then(async (): Promise<PasswordAnswer> => {
      const ms = this.#throttle.waitMs(address);
      if (ms > 0) return { kind: "wait", ms };
      const against = parsePasswordHash(hash);
      const isRight =
        against !== null && password.length <= maxPasswordLength && (await isPassword(password, against));
      if (isRight) this.#throttle.succeeded(address);
      else this.#throttle.failed(address, displayAddress, "password");
      return { kind: isRight ? "right" : "wrong" };
    });
    this.#tail = result.catch(() => {}).finally(() => this.#waiting[group]--);
    return result;
  }
}
