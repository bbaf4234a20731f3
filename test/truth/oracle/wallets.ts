/**
 * Profit of wallets by the truth: equity less what was paid in up to the very states that the daemon had, whatever its histories told
 * it by then. Where it could not know yet what was paid in, it is not sure.
 */
import type { Seen } from "./seen.ts";
import type { AccountTruth, Truth } from "./truth.ts";

/** A wallet at one moment. USD; profit is since the first time at which all of it was seen. */
export interface Sample {
  readonly equity: number;
  readonly profit: number;
  /** All that was paid in since its accounts were opened, less what was paid out. */
  readonly paid: number;
  /** The daemon knows all of that. */
  readonly sure: boolean;
}

/** The range in which a share lies. */
export interface Share {
  readonly low: number;
  readonly high: number;
}

interface Track {
  readonly beginning: number;
  now: Sample;
  /** The highest profit of answers that were sure, and of all moments. */
  sureTop: Sample | null;
  anyTop: Sample;
  /** In order; the first of each amount that was paid. */
  readonly days: Sample[];
}

export class Wallets {
  readonly #seen: Seen;
  readonly #truth: Truth;
  readonly #equity: (account: AccountTruth) => number | undefined;
  readonly #tracks = new Map<string, Track>();
  readonly #indices: ReadonlyMap<string, readonly number[]>;
  /** Accounts that were seen, with their first sequence: no history tells where spot collateral of before came from. */
  readonly #first = new Map<string, number>();

  constructor(parts: {
    readonly seen: Seen;
    readonly truth: Truth;
    /** PDA indices that are read, by wallet. */
    readonly indices: ReadonlyMap<string, readonly number[]>;
    readonly equity: (account: AccountTruth) => number | undefined;
  }) {
    this.#seen = parts.seen;
    this.#truth = parts.truth;
    this.#indices = parts.indices;
    this.#equity = parts.equity;
  }

  /** @param answered its accounts were just read: the sample enters windows */
  note(wallet: string, answered: boolean): void {
    const sample = this.#sample(wallet);
    const track = this.#tracks.get(wallet);
    if (!sample) return;
    if (!track) {
      const first = { ...sample, profit: 0 };
      this.#tracks.set(wallet, {
        ...{ beginning: sample.profit, now: first, sureTop: first.sure ? first : null, anyTop: first },
        days: [first],
      });
      return;
    }
    const now = { ...sample, profit: sample.profit - track.beginning };
    track.now = now;
    if (now.profit > track.anyTop.profit) track.anyTop = now;
    if (answered && now.sure && now.profit > (track.sureTop?.profit ?? Number.NEGATIVE_INFINITY))
      track.sureTop = now;
    const last = track.days.at(-1)!;
    if (Math.abs(last.paid - now.paid) > 0.005) track.days.push(now);
  }

  now(wallet: string): Sample | undefined {
    return this.#sample(wallet) && this.#tracks.get(wallet)?.now;
  }

  /** The highest profit so far. */
  top(wallet: string): Sample | undefined {
    return this.#tracks.get(wallet)?.anyTop;
  }

  /** Share of the equity at the highest profit that is lost, or of that with what was paid in since. */
  drawdown(wallet: string): Share | undefined {
    const track = this.#tracks.get(wallet);
    if (!track) return undefined;
    const { equity, profit } = track.now;
    const shares = [track.sureTop ?? track.now, track.anyTop].map((top) => {
      const lost = Math.max(0, top.profit - profit);
      const ofTop = Math.min(lost / top.equity, 1);
      return equity + lost > 0 ? Math.min(ofTop, lost / (equity + lost)) : ofTop;
    });
    return { low: Math.min(...shares), high: Math.max(...shares) };
  }

  /**
   * Share of what was in the wallet today that is lost. All that is in it was paid in today. After a withdrawal what is lost from
   * then on is also measured by what it left.
   */
  lossToday(wallet: string): Share | undefined {
    const track = this.#tracks.get(wallet);
    if (!track) return undefined;
    const { now, days, beginning } = track;
    const lossOf = ({ profit }: Sample): number => -(profit + beginning);
    const lost = lossOf(now);
    if (lost <= 0) return { low: 0, high: 0 };
    const share = (part: number, capital: number): number =>
      part <= 0 ? 0 : capital > part ? part / capital : 1;
    const whole = share(lost, Math.max(...days.map(({ paid }) => paid)));
    let high = whole;
    for (const [index, day] of days.entries()) {
      if (index === 0 || day.paid >= days[index - 1]!.paid) continue;
      const before = Math.max(0, Math.min(lossOf(day), lossOf(days[index - 1]!)));
      const most = Math.max(...days.slice(index).map(({ paid }) => paid));
      high = Math.max(high, share(lost - before, most - before), share(lost, most));
    }
    return { low: whole, high };
  }

  /** Profit of today, USD. */
  profitToday(wallet: string): number | undefined {
    const track = this.#tracks.get(wallet);
    return track && track.now.profit + track.beginning;
  }

  #sample(wallet: string): Sample | undefined {
    const { readMs, accounts, events } = this.#seen;
    if (!this.#indices.get(wallet)!.every((index) => readMs.has(`${wallet}/${index}.`))) return undefined;
    let [equity, paid, moves, spotMoved] = [0, 0, 0, false];
    for (const account of accounts.values()) {
      if (account.wallet !== wallet) continue;
      const value = this.#equity(account);
      if (value === undefined) return undefined;
      const flows = this.#flows(account);
      equity += value;
      paid += flows.paid;
      moves += flows.moves;
      spotMoved ||= flows.spotMoved;
    }
    const known = events.get(wallet)?.size ?? 0;
    return { equity, paid, profit: equity - paid, sure: known === moves && !spotMoved };
  }

  /** All that was paid into an account up to a state of it, and how many rows of its history tell of that. */
  #flows({ name, sequence, netDeposits }: AccountTruth) {
    const states = this.#truth.accounts.get(name)!;
    const first = this.#first.get(name) ?? sequence;
    this.#first.set(name, first);
    let moves = 0;
    let spotMoved = false;
    for (const [index, state] of states.entries()) {
      if (state.sequence > sequence) break;
      const before = states[index - 1];
      if (state.netDeposits !== (before?.netDeposits ?? 0n)) moves++;
      // No history of the simulated exchange tells of spot collateral that comes or goes.
      if (state.sequence > first && state.spot !== before?.spot) spotMoved = true;
    }
    return { paid: Number(netDeposits) / 1e6, moves, spotMoved };
  }
}
