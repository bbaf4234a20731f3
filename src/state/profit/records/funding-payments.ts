/** Recently read payments of the funding history, which may explain changes of collateral. */
import type { FundingRecord } from "./cash-record.ts";

const maxPayments = 200;
/** Time for which a payment is kept after it was read, ms: longer than an open change waits. */
const paymentForMs = 600_000;

interface ReadPayment extends FundingRecord {
  readonly readMs: number;
}

// Shared by the many wallets without payments.
const noPayments: readonly ReadPayment[] = [];

export class FundingPayments {
  /** Oldest first. */
  #all = noPayments;

  get all(): readonly FundingRecord[] {
    return this.#all;
  }

  add(payments: readonly FundingRecord[], atMs: number): void {
    const recent = this.#all.filter(({ readMs }) => readMs > atMs - paymentForMs);
    const fresh = payments.filter(({ key }) => !recent.some((one) => one.key === key));
    const all = [...recent, ...fresh.map((one) => ({ ...one, readMs: atMs }))];
    this.#all = all.sort((a, b) => a.endMs - b.endMs).slice(-maxPayments);
  }
}
