/**
 * The no-data alerts. One outage is one alert: it lists what is missing, is updated in place as that changes, and ends
 * when all that it listed is read again.
 *
 *   up to 3 wallets           one alert a wallet, `Blind`, and one for what no wallet owns (prices, status, …)
 *   more than 3 wallets       one alert for all of them, `Blind`; it holds those of single wallets
 *   no read succeeds at all   the same, `ExchangeUnreachable` where more than 3 wallets are without data
 *
 * It is critical where a position was near liquidation at the last reading or at a price since, or nothing was read since the start.
 */

import { severityRank } from "../../domain/alert.ts";
import { blindRule, unreachableRule } from "../../domain/built-in.ts";
import type { FailedRead } from "../../domain/changes.ts";
import type { ChangesBuilder } from "../../domain/changes-builder.ts";
import type { Deadlines } from "../../domain/deadlines.ts";
import type { KeptValues } from "../../domain/kept.ts";
import type { Observation } from "../../domain/observation.ts";
import { marketSources, type Source, stakeSources } from "../../domain/sources.ts";
import type { BlindSource } from "../../domain/status.ts";
import { missingInput } from "../../state/accounts/missing-input.ts";
import { ReadFailures } from "../../state/read-failures.ts";
import { wholeSeenMs } from "../../state/wallets/wallets.ts";
import type { WatchedWallet } from "../../state/wallets/watched.ts";
import type { World } from "../../state/world.ts";
import type { AlertBook } from "../alert-book.ts";
import { firingAlert } from "../firing-alert.ts";
import type { AlertText, LiveAlert } from "../live-alert.ts";
import { groupedFromWallets, noDataForMs } from "../patience.ts";
import { type Gap, Gaps, type GapsOptions, gapKey, type Sighted } from "./gaps.ts";
import { Misnamed } from "./misnamed.ts";
import { keptNoData, NoDataAlert } from "./no-data-alert.ts";
import { type Extent, Extents, endText } from "./no-data-extent.ts";
import { timeText } from "./no-data-text.ts";
import type { Over, OwnAlert } from "./own-alert.ts";

export interface NoDataOptions {
  readonly alerts: AlertBook;
  readonly deadlines: Deadlines;
  readonly builder: () => ChangesBuilder;
  readonly world: World;
  readonly wallets: readonly WatchedWallet[];
  /** Sources of rules that may not lack data unsaid. */
  readonly alerting: ReadonlySet<Source>;
  /** Those whose positions count as at stake. */
  readonly guarded: ReadonlySet<string>;
  readonly scheduleMs: Readonly<Record<Source, number>>;
  readonly startedMs: number;
  /** The time zone of times in texts. */
  readonly timezone: string;
  /** The no-data watch which is replaced at a reload. */
  readonly before?: NoData | undefined;
  /** Rules that the reload brought: what they read may still be on its way. */
  readonly newRules?: readonly string[];
}

/** Sources whose answers change what is at stake. */
const atStake: ReadonlySet<BlindSource> = stakeSources;
/** Sources whose answers may tell of some markets only. */
const ofMarkets: ReadonlySet<BlindSource> = new Set<BlindSource>([
  "markets",
  "marketConfig",
  ...marketSources,
]);

/** Shipped rules that tell, once for all wallets, why nobody signs in. */
const signInRules: ReadonlySet<string> = new Set(["LoginTextChanged", "SignerUnavailable"]);

/** The time in which wallets sign in once they can: two looks at what is missing, and the longest back-off, ms. */
const signInWithinMs = 120_000;

/** The least time for which a source that is read often counts as read, ms. */
const leastFreshMs = 5_000;
/** A text of so short a time ago counts as one of now, ms. */
const recentMs = 10_000;
/** So many schedules without an answer are a silence of the exchange. */
const silentSchedules = 3;

