/**
 * Reads the exchange's values of trader accounts: a check of our equity that it works out by itself, and the equity of
 * midnight where nobody here saw it. Asked only for rules that read one of them.
 */
import { accountName } from "../../domain/subject.ts";
import { ExchangeError } from "../../exchange/index.ts";
import type { AccountBook, KnownAccount } from "../accounts.ts";
import type { WalletCollector, WalletRun } from "../collector.ts";
import type { CollectNeeds } from "../needs.ts";

const QUARTER_MS = 900_000;
/** More than the newest quarter that is over, so that one is among them. */
const LATEST_MS = 2 * QUARTER_MS;
/** The span before midnight: where an account has a past before midnight, and none at midnight, the exchange has a gap. */
const BEFORE_MS = 86_400_000;

interface Point {
  /** The end of its quarter, ms. */
  readonly ofMs: number;
  readonly valueUsd: number;
}

interface AskedPoint extends Point {
  /** The quarter was over when it was asked for: else it tells of a time before its end, however late the answer came. */
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

/** Oldest first, from midnight where that is asked for; null: the exchange does not know the account. */
async function pointsOf(
  run: WalletRun,
  { address }: KnownAccount,
  startMs: number | null,
): Promise<readonly AskedPoint[] | null> {
  const nowMs = Math.floor(run.nowMs());
  const fromMs = startMs === null ? nowMs - LATEST_MS : Math.min(startMs - BEFORE_MS, nowMs - LATEST_MS);
  try {
    const points = await run.client.portfolioValues(
      // The earliest one shows that an account began today, also in the quarter that is not over.
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

/** An account's value at a moment: nothing before it was there. Null: the exchange does not tell (yet). */
function valueAt(points: readonly AskedPoint[] | null, atMs: number, isPresent: boolean): number | null {
  const [first] = points ?? [];
  if (!first) return isPresent ? null : 0;
  if (first.ofMs > atMs) return 0;
  return points!.find(({ ofMs, isOver }) => ofMs === atMs && isOver)?.valueUsd ?? null;
}
