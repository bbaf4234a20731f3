/**
 * The watched wallets as subjects: sums over their accounts, their inbox, and their profit since watching began.
 *
 * Profit is equity less deposits, and the two come from different readings: a deposit that the account shows already
 * and the history not yet would read as a profit, and its withdrawal as a loss at 4 a.m. So profit is taken from an
 * equity that is old enough for the history to have caught up, against the flows up to that very slot.
 */
import type { Event } from "../domain/event.ts";
import { FewMap } from "../domain/few-map.ts";
import type { Source } from "../domain/observation.ts";
import type { FactValue } from "../rules/index.ts";
import type { AccountEntry } from "./accounts.ts";
import type { Draft } from "./draft.ts";
import type { WatchedWallet } from "./settings.ts";
import { type Snapshot, Snapshots } from "./snapshots.ts";
import type { SubjectNode } from "./subjects.ts";

/** How long the collateral history may lag behind the account's state. */
const indexLagMs = 15_000;

interface Flow {
  readonly slot: number;
  readonly amountUsd: number;
}

/** What survives a restart. */
interface Kept {
  readonly baselineUsd: number;
  readonly baselineSlot: number;
  /** Deposits less withdrawals since the baseline, all that are known. */
  readonly netUsd: number;
  readonly highUsd: number;
}

/** How an event of a transfer says what its fields do not (see the collateral history's translation). */
interface TransferData {
  readonly transferUsd: number;
  readonly within: boolean;
}

export interface WalletEntry {
  readonly wallet: WatchedWallet;
  readonly node: SubjectNode;
  /** History from before this time is that of another key under its name, ms. */
  sinceMs: number;
  /** Its figures are given as they are (a rule test, a backtest over samples): none of them is worked out here. */
  given: boolean;
  signedIn: boolean;
  sessionDetail: string;
  unacked: number | null;
  readonly seenMs: FewMap<number, number>;
  /** The same of the histories that are read for each PDA index, by source. */
  partsSeenMs: Map<Source, FewMap<number, number>> | null;
  readonly snapshots: Snapshots;
  readonly flows: Flow[];
  kept: Kept | null;
}

export const walletKeepPrefix = "wallet/";

/** Whose name it is: another key under it is another wallet, whose past begins with it. */
interface KeptKey {
  readonly authority: string;
  /** Since when, ms; 0: as far back as history knows. */
  readonly sinceMs: number;
}

/** Holds a wallet's key against the one that had its name before. @returns whether the name passed to another key */
export function takeKey(entry: WalletEntry, keep: ReadonlyMap<string, string>, draft: Draft): boolean {
  const name = `${walletKeepPrefix}${entry.wallet.name}/key`;
  const text = keep.get(name);
  const known = text === undefined ? null : (JSON.parse(text) as KeptKey);
  const { authority } = entry.wallet;
  if (known?.authority === authority) {
    entry.sinceMs = known.sinceMs;
    return false;
  }
  entry.sinceMs = known === null ? 0 : draft.atMs;
  const kept: KeptKey = { authority, sinceMs: entry.sinceMs };
  draft.changes.keep.push({ name, value: JSON.stringify(kept) });
  return known !== null;
}

export function newWallet(wallet: WatchedWallet, node: SubjectNode): WalletEntry {
  const values = node.facts.values;
  values.name = wallet.name;
  values.authority = wallet.authority;
  values.labels = wallet.labels;
  values.limits = wallet.limits;
  values.signedIn = false;
  return {
    wallet,
    node,
    sinceMs: 0,
    given: false,
    signedIn: false,
    sessionDetail: wallet.watchOnly ? "watch-only" : "not signed in yet",
    unacked: null,
    seenMs: new FewMap(),
    partsSeenMs: null,
    snapshots: new Snapshots(),
    flows: [],
    kept: null,
  };
}

export function restoreWallet(entry: WalletEntry, value: string): void {
  entry.kept = JSON.parse(value) as Kept;
  profit(entry, null);
}

/**
 * Sums the accounts after one of them was assessed. A sum with an unknown part is unknown, and so is the sum of a wallet of
 * which not every PDA index was read since the start.
 *
 * @param answered whether an answer told which accounts there are: before that nothing is known of none. A figure that is
 * written then and taken away with the first answer would leave the wallet's figures in V8's slow form for good.
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
  let any = false;
  let marketsMs = Number.POSITIVE_INFINITY;
  let ratesMs = Number.POSITIVE_INFINITY;
  // Subaccounts do not help each other: the one that is nearest to its end is how near the wallet is.
  const start = known ? Number.POSITIVE_INFINITY : Number.NaN;
  let together = start;
  let adverse = start;
  let funding = start;
  const { values: sums, seenMs: seen } = node.facts;
  for (let i = 0; i < accounts.length; i++) {
    const { values, seenMs } = accounts[i]!.node.facts;
    const value = values.equity;
    any = true;
    if (typeof value === "number") equity += value;
    else known = false;
    marketsMs = Math.min(marketsMs, seenMs.markets ?? Number.NEGATIVE_INFINITY);
    ratesMs = Math.min(ratesMs, seenMs.fundingRates ?? Number.NEGATIVE_INFINITY);
    // NaN goes through a minimum: one that is not known makes it unknown.
    together = Math.min(together, numberOf(values.moveToLiquidation));
    adverse = Math.min(adverse, numberOf(values.adverseMoveToLiquidation));
    funding = Math.min(funding, numberOf(values.fundingUntilMaintenance));
    const configMs = seenMs.marketConfig;
    if (configMs !== undefined) seen.marketConfig = configMs;
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
  if (any && known) sums.equity = equity;
  else if (sums.equity !== undefined) delete sums.equity;
}

function numberOf(value: FactValue | undefined): number {
  return typeof value === "number" ? value : Number.NaN;
}

/** Notes an answer about the wallet's accounts; the oldest of its PDA indices is the wallet's age. */
export function walletSeen(entry: WalletEntry, pdaIndex: number, atMs: number): void {
  entry.seenMs.set(pdaIndex, atMs);
  if (!isWhole(entry)) return;
  let oldestMs = atMs;
  for (const seenMs of entry.seenMs.values()) if (seenMs < oldestMs) oldestMs = seenMs;
  entry.node.facts.seenMs.traderState = oldestMs;
}

