/** An alert that no longer holds, or whose subject is gone, and whose end waits for the liquidation history. */
export interface EndingWait {
  readonly sinceMs: number;
  /** The time at which the wait for that history ends, ms: later if its condition holds again by then. */
  readonly untilMs: number;
}

/** Returns a text that follows the name of an alert. @param time formats a time */
export function endingWaitText(wait: EndingWait, time: (ms: number) => string): string {
  return `no longer holds; ${endWaitsText(wait, time)}`;
}

export function endWaitsText({ untilMs }: EndingWait, time: (ms: number) => string): string {
  return `its end waits for the liquidation history, until about ${time(untilMs)}`;
}
