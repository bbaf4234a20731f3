/**
 * Samples of wallets of whose profit only the equity was known, as a change of collateral was not explained yet, or in whose profit a
 * flow may have been hidden. The explanation tells their profit as well: equity moved by nothing else since. Short windows take them
 * then, at their own time: a window that begins in such a gap would be unknown. Longer windows go without, as minutes read from history
 * do. Profit that turns out to hide nothing is taken by all windows, and by history.
 */
import type { WindowSet } from "./windows.ts";

/** A flow from so long before a gap may be the one that began it, ms. */
const beginsMs = 10_000;
/** The clocks of the exchange and the daemon differ by less, ms. */
const clocksMs = 2_000;
/** An account shows a flow so long after it at the latest, ms. */
const shownMs = 30_000;
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
  readonly netDepositsUsd: number;
  /** `heldUsd`: profit that is right unless a flow was hidden in it; undefined: nothing of it is known. */
  samples: {
    readonly atMs: number;
    readonly equityUsd: number;
    readonly heldUsd: number | undefined;
  }[];
}

/** Told of the profit of an earlier time, USD, beside the equity of then. */
type OnLate = (atMs: number, pnl: number, equity: number) => void;

const toldNobody: OnLate = () => {};

export class ProfitGaps {
  /** By wallet, those that are not explained. */
  readonly #gaps = new Map<string, Gap>();
  /** By wallet, the times of its newest flows, ms. */
  readonly #flows = new Map<string, number[]>();
  /** By wallet, the time of the first of the flows that became known since its newest sample, ms. */
  readonly #firstNewMs = new Map<string, number>();

  /** Takes the time of a flow, ms. What equity was before it says nothing of the profit after it. */
  takeFlow(wallet: string, happenedMs: number): void {
    const known = this.#flows.get(wallet) ?? [];
    const newestMs = Math.max(happenedMs, ...known);
    this.#firstNewMs.set(wallet, Math.min(happenedMs, this.#firstNewMs.get(wallet) ?? happenedMs));
    this.#flows.set(wallet, [...known.filter((ms) => ms > newestMs - longestMs), happenedMs]);
  }

  /**
   * Takes a sample of a wallet, before its windows are fed with it.
   * @param held profit that it has not, as a flow may be hidden in it
   * @param onLate told of each profit that turned out to hide nothing
   */
  take(
    wallet: string,
    windows: WindowSet | null,
    atMs: number,
    sample: ProfitSample,
    held: HeldSample | null = null,
    onLate: OnLate = toldNobody,
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
      const isSame = gap.netDepositsUsd === netDeposits;
      release(gap, isSame ? Number.POSITIVE_INFINITY : flowMs - clocksMs, windows, onLate);
      if (windows?.takesLate && gap.samples.length > 0) this.#fill(wallet, windows, gap, equity - pnl, atMs);
      return;
    }
    // Before profit has begun there is none.
    if (!isKnown(netDeposits)) return;
    const one = { atMs, equityUsd: equity, heldUsd: held?.pnl };
    // A flow was explained and another one was not: what was before the first one is not known, unless it was known before.
    if (gap?.netDepositsUsd !== netDeposits) {
      if (gap !== undefined) release(gap, flowMs - clocksMs, windows, onLate);
      this.#gaps.set(wallet, { netDepositsUsd: netDeposits, samples: [one] });
    } else {
      gap.samples.push(one);
      if (held !== null) release(gap, held.sinceMs, windows, onLate);
      if (gap.samples.length > 0 && atMs - gap.samples[0]!.atMs > longestMs) gap.samples.shift();
    }
  }

  /** @param toMs the gap was closed: at a start the flows after it are known, too, and say nothing of it */
  #fill(wallet: string, windows: WindowSet, { samples }: Gap, zeroUsd: number, toMs: number): void {
    const fromMs = samples[0]!.atMs;
    const known = this.#flows.get(wallet) ?? [];
    const flows = known.filter((ms) => ms > fromMs - beginsMs && ms < toMs + clocksMs);
    const newestMs = Math.max(...flows);
    // One of them began the gap, or came just after what did; equity from before another is not told from profit.
    const others = flows.length > 1 || newestMs > fromMs + clocksMs;
    const fedFromMs = newestMs + (others ? shownMs : clocksMs);
    for (const { atMs, equityUsd } of samples)
      if (atMs > fedFromMs) windows.feedLate(atMs, equityUsd - zeroUsd, equityUsd);
  }
}

/** Takes the samples from before a time out of a gap whose profit hid nothing, as no flow was read since. */
function release(gap: Gap, untilMs: number, windows: WindowSet | null, onLate: OnLate): void {
  const isOver = ({ atMs, heldUsd }: Gap["samples"][number]): boolean =>
    heldUsd !== undefined && atMs < untilMs;
  for (const one of gap.samples) {
    if (!isOver(one)) continue;
    windows?.feedHeld(one.atMs, one.heldUsd!, one.equityUsd);
    onLate(one.atMs, one.heldUsd!, one.equityUsd);
  }
  gap.samples = gap.samples.filter((one) => !isOver(one));
}

function isKnown(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(value);
}