/** Notes what the wallet is worth by the answer of this slot. */
export function noteSnapshot({ node, snapshots }: WalletEntry, slot: number, atMs: number): void {
  const { equity } = node.facts.values;
  if (typeof equity === "number") snapshots.push(atMs, slot, equity);
}

/** True once every PDA index of the wallet was read since the start. Injected figures are whole by themselves. */
function isWhole({ wallet: { pdaIndices }, seenMs, node }: WalletEntry): boolean {
  if (pdaIndices === undefined || node.facts.seenMs.traderState !== undefined) return true;
  for (let i = 0; i < pdaIndices.length; i++) if (!seenMs.has(pdaIndices[i]!)) return false;
  return true;
}

/** When all PDA indices of the wallet had been read, at the latest, ms; null while one was not since the start. */
export function wholeSeenMs(entry: WalletEntry): number | null {
  return entry.node.facts.seenMs.traderState ?? null;
}

/**
 * Notes that a history of a PDA index (undefined: of the whole wallet) was read.
 * @returns when all of the wallet's had been, at the latest, ms; null while one was not since the start
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

/**
 * What a collateral move did to the wallet as a whole, USD: nothing between accounts that are both watched, null where nobody
 * can say. @param account whose collateral it moved, as far as it is known
 */
export function flowOf(event: Event, account: AccountEntry | undefined): number | null {
  const transfer = event.fields.eventType === "transfer" ? (event.data as TransferData | null) : null;
  if (transfer?.within) return 0;
  const amount = event.fields.amountUsd ?? (transfer ? transferred(event, transfer, account) : null);
  return typeof amount === "number" ? amount : null;
}

/** Takes a collateral move into account, as `flowOf` weighed it. @returns false when nobody can say what it did */
export function walletFlow(entry: WalletEntry, event: Event, flowUsd: number | null, draft: Draft): boolean {
  if (event.backfilled || (entry.kept && event.slot <= entry.kept.baselineSlot)) return true;
  if (flowUsd === null) return event.fields.eventType !== "transfer";
  if (flowUsd === 0) return true;
  entry.flows.push({ slot: event.slot, amountUsd: flowUsd });
  if (entry.flows.length > 1_000) entry.flows.shift();
  if (entry.kept) keep(entry, { ...entry.kept, netUsd: entry.kept.netUsd + flowUsd }, draft);
  return true;
}

/** What a transfer brought in (positive) or took out: its account had more or less before. Null: not known. */
function transferred(
  { slot, fields }: Event,
  { transferUsd }: TransferData,
  account: AccountEntry | undefined,
): number | null {
  const before = account?.collaterals.findLast((one) => one.slot < slot);
  if (!before || typeof fields.after !== "number") return null;
  return fields.after > before.usd ? transferUsd : -transferUsd;
}

/** The newest snapshot that is old enough for the collateral history to have caught up; null: there is none yet. */
export function settledAt({ snapshots }: WalletEntry, atMs: number): Snapshot | null {
  return snapshots.findLast((seenMs) => seenMs <= atMs - indexLagMs);
}

/** The collateral history was read at `atMs`: profit can be brought up to the newest settled snapshot. */
export function walletFlowsRead(entry: WalletEntry, atMs: number, draft: Draft): boolean {
  entry.node.facts.seenMs.collateral = atMs;
  const settled = settledAt(entry, atMs);
  if (!settled) return false;
  if (!entry.kept) {
    keep(entry, { baselineUsd: settled.equityUsd, baselineSlot: settled.slot, netUsd: 0, highUsd: 0 }, draft);
    const later = entry.flows.filter((flow) => flow.slot > settled.slot);
    entry.flows.length = 0;
    entry.flows.push(...later);
    const net = later.reduce((sum, flow) => sum + flow.amountUsd, 0);
    if (net !== 0 && entry.kept) keep(entry, { ...(entry.kept as Kept), netUsd: net }, draft);
  }
  const pnl = profit(entry, settled);
  const kept = entry.kept as Kept | null;
  if (kept && pnl !== null && pnl > kept.highUsd) {
    keep(entry, { ...kept, highUsd: pnl }, draft);
    entry.node.facts.values.highWaterMark = pnl;
  }
  return pnl !== null;
}

function profit(entry: WalletEntry, at: Snapshot | null): number | null {
  const { kept } = entry;
  if (!kept) return null;
  const values = entry.node.facts.values;
  values.highWaterMark = kept.highUsd;
  const slot = at?.slot ?? Number.POSITIVE_INFINITY;
  // Flows after the snapshot are in the sum already and have to come out of it again.
  const later = entry.flows.reduce((sum, flow) => (flow.slot > slot ? sum + flow.amountUsd : sum), 0);
  const net = kept.netUsd - later;
  values.netDeposits = net;
  if (!at) return null;
  const pnl = at.equityUsd - kept.baselineUsd - net;
  values.pnl = pnl;
  return pnl;
}

function keep(entry: WalletEntry, kept: Kept, draft: Draft): void {
  entry.kept = kept;
  draft.changes.keep.push({
    name: `${walletKeepPrefix}${entry.wallet.name}/profit`,
    value: JSON.stringify(kept),
  });
}
