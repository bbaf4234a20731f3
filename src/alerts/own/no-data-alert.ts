/** One no-data alert with what it lists: gaps that are open, and after a start those that the alert listed before it. */

import { z } from "zod";
import type { Severity } from "../../domain/alert.ts";
import { unreachableRule } from "../../domain/built-in.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Due } from "../../domain/deadlines.ts";
import { KeptKind, keptNumber } from "../../domain/kept.ts";
import { type Source, sources } from "../../domain/sources.ts";
import type { BlindSource } from "../../domain/status.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { LiveAlert } from "../live-alert.ts";
import { type Gap, gapKey } from "./gaps.ts";
import type { NoDataText } from "./no-data-text.ts";

/** Followed by the alert's id: what it lists, among the kept values. */
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

/** Gaps that are kept; others join again after a start as they are found. */
const maxKept = 200;

interface Listed {
  readonly source: BlindSource;
  readonly wallet: string | null;
}

interface Named extends Listed {
  /** The reading of which its text spoke, ms; null: there was none since the start. */
  readonly readMs: number | null;
}

/** The last report. */
interface Told {
  readonly silent: boolean;
  readonly wallets: number;
  readonly risky: boolean;
}

export class NoDataAlert implements Due {
  /** The wallet whose data are missing; null: of several wallets, or of the exchange. */
  readonly wallet: string | null;
  readonly live: LiveAlert;
  /** Open gaps by their keys. */
  readonly members = new Map<string, Gap>();
  /** Listed before the start, and neither read nor missing since, by key. */
  readonly awaited = new Map<string, Listed>();
  /** Keys of what was missing again as it was about to end: each is waited for once, until it is missing for so long that a gap tells. */
  readonly waited = new Set<string>();
  /** All that it ever listed. */
  readonly sources = new Set<BlindSource>();
  readonly wallets = new Set<string>();
  told: Told = { silent: false, wallets: 0, risky: false };
  /** Sources that its text listed last, by key: also those that its rules lack beside the gaps. */
  readonly #named = new Map<string, Named>();
  /** Readings of accounts that were near liquidation when it was notified last. */
  #near: ReadonlySet<string> = new Set();
  /** No read of the exchange succeeded at some time of it. */
  wasSilent = false;
  /** Since when less is missing than was reported, ms; null: it is not. */
  betterSinceMs: number | null = null;
  lookedMs = Number.NEGATIVE_INFINITY;
  /** The time at which something that it listed was read again last, ms; null: nothing was. */
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

  /** @param kept what `toKeep` gave; null: an older version fired the alert */
  static restored(live: LiveAlert, kept: Kept | null, watched: readonly WatchedWallet[]): NoDataAlert {
    const { alert } = live;
    const noDataAlert = new NoDataAlert(alert.subject === "exchange" ? null : alert.wallet, live, true);
    const { members, ...told } = keptOf(live, kept, watched);
    noDataAlert.told = told;
    noDataAlert.wasSilent = told.silent;
    for (const [source, wallet] of members) {
      if (wallet !== null && !watched.some(({ name }) => name === wallet)) continue;
      noDataAlert.#list({ source, wallet });
      noDataAlert.awaited.set(gapKey(source, wallet), { source, wallet });
    }
    return noDataAlert;
  }

  /** Goes on where it was before a reload. */
  goOn(before: NoDataAlert): void {
    this.order = before.order;
    this.told = before.told;
    this.wasSilent = before.wasSilent;
    this.betterSinceMs = before.betterSinceMs;
    this.readMs = before.readMs;
    this.#isRestored = before.#isRestored;
    this.#near = before.#near;
    this.#kept = before.#kept;
    // What is kept may be older. What is missing still joins as the rules are attached.
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

  /** Notes for the next start what it lists, where that changed. */
  keep(builder: ChangesBuilder): void {
    const kept = this.toKeep();
    if (kept !== null) keptNoData.put(this.live.alert.id, kept, builder);
  }

  /** Returns true if the alert of that wallet is held while this one fires. */
  holds(wallet: string): boolean {
    return this.told.silent || this.listsWallet(wallet);
  }

  /** A source was read as a whole. */
  read(key: string): void {
    this.#named.delete(key);
  }

  /** True for a source that its text named last and that was not read since. */
  names(key: string): boolean {
    return this.#named.has(key);
  }

  /**
   * Sources that its text named last with the time of a reading, and of which nothing was read since.
   * @param lastSeenMs the time since which all of a source was read, ms; null: it was not since the start
   */
  unread(lastSeenMs: (source: Source, wallet: string | null) => number | null): ReadonlySet<BlindSource> {
    const unread = new Set<BlindSource>();
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

  /** @param seenMs when its source answered last, ms; null: not since the start */
  closed({ answeredMs, judgedMs }: Gap, seenMs: number | null): void {
    const lastMs = Math.max(answeredMs ?? 0, seenMs ?? 0);
    // While it settled, it was read on.
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
    // A row about single markets says nothing of the source as a whole.
    for (const { source, symbols, wallets: owners, readMs } of missing)
      if (symbols.length === 0)
        for (const wallet of owners.length > 0 ? owners : [null])
          this.#named.set(gapKey(source, wallet), { source, wallet, readMs });
    const silent = silence !== null;
    this.told = { silent, wallets: wallets.length, risky };
    this.wasSilent ||= silent;
    this.betterSinceMs = null;
  }

  /** Less is missing, of which nobody is told: those who read of more learn nothing from less. */
  narrowed({ silence, wallets, risky }: Pick<NoDataText, "silence" | "wallets" | "risky">): void {
    const { told } = this;
    this.told = {
      silent: silence !== null,
      wallets: Math.max(told.wallets, wallets.length),
      risky: told.risky || risky,
    };
    this.betterSinceMs = null;
  }

  /** The state from which an extent is computed. */
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
      // What was read before the start is in the severity that the alert had.
      unreadSeverity: this.#isRestored ? this.live.alert.severity : "critical",
    };
  }

  /** The readings that it lists; null: as they were kept last. */
  toKeep(): Kept | null {
    const members: [Source, string | null][] = [];
    const listed = new Map<string, Listed>([...this.#named, ...this.members, ...this.awaited]);
    for (const { source, wallet } of listed.values()) {
      if (members.length >= maxKept) break;
      members.push([source as Source, wallet]);
    }
    const kept = { members, ...this.told };
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
