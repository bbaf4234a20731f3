/**
 * Compares perpwatch's equity with the exchange's portfolio values, which the exchange computes itself. Those are of each
 * quarter of an hour, perpwatch's of the moments at which an account was read. A value agrees if it lies between the readings
 * before and after its moment.
 */
import type { AccountEntry } from "../accounts/account-entry.ts";

const quarterMs = 900_000;
/** Maximum time between two readings for which a value between them is compared, ms. */
const apartMs = 60_000;
/** Minimum equity that is compared, USD: below it a cent would be a difference. */
const smallestUsd = 1;
/** Share of the exchange's value from which on a difference is reported. */
const toleranceShare = 0.01;
/** A comparison counts for this long, ms. */
const keptMs = 3_600_000;

/** Side of the exchange's figure on which perpwatch's figure is. */
type Side = "above" | "below";

interface Difference {
  readonly account: string;
  /** A fraction of the exchange's value. */
  readonly share: number;
  readonly side: Side;
}

interface Noted {
  lastMs: number;
  lastUsd: number;
  /** Own equity around the newest quarters of an hour, oldest first. */
  readonly quarters: { readonly atMs: number; readonly low: number; readonly high: number }[];
  compared: { readonly atMs: number; readonly share: number; readonly side: Side } | null;
  reported: boolean;
}

export class EquityCheck {
  readonly #noted: Map<AccountEntry, Noted>;
  readonly #warn: (text: string) => void;

  constructor(warn: (text: string) => void, before?: EquityCheck) {
    this.#noted = before ? before.#noted : new Map();
    this.#warn = warn;
  }

  /** Takes a reading of an account. */
  note(account: AccountEntry, atMs: number): void {
    const usd = account.node.facts.values.equity;
    if (typeof usd !== "number") return;
    const noted = this.#noted.get(account);
    if (!noted) {
      this.#noted.set(account, { lastMs: atMs, lastUsd: usd, quarters: [], compared: null, reported: false });
      return;
    }
    const quarter = Math.floor(atMs / quarterMs) * quarterMs;
    if (noted.lastMs < quarter && atMs - noted.lastMs <= apartMs) {
      const [low, high] = [Math.min(noted.lastUsd, usd), Math.max(noted.lastUsd, usd)];
      noted.quarters.push({ atMs: quarter, low, high });
      if (noted.quarters.length > 2) noted.quarters.shift();
    }
    noted.lastMs = atMs;
    noted.lastUsd = usd;
  }

  forget(account: AccountEntry): void {
    this.#noted.delete(account);
  }

  /** @param valueUsd the exchange's value at `ofMs`, a quarter of an hour   @returns true if it could be compared */
  compare(account: AccountEntry, ofMs: number, valueUsd: number, nowMs: number): boolean {
    const noted = this.#noted.get(account);
    const ours = noted?.quarters.find((one) => one.atMs === ofMs);
    if (!noted || !ours) return false;
    const apartUsd = Math.max(0, ours.low - valueUsd, valueUsd - ours.high);
    const share = apartUsd / Math.max(Math.abs(valueUsd), smallestUsd);
    noted.compared = { atMs: nowMs, share, side: ours.low > valueUsd ? "above" : "below" };
    const differs = share > toleranceShare;
    if (differs && !noted.reported) {
      const at = new Date(ofMs).toISOString();
      const our = ours.low === ours.high ? `${ours.low}` : `${ours.low} to ${ours.high}`;
      this.#warn(`${account.name}: equity at ${at} is ${our} here and ${valueUsd} at the exchange`);
    }
    noted.reported = differs;
    return true;
  }

  /** The account with the largest difference; undefined: nothing was compared lately. */
  worst(nowMs: number): Difference | undefined {
    let worst: Difference | undefined;
    for (const [{ name }, { compared }] of this.#noted) {
      if (!compared || nowMs - compared.atMs > keptMs) continue;
      const { share, side } = compared;
      if (worst === undefined || share > worst.share) worst = { account: name, share, side };
    }
    return worst;
  }
}
