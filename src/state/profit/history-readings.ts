/** Requests extra readings of wallets' histories, at once and repeatedly, while a change of collateral is not explained. */

import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Deadlines, Due } from "../../domain/structures/deadlines.ts";
import type { WalletEntry } from "../wallets/wallets.ts";

/** Pauses between these readings, ms: short ones first. */
const againMs = 2_000;
const laterMs = 10_000;
const oftenForMs = 30_000;

/** Extra readings of the histories of one wallet. */
class Reading implements Due {
  dueMs = Number.POSITIVE_INFINITY;
  queuedMs = Number.POSITIVE_INFINITY;
  place = -1;
  order: number | undefined;
  readonly #due: () => void;

  constructor(due: () => void) {
    this.#due = due;
  }

  onDue(): void {
    this.#due();
  }
}

export class HistoryReadings {
  readonly #deadlines: Deadlines;
  readonly #builder: () => ChangesBuilder;
  /** True if a rule reads profit, so that histories are read at once. */
  readonly asked: boolean;
  readonly #readings = new Map<string, Reading>();

  constructor(deadlines: Deadlines, builder: () => ChangesBuilder, asked: boolean) {
    this.#deadlines = deadlines;
    this.#builder = builder;
    this.asked = asked;
  }

  isUnderWay(entry: WalletEntry): boolean {
    return this.#readingOf(entry).dueMs !== Number.POSITIVE_INFINITY;
  }

  /** Requests the histories that may explain what is open, now and repeatedly. */
  ask(entry: WalletEntry, builder: ChangesBuilder): void {
    const { name } = entry.wallet;
    const { held, changes } = entry.profit;
    const { open } = changes;
    if (!this.asked || (open.length === 0 && held.isEmpty)) return;
    const reading = this.#readingOf(entry);
    builder.ask("collateral", name);
    if (open.length > 0 || held.isRough) builder.ask("fills", name);
    const nextMs = held.nextReadMs(builder.atMs);
    if (open.length === 0) {
      if (Number.isFinite(nextMs)) this.#deadlines.set(reading, nextMs);
      return;
    }
    if (open.some(({ traded }) => Object.keys(traded).length > 0)) builder.ask("liquidations", name);
    if (open.some(({ taken }) => taken !== undefined)) builder.ask("notifications", name);
    if (open.some(({ gone }) => gone !== undefined)) builder.ask("funding", name);
    const often = open.some(({ atMs }) => builder.atMs - atMs < oftenForMs);
    this.#deadlines.set(reading, Math.min(nextMs, builder.atMs + (often ? againMs : laterMs)));
  }

  #readingOf(entry: WalletEntry): Reading {
    const { name } = entry.wallet;
    const reading = this.#readings.get(name) ?? new Reading(() => this.ask(entry, this.#builder()));
    this.#readings.set(name, reading);
    return reading;
  }
}
