/**
 * Declared hedges by the states that the daemon had: how far their legs are from cancelling out, since when, and what happened to them
 * since they last did. What the exchange did is taken from its own records; when the daemon was told of it, from what it observed.
 */
import type { Event } from "../../../src/domain/event.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import type { PairPlan } from "../deeds-hedges.ts";
import { legText } from "../names.ts";
import type { Seen } from "./seen.ts";
import type { Breaker, Truth } from "./truth.ts";

/** The size of its legs, units. */
export interface HedgeFigures {
  readonly legs: readonly { readonly text: string; readonly size: number }[];
  readonly naked: number;
  /** Share of the largest leg. */
  readonly imbalance: number;
}

/** Something that happened on a leg. */
interface Happened {
  readonly by: Breaker;
  readonly account: string;
  /** The exchange's own time, ms. */
  readonly atMs: number;
}

interface Track {
  readonly plan: PairPlan;
  /** Since when it is not whole, by the daemon's clock, ms; null: it is, or was not seen yet. */
  brokenMs: number | null;
  /** The last time at which it was whole, by that clock; null: never since the daemon began. */
  wholeMs: number | null;
  /** Sequences of the accounts by which it was last whole. */
  whole: ReadonlyMap<string, number>;
  /** Events that the daemon was told of since. */
  told: readonly Happened[];
}

/** The tolerance of a pair that declares none. */
export const usualTolerance = 0.02;
/** A trade on both legs may take so long. */
export const halfTradeMs = 15_000;
const weights: Readonly<Record<Breaker, number>> = { adl: 3, liquidation: 3, stop: 2, fill: 1 };
const isForced = (by: Breaker): boolean => weights[by] > weights.fill;
/** Times of one slot differ by no more, ms. */
const slotMs = 500;
/** Events are told with whole seconds. */
const secondMs = 1_000;

export class Hedges {
  readonly #seen: Seen;
  readonly #truth: Truth;
  readonly #indices: ReadonlyMap<string, readonly number[]>;
  readonly #tracks: ReadonlyMap<string, Track>;
  /** True wall time of what was observed last, ms. */
  #nowMs = 0;

