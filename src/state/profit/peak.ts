/**
 * The highest profit of a wallet, USD. A deposit whose record is read late was part of the profit since its account's state was
 * seen: the record lowers the values of that time. Pure.
 */

/** Values between two changes of an account. */
interface Part {
  readonly account: string;
  /** Slot of the state that showed the change. */
  readonly slot: number;
  readonly atMs: number;
  /** -∞: none. */
  maxUsd: number;
}

/** Maximum delay of a record after the state that shows its flow, ms. */
const keptMs = 600_000;
const maxParts = 1_000;

export class Peak {
  /** The highest value before the parts, and the highest of all, USD. */
  #baseUsd: number;
  #usd: number;
  #parts: Part[] = [];

  constructor(usd = 0) {
    this.#baseUsd = usd;
    this.#usd = usd;
  }

  get usd(): number {
    return this.#usd;
  }

  take(profitUsd: number): void {
    const newest = this.#parts.at(-1);
    if (newest === undefined) this.#baseUsd = Math.max(this.#baseUsd, profitUsd);
    else if (profitUsd > newest.maxUsd) newest.maxUsd = profitUsd;
    if (profitUsd > this.#usd) this.#usd = profitUsd;
  }

  /** Takes a state of an account with other collateral. */
  changed(account: string, slot: number, atMs: number): void {
    const parts = this.#parts;
    parts.push({ account, slot, atMs, maxUsd: Number.NEGATIVE_INFINITY });
    let settled = 0;
    while (parts[settled]!.atMs <= atMs - keptMs || parts.length - settled > maxParts)
      this.#baseUsd = Math.max(this.#baseUsd, parts[settled++]!.maxUsd);
    if (settled > 0) this.#parts = parts.slice(settled);
  }

  /** Takes a record of an amount paid in, which states show from a slot on. */
  paidIn(account: string, fromSlot: number, usd: number): void {
    const index = this.#parts.findIndex((one) => one.account === account && one.slot >= fromSlot);
    if (index < 0) return;
    for (const one of this.#parts.slice(index)) one.maxUsd -= usd;
    this.#usd = Math.max(this.#baseUsd, ...this.#parts.map(({ maxUsd }) => maxUsd));
  }
}
