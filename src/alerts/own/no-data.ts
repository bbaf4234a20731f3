/**
 * The no-data alerts. One outage is one alert: it lists the missing data, is updated in place, and ends when all listed
 * data is read again.
 *
 *   up to 3 wallets           one alert a wallet, `Blind`, and one for data of no wallet (prices, status, …)
 *   more than 3 wallets       one alert for all of them, `Blind`; it holds those of single wallets
 *   no read succeeds at all   the same, `ExchangeUnreachable` where more than 3 wallets are without data
 *
 * It is critical if a position was near liquidation at the last reading or at a later price, or if nothing was read
 * since the start.
 */

import { noDataRule, unreachableRule } from "../../domain/alerts/built-in.ts";
import type { Observation } from "../../domain/observation.ts";
import { marketSources, type Source, stakeSources } from "../../domain/sources.ts";
import type { NoDataSource } from "../../domain/status.ts";
import type { FailedRead } from "../../domain/stored/changes.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { KeptValues } from "../../domain/stored/kept.ts";
import type { Deadlines } from "../../domain/structures/deadlines.ts";
import { missingInput } from "../../state/accounts/missing-input.ts";
import { ReadFailures } from "../../state/read-failures.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { World } from "../../state/world.ts";
import type { AlertBook } from "../alert-book.ts";
import type { LiveAlert } from "../live-alert.ts";
import { groupedFromWallets, noDataForMs } from "../patience.ts";
import { ExchangeSilence, silentSchedules } from "./exchange-silence.ts";
import { FiringNoDataAlerts } from "./firing-no-data-alerts.ts";
import { type Gap, Gaps, type GapsOptions, gapKey, type RuleOfSubject } from "./gaps.ts";
import { Misnamed } from "./misnamed.ts";
import { MissingReads } from "./missing-reads.ts";
import { keptNoData, NoDataAlert } from "./no-data-alert.ts";
import { NoDataEnds } from "./no-data-ends.ts";
import { Extents } from "./no-data-extent.ts";
import { NoDataReview } from "./no-data-review.ts";
import type { Over, OwnAlert } from "./own-alert.ts";
import { SignInReport } from "./sign-in-report.ts";

export interface NoDataOptions {
  readonly alerts: AlertBook;
  readonly deadlines: Deadlines;
  readonly builder: () => ChangesBuilder;
  readonly world: World;
  readonly wallets: readonly WatchedWallet[];
  /** Sources of rules whose missing data is reported. */
  readonly alerting: ReadonlySet<Source>;
  /** Wallets whose positions count as at stake. */
  readonly guarded: ReadonlySet<string>;
  readonly scheduleMs: Readonly<Record<Source, number>>;
  readonly startedMs: number;
  /** The time zone of times in texts. */
  readonly timezone: string;
  /** The no-data state of the watch that is replaced at a reload. */
  readonly before?: NoData | undefined;
  /** Rules that the reload added: their data may still be on its way. */
  readonly newRules?: readonly string[];
}

/** Sources whose answers change what is at stake. */
const atStake: ReadonlySet<NoDataSource> = stakeSources;
/** Sources whose answers may cover only some markets. */
const ofMarkets: ReadonlySet<NoDataSource> = new Set<NoDataSource>([
  "markets",
  "marketConfig",
  ...marketSources,
]);

export class NoData implements OwnAlert {
  readonly observes = ["failed"] as const;
  readonly raises = [noDataRule, unreachableRule] as const;
  readonly #options: NoDataOptions;
  readonly #gaps: Gaps;
  readonly #failures: ReadFailures;
  readonly #extents: Extents;
  readonly #misnamed: Misnamed;
  readonly #noDataAlerts: FiringNoDataAlerts;
  /** Alerts to review when all rules have been judged by the observation. */
  readonly #toLook = new Set<NoDataAlert>();
  readonly #silence: ExchangeSilence;
  readonly #reads: MissingReads;
  readonly #signIn: SignInReport;
  readonly #review: NoDataReview;
  readonly #ends: NoDataEnds;
  /** The start of watching, ms; a reload does not change it. */
  readonly startedMs: number;
  /** The start, or the last reload, ms. */
  readonly #rulesMs: number;
  /** The time since which each rule added by a reload exists, ms. */
  readonly #ruleSinceMs: Map<string, number>;
  /** Alerts from before a reload, by id, until they are taken over. */
  readonly #former = new Map<number, NoDataAlert>();

