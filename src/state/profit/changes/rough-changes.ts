/**
 * Changes of collateral that estimates of trades explained: as much as the estimates may be wrong by may have been paid in or out
 * beside them. The fills of the trades tell. Pure.
 */
import type { CashRecord, FillRecord, LooseRecord, Place } from "../records/cash-record.ts";
import { isHandedIn, less } from "../records/explain-by-record.ts";
import { maxTried, subsetsOf } from "../records/fitting-records.ts";
import { contains, isFlowBefore, isOfSlotAfter, isOfSlotBefore, isWithin } from "../records/record-order.ts";
import type { OpenChange } from "./open-change.ts";
import { isExplained, roughnessOf, unexplainedUsd } from "./unexplained-amount.ts";

/** A fill comes so long after the state that shows it at the latest, ms. */
const keptMs = 180_000;
const maxChanges = 50;

export interface Rough {
  /** Less the flows and takeovers that were read since. */
  readonly change: OpenChange;
  /** The fills that were read since, of its slots and of that of the state before it, and flows of the latter. */
  readonly read: readonly LooseRecord[];
  /** So much may be hidden in it, USD. */
  readonly usd: number;
  /** The time from which it is held, ms; before that, at which it was explained. */
  readonly atMs: number;
  /** It is held. */
  readonly held: boolean;
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
const noRecords: readonly LooseRecord[] = [];
const noChanges: readonly OpenChange[] = [];

export class RoughChanges {
  #changes = none;
  #proofs = noProofs;

  /** Takes a change that is explained. The newest of an account and a slot stands for those before it. */
  add(change: OpenChange, atMs: number): void {
    const usd = roughnessOf(change);
    if (usd === 0 && this.#changes.length === 0) return;
    const isSame = (one: Rough): boolean => contains(change, one.change);
    for (const one of this.#changes)
      if (one.held && isSame(one)) this.#prove({ atMs: one.atMs, fromUsd: one.usd, toUsd: 0 });
    const others = this.#changes.filter((one) => !isSame(one));
    this.#set(usd > 0 ? [...others, { change, read: noRecords, usd, atMs, held: false }] : others);
  }

  /**
   * Hands over how much may be hidden in the changes since the last time, USD. They are held from now on, unless that does not matter.
   * @param limits what is within them is 0
   * @param atMs the time from which they are held: proofs state it
   */
  takeHidden({ roughUsd, knownUsd }: HiddenLimits, atMs: number): number {
    const fresh = this.#changes.filter(({ held }) => !held);
    if (fresh.length === 0) return 0;
    const recent = this.#changes.filter((one) => one.held && one.atMs > atMs - keptMs);
    const usd = fresh.reduce((sum, one) => sum + one.usd, 0);
    const isKnown = (one: Rough): boolean => isWhole(one.change);
    if (!(usd > (fresh.every(isKnown) ? knownUsd : roughUsd))) {
      this.#set(recent);
      return 0;
    }
    for (const one of fresh) if (isKnown(one)) this.#prove({ atMs, fromUsd: one.usd, toUsd: one.usd });
    const waiting = fresh.filter((one) => !isKnown(one)).map((one) => ({ ...one, atMs, held: true }));
    this.#set([...recent, ...waiting].slice(-maxChanges));
    return usd;
  }

  takeProofs(): readonly Proof[] {
    const proofs = this.#proofs;
    this.#proofs = noProofs;
    return proofs;
  }

  /** Takes a record at a time, ms. */
  take(record: CashRecord, nowMs: number): void {
    if (this.#changes.length === 0) return;
    let isTaken = false;
    this.#changes = this.#changes.map((one) => {
      // A fill of the slot between two changes may be of either.
      const isLooked = (!isTaken || record.kind === "fill") && nowMs - one.atMs <= keptMs;
      if (!isLooked || !isRecordOf(one.change, record)) return one;
      isTaken = true;
      return withRecord(one, record);
    });
  }

  /** Something flowed of which nobody knows the direction: fills prove nothing of a change that may contain it. */
  takeUnknown(place: Place): void {
    if (this.#changes.length === 0) return;
    this.#changes = this.#changes.map((one) =>
      isWithin(one.change, place)
        ? { ...one, change: { ...one.change, guessed: true }, read: noRecords }
        : one,
    );
  }

  /** All records of a reading were taken. @returns what is left of changes all of whose trades are known by now */
  settle(): readonly OpenChange[] {
    if (this.#changes.length === 0) return noChanges;
    const left: OpenChange[] = [];
    const changes = this.#changes.flatMap((one) => {
      const change = one.read.some(({ kind }) => kind === "fill") ? leftOf(one) : null;
      if (change === null) return [one];
      left.push(change);
      const usd = roughnessOf(change);
      if (one.held) this.#prove({ atMs: one.atMs, fromUsd: one.usd, toUsd: usd });
      return one.held || !isExplained(change) ? [] : [{ ...one, change, read: noRecords, usd }];
    });
    this.#set(changes);
    return left;
  }

  #set(changes: readonly Rough[]): void {
    this.#changes = changes.length > 0 ? changes : none;
  }

  /** Those that are kept over a restart: nobody waits for the fills of others. */
  get kept(): readonly Rough[] {
    return this.#changes.filter(({ held }) => held);
  }

  restore(kept: readonly Rough[]): void {
    this.#set(kept);
  }

  forget(): void {
    this.#changes = none;
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
  // Nobody knows what belongs to it, so fills prove nothing.
  if (change.guessed) return false;
  const isOfSlots = isWithin(change, record);
  if (record.kind === "fill" && isUnshown(change, record))
    return isOfSlots && !isOfSlotAfter(change, record) && !isOfSlotBefore(change, record);
  if (record.kind === "fill" || record.kind === "flow") return isOfSlots || isOfSlotBefore(change, record);
  return isOfSlots && isHandedIn(change, record);
}

/** True if a change shows no trade of a fill's market: the fill is of a position that came and went between its states. */
function isUnshown({ traded }: OpenChange, { symbol }: FillRecord): boolean {
  return traded[symbol] === undefined;
}

function withRecord(rough: Rough, record: CashRecord): Rough {
  const { change, read } = rough;
  const isCertain = record.kind === "flow" && (isWithin(change, record) || isFlowBefore(change, record));
  if ((record.kind === "fill" || record.kind === "flow") && !isCertain)
    return { ...rough, read: [...read, record] };
  return { ...rough, change: less(change, record) };
}

/**
 * A change less its fills, once they are all of its trades; null: they are not. Records of the slots of its two states may have come before
 * the first one, or after the second: those are its own that leave the least to explain.
 */
function leftOf({ change, read }: Rough): OpenChange | null {
  const isEdge = (one: LooseRecord): boolean => !isWithin(change, one) || isOfSlotAfter(change, one);
  const inside = read.filter((one) => !isEdge(one)).reduce(less, change);
  let best: OpenChange | null = null;
  for (const some of subsetsOf(read.filter(isEdge).slice(-maxTried))) {
    const left = some.reduce(less, inside);
    // Fills of a position that came and went may be of a later page: the change keeps that position open until then.
    if (Object.values(left.traded).some(({ unshown }) => !unshown)) continue;
    if (best === null || Math.abs(unexplainedUsd(left)) < Math.abs(unexplainedUsd(best))) best = left;
  }
  return best;
}
