/** Causes that alerts about missing data state, against the requests of the daemon that failed. */
import type { World } from "../../../src/simulator/state.ts";
import type { EventLog } from "../log.ts";
import type { Row } from "./no-data-rows.ts";
import { timeIn } from "./times.ts";

/** Requests by the name of their schedule; of a wallet where the first part of the target that is not fixed names one. */
const targets: readonly (readonly [schedule: string, target: RegExp])[] = [
  ["traderState", /^\/v1\/trader\/state\/(\w+)/],
  ["liquidations", /^\/v1\/users\/(\w+)\/liquidation-history/],
  ["collateral", /^\/v1\/users\/(\w+)\/collateral-history/],
  ["notifications", /^\/v1\/traders\/(\w+)\/notifications\?/],
  ["markets", /^\/v1\/markets\/stats\/latest/],
  ["marketConfig", /^\/v1\/(?:view\/exchange\/markets|collateral\/assets)/],
];
/** Asked for a session, without which an inbox is not read. */
const signIn = /^\/v1\/auth\//;

/** The way in which a request ended. */
type End = "answered" | "unreadable" | "refused" | "broken" | "late" | `HTTP ${number}`;

interface Request {
  readonly life: number;
  readonly schedule: string | null;
  /** Null: nobody's, or not known. */
  readonly wallet: string | null;
  readonly fromMs: number;
  /** Infinite for one that was given up. */
  readonly toMs: number;
  readonly end: End;
}

/** An answer is waited for that long, at most, ms. */
const patienceMs = 10_000;
/** A request may be given up after so long, at the end of the time that a read may take, ms. */
const hastyMs = 4_500;
/** A failed read is told after its last request within this: it is tried again before. */
const triedMs = 25_000;
/** The same where requests are limited, and each try waits for its turn, ms. */
const limitedMs = 90_000;
/** The newest failure is told of, which may be of one request of several that make up a read. */
const newestMs = 45_000;
/** A wallet stays signed out for so long after it was refused, ms. */
const signedOutMs = 180_000;
/** Answers are too slow where there are some, within this before the last whole reading or since, ms. */
const slowMs = 120_000;
/** Standstills that long ago put nothing off any more, ms. */
const standstillMs = 120_000;
const slackMs = 2_000;
/** After a session ended its read goes on within this, when it is its turn, ms. */
const goneOnMs = 30_000;

export interface Told {
  readonly life: number;
  /** True wall time, ms. */
  readonly atMs: number;
  /** The time since which the row's data were not read; true wall time, ms. */
  readonly sinceMs: number;
  /** The daemon's clock less the true time. */
  readonly aheadMs: number;
  readonly timezone: string;
}

export class Causes {
  readonly #requests: readonly Request[];
  readonly #stalls: readonly { readonly life: number; readonly fromMs: number; readonly toMs: number }[];

