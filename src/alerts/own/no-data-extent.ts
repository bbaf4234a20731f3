/** The extent of a no-data alert: the missing data, the wallets concerned, and the severity. */
import { type Severity, worseOf } from "../../domain/alerts/alert.ts";
import { noDataRule, unreachableRule } from "../../domain/alerts/built-in.ts";
import type { Source } from "../../domain/sources.ts";
import type { NoDataSource } from "../../domain/status.ts";
import { formatTime } from "../../domain/text/time-text.ts";
import { stakeOf } from "../../state/wallets/stake.ts";
import { wholeSeenMs } from "../../state/wallets/wallets.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { World } from "../../state/world.ts";
import type { AlertText } from "../live-alert.ts";
import { groupedFromWallets } from "../patience.ts";
import type { Gap } from "./gaps.ts";
import type { NoDataAlert } from "./no-data-alert.ts";
import {
  descriptionOf,
  detailsOf,
  endSummary,
  type Lack,
  lackOf,
  type Missing,
  missingOf,
  type NoDataText,
  oldest,
  summaryOf,
  type TextSources,
} from "./no-data-text.ts";

export interface Extent extends NoDataText {
  readonly severity: Severity;
  /** Start of the outage, ms. */
  readonly sinceMs: number;
  /** The time of the oldest last reading, ms; the start if there was none. */
  readonly dataAtMs: number;
}

interface Listed {
  readonly source: NoDataSource;
  readonly wallet: string | null;
}

/** The sources of position figures. */
const riskSources: ReadonlySet<NoDataSource> = new Set<Source>([
  "traderState",
  "markets",
  "marketConfig",
  "traderView",
]);

export interface ExtentsOptions extends TextSources {
  readonly wallets: readonly WatchedWallet[];
  /** Wallets whose positions count as at stake: positions of followed traders do not. */
  readonly guarded: ReadonlySet<string>;
  readonly silence: (nowMs: number) => NoDataText["silence"];
}

/** Returns the rule for an alert of this extent. */
export function ruleOf({ silence, wallets }: Pick<Extent, "silence" | "wallets">): string {
  return silence !== null && wallets.length > groupedFromWallets ? unreachableRule : noDataRule;
}

/**
 * Returns the labels that all of these wallets share, so that routes by a desk's label match data of that desk alone.
 */
export function commonLabels(
  [first, ...others]: readonly string[],
  world: World,
): Readonly<Record<string, string>> {
  const of = (wallet: string) => world.wallet(wallet)?.labels ?? {};
  if (first === undefined) return {};
  return Object.fromEntries(
    Object.entries(of(first)).filter(([name, value]) => others.every((other) => of(other)[name] === value)),
  );
}

export class Extents {
  readonly #options: ExtentsOptions;

  constructor(options: ExtentsOptions) {
    this.#options = options;
  }

