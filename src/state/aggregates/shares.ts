/**
 * The share of one wallet in aggregates over several wallets. Amounts are integers (10⁻⁶ USD, 10⁻⁸ units), so that replacing an
 * old share by a new one in a sum gives exactly the sum over all shares.
 */
import type { Source } from "../../domain/sources.ts";
import type { AccountEntry } from "../accounts/account-entry.ts";
import { isOpen } from "../profit/changes/open-range.ts";
import { type WalletEntry, wholeSeenMs } from "../wallets/wallets.ts";
import type { World } from "../world.ts";

export const usdScale = 1e6;
export const unitScale = 1e8;

/** The holdings of a wallet in one market, over its accounts. */
export interface Holding {
  net: number;
  gross: number;
  size: number;
  /** Positions whose value or size is not known. */
  unvalued: number;
  unsized: number;
}

export interface Share {
  readonly bySymbol: ReadonlyMap<string, Holding>;
  /** NaN: not known. The same holds for the figures below. */
  readonly equity: number;
  readonly pnlToday: number;
  /** The parts of it that may have been paid in (positive) or out (negative). */
  readonly inToday: number;
  readonly outToday: number;
  /** Values of the wallet's fields of these names. */
  readonly sums: Readonly<Record<SummedField, number>>;
  readonly marginRatio: number;
  readonly moveToLiquidation: number;
  readonly adverseMoveToLiquidation: number;
}

/** Fields of a wallet that books sum unchanged, USD. */
export const summedFields = ["netDeposits", "feesToday", "fundingToday"] as const;
export type SummedField = (typeof summedFields)[number];

export function shareOf(entry: WalletEntry, accounts: Iterable<AccountEntry>): Share {
  const bySymbol = new Map<string, Holding>();
  let equity = 0;
  let marginRatio = 0;
  let moveToLiquidation = Number.POSITIVE_INFINITY;
  let adverseMoveToLiquidation = Number.POSITIVE_INFINITY;
  for (const { node, positions } of accounts) {
    const values = node.facts.values;
    equity += Math.round(numberOf(values.equity) * usdScale);
    // A NaN among the operands makes each of these NaN.
    marginRatio = Math.max(marginRatio, numberOf(values.marginRatio));
    moveToLiquidation = Math.min(moveToLiquidation, numberOf(values.moveToLiquidation));
    adverseMoveToLiquidation = Math.min(adverseMoveToLiquidation, numberOf(values.adverseMoveToLiquidation));
    for (const [symbol, position] of positions) {
      const held = bySymbol.get(symbol) ?? { net: 0, gross: 0, size: 0, unvalued: 0, unsized: 0 };
      bySymbol.set(symbol, held);
      const { side, size, notional } = position.node.facts.values;
      const value = Math.round(numberOf(notional) * usdScale);
      const units = Math.round(numberOf(size) * unitScale);
      if (Number.isNaN(value)) held.unvalued++;
      else {
        held.net += side === "short" ? -value : value;
        held.gross += value;
      }
      if (Number.isNaN(units)) held.unsized++;
      else held.size += units;
    }
  }
  const { profit } = entry;
  const walletUsd = numberOf(entry.node.facts.values.equity);
  const { openToday } = profit;
  const todayUsd = isOpen(openToday)
    ? walletUsd - profit.zeroTodayUsd
    : numberOf(entry.node.facts.values.pnlToday);
  const pnlToday = Math.round(todayUsd * usdScale);
  const { values } = entry.node.facts;
  const amount = (field: SummedField) => Math.round(numberOf(values[field]) * usdScale);
  const sums = {
    netDeposits: amount("netDeposits"),
    feesToday: amount("feesToday"),
    fundingToday: amount("fundingToday"),
  };
  const inToday = Math.round(openToday.inUsd * usdScale);
  const outToday = Math.round(openToday.outUsd * usdScale);
  return {
    bySymbol,
    equity,
    pnlToday,
    inToday,
    outToday,
    sums,
    marginRatio,
    moveToLiquidation,
    adverseMoveToLiquidation,
  };
}

/** Sources of the figures of books and pairs. */
export const sharedSources = [
  "traderState",
  "markets",
  "marketConfig",
  "collateral",
  "fills",
  "funding",
] as const;
export type SharedSource = (typeof sharedSources)[number];

/**
 * The time at which a source last answered for all of a wallet, ms; -∞: not since the start. A wallet without holdings needs
 * no price: +∞.
 */
export function seenWhole(world: World, entry: WalletEntry, source: SharedSource): number {
  const { seenMs } = entry.node.facts;
  let any = false;
  let injected = false;
  for (const account of world.accounts.ofWallet(entry.wallet.name)) {
    any = true;
    injected ||= account.injected;
  }
  const stateMs = injected ? seenMs.traderState : wholeSeenMs(entry);
  if (source === "traderState" || stateMs == null) return stateMs ?? Number.NEGATIVE_INFINITY;
  if (!any && !ofHistories.has(source)) return Number.POSITIVE_INFINITY;
  return seenMs[source] ?? Number.NEGATIVE_INFINITY;
}

/** Also read for wallets without holdings. */
const ofHistories: ReadonlySet<Source> = new Set(["fills", "funding"]);

/** Sets the time of a source; removes it if the source was not read. */
export function noteSeen(seenMs: Partial<Record<Source, number>>, source: Source, atMs: number): void {
  if (atMs === Number.NEGATIVE_INFINITY) delete seenMs[source];
  else seenMs[source] = atMs;
}

function numberOf(value: unknown): number {
  return typeof value === "number" ? value : Number.NaN;
}
