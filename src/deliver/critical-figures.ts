/** Figures about critical messages. */

/** Critical messages that reached no receiver, however many there are; fire drills excluded. */
export interface CriticalFigures {
  /**
   * The time at which the oldest waiting one became pending, or at which its group may leave (which may be in the
   * future), ms; null: none waits.
   */
  readonly waitingSinceMs: number | null;
  /** The number given up since the start. */
  readonly lost: number;
}
