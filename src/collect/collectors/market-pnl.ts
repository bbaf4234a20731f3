/**
 * Reads the earnings and payments of each trader account market by market, hour by hour: the past once for a new
 * wallet, then every hour, in the last lane. For history only; no rule fires on it.
 */
import type { MarketPnlSeries } from "../../contract/index.ts";
import type { Tick } from "../../domain/observation.ts";
import { accountName } from "../../domain/subject.ts";
import { ExchangeError, lanes } from "../../exchange/index.ts";
import { type AccountBook, noteOf } from "../accounts.ts";
import type { WalletRun } from "../collector.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Delay after the end of an hour with which its point appears in the exchange's answer, ms. */
const pointDelayMs = 300_000;
const maxPoints = 1_000;

const cursorOf = (wallet: string) => `marketPnl/${wallet}`;

/** One shared list for each market, so that the store gets the same object again. */
const layouts = new Map<string, readonly string[]>();
function seriesOf(symbol: string): readonly string[] {
  const known = layouts.get(symbol);
  if (known) return known;
  const names = ["cumulativePnl", "unrealizedPnl", "cumulativeFunding", "cumulativeFees"];
  const layout = names.map((name) => `pnl[${symbol}].${name}`);
  layouts.set(symbol, layout);
  return layout;
}

export class MarketPnl {
  readonly #accounts: AccountBook;
  readonly #cursors: ReadonlyMap<string, string>;
  /** By wallet, the hour up to which it was read since the start, ms. */
  readonly #read = new Map<string, number>();

  constructor(accounts: AccountBook, cursors: ReadonlyMap<string, string>) {
    this.#accounts = accounts;
    this.#cursors = cursors;
  }

  /** Reads the completed hours that were not read yet. */
  async run(run: WalletRun): Promise<void> {
    const { name } = run.wallet;
    const nowMs = Math.floor(run.nowMs());
    const untilMs = Math.floor((nowMs - pointDelayMs) / hourMs) * hourMs;
    const kept = Number(this.#cursors.get(cursorOf(name)) ?? Number.NaN);
    const sinceMs = this.#read.get(name) ?? (Number.isFinite(kept) ? kept : null);
    if (sinceMs !== null && untilMs <= sinceMs) return;
    const ticks: Tick[] = [];
    for (const account of this.#accounts.present(name)) {
      const owner = accountName({ ...account, wallet: name });
      for (const [resolution, startTime, endTime] of windowsOf(sinceMs, untilMs)) {
        const series = await this.#ask(run, account.address, resolution, startTime, endTime);
        for (const { symbol, points } of series) {
          for (const point of points) {
            if (point.endTime <= startTime || point.endTime > endTime) continue;
            const { cumulativePnl, unrealizedPnl, cumulativeFundingPayment, cumulativeTakerFee } = point;
            ticks.push({
              atMs: point.endTime,
              owner,
              series: seriesOf(symbol.toUpperCase()),
              values: [cumulativePnl, unrealizedPnl, cumulativeFundingPayment, cumulativeTakerFee],
            });
          }
        }
      }
    }
    ticks.sort((a, b) => a.atMs - b.atMs);
    if (ticks.length > 0)
      await run.observe({ kind: "backfill", source: "pnl", wallet: name, atMs: run.nowMs(), ticks });
    await run.observe(noteOf(cursorOf(name), String(untilMs), run.nowMs()));
    this.#read.set(name, untilMs);
  }

  async #ask(
    run: WalletRun,
    traderPubkey: string,
    resolution: "1h" | "1d",
    startTime: number,
    endTime: number,
  ): Promise<readonly MarketPnlSeries[]> {
    try {
      return await run.client.marketPnl(
        { traderPubkey, resolution, startTime, endTime, limit: maxPoints },
        run.call(lanes.catchUp),
      );
    } catch (error) {
      // A closed account does not affect the others.
      if (error instanceof ExchangeError && error.reason === "refused") return [];
      throw error;
    }
  }
}

/** Returns the windows: the past by the day, the newest month of it by the hour. */
function windowsOf(
  sinceMs: number | null,
  untilMs: number,
): readonly (readonly ["1h" | "1d", number, number])[] {
  const byHourMs = untilMs - 30 * dayMs;
  if (sinceMs !== null && sinceMs >= byHourMs) return [["1h", sinceMs, untilMs]];
  return [
    ["1d", Math.max(sinceMs ?? 0, untilMs - 364 * dayMs), byHourMs],
    ["1h", byHourMs, untilMs],
  ];
}
