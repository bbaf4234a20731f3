/** The levels and formats of the daemon's log. In a file of its own, because only the daemon loads the log itself. */

export const logLevels = ["debug", "info", "warn", "error", "fatal"] as const;
export const logFormats = ["auto", "pretty", "json"] as const;

export interface LogOptions {
  readonly level: (typeof logLevels)[number];
  /** `auto`: pretty on a terminal. */
  readonly format: (typeof logFormats)[number];
}
