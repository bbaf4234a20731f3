/**
 * Samples of wallets of whose profit only the equity was known, as a change of collateral was not explained yet, or in whose profit a
 * flow may have been hidden. The explanation tells their profit as well: equity moved by nothing but prices, trades and flows since.
 * Where it is known when states showed each of the flows, all windows and history take the samples then, at their own time; else
 * short windows take those since the newest flow, as a window that begins in such a gap would be unknown. Profit that turns out to hide
 * nothing is taken by all windows, and by history.
 */

import type { WindowSet } from "../windows/windows.ts";
import type { PlacedFlow } from "./changes/placed-flows.ts";
import { exactUsd } from "./records/record-order.ts";

/** A flow from so long before a gap may be the one that began it, ms. */
const beginsMs = 10_000;
/** An account shows a flow so long after it at the latest, ms. */
const shownMs = 30_000;
/** The clocks of the exchange and the daemon differ by less, ms. */
const clocksMs = 2_000;
/** Samples that are older are in no short window, ms. */
const longestMs = 900_000;

/** The fields of a sample that tell of a gap and fill it. */
export interface ProfitSample {
  readonly equity?: unknown;
  readonly pnl?: unknown;
  readonly netDeposits?: unknown;
}

/** Profit in which a flow may be hidden, USD. */
export interface HeldSample {
  readonly pnl: number;
  /** The same without all that may be hidden. */
  readonly leastPnl: number;
  /** Since when something may be hidden, ms: what was held before it hides nothing. */
  readonly sinceMs: number;
}

interface Gap {
  /** Deposits less withdrawals as it began, and with its newest sample, USD. */
  readonly netDepositsUsd: number;
  newestUsd: number;
  readonly fromMs: number;
  /** The times of the flows of just before it and since, ms. */
  flows: readonly number[];
  /** `heldUsd`: profit that is right unless a flow was hidden in it; undefined: nothing of it is known. */
  samples: {
    readonly atMs: number;
    readonly equityUsd: number;
    readonly heldUsd: number | undefined;
  }[];
}

/** Told of the profit of an earlier time, USD, beside the equity of then. @param explained it was not known; else it was held */
type OnLate = (atMs: number, pnl: number, equity: number, explained: boolean) => void;

const toldNobody: OnLate = () => {};

type FlowsAfter = (ms: number) => readonly PlacedFlow[] | null;

const notKnown: FlowsAfter = () => null;

export class ProfitGaps {
  /** By wallet, those that are not explained. */
  readonly #gaps = new Map<string, Gap>();
  /** By wallet, the times of its newest flows, ms. */
  readonly #flows = new Map<string, number[]>();
  /** By wallet, the time of the first of the flows that became known since its newest sample, ms. */
  readonly #firstNewMs = new Map<string, number>();

  /** Takes the time of a flow, ms. What was held before it hides nothing. */
  takeFlow(wallet: string, happenedMs: number): void {
    const known = this.#flows.get(wallet) ?? [];
    const newestMs = Math.max(happenedMs, ...known);
    this.#flows.set(wallet, [...known.filter((ms) => ms > newestMs - longestMs), happenedMs]);
    this.#firstNewMs.set(wallet, Math.min(happenedMs, this.#firstNewMs.get(wallet) ?? happenedMs));
    const gap = this.#gaps.get(wallet);
    if (gap !== undefined) gap.flows = [...gap.flows, happenedMs];
  }

  /**
   * Takes a sample of a wallet, before its windows are fed with it.
   * @param held profit that it has not, as a flow may be hidden in it
   * @param onLate told of each profit that turned out to hide nothing
   * @param flowsAfter as of `OpenChanges.placedAfter`
   */
  take(
    wallet: string,
    windows: WindowSet | null,
    atMs: number,
    sample: ProfitSample,
    held: HeldSample | null = null,
    onLate: OnLate = toldNobody,
    flowsAfter: FlowsAfter = notKnown,
  ): void {
    const { equity, pnl, netDeposits } = sample;
    if (!isKnown(equity)) return;
    // Profit that was held before this time has none of the new flows in it.
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
    // Before profit has begun there is none.
    if (!isKnown(netDeposits)) return;
    const one = { atMs, equityUsd: equity, heldUsd: held?.pnl };
    if (gap === undefined) {
      // At a start those after it are known, too.
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
    if (gap.samples.length > 0 && atMs - gap.samples[0]!.atMs > longestMs) gap.samples.shift();
  }
}

/**
 * Feeds windows with samples by what is known after them.
 * @param placed the flows since, each with when it was seen: equity of before that lacks it; null: it is not known of all
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
      // One answer is taken account by account, and another one may be on its way.
      const isAmid = ({ sinceMs, untilMs }: PlacedFlow): boolean =>
        atMs > sinceMs - clocksMs && atMs < untilMs + clocksMs;
      if (placed.some(isAmid)) continue;
      const laterUsd = placed.reduce((sum, { sinceMs, usd }) => (sinceMs > atMs ? sum + usd : sum), 0);
      const profitUsd = equityUsd - (now.zeroUsd - laterUsd);
      windows?.feedHeld(atMs, profitUsd, equityUsd);
      onLate(atMs, profitUsd, equityUsd, true);
    }
    return;
  }
  if (!windows?.takesLate) return;
  const newestMs = Math.max(Number.NEGATIVE_INFINITY, ...flows);
  // One of them began the gap, or came just after what did; equity from before another is not told from profit.
  const others = flows.length > 1 || newestMs > fromMs + clocksMs;
  const fedFromMs = newestMs + (others ? shownMs : clocksMs);
  for (const { atMs, equityUsd } of samples)
    if (atMs > fedFromMs) windows.feedLate(atMs, equityUsd - now.zeroUsd, equityUsd);
}

/** Takes the samples from before a time out of a gap whose profit hid nothing, as no flow was read since. */
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
