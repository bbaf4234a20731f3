/**
 * Profit of wallets by the truth: equity less what was paid in up to the very states that the daemon had, whatever its histories told
 * it by then. Where it could not know yet what was paid in, it is not sure.
 */
import { hidesFunding } from "./hidden-funding.ts";
import { tickUsd } from "./margin.ts";
import type { Seen } from "./seen.ts";
import type { AccountTruth, Truth } from "./truth.ts";

/** States of an account that were seen: the one before those of the newest slot, and the newest. */
interface Step {
  readonly before: AccountTruth;
  readonly last: AccountTruth;
}

/** A wallet at one moment. USD; profit is since the first time at which all of it was seen. */
export interface Sample {
  readonly equity: number;
  readonly profit: number;
  /** All that was paid in since its accounts were opened, less what was paid out. */
  readonly paid: number;
  /** The number of times that something was paid, and the exchange's time of the newest of them, ms. */
  readonly moves: number;
  /** The same with what was paid in other assets. */
  readonly payments: number;
  readonly paidMs: number;
  /** The daemon knows all of that. */
  readonly sure: boolean;
  /** It says of what it does not know yet that it does not. */
  readonly stated: boolean;
  /** It knows what all collateral in other assets was worth when it came and went. */
  readonly priced: boolean;
}

/** The ground of a day: profit and loss of it are measured from there. */
interface Day {
  /** At its midnight; null: the day began before anything was there. */
  readonly base: Sample | null;
  /** False: nobody watched at its midnight, and the exchange says what there was. */
  readonly watched: boolean;
  /** In order; the first of each amount that was paid. */
  readonly samples: Sample[];
  /** Something was paid in a time of which nothing is known. */
  unsure?: true;
  /** Several amounts were paid between two samples, or were not seen in their order: more may have been there meanwhile. */
  jumped?: boolean;
}

/** A sample of the last minutes. */
interface Past extends Sample {
  readonly atMs: number;
  readonly answered: boolean;
  /** The newest change of its accounts, and when that is explained at the latest, ms. */
  readonly changedMs: number;
  readonly explainedMs: number;
}

/** The range in which a share lies. */
export interface Share {
  readonly low: number;
  readonly high: number;
}

export interface Losing extends Share {
  readonly change: Share;
  /** False: the daemon may have nothing to compare with, and then it judges by nothing. */
  readonly sure: boolean;
}

interface Track {
  readonly beginning: number;
  /** By which another beginning a moment before or after it may differ. */
  readonly beginningRoom: number;
  now: Sample;
  /** The highest profit of answers that were sure, and of all moments. */
  sureTop: Sample | null;
  anyTop: Sample;
  /** Others that are higher than the sure one, or as high: any of them may be the peak. */
  higher: Sample[];
  /** The highest profit in windows where a payment that a trade hid counts as one, USD. */
  hiddenTop: number;
  /** The same of what it keeps as the highest profit, until the payment is read; for good where it was stopped before. */
  perhapsTop: number;
  keptTop: number;
  day: Day;
  /** The last time at which its accounts were read in this life of the daemon. */
  answered: { readonly sample: Sample; readonly atMs: number } | null;
  /** The highest equity of answers, and of all moments. */
  sureEquity: number;
  anyEquity: number;
  /** In order, but where the clock was set back; of no more than `pastMs`. */
  past: Past[];
  isInOrder: boolean;
  /** The newest states of its accounts, and when they were first seen together, ms: they may have to be explained first. */
  states: string;
  changedMs: number;
  /** All times at which they changed, ms. */
  readonly changesMs: number[];
  /** Since when it has payments whose records were not read, ms; null: it has none. */
  unreadMs: number | null;
  /** There was a time of which nothing is known. `moves`: payments before it; null: it was read again since. */
  lost: { moves: number | null } | null;
}

/** Collateral in other assets that came into an account since it was first seen. */
interface Spot {
  /** The newest state that was taken in. */
  sequence: number;
  /** Value when it was seen, USD; no history tells of it. */
  paid: number;
  /** Some came or went when nobody saw: nobody knows at which price. */
  unsure: boolean;
  /** Nothing is known of the time since `sequence`. */
  lost: boolean;
  /** The daemon was stopped since `sequence`. */
  stopped: boolean;
}

/** The change of an account within a slot, USD: what was paid in or, negative, out, and the size of what was traded. */
interface SlotChange {
  readonly name: string;
  readonly ofMs: number;
  readonly paidUsd: number;
  readonly tradedUsd: number;
}

/** Payments beside a trade that may be taken for a part of it, and since when, ms. USD; `outUsd` is positive. */
export interface Hidden {
  readonly inUsd: number;
  readonly outUsd: number;
  readonly sinceMs: number;
}

const nothingHidden: Hidden = { inUsd: 0, outUsd: 0, sinceMs: 0 };

/** Funding, or a sale of collateral, that nothing explains: it may have been a withdrawal or a deposit. */
interface Unexplained {
  /** The time of the newest reading of the history of those, or when it was seen, ms; null: it was seen just now. */
  readMs: number | null;
  /** Time of such readings, ms. */
  waitedMs: number;
}

