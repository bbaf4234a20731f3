/** Local time of a time zone: offsets, and the instants of wall times, also around changes of the clocks. */

const dayMs = 86_400_000;

export class Zone {
  readonly #format: Intl.DateTimeFormat;
  readonly #known = new Map<number, number>();

  constructor(timezone: string) {
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone: timezone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** Returns wall time less UTC at an instant, ms. */
  offsetMs(instant: number): number {
    // Offsets change at quarters of an hour.
    const quarter = Math.floor(instant / 900_000);
    const known = this.#known.get(quarter);
    if (known !== undefined) return known;
    const at = quarter * 900_000;
    const part: Record<string, number> = {};
    for (const { type, value } of this.#format.formatToParts(at)) part[type] = Number(value);
    const wall = Date.UTC(part.year!, part.month! - 1, part.day!, part.hour!, part.minute!, part.second!);
    if (this.#known.size > 10_000) this.#known.clear();
    this.#known.set(quarter, wall - at);
    return wall - at;
  }

  /**
   * Returns the instants at which clocks show this wall time (written as if it were UTC), earliest first: one, or two if it
   * occurs twice. If it is skipped: the instant of the jump.
   */
  instants(wall: number): number[] {
    const before = this.offsetMs(wall - dayMs);
    const after = this.offsetMs(wall + dayMs);
    const found = [...new Set([wall - before, wall - after])].filter((ms) => ms + this.offsetMs(ms) === wall);
    if (found.length > 0) return found.sort((a, b) => a - b);
    // The jump is between the two candidates.
    let low = Math.min(wall - before, wall - after);
    let high = Math.max(wall - before, wall - after);
    const early = this.offsetMs(low);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offsetMs(middle) === early) low = middle;
      else high = middle;
    }
    return [high];
  }
}