export class NoData implements OwnAlert {
  readonly observes = ["failed"] as const;
  readonly raises = [blindRule, unreachableRule] as const;
  readonly #options: NoDataOptions;
  readonly #gaps: Gaps;
  readonly #failures: ReadFailures;
  readonly #extents: Extents;
  readonly #misnamed: Misnamed;
  readonly #noDataAlerts = new Set<NoDataAlert>();
  /** Alerts that ended in the observation that is being taken in, with the wallets of which something is missing still. */
  readonly #ended: { readonly noDataAlert: NoDataAlert; readonly others: readonly string[] }[] = [];
  /** Those to look at when all rules are judged by what was observed. */
  readonly #toLook = new Set<NoDataAlert>();
  /** The time of the last successful read, ms; null: none did since the start. */
  #answeredMs: number | null = null;
  /** The time at which an alert last told why nobody signs in, ms. */
  #signInToldMs = Number.NEGATIVE_INFINITY;
  /** The time of the first successful read after a silence, ms. */
  #silenceEndedMs = Number.NEGATIVE_INFINITY;
  readonly #silentAfterMs: number;
  /** The start of watching, reloads apart, ms. */
  readonly startedMs: number;
  /** The start, or the last reload, ms. */
  readonly #rulesMs: number;
  /** Since when there is a rule that a reload brought, ms. */
  readonly #ruleSinceMs: Map<string, number>;
  /** Alerts of before a reload, by id, until they are taken over. */
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
      this.#answeredMs = before.#answeredMs;
      this.#silenceEndedMs = before.#silenceEndedMs;
      for (const noDataAlert of before.#noDataAlerts)
        this.#former.set(noDataAlert.live.alert.id, noDataAlert);
    }
    const { scheduleMs } = options;
    // As soon as the first source is missing that is read most often.
    this.#silentAfterMs =
      noDataForMs + silentSchedules * Math.min(scheduleMs.traderState, scheduleMs.markets);
    this.#misnamed = new Misnamed(rest);
    const gaps: GapsOptions = {
      ...options,
      sinceMs: (rule) => this.sinceMs(rule),
      onGoesOn: (gap) => {
        for (const noDataAlert of this.#noDataAlerts) if (noDataAlert.lists(gap.key)) noDataAlert.add(gap);
      },
      sourceOf: ({ node }, unknown) => missingInput(options.world, node.subject, unknown),
      causeOf: (source, wallet) => this.#failures.kindOf(source as Source, wallet),
      isListed: (wallet, source) =>
        source === "configuration"
          ? this.#misnamed.isListed
          : this.#listing(gapKey(source, wallet)) !== undefined,
      isToldElsewhere: (source, wallet) =>
        wallet !== null &&
        this.#failures.kindOf(source as Source, wallet) === "signed-out" &&
        this.#isSignInTold(options.builder().atMs),
      onDue: (gap, builder) => this.#onDue(gap, builder),
      isMissing: (source, wallet, nowMs) => this.#isMissing(source, wallet, nowMs),
      onMoved: (gap, from) => {
        for (const noDataAlert of this.#noDataAlerts) {
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
      silence: (nowMs) => (this.#isSilent(nowMs) ? { sinceMs: this.#answeredMs } : null),
    });
  }

  observe(seen: Observation): void {
    if (seen.kind === "failed") this.failed(seen);
  }

  /** It goes on, or ends when what it lists is read. */
  restore(live: LiveAlert, keep: KeptValues): Over | null {
    const { alert } = live;
    if (alert.labels.source === "configuration") {
      this.#misnamed.restore(live);
      return null;
    }
    const noDataAlert = NoDataAlert.restored(live, keptNoData.get(keep, alert.id), this.#options.wallets);
    const former = this.#former.get(alert.id);
    this.#noDataAlerts.add(noDataAlert);
    this.#follow(noDataAlert);
    if (former) {
      noDataAlert.goOn(former);
      // What it lists is not complete before all rules are attached.
      noDataAlert.lookedMs = Number.POSITIVE_INFINITY;
    } else {
      // After a start nothing was read yet, and all of it looks worse than it is, until the first review.
      noDataAlert.lookedMs = this.#options.startedMs + noDataForMs;
    }
    this.#options.deadlines.set(noDataAlert, former?.dueMs ?? this.#options.startedMs + noDataForMs);
    const common = this.#find(null);
    if (common === undefined) return null;
    for (const one of this.#noDataAlerts) {
      if (one.wallet !== null && common.holds(one.wallet))
        this.#options.alerts.hold(this.#options.builder(), one.live, true);
    }
    return null;
  }

  /** Since when a rule has been judged by, ms. */
  sinceMs(rule: string): number {
    return this.#ruleSinceMs.get(rule) ?? this.startedMs;
  }

  /** All rules of a reload are attached. */
  tookOver(builder: ChangesBuilder): void {
    this.#gaps.tookOver(builder);
    for (const noDataAlert of this.#noDataAlerts) {
      const former = this.#former.get(noDataAlert.live.alert.id);
      if (former) noDataAlert.lookedMs = former.lookedMs;
    }
    this.#former.clear();
  }

  list(): { wallet: string | null; source: BlindSource; sinceMs: number; rules: string[] }[] {
    return [...this.#gaps.open()].map(({ wallet, source, sinceMs, unjudged }) => ({
      wallet,
      source,
      sinceMs,
      rules: [...new Set([...unjudged].map(({ rule }) => rule.name))].sort(),
    }));
  }

  /** Wallets of which something is missing. */
  get wallets(): number {
    return this.#gaps.wallets(this.#options.builder().atMs).size;
  }

  /** No-data alerts that fire. */
  get alerts(): number {
    return this.#noDataAlerts.size;
  }

  failed(failure: FailedRead): void {
    this.#failures.failed(failure);
  }

  /** Some read of the exchange succeeded, or its stream brought something. */
  answered(atMs: number): void {
    if (this.#isSilent(atMs)) this.#silenceEndedMs = atMs;
    this.#answeredMs = atMs;
  }

  /**
   * A source answered.
   * @param wholeMs the time since which all of what is read of it for the wallet was read, ms; null: a part was not since the start
   */
  seen(
    source: Source,
    wallet: string | null,
    builder: ChangesBuilder,
    wholeMs: number | null = builder.atMs,
  ): void {
    // Nearly always there is nothing that an answer could end.
    if (this.#failures.none && this.#gaps.size === 0 && this.#noDataAlerts.size === 0) return;
    const gap = this.#gaps.get(source, wallet);
    if (gap === undefined) this.#failures.answered(source, wallet, builder.atMs);
    else gap.answeredMs = builder.atMs;
    if (atStake.has(source)) for (const noDataAlert of this.#noDataAlerts) this.#toLook.add(noDataAlert);
    if (wholeMs === null || gap?.open) return;
    if (builder.atMs - wholeMs > silentSchedules * this.#options.scheduleMs[source]) return;
    const key = gapKey(source, wallet);
    for (const noDataAlert of this.#noDataAlerts) {
      noDataAlert.read(key);
      if (ofMarkets.has(source)) {
        // Rules that still lack a market are judged by this answer first, and join.
        if (noDataAlert.awaited.has(key) && this.#isReadForAll(source, noDataAlert))
          this.#options.deadlines.set(noDataAlert, Math.min(noDataAlert.dueMs, builder.atMs + 1));
        continue;
      }
      if (!noDataAlert.awaited.delete(key)) continue;
      if (builder.atMs > noDataAlert.live.alert.sinceMs) noDataAlert.readMs = builder.atMs;
      this.#endIfRead(noDataAlert, builder);
    }
  }

  /** All rules are judged by what was observed. */
  judged(builder: ChangesBuilder): void {
    // The end of an alert was made amid an answer: it lists what fires once all of that was taken in.
    for (const { noDataAlert, others } of this.#ended.splice(0)) {
      const { alertChanges } = builder.changes;
      const at = alertChanges.findLastIndex(
        ({ kind, alertId }) => kind === "ended" && alertId === noDataAlert.live.alert.id,
      );
      if (at < 0) continue;
      const firing = this.#firingBeside(noDataAlert, builder.atMs);
      const { details = [] } = this.#endText(noDataAlert, others, firing, builder.atMs);
      alertChanges[at] = { ...alertChanges[at]!, details };
    }
    for (const noDataAlert of this.#toLook)
      if (this.#noDataAlerts.has(noDataAlert) && noDataAlert.members.size > 0)
        this.#look(noDataAlert, builder);
    this.#toLook.clear();
  }

  /** A judgement turned unknown, known again, or unknown for another reason. */
  note(one: Sighted, builder: ChangesBuilder): void {
    this.#gaps.note(one, builder);
  }

  #isSilent(nowMs: number): boolean {
    return nowMs - (this.#answeredMs ?? this.#options.startedMs) > this.#silentAfterMs;
  }

  /** True if a source that is always read was not for longer than it may be. */
  #isMissing(source: BlindSource, wallet: string | null, nowMs: number): boolean {
    if (source !== "markets" && source !== "traderState") return false;
    const { world, scheduleMs } = this.#options;
    const readMs = world.lastSeenMs(source, wallet);
    const freshMs = Math.max(leastFreshMs, 2 * scheduleMs[source]);
    return readMs !== null && nowMs - readMs > freshMs;
  }

  /** Waits for what an alert listed and is missing again, before it is for so long that a gap tells. @returns true if it waits */
  #awaitMissing(noDataAlert: NoDataAlert, builder: ChangesBuilder): boolean {
    const { sources, wallets, awaited, waited } = noDataAlert;
    for (const source of ["markets", "traderState"] as const) {
      if (!sources.has(source)) continue;
      for (const wallet of source === "markets" ? [null] : wallets) {
        const key = gapKey(source, wallet);
        if (waited.has(key) || !this.#isMissing(source, wallet, builder.atMs)) continue;
        waited.add(key);
        awaited.set(key, { source, wallet });
      }
    }
    if (awaited.size === 0) return false;
    this.#options.deadlines.set(noDataAlert, Math.min(noDataAlert.dueMs, builder.atMs + noDataForMs));
    return true;
  }

  #listing(key: string): NoDataAlert | undefined {
    for (const noDataAlert of this.#noDataAlerts) if (noDataAlert.lists(key)) return noDataAlert;
    return undefined;
  }

  #find(wallet: string | null): NoDataAlert | undefined {
    for (const noDataAlert of this.#noDataAlerts) if (noDataAlert.wallet === wallet) return noDataAlert;
    return undefined;
  }

  /** True while an alert tells why nobody signs in, and until the wallets have had the time to, once that is over. */
  #isSignInTold(nowMs: number): boolean {
    const fires = [...this.#options.alerts.live.values()].some(
      ({ alert }) => signInRules.has(alert.rule) && !alert.shadow,
    );
    if (fires) this.#signInToldMs = nowMs;
    return nowMs - this.#signInToldMs <= signInWithinMs;
  }

  #onDue(gap: Gap, builder: ChangesBuilder): void {
    if (gap.source === "configuration") {
      this.#misnamed.due(gap, builder);
      return;
    }
    const nowMs = builder.atMs;
    const listing = [...this.#noDataAlerts].filter((one) => one.lists(gap.key));
    for (const one of listing) one.add(gap);
    // After a start what an alert lists is due at once, though nothing could be read yet: no reason for another alert.
    if (listing.length > 0 && nowMs < this.#options.startedMs + noDataForMs) return;
    const silent = this.#isSilent(nowMs);
    const grouped = this.#gaps.wallets(nowMs, groupedFromWallets + 1).size > groupedFromWallets;
    const common = this.#find(null);
    if (silent || (grouped && (gap.wallet !== null || common !== undefined))) {
      if (listing.some((one) => one.wallet === null)) this.#look(common!, builder);
      else this.#gather(silent, builder);
      return;
    }
    if (listing.length > 0) return;
    // What a common alert lists of a wallet stays together.
    const own = gap.wallet !== null && common?.listsWallet(gap.wallet) ? common : this.#find(gap.wallet);
    if (own === undefined) this.#open(gap.wallet, [gap], builder);
    else {
      own.add(gap);
      this.#look(own, builder);
    }
  }

  /** One alert lists all gaps from now on, and holds those of single wallets. */
  #gather(silent: boolean, builder: ChangesBuilder): void {
    const gaps = [...this.#gaps.open()].filter(
      ({ source, wallet, due, countsFromMs }) =>
        source !== "configuration" && (due || silent || (wallet !== null && countsFromMs <= builder.atMs)),
    );
    if (gaps.length === 0) return;
    const { wallets, alerts } = this.#options;
    // Where one wallet is watched, its own alert tells of the exchange, too.
    const [first] = wallets;
    const only =
      wallets.length === 1 && gaps.some(({ wallet }) => wallet === first?.name) ? first!.name : null;
    let carrier = this.#find(null) ?? (only === null ? undefined : this.#find(only));
    if (carrier === undefined) carrier = this.#open(only, gaps, builder);
    else {
      for (const gap of gaps) carrier.add(gap);
      this.#look(carrier, builder);
    }
    for (const one of this.#noDataAlerts) if (one !== carrier) alerts.hold(builder, one.live, true);
  }

  #open(wallet: string | null, gaps: readonly Gap[], builder: ChangesBuilder): NoDataAlert {
    const nowMs = builder.atMs;
    const wasNear = new Set([...this.#noDataAlerts].flatMap((one) => [...one.state().wasNear]));
    const extent = this.#extents.of({ gaps, awaited: [], unreadSeverity: "critical", wasNear }, nowMs);
    const labels = wallet === null ? this.#commonLabels(extent.wallets) : this.#labels(wallet);
    const live = this.#options.alerts.fire(builder, {
      ...this.#extents.text(extent, nowMs),
      rule: ruleOf(extent),
      subject: wallet ?? "exchange",
      wallet,
      symbol: null,
      labels: { ...labels, source: extent.missing[0]?.source ?? gaps[0]!.source },
      severity: extent.severity,
      sinceMs: extent.sinceMs,
      alreadySo: false,
      runbook: null,
      happenedMs: null,
    });
    const noDataAlert = new NoDataAlert(wallet, live);
    for (const gap of gaps) noDataAlert.add(gap);
    noDataAlert.reported(extent);
    this.#noDataAlerts.add(noDataAlert);
    this.#follow(noDataAlert);
    this.#keep(noDataAlert, builder);
    this.#options.deadlines.set(noDataAlert, nowMs + noDataForMs);
    return noDataAlert;
  }

  #labels(wallet: string): Readonly<Record<string, string>> {
    return this.#options.world.wallet(wallet)?.labels ?? {};
  }

  /** Labels on which all of these wallets agree, so that routes by a desk's label find what concerns that desk alone. */
  #commonLabels([first, ...others]: readonly string[]): Readonly<Record<string, string>> {
    if (first === undefined) return {};
    const labels = Object.entries(this.#labels(first));
    return Object.fromEntries(
      labels.filter(([name, value]) => others.every((other) => this.#labels(other)[name] === value)),
    );
  }

  /** Lets an alert speak of now, and looks at it again from time to time. */
  #follow(noDataAlert: NoDataAlert): void {
    // Where it waits for what was read a moment ago there is nothing to be reminded of.
    noDataAlert.live.isGone = (nowMs) =>
      this.#noDataAlerts.has(noDataAlert) && noDataAlert.live.textNow(nowMs) === null;
    noDataAlert.live.textNow = (nowMs) => {
      if (!this.#noDataAlerts.has(noDataAlert)) return null;
      const extent = this.#extents.of(noDataAlert.state(), nowMs);
      return extent.missing.length > 0 ? this.#extents.text(extent, nowMs) : null;
    };
    // The next review looks for news beside what a reminder told.
    noDataAlert.live.onRenewed = (nowMs) =>
      noDataAlert.reported(this.#extents.of(noDataAlert.state(), nowMs));
    noDataAlert.onReview = () => this.#review(noDataAlert);
  }

  #review(noDataAlert: NoDataAlert): void {
    if (!this.#noDataAlerts.has(noDataAlert)) return;
    const builder = this.#options.builder();
    const { scheduleMs } = this.#options;
    // Where no rule turns out to need what a restored alert lists, nobody reads it.
    for (const [key, { source }] of noDataAlert.awaited) {
      const patienceMs = 4 * noDataForMs + silentSchedules * scheduleMs[source as Source];
      const isRead = ofMarkets.has(source) && this.#isReadForAll(source as Source, noDataAlert);
      // A reload may have taken the last rule that reads it.
      const sinceMs = this.#options.alerting.has(source as Source) ? this.#rulesMs : this.startedMs;
      if (isRead || builder.atMs >= sinceMs + patienceMs) noDataAlert.awaited.delete(key);
    }
    if (this.#endIfRead(noDataAlert, builder)) return;
    if (this.#isSilent(builder.atMs)) this.#gather(true, builder);
    if (noDataAlert.members.size > 0) this.#look(noDataAlert, builder, true);
    this.#keep(noDataAlert, builder);
    this.#options.deadlines.set(noDataAlert, builder.atMs + noDataForMs);
  }

  /** Returns true once all positions were read beside a source whose answers may leave out the market that is missing. */
  #isReadForAll(source: Source, noDataAlert: NoDataAlert): boolean {
    const { world } = this.#options;
    const readMs = world.lastSeenMs(source, null);
    if (readMs === null || [...world.wallets.values()].some((one) => wholeSeenMs(one) === null)) return false;
    if (readMs > noDataAlert.live.alert.sinceMs)
      noDataAlert.readMs = Math.max(noDataAlert.readMs ?? 0, readMs);
    return true;
  }

  /**
   * Holds what is missing now against what was reported: what is worse is reported at once where it is graver, else at the
   * next review; what is better, when it has been so for 30 s, and reported where the alert is less severe by it.
   */
  #look(noDataAlert: NoDataAlert, builder: ChangesBuilder, review = false): void {
    const nowMs = builder.atMs;
    if (!review && nowMs - noDataAlert.lookedMs < 1_000) return;
    noDataAlert.lookedMs = nowMs;
    const { live, told } = noDataAlert;
    const extent = this.#extents.of(noDataAlert.state(), nowMs);
    const rise = severityRank[extent.severity] - severityRank[live.alert.severity];
    const silent = extent.silence !== null;
    const { alerts } = this.#options;
    const update = (kind: "rose" | "fell" | "worsened"): void => {
      live.alert = { ...live.alert, rule: ruleOf(extent) };
      alerts.change(builder, live, kind, extent.severity, this.#extents.text(extent, nowMs));
      noDataAlert.reported(extent);
      this.#keep(noDataAlert, builder);
    };
    // Where nothing has been read for a while, a silence may be about to be reported.
    const silentFromMs = (this.#answeredMs ?? this.#options.startedMs) + this.#silentAfterMs;
    const falling = nowMs > silentFromMs - noDataForMs;
    if (falling && !told.silent && nowMs <= silentFromMs && silentFromMs + 1 < noDataAlert.dueMs)
      this.#options.deadlines.set(noDataAlert, silentFromMs + 1);
    const wider =
      !told.silent &&
      !falling &&
      ((extent.wallets.length > told.wallets &&
        (extent.wallets.length >= 1.5 * told.wallets ||
          extent.wallets.length === this.#options.wallets.length)) ||
        (extent.risky && !told.risky));
    if (rise > 0) update("rose");
    else if (silent && !told.silent) update("worsened");
    else if (review && wider && rise === 0) update("worsened");
    else if (rise < 0 || (told.silent && !silent)) {
      noDataAlert.betterSinceMs ??= nowMs;
      // Single answers do not end a silence.
      const quiet = told.silent && nowMs - this.#silenceEndedMs <= this.#silentAfterMs;
      if (!review || quiet || nowMs - noDataAlert.betterSinceMs < noDataForMs) return;
      // Nothing has been answered for a while, again.
      const unansweredMs = nowMs - (this.#answeredMs ?? Number.NEGATIVE_INFINITY);
      if (unansweredMs > 2 * Math.max(leastFreshMs, this.#options.scheduleMs.markets)) return;
      if (rise < 0) update("fell");
      else {
        noDataAlert.narrowed(extent);
        this.#keep(noDataAlert, builder);
      }
      return;
    }
    noDataAlert.betterSinceMs = null;
  }

  #onClosed(gap: Gap, builder: ChangesBuilder): void {
    if (gap.source === "configuration") {
      this.#misnamed.closed(builder);
      return;
    }
    for (const noDataAlert of this.#noDataAlerts) {
      if (!noDataAlert.members.delete(gap.key)) continue;
      noDataAlert.closed(gap, this.#options.world.lastSeenMs(gap.source as Source, gap.wallet));
      this.#endIfRead(noDataAlert, builder);
    }
    // A stream may have brought what a read still fails to.
    if (gap.answeredMs !== null) this.#failures.answered(gap.source as Source, gap.wallet, gap.answeredMs);
  }

  /** @returns whether all that it listed is read again, and it ended */
  #endIfRead(noDataAlert: NoDataAlert, builder: ChangesBuilder): boolean {
    if (noDataAlert.members.size > 0 || noDataAlert.awaited.size > 0) return false;
    // Its text named these as well: they are still missing, and no new trouble.
    for (const gap of this.#gaps.open()) if (noDataAlert.names(gap.key)) noDataAlert.add(gap);
    if (noDataAlert.members.size > 0) return false;
    if (this.#awaitMissing(noDataAlert, builder)) return false;
    const { alerts, deadlines } = this.#options;
    this.#noDataAlerts.delete(noDataAlert);
    deadlines.cancel(noDataAlert);
    const others = [...this.#gaps.wallets(builder.atMs)]
      .filter((name) => !noDataAlert.wallets.has(name))
      .sort();
    const firing = this.#firingBeside(noDataAlert, builder.atMs);
    const text = this.#endText(noDataAlert, others, firing, builder.atMs);
    const stands = others.length > 0 ? "noData" : firing.length > 0 ? "firing" : undefined;
    alerts.end(builder, noDataAlert.live, "recovered", text, null, stands);
    if (firing.length > 0) this.#ended.push({ noDataAlert, others });
    keptNoData.drop(noDataAlert.live.alert.id, builder);
    // Alerts that it held and whose gaps it did not list go on by themselves.
    if (noDataAlert.wallet === null)
      for (const one of this.#noDataAlerts) alerts.hold(builder, one.live, false);
    return true;
  }

  #endText(
    noDataAlert: NoDataAlert,
    others: readonly string[],
    firing: readonly string[],
    nowMs: number,
  ): AlertText {
    const { world, timezone } = this.#options;
    const unread = noDataAlert.unread((source, wallet) => world.lastSeenMs(source, wallet));
    return endText(noDataAlert, unread, others, firing, nowMs, timezone);
  }

  /** Alerts that fire and hold of wallets that it listed, or of all where it listed none, in words, the worst first. */
  #firingBeside({ wallets, live: own }: NoDataAlert, nowMs: number): string[] {
    const firing = [...this.#options.alerts.live.values()].filter((live) => {
      const { alert } = live;
      if (alert === own.alert || alert.shadow || alert.rule === blindRule || alert.wallet === null)
        return false;
      return (wallets.size === 0 || wallets.has(alert.wallet)) && !live.isGone(nowMs);
    });
    return firing
      .sort(
        (a, b) => severityRank[b.alert.severity] - severityRank[a.alert.severity] || a.alert.id - b.alert.id,
      )
      .map((one) => {
        const { id, severity, summary, textAtMs } = firingAlert(one, nowMs);
        const asOf =
          nowMs - textAtMs > recentMs ? `, as of ${timeText(textAtMs, nowMs, this.#options.timezone)}` : "";
        return `${severity}: ${summary}${asOf} (#${id})`;
      });
  }

  #keep(noDataAlert: NoDataAlert, builder: ChangesBuilder): void {
    const kept = noDataAlert.toKeep();
    if (kept !== null) keptNoData.put(noDataAlert.live.alert.id, kept, builder);
  }
}

function ruleOf({ silence, wallets }: Pick<Extent, "silence" | "wallets">): string {
  return silence !== null && wallets.length > groupedFromWallets ? unreachableRule : blindRule;
}

/** Returns true for what the exchange answers or its stream brings. */
export function bringsData(observation: Observation): boolean {
  switch (observation.kind) {
    case "accounts":
    case "prices":
    case "marketConfig":
    case "collateralAssets":
    case "fundingRate":
    case "depth":
    case "external":
    case "exchangeStatus":
    case "traderView":
    case "portfolio":
    case "events":
    case "backfill":
      return true;
    case "calendar":
      // After a reload a market without a calendar is reported as such without a request.
      return observation.nextTransitionMs !== null;
    case "figures":
      return observation.given.some(({ owner }) => owner !== "daemon");
    default:
      return false;
  }
}
