/**
 * Samples of wallets of whose profit only the equity was known, as a change of collateral was not explained yet, or in whose profit a
 * flow may have been hidden. The explanation tells their profit as well: equity moved by nothing else since. Short windows take them
 * then, at their own time: a window that begins in such a gap would be unknown. Longer windows go without, as minutes read from history
 * do. Profit that turns out to hide nothing is taken by all windows, and by history.
 */
import type { WindowSet } from "./windows.ts";

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
  readonly netDepositsUsd: number;
  readonly fromMs: number;
  /** The time of the newest flow that was read since, ms; −∞: none was. */
  flowMs: number;
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

type FlowsSeenMs = (explainedFromMs: number) => number;

const nothingSeen: FlowsSeenMs = () => Number.NEGATIVE_INFINITY;

export class ProfitGaps {
  /** By wallet, those that are not explained. */
  readonly #gaps = new Map<string, Gap>();
  /** By wallet, the time of the first of the flows that became known since its newest sample, ms. */
  readonly #firstNewMs = new Map<string, number>();

  /** Takes the time of a flow, ms. What was held before it hides nothing. */
  takeFlow(wallet: string, happenedMs: number): void {
    this.#firstNewMs.set(wallet, Math.min(happenedMs, this.#firstNewMs.get(wallet) ?? happenedMs));
    const gap = this.#gaps.get(wallet);
    if (gap !== undefined) gap.flowMs = Math.max(gap.flowMs, happenedMs);
  }

  /**
   * Takes a sample of a wallet, before its windows are fed with it.
   * @param held profit that it has not, as a flow may be hidden in it
   * @param onLate told of each profit that turned out to hide nothing
   * @param flowsSeenMs the newest time at which states showed a flow that was explained from a time on, ms; −∞: there is none
   */
  take(
    wallet: string,
    windows: WindowSet | null,
    atMs: number,
    sample: ProfitSample,
    held: HeldSample | null = null,
    onLate: OnLate = toldNobody,
    flowsSeenMs: FlowsSeenMs = nothingSeen,
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
      if (windows?.takesLate && gap.samples.length > 0)
        fill(windows, gap, equity - pnl, Math.max(gap.flowMs + clocksMs, flowsSeenMs(gap.fromMs)));
      return;
    }
    // Before profit has begun there is none.
    if (!isKnown(netDeposits)) return;
    const one = { atMs, equityUsd: equity, heldUsd: held?.pnl };
    // A flow was explained and another one was not: what was before the first one is not known, unless it was known before.
    if (gap?.netDepositsUsd !== netDeposits) {
      if (gap !== undefined) release(gap, flowMs - clocksMs, windows, onLate);
      this.#gaps.set(wallet, {
        ...{ netDepositsUsd: netDeposits, fromMs: atMs, samples: [one] },
        flowMs: Number.NEGATIVE_INFINITY,
      });
    } else {
      gap.samples.push(one);
      if (held !== null) release(gap, held.sinceMs, windows, onLate);
      if (gap.samples.length > 0 && atMs - gap.samples[0]!.atMs > longestMs) gap.samples.shift();
    }
  }
}

/** Feeds windows with the samples since all flows were seen: equity of before says nothing of the profit after them. */
function fill(windows: WindowSet, { samples }: Gap, zeroUsd: number, seenMs: number): void {
  for (const [index, { atMs, equityUsd }] of samples.entries()) {
    // One answer is taken account by account: the last sample of its time has all of them.
    if (atMs < seenMs || (atMs === seenMs && samples[index + 1]?.atMs === atMs)) continue;
    windows.feedLate(atMs, equityUsd - zeroUsd, equityUsd);
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