  constructor(parts: {
    readonly seen: Seen;
    readonly truth: Truth;
    readonly pairs: readonly PairPlan[];
    /** PDA indices that are read, by wallet. */
    readonly indices: ReadonlyMap<string, readonly number[]>;
  }) {
    this.#seen = parts.seen;
    this.#truth = parts.truth;
    this.#indices = parts.indices;
    this.#tracks = new Map(
      parts.pairs.map((plan) => [
        plan.name,
        { plan, brokenMs: null, wholeMs: null, whole: new Map(), told: [] },
      ]),
    );
  }

  get names(): readonly string[] {
    return [...this.#tracks.keys()];
  }

  plan(name: string): PairPlan {
    return this.#tracks.get(name)!.plan;
  }

  tolerance(name: string): number {
    return this.plan(name).tolerance ?? usualTolerance;
  }

  /**
   * Takes in what was just observed.
   * @param atMs true wall time at which it was committed
   * @returns true if a hedge may be judged otherwise now
   */
  note(observation: Observation, atMs: number): boolean {
    this.#nowMs = atMs;
    let changed = false;
    for (const track of this.#tracks.values()) {
      if (observation.kind === "watching" && !observation.reloaded) this.#begin(track);
      if (observation.kind === "events" && this.#hear(track, observation.events)) changed = true;
      const figures = this.#figures(track.plan);
      if (!figures) continue;
      if (figures.imbalance > this.tolerance(track.plan.name)) track.brokenMs ??= observation.atMs;
      else if (isLookedAt(track.plan, observation)) this.#mend(track, observation.atMs);
    }
    return changed;
  }

  /** Forgets word of before a time of which nothing is recorded: a hedge may have been whole in it. */
  lose(): void {
    for (const track of this.#tracks.values()) track.told = [];
  }

  /** True if from one time to another a hedge came to be broken for longer than a trade may take. */
  turns(fromMs: number, toMs: number): boolean {
    const isDue = (sinceMs: number): boolean =>
      sinceMs + halfTradeMs >= fromMs && sinceMs + halfTradeMs < toMs;
    return [...this.#tracks.values()].some(
      ({ brokenMs, wholeMs }) => brokenMs !== null && (isDue(brokenMs) || isDue(wholeMs ?? brokenMs)),
    );
  }

  /** Undefined: its wallets were not read yet. */
  figures(name: string): HedgeFigures | undefined {
    return this.#figures(this.plan(name));
  }

  /** True if it is broken by more than half of a trade: surely, or by all that is known. */
  isMeant(name: string, nowMs: number, surely: boolean): boolean {
    const { wholeMs, brokenMs } = this.#tracks.get(name)!;
    if (wholeMs === null) return true;
    const sinceMs = surely ? (brokenMs ?? nowMs) : wholeMs;
    if (nowMs - sinceMs > halfTradeMs) return true;
    return (surely ? this.#sure(name) : this.#possible(name)).some(({ by }) => isForced(by));
  }

  /** The words for what broke it: the events that tell most; empty where it may be that none is known. */
  words(name: string): readonly (Breaker | "")[] {
    const sure = this.#sure(name);
    const least = Math.max(0, ...sure.map(({ by }) => weights[by]));
    const possible = [...sure, ...this.#possible(name)].map(({ by }) => by);
    const words = [...new Set(possible)].filter((by) => weights[by] >= least);
    return least === 0 ? [...words, ""] : words;
  }

  /** A daemon that begins knows of a hedge only that it was broken. */
  #begin(track: Track): void {
    // Nor by which answers it was whole: what it hears of from now on may be from before them.
    track.whole = new Map();
    if (track.brokenMs !== null) return;
    track.wholeMs = null;
    track.told = [];
  }

  #hear(track: Track, events: readonly Event[]): boolean {
    const { symbol } = track.plan;
    const told = events.flatMap((event): readonly Happened[] => {
      const by = breakerOf(event);
      if (by === null || event.backfilled || event.symbol !== symbol) return [];
      const account = `${event.wallet}/${event.pdaIndex}.${event.subaccount}`;
      const first = this.#happened(track.plan)
        .filter((one) => one.account === account && one.by === by)
        .find(({ atMs }) => Math.abs(atMs - event.happenedMs) <= secondMs);
      return first ? [first] : [];
    });
    track.told = [...track.told, ...told.filter((one) => this.#isLater(track, one))];
    return told.length > 0;
  }

  #mend(track: Track, atMs: number): void {
    track.brokenMs = null;
    track.wholeMs = atMs;
    track.whole = new Map(this.#accountsOf(track.plan).map(({ name, sequence }) => [name, sequence]));
    track.told = track.told.filter((one) => this.#isLater(track, one));
  }

  /** True if an account by which it was last whole did not show that yet. */
  #isLater({ whole }: Track, { account, atMs }: Happened): boolean {
    const sequence = whole.get(account);
    if (sequence === undefined) return true;
    const next = this.#truth.accounts.get(account)!.find((one) => one.sequence > sequence);
    return next !== undefined && atMs >= next.ofMs;
  }

  /** True if it is of the slot of the state by which its account was last whole: that may be from before it or after it. */
  #isOfSlot({ whole }: Track, { account, atMs }: Happened): boolean {
    const state = this.#truth.account(account, whole.get(account) ?? -1);
    return state !== undefined && Math.abs(state.ofMs - atMs) <= slotMs;
  }

  #sure(name: string): readonly Happened[] {
    return this.#tracks.get(name)!.told;
  }

  #possible(name: string): readonly Happened[] {
    const track = this.#tracks.get(name)!;
    return this.#happened(track.plan).filter(
      (one) => one.atMs <= this.#nowMs && (this.#isLater(track, one) || this.#isOfSlot(track, one)),
    );
  }

  /** Everything that ever happened on its legs, in order. */
  #happened({ symbol, legs }: PairPlan): readonly Happened[] {
    return legs
      .flatMap(({ wallet, account }) => {
        const own = account && `${wallet}/${account.pdaIndex}.${account.subaccount}`;
        return this.#truth
          .breakers(wallet)
          .filter((one) => one.symbol === symbol && (own === null || one.account === own));
      })
      .sort((a, b) => a.atMs - b.atMs);
  }

  #accountsOf({ legs }: PairPlan) {
    return [...this.#seen.accounts.values()].filter((one) =>
      legs.some(({ wallet }) => wallet === one.wallet),
    );
  }

  #figures(plan: PairPlan): HedgeFigures | undefined {
    const { symbol, legs } = plan;
    const { readMs, statuses } = this.#seen;
    const isRead = ({ wallet }: (typeof legs)[number]) =>
      this.#indices.get(wallet)!.every((index) => readMs.has(`${wallet}/${index}.`));
    if (!legs.every(isRead)) return undefined;
    const units = 10 ** this.#truth.rules.get(symbol)!.baseLotsDecimals;
    const lots = legs.map(({ wallet, account }) =>
      this.#accountsOf(plan)
        .filter((one) => one.wallet === wallet)
        .filter(({ name }) => !account || name === `${wallet}/${account.pdaIndex}.${account.subaccount}`)
        .reduce(
          (sum, { positions }) => sum + (positions.find((one) => one.symbol === symbol)?.baseLots ?? 0n),
          0n,
        ),
    );
    // Nothing held is nothing by whatever terms.
    if (!statuses.has(symbol) && lots.some((one) => one !== 0n)) return undefined;
    const naked = Number(lots.reduce((sum, one) => sum + one, 0n));
    const largest = Math.max(...lots.map((one) => Math.abs(Number(one))));
    return {
      legs: legs.map((leg, index) => ({ text: legText(leg, symbol), size: Number(lots[index]) / units })),
      naked: naked / units,
      imbalance: largest === 0 ? 0 : Math.abs(naked) / largest,
    };
  }
}

/** True for what has the daemon look at a hedge in any case. */
function isLookedAt({ legs }: PairPlan, observation: Observation): boolean {
  return observation.kind === "accounts"
    ? legs.some(({ wallet }) => wallet === observation.wallet)
    : observation.kind === "marketConfig" || (observation.kind === "prices" && !observation.live);
}

const notified: Readonly<Record<string, Breaker>> = {
  adl: "adl",
  liquidation: "liquidation",
  backstop_liquidation: "liquidation",
  stop_loss_executed: "stop",
  conditional_order_executed: "stop",
  order_filled: "fill",
};

function breakerOf({ kind, fields, inbox }: Event): Breaker | null {
  if (kind === "notification") return notified[inbox?.notificationType ?? ""] ?? null;
  if (kind === "liquidation") return fields.kind === "adl" ? "adl" : "liquidation";
  if (kind !== "fill") return null;
  const { tradeType } = fields;
  return tradeType === "adl" || tradeType === "liquidation" ? tradeType : "fill";
}
