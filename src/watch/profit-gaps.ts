/**
 * Samples of wallets of whose profit only the equity was known, as a change of collateral was not explained yet, or in whose profit a
 * flow may have been hidden. The
 * explanation tells their profit as well: equity moved by nothing else since. Short windows take them then, at their own
 * time: a window that begins in such a gap would be unknown. Longer windows go without, as minutes read from history do.
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

interface Gap {
  readonly netDepositsUsd: number;
  /** `heldUsd`: profit that is right unless a flow was hidden in it; undefined: nothing of it is known. */
  readonly samples: {
    readonly atMs: number;
    readonly equityUsd: number;
    readonly heldUsd: number | undefined;
  }[];
}

export class ProfitGaps {
  /** By wallet, those that are not explained. */
  readonly #gaps = new Map<string, Gap>();
  /** By wallet, the times of its newest flows, ms. */
  readonly #flows = new Map<string, number[]>();

  /** Takes the time of a flow, ms. What equity was before it says nothing of the profit after it. */
  takeFlow(wallet: string, happenedMs: number): void {
    const known = this.#flows.get(wallet) ?? [];
    const newestMs = Math.max(happenedMs, ...known);
    this.#flows.set(wallet, [...known.filter((ms) => ms > newestMs - longestMs), happenedMs]);
  }

  /**
   * Takes a sample of a wallet, before its windows are fed with it.
   * @param heldPnl profit in which a flow may be hidden, where the sample has none
   */
  take(
    wallet: string,
    windows: WindowSet | null,
    atMs: number,
    sample: ProfitSample,
    heldPnl?: unknown,
  ): void {
    const { equity, pnl, netDeposits } = sample;
    if (!windows?.takesLate || !isKnown(equity)) return;
    const gap = this.#gaps.get(wallet);
    if (isKnown(pnl)) {
      if (gap === undefined) return;
      this.#gaps.delete(wallet);
      this.#fill(wallet, windows, gap, equity - pnl, atMs, gap.netDepositsUsd === netDeposits);
      return;
    }
    // Before profit has begun there is none.
    if (!isKnown(netDeposits)) return;
    const one = { atMs, equityUsd: equity, heldUsd: isKnown(heldPnl) ? heldPnl : undefined };
    // A flow was explained and another one was not: what was before the first one is not known.
    if (gap?.netDepositsUsd !== netDeposits)
      this.#gaps.set(wallet, { netDepositsUsd: netDeposits, samples: [one] });
    else {
      gap.samples.push(one);
      if (atMs - gap.samples[0]!.atMs > longestMs) gap.samples.shift();
    }
  }

  /**
   * @param toMs the gap was closed: at a start the flows after it are known, too, and say nothing of it
   * @param isSame no flow was read since it began
   */
  #fill(
    wallet: string,
    windows: WindowSet,
    { samples }: Gap,
    zeroUsd: number,
    toMs: number,
    isSame: boolean,
  ): void {
    const fromMs = samples[0]!.atMs;
    const known = this.#flows.get(wallet) ?? [];
    const flows = known.filter((ms) => ms > fromMs - beginsMs && ms < toMs + clocksMs);
    const newestMs = Math.max(...flows);
    // One of them began the gap; equity from before another is not told from profit.
    const others = flows.length > 1 || newestMs > fromMs + clocksMs;
    for (const { atMs, equityUsd, heldUsd } of samples) {
      if (isSame && heldUsd !== undefined) windows.feedLate(atMs, heldUsd, equityUsd);
      else if (!others || atMs > newestMs + shownMs) windows.feedLate(atMs, equityUsd - zeroUsd, equityUsd);
    }
  }
}

function isKnown(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(value);
}
