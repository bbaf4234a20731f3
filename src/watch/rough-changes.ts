/**
 * Changes of collateral that estimates of trades explained: as much as the estimates may be wrong by may have been paid in or out
 * beside them. The fills of the trades tell. Pure.
 */
import type { CashRecord, OpenChange } from "./unexplained-change.ts";
import { isFlowBefore, isHandedIn, isWithin, less, roughnessOf } from "./unexplained-change.ts";

/** A fill comes so long after the state that shows it at the latest, ms. */
const keptMs = 180_000;
const maxChanges = 50;

export interface Rough {
  readonly change: OpenChange;
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
    if (usd > 0) this.#fresh = [...this.#fresh, { change, usd, atMs }];
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

  /** Takes a record at a time, ms. @returns the change that it leaves where it is the last of a change's trades; null: it is not */
  take(record: CashRecord, nowMs: number): OpenChange | null {
    if (this.#changes.length === 0 && this.#fresh.length === 0) return null;
    const isOf = (one: Rough): boolean => nowMs - one.atMs <= keptMs && isRecordOf(one.change, record);
    const fresh = this.#fresh.findIndex(isOf);
    if (fresh >= 0) {
      const left = less(this.#fresh[fresh]!.change, record);
      this.#fresh = this.#fresh.with(fresh, { ...this.#fresh[fresh]!, change: left, usd: roughnessOf(left) });
      return isWhole(left) && record.kind !== "flow" ? left : null;
    }
    const index = this.#changes.findIndex(isOf);
    if (index < 0) return null;
    const { usd: fromUsd, atMs, change } = this.#changes[index]!;
    const left = less(change, record);
    if (record.kind === "flow" || !isWhole(left)) {
      this.#changes = this.#changes.with(index, { usd: fromUsd, atMs, change: left });
      return null;
    }
    this.#changes = this.#changes.length > 1 ? this.#changes.toSpliced(index, 1) : none;
    this.#prove({ atMs, fromUsd, toUsd: roughnessOf(left) });
    return left;
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
  if (!isWithin(change, record) && !isFlowBefore(change, record)) return false;
  if (record.kind === "fill") return change.traded[record.symbol] !== undefined;
  return record.kind === "flow" || isHandedIn(change, record);
}