/** After so much time of readings what nothing explains is profit or loss, ms. */
const unexplainedMs = 300_000;
/** The accounts that are there when a scenario begins are as old as that, ms. */
const begunMs = 1_000;
/** From one reading to the next at most this counts, ms. */
const readingMs = 30_000;
/** The equity of midnight may have been read so long before, ms. */
const beforeMidnightMs = 60_000;
/** The range of a share of which nothing is known. */
const anything: Share = { low: 0, high: 1 };
const anyLosing: Losing = {
  ...anything,
  change: { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY },
  sure: false,
};
/** The longest window, and as long before it as a sample may count at its beginning. */
const pastMs = 240_000;
/** A trade is estimated to so much of its value, and to some funding; states of one slot are so near to each other, ms. */
const tradeSlack = 0.015;
const slotMs = 500;
/** Sums in doubles of amounts in units of 10⁻⁶ USD. */
const sumError = 1e-6;
/** A trouble puts off so much what explains a change, ms. */
const troubledMs = 60_000;
/** A share of the equity that is next to nothing. */
const negligible = 1e-4;
/**
 * After a trade that may hide more than this share of the equity profit is no peak and no sample for so long at least, and at most
 * where all can be read, ms.
 */
const heldShare = 1e-3;
const heldLeastMs = 15_000;
const heldMostMs = 25_000;
/** The same where neither it nor the fills can be read, ms. */
const roughForMs = 185_000;
const centUsd = 0.01;
/** A trade is counted by prices that may be others than those of the daemon. */
const surelyShare = 0.9;
/** Share by which sums in doubles are off. */
const roundingError = 16 * Number.EPSILON;
/** The asset that is collateral beside USD, and its smallest units. */
const spotSymbol = "SOL";
const spotUnits = 1e9;
/** It may have been worth so much more before. */
const spotRoom = 1.2;
/** Around the beginning of a window samples differ by an interval. */
const edgeRoomMs = 12_000;
/** A sample so long after the beginning of a window may count as its first. */
const coveredMs = 1_000;

/**
 * Shares of the fall from each sample that can be the peak. The highest of all need not be in the window; a lower one may have less
 * equity, as after a withdrawal, and so the larger share.
 * @param certain those that are in it beyond doubt: no peak is lower
 */
function fallsTo(now: Sample, samples: readonly Sample[], certain: readonly Sample[]): readonly number[] {
  const least = Math.max(now.profit, ...certain.map(({ profit }) => profit));
  return [now, ...samples]
    .filter(({ profit }) => profit >= least - sumError)
    .map(({ profit, equity }) => fallOf(profit - now.profit, equity));
}

/** A loss as a share of the equity before it: of nothing, any is all. */
function fallOf(lostUsd: number, equityUsd: number): number {
  if (lostUsd <= 0) return 0;
  return equityUsd > 0 ? Math.min(lostUsd / equityUsd, 1) : 1;
}

/** True if something was paid between the change of the accounts that a sample shows and an answer by which that is explained. */
function isPaidMeanwhile(past: readonly Past[], index: number, explainedMs: number): boolean {
  const { atMs, moves, paidMs, changedMs } = past[index]!;
  if (atMs > explainedMs) return false;
  const isOther = (other: Past): boolean => other.moves !== moves || other.paidMs !== paidMs || !other.sure;
  for (let i = index - 1; i >= 0 && past[i]!.atMs >= changedMs; i--) if (isOther(past[i]!)) return true;
  for (let i = index + 1; i < past.length; i++) {
    if (isOther(past[i]!)) return true;
    if (past[i]!.answered && past[i]!.atMs > explainedMs) return false;
  }
  return false;
}

/** Lets go of the samples before the last one that surely counts at the beginning of a window, however old it is. */
function dropOld(past: Past[], nowMs: number, isInOrder: boolean): void {
  const isOld = (one: Past): boolean => one.atMs < nowMs - pastMs;
  const counts = (one: Past): boolean => isOld(one) && one.answered && one.sure && one.explainedMs < nowMs;
  let oldest = isInOrder ? 0 : past.findLastIndex(counts);
  if (isInOrder)
    for (let index = 0; index < past.length && isOld(past[index]!); index++)
      if (counts(past[index]!)) oldest = index;
  if (oldest > 0) past.splice(0, oldest);
}

/** True if no price and no terms of a market say what an account is worth. */
function holdsOnlyUsd({ positions, orders, spot }: AccountTruth): boolean {
  return positions.length === 0 && orders.length === 0 && spot === 0n;
}

/** True for a state after one up to another. */
const isLater = (state: AccountTruth, after: number, upTo: number): boolean =>
  state.sequence > after && state.sequence <= upTo;

export class Wallets {
  readonly #seen: Seen;
  readonly #truth: Truth;
  readonly #equity: (account: AccountTruth) => number | undefined;
  readonly #marginEquity: (account: AccountTruth) => number | undefined;
  readonly #tracks = new Map<string, Track>();
  /** The answer that was given last, and to what. */
  #losing: { readonly asked: string; readonly now: Sample; readonly found: Losing | undefined } | null = null;
  readonly #indices: ReadonlyMap<string, readonly number[]>;
  readonly #notified: ReadonlySet<string>;
  readonly #explainedMs: (wallet: string) => number;
  readonly #readMs: number;
  readonly #isClear: (wallet: string, fromMs: number, toMs: number) => boolean;
  /** Accounts that were seen. */
  readonly #spots = new Map<string, Spot>();
  /** Profits and the highest equity, by whatever is known, of wallets whose profit has not begun, and the times of the first. */
  readonly #early = new Map<
    string,
    { least: number; most: number; equity: number; readonly sinceMs: number }
  >();
  /** Wallets that may have been seen for the first time when nothing was recorded. */
  readonly #unknown = new Set<string>();
  /** There was a time of which nothing is known. */
  #wasLost = false;
  /** The daemon's time of the newest sample, ms. */
  #nowMs = Number.NEGATIVE_INFINITY;
  /** The start of this life of the daemon, by its clock, ms. */
  #startedMs = Number.NEGATIVE_INFINITY;
  /** By account. */
  readonly #steps = new Map<string, Step>();
  /** By wallet, until the history is read. */
  readonly #hidden = new Map<string, Hidden>();
  /** By wallet, the newest trades that may hide a payment, and so much of it, USD. */
  readonly #rough = new Map<string, readonly { readonly ms: number; readonly usd: number }[]>();
  /** Payments and trades of the newest slot, by wallet, one of each account. */
  readonly #recent = new Map<string, readonly SlotChange[]>();
  /** Wallets whose accounts are known and valued by what is seen, by the version of that. */
  readonly #valued = new Map<string, { readonly version: number; readonly is: boolean }>();
  /** By wallet. */
  readonly #unexplained = new Map<string, Unexplained>();

