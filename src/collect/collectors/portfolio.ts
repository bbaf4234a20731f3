/**
 * Reads the exchange's values of trader accounts: an independent check of the computed equity, and the equity of
 * midnight if the daemon did not observe it. Read only for rules that need one of them.
 */
import { accountName } from "../../domain/subject.ts";
import { ExchangeError } from "../../exchange/index.ts";
import type { AccountBook, KnownAccount } from "../accounts.ts";
import type { WalletCollector, WalletRun } from "../collector.ts";
import type { CollectNeeds } from "../needs.ts";

const QUARTER_MS = 900_000;
/** Longer than one quarter, so that a completed one is included, ms. */
const latestSpanMs = 2 * QUARTER_MS;
/** The span before midnight, ms: if an account has points there and none at midnight, the exchange has a gap. */
const BEFORE_MS = 86_400_000;

interface Point {
  /** The end of its quarter, ms. */
  readonly ofMs: number;
  readonly valueUsd: number;
}

interface AskedPoint extends Point {
  /**
   * True if the quarter was complete at the request. Else the value is of a time before its end, even if the answer
   * came after it.
   */
  readonly isOver: boolean;
}

export function portfolioCollector(
  accounts: AccountBook,
  needs: Pick<CollectNeeds, "equityCheck" | "midnightMs">,
): WalletCollector {
  return {
    source: "portfolio",
    scope: "wallet",
    needsSession: false,
    isNeeded: (wallet) => needs.equityCheck() || (wallet !== null && needs.midnightMs(wallet) !== null),
    async run(run) {
      const { wallet } = run;
      const startMs = needs.midnightMs(wallet.name);
      if (run.catchUp || (startMs === null && !needs.equityCheck())) return "done";
      if (!accounts.complete(wallet)) return "later";
      const present = new Set(accounts.present(wallet.name));
      const asked = startMs === null ? [...present] : accounts.of(wallet.name);
      const values: (Point & { readonly pdaIndex: number; readonly subaccount: number })[] = [];
      let usd: number | null = 0;
      for (const account of asked) {
        const points = await pointsOf(run, account, startMs);
        const isPresent = present.has(account);
        if (startMs !== null && usd !== null) {
          const then = valueAt(points, startMs, isPresent);
          usd = then === null ? null : usd + then;
        }
        const newest = points?.findLast(({ isOver }) => isOver);
        const { pdaIndex, subaccount } = account;
        if (newest && isPresent) {
          const { ofMs, valueUsd } = newest;
          values.push({ pdaIndex, subaccount, ofMs, valueUsd });
        }
      }
      const midnight =
        startMs === null || usd === null
          ? {}
          : {
              midnight: {
                startMs,
                usd,
                accounts: asked.map((account) => accountName({ ...account, wallet: wallet.name })),
              },
            };
      await run.observe({ kind: "portfolio", atMs: run.nowMs(), wallet: wallet.name, values, ...midnight });
      return "done";
    },
  };
}

/** Returns the points, oldest first, from midnight if requested; null: the exchange does not know the account. */
async function pointsOf(
  run: WalletRun,
  { address }: KnownAccount,
  startMs: number | null,
): Promise<readonly AskedPoint[] | null> {
  const nowMs = Math.floor(run.nowMs());
  const fromMs =
    startMs === null ? nowMs - latestSpanMs : Math.min(startMs - BEFORE_MS, nowMs - latestSpanMs);
  try {
    const points = await run.client.portfolioValues(
      // The earliest point shows that an account began today, also in the unfinished quarter.
      {
        traderPubkey: address,
        resolution: "15m",
        startTime: fromMs,
        endTime: nowMs,
        includeEarliest: startMs !== null,
      },
      run.call(),
    );
    return points
      .map(({ endTime, value }) => ({ ofMs: endTime, valueUsd: value, isOver: endTime <= nowMs }))
      .sort((a, b) => a.ofMs - b.ofMs);
  } catch (error) {
    if (error instanceof ExchangeError && error.reason === "refused") return null;
    throw error;
  }
}

/** Returns an account's value at a time: 0 before its first point. Null: the exchange has no value (yet). */
function valueAt(points: readonly AskedPoint[] | null, atMs: number, isPresent: boolean): number | null {
  const [first] = points ?? [];
  if (!first) return isPresent ? null : 0;
  if (first.ofMs > atMs) return 0;
  return points!.find(({ ofMs, isOver }) => ofMs === atMs && isOver)?.valueUsd ?? null;
}
