/** The data of a transfer's event beside its fields, for sums of deposits and withdrawals. */
export interface TransferData {
  /** Positive. */
  readonly transferUsd: number;
  /** True if both sides are watched: the wallet's total does not change. */
  readonly within: boolean;
  /** True if the direction of its amount is only likely. */
  readonly guessed?: true;
}
