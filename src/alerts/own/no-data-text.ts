/** Texts of the no-data alerts: the missing data, the wallets, the start, the cause, and the positions at stake. */

import type { FailureReason } from "../../domain/observation.ts";
import { exchangeSources, marketSources, type Source } from "../../domain/sources.ts";
import type { NoDataSource } from "../../domain/status.ts";
import type { FailedRead } from "../../domain/stored/changes.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { formatPercent } from "../../domain/text/number-text.ts";
import { sourceWords } from "../../domain/text/source-words.ts";
import { formatTime, timeOfDay } from "../../domain/text/time-text.ts";
import { holdsAssets, silentMarkets, unlistedCollateral } from "../../state/accounts/missing-input.ts";
import { causeText, type ReadFailures } from "../../state/read-failures.ts";
import type { NearPosition, Stake } from "../../state/wallets/stake.ts";
import type { World } from "../../state/world.ts";
import { type Gap, gapKey } from "./gaps.ts";

type Line = readonly [string, string];

/** Age from which a time is printed with its date. */
const dateFromMs = 12 * 3_600_000;
/** Time after a rate-limit failure for which requests count as limited, ms. */
const limitedForMs = 30_000;
const maxRows = 8;
const maxCauses = 2;
/** Maximum kinds of data that the end of an alert names. */
const maxKinds = 4;

/** The second list of the market rules: collateral assets other than cash. */
const assetWords = "collateral asset rules";

/** Sources by the importance of their data. */
const byWeight: readonly Source[] = [
  "traderState",
  "markets",
  "marketConfig",
  "traderView",
  "exchangeStatus",
  "liquidations",
  "notifications",
];

/** The data that one source does not deliver, for one cause. */
export interface Missing {
  readonly source: Source;
  /** The missing data in words: those of the source, or a part of them. */
  readonly words: string;
  /** The missing markets; empty: all data of the source. */
  readonly symbols: readonly string[];
  /** The wallets concerned; empty: the exchange. */
  readonly wallets: readonly string[];
  /** Null: unknown. */
  readonly cause: string | null;
  /** The time of the oldest last reading, ms; null: never since the start. */
  readonly readMs: number | null;
}

export interface TextSources {
  readonly world: World;
  readonly failures: ReadFailures;
  readonly timezone: string;
  readonly startedMs: number;
  /** Returns the time for which a complete answer counts as recent, ms. */
  readonly freshMs: (source: Source) => number;
}

/** Returns the missing data that an alert lists, by source and cause, the most important first. */
export function missingOf(gaps: Iterable<Lack>, of: TextSources, nowMs: number): Missing[] {
  const rows = new Map<string, { -readonly [K in keyof Missing]: Missing[K] }>();
  for (const gap of withOthers([...gaps], of, nowMs).values()) {
    const source = gap.source as Source;
    const { wallet } = gap;
    const symbols = marketsOf(gap, of, nowMs);
    const ofAssets = symbols.length === 0 && lacksAssets(gap, of, nowMs);
    const words = ofAssets ? assetWords : sourceWords[source];
    const readMs = ofAssets ? of.world.markets.assetsAtMs : of.world.lastSeenMs(source, wallet, symbols);
    const cause = causeOf(gap, symbols, readMs, of, nowMs);
    const key = `${words}\n${cause ?? ""}`;
    const known = rows.get(key);
    if (known === undefined) {
      const wallets = wallet === null ? [] : [wallet];
      rows.set(key, { source, words, symbols, wallets, cause, readMs });
      continue;
    }
    if (wallet !== null) known.wallets = [...known.wallets, wallet];
    if (readMs === null || known.readMs === null) known.readMs = null;
    else known.readMs = Math.min(known.readMs, readMs);
  }
  const weight = ({ source }: Missing): number => (byWeight.indexOf(source) + 1 || byWeight.length + 1) - 1;
  // Gaps have another order after a reload.
  const nameOf = ({ cause, words }: Missing): string => `${cause ?? ""}\n${words}`;
  const byName = (a: Missing, b: Missing): number => (nameOf(a) < nameOf(b) ? -1 : 1);
  return [...rows.values()].sort(
    (a, b) => weight(a) - weight(b) || b.wallets.length - a.wallets.length || byName(a, b),
  );
}

/** One missing source. */
export type Lack = Pick<
  Gap,
  "key" | "source" | "wallet" | "unjudged" | "sinceMs" | "answeredMs" | "intermittent"
>;

/**
 * Returns the gaps, and other outdated sources that their rules read. A judgement names one source, though several may
 * be missing.
 */
