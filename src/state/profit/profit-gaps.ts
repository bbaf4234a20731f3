/**
 * Samples of wallets for which only the equity was known, as a change of collateral was not explained yet or a flow may have been
 * hidden in the profit. The explanation later gives the profit of these samples as well, as equity changes only by prices, trades and
 * flows. If the times at which states showed the flows are known, all windows and history take the samples then, with their own
 * times. Otherwise only short windows take the samples after the newest flow, as a window that begins in such a gap would be
 * unknown. Profit that turns out to hide nothing is taken by all windows and by history.
 */

import type { WindowSet } from "../windows/windows.ts";
import type { PlacedFlow } from "./changes/placed-flows.ts";
import { exactUsd } from "./records/record-order.ts";

/** Maximum time between a flow and the beginning of a gap that it caused, ms. */
const beginsMs = 10_000;
/** Maximum delay until an account shows a flow, ms. */
const shownMs = 30_000;
/** Maximum difference between the clocks of the exchange and the daemon, ms. */
const clocksMs = 2_000;
/** Maximum age of samples, ms: older ones are in no short window. */
const maxSampleAgeMs = 900_000;

/** The fields of a sample that show a gap and fill it. */
export interface ProfitSample {
  readonly equity?: unknown;
  readonly pnl?: unknown;
  readonly netDeposits?: unknown;
}

/** Profit in which a flow may be hidden, USD. */
export interface HeldSample {
  readonly pnl: number;
  /** The same less the maximum amount that may be hidden. */
  readonly leastPnl: number;
  /** Time since which something may be hidden, ms: profit that was held back before it hides nothing. */
  readonly sinceMs: number;
}

interface Gap {
  /** Deposits less withdrawals at its beginning, and at its newest sample, USD. */
  readonly netDepositsUsd: number;
  newestUsd: number;
  readonly fromMs: number;
  /** The times of the flows just before it and since, ms. */
  flows: readonly number[];
  /** `heldUsd`: profit that is correct unless a flow was hidden in it; undefined: not known. */
  samples: {
    readonly atMs: number;
    readonly equityUsd: number;
    readonly heldUsd: number | undefined;
  }[];
}

/** Called with the profit of an earlier time, USD, and the equity then. @param explained true: it was unknown; false: it was held back */
type OnLate = (atMs: number, pnl: number, equity: number, explained: boolean) => void;

const ignoreLate: OnLate = () => {};

/** The flows whose record was placed after a time, ms; null: they are not known. */
type FlowsAfter = (ms: number) => readonly PlacedFlow[] | null;

const notKnown: FlowsAfter = () => null;

export class ProfitGaps {
  /** The gaps that are not explained, by wallet. */
  readonly #gaps = new Map<string, Gap>();
  /** The times of the newest flows, by wallet, ms. */
  readonly #flows = new Map<string, number[]>();
  /** The time of the earliest flow that became known since the newest sample, by wallet, ms. */
  readonly #firstNewMs = new Map<string, number>();

  /** Takes the time of a flow, ms. Profit that was held back before it hides nothing. */
  takeFlow(wallet: string, happenedMs: number): void {
    const known = this.#flows.get(wallet) ?? [];
    const newestMs = Math.max(happenedMs, ...known);
    this.#flows.set(wallet, [...known.filter((ms) => ms > newestMs - maxSampleAgeMs), happenedMs]);
    this.#firstNewMs.set(wallet, Math.min(happenedMs, this.#firstNewMs.get(wallet) ?? happenedMs));
    const gap = this.#gaps.get(wallet);
    if (gap !== undefined) gap.flows = [...gap.flows, happenedMs];
  }

