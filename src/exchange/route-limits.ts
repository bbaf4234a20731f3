/**
 * Tells routes that refuse everything by themselves from a limit on all requests. A route has a limit of its own if it is
 * refused again and again while enough requests of others are answered in between, and none of its own.
 */
interface Streak {
  refusals: number;
  /** Answers of other routes since the newest refusal that counted. */
  others: number;
}

/** Answers of others between two refusals that count. A limit on all requests refuses some of so many. */
const ANSWERS = 5;
/** Refusals in a row after which the limit is the route's own for certain. */
const CERTAIN = 3;

export class RouteLimits {
  readonly #streaks = new Map<string, Streak>();

  /** @returns true if it had been refused before: the limit is not the route's own */
  answered(route: string): boolean {
    const refused = this.#streaks.delete(route);
    for (const streak of this.#streaks.values()) streak.others++;
    return refused;
  }

  /** @returns true if the limit is the route's own for certain */
  refused(route: string): boolean {
    const streak = this.#streaks.get(route);
    if (!streak) this.#streaks.set(route, { refusals: 1, others: 0 });
    else if (streak.others >= ANSWERS) {
      streak.refusals++;
      streak.others = 0;
    }
    return streak !== undefined && streak.refusals >= CERTAIN;
  }
}
