/** The watched wallets as subjects: sums over their accounts, their inbox, and the age of their data. */

import { z } from "zod";
import type { Source } from "../../domain/sources.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { KeptKind, type KeptValues, keptNumber } from "../../domain/stored/kept.ts";
import { FewMap } from "../../domain/structures/few-map.ts";
import type { FactValue } from "../../rules/index.ts";
import type { AccountEntry } from "../accounts/account-entry.ts";
import { Profit } from "../profit/profit.ts";
import type { SubjectNode } from "../subjects.ts";
import type { WatchedWallet } from "./watched.ts";

export interface WalletEntry {
  wallet: WatchedWallet;
  readonly node: SubjectNode;
  /** History from before this time belongs to another key of the same name, ms. */
  sinceMs: number;
  /** Its figures are injected (a rule test, or a backtest over samples); none of them is computed here. */
  injected: boolean;
  signedIn: boolean;
  sessionDetail: string;
  unacked: number | null;
  readonly seenMs: FewMap<number, number>;
  /** The same for the histories that are read per PDA index, by source. */
  partsSeenMs: Map<Source, FewMap<number, number>> | null;
  readonly profit: Profit;
}

/** The key of a wallet name. Another key under the same name is another wallet with a history of its own. */
interface KeptKey {
  readonly authority: string;
  /** Time since which the name has this key, ms; 0: as far back as history reaches. */
  readonly sinceMs: number;
}

/** By wallet. */
export const keptKey: KeptKind<KeptKey> = new KeptKind(
  "wallet/{}/key",
  z.object({ authority: z.string(), sinceMs: keptNumber }),
);

/** Compares a wallet's key with the stored key of its name. @returns true if the name now belongs to another key */
export function takeKey(entry: WalletEntry, keep: KeptValues, builder: ChangesBuilder): boolean {
  const { name, authority } = entry.wallet;
  const known = keptKey.get(keep, name);
  if (known?.authority === authority) {
    entry.sinceMs = known.sinceMs;
    return false;
  }
  entry.sinceMs = known === null ? 0 : builder.atMs;
  keptKey.put(name, { authority, sinceMs: entry.sinceMs }, builder);
  return known !== null;
}

/** Takes labels and limits from reloaded settings. */
export function rename(entry: Pick<WalletEntry, "wallet" | "node">, wallet: WatchedWallet): void {
  const { values } = entry.node.facts;
  entry.wallet = wallet;
  values.name = wallet.name;
  values.authority = wallet.authority;
  values.labels = wallet.labels;
  values.limits = wallet.limits;
}

export function newWallet(wallet: WatchedWallet, node: SubjectNode): WalletEntry {
  rename({ wallet, node }, wallet);
  // The session of a wallet with a key is unknown until one was requested.
  if (wallet.watchOnly) node.facts.values.signedIn = false;
  return {
    wallet,
    node,
    sinceMs: 0,
    injected: false,
    signedIn: false,
    sessionDetail: wallet.watchOnly ? "watch-only" : "not signed in yet",
    unacked: null,
    seenMs: new FewMap(),
    partsSeenMs: null,
    profit: new Profit(node.facts, wallet.name),
  };
}

/**
 * Sums the accounts after one of them was assessed. A sum with an unknown part is unknown, and so is the sum of a wallet of
 * which some PDA index was not read since the start. A wallet without accounts has sums of 0, whatever the prices.
 *
 * @param answered true if an answer has listed the accounts; before that, having no accounts means nothing. A figure that is
 * written then and deleted with the first answer would leave the wallet's figures in V8's slow dictionary mode.
 */
