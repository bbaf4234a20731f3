/** One no-data alert with its list: open gaps, and after a start the gaps that it listed before. */

import { z } from "zod";
import type { Severity } from "../../domain/alerts/alert.ts";
import { unreachableRule } from "../../domain/alerts/built-in.ts";
import { type Source, sources } from "../../domain/sources.ts";
import type { NoDataSource } from "../../domain/status.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { KeptKind, keptNumber } from "../../domain/stored/kept.ts";
import type { Due } from "../../domain/structures/deadlines.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { LiveAlert } from "../live-alert.ts";
import { type Gap, gapKey } from "./gaps.ts";
import type { NoDataText } from "./no-data-text.ts";

/** The list of an alert among the kept values, by the alert's id. */
interface Kept {
  readonly members: readonly (readonly [source: Source, wallet: string | null])[];
  readonly silent: boolean;
  readonly wallets: number;
  readonly risky: boolean;
}

/** By alert. */
export const keptNoData: KeptKind<Kept, number> = new KeptKind(
  "noData/{}",
  z.object({
    members: z.array(z.tuple([z.enum(sources), z.string().nullable()])),
    silent: z.boolean(),
    wallets: keptNumber,
    risky: z.boolean(),
  }),
);

/** Maximum number of kept gaps; others join again after a start when they are found. */
const maxKept = 200;

interface Listed {
  readonly source: NoDataSource;
  readonly wallet: string | null;
}

interface Named extends Listed {
  /** The time of the reading that its text states, ms; null: none since the start. */
  readonly readMs: number | null;
}

/** The last report. */
interface Reported {
  readonly silent: boolean;
  readonly wallets: number;
  readonly risky: boolean;
}

export class NoDataAlert implements Due {
  /** The wallet whose data is missing; null: several wallets, or the exchange. */
  readonly wallet: string | null;
  readonly live: LiveAlert;
  /** Open gaps by their keys. */
  readonly members = new Map<string, Gap>();
  /** Gaps listed before the start whose data was neither read nor missing since, by key. */
  readonly awaited = new Map<string, Listed>();
  /**
   * Keys of data that was missing again when the alert was about to end: each is waited for once, until its gap is due.
   */
  readonly waited = new Set<string>();
  /** All sources that it has listed. */
  readonly sources = new Set<NoDataSource>();
  readonly wallets = new Set<string>();
  lastReport: Reported = { silent: false, wallets: 0, risky: false };
  /** Sources that its last text listed, by key, including those that its rules lack beside the gaps. */
  readonly #named = new Map<string, Named>();
  /** Readings of accounts that were near liquidation at the last notification. */
  #near: ReadonlySet<string> = new Set();
  /** True if at some time no read of the exchange succeeded. */
  wasSilent = false;
  /** Time since which less is missing than was reported, ms; null: not less. */
  betterSinceMs: number | null = null;
  lookedMs = Number.NEGATIVE_INFINITY;
  /** The time at which a listed source was last read again, ms; null: none was. */
  readMs: number | null = null;
  onReview: () => void = () => {};
  dueMs = Number.POSITIVE_INFINITY;
  queuedMs = Number.POSITIVE_INFINITY;
  place = -1;
  order: number | undefined = undefined;
  #isRestored: boolean;
  #kept = "";

  constructor(wallet: string | null, live: LiveAlert, isRestored = false) {
    this.wallet = wallet;
    this.live = live;
    this.#isRestored = isRestored;
  }

  /** @param kept the value that `toKeep` returned; null: an older version fired the alert */
  static restored(live: LiveAlert, kept: Kept | null, watched: readonly WatchedWallet[]): NoDataAlert {
    const { alert } = live;
    const noDataAlert = new NoDataAlert(alert.subject === "exchange" ? null : alert.wallet, live, true);
    const { members, ...reported } = keptOf(live, kept, watched);
    noDataAlert.lastReport = reported;
    noDataAlert.wasSilent = reported.silent;
    for (const [source, wallet] of members) {
      if (wallet !== null && !watched.some(({ name }) => name === wallet)) continue;
      noDataAlert.#list({ source, wallet });
      noDataAlert.awaited.set(gapKey(source, wallet), { source, wallet });
    }
    return noDataAlert;
  }

