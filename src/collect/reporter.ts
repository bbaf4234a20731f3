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
import type { FailureReason } from "../domain/observation.ts";
import type { Source } from "../domain/sources.ts";
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

/** The target of a reading: what is new, or older pages of a history. */
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
  /** Each is said once. */
  readonly reasons: Set<FailureReason>;
  failures: number;
  /** Held: nobody was told yet. Folded, quiet: another line stands for it, of its kind or of an outage. */
  state: "held" | "named" | "folded" | "quiet";
  /** It outlasted an outage. */
  carried: boolean;
}

interface Silence {
  readonly atMs: number;
  readonly elapsedMs: number;
  readonly sources: Set<Source>;
  /** Something is among them that was read before. */
  isNew: boolean;
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
  #backMs = Number.NEGATIVE_INFINITY;
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

  /** @param askedMs when the run began that failed, monotonic */
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
      // The wallet's own, and answered or not, no word about the exchange.
      if (trouble.state === "held") this.#tell(trouble);
      else if (changed && trouble.state === "named") this.#tellChange(trouble);
      return;
    }
    // Asked during an outage, it belongs to that, however late it fails.
    if (trouble.state === "held" && askedMs <= this.#backMs) trouble.state = "quiet";
    else if (trouble.state === "quiet" && !this.#outage && askedMs > this.#backMs)
      Object.assign(trouble, { state: "held", heldMs: nowMs, carried: true });
    // What is told by itself is no sign that something new has begun.
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
      if (one.state === "held" && nowMs - one.heldMs >= UNDER_WAY_MS) this.#tell(one);
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
    const undecided = silence?.isNew === true && silence.sources.size > 1;
    if (undecided && nowMs - silence.elapsedMs >= SILENT_MS) {
      this.#begin(silence);
      return;
    }
    let held = false;
    for (const one of this.#troubles.values()) {
      if (one.state !== "held") continue;
      if (nowMs - one.heldMs >= LONGEST_HOLD_MS) this.#tell(one);
      else held = true;
    }
    if (!held && !undecided) return;
    this.#cancelLook = this.#clock.after(LOOK_EVERY_MS, () => {
      this.#cancelLook = null;
      this.#look();
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

  #tell(trouble: Trouble): void {
    const { reading, reason, detail } = trouble;
    const kind = kindOf(reading);
    let named = 0;
    for (const one of this.#troubles.values())
      if (one.state === "named" && kindOf(one.reading) === kind) named++;
    trouble.state = named < MOST_NAMED ? "named" : "folded";
    if (trouble.state === "named") {
      const text = `${nameOf(reading)} cannot be read: ${detail}`;
      this.#log.warn(fieldsOf(reading, { reason }), `${text}${remedyFor(detail)}`);
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

  #tellEnd({ reading, state, failures, detail, carried }: Trouble, forMs: number): void {
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

/** The remedy where trying again does not help. */
function remedyFor(detail: string): string {
  return /\b403 (insufficient_role|user_only|admin_only|wallet_not_linked)\b/.test(detail)
    ? "; the exchange takes the sign-in, but this key may not read it, and trying again does not help. See that it is" +
        " the key of the account's own wallet (`perpwatch check --online`), or watch it by its authority alone"
    : "";
}

/** `latestMarketsStats: connect ECONNREFUSED …` without the endpoint, where what failed is named already. */
export function withoutEndpoint(detail: string): string {
  return detail.replace(/^\w+: /, "");
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}
