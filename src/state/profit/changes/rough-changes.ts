/**
 * Changes of collateral that were explained by estimated trades. Flows up to the possible error of the estimates may be hidden in
 * them, until the fills of the trades are known. Pure.
 */
import type { CashRecord, FillRecord, LooseRecord, Place } from "../records/cash-record.ts";
import { isHandedIn, less } from "../records/explain-by-record.ts";
import { maxTried, subsetsOf } from "../records/fitting-records.ts";
import { contains, isFlowBefore, isOfSlotAfter, isOfSlotBefore, isWithin } from "../records/record-order.ts";
import type { OpenChange } from "./open-change.ts";
import { isExplained, roughnessOf, unexplainedUsd } from "./unexplained-amount.ts";

/** Maximum delay of a fill after the state that shows it, ms. */
const keptMs = 180_000;
const maxChanges = 50;

export interface Rough {
  /** Less the flows and takeovers that were read since. */
  readonly change: OpenChange;
  /** The fills that were read since, in its slots and in that of the state before it, and flows in the latter. */
  readonly read: readonly LooseRecord[];
  /** The amount that may be hidden in it, USD. */
  readonly usd: number;
  /** The time since which profit is held back because of it, ms; before that, the time at which it was explained. */
  readonly atMs: number;
  /** True if profit is held back because of it. */
  readonly held: boolean;
}

/** A change whose possible error became smaller. */
export interface Proof {
  /** The time since which profit is held back because of it, ms. */
  readonly atMs: number;
  /** The amounts that could be hidden in it before and after, USD. */
  readonly fromUsd: number;
  readonly toUsd: number;
}

/** Amounts up to which flows hidden in changes of one time are ignored, USD. */
export interface HiddenLimits {
  readonly roughUsd: number;
  /** The limit if the fills of all are known. */
  readonly knownUsd: number;
}

// Shared by the many wallets without such changes.
const none: readonly Rough[] = [];
const noProofs: readonly Proof[] = [];
const noRecords: readonly LooseRecord[] = [];
const noChanges: readonly OpenChange[] = [];

export class RoughChanges {
  #changes = none;
  #proofs = noProofs;

  /** Takes an explained change. It replaces an earlier one of the same account and slot. */
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
   * Returns the amount that may be hidden in the changes since the last call, USD. Profit is held back from now on, unless it is
   * ignored.
   * @param limits amounts within them are returned as 0
   * @param atMs the time since which profit is held back; proofs contain it
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
      // A fill in the slot between two changes may belong to either.
      const isLooked = (!isTaken || record.kind === "fill") && nowMs - one.atMs <= keptMs;
      if (!isLooked || !isRecordOf(one.change, record)) return one;
      isTaken = true;
      return withRecord(one, record);
    });
  }

  /** Takes a flow whose direction is not known: fills prove nothing about a change that may contain it. */
  takeUnknown(place: Place): void {
    if (this.#changes.length === 0) return;
    this.#changes = this.#changes.map((one) =>
      isWithin(one.change, place)
        ? { ...one, change: { ...one.change, guessed: true }, read: noRecords }
        : one,
    );
  }

  /** Called after all records of a reading were taken. @returns the rests of changes all of whose trades are known by now */
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

  /** The changes that are stored over a restart: nothing waits for the fills of the others. */
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
  // Its records are not known for certain, so fills prove nothing.
  if (change.guessed) return false;
  const isOfSlots = isWithin(change, record);
  if (record.kind === "fill" && isUnshown(change, record))
    return isOfSlots && !isOfSlotAfter(change, record) && !isOfSlotBefore(change, record);
  if (record.kind === "fill" || record.kind === "flow") return isOfSlots || isOfSlotBefore(change, record);
  return isOfSlots && isHandedIn(change, record);
}

/** True if a change shows no trade in a fill's market: the position was opened and closed between its states. */
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
 * Subtracts the fills of a change if they are all of its trades; null: they are not. Records in the slots of its two states may be
 * earlier than the first one or later than the second: those with the smallest rest are taken as its own.
 */
function leftOf({ change, read }: Rough): OpenChange | null {
  const isEdge = (one: LooseRecord): boolean => !isWithin(change, one) || isOfSlotAfter(change, one);
  const inside = read.filter((one) => !isEdge(one)).reduce(less, change);
  let best: OpenChange | null = null;
  for (const some of subsetsOf(read.filter(isEdge).slice(-maxTried))) {
    const left = some.reduce(less, inside);
    // Further fills of a position that was opened and closed may be on a later page: the change stays open until then.
    if (Object.values(left.traded).some(({ unshown }) => !unshown)) continue;
    if (best === null || Math.abs(unexplainedUsd(left)) < Math.abs(unexplainedUsd(best))) best = left;
  }
  return best;
}