  /** Continues from its state before a reload. */
  goOn(before: NoDataAlert): void {
    this.order = before.order;
    this.lastReport = before.lastReport;
    this.wasSilent = before.wasSilent;
    this.betterSinceMs = before.betterSinceMs;
    this.readMs = before.readMs;
    this.#isRestored = before.#isRestored;
    this.#near = before.#near;
    this.#kept = before.#kept;
    // The kept list may be older. Missing data still joins while the rules are attached.
    this.awaited.clear();
    this.sources.clear();
    this.wallets.clear();
    for (const [key, { source, wallet }] of [...before.members, ...before.awaited])
      this.awaited.set(key, { source, wallet });
    for (const key of before.waited) this.waited.add(key);
    for (const [key, one] of before.#named) this.#named.set(key, one);
    for (const source of before.sources) this.sources.add(source);
    for (const wallet of before.wallets) this.wallets.add(wallet);
  }

  /** Stores the list for the next start, if it changed. */
  keep(builder: ChangesBuilder): void {
    const kept = this.toKeep();
    if (kept !== null) keptNoData.put(this.live.alert.id, kept, builder);
  }

  /** Returns true if the alert of that wallet is held while this one fires. */
  holds(wallet: string): boolean {
    return this.lastReport.silent || this.listsWallet(wallet);
  }

  /** Notes that a source was read completely. */
  read(key: string): void {
    this.#named.delete(key);
  }

  /** Returns true for a source that its last text named and that was not read since. */
  names(key: string): boolean {
    return this.#named.has(key);
  }

  /**
   * Returns the sources that its last text named with a reading time and of which nothing was read since.
   * @param lastSeenMs returns the time since which all of a source was read, ms; null: not since the start
   */
  unread(lastSeenMs: (source: Source, wallet: string | null) => number | null): ReadonlySet<NoDataSource> {
    const unread = new Set<NoDataSource>();
    for (const { source, wallet, readMs } of this.#named.values()) {
      if (source === "configuration" || readMs === null) continue;
      const seenMs = lastSeenMs(source, wallet);
      if (seenMs !== null && seenMs <= readMs) unread.add(source);
    }
    return unread;
  }

  lists(key: string): boolean {
    return this.members.has(key) || this.awaited.has(key);
  }

  listsWallet(wallet: string): boolean {
    for (const one of this.members.values()) if (one.wallet === wallet) return true;
    for (const one of this.awaited.values()) if (one.wallet === wallet) return true;
    return false;
  }

  add(gap: Gap): void {
    this.awaited.delete(gap.key);
    this.waited.delete(gap.key);
    this.members.set(gap.key, gap);
    this.#list(gap);
  }

  #list({ source, wallet }: Listed): void {
    this.sources.add(source);
    if (wallet !== null) this.wallets.add(wallet);
  }

  /** @param seenMs the time of its source's last answer, ms; null: none since the start */
  closed({ answeredMs, judgedMs }: Gap, seenMs: number | null): void {
    const lastMs = Math.max(answeredMs ?? 0, seenMs ?? 0);
    // Reads continued while it settled.
    const readMs = judgedMs === null ? lastMs : Math.min(lastMs, judgedMs);
    if (readMs > this.live.alert.sinceMs) this.readMs = Math.max(this.readMs ?? 0, readMs);
  }

  reported({
    silence,
    wallets,
    risky,
    missing,
    stake,
  }: Pick<NoDataText, "silence" | "wallets" | "risky" | "missing" | "stake">): void {
    this.#near = new Set(stake.near);
    this.#named.clear();
    // A row about single markets does not describe the whole source.
    for (const { source, symbols, wallets: owners, readMs } of missing)
      if (symbols.length === 0)
        for (const wallet of owners.length > 0 ? owners : [null])
          this.#named.set(gapKey(source, wallet), { source, wallet, readMs });
    const silent = silence !== null;
    this.lastReport = { silent, wallets: wallets.length, risky };
    this.wasSilent ||= silent;
    this.betterSinceMs = null;
  }

  /** Less is missing, which is not reported: a smaller extent needs no message. */
  narrowed({ silence, wallets, risky }: Pick<NoDataText, "silence" | "wallets" | "risky">): void {
    const { lastReport } = this;
    this.lastReport = {
      silent: silence !== null,
      wallets: Math.max(lastReport.wallets, wallets.length),
      risky: lastReport.risky || risky,
    };
    this.betterSinceMs = null;
  }

  /** Returns the state from which an extent is computed. */
  state(): {
    gaps: Iterable<Gap>;
    awaited: Iterable<Listed>;
    unreadSeverity: Severity;
    wasNear: ReadonlySet<string>;
  } {
    return {
      wasNear: this.#near,
      gaps: this.members.values(),
      awaited: this.awaited.values(),
      // The severity of the alert includes what was read before the start.
      unreadSeverity: this.#isRestored ? this.live.alert.severity : "critical",
    };
  }

  /** Returns the readings that it lists; null: unchanged since the last call. */
  toKeep(): Kept | null {
    const members: [Source, string | null][] = [];
    const listed = new Map<string, Listed>([...this.#named, ...this.members, ...this.awaited]);
    for (const { source, wallet } of listed.values()) {
      if (members.length >= maxKept) break;
      members.push([source as Source, wallet]);
    }
    const kept = { members, ...this.lastReport };
    const text = JSON.stringify(kept);
    if (text === this.#kept) return null;
    this.#kept = text;
    return kept;
  }

  onDue(): void {
    this.onReview();
  }
}

function keptOf({ alert }: LiveAlert, kept: Kept | null, watched: readonly WatchedWallet[]): Kept {
  if (kept !== null) return kept;
  const all = alert.rule === unreachableRule;
  const source = sources.find((one) => one === alert.labels.source);
  const members: Kept["members"] = all
    ? watched.map(({ name }) => ["traderState", name])
    : source === undefined
      ? []
      : [[source, alert.wallet]];
  return { members, silent: all, wallets: all ? watched.length : 1, risky: true };
}