function withOthers(gaps: readonly Lack[], { world }: TextSources, nowMs: number): Map<string, Lack> {
  const found = new Map<string, Lack>(
    gaps.flatMap((gap) => (gap.source === "configuration" ? [] : [[gap.key, gap] as const])),
  );
  const looked = new Set<string>();
  for (const { wallet, unjudged, source: first } of gaps) {
    for (const { rule } of unjudged) {
      if (first === "configuration" || looked.has(`${wallet}\n${rule.name}`)) continue;
      looked.add(`${wallet}\n${rule.name}`);
      for (const source of rule.reads.flatMap(({ sources }) => sources)) {
        // It is not known here which of these an account needs.
        if (source === "traderView" || marketSources.has(source)) continue;
        const owner = exchangeSources.has(source) ? null : wallet;
        const key = gapKey(source, owner);
        if (found.has(key) || (owner === null && !exchangeSources.has(source))) continue;
        const readMs = world.lastSeenMs(source, owner);
        if (readMs === null || nowMs - readMs <= rule.staleAfterMs[source]) continue;
        const sinceMs = readMs + rule.staleAfterMs[source];
        found.set(key, lackOf(source, owner, sinceMs));
      }
    }
  }
  return found;
}

/** Returns a source that was not read since a time, with no rules. */
export function lackOf(source: NoDataSource, wallet: string | null, sinceMs: number): Lack {
  const key = gapKey(source, wallet);
  return { key, source, wallet, unjudged: new Set(), sinceMs, answeredMs: null, intermittent: false };
}

/** Returns the markets of a gap, if other markets of its source are read. */
function marketsOf({ source, unjudged }: Lack, { world, freshMs }: TextSources, nowMs: number): string[] {
  const of = source as Source;
  const perMarket = marketSources.has(of);
  if (!perMarket && of !== "markets" && of !== "marketConfig") return [];
  const wholeMs = perMarket ? null : world.lastSeenMs(of, null);
  const fromMs = nowMs - freshMs(of);
  if (!perMarket && (wholeMs === null || wholeMs < fromMs)) return [];
  const symbols = new Set<string>();
  for (const { rule, node } of unjudged) {
    for (const { sources, symbol = null } of rule.reads) {
      if (!sources.includes(of)) continue;
      if (symbol !== null) symbols.add(symbol.toUpperCase());
      else if (perMarket && "symbol" in node.subject && node.subject.symbol !== null)
        symbols.add(node.subject.symbol.toUpperCase());
      else for (const one of silentMarkets(world, node.subject, of, fromMs)) symbols.add(one);
    }
  }
  return [...symbols].sort();
}

/** Returns true if the list of markets is read and the list of collateral assets, which comes with it, is not. */
function lacksAssets({ source, unjudged }: Lack, { world, freshMs }: TextSources, nowMs: number): boolean {
  const { configAtMs } = world.markets;
  if (source !== "marketConfig" || configAtMs === null || configAtMs < nowMs - freshMs(source)) return false;
  return [...unjudged].some(({ node }) => holdsAssets(world, node.subject));
}

function causeOf(
  { source, wallet, unjudged, sinceMs, answeredMs, intermittent }: Lack,
  symbols: readonly string[],
  readMs: number | null,
  { world, failures, timezone }: TextSources,
  nowMs: number,
): string | null {
  const failure = failures.of(source as Source, wallet);
  const concerns = !failure?.symbol || symbols.length === 0 || symbols.includes(failure.symbol.toUpperCase());
  const textOf = (one: FailedRead): string => causeText(one, nowMs, (ms) => timeText(ms, nowMs, timezone));
  if (failure !== null && concerns && failure.atMs > (readMs ?? 0)) return textOf(failure);
  if (source === "marketConfig") {
    for (const { node } of unjudged) {
      const why = unlistedCollateral(world, node.subject);
      if (why !== null) return why;
    }
  }
  const answered = answeredMs !== null && answeredMs >= sinceMs;
  if (symbols.length > 0)
    return answered && !marketSources.has(source as Source) ? "not in the answers" : null;
  // While requests are limited, a waiting read has not failed yet.
  const { limited } = failures;
  if (limited !== null && limited.atMs > (readMs ?? 0) && nowMs - limited.atMs <= limitedForMs)
    return textOf(limited);
  return (intermittent || answered) && readMs !== null ? "answers too slow" : null;
}