  /**
   * Takes a sample of a wallet, before its windows are fed with it.
   * @param held profit that the sample lacks, as a flow may be hidden in it
   * @param onLate called with each profit that turned out to hide nothing
   * @param flowsAfter see `FlowsAfter`
   */
  take(
    wallet: string,
    windows: WindowSet | null,
    atMs: number,
    sample: ProfitSample,
    held: HeldSample | null = null,
    onLate: OnLate = ignoreLate,
    flowsAfter: FlowsAfter = notKnown,
  ): void {
    const { equity, pnl, netDeposits } = sample;
    if (!isKnown(equity)) return;
    // Profit that was held back before this time contains none of the new flows.
    const flowMs = this.#firstNewMs.get(wallet) ?? Number.NEGATIVE_INFINITY;
    this.#firstNewMs.delete(wallet);
    const gap = this.#gaps.get(wallet);
    if (isKnown(pnl)) {
      if (gap === undefined) return;
      this.#gaps.delete(wallet);
      const isSame = gap.newestUsd === netDeposits;
      release(gap, isSame ? Number.POSITIVE_INFINITY : flowMs - clocksMs, windows, onLate);
      if (gap.samples.length === 0 || !isKnown(netDeposits)) return;
      const now = { zeroUsd: equity - pnl, netDepositsUsd: netDeposits };
      fill(windows, gap, now, flowsAfter(gap.fromMs), onLate);
      return;
    }
    // There is no profit before a baseline is set.
    if (!isKnown(netDeposits)) return;
    const one = { atMs, equityUsd: equity, heldUsd: held?.pnl };
    if (gap === undefined) {
      // Later ones can be known as well, at a start.
      const flows = (this.#flows.get(wallet) ?? []).filter((ms) => ms > atMs - beginsMs);
      this.#gaps.set(wallet, {
        ...{ netDepositsUsd: netDeposits, newestUsd: netDeposits, fromMs: atMs, samples: [one] },
        flows,
      });
      return;
    }
    if (gap.newestUsd !== netDeposits) {
      release(gap, flowMs - clocksMs, windows, onLate);
      gap.samples = gap.samples.map((sample) => ({ ...sample, heldUsd: undefined }));
      gap.newestUsd = netDeposits;
    }
    gap.samples.push(one);
    if (held !== null) release(gap, held.sinceMs, windows, onLate);
    if (gap.samples.length > 0 && atMs - gap.samples[0]!.atMs > maxSampleAgeMs) gap.samples.shift();
  }
}

/**
 * Feeds windows with samples by what is known after them.
 * @param placed the flows since, each with the time at which it was seen: earlier equity lacks it; null: not known for all
 */
function fill(
  windows: WindowSet | null,
  { samples, netDepositsUsd, fromMs, flows }: Gap,
  now: { readonly zeroUsd: number; readonly netDepositsUsd: number },
  placed: readonly PlacedFlow[] | null,
  onLate: OnLate,
): void {
  const seenUsd = placed?.reduce((sum, { usd }) => sum + usd, 0) ?? Number.NaN;
  if (placed !== null && Math.abs(now.netDepositsUsd - netDepositsUsd - seenUsd) <= exactUsd) {
    for (const { atMs, equityUsd } of samples) {
      // An answer is taken account by account, and another one may be in flight.
      const isInFlight = ({ sinceMs, untilMs }: PlacedFlow): boolean =>
        atMs > sinceMs - clocksMs && atMs < untilMs + clocksMs;
      if (placed.some(isInFlight)) continue;
      const laterUsd = placed.reduce((sum, { sinceMs, usd }) => (sinceMs > atMs ? sum + usd : sum), 0);
      const profitUsd = equityUsd - (now.zeroUsd - laterUsd);
      windows?.feedHeld(atMs, profitUsd, equityUsd);
      onLate(atMs, profitUsd, equityUsd, true);
    }
    return;
  }
  if (!windows?.takesLate) return;
  const newestMs = Math.max(Number.NEGATIVE_INFINITY, ...flows);
  // One of them began the gap, or came just after its cause; before any other, equity and profit cannot be told apart.
  const others = flows.length > 1 || newestMs > fromMs + clocksMs;
  const fedFromMs = newestMs + (others ? shownMs : clocksMs);
  for (const { atMs, equityUsd } of samples)
    if (atMs > fedFromMs) windows.feedLate(atMs, equityUsd - now.zeroUsd, equityUsd);
}

/** Takes samples before a time out of a gap if their profit hid nothing, as no flow was read since. */
function release(gap: Gap, untilMs: number, windows: WindowSet | null, onLate: OnLate): void {
  const isOver = ({ atMs, heldUsd }: Gap["samples"][number]): boolean =>
    heldUsd !== undefined && atMs < untilMs;
  for (const one of gap.samples) {
    if (!isOver(one)) continue;
    windows?.feedHeld(one.atMs, one.heldUsd!, one.equityUsd);
    onLate(one.atMs, one.heldUsd!, one.equityUsd, false);
  }
  gap.samples = gap.samples.filter((one) => !isOver(one));
}

function isKnown(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(value);
}
