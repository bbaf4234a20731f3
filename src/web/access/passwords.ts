/** Checks passwords, one at a time and after the wait of whoever failed before. */
import { isPassword, maxPasswordLength, parsePasswordHash } from "./password.ts";
import type { SlowDown } from "./slow-down.ts";

export type PasswordAnswer = { readonly kind: "right" } | { readonly kind: "wrong" } | Wait;
interface Wait {
  readonly kind: "wait";
  readonly ms: number;
}

/** Each holds a request for a third of a second. As many from addresses that somebody has logged in from. */
const maxWaiting = 4;

export class Passwords {
  readonly #slowDown: SlowDown;
  #last: Promise<unknown> = Promise.resolve();
  readonly #present = { known: 0, unknown: 0 };

  constructor(slowDown: SlowDown) {
    this.#slowDown = slowDown;
  }

  /** @param shown the address as the log has it */
  async check(password: string, hash: string, address: string, shown: string): Promise<PasswordAnswer> {
    const group = this.#slowDown.isKnown(address) ? "known" : "unknown";
    if (this.#present[group] > maxWaiting) return { kind: "wait", ms: 1_000 };
    this.#present[group]++;
    const own = this.#last.then(async (): Promise<PasswordAnswer> => {
      const ms = this.#slowDown.waitMs(address);
      if (ms > 0) return { kind: "wait", ms };
      const against = parsePasswordHash(hash);
      const isRight =
        against !== null && password.length <= maxPasswordLength && (await isPassword(password, against));
      if (isRight) this.#slowDown.succeeded(address);
      else this.#slowDown.failed(address, shown, "password");
      return { kind: isRight ? "right" : "wrong" };
    });
    this.#last = own.catch(() => {}).finally(() => this.#present[group]--);
    return own;
  }
}