export interface NoDataText {
  /**
   * Time since which all of it is read again, ms: the data was irregular, so it may stop again. Null: something is
   * missing.
   */
  readonly againMs: number | null;
  readonly missing: readonly Missing[];
  /** The wallets that the alert lists, sorted. */
  readonly wallets: readonly string[];
  /** Number of watched wallets. */
  readonly watched: number;
  /**
   * Start of the time in which no read of the exchange succeeds, ms (null: none since the start); null: some succeed.
   */
  readonly silence: { readonly sinceMs: number | null } | null;
  /** True if position figures depend on the missing data. */
  readonly risky: boolean;
  readonly stake: Stake;
  readonly critical: boolean;
  readonly rules: readonly string[];
  /** The reason of the newest failed read; null: unknown. */
  readonly reason: FailureReason | null;
  readonly lastFailure: string | null;
}

/** One line: the nearest position, then what is missing. */
export function summaryOf(text: NoDataText, of: TextSources, nowMs: number): string {
  const { wallets, watched, silence, missing } = text;
  const who =
    wallets.length === 0
      ? ""
      : wallets.length === 1
        ? ` on wallet ${wallets[0]}`
        : ` on ${wallets.length} of ${watched} wallets`;
  const leading = missing.filter(({ source }) => source === missing[0]?.source);
  const readMs = silence === null ? oldest(leading) : silence.sinceMs;
  const sinceMs = readMs ?? of.startedMs;
  const since = readMs === null ? "ever since the start" : `since ${timeText(sinceMs, nowMs, of.timezone)}`;
  const what = silence === null ? `no ${whatOf(missing)}` : "no read of the exchange succeeds";
  const causes = causesOf(silence === null ? leading : missing);
  const cause = causes === "" ? "" : ` (${causes})`;
  const sentence =
    text.againMs === null
      ? `No data${who} for ${formatDurationMs(nowMs - sinceMs)}: ${what} ${since}${cause}`
      : `No data now and then${who}: ${whatOf(missing)}${cause}, read again since ${timeText(text.againMs, nowMs, of.timezone)}`;
  const lead = leadOf(text, nowMs);
  return lead === null ? sentence : `${lead}. ${sentence}`;
}

function leadOf({ risky, stake: { nearest } }: NoDataText, nowMs: number): string | null {
  return risky && nearest !== null ? nearestText(nearest, nowMs) : null;
}

function nearestText(
  { wallet, symbol, side, distance, least, isNearSince, readMs, moved }: NearPosition,
  nowMs: number,
): string {
  const far = Number.isNaN(distance)
    ? "was at an unknown distance from liquidation"
    : distance === Number.POSITIVE_INFINITY
      ? "had no liquidation price"
      : `was ${formatPercent(distance)} from liquidation`;
  const since =
    moved === null ? "" : `, ${movedText(moved)} since${moved.isLast ? ", at its last reading" : ""}`;
  const nearest = isNearSince ? `; ${formatPercent(least)} from liquidation at the worst price since` : "";
  return `${wallet} ${symbol} ${side} ${far} ${formatDurationMs(nowMs - readMs)} ago${since}${nearest}`;
}

function movedText({ share, by }: NonNullable<NearPosition["moved"]>): string {
  const of = by === "mark" ? "mark" : `price (${by})`;
  if (Math.abs(share) < 0.00005) return `${of} unchanged`;
  return `${of} ${share < 0 ? "down" : "up"} ${formatPercent(Math.abs(share))}`;
}

function whatOf(missing: readonly Missing[]): string {
  const names: string[] = [];
  for (const { words, symbols } of missing) {
    const name = symbols.length === 0 ? words : `${words} of ${listed(symbols)}`;
    if (!names.includes(name)) names.push(name);
  }
  const from = missing.every(({ wallets }) => wallets.length === 0) ? " from the exchange" : "";
  if (names.length <= 2) return names.join(" and ") + from;
  return `${names.slice(0, 2).join(", ")} and ${names.length - 2} more${from}`;
}

function causesOf(missing: readonly Missing[]): string {
  const causes = [...new Set(missing.flatMap(({ cause }) => (cause === null ? [] : [cause])))];
  const more = causes.length > maxCauses ? ` and ${causes.length - maxCauses} more` : "";
  return causes.slice(0, maxCauses).join(", ") + more;
}

