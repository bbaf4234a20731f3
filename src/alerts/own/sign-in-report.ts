/**
 * Tracks the alerts that report, once for all wallets, why sign-ins fail: the missing data needs no other alert
 * meanwhile.
 */

import type { AlertBook } from "../alert-book.ts";

/** Shipped rules that report, once for all wallets, why sign-ins fail. */
const signInRules: ReadonlySet<string> = new Set(["LoginTextChanged", "SignerUnavailable"]);

/** Time in which wallets sign in once they can, ms: two checks of the missing data and the longest back-off. */
const signInWithinMs = 120_000;

export class SignInReport {
  readonly #alerts: AlertBook;
  /** The time at which such an alert last fired, ms. */
  #reportedMs = Number.NEGATIVE_INFINITY;

  constructor(alerts: AlertBook) {
    this.#alerts = alerts;
  }

  /** Returns true while an alert reports why sign-ins fail, and for the time that wallets then need to sign in. */
  isReported(nowMs: number): boolean {
    const fires = [...this.#alerts.live.values()].some(
      ({ alert }) => signInRules.has(alert.rule) && !alert.shadow,
    );
    if (fires) this.#reportedMs = nowMs;
    return nowMs - this.#reportedMs <= signInWithinMs;
  }
}
