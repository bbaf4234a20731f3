/**
 * Logs failures and recoveries: each once, regardless of the number of tries in between.
 *
 *   failed ──► held back ──others are read──► logged separately ─────────────────► read again: logged
 *                  ├─────read again───────► logged in one line
 *                  └─────nothing is read──► "the exchange cannot be reached" ────► the first read: "is back"
 *
 * A first failure is held back for a moment, since it may be the start of an outage: while nothing at all is read, and
 * two kinds of reads fail, one line covers all of them. Failures of single schedules are then logged at debug level. Of
 * one source the first three wallets are named; for further ones only that there are more.
 */
import type { Clock } from "../domain/clock.ts";
import type { FailureReason } from "../domain/observation.ts";
import type { Source } from "../domain/sources.ts";
import type { ExchangeOutage } from "../domain/status.ts";
import { formatDurationMs } from "../domain/text/duration.ts";
import { timeOfDay } from "../domain/text/time-text.ts";
import type { CollectLog } from "./log.ts";

const maxNamed = 3;
/** Time without any read after which it is an outage, ms. */
const outageAfterMs = 2_000;
/** A read that ends within this time after a failure was requested before it, and proves nothing. */
const underWayMs = 1_000;
/** Maximum hold: nothing else is read, and nothing else fails, so this failure is all there is to log. */
const maxHoldMs = 15_000;
const checkEveryMs = 1_000;

/** The target of a read: new data, or older pages of a history. */
export interface Reading {
  readonly source: Source;
  readonly wallet: string | null;
  readonly older?: boolean;
}

interface Trouble {
  readonly reading: Reading;
  readonly sinceMs: number;
  heldMs: number;
  reason: FailureReason;
  detail: string;
  /** Each is logged once. */
  readonly reasons: Set<FailureReason>;
  failures: number;
  /** Held: not logged yet. Folded, quiet: another line covers it, of its kind or of an outage. */
  state: "held" | "named" | "folded" | "quiet";
  /** True if it outlasted an outage. */
  carried: boolean;
}

interface Silence {
  readonly atMs: number;
  readonly elapsedMs: number;
  readonly sources: Set<Source>;
  /** True if a source among them was read before. */
  isNew: boolean;
  readonly detail: string;
}

interface Outage extends Omit<ExchangeOutage, "what"> {
  readonly sinceElapsedMs: number;
  /** Each is logged once. */
  readonly reasons: Set<FailureReason>;
}

export class Reporter {
  readonly #clock: Clock;
  readonly #log: CollectLog;
  readonly #troubles = new Map<string, Trouble>();
  readonly #folded = new Set<string>();
  /** The first failure since the last read, and the sources that have failed since. */
  #silence: Silence | null = null;
  #outage: Outage | null = null;
  #backMs = Number.NEGATIVE_INFINITY;
  #cancelCheck: (() => void) | null = null;

  constructor(clock: Clock, log: CollectLog) {
    this.#clock = clock;
    this.#log = log;
  }

  /** The outage and its start, if nothing can be read at all. */
  get outage(): ExchangeOutage | null {
    if (!this.#outage) return null;
    const { sinceMs, reason, detail } = this.#outage;
    return { sinceMs, reason, what: outageWords[reason], detail };
  }

  stop(): void {
    this.#cancelCheck?.();
    this.#cancelCheck = null;
  }

  /** @param askedMs the start of the failed run, monotonic */
  failed(reading: Reading, reason: FailureReason, detail: string, askedMs: number): void {
    const nowMs = this.#clock.elapsedMs();
    const known = this.#troubles.get(keyOf(reading));
    const trouble: Trouble = known ?? {
      ...{ reading, sinceMs: nowMs, heldMs: nowMs, reason, detail },
      ...{ failures: 0, reasons: new Set(), state: "held", carried: false },
    };
    const changed = !trouble.reasons.has(reason);
    Object.assign(trouble, { reason, detail, failures: trouble.failures + 1 });
    trouble.reasons.add(reason);
    this.#troubles.set(keyOf(reading), trouble);
    this.#log.debug(fieldsOf(reading, { reason }), `${nameOf(reading)} cannot be read: ${detail}`);
    if (reason === "signed-out") {
      // A failure of the wallet itself does not indicate an exchange outage.
      if (trouble.state === "held") this.#logFailure(trouble);
      else if (changed && trouble.state === "named") this.#logChange(trouble);
      return;
    }
    // A read requested during an outage belongs to it, even if it fails later.
    if (trouble.state === "held" && askedMs <= this.#backMs) trouble.state = "quiet";
    else if (trouble.state === "quiet" && !this.#outage && askedMs > this.#backMs)
      Object.assign(trouble, { state: "held", heldMs: nowMs, carried: true });
    // A separately logged failure does not indicate a new outage.
    if (trouble.state === "held" || trouble.state === "quiet") {
      const atMs = this.#clock.nowMs();
      this.#silence ??= { atMs, elapsedMs: nowMs, sources: new Set(), isNew: false, detail };
      this.#silence.sources.add(reading.source);
      this.#silence.isNew ||= !trouble.carried;
    }
    if (this.#outage) {
      if (trouble.state === "held") trouble.state = "quiet";
      if (trouble.state === "quiet" && !this.#outage.reasons.has(reason)) {
        this.#outage.reasons.add(reason);
        this.#log.warn({ reason }, `the exchange ${outageWords[reason]} now: ${withoutEndpoint(detail)}`);
      }
      return;
    }
    if (changed && trouble.state === "named") this.#logChange(trouble);
    this.#check();
  }

  /** Notes a regular answer of the exchange. */
  answered(): void {
    const nowMs = this.#clock.elapsedMs();
    this.#silence = null;
    if (this.#outage) this.#back(nowMs);
    // Others are read: the remaining failures have separate causes.
    for (const one of this.#troubles.values())
      if (one.state === "held" && nowMs - one.heldMs >= underWayMs) this.#logFailure(one);
  }

  /** Notes that this is read again. */
  worked(reading: Reading): void {
    const key = keyOf(reading);
    const trouble = this.#troubles.get(key);
    if (!trouble) return;
    this.#troubles.delete(key);
    this.#logRecovery(trouble, this.#clock.elapsedMs() - trouble.sinceMs);
  }

  #check(): void {
    if (this.#outage || this.#cancelCheck) return;
    const nowMs = this.#clock.elapsedMs();
    const silence = this.#silence;
    const undecided = silence?.isNew === true && silence.sources.size > 1;
    if (undecided && nowMs - silence.elapsedMs >= outageAfterMs) {
      this.#begin(silence);
      return;
    }
    let held = false;
    for (const one of this.#troubles.values()) {
      if (one.state !== "held") continue;
      if (nowMs - one.heldMs >= maxHoldMs) this.#logFailure(one);
      else held = true;
    }
    if (!held && !undecided) return;
    this.#cancelCheck = this.#clock.after(checkEveryMs, () => {
      this.#cancelCheck = null;
      this.#check();
    });
  }

  #begin(silence: Silence): void {
    const failing = [...this.#troubles.values()].filter(({ state }) => state === "held" || state === "quiet");
    const { reason, detail } = failing.at(-1) ?? { reason: "unreachable" as const, detail: silence.detail };
    const { atMs: sinceMs, elapsedMs: sinceElapsedMs } = silence;
    this.#outage = {
      ...{ sinceMs, sinceElapsedMs, reason, detail: withoutEndpoint(detail) },
      reasons: new Set(failing.map((one) => one.reason)),
    };
    for (const one of failing) one.state = "quiet";
    this.#log.warn(
      { reason },
      `the exchange ${outageWords[reason]} (since ${timeOfDay(sinceMs)}): ${this.#outage.detail}`,
    );
  }

  #back(nowMs: number): void {
    const forMs = nowMs - this.#outage!.sinceElapsedMs;
    this.#outage = null;
    this.#backMs = nowMs;
    this.#log.info({ forMs: Math.round(forMs) }, `the exchange is back after ${formatDurationMs(forMs)}`);
  }

