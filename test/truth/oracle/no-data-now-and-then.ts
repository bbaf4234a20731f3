/** Accounts that are read now and then only, too seldom for their rules, while no alert says that data are missing. */
import type { Finding } from "./finding.ts";
import { isTold, type Life } from "./lives.ts";
import { lengthOf, windowMs } from "./no-data-early.ts";
import type { Readings } from "./readings.ts";

/** So long of a window without data is reported, ms. */
const dueMs = 30_000;
/** Clocks, and observations of the time, ms. */
const slackMs = 15_000;
/** A standstill stretches the time between two observations to more than this, ms. */
const stillMs = 2_000;

export interface Accounts {
  readonly readings: Readings;
  /** The age of accounts that rules bear, ms. */
  readonly borneMs: number;
  /** Wallets whose accounts may not be missing unsaid. */
  readonly wallets: readonly string[];
  /** True if an alert about missing data of a wallet fires at some time between two, ms. */
  readonly isSaid: (wallet: string, fromMs: number, toMs: number) => boolean;
}

/** Windows that lie within one life, without a time that is not recorded or in which the process stood still. */
export function seldomRead(life: Life, { readings, borneMs, wallets, isSaid }: Accounts): readonly Finding[] {
  const broken = breaksOf(life);
  const lastMs = life.told.findLast(isTold)?.observation.atMs ?? 0;
  return wallets.flatMap((wallet): Finding[] => {
    const spans = readings.stale("traderState", wallet, borneMs, lastMs);
    for (const { toMs } of spans) {
      const fromMs = toMs - windowMs;
      if (broken.some((one) => one.fromMs < toMs && one.toMs > fromMs)) continue;
      const inside = spans
        .filter((one) => one.fromMs < toMs && one.toMs > fromMs)
        .map((one) => ({ fromMs: Math.max(one.fromMs, fromMs), toMs: Math.min(one.toMs, toMs) }));
      const missingMs = lengthOf(inside);
      if (missingMs < dueMs + slackMs || isSaid(wallet, fromMs, toMs)) continue;
      return [
        {
          ...{ check: "no data", rule: "Blind", subject: wallet, atMs: toMs },
          expected: `word of it: its accounts were too old for ${missingMs} ms of the last ${windowMs}`,
          seen: `nothing in life ${life.number}, by the daemon's clock`,
        },
      ];
    }
    return [];
  });
}

/** Times of which nobody knows what was read, or in which nothing could be said; the start is one. */
function breaksOf({ told }: Life): readonly { readonly fromMs: number; readonly toMs: number }[] {
  const breaks: { fromMs: number; toMs: number }[] = [];
  let lastMs = Number.NEGATIVE_INFINITY;
  for (const one of told) {
    if (!isTold(one)) {
      breaks.push({ fromMs: one.fromMs, toMs: one.toMs });
      continue;
    }
    const { kind, atMs } = one.observation;
    if (kind === "watching" || atMs - lastMs > stillMs) breaks.push({ fromMs: lastMs, toMs: atMs });
    lastMs = Math.max(lastMs, atMs);
  }
  return breaks;
}
