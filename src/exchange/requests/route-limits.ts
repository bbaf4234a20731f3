/**
 * Distinguishes limits of single routes from a limit on all requests. A route has a limit of its own if
 *  - it is refused repeatedly while enough requests of others are answered in between, and none of its own, or
 *  - repeatedly requests of others are answered within the pause that its refusal stated, however often it is
 *    answered itself.
 */
interface RouteRefusals {
  /** Counted refusals since its last answer. */
  refusals: number;
  /** Answers of other routes since the newest counted refusal. */
  others: number;
  /** The number of requests sent at its newest refusal. */
  sent: number;
  /**
   * The end of the long pause of its newest refusal, monotonic ms; reset once an answer has evaluated it.
   */
  pauseEndMs: number;
  /** Number of long pauses within which others were answered. */
  contradicted: number;
  contradictedMs: number;
}

/**
 * Answers of others between two refusals after which the second one counts. A limit on all requests refuses some of
 * them.
 */
const ANSWERS = 5;
/** Refusals in a row after which the limit certainly belongs to the route. */
const minCertainRefusals = 3;
/**
 * Number of contradicted pauses after which it does. A single one may have been a limit on all requests that ended
 * early.
 */
const minContradictions = 2;
const REMEMBERED_MS = 60 * 60_000;
const NO_PAUSE = Number.NEGATIVE_INFINITY;

export class RouteLimits {
  readonly #routes = new Map<string, RouteRefusals>();

  /**
   * @param nth number of the request in the order of sending
   * @returns true if the route had been refused before and its limit is not its own
   */
  answered(route: string, nth: number, nowMs: number): boolean {
    if (this.#routes.size === 0) return false;
    for (const [name, one] of this.#routes) {
      if (name === route) continue;
      one.others++;
      if (nth <= one.sent || nowMs >= one.pauseEndMs) continue;
      one.pauseEndMs = NO_PAUSE;
      one.contradicted++;
      one.contradictedMs = nowMs;
    }
    const own = this.#routes.get(route);
    // A request that was under way at the refusal does not describe the time after it.
    if (!own || nth <= own.sent) return false;
    const refused = own.refusals > 0;
    own.refusals = 0;
    own.others = 0;
    // The pause did not apply to the route itself either, so it shows nothing.
    own.pauseEndMs = NO_PAUSE;
    return refused && !isOwn(own, nowMs);
  }

  /**
   * @param nth number of the request in the order of sending  @param sent number of requests sent so far
   * @param pauseMs the long pause that the refusal states; null: none
   * @returns true if the limit certainly belongs to the route
   */
  refused(
    route: string,
    { nth, sent }: { readonly nth: number; readonly sent: number },
    pauseMs: number | null,
    nowMs: number,
  ): boolean {
    for (const [name, other] of this.#routes) {
      // Refused within the pause of another route: the limit is not that route's alone.
      if (name === route || nth <= other.sent || nowMs >= other.pauseEndMs) continue;
      other.pauseEndMs = NO_PAUSE;
      other.contradicted = 0;
    }
    let own = this.#routes.get(route);
    if (!own) {
      own = {
        refusals: 0,
        others: 0,
        sent: 0,
        pauseEndMs: NO_PAUSE,
        contradicted: 0,
        contradictedMs: NO_PAUSE,
      };
      this.#routes.set(route, own);
    }
    if (own.refusals === 0 || own.others >= ANSWERS) {
      own.refusals++;
      own.others = 0;
    }
    own.sent = sent;
    if (pauseMs !== null) own.pauseEndMs = nowMs + pauseMs;
    return own.refusals >= minCertainRefusals || isOwn(own, nowMs);
  }
}

function isOwn({ contradicted, contradictedMs }: RouteRefusals, nowMs: number): boolean {
  return contradicted >= minContradictions && nowMs - contradictedMs < REMEMBERED_MS;
}
