/** The levels and forms of the daemon's log. Apart from the log itself, which only the daemon loads. */

export const logLevels = ["debug", "info", "warn", "error", "fatal"] as const;
export const logFormats = ["auto", "pretty", "json"] as const;

export interface LogOptions {
  readonly level: (typeof logLevels)[number];
  /** `auto`: pretty on a terminal. */
  readonly format: (typeof logFormats)[number];
}