  constructor(parts: {
    readonly seen: Seen;
    readonly truth: Truth;
    /** PDA indices that are read, by wallet. */
    readonly indices: ReadonlyMap<string, readonly number[]>;
    /** Wallets whose notifications are read. */
    readonly notified: ReadonlySet<string>;
    readonly equity: (account: AccountTruth) => number | undefined;
    /** The same where its terms were not read yet. */
    readonly marginEquity: (account: AccountTruth) => number | undefined;
    /** A change of an account is explained so long after it at the latest, ms: until then profit may not be known. */
    readonly explainedMs: (wallet: string) => number;
    /** The same where no history is late. */
    readonly readMs: number;
    /** True if histories could be read all the time from one of the daemon's times to another. */
    readonly isClear: (wallet: string, fromMs: number, toMs: number) => boolean;
  }) {
    this.#seen = parts.seen;
    this.#truth = parts.truth;
    this.#indices = parts.indices;
    this.#notified = parts.notified;
    this.#equity = parts.equity;
    this.#marginEquity = parts.marginEquity;
    this.#explainedMs = parts.explainedMs;
    this.#readMs = parts.readMs;
    this.#isClear = parts.isClear;
  }

  /** @param answered its accounts were just read: the sample enters windows @param atMs of the daemon's clock */
  note(wallet: string, answered: boolean, atMs: number): void {
    this.#nowMs = atMs;
    const track = this.#tracks.get(wallet);
    // Collateral in other assets is valued when its account is seen, whatever is seen of the others.
    for (const account of this.#seen.accounts.values())
      if (account.wallet === wallet && this.#equity(account) !== undefined) this.#flows(account);
    if (!track) this.#noteEarly(wallet, atMs);
    const sample = this.#sample(wallet);
    this.#await(wallet, atMs);
    if (!sample || this.#unknown.has(wallet)) return;
    if (!track) {
      if (!this.#seen.readMs.has("prices")) return;
      // It begins from what there was until then: nobody knows by which of the first prices.
      const { least, most, equity: earlyUsd, sinceMs } = this.#early.get(wallet)!;
      this.#early.delete(wallet);
      const beginning = (least + most) / 2;
      const first = { ...sample, profit: sample.profit - beginning };
      // The beginning contains what was not explained until then.
      const begun = { changedMs: atMs, explainedMs: Number.NEGATIVE_INFINITY };
      this.#tracks.set(wallet, {
        ...{ beginning, beginningRoom: (most - least) / 2 },
        ...{ now: first, sureTop: first.sure ? first : null, anyTop: first },
        ...{ higher: [], hiddenTop: first.profit, perhapsTop: first.profit, keptTop: first.profit },
        day: { base: null, watched: false, samples: [sample], jumped: this.#wasPaidOut(wallet) },
        answered: answered ? { sample, atMs } : null,
        ...{
          sureEquity: answered ? first.equity : Number.NEGATIVE_INFINITY,
          anyEquity: Math.max(first.equity, earlyUsd),
        },
        // It may count from the first of them on.
        past: [
          ...(sinceMs < atMs ? [{ ...first, ...begun, atMs: sinceMs, answered: false }] : []),
          { ...first, ...begun, atMs, answered },
        ],
        ...{ isInOrder: true, states: this.#statesOf(wallet), changedMs: atMs, changesMs: [atMs] },
        unreadMs: first.sure ? null : atMs,
        lost: null,
      });
      return;
    }
    const now = { ...sample, profit: sample.profit - track.beginning };
    track.now = now;
    track.unreadMs = now.sure ? null : (track.unreadMs ?? atMs);
    track.anyEquity = Math.max(track.anyEquity, now.equity);
    if (answered) track.sureEquity = Math.max(track.sureEquity, now.equity);
    if (now.profit > track.anyTop.profit) track.anyTop = now;
    this.#noteHiddenTop(track, this.#hidden.get(wallet), atMs);
    const isHigher = (one: Sample): boolean =>
      one.profit >= (track.sureTop?.profit ?? Number.NEGATIVE_INFINITY) - sumError;
    const last = track.higher.at(-1);
    if (isHigher(now) && (last?.profit !== now.profit || last.equity !== now.equity)) track.higher.push(now);
    const states = this.#statesOf(wallet);
    if (states !== track.states) {
      Object.assign(track, { states, changedMs: atMs });
      track.changesMs.push(atMs);
    }
    const { changedMs } = track;
    // Where requests are short a history has its turn late.
    const lagMs = this.#seen.daemon.figures?.lagMs ?? 0;
    const heldMs = this.#heldMs(wallet, atMs);
    const explainedMs = changedMs + Math.max(this.#explainedMs(wallet), heldMs) + lagMs;
    // After a start no profit is known before the history of payments was read.
    const isKnown = this.#seen.histories.has(wallet);
    if (atMs < (track.past.at(-1)?.atMs ?? atMs)) track.isInOrder = false;
    track.past.push({ ...now, atMs, answered: answered && isKnown, changedMs, explainedMs });
    // The last one that surely counts stands at the beginning of a window, however old it is.
    dropOld(track.past, atMs, track.isInOrder);
    const isExplained = this.knownForMs(wallet, atMs) > Math.max(0, heldMs - this.#readMs);
    // Before the first prices of all markets nothing that was answered is taken.
    const isTaken = this.#seen.readMs.has("prices");
    if (
      answered &&
      isTaken &&
      now.sure &&
      isExplained &&
      now.profit > (track.sureTop?.profit ?? Number.NEGATIVE_INFINITY)
    ) {
      track.sureTop = now;
      track.higher = track.higher.filter(isHigher);
    }
    // Answers of before are taken with them.
    if ((answered || track.answered === null) && isTaken) track.answered = { sample, atMs };
    if (track.lost && track.lost.moves !== null) {
      if (sample.moves !== track.lost.moves) track.day.unsure = true;
      track.lost = { moves: null };
    }
    const { samples } = track.day;
    const before = samples.at(-1)!;
    const isOther = Math.abs(before.paid - sample.paid) > 0.005;
    const isInOrder = sample.payments <= before.payments + 1 && (!isOther || sample.paidMs > before.paidMs);
    if (!isInOrder) track.day.jumped = true;
    if (isOther) samples.push(sample);
  }

  /** True if something was paid out of an account up to its newest state: there was more in it before. */
  #wasPaidOut(wallet: string): boolean {
    return [...this.#seen.accounts.values()].some(
      (one) =>
        one.wallet === wallet &&
        this.#truth.accounts
          .get(one.name)!
          .some(
            (state, i, states) =>
              state.sequence <= one.sequence && i > 0 && state.netDeposits < states[i - 1]!.netDeposits,
          ),
    );
  }

  #noteEarly(wallet: string, atMs: number): void {
    const sample = this.#sample(wallet, this.#marginEquity);
    if (sample === undefined) return;
    const { profit, equity } = sample;
    const early = this.#early.get(wallet) ?? { least: profit, most: profit, equity, sinceMs: atMs };
    early.least = Math.min(early.least, profit);
    early.most = Math.max(early.most, profit);
    early.equity = Math.max(early.equity, equity);
    this.#early.set(wallet, early);
  }

  /** A daemon that begins has read nothing. */
  forget(atMs: number): void {
    this.#startedMs = atMs;
    for (const track of this.#tracks.values()) {
      track.answered = null;
      track.keptTop = Math.max(track.keptTop, track.perhapsTop);
    }
    for (const spot of this.#spots.values()) spot.stopped = true;
  }

  /** Forgets what the daemon saw for some time. */
  lose(): void {
    this.#wasLost = true;
    for (const wallet of this.#indices.keys()) if (!this.#tracks.has(wallet)) this.#unknown.add(wallet);
    for (const spot of this.#spots.values()) spot.lost = true;
    for (const track of this.#tracks.values()) {
      track.answered = null;
      track.past = [];
      track.anyEquity = Number.POSITIVE_INFINITY;
      track.lost ??= { moves: null };
      track.lost.moves ??= track.now.moves;
    }
  }

  /** A day begins. @param midnightMs by the daemon's clock, as times of samples are */
  beginDay(midnightMs: number): void {
    for (const [wallet, track] of this.#tracks) {
      const { answered } = track;
      const watched = answered !== null && answered.atMs >= midnightMs - beforeMidnightMs;
      const base = watched ? answered.sample : (this.#sample(wallet) ?? track.day.samples.at(-1)!);
      track.day = { base, watched, samples: [base] };
    }
  }

  /** True if what was there at midnight is known without asking the exchange. */
  sawMidnight(wallet: string): boolean {
    return this.#tracks.get(wallet)?.day.watched ?? false;
  }

  /** True if the exchange may have told its equity of midnight in a time of which nothing is known. */
  mayKnowMidnight(wallet: string): boolean {
    const day = this.#tracks.get(wallet)?.day;
    return this.#wasLost && day !== undefined && !day.watched;
  }

  now(wallet: string): Sample | undefined {
    const { version } = this.#seen;
    let valued = this.#valued.get(wallet);
    if (valued?.version !== version) {
      valued = { version, is: this.#sample(wallet) !== undefined };
      this.#valued.set(wallet, valued);
    }
    return valued.is ? this.#tracks.get(wallet)?.now : undefined;
  }

  /**
   * By which profit may be off, USD: nobody knows from which of the first prices on it counts, and what is not explained yet leaves it
   * known where that is next to nothing.
   */
  room(wallet: string): number {
    const track = this.#tracks.get(wallet);
    if (!track) return 0;
    return track.beginningRoom + (track.now.sure ? 0 : Math.abs(track.now.equity) * negligible);
  }

  /** True if its accounts changed from one of the daemon's times to another. */
  changedWithin(wallet: string, fromMs: number, toMs: number): boolean {
    return this.#tracks.get(wallet)?.changesMs.some((ms) => ms >= fromMs && ms <= toMs) ?? false;
  }

  /** Time for which nothing moved in it, beyond that after which its histories tell of everything, ms; negative: they may not yet. */
  knownForMs(wallet: string, nowMs: number): number {
    const track = this.#tracks.get(wallet);
    if (!track) return Number.NEGATIVE_INFINITY;
    const { changedMs } = track;
    const { readMs } = this.#seen.events;
    const isRead = ["fills", "collateral"].every(
      (source) => (readMs.get(`${source} ${wallet}`) ?? Number.NEGATIVE_INFINITY) >= changedMs,
    );
    const ms = nowMs - changedMs - this.#explainedMs(wallet);
    // Where few requests are granted they are read later.
    if (!isRead && ms < troubledMs) return -1;
    // In a trouble histories are read later, and again.
    return ms >= 0 && ms < troubledMs && !this.#isClear(wallet, changedMs, nowMs) ? -1 : ms;
  }

  /** Time for which payments were seen whose records were not read, ms; undefined: there are none, or nothing is known of a time. */
  unreadForMs(wallet: string, nowMs: number): number | undefined {
    const track = this.#tracks.get(wallet);
    return !track || track.lost || track.unreadMs === null ? undefined : nowMs - track.unreadMs;
  }

  /** All that was paid into a wallet less what was paid out, USD, of what no record that was read tells: the newest of each account. */
  unreadUsd(wallet: string): number {
    const { accounts, gone, events } = this.#seen;
    let unread = 0n;
    for (const { name, sequence, netDeposits, ...one } of [...accounts.values(), ...gone.values()]) {
      if (one.wallet !== wallet) continue;
      const sums = this.#truth.accounts.get(name)!.flatMap((state, index, states) => {
        const isPaid = state.netDeposits !== (states[index - 1]?.netDeposits ?? 0n);
        return isPaid && state.sequence <= sequence ? [state.netDeposits] : [];
      });
      const read = events.of(name, "collateral", Number.POSITIVE_INFINITY, 0).length;
      unread += netDeposits - (read === 0 ? 0n : (sums[read - 1] ?? netDeposits));
    }
    return Number(unread) / 1e6;
  }

  /** All by which the collateral of its accounts may have changed, USD: no more than that is unexplained. */
  changedUsd(wallet: string): number {
    const { accounts, gone } = this.#seen;
    // The collateral with which a scenario begins is no change.
    const beginMs = Math.min(...[...this.#truth.accounts.values()].map(([first]) => first!.ofMs));
    let usd = 0;
    for (const { name, sequence, ...one } of [...accounts.values(), ...gone.values()]) {
      if (one.wallet !== wallet) continue;
      for (const [index, state] of this.#truth.accounts.get(name)!.entries()) {
        if (state.sequence > sequence) break;
        if (state.ofMs < beginMs + begunMs) continue;
        const before = this.#truth.accounts.get(name)![index - 1];
        if (before !== undefined && before.spot !== state.spot)
          usd += this.#spotUsd(state.spot - before.spot) * spotRoom;
        const changes = [
          state.collateral - (before?.collateral ?? 0n),
          // A payment may hide what a trade won or lost.
          state.netDeposits - (before?.netDeposits ?? 0n),
        ];
        usd += Math.max(...changes.map((one) => Math.abs(Number(one)))) / 1e6;
        // Until its fills are read a trade counts at the mark.
        if (before !== undefined) usd += this.#tradedUsd(before, state);
      }
    }
    return usd;
  }

  /** True if its histories may tell of what happened long after it. */
  areLate(wallet: string): boolean {
    return this.#explainedMs(wallet) > this.#readMs;
  }

  /** True if nothing tells what one of its accounts is worth since the start of the daemon, which has seen no gap. */
  isUnknown(wallet: string): boolean {
    if (this.#wasLost || !this.#indices.has(wallet)) return false;
    const { readMs, accounts } = this.#seen;
    if (!this.#indices.get(wallet)!.every((index) => readMs.has(`${wallet}/${index}.`))) return true;
    return [...accounts.values()].some(
      (one) => one.wallet === wallet && !holdsOnlyUsd(one) && this.#equity(one) === undefined,
    );
  }

  /** The highest profit so far. */
  top(wallet: string): Sample | undefined {
    return this.#tracks.get(wallet)?.anyTop;
  }

  /** The range of what the daemon may know as the highest profit; undefined: nothing is known of a time. */
  highest(wallet: string): Share | undefined {
    const track = this.#tracks.get(wallet);
    if (!track || track.lost) return undefined;
    const [sure, any] = [track.sureTop?.profit ?? track.now.profit, track.anyTop.profit];
    return {
      low: Math.min(sure, any) - track.beginningRoom,
      high: Math.max(sure, any, track.perhapsTop, track.keptTop) + track.beginningRoom,
    };
  }

  /** Share of the equity at the highest profit that is lost, or of that with what was paid in since. */
  drawdown(wallet: string): Share | undefined {
    const track = this.#tracks.get(wallet);
    if (!track) return undefined;
    const { equity, profit } = track.now;
    // The top may be one that nobody knows of, with any equity.
    if (track.lost) return anything;
    const hiddenTop = { ...track.anyTop, profit: Math.max(track.anyTop.profit, track.hiddenTop) };
    const shares = [track.sureTop ?? track.now, track.anyTop, hiddenTop, ...track.higher].map((top) => {
      const lost = Math.max(0, top.profit - profit);
      const ofTop = fallOf(lost, top.equity);
      return equity + lost > 0 ? Math.min(ofTop, lost / (equity + lost)) : ofTop;
    });
    const least = this.#leastFall(wallet, track, this.#nowMs);
    return { low: Math.min(...shares, least), high: Math.max(...shares) };
  }

  /**
   * Share of what was in the wallet today that is lost: what was there at midnight, and was paid in since. After a withdrawal what is
   * lost from then on is also measured by what it left.
   */
  lossToday(wallet: string): Share | undefined {
    const track = this.#tracks.get(wallet);
    if (!track) return undefined;
    const { base, watched, samples, unsure, jumped } = track.day;
    if (unsure || (base && !watched)) return anything;
    const lossOf = ({ profit }: Sample): number => (base?.profit ?? 0) - profit;
    const capitalOf = ({ paid }: Sample): number => (base ? base.equity - base.paid : 0) + paid;
    const lost = -(track.now.profit + track.beginning) + (base?.profit ?? 0);
    if (lost <= Math.abs(track.now.profit) * roundingError) return { low: 0, high: 0 };
    const share = (part: number, capital: number): number =>
      part <= 0 ? 0 : capital > part ? part / capital : 1;
    const whole = share(lost, Math.max(...samples.map(capitalOf)));
    let high = whole;
    for (const [index, day] of samples.entries()) {
      if (index === 0 || day.paid >= samples[index - 1]!.paid) continue;
      const before = Math.max(0, Math.min(lossOf(day), lossOf(samples[index - 1]!)));
      const most = Math.max(...samples.slice(index).map(capitalOf));
      high = Math.max(high, share(lost - before, most - before), share(lost, most));
    }
    return { low: jumped ? 0 : whole, high };
  }

  /** True if from one time to another the first sample of a wallet came to stand at the beginning of a window. */
  covers(fromMs: number, toMs: number, windowMs: number): boolean {
    return [...this.#tracks.values()].some(({ past: [oldest] }) => {
      const coversMs = oldest === undefined ? Number.POSITIVE_INFINITY : oldest.atMs + windowMs - coveredMs;
      return fromMs < coversMs && coversMs <= toMs;
    });
  }

  /**
   * Share that was lost within some time: of the equity at its beginning, and no more than the fall from the peak since then.
   * Undefined where nothing was seen before its beginning.
   * @param answersMs a sample counts at the beginning of a window for so long, beyond doubt
   */
  losing(wallet: string, windowMs: number, nowMs: number, answersMs: number): Losing | undefined {
    const track = this.#tracks.get(wallet);
    if (!track) return undefined;
    const { past, now } = track;
    // Each judgement asks twice.
    const asked = `${windowMs} ${nowMs} ${answersMs} ${past.length}`;
    if (this.#losing?.asked !== asked || this.#losing.now !== now)
      this.#losing = { asked, now, found: this.#losingOf(wallet, track, windowMs, nowMs, answersMs) };
    return this.#losing.found;
  }

  #isPaidMeanwhile(wallet: string, past: readonly Past[], index: number): boolean {
    const { changedMs, explainedMs } = past[index]!;
    if (!isPaidMeanwhile(past, index, explainedMs + troubledMs)) return false;
    return !this.#isClear(wallet, changedMs, explainedMs) || isPaidMeanwhile(past, index, explainedMs);
  }

  #losingOf(
    wallet: string,
    track: Track,
    windowMs: number,
    nowMs: number,
    answersMs: number,
  ): Losing | undefined {
    const { past, now } = track;
    const edgeMs = nowMs - windowMs;
    const [oldest] = past;
    // In a time of which nothing is known there may be older ones.
    if (track.lost && (oldest === undefined || oldest.atMs > edgeMs - edgeRoomMs)) return anyLosing;
    if (oldest === undefined || oldest.atMs > edgeMs + coveredMs) return undefined;
    // Only samples of answers stand in windows. Where they are few, as in an outage, an old one counts at the beginning, or none.
    // One whose profit is explained later counts only where nothing was paid meanwhile.
    const known: boolean[] = [];
    const roughFromMs = this.#roughOf(wallet, nowMs)[0]?.ms ?? Number.POSITIVE_INFINITY;
    const counts = (one: Past, index: number): boolean => {
      if (!one.answered || !one.sure) return false;
      // The daemon takes off all that a trade may hide until it is known.
      if (one.atMs >= roughFromMs) return false;
      // Nothing is stored of a profit that was not known yet when the daemon stopped.
      if (one.atMs < this.#startedMs && one.explainedMs > this.#startedMs) return false;
      if (one.atMs < this.#startedMs && !this.#isClear(wallet, one.changedMs, one.explainedMs)) return false;
      known[index] ??= !this.#isPaidMeanwhile(wallet, past, index);
      return known[index];
    };
    const first = past.findLastIndex((one, index) => one.atMs <= edgeMs - edgeRoomMs && counts(one, index));
    const begins = past.filter(({ atMs }, index) => index >= first && atMs <= edgeMs + edgeRoomMs);
    const lost = begins.map((one) => one.profit - now.profit);
    const shareOf = (usd: number): number => (now.equity + usd > 0 ? usd / (now.equity + usd) : 0);
    const falls = fallsTo(
      now,
      past.filter(({ atMs }) => atMs >= edgeMs - edgeRoomMs),
      past.filter((one, index) => one.atMs > edgeMs + edgeRoomMs && counts(one, index)),
    );
    return {
      low: Math.min(...falls, shareOf(Math.min(...lost)), this.#leastFall(wallet, track, nowMs)),
      high: Math.min(Math.max(...falls), shareOf(Math.max(...lost))),
      change: { low: -Math.max(...lost), high: -Math.min(...lost) },
      // After a time without answers the first of them may come too late to be kept for itself.
      sure: [0, answersMs / 2].every((ms) =>
        past.some(
          (one, index) =>
            one.atMs <= edgeMs - ms && one.atMs >= edgeMs - answersMs - ms && counts(one, index),
        ),
      ),
    };
  }

  /** Funding that was paid as a share of the equity that would be there without it, or of the highest one. */
  fundingCost(wallet: string, received: number): Share | undefined {
    const track = this.#tracks.get(wallet);
    if (!track) return undefined;
    const { equity } = track.now;
    const [low, high] = [track.anyEquity, track.sureEquity].map((top) => {
      const capital = Math.max(equity - received, top, equity);
      return capital > 0 ? Math.min(-received / capital, 1) : 0;
    });
    return { low: Math.min(low!, high!), high: Math.max(low!, high!) };
  }

  /** Profit of today, USD. Undefined: what was there at midnight is not known. */
  profitToday(wallet: string): number | undefined {
    const track = this.#tracks.get(wallet);
    if (!track) return undefined;
    const { base, watched } = track.day;
    if (base && !watched) return undefined;
    return track.now.profit + track.beginning - (base?.profit ?? 0);
  }

  #sample(wallet: string, equityOf = this.#equity): Sample | undefined {
    const { readMs, accounts, gone, events } = this.#seen;
    if (!this.#indices.get(wallet)!.every((index) => readMs.has(`${wallet}/${index}.`))) return undefined;
    let [equity, paid, moves, payments, spotMoved] = [0, 0, 0, 0, false];
    let paidMs = Number.NEGATIVE_INFINITY;
    for (const account of [...accounts.values(), ...gone.values()]) {
      if (account.wallet !== wallet) continue;
      const value = accounts.has(account.name) ? equityOf(account) : 0;
      if (value === undefined) return undefined;
      const flows = this.#flows(account);
      if (flows === undefined) return undefined;
      this.#noteHidden(account);
      equity += value;
      paid += flows.paid;
      moves += flows.moves;
      payments += flows.payments;
      paidMs = Math.max(paidMs, flows.paidMs);
      spotMoved ||= flows.spotMoved;
    }
    const known = events.of(wallet, "collateral", Number.POSITIVE_INFINITY, 0).length;
    if (known === moves) this.#hidden.delete(wallet);
    return {
      equity,
      paid,
      ...{ moves, payments },
      paidMs,
      profit: equity - paid,
      sure: known === moves && !spotMoved && !this.#unexplained.has(wallet) && !this.#hasUnreadSale(wallet),
      stated: !spotMoved && !this.#hidden.has(wallet),
      priced: !spotMoved,
    };
  }

  /** Payments that may be taken for a part of a trade now. */
  hidden(wallet: string): Hidden {
    return this.#hidden.get(wallet) ?? nothingHidden;
  }

  /** Profit may be held back for so long after a change now, ms. */
  #heldMs(wallet: string, atMs: number): number {
    return this.#roughOf(wallet, atMs).length > 0 ? heldMostMs : 0;
  }

  /** Trades that may still hide a payment now. */
  #roughOf(wallet: string, atMs: number) {
    return (this.#rough.get(wallet) ?? []).filter(({ ms }) => atMs - ms < roughForMs);
  }

  /** The fall from the highest sample of the time since such trades, less all that they may hide, as a share of its equity. */
  #leastFall(wallet: string, { past, now }: Track, nowMs: number): number {
    const rough = this.#roughOf(wallet, nowMs);
    const [first] = rough;
    if (first === undefined) return Number.POSITIVE_INFINITY;
    const since = past.filter(({ atMs }) => atMs >= first.ms);
    const top = since.reduce((best, one) => (one.profit > best.profit ? one : best), { ...now });
    const hiddenUsd = rough.reduce((sum, { usd }) => sum + usd, 0);
    return Math.max(0, top.profit - hiddenUsd - now.profit) / Math.max(top.equity, centUsd);
  }

  #noteHiddenTop(track: Track, hidden: Hidden | undefined, atMs: number): void {
    if (hidden === undefined) {
      track.perhapsTop = track.keptTop;
      return;
    }
    const { equity, profit } = track.now;
    if (hidden.inUsd > equity * heldShare && atMs < hidden.sinceMs + heldLeastMs) return;
    track.perhapsTop = Math.max(track.perhapsTop, profit + hidden.inUsd);
    track.hiddenTop = Math.max(track.hiddenTop, track.perhapsTop);
  }

  /** True if collateral in another asset was sold of which no notification was read yet: no history tells of it. */
  #hasUnreadSale(wallet: string): boolean {
    const readMs = this.#seen.events.readMs.get(`notifications ${wallet}`) ?? Number.NEGATIVE_INFINITY;
    return [...this.#seen.accounts.values()].some(({ name, wallet: owner, sequence }) => {
      if (owner !== wallet) return false;
      const states = this.#truth.accounts.get(name)!;
      return states.some((state, index) => {
        const before = states[index - 1];
        return (
          before !== undefined &&
          state.sequence <= sequence &&
          state.ofMs > readMs &&
          state.spot < before.spot &&
          state.collateral > before.collateral &&
          state.netDeposits === before.netDeposits
        );
      });
    });
  }

  /** Waits for an explanation of funding. */
  #await(wallet: string, atMs: number): void {
    const unexplained = this.#unexplained.get(wallet);
    if (unexplained === undefined) return;
    const lastMs = unexplained.readMs ?? atMs;
    const readMs = Math.max(lastMs, this.#seen.events.readMs.get(`collateral ${wallet}`) ?? lastMs);
    unexplained.readMs = readMs;
    unexplained.waitedMs += Math.min(readMs - lastMs, readingMs);
    if (unexplained.waitedMs >= unexplainedMs) this.#unexplained.delete(wallet);
  }

  #statesOf(wallet: string): string {
    const { accounts, gone } = this.#seen;
    const own = [...accounts.values(), ...gone.values()].filter((one) => one.wallet === wallet);
    return own.map(({ name, collateral }) => `${name} ${collateral}`).join(" ");
  }

  /** All that was paid into an account up to a state of it, and how many rows of its history tell of that; undefined: not known. */
  #flows({ name, wallet, sequence, netDeposits }: AccountTruth) {
    const states = this.#truth.accounts.get(name)!;
    let [moves, payments] = [0, 0];
    let paidMs = Number.NEGATIVE_INFINITY;
    for (const [index, state] of states.entries()) {
      if (state.sequence > sequence) break;
      const before = states[index - 1];
      if (state.netDeposits !== (before?.netDeposits ?? 0n)) moves++;
      else if (state.spot === before?.spot) continue;
      payments++;
      paidMs = state.ofMs;
    }
    const track = this.#tracks.get(wallet);
    const lost = track !== undefined && track.lost !== null;
    const spot = this.#spots.get(name) ?? {
      sequence: lost ? 0 : sequence,
      paid: 0,
      unsure: false,
      lost,
      stopped: false,
    };
    this.#spots.set(name, spot);
    if (spot.sequence < sequence && hidesFunding(states, spot.sequence, sequence, spot.stopped))
      this.#unexplained.set(wallet, { readMs: null, waitedMs: 0 });
    spot.stopped = false;
    // Collateral that came before the prices of all markets were read is valued at those prices.
    const isValued = this.#seen.readMs.has("prices");
    if (isValued) this.#follow(spot, states, sequence);
    else if (
      states.some((one, i) => isLater(one, spot.sequence, sequence) && one.spot !== states[i - 1]?.spot)
    )
      return undefined;
    return { paid: Number(netDeposits) / 1e6 + spot.paid, moves, payments, paidMs, spotMoved: spot.unsure };
  }

  #noteHidden(account: AccountTruth): void {
    const step = this.#steps.get(account.name);
    if (step?.last.sequence === account.sequence) return;
    const isSlot = step !== undefined && account.ofMs - step.last.ofMs < slotMs;
    const before = isSlot ? step.before : step?.last;
    this.#steps.set(account.name, { before: before ?? account, last: account });
    if (before === undefined) return;
    const { wallet, name, ofMs } = account;
    const paidUsd = Number(account.netDeposits - before.netDeposits) / 1e6;
    const recent = (this.#recent.get(wallet) ?? []).filter(
      (one) => one.name !== name && Math.abs(one.ofMs - ofMs) < slotMs,
    );
    recent.push({ name, ofMs, paidUsd, tradedUsd: this.#tradedUsd(before, account) });
    this.#recent.set(wallet, recent);
    // A payment of one account may be hidden by a trade of another one of the wallet.
    const slackUsd = recent.reduce((sum, { tradedUsd }) => sum + tradedUsd, 0) * tradeSlack;
    const { equity = 0 } = this.#tracks.get(wallet)?.now ?? {};
    if (slackUsd > equity * heldShare * surelyShare)
      this.#rough.set(wallet, [...this.#roughOf(wallet, this.#nowMs), { ms: this.#nowMs, usd: slackUsd }]);
    const hidden = recent.filter(({ paidUsd }) => paidUsd !== 0 && Math.abs(paidUsd) <= slackUsd);
    if (hidden.length === 0) return;
    const inUsd = hidden.reduce((sum, one) => sum + Math.max(0, one.paidUsd), 0);
    const outUsd = hidden.reduce((sum, one) => sum + Math.max(0, -one.paidUsd), 0);
    const known = this.#hidden.get(wallet);
    this.#hidden.set(wallet, {
      inUsd: Math.max(inUsd, known?.inUsd ?? 0),
      outUsd: Math.max(outUsd, known?.outUsd ?? 0),
      sinceMs: known?.sinceMs ?? this.#nowMs,
    });
  }

  /** Value of what an account traded between two states, at the marks, USD. */
  #tradedUsd(before: AccountTruth, after: AccountTruth): number {
    const lotsOf = ({ positions }: AccountTruth, symbol: string): bigint =>
      positions.find((one) => one.symbol === symbol)?.baseLots ?? 0n;
    const symbols = new Set([...before.positions, ...after.positions].map(({ symbol }) => symbol));
    return [...symbols].reduce((usd, symbol) => {
      const [rules, price] = [this.#truth.rules.get(symbol)!, this.#seen.prices.get(symbol)];
      const units = Number(lotsOf(after, symbol) - lotsOf(before, symbol)) / 10 ** rules.baseLotsDecimals;
      return usd + (price ? Math.abs(units) * price.markTicks * tickUsd(rules) : 0);
    }, 0);
  }

  /** Value of units of the asset, USD, positive; infinite where nothing tells its price. */
  #spotUsd(units: bigint): number {
    const price = this.#seen.prices.get(spotSymbol);
    if (price === undefined) return Number.POSITIVE_INFINITY;
    return (
      Math.abs(Number(units) / spotUnits) * price.oracleTicks * tickUsd(this.#truth.rules.get(spotSymbol)!)
    );
  }

  /** Takes in the collateral in other assets up to a state. */
  #follow(spot: Spot, states: readonly AccountTruth[], sequence: number): void {
    if (spot.sequence >= sequence) return;
    let [came, sold] = [false, false];
    for (const [index, state] of states.entries()) {
      if (!isLater(state, spot.sequence, sequence)) continue;
      const before = states[index - 1];
      const more = state.spot - (before?.spot ?? 0n);
      if (more === 0n) continue;
      // What the exchange sells comes back as collateral: that is no payment. Notifications tell of it, and of nothing else.
      if (more < 0n && state.collateral > (before?.collateral ?? 0n)) {
        if (!this.#notified.has(state.wallet))
          this.#unexplained.set(state.wallet, { readMs: null, waitedMs: 0 });
        sold = true;
        continue;
      }
      if (more > 0n) came = true;
      if (!this.#seen.prices.has(spotSymbol) || spot.lost) spot.unsure = true;
      else spot.paid += Math.sign(Number(more)) * this.#spotUsd(more);
    }
    // Between two readings nobody sees how much came, only how much was sold, and for what.
    if (came && sold) spot.unsure = true;
    Object.assign(spot, { sequence, lost: false });
  }
}