  constructor(log: EventLog, world: World) {
    // Inboxes are read by the addresses of accounts.
    const names = new Map(
      [...world.wallets.values()].flatMap(({ authority, name, accounts }) =>
        [authority, ...[...accounts.values()].map(({ address }) => address)].map(
          (one) => [one, name] as const,
        ),
      ),
    );
    this.#stalls = log.of("stalled").map(({ life, atMs, ms }) => ({ life, fromMs: atMs, toMs: atMs + ms }));
    const asked = new Map(
      log.of("asked").map((one) => [`${one.life} ${one.sentMs} ${one.target}`, one] as const),
    );
    this.#requests = log.of("sent").map(({ life, target, atMs }) => {
      const answer = asked.get(`${life} ${atMs} ${target}`);
      const [schedule = null, pattern] = targets.find(([, one]) => one.test(target)) ?? [];
      const owner = pattern?.exec(target)?.[1];
      const wallet = (owner === undefined ? undefined : names.get(owner)) ?? answer?.wallet ?? null;
      const toMs = answer?.atMs ?? Number.POSITIVE_INFINITY;
      const isSignIn = signIn.test(target);
      return {
        life,
        schedule: isSignIn ? "session" : schedule,
        wallet,
        fromMs: atMs,
        toMs,
        end: endOf(answer),
      };
    });
  }

  /** Statements about the cause of a row that are not true; `isCeilingLow`: requests wait for their turn. */
  problems(row: Row, told: Told, isCeilingLow: boolean): readonly string[] {
    const owners: readonly (string | null)[] = row.wallets.length > 0 ? row.wallets : [null];
    const { cause } = row;
    // Each of the wallets that share it has to have had it.
    return owners.flatMap((wallet) => {
      const whose = wallet ?? "the exchange";
      const own = this.#of(row.schedule, wallet, told);
      const only = this.#stoodStill(told) ? null : this.#onlyCause(own, told);
      // While prices stream, word of a failed poll of them comes later.
      const mayBeLeftOut = row.schedule === "markets" && cause === null;
      // Its next read may wait for its turn.
      const mayWait = isCeilingLow && cause === null;
      if (only !== null && !mayBeLeftOut && !mayWait && !only.test(cause ?? ""))
        return [`the cause ${only.source}, of which all reads of ${whose} failed, not "${row.text}"`];
      if (cause === null || this.#isThere(cause, row, own, told, isCeilingLow)) return [];
      return [`no "${cause}": no read of ${whose} failed so, in "${row.text}"`];
    });
  }

  /** True if the process stood still just before: a read that failed meanwhile is told of later. */
  #stoodStill({ atMs }: Told): boolean {
    return this.#stalls.some(({ fromMs, toMs }) => fromMs <= atMs && toMs > atMs - triedMs);
  }

  /** Time for which the process stood still lately, ms: what failed is told so much later. */
  #stalledMs(atMs: number): number {
    return this.#stalls.reduce(
      (sum, { fromMs, toMs }) =>
        sum + Math.max(0, Math.min(toMs, atMs) - Math.max(fromMs, atMs - standstillMs)),
      0,
    );
  }

  /** See `onlyCause`. Where requests are limited, a read may have failed without one since. */
  #onlyCause(own: readonly Request[], told: Told): RegExp | null {
    const limited = this.#limited(told).filter(({ toMs }) => toMs >= told.sinceMs);
    return limited.some((one) => !own.includes(one)) && !own.every(({ end }) => end === "HTTP 429")
      ? null
      : onlyCause(own, told);
  }

  /** Requests that were refused since too many came. */
  #limited({ life, atMs }: Told): readonly Request[] {
    return this.#requests.filter((one) => one.life === life && one.end === "HTTP 429" && one.toMs <= atMs);
  }

  /** Times at which a limit began. It ends with an answer to a request that was sent after its newest refusal. */
  #limitsOf(life: number): readonly number[] {
    const begun: number[] = [];
    let lasts = false;
    let refusedMs = Number.NEGATIVE_INFINITY;
    const answered = this.#requests
      .filter((one) => one.life === life && Number.isFinite(one.toMs))
      .filter(({ end }) => end !== "refused" && end !== "broken")
      .sort((a, b) => a.toMs - b.toMs);
    for (const { fromMs, toMs, end } of answered) {
      // Requests that were under way with a refused one say nothing new.
      const isNew = fromMs >= refusedMs;
      if (end === "HTTP 429") {
        if (!lasts) begun.push(this.#takenMs(life, toMs));
        lasts ||= isNew;
        if (isNew) refusedMs = toMs;
      } else if (isNew) lasts = false;
    }
    return begun;
  }

  /** The time at which the process takes what comes at a time: a standstill puts it off, one of an earlier life does not. */
  #takenMs(life: number, atMs: number): number {
    const stall = this.#stalls.find((one) => one.life === life && one.fromMs <= atMs && one.toMs > atMs);
    return stall?.toMs ?? atMs;
  }

  /** Requests of a source and wallet that ended while its data were missing, or were given up. */
  #of(schedule: string, wallet: string | null, { life, atMs, sinceMs }: Told): readonly Request[] {
    return this.#requests.filter(
      (one) =>
        one.life === life &&
        one.fromMs <= atMs &&
        endedMs(one) >= sinceMs - slackMs &&
        (one.schedule === schedule || (one.schedule === "session" && schedule === "notifications")) &&
        (wallet === null || one.wallet === wallet || (one.wallet === null && schedule === "notifications")),
    );
  }

  #isThere(
    cause: string,
    { schedule }: Row,
    own: readonly Request[],
    change: Told,
    isCeilingLow: boolean,
  ): boolean {
    const { life, atMs, sinceMs, aheadMs, timezone } = change;
    const failed = own.filter(({ end, toMs }) => end !== "answered" && (toMs <= atMs || end === "late"));
    // Nobody may have been told yet of the newest ones. A read whose session has ended goes on with another one.
    const goesOn = (one: Request): boolean =>
      own.some(
        (next) => next !== one && next.fromMs >= endedMs(one) && next.fromMs - endedMs(one) <= goneOnMs,
      );
    const told = failed
      .filter((one) => !(isSessionEnd(one) && goesOn(one)))
      .map(endedMs)
      .filter((ms) => ms <= atMs - triedMs);
    const newest = Math.max(...told, Number.NEGATIVE_INFINITY) - newestMs - this.#stalledMs(atMs);
    const recent = (isIt: (one: Request) => boolean): boolean =>
      failed.some((one) => endedMs(one) >= newest && isIt(one));
    const limited = this.#limited(change);
    const isLimited = limited.some(({ toMs }) => toMs >= sinceMs - triedMs);
    const [, status] = /^HTTP (\d+)$/.exec(cause) ?? [];
    if (status !== undefined) return recent(({ end }) => end === cause);
    const [, since] =
      /^rate limited since (\d\d:\d\d:\d\d \S+?),? ?(?:next request at .*)?$/.exec(cause) ?? [];
    if (since !== undefined && isLimited)
      return this.#limitsOf(life).some((begunMs) =>
        seconds.some((ms) => timeIn(timezone, begunMs + aheadMs + ms).endsWith(` ${since}`)),
      );
    if (/^rate limited|limits requests/.test(cause)) return isLimited;
    if (/request ceiling/.test(cause)) return isLimited || isCeilingLow;
    if (cause === "timed out")
      return (
        isLimited ||
        isCeilingLow ||
        // The time that a read may take goes on in a standstill.
        this.#stalledMs(atMs) >= hastyMs ||
        own.some((one) => one.end === "late" || Math.min(one.toMs, atMs) - one.fromMs >= hastyMs)
      );
    if (cause === "connection refused") return recent(({ end }) => end === "refused");
    if (cause === "unreadable record")
      // An answer that leaves out all accounts is not believed at once.
      return (
        failed.some(({ end }) => end === "unreadable") ||
        (schedule === "traderState" && own.some(({ end }) => end === "answered"))
      );
    const signedOut = /^not signed in(?: \(HTTP (\d+)(?: .+)?\))?$/.exec(cause);
    if (signedOut)
      return this.#requests.some(
        (one) =>
          one.life === life &&
          (one.schedule === "session" || one.schedule === "notifications") &&
          own.some(({ wallet }) => wallet !== null && wallet === one.wallet) &&
          one.toMs <= atMs &&
          one.toMs >= atMs - signedOutMs &&
          (signedOut[1] === undefined ? one.end !== "answered" : one.end === `HTTP ${signedOut[1]}`),
      );
    if (cause === "answers too slow")
      // Data from before a standstill are old after it, whichever way they came.
      return (
        this.#stoodStill(change) ||
        this.#requests.some(
          (one) =>
            one.life === life &&
            one.schedule === schedule &&
            own.some(({ wallet }) => wallet === one.wallet) &&
            one.end === "answered" &&
            one.toMs <= atMs &&
            one.toMs >= sinceMs - slowMs,
        )
      );
    if (/^connection closed$|^UND_ERR_SOCKET$/.test(cause)) return recent(({ end }) => end === "broken");
    // Markets that the answers leave out, collateral without a value.
    return true;
  }
}