export function descriptionOf({ againMs, critical, stake, risky, silence, reason }: NoDataText): string {
  if (againMs !== null)
    return "The rules that read this are judged again. The alert ends when that has lasted.";
  const why = critical
    ? risky && stake.near.length > 0
      ? "Critical: at the last reading, at a mark since, or by the newest price, a position was within three daily moves of liquidation, or liquidatable."
      : "Critical: nothing was read of a wallet since the start."
    : risky
      ? "At the last reading, at marks since, and by the newest price, no position was within three daily moves of liquidation."
      : "Positions and prices are read.";
  const now = silence === null ? adviceOf(reason) : silenceAdviceOf(reason);
  return `The rules that read this cannot be judged: they neither fire nor resolve until it is read again. ${why} ${now}`;
}

const lookThere = "Look at the exchange itself if you hold risk there.";

function adviceOf(reason: FailureReason | null): string {
  return reason === "rate-limited" ? `${limitAdvice} ${lookThere}` : lookThere;
}

/** Returns the advice for the time in which no read of the exchange succeeds. */
function silenceAdviceOf(reason: FailureReason | null): string {
  switch (reason) {
    case "rate-limited":
      return `${limitAdvice} ${lookThere}`;
    case null:
    case "unreachable":
    case "timeout":
      return "Check the network of this machine and the exchange's status page.";
    default:
      return `The exchange can be reached: see its status page. ${lookThere}`;
  }
}

const limitAdvice =
  "The exchange refuses requests with 429, and perpwatch asks again by itself: lower exchange.requestsPerSecond, or look for other programs that ask from this address.";

export function detailsOf(text: NoDataText, of: TextSources, nowMs: number): Line[] {
  const { missing, rules, lastFailure, stake, risky } = text;
  const lines: Line[] = [];
  if (risky && stake.nearest !== null) lines.push(["Nearest position", nearestText(stake.nearest, nowMs)]);
  for (const row of missing.slice(0, maxRows)) {
    const of_ = [...row.wallets].sort();
    const names = of_.length > 0 ? of_ : row.symbols;
    const read = row.readMs === null ? "never" : formatTime(row.readMs, of.timezone);
    const cause = row.cause === null ? "" : `${row.cause}, `;
    const owner = names.length === 0 ? "" : ` of ${listed(names)}`;
    lines.push(["Not read", `${row.words}${owner} (schedule ${row.source}): ${cause}last read ${read}`]);
  }
  if (missing.length > maxRows) lines.push(["Not read", `${missing.length - maxRows} more`]);
  if (rules.length > 0)
    lines.push([
      "Rules that cannot judge",
      rules.length > 10 ? `${listed(rules)}, see perpwatch status` : listed(rules),
    ]);
  if (lastFailure !== null) lines.push(["Last failure", lastFailure]);
  return lines;
}

/** Returns the oldest reading time, ms; null: some of it was never read since the start. */
export function oldest(missing: readonly Missing[]): number | null {
  let oldestMs = Number.POSITIVE_INFINITY;
  for (const { readMs } of missing) {
    if (readMs === null) return null;
    oldestMs = Math.min(oldestMs, readMs);
  }
  return Number.isFinite(oldestMs) ? oldestMs : null;
}

/** The summary of the end: the listed data are read again. */
export function endSummary(
  sources: ReadonlySet<NoDataSource>,
  wallets: readonly string[],
  wasSilent: boolean,
  lastedMs: number,
): string {
  const after = `after ${formatDurationMs(lastedMs)}`;
  const inOrder = [...byWeight, ...sources].filter((one) => sources.has(one)) as Source[];
  const ofWallets = (source: Source): boolean => !exchangeSources.has(source);
  const kinds = [
    ...new Set([...inOrder.filter((one) => !ofWallets(one)), ...inOrder.filter(ofWallets)].map(wordsOf)),
  ];
  const subjects =
    wallets.length === 0
      ? "from the exchange"
      : wallets.length === 1
        ? `of wallet ${wallets[0]}`
        : `of ${wallets.length} wallets`;
  const more = kinds.length > maxKinds ? `; ${moreKinds(kinds.length - maxKinds)}` : "";
  const what = kinds.slice(0, maxKinds).join("; ") + more;
  return wasSilent
    ? `The exchange answers again: ${what} ${subjects}, ${after}`
    : `Read again: ${what} ${subjects}, ${after}`;
}

function moreKinds(count: number): string {
  return `${count} more ${count === 1 ? "kind" : "kinds"} of data`;
}

function wordsOf(source: Source): string {
  return sourceWords[source];
}

export function timeText(ms: number, nowMs: number, timezone: string): string {
  return (nowMs - ms > dateFromMs ? formatTime : timeOfDay)(ms, timezone);
}

export function listed(names: readonly string[]): string {
  return names.length <= 10
    ? names.join(", ")
    : `${names.slice(0, 10).join(", ")} and ${names.length - 10} more`;
}
