/**
 * Changes of collateral that estimates of trades explained: as much as the estimates may be wrong by may have been paid in or out
 * beside them. The fills of the trades tell. Pure.
 */
import {
  type CashRecord,
  type FillRecord,
  isFlowBefore,
  isHandedIn,
  isOfSlotBefore,
  isWithin,
  less,
  maxTried,
  type OpenChange,
  roughnessOf,
  subsetsOf,
  unexplainedUsd,
} from "./unexplained-change.ts";

/** A fill comes so long after the state that shows it at the latest, ms. */
const keptMs = 180_000;
const maxChanges = 50;

export interface Rough {
  /** Less the flows and takeovers that were read since. */
  readonly change: OpenChange;
  /** The fills that were read since, of its slots and of that of the state before it. */
  readonly fills: readonly FillRecord[];
  /** So much may be hidden in it, USD. */
  readonly usd: number;
  /** The time from which it is held, ms; before that, at which it was explained. */
  readonly atMs: number;
}

/** A change is no longer as rough as it was. */
export interface Proof {
  /** The time from which it is held, ms. */
  readonly atMs: number;
  /** So much could be hidden in it, and still can, USD. */
  readonly fromUsd: number;
  readonly toUsd: number;
}

/** Up to so much hidden in changes of one time does not matter, USD. */
export interface HiddenLimits {
  readonly roughUsd: number;
  /** The same where the fills of all are known. */
  readonly knownUsd: number;
}

// Shared: of most wallets there is none.
const none: readonly Rough[] = [];
const noProofs: readonly Proof[] = [];
const noFills: readonly FillRecord[] = [];

export class RoughChanges {
  #changes = none;
  /** Those of the newest time, of which nobody was told yet. */
  #fresh = none;
  #proofs = noProofs;

  /** Takes a change that is explained. The newest of an account and a slot stands for those before it. */
  add(change: OpenChange, atMs: number): void {
    const usd = roughnessOf(change);
    const isSame = (one: Rough): boolean =>
      one.change.account === change.account && one.change.toSlot === change.toSlot;
    for (const { atMs: sinceMs, usd: fromUsd } of this.#changes.filter(isSame))
      this.#prove({ atMs: sinceMs, fromUsd, toUsd: 0 });
    const others = (all: readonly Rough[]): readonly Rough[] => all.filter((one) => !isSame(one));
    if (this.#changes.length > 0) this.#changes = others(this.#changes);
    if (this.#fresh.length > 0) this.#fresh = others(this.#fresh);
    if (usd > 0) this.#fresh = [...this.#fresh, { change, fills: noFills, usd, atMs }];
  }

  /**
   * Hands over how much may be hidden in the changes since the last time, USD.
   * @param limits what is within them is 0
   * @param atMs the time from which they are held: proofs state it
   */
  takeHidden({ roughUsd, knownUsd }: HiddenLimits, atMs: number): number {
    if (this.#fresh.length === 0) return 0;
    const fresh = this.#fresh.map((one) => ({ ...one, atMs }));
    this.#fresh = none;
    const usd = fresh.reduce((sum, one) => sum + one.usd, 0);
    const limitUsd = fresh.every(({ change }) => isWhole(change)) ? knownUsd : roughUsd;
    if (!(usd > limitUsd)) return 0;
    const newestMs = Math.max(...fresh.map(({ atMs }) => atMs));
    const recent = this.#changes.filter(({ atMs }) => atMs > newestMs - keptMs);
    this.#changes = [...recent, ...fresh.filter(({ change }) => !isWhole(change))].slice(-maxChanges);
    for (const one of fresh)
      if (isWhole(one.change)) this.#prove({ atMs: one.atMs, fromUsd: one.usd, toUsd: one.usd });
    return usd;
  }

  takeProofs(): readonly Proof[] {
    const proofs = this.#proofs;
    this.#proofs = noProofs;
    return proofs;
  }

  /** Takes a record at a time, ms. @returns the change that it leaves where all trades of a change are known; null: they are not */
  take(record: CashRecord, nowMs: number): OpenChange | null {
    for (const all of [this.#fresh, this.#changes]) {
      const index = all.findIndex((one) => nowMs - one.atMs <= keptMs && isRecordOf(one.change, record));
      if (index < 0) continue;
      const rough = withRecord(all[index]!, record);
      const left = leftOf(rough);
      const isFresh = all === this.#fresh;
      if (left === null) this.#set(isFresh, all.with(index, rough));
      else if (isFresh)
        this.#set(isFresh, all.with(index, { ...rough, change: left, usd: roughnessOf(left) }));
      else {
        this.#set(isFresh, all.toSpliced(index, 1));
        this.#prove({ atMs: rough.atMs, fromUsd: rough.usd, toUsd: roughnessOf(left) });
      }
      return left;
    }
    return null;
  }

  #set(isFresh: boolean, changes: readonly Rough[]): void {
    const all = changes.length > 0 ? changes : none;
    if (isFresh) this.#fresh = all;
    else this.#changes = all;
  }

  /** Those that are kept over a restart: nobody waits for the fills of others. */
  get kept(): readonly Rough[] {
    return this.#changes;
  }

  restore(kept: readonly Rough[]): void {
    this.#changes = kept.length > 0 ? kept : none;
  }

  forget(): void {
    this.#changes = none;
    this.#fresh = none;
    this.#proofs = noProofs;
  }

  #prove(proof: Proof): void {
    this.#proofs = [...this.#proofs, proof];
  }
}

/** True if all fills of a change are known. */
function isWhole({ traded }: OpenChange): boolean {
  return Object.keys(traded).length === 0;
}

function isRecordOf(change: OpenChange, record: CashRecord): boolean {
  // What belongs to it is not known: fills prove nothing.
  if (change.guessed) return false;
  if (record.kind === "fill")
    return (
      change.traded[record.symbol] !== undefined &&
      (isWithin(change, record) || isOfSlotBefore(change, record))
    );
  if (!isWithin(change, record) && !isFlowBefore(change, record)) return false;
  return record.kind === "flow" || isHandedIn(change, record);
}

function withRecord(rough: Rough, record: CashRecord): Rough {
  const { change, fills } = rough;
  if (record.kind === "fill") return { ...rough, fills: [...fills, record] };
  return { ...rough, change: less(change, record) };
}

/**
 * A change less its fills, once they are all of its trades; null: they are not. Those of the slots of its two states may have come before
 * the first one, or after the second: those are its own that leave the least to explain.
 */
function leftOf({ change, fills }: Rough): OpenChange | null {
  const isEdge = ({ slot }: FillRecord): boolean => slot <= change.fromSlot || slot === change.toSlot;
  const inside = fills.filter((one) => !isEdge(one)).reduce(less, change);
  let best: OpenChange | null = null;
  for (const some of subsetsOf(fills.filter(isEdge).slice(-maxTried))) {
    const left = some.reduce(less, inside);
    if (!isWhole(left)) continue;
    if (best === null || Math.abs(unexplainedUsd(left)) < Math.abs(unexplainedUsd(best))) best = left;
  }
  return best;
}