  constructor({ before, ...rest }: NoDataOptions) {
    const startedMs = before?.startedMs ?? rest.startedMs;
    const options = { ...rest, startedMs };
    this.#options = options;
    this.#rulesMs = rest.startedMs;
    this.startedMs = startedMs;
    this.#failures = before ? before.#failures : new ReadFailures();
    this.#ruleSinceMs = before ? before.#ruleSinceMs : new Map();
    for (const name of rest.newRules ?? []) this.#ruleSinceMs.set(name, rest.startedMs);
    if (before) {
      for (const noDataAlert of before.#noDataAlerts.all)
        this.#former.set(noDataAlert.live.alert.id, noDataAlert);
    }
    const { scheduleMs } = options;
    const { alerts, deadlines, world, timezone } = options;
    this.#silence = new ExchangeSilence(startedMs, scheduleMs, before ? before.#silence : undefined);
    this.#reads = new MissingReads(world, scheduleMs, deadlines);
    this.#signIn = new SignInReport(alerts);
    this.#ends = new NoDataEnds(alerts, world, timezone);
    this.#misnamed = new Misnamed(rest);
    const gaps: GapsOptions = {
      ...options,
      sinceMs: (rule) => this.sinceMs(rule),
      onGoesOn: (gap) => {
        for (const noDataAlert of this.#noDataAlerts.all)
          if (noDataAlert.lists(gap.key)) noDataAlert.add(gap);
      },
      sourceOf: ({ node }, unknown) => missingInput(world, node.subject, unknown),
      causeOf: (source, wallet) => this.#failures.kindOf(source as Source, wallet),
      isListed: (wallet, source) =>
        source === "configuration"
          ? this.#misnamed.isListed
          : this.#noDataAlerts.listing(gapKey(source, wallet)) !== undefined,
      isReportedElsewhere: (source, wallet) =>
        wallet !== null &&
        this.#failures.kindOf(source as Source, wallet) === "signed-out" &&
        this.#signIn.isReported(options.builder().atMs),
      onDue: (gap, builder) => this.#onDue(gap, builder),
      isMissing: (source, wallet, nowMs) => this.#reads.isMissing(source, wallet, nowMs),
      onMoved: (gap, from) => {
        for (const noDataAlert of this.#noDataAlerts.all) {
          if (!noDataAlert.members.has(from.key)) continue;
          noDataAlert.add(gap);
          this.#toLook.add(noDataAlert);
        }
      },
      onChanged: (gap, builder) => {
        if (gap.source === "configuration") this.#misnamed.changed(builder);
      },
      onClosed: (gap, builder) => this.#onClosed(gap, builder),
    };
    this.#gaps = new Gaps(gaps, before ? before.#gaps : undefined);
    this.#extents = new Extents({
      ...options,
      failures: this.#failures,
      freshMs: (source) => silentSchedules * scheduleMs[source],
      silence: (nowMs) => this.#silence.at(nowMs),
    });
    const extents = this.#extents;
    this.#noDataAlerts = new FiringNoDataAlerts({ alerts, deadlines, world, extents }, (noDataAlert) =>
      this.#onReview(noDataAlert),
    );
    this.#review = new NoDataReview({
      ...{ alerts, deadlines, extents, silence: this.#silence },
      ...{ wallets: options.wallets.length, marketsMs: scheduleMs.markets },
    });
  }

  observe(seen: Observation): void {
    if (seen.kind === "failed") this.failed(seen);
  }

  /** Continues the alert, or ends it when its listed data is read. */
  restore(live: LiveAlert, keep: KeptValues): Over | null {
    const { alert } = live;
    if (alert.labels.source === "configuration") {
      this.#misnamed.restore(live);
      return null;
    }
    const noDataAlert = NoDataAlert.restored(live, keptNoData.get(keep, alert.id), this.#options.wallets);
    const former = this.#former.get(alert.id);
    this.#noDataAlerts.add(noDataAlert);
    if (former) {
      noDataAlert.goOn(former);
      // Its list is not complete before all rules are attached.
      noDataAlert.lookedMs = Number.POSITIVE_INFINITY;
    } else {
      // After a start nothing has been read, so the extent is overstated until the first review.
      noDataAlert.lookedMs = this.#options.startedMs + noDataForMs;
    }
    this.#options.deadlines.set(noDataAlert, former?.dueMs ?? this.#options.startedMs + noDataForMs);
    const common = this.#noDataAlerts.find(null);
    if (common === undefined) return null;
    for (const one of this.#noDataAlerts.all) {
      if (one.wallet !== null && common.holds(one.wallet))
        this.#options.alerts.hold(this.#options.builder(), one.live, true);
    }
    return null;
  }

  /** Returns the time since which a rule has been judged, ms. */
  sinceMs(rule: string): number {
    return this.#ruleSinceMs.get(rule) ?? this.startedMs;
  }

  /** All rules of a reload are attached. */
  tookOver(builder: ChangesBuilder): void {
    this.#gaps.tookOver(builder);
    for (const noDataAlert of this.#noDataAlerts.all) {
      const former = this.#former.get(noDataAlert.live.alert.id);
      if (former) noDataAlert.lookedMs = former.lookedMs;
    }
    this.#former.clear();
  }

  list(): { wallet: string | null; source: NoDataSource; sinceMs: number; rules: string[] }[] {
    return [...this.#gaps.open()].map(({ wallet, source, sinceMs, unjudged }) => ({
      wallet,
      source,
      sinceMs,
      rules: [...new Set([...unjudged].map(({ rule }) => rule.name))].sort(),
    }));
  }

  /** The number of wallets with missing data. */
  get wallets(): number {
    return this.#gaps.wallets(this.#options.builder().atMs).size;
  }

  /** The number of firing no-data alerts. */
  get alerts(): number {
    return this.#noDataAlerts.all.size;
  }

  failed(failure: FailedRead): void {
    this.#failures.failed(failure);
  }

  /** Called when a read of the exchange succeeded, or its stream delivered something. */
  answered(atMs: number): void {
    this.#silence.answered(atMs);
  }

  /**
   * Called when a source answered.
   * @param wholeMs the time since which all data of it for the wallet was read, ms; null: a part was not since the
   * start
   */
  seen(
    source: Source,
    wallet: string | null,
    builder: ChangesBuilder,
    wholeMs: number | null = builder.atMs,
  ): void {
    // In nearly all cases there is nothing that an answer could end.
    if (this.#failures.none && this.#gaps.size === 0 && this.#noDataAlerts.all.size === 0) return;
    const gap = this.#gaps.get(source, wallet);
    if (gap === undefined) this.#failures.answered(source, wallet, builder.atMs);
    else gap.answeredMs = builder.atMs;
    if (atStake.has(source)) for (const noDataAlert of this.#noDataAlerts.all) this.#toLook.add(noDataAlert);
    if (wholeMs === null || gap?.open) return;
    if (builder.atMs - wholeMs > silentSchedules * this.#options.scheduleMs[source]) return;
    const key = gapKey(source, wallet);
    for (const noDataAlert of this.#noDataAlerts.all) {
      noDataAlert.read(key);
      if (ofMarkets.has(source)) {
        // Rules that still lack a market are judged by this answer first, and join.
        if (noDataAlert.awaited.has(key) && this.#reads.isReadForAll(source, noDataAlert))
          this.#options.deadlines.set(noDataAlert, Math.min(noDataAlert.dueMs, builder.atMs + 1));
        continue;
      }
      if (!noDataAlert.awaited.delete(key)) continue;
      if (builder.atMs > noDataAlert.live.alert.sinceMs) noDataAlert.readMs = builder.atMs;
      this.#endIfRead(noDataAlert, builder);
    }
  }

  /** All rules have been judged by the observation. */
  judged(builder: ChangesBuilder): void {
    this.#ends.judged(builder);
    for (const noDataAlert of this.#toLook)
      if (this.#noDataAlerts.all.has(noDataAlert) && noDataAlert.members.size > 0)
        this.#review.look(noDataAlert, builder);
    this.#toLook.clear();
  }

  /** Takes a judgement that became unknown, known, or unknown for another reason. */
  note(one: RuleOfSubject, builder: ChangesBuilder): void {
    this.#gaps.note(one, builder);
  }

  #onDue(gap: Gap, builder: ChangesBuilder): void {
    if (gap.source === "configuration") {
      this.#misnamed.due(gap, builder);
      return;
    }
    const nowMs = builder.atMs;
    const listing = [...this.#noDataAlerts.all].filter((one) => one.lists(gap.key));
    for (const one of listing) one.add(gap);
    // After a start the listed data is due at once, though nothing could be read yet: this opens no other alert.
    if (listing.length > 0 && nowMs < this.#options.startedMs + noDataForMs) return;
    const silent = this.#silence.isSilent(nowMs);
    const grouped = this.#gaps.wallets(nowMs, groupedFromWallets + 1).size > groupedFromWallets;
    const common = this.#noDataAlerts.find(null);
    if (silent || (grouped && (gap.wallet !== null || common !== undefined))) {
      if (listing.some((one) => one.wallet === null)) this.#review.look(common!, builder);
      else this.#gather(silent, builder);
      return;
    }
    if (listing.length > 0) return;
    // The listed data of a wallet stays in one common alert.
    const own =
      gap.wallet !== null && common?.listsWallet(gap.wallet) ? common : this.#noDataAlerts.find(gap.wallet);
    if (own === undefined) this.#noDataAlerts.open(gap.wallet, [gap], builder);
    else {
      own.add(gap);
      this.#review.look(own, builder);
    }
  }

  /** Lists all gaps in one alert from now on, which holds those of single wallets. */
  #gather(silent: boolean, builder: ChangesBuilder): void {
    const gaps = [...this.#gaps.open()].filter(
      ({ source, wallet, due, countsFromMs }) =>
        source !== "configuration" && (due || silent || (wallet !== null && countsFromMs <= builder.atMs)),
    );
    if (gaps.length === 0) return;
    const { wallets, alerts } = this.#options;
    // If only one wallet is watched, its own alert covers the exchange too.
    const [first] = wallets;
    const only =
      wallets.length === 1 && gaps.some(({ wallet }) => wallet === first?.name) ? first!.name : null;
    let carrier =
      this.#noDataAlerts.find(null) ?? (only === null ? undefined : this.#noDataAlerts.find(only));
    if (carrier === undefined) carrier = this.#noDataAlerts.open(only, gaps, builder);
    else {
      for (const gap of gaps) carrier.add(gap);
      this.#review.look(carrier, builder);
    }
    for (const one of this.#noDataAlerts.all) if (one !== carrier) alerts.hold(builder, one.live, true);
  }

  #onReview(noDataAlert: NoDataAlert): void {
    const builder = this.#options.builder();
    const { scheduleMs } = this.#options;
    // If no rule needs the listed data of a restored alert, it is not read.
    for (const [key, { source }] of noDataAlert.awaited) {
      const patienceMs = 4 * noDataForMs + silentSchedules * scheduleMs[source as Source];
      const isRead = ofMarkets.has(source) && this.#reads.isReadForAll(source as Source, noDataAlert);
      // A reload may have removed the last rule that reads it.
      const sinceMs = this.#options.alerting.has(source as Source) ? this.#rulesMs : this.startedMs;
      if (isRead || builder.atMs >= sinceMs + patienceMs) noDataAlert.awaited.delete(key);
    }
    if (this.#endIfRead(noDataAlert, builder)) return;
    if (this.#silence.isSilent(builder.atMs)) this.#gather(true, builder);
    if (noDataAlert.members.size > 0) this.#review.look(noDataAlert, builder, true);
    noDataAlert.keep(builder);
    this.#options.deadlines.set(noDataAlert, builder.atMs + noDataForMs);
  }

  #onClosed(gap: Gap, builder: ChangesBuilder): void {
    if (gap.source === "configuration") {
      this.#misnamed.closed(builder);
      return;
    }
    for (const noDataAlert of this.#noDataAlerts.all) {
      if (!noDataAlert.members.delete(gap.key)) continue;
      noDataAlert.closed(gap, this.#options.world.lastSeenMs(gap.source as Source, gap.wallet));
      this.#endIfRead(noDataAlert, builder);
    }
    // A stream may have delivered the data that a read still fails to get.
    if (gap.answeredMs !== null) this.#failures.answered(gap.source as Source, gap.wallet, gap.answeredMs);
  }

  /** @returns true if all listed data is read again and the alert ended */
  #endIfRead(noDataAlert: NoDataAlert, builder: ChangesBuilder): boolean {
    if (noDataAlert.members.size > 0 || noDataAlert.awaited.size > 0) return false;
    // Its text named these too: they are still missing, and no new problem.
    for (const gap of this.#gaps.open()) if (noDataAlert.names(gap.key)) noDataAlert.add(gap);
    if (noDataAlert.members.size > 0) return false;
    if (this.#reads.awaitMissing(noDataAlert, builder.atMs)) return false;
    const { alerts, deadlines } = this.#options;
    this.#noDataAlerts.delete(noDataAlert);
    deadlines.cancel(noDataAlert);
    const others = [...this.#gaps.wallets(builder.atMs)]
      .filter((name) => !noDataAlert.wallets.has(name))
      .sort();
    this.#ends.end(noDataAlert, others, builder);
    keptNoData.drop(noDataAlert.live.alert.id, builder);
    // Alerts that it held and whose gaps it did not list continue separately.
    if (noDataAlert.wallet === null)
      for (const one of this.#noDataAlerts.all) alerts.hold(builder, one.live, false);
    return true;
  }
}
