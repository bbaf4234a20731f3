/**
 * The past of a wallet from the exchange: equity of its trader accounts and profit, read once for a new wallet, and
 * again for downtimes of the daemon; and its profit by market. Stored as past data, so no rule fires on it.
 */
import type { Tick } from "../../domain/observation.ts";
import { accountName } from "../../domain/subject.ts";
import { lanes } from "../../exchange/index.ts";
import { type AccountBook, noteOf } from "../accounts.ts";
import type { WalletCollector, WalletRun } from "../collector.ts";
import { MarketPnl } from "./market-pnl.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const maxPoints = 2_000;
/** The interval at which the running daemon is noted. */
const NOTE_MS = HOUR_MS / 4;

/** Series under which the past of a wallet is stored. */
const equity = ["trader.equity"];
const profit = ["wallet.cumulativePnl", "wallet.cumulativeFunding", "wallet.cumulativeFees"];

const cursorOf = (wallet: string) => `past/${wallet}`;

export function pnlCollector(accounts: AccountBook, cursors: ReadonlyMap<string, string>): WalletCollector {
  const covered = new Map<string, number>();
  const byMarket = new MarketPnl(accounts, cursors);

  /** Returns the time up to which the past of a wallet is known, ms; null: it was never read. */
  function coveredMs(wallet: string): number | null {
    const known = covered.get(wallet) ?? Number(cursors.get(cursorOf(wallet)) ?? Number.NaN);
    return Number.isFinite(known) ? known : null;
  }

  async function equityTicks(run: WalletRun, sinceMs: number | null): Promise<Tick[]> {
    const nowMs = Math.floor(run.nowMs());
    const windows =
      sinceMs === null
        ? ([
            ["1d", nowMs - 365 * DAY_MS, nowMs - 30 * DAY_MS],
            ["1h", nowMs - 30 * DAY_MS, nowMs],
          ] as const)
        : ([["15m", Math.max(Math.floor(sinceMs), nowMs - 20 * DAY_MS), nowMs]] as const);
    const ticks: Tick[] = [];
    for (const account of accounts.present(run.wallet.name)) {
      const owner = accountName({ ...account, wallet: run.wallet.name });
      for (const [resolution, startTime, endTime] of windows) {
        const points = await run.client.portfolioValues(
          { traderPubkey: account.address, resolution, startTime, endTime, limit: maxPoints },
          run.call(lanes.catchUp),
        );
        // A point is the end of its bucket; an unfinished one is observed by the daemon itself.
        for (const { endTime: atMs, value } of points)
          if (atMs <= nowMs) ticks.push({ atMs, owner, series: equity, values: [value] });
      }
    }
    return ticks;
  }

  async function profitTicks(run: WalletRun): Promise<Tick[]> {
    const nowMs = Math.floor(run.nowMs());
    const points = await run.client.userPnl(
      { authority: run.wallet.authority, resolution: "1d", startTime: nowMs - 365 * DAY_MS, endTime: nowMs },
      run.call(lanes.catchUp),
    );
    return points
      .filter((point) => point.endTime <= nowMs)
      .map((point) => ({
        atMs: point.endTime,
        owner: run.wallet.name,
        series: profit,
        values: [point.cumulativePnl, point.cumulativeFundingPayment, point.cumulativeTakerFee],
      }));
  }

  return {
    source: "pnl",
    scope: "wallet",
    needsSession: false,
    async run(run) {
      const { name } = run.wallet;
      if (run.catchUp) return "done";
      if (!accounts.complete(run.wallet)) return "later";
      const sinceMs = coveredMs(name);
      const nowMs = run.nowMs();
      const watched = covered.has(name);
      if (sinceMs === null || (!watched && nowMs - sinceMs > HOUR_MS)) {
        const ticks = [
          ...(await equityTicks(run, sinceMs)),
          ...(sinceMs === null ? await profitTicks(run) : []),
        ];
        ticks.sort((a, b) => a.atMs - b.atMs);
        if (ticks.length > 0) {
          await run.observe({ kind: "backfill", source: "pnl", wallet: name, atMs: run.nowMs(), ticks });
        }
      }
      if (!watched || sinceMs === null || nowMs - sinceMs >= NOTE_MS) {
        await run.observe(noteOf(cursorOf(name), String(nowMs), nowMs));
        covered.set(name, nowMs);
      }
      await byMarket.run(run);
      return "done";
    },
  };
}
