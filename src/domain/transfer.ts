/** The data of a transfer's event beside its fields, for whoever adds up what came in and went out. */
export interface TransferData {
  /** Positive. */
  readonly transferUsd: number;
  /** Both sides are watched: the wallet as a whole has neither more nor less. */
  readonly within: boolean;
  /** The direction that its amount states is only likely. */
  readonly guessed?: true;
}
