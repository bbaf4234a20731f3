/**
 * Says what goes wrong, and that it goes right again: once each, however often it is tried in between.
 *
 *   failed ──► held back ──others are read──► told by itself ────────────────────► read again: told
 *                  ├─────read again───────► told in one line
 *                  └─────nothing is read──► "the exchange cannot be reached" ────► the first read: "is back"
 *
 * A first failure is held back for a moment, since it may be the beginning of an outage: as long as nothing at all is
 * read, and two kinds of things are not, one line stands for all of them. What belongs to one schedule alone goes to the
 * debug level then. Of one source the first three wallets are named; of more only that there are more.
 */
import type { Clock } from "../domain/clock.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { FailureReason, Source } from "../domain/observation.ts";
import type { ExchangeOutage } from "../domain/status.ts";
import { timeOfDay } from "../domain/time-text.ts";
import type { CollectLog } from "./log.ts";

const MOST_NAMED = 3;
/** Without any read for so long, ms, it is an outage. */
const SILENT_MS = 2_000;
/** Whatever is read within this time after a failure was asked before it, and proves nothing. */
const UNDER_WAY_MS = 1_000;
/** Nothing else is read, and nothing else fails: then this is all that there is to say. */
const LONGEST_HOLD_MS = 15_000;
const LOOK_EVERY_MS = 1_000;

/** What a schedule reads: what is new, or older pages of a history. */
export interface Reading {
  readonly source: Source;
  readonly wallet: string | null;
  readonly older?: boolean;
}

interface Trouble {
  readonly reading: Reading;
  readonly sinceMs: number;
  reason: FailureReason;
  detail: string;
  failures: number;
  /** Held: nobody was told yet. Quiet: another line stands for it. */
  state: "held" | "named" | "quiet";
}

interface Silence {
  readonly atMs: number;
  readonly elapsedMs: number;
  readonly sources: Set<Source>;
  readonly detail: string;
}

interface Outage extends Omit<ExchangeOutage, "what"> {
  readonly sinceElapsedMs: number;
  /** Each is said once. */
  readonly reasons: Set<FailureReason>;
}

export class Reporter {
  readonly #clock: Clock;
  readonly #log: CollectLog;
  readonly #troubles = new Map<string, Trouble>();
  readonly #folded = new Set<string>();
  /** First failure since something was read, and of which sources there were failures since. */
  #silence: Silence | null = null;
  #outage: Outage | null = null;
  #cancelLook: (() => void) | null = null;

  constructor(clock: Clock, log: CollectLog) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Nothing can be read at all, and since when. */
  get outage(): ExchangeOutage | null {
    if (!this.#outage) return null;
    const { sinceMs, reason, detail } = this.#outage;
    return { sinceMs, reason, what: outageWords[reason], detail };
  }

  stop(): void {
    this.#cancelLook?.();
    this.#cancelLook = null;
  }

  failed(reading: Reading, reason: FailureReason, detail: string): void {
    const nowMs = this.#clock.elapsedMs();
    const known = this.#troubles.get(keyOf(reading));
    const trouble: Trouble = known ?? { reading, sinceMs: nowMs, reason, detail, failures: 0, state: "held" };
    const changed = trouble.reason !== reason;
    Object.assign(trouble, { reason, detail, failures: trouble.failures + 1 });
    this.#troubles.set(keyOf(reading), trouble);
    this.#log.debug(fieldsOf(reading, { reason }), `${nameOf(reading)} cannot be read: ${detail}`);
    if (reason === "signed-out") {
      // The wallet's own, and answered or not, no word about the exchange.
      if (trouble.state === "held") this.#tell(trouble);
      else if (changed && trouble.state === "named") this.#tellChange(trouble);
      return;
    }
    const first = { atMs: this.#clock.nowMs(), elapsedMs: nowMs, sources: new Set<Source>(), detail };
    this.#silence ??= first;
    this.#silence.sources.add(reading.source);
    if (this.#outage) {
      if (trouble.state === "held") trouble.state = "quiet";
      if (!this.#outage.reasons.has(reason)) {
        this.#outage.reasons.add(reason);
        this.#log.warn({ reason }, `the exchange ${outageWords[reason]} now: ${withoutEndpoint(detail)}`);
      }
      return;
    }
    if (changed && trouble.state === "named") this.#tellChange(trouble);
    this.#look();
  }

  /** The exchange answered a question as it should. */
  answered(): void {
    const nowMs = this.#clock.elapsedMs();
    this.#silence = null;
    if (this.#outage) this.#back(nowMs);
    // Others are read: what still fails fails for reasons of its own.
    for (const one of this.#troubles.values())
      if (one.state === "held" && nowMs - one.sinceMs >= UNDER_WAY_MS) this.#tell(one);
  }

  /** This is read again. */
  worked(reading: Reading): void {
    const key = keyOf(reading);
    const trouble = this.#troubles.get(key);
    if (!trouble) return;
    this.#troubles.delete(key);
    this.#tellEnd(trouble, this.#clock.elapsedMs() - trouble.sinceMs);
  }

  #look(): void {
    if (this.#outage || this.#cancelLook) return;
    const nowMs = this.#clock.elapsedMs();
    const silence = this.#silence;
    if (silence && silence.sources.size > 1 && nowMs - silence.elapsedMs >= SILENT_MS) {
      this.#begin(silence);
      return;
    }
    let held = false;
    for (const one of this.#troubles.values()) {
      if (one.state !== "held") continue;
      if (nowMs - one.sinceMs >= LONGEST_HOLD_MS) this.#tell(one);
      else held = true;
    }
    const undecided = silence !== null && silence.sources.size > 1;
    if (!held && !undecided) return;
    this.#cancelLook = this.#clock.after(LOOK_EVERY_MS, () => {
      this.#cancelLook = null;
      this.#look();
    });
  }

  #begin(silence: Silence): void {
    const failing = [...this.#troubles.values()].filter(({ reason }) => reason !== "signed-out");
    const { reason, detail } = failing.at(-1) ?? { reason: "unreachable" as const, detail: silence.detail };
    const { atMs: sinceMs, elapsedMs: sinceElapsedMs } = silence;
    this.#outage = {
      ...{ sinceMs, sinceElapsedMs, reason, detail: withoutEndpoint(detail) },
      reasons: new Set(failing.map((one) => one.reason)),
    };
    for (const one of failing) if (one.state === "held") one.state = "quiet";
    this.#log.warn(
      { reason },
      `the exchange ${outageWords[reason]} (since ${timeOfDay(sinceMs)}): ${this.#outage.detail}`,
    );
  }

