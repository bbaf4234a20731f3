/** The report, once for all wallets, of why nobody signs in: their missing data need no alert meanwhile. */

import type { AlertBook } from "../alert-book.ts";

/** Shipped rules that tell, once for all wallets, why nobody signs in. */
const signInRules: ReadonlySet<string> = new Set(["LoginTextChanged", "SignerUnavailable"]);

/** The time in which wallets sign in once they can: two looks at what is missing, and the longest back-off, ms. */
const signInWithinMs = 120_000;

export class SignInReport {
  readonly #alerts: AlertBook;
  /** The time at which an alert last told why nobody signs in, ms. */
  #reportedMs = Number.NEGATIVE_INFINITY;

  constructor(alerts: AlertBook) {
    this.#alerts = alerts;
  }

  /** True while an alert tells why nobody signs in, and until the wallets have had the time to, once that is over. */
  isReported(nowMs: number): boolean {
    const fires = [...this.#alerts.live.values()].some(
      ({ alert }) => signInRules.has(alert.rule) && !alert.shadow,
    );
    if (fires) this.#reportedMs = nowMs;
    return nowMs - this.#reportedMs <= signInWithinMs;
  }
}
