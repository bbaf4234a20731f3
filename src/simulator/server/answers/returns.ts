/**
 * Time-weighted returns: the growth of equity without deposits, withdrawals and transfers. A period is split at every
 * such flow, and the factors are multiplied, so a period without flows has exactly the return of the portfolio values
 * at its ends.
 */
import type { Handlers, WireFor } from "../../../contract/index.ts";
import { firstKnownMs, lastNotAfter, sampleAt, valueVersion } from "../../accounts/history.ts";
import type { Account, World } from "../../state.ts";
import { type Bucket, bucketsOf } from "./buckets.ts";
import { accountOf, type Context, seconds, usdOf } from "./context.ts";

type Point = NonNullable<WireFor<"timeWeightedReturns">["points"]>[number];

/** The contract states no bound; a year of five minutes would block other requests. */
const maxPoints = 10_000;

interface Period {
  /** The growth factor; null without any equity. */
  readonly factor: number | null;
  readonly netExternalFlow: bigint;
  /** Equity was 0 at some time. */
  readonly exhausted: boolean;
}

const growth = (from: bigint, to: bigint): number => Number(to) / Number(from);

/** After `fromMs`, up to and including `toMs`. */
function periodOf(world: World, account: Account, fromMs: number, toMs: number): Period {
  const { versions } = account;
  const first = sampleAt(world, account, fromMs);
  let base = first?.portfolioValue ?? 0n;
  const flowsBefore = first?.netDeposits ?? 0n;
  let factor: number | null = null;
  let exhausted = false;
  const close = (equity: bigint) => {
    if (base <= 0n) return;
    factor = Math.max(0, (factor ?? 1) * growth(base, equity));
    if (equity <= 0n) exhausted = true;
  };
  for (let i = Math.max(0, lastNotAfter(versions, fromMs) + 1); i < versions.length; i++) {
    const version = versions[i]!;
    if (version.atMs > toMs) break;
    const before = versions[i - 1];
    if (version.netDeposits === (before?.netDeposits ?? 0n)) continue;
    if (before) close(valueVersion(world, before, version.atMs).portfolioValue);
    base = valueVersion(world, version, version.atMs).portfolioValue;
  }
  const last = sampleAt(world, account, toMs);
  if (last) close(last.portfolioValue);
  return { factor, netExternalFlow: (last?.netDeposits ?? 0n) - flowsBefore, exhausted };
}

function pointsOf(world: World, account: Account, buckets: readonly Bucket[]) {
  const points: Point[] = [];
  let cumulative: number | null = null;
  let over = false;
  let resets = 0;
  let sinceMs: number | null = null;
  for (const bucket of buckets) {
    const { factor, netExternalFlow, exhausted } = periodOf(world, account, bucket.startMs, bucket.atMs);
    if (factor !== null) {
      if (over) {
        // Equity was 0; a new deposit begins anew.
        cumulative = null;
        resets += 1;
      }
      sinceMs ??= bucket.startMs;
      cumulative = (cumulative ?? 1) * factor;
      over = exhausted;
    }
    const flags = [
      ...(netExternalFlow === 0n ? [] : ["external_flow"]),
      ...(factor === null ? ["no_equity"] : []),
      ...(exhausted ? ["equity_exhausted"] : []),
      ...(bucket.atMs < bucket.endMs ? ["period_not_over"] : []),
    ];
    points.push({
      timestamp: seconds(bucket.startMs),
      startTime: seconds(bucket.startMs),
      endTime: seconds(bucket.endMs),
      periodReturn: factor === null ? null : factor - 1,
      cumulativeReturn: cumulative === null ? null : cumulative - 1,
      netExternalFlow: usdOf(netExternalFlow),
      qualityFlags: flags,
    });
  }
  return { points, resets, sinceMs, total: cumulative === null ? null : cumulative - 1 };
}

export const returnsAnswers = {
  timeWeightedReturns: (args, { world }) => {
    const account = accountOf(world, args.traderPubkey);
    const coverageStart = firstKnownMs(world, account);
    const { nowMs } = world;
    const limit = Math.min(args.limit ?? maxPoints, maxPoints);
    const { buckets, truncated } = bucketsOf({ ...args, limit }, coverageStart, nowMs);
    const { points, resets, sinceMs, total } = pointsOf(world, account, buckets);
    const startTime = args.startTime ?? coverageStart;
    const endTime = args.endTime ?? nowMs;
    const firstBucket = buckets[0];
    const lastBucket = buckets.at(-1);
    const covered = startTime >= coverageStart;
    return {
      method: "time_weighted",
      scope: {
        traderPubkey: account.address,
        userId: account.wallet.userId,
        traderPdaIndex: account.pdaIndex,
      },
      valuationIntervalSeconds: 60,
      exactFlowBoundaryValuations: true,
      totalReturn: total,
      returnStartTime: sinceMs === null ? null : seconds(Math.max(sinceMs, coverageStart)),
      equityDefinition: "collateral + unrealized profit + unsettled funding",
      window: {
        requestedStartTime: seconds(startTime),
        requestedEndTime: seconds(endTime),
        calculationEndTime: seconds(Math.min(endTime, nowMs)),
        dataStartTime: firstBucket ? seconds(Math.max(firstBucket.startMs, coverageStart)) : null,
        dataEndTime: lastBucket ? seconds(lastBucket.atMs) : null,
        truncatedByLimit: truncated,
      },
      points,
      quality: {
        coverageStart: seconds(coverageStart),
        coverageEnd: seconds(nowMs),
        requestedStartCovered: covered,
        containsGaps: false,
        resetCount: resets,
        refreshedAt: seconds(nowMs),
        completeness: points.length === 0 ? "unavailable" : covered && !truncated ? "complete" : "partial",
      },
    };
  },
} satisfies Partial<Handlers<Context>>;