export function sumAccounts(
  entry: WalletEntry,
  accounts: readonly AccountEntry[],
  answered: boolean = entry.seenMs.size > 0,
): void {
  if (!answered && accounts.length === 0) return;
  const { node } = entry;
  let equity = 0;
  let known = isWhole(entry);
  let marketsMs = Number.POSITIVE_INFINITY;
  let ratesMs = Number.POSITIVE_INFINITY;
  // Subaccounts do not share collateral: the wallet is as near to liquidation as its nearest account.
  const start = known ? Number.POSITIVE_INFINITY : Number.NaN;
  let together = start;
  let adverse = start;
  let funding = start;
  const { values: sums, seenMs: seen } = node.facts;
  for (let i = 0; i < accounts.length; i++) {
    const { values, seenMs } = accounts[i]!.node.facts;
    const value = values.equity;
    if (typeof value === "number") equity += value;
    else known = false;
    marketsMs = Math.min(marketsMs, seenMs.markets ?? Number.NEGATIVE_INFINITY);
    ratesMs = Math.min(ratesMs, seenMs.fundingRates ?? Number.NEGATIVE_INFINITY);
    // A minimum with NaN is NaN, so an unknown part makes it unknown.
    together = Math.min(together, numberOf(values.moveToLiquidation));
    adverse = Math.min(adverse, numberOf(values.adverseMoveToLiquidation));
    funding = Math.min(funding, numberOf(values.fundingUntilMaintenance));
    const configMs = seenMs.marketConfig;
    if (configMs !== undefined) seen.marketConfig = configMs;
  }
  if (accounts.length === 0 && known && seen.traderState !== undefined) {
    marketsMs = seen.traderState;
    ratesMs = seen.traderState;
    seen.marketConfig = seen.traderState;
  }
  if (Number.isFinite(marketsMs)) seen.markets = marketsMs;
  // One of the accounts needs a price that was not read.
  else if (marketsMs < 0 && seen.markets !== undefined) delete seen.markets;
  if (Number.isFinite(ratesMs)) seen.fundingRates = ratesMs;
  else if (seen.fundingRates !== undefined) delete seen.fundingRates;
  if (!Number.isNaN(together)) sums.moveToLiquidation = together;
  else if (sums.moveToLiquidation !== undefined) delete sums.moveToLiquidation;
  if (!Number.isNaN(adverse)) sums.adverseMoveToLiquidation = adverse;
  else if (sums.adverseMoveToLiquidation !== undefined) delete sums.adverseMoveToLiquidation;
  if (!Number.isNaN(funding)) sums.fundingUntilMaintenance = funding;
  else if (sums.fundingUntilMaintenance !== undefined) delete sums.fundingUntilMaintenance;
  if (known) sums.equity = equity;
  else if (sums.equity !== undefined) delete sums.equity;
  if (!entry.injected) entry.profit.publish();
}

function numberOf(value: FactValue | undefined): number {
  return typeof value === "number" ? value : Number.NaN;
}

/** Notes an answer about the wallet's accounts. The wallet's data are as old as its oldest PDA index. */
export function walletSeen(entry: WalletEntry, pdaIndex: number, atMs: number): void {
  entry.seenMs.set(pdaIndex, atMs);
  if (!isWhole(entry)) return;
  let oldestMs = atMs;
  for (const seenMs of entry.seenMs.values()) if (seenMs < oldestMs) oldestMs = seenMs;
  entry.node.facts.seenMs.traderState = oldestMs;
}

/** True if every PDA index of the wallet was read since the start. Injected figures are always complete. */
function isWhole({ wallet: { pdaIndices }, seenMs, node }: WalletEntry): boolean {
  if (pdaIndices === undefined || node.facts.seenMs.traderState !== undefined) return true;
  for (let i = 0; i < pdaIndices.length; i++) if (!seenMs.has(pdaIndices[i]!)) return false;
  return true;
}

/** The time of the newest read of each PDA index, the oldest of these times, ms; null: one was not read since the start. */
export function wholeSeenMs(entry: WalletEntry): number | null {
  return entry.node.facts.seenMs.traderState ?? null;
}

/**
 * Notes that a history of a PDA index (undefined: of the whole wallet) was read.
 * @returns the oldest time among the newest reads of its PDA indices, ms; null: one was not read since the start
 */
export function partSeen(
  entry: WalletEntry,
  source: Source,
  pdaIndex: number | undefined,
  atMs: number,
): number | null {
  if (pdaIndex === undefined) return atMs;
  entry.partsSeenMs ??= new Map();
  const parts = entry.partsSeenMs.get(source) ?? new FewMap<number, number>();
  entry.partsSeenMs.set(source, parts.set(pdaIndex, atMs));
  let oldestMs = atMs;
  for (const index of entry.wallet.pdaIndices ?? parts.keys()) {
    const seenMs = parts.get(index);
    if (seenMs === undefined) return null;
    oldestMs = Math.min(oldestMs, seenMs);
  }
  return oldestMs;
}