/** A session is over: it is refreshed, or another one is asked for. */
const isSessionEnd = ({ schedule, end }: Request): boolean =>
  (end === "HTTP 401" && (schedule === "notifications" || schedule === "session")) ||
  (end === "HTTP 404" && schedule === "session");

const seconds = [-2_000, -1_000, 0, 1_000, 2_000];

type Asked = ReturnType<EventLog["of"]>[number] & { readonly kind: "asked" };

function endOf(answer: Asked | undefined): End {
  if (answer === undefined) return "late";
  const { status, garbled, sentMs, ofMs } = answer;
  if (status === null) return ofMs === sentMs ? "refused" : "broken";
  if (status !== 200) return `HTTP ${status}`;
  return garbled === null ? "answered" : "unreadable";
}

const endedMs = ({ fromMs, toMs }: Request): number =>
  toMs === Number.POSITIVE_INFINITY ? fromMs + patienceMs : toMs;

/** The words of the cause where all reads failed for one, and the first of them long enough ago; null: it is another case. */
function onlyCause(own: readonly Request[], { atMs, sinceMs }: Told): RegExp | null {
  // Not those that made up the last reading.
  const over = own.filter(
    (one) => endedMs(one) <= atMs && !(one.end === "answered" && one.toMs <= sinceMs + slackMs),
  );
  const ends = new Set(over.map(({ end }) => end));
  // Some of a read's time may be left for its last request only.
  if (own.some(({ fromMs, toMs }) => fromMs <= atMs - hastyMs && toMs > atMs)) ends.add("late");
  const [end] = ends;
  if (ends.size !== 1 || end === undefined) return null;
  // The tries of the last reading are none of the next one's.
  const since = over.map(endedMs).filter((ms) => ms > sinceMs + slackMs);
  if (Math.min(...since) > atMs - (end === "HTTP 429" ? limitedMs : triedMs)) return null;
  if (end === "HTTP 429") return /^rate limited|limits requests|request ceiling|^timed out/;
  if (end === "refused") return /^connection refused$/;
  if (end === "late") return /^timed out$/;
  return /^HTTP 5/.test(end) ? new RegExp(`^${end}$`) : null;
}
