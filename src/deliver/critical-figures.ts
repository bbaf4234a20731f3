/** Figures about critical messages. */

/** Critical messages that nobody got, whatever the number of those who should have; fire drills aside. */
export interface CriticalFigures {
  /**
   * The time at which the oldest of those that wait was owed, or its group may leave (which may be still to come), ms; null:
   * none waits.
   */
  readonly waitingSinceMs: number | null;
  /** The number given up since the start. */
  readonly lost: number;
}
