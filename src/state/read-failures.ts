/** The newest failed read of each source and wallet, with a text for its cause. */

import type { FailureCause, FailureReason } from "../domain/observation.ts";
import type { Source } from "../domain/sources.ts";
import type { FailedRead } from "../domain/stored/changes.ts";

/** Reported starts of one rate limit differ by at most this, ms. */
const sameLimitMs = 1_000;

export class ReadFailures {
  readonly #newest = new Map<string, FailedRead>();
  /** The rate limit as stated by the newest failure that states one. */
  #limit: FailureCause | null = null;
  #limited: FailedRead | null = null;

  /** The newest read, of any source, that failed since requests are limited; null: none did since the start. */
  get limited(): FailedRead | null {
    return this.#limited;
  }

  /** True if no read has failed, or each source that failed was read since. */
  get none(): boolean {
    return this.#newest.size === 0;
  }

  failed(failure: FailedRead): void {
    this.#newest.set(nameOf(failure.source, failure.wallet), failure);
    if (failure.cause === undefined) return;
    this.#limit = failure.cause;
    this.#limited = failure;
  }

  /** Takes a successful read at a time: it clears earlier failures. */
  answered(source: Source, wallet: string | null, atMs: number): void {
    const name = nameOf(source, wallet);
    const failure = this.#newest.get(name);
    if (failure !== undefined && failure.atMs <= atMs) this.#newest.delete(name);
  }

  /** The kind of the newest failed read; null: none since the source answered. "No connection" and "no answer" count as one kind. */
  kindOf(source: Source, wallet: string | null): FailureReason | null {
    const reason = this.#newest.get(nameOf(source, wallet))?.reason ?? null;
    return reason === "timeout" ? "unreachable" : reason;
  }

  of(source: Source, wallet: string | null): FailedRead | null {
    const failure = this.#newest.get(nameOf(source, wallet)) ?? null;
    const [own, limit] = [failure?.cause, this.#limit];
    // A rate limit is one cause, whichever read met it last.
    if (failure === null || own === undefined || limit === null) return failure;
    return Math.abs(limit.sinceMs - own.sinceMs) < sameLimitMs ? { ...failure, cause: limit } : failure;
  }
}

/** Texts of Node.js and undici, by error code. */
const networkCauses: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED/, "connection refused"],
  [/ECONNRESET|UND_ERR_SOCKET|other side closed|socket hang up|EPIPE/, "connection closed"],
  [/ENOTFOUND|EAI_AGAIN/, "host name not found"],
  [/ENETUNREACH|EHOSTUNREACH/, "no route to the host"],
  [/CERT|certificate|TLS/i, "TLS error"],
];

const maxDetail = 60;

/**
 * The cause of a failed read as the exchange or the network gave it: `HTTP 503`, `timed out`, `connection refused`.
 * @param time formats a time of day
 */
export function causeText(
  { reason, detail, cause }: FailedRead,
  nowMs: number,
  time: (ms: number) => string,
): string {
  // The endpoint in `traderState: 503 unavailable` is not part of the cause.
  const text = detail.replace(/^\w+: /, "");
  const status = /^([1-5]\d\d)\b/.exec(text)?.[1];
  switch (reason) {
    case "rate-limited": {
      if (cause === undefined) return status === undefined ? short(text) : `rate limited (HTTP ${status})`;
      const until = cause.untilMs > nowMs ? `, next request at ${time(cause.untilMs)}` : "";
      return `rate limited since ${time(cause.sinceMs)}${until}`;
    }
    case "timeout":
      return status === undefined ? "timed out" : `HTTP ${status}`;
    case "bad-record":
      return "unreadable record";
    case "unreachable":
      return networkCauses.find(([pattern]) => pattern.test(text))?.[1] ?? short(text);
    case "signed-out": {
      if (status !== undefined) return `not signed in (HTTP ${status})`;
      // `main waits before it tries again (loginWallet: 403 forbidden)`
      const refusal = /\(\w+: ([45]\d\d\b(?! characters).*)\)$/.exec(text)?.[1];
      return refusal === undefined ? "not signed in" : `not signed in (HTTP ${short(refusal)})`;
    }
    default:
      return status === undefined ? short(text) : `HTTP ${status}`;
  }
}

function short(text: string): string {
  return text.length <= maxDetail ? text : `${text.slice(0, maxDetail - 1)}…`;
}

function nameOf(source: Source, wallet: string | null): string {
  return `${source}\n${wallet ?? ""}`;
}