  #logFailure(trouble: Trouble): void {
    const { reading, reason, detail } = trouble;
    const kind = kindOf(reading);
    let named = 0;
    for (const one of this.#troubles.values())
      if (one.state === "named" && kindOf(one.reading) === kind) named++;
    trouble.state = named < maxNamed ? "named" : "folded";
    if (trouble.state === "named") {
      const text = `${nameOf(reading)} cannot be read: ${detail}`;
      this.#log.warn(fieldsOf(reading, { reason }), `${text}${remedyFor(detail)}`);
    } else if (!this.#folded.has(kind)) {
      this.#folded.add(kind);
      const { source } = reading;
      this.#log.warn(
        { source, reason },
        `${kind} cannot be read for more than ${maxNamed} wallets: ${detail}`,
      );
    }
  }

  #logChange({ reading, reason, detail }: Trouble): void {
    const text = `${nameOf(reading)} still cannot be read, now: ${detail}`;
    this.#log.warn(fieldsOf(reading, { reason }), text);
  }

  #logRecovery({ reading, state, failures, detail, carried }: Trouble, forMs: number): void {
    const fields = fieldsOf(reading, { failures, forMs: Math.round(forMs) });
    const lasted = formatDurationMs(forMs);
    const again = `can be read again, after ${lasted} and ${count(failures, "failed read")}`;
    if (state === "held" && !carried)
      this.#log.info(fields, `${nameOf(reading)} could not be read for ${lasted}: ${detail}`);
    else this.#log[state === "named" ? "info" : "debug"](fields, `${nameOf(reading)} ${again}`);
    const kind = kindOf(reading);
    if (!this.#folded.has(kind)) return;
    for (const one of this.#troubles.values()) if (kindOf(one.reading) === kind) return;
    this.#folded.delete(kind);
    this.#log.info({ source: reading.source }, `${kind} can be read again for all wallets`);
  }
}

/** Texts after "the exchange". */
const outageWords: Readonly<Record<FailureReason, string>> = {
  unreachable: "cannot be reached",
  timeout: "does not answer",
  "server-error": "answers with errors only",
  "rate-limited": "turns every request away",
  refused: "refuses every request",
  "bad-record": "answers with nothing that can be read",
  "signed-out": "takes no session",
};

function keyOf({ source, wallet, older }: Reading): string {
  return `${source}\n${wallet ?? ""}\n${older ? "older" : ""}`;
}

function kindOf({ source, older }: Reading): string {
  return older ? `older ${source}` : source;
}

function nameOf(reading: Reading): string {
  return reading.wallet === null ? kindOf(reading) : `${kindOf(reading)} of ${reading.wallet}`;
}

function fieldsOf({ source, wallet }: Reading, more: object): object {
  return { source, ...(wallet === null ? {} : { wallet }), ...more };
}

/** Returns the remedy for a failure that a retry does not solve. */
function remedyFor(detail: string): string {
  return /\b403 (insufficient_role|user_only|admin_only|wallet_not_linked)\b/.test(detail)
    ? "; the exchange takes the sign-in, but this key may not read it, and trying again does not help. See that it is" +
        " the key of the account's own wallet (`perpwatch check --online`), or watch it by its authority alone"
    : "";
}

/** Returns `latestMarketsStats: connect ECONNREFUSED …` without the endpoint, if the failed read is named already. */
export function withoutEndpoint(detail: string): string {
  return detail.replace(/^\w+: /, "");
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}
