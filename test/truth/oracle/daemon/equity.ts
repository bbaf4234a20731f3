/**
 * Equity of accounts held against the exchange's own values, which are of the quarters of the hour: a value is compared with the two
 * readings of the account around its moment.
 */

const quarterMs = 900_000;
/** Readings that are further apart say nothing about what was between them. */
const apartMs = 60_000;

interface Readings {
  lastMs: number;
  lastUsd: number;
  /** The lower and the higher one of the readings around each quarter, by its time. */
  readonly quarters: Map<number, readonly [low: number, high: number]>;
  /** Share of the exchange's value by which it differs; null: nobody knows. */
  apart: number | null | undefined;
  /** Ours is above the exchange's. */
  isAbove: boolean;
}

export class EquitySeen {
  readonly #accounts = new Map<string, Readings>();
  /** Time of the last comparison, ms. */
  comparedMs = Number.NEGATIVE_INFINITY;

  /** The newest time of which there are no records. */
  #lost = { fromMs: Number.POSITIVE_INFINITY, toMs: Number.NEGATIVE_INFINITY };

  forget(): void {
    this.#accounts.clear();
    this.comparedMs = Number.NEGATIVE_INFINITY;
  }

  lose(fromMs: number, toMs: number): void {
    this.#lost = { fromMs, toMs };
  }

  /** An account was read. */
  note(account: string, usd: number, atMs: number): void {
    const known = this.#accounts.get(account);
    if (!known) {
      this.#accounts.set(account, {
        lastMs: atMs,
        lastUsd: usd,
        quarters: new Map(),
        apart: undefined,
        isAbove: false,
      });
      return;
    }
    const quarter = Math.floor(atMs / quarterMs) * quarterMs;
    if (known.lastMs < quarter && atMs - known.lastMs <= apartMs)
      known.quarters.set(quarter, [Math.min(known.lastUsd, usd), Math.max(known.lastUsd, usd)]);
    known.lastMs = atMs;
    known.lastUsd = usd;
  }

  gone(account: string): void {
    this.#accounts.delete(account);
  }

  /** The exchange's value of an account at a quarter of an hour. */
  compare(account: string, ofMs: number, valueUsd: number, atMs: number): void {
    const known = this.#accounts.get(account);
    if (!known) return;
    // One of the readings around it may be of that time.
    const isUnsure = ofMs >= this.#lost.fromMs - apartMs && ofMs <= this.#lost.toMs + apartMs;
    if (isUnsure) known.apart = null;
    const around = known.quarters.get(ofMs);
    if (isUnsure || !around) return;
    const [low, high] = around;
    known.isAbove = low > valueUsd;
    known.apart = Math.max(0, low - valueUsd, valueUsd - high) / Math.max(Math.abs(valueUsd), 1);
    this.comparedMs = atMs;
  }

  /** True if nobody knows how far one of them differs. */
  get isUnsure(): boolean {
    return [...this.#accounts.values()].some(({ apart }) => apart === null);
  }

  /** The largest difference; undefined: nothing was compared, or nobody knows. */
  get worst(): number | undefined {
    const all = [...this.#accounts.values()].flatMap(({ apart }) => (apart === undefined ? [] : [apart]));
    if (all.length === 0 || all.includes(null)) return undefined;
    return Math.max(...all.map(Number));
  }

  /** The side of the exchange's figure on which ours is, of the account that differs most; undefined: of several, or not known. */
  get worstSide(): "above" | "below" | undefined {
    const sides = new Set(this.worstAccounts.map((name) => this.#accounts.get(name)!.isAbove));
    if (sides.size !== 1 || this.worst === 0) return undefined;
    return sides.has(true) ? "above" : "below";
  }

  /** The accounts that differ most, within what the exchange rounds. */
  get worstAccounts(): readonly string[] {
    const { worst } = this;
    if (worst === undefined) return [];
    return [...this.#accounts].flatMap(([name, { apart }]) => (worst - (apart ?? 0) < 1e-6 ? [name] : []));
  }
}