  #back(nowMs: number): void {
    const forMs = nowMs - this.#outage!.sinceElapsedMs;
    this.#outage = null;
    // What fails from here on is said by itself.
    for (const [key, { state }] of this.#troubles) if (state === "quiet") this.#troubles.delete(key);
    this.#folded.clear();
    this.#log.info({ forMs: Math.round(forMs) }, `the exchange is back after ${formatDurationMs(forMs)}`);
  }

  #tell(trouble: Trouble): void {
    const { reading, reason, detail } = trouble;
    const kind = kindOf(reading);
    let named = 0;
    for (const one of this.#troubles.values())
      if (one.state === "named" && kindOf(one.reading) === kind) named++;
    trouble.state = named < MOST_NAMED ? "named" : "quiet";
    if (trouble.state === "named") {
      this.#log.warn(fieldsOf(reading, { reason }), `${nameOf(reading)} cannot be read: ${detail}`);
    } else if (!this.#folded.has(kind)) {
      this.#folded.add(kind);
      const { source } = reading;
      this.#log.warn(
        { source, reason },
        `${kind} cannot be read for more than ${MOST_NAMED} wallets: ${detail}`,
      );
    }
  }

  #tellChange({ reading, reason, detail }: Trouble): void {
    const text = `${nameOf(reading)} still cannot be read, now: ${detail}`;
    this.#log.warn(fieldsOf(reading, { reason }), text);
  }

  #tellEnd({ reading, state, failures, detail }: Trouble, forMs: number): void {
    const fields = fieldsOf(reading, { failures, forMs: Math.round(forMs) });
    const lasted = formatDurationMs(forMs);
    const again = `can be read again, after ${lasted} and ${count(failures, "failed read")}`;
    if (state === "held")
      this.#log.info(fields, `${nameOf(reading)} could not be read for ${lasted}: ${detail}`);
    else this.#log[state === "named" ? "info" : "debug"](fields, `${nameOf(reading)} ${again}`);
    const kind = kindOf(reading);
    if (!this.#folded.has(kind)) return;
    for (const one of this.#troubles.values()) if (kindOf(one.reading) === kind) return;
    this.#folded.delete(kind);
    this.#log.info({ source: reading.source }, `${kind} can be read again for all wallets`);
  }
}

/** After "the exchange". */
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

/** `latestMarketsStats: connect ECONNREFUSED …` without the endpoint, which stands for all of them. */
function withoutEndpoint(detail: string): string {
  return detail.replace(/^\w+: /, "");
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}