  /** @param state `unreadSeverity`: the severity for a wallet that was never read */
  of(
    state: {
      readonly gaps: Iterable<Gap>;
      readonly awaited: Iterable<Listed>;
      readonly unreadSeverity: Severity;
      /** Readings of accounts that were near liquidation at the last notification. */
      readonly wasNear: ReadonlySet<string>;
    },
    nowMs: number,
  ): Extent {
    const { world, failures, wallets: watched, startedMs, freshMs } = this.#options;
    const gaps = [...state.gaps];
    const listed: readonly Listed[] = [...gaps, ...state.awaited];
    // Data that is settling is listed only if nothing else is missing.
    const open = gaps.filter((gap) => gap.open);
    // After a start or a reload the rules may not lack the previously listed data yet.
    const lacks = gaps.length > 0 ? gaps : this.#unread(listed, nowMs);
    const missing = missingOf(open.length > 0 ? open : lacks, this.#options, nowMs);
    const wallets = new Set<string>();
    for (const { wallet } of listed) if (wallet !== null) wallets.add(wallet);
    const silence = this.#options.silence(nowMs);
    // The rules of a gap may lack data of other sources too.
    const risky = silence !== null || [...listed, ...missing].some(({ source }) => riskSources.has(source));
    const lackedMs = gaps.reduce((first, { sinceMs }) => Math.min(first, sinceMs), nowMs);
    // Answers from before the outage do not describe the time since.
    const answersFromMs = silence === null ? lackedMs : Number.POSITIVE_INFINITY;
    const atRisk = this.#atRisk(gaps, listed, missing, silence !== null);
    const stillFromMs = (source: Source) => Math.max(answersFromMs, nowMs - freshMs(source));
    const stake = stakeOf(world, atRisk, nowMs, stillFromMs, state.wasNear);
    const unread = stake.unread || this.#neverRead(listed);
    const near = risky && stake.near.length > 0;
    const severity = worseOf(near ? "critical" : "warning", unread ? state.unreadSeverity : "warning");
    const rules = [
      ...new Set(gaps.flatMap(({ unjudged }) => [...unjudged].map(({ rule }) => rule.name))),
    ].sort();
    let failure = null;
    for (const { source, wallet } of lacks) {
      const one = failures.of(source as Source, wallet);
      if (one !== null && (failure === null || one.atMs > failure.atMs)) failure = one;
    }
    const leading = missing.filter(({ source }) => source === missing[0]?.source);
    const readMs = silence === null ? oldest(leading) : silence.sinceMs;
    const againMs =
      gaps.length > 0 && listed.length === gaps.length && open.length === 0
        ? gaps.reduce((last, { judgedMs }) => Math.max(last, judgedMs ?? 0), 0)
        : null;
    return {
      ...{ againMs, missing, wallets: [...wallets].sort(), watched: watched.length, silence, risky },
      ...{ stake, critical: severity === "critical", rules, severity },
      reason: failure?.reason ?? null,
      lastFailure: failure === null ? null : `${failure.reason}: ${failure.detail}`,
      sinceMs: readMs ?? lackedMs,
      dataAtMs: readMs ?? startedMs,
    };
  }

  text(extent: Extent, nowMs: number): AlertText {
    return {
      summary: summaryOf(extent, this.#options, nowMs),
      description: descriptionOf(extent),
      value: extent.wallets.length > 1 ? extent.wallets.length : null,
      dataAtMs: extent.dataAtMs,
      details: detailsOf(extent, this.#options, nowMs),
    };
  }

  /** Returns the listed sources that were not read for a while. */
  #unread(listed: readonly Listed[], nowMs: number): readonly Lack[] {
    const { world, freshMs, startedMs } = this.#options;
    return listed.flatMap(({ source, wallet }) => {
      if (source === "configuration") return [];
      const readMs = world.lastSeenMs(source, wallet);
      if (readMs !== null && nowMs - readMs <= freshMs(source)) return [];
      return [lackOf(source, wallet, readMs ?? startedMs)];
    });
  }

  /** Returns the wallets whose position figures depend on missing data. */
  #atRisk(
    gaps: readonly Gap[],
    listed: readonly Listed[],
    missing: readonly Missing[],
    silent: boolean,
  ): Iterable<string> {
    const all = this.#options.guarded;
    const ofMarkets = missing.filter(
      ({ source, wallets }) => riskSources.has(source) && wallets.length === 0,
    );
    if (silent || ofMarkets.some(({ symbols }) => symbols.length === 0)) return all;
    const wallets = new Set<string>();
    for (const { source, wallet } of listed)
      if (wallet !== null && riskSources.has(source)) wallets.add(wallet);
    for (const { source, wallets: names } of missing)
      if (riskSources.has(source)) for (const name of names) wallets.add(name);
    for (const { source, wallet, unjudged } of gaps) {
      if (wallet !== null || !riskSources.has(source)) continue;
      for (const { node } of unjudged) if ("wallet" in node.subject) wallets.add(node.subject.wallet);
    }
    return [...wallets].filter((name) => all.has(name));
  }

  /** Returns true if nothing was read since the start of a listed wallet, or of all wallets if none is listed. */
  #neverRead(listed: readonly Listed[]): boolean {
    const { wallets } = this.#options.world;
    const isUnread = (name: string): boolean => {
      const entry = wallets.get(name);
      return entry !== undefined && wholeSeenMs(entry) === null;
    };
    const names = listed.flatMap(({ wallet }) => (wallet === null ? [] : [wallet]));
    if (names.length > 0) return names.some(isUnread);
    return wallets.size > 0 && [...wallets.keys()].every(isUnread);
  }
}

/** Maximum number of firing alerts that the end of a no-data alert lists. */
const maxFiring = 3;

/**
 * @param unread sources that its text named and that were not read since: no rule needs them
 * @param others wallets of which other data is missing
 * @param firing the firing alerts about the covered wallets, in words
 */
export function endText(
  { live, sources, wallets, wasSilent, readMs }: NoDataAlert,
  unread: ReadonlySet<NoDataSource>,
  others: readonly string[],
  firing: readonly string[],
  nowMs: number,
  timezone: string,
): AlertText {
  const { sinceMs, summary } = live.alert;
  const description =
    "While this lasted, the rules that read it could not be judged: they neither fired nor resolved.";
  const still: (readonly [string, string])[] =
    others.length > 0 ? [["Still without data", others.join(", ")]] : [];
  for (const one of firing.slice(0, maxFiring)) still.push(["Firing now", one]);
  if (firing.length > maxFiring) still.push(["Firing now", `${firing.length - maxFiring} more`]);
  const read = new Set([...sources].filter((one) => !unread.has(one)));
  if (readMs === null) {
    const text = `No rule needs it any more: ${summary}`;
    return { summary: text, description, value: null, dataAtMs: nowMs, details: still };
  }
  return {
    summary: endSummary(read.size > 0 ? read : sources, [...wallets].sort(), wasSilent, readMs - sinceMs),
    description,
    value: null,
    dataAtMs: readMs,
    details: [
      ["Not read from", formatTime(sinceMs, timezone)],
      ["Until", formatTime(readMs, timezone)],
      ...still,
    ],
  };
}
