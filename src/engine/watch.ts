/**
 * The tick: one observation in, one Changes value out. No I/O, no clock, no chance: the same observations in the same
 * order give the same Changes, live, in a rule test, in a backtest or in a simulation.
 *
 *   observation ──► facts (accounts, markets, wallets) ──► windows ──► rules ──► alerts ──► owed items, acknowledgements
 *
 * Its state is changed in place; the caller commits what it returns before anything that follows from it is done, and
 * feeds it a `time` observation at `nextDeadlineMs()` and at least once a second.
 */

import { AlertBook, type LiveAlert } from "../alerts/alert-book.ts";
import type { Held } from "../alerts/dispatch.ts";
import { Endings } from "../alerts/endings.ts";
import { firingAlert } from "../alerts/firing-alert.ts";
import { incidentsOptions } from "../alerts/incidents/incidents.ts";
import { ChannelAlerts } from "../alerts/own/channel-alerts.ts";
import { Downtime } from "../alerts/own/downtime.ts";
import { DrillAlerts } from "../alerts/own/drill-alerts.ts";
import { Failing } from "../alerts/own/failing.ts";
import { InboxAlerts } from "../alerts/own/inbox-alerts.ts";
import { bringsData, NoData } from "../alerts/own/no-data.ts";
import { OwnAlerts } from "../alerts/own/own-alert.ts";
import { endingPatienceMs, firstLookMs, textPatienceMs } from "../alerts/patience.ts";
import { Throttles } from "../alerts/throttles.ts";
import type { SubaccountState } from "../domain/account.ts";
import { type PresentAlert, severityRank } from "../domain/alert.ts";
import type { Changes } from "../domain/changes.ts";
import { Deadlines, stoodStillMs } from "../domain/deadlines.ts";
import { type Ask, Draft } from "../domain/draft.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { Event } from "../domain/event.ts";
import type { ExplainAnswer } from "../domain/explanation.ts";
import type { DaemonFigures, Observation, Source, Tick } from "../domain/observation.ts";
import type { Silence } from "../domain/silence.ts";
import type { WatchStatus } from "../domain/status.ts";
import type { Subject } from "../domain/subject.ts";
import { accountName } from "../domain/subject.ts";
import { unreachable } from "../domain/unreachable.ts";
import type { WhatIfOutcome, WhatIfQuestion } from "../domain/what-if.ts";
import { explainedText } from "../evaluate/both-ends.ts";
import { Conditions, judgedAs } from "../evaluate/conditions.ts";
import { explain } from "../evaluate/explain.ts";
import { Happenings } from "../evaluate/happenings.ts";
import { applies, guards } from "../evaluate/selection.ts";
import { rulesOf } from "../evaluate/subject-rules.ts";
import { alertingSources, Vigils } from "../evaluate/vigils.ts";
import { WantedMarkets, type WantedSymbols } from "../evaluate/wanted-markets.ts";
import { factReader, type RuleSet } from "../rules/index.ts";
import { type AccountEntry, noteReading, openFacts, type Parting } from "../state/accounts.ts";
import { EquityCheck } from "../state/checks/equity-check.ts";
import { compareWithView } from "../state/checks/view-check.ts";
import { Counts } from "../state/counts.ts";
import { eventFacts } from "../state/event-facts.ts";
import { factName } from "../state/fact-name.ts";
import { Holdings } from "../state/holdings.ts";
import { Openings } from "../state/openings.ts";
import type { Doubt } from "../state/profit/profit.ts";
import { ProfitGaps } from "../state/profit/profit-gaps.ts";
import { Profits } from "../state/profit/profits.ts";
import { Today } from "../state/profit/today.ts";
import { Rights } from "../state/rights.ts";
import type { SubjectNode } from "../state/subjects.ts";
import { ToldSince } from "../state/told-since.ts";
import { partSeen, sumAccounts, type WalletEntry, walletSeen, wholeSeenMs } from "../state/wallets.ts";
import { type Needs, needsOf } from "../state/wants.ts";
import type { WatchedWallet } from "../state/watched.ts";
import { EventWindows } from "../state/windows/event-windows.ts";
import type { HeldMinutes } from "../state/windows/held-minutes.ts";
import { NamedValues } from "../state/windows/named-values.ts";
import { Recall } from "../state/windows/recall.ts";
import { Series } from "../state/windows/series.ts";
import { WindowPlan } from "../state/windows/windows.ts";
import { type Gone, World } from "../state/world.ts";
import { Advisor } from "./advice/advisor.ts";
import { Together } from "./aggregates/together.ts";
import { Given } from "./figures.ts";
import { MarketAnswers } from "./market-answers.ts";
import type { Remembered } from "./remembered.ts";
import { Restoring } from "./restore.ts";
import type { WatchSettings } from "./settings.ts";
import { watchStatus } from "./status.ts";

export interface Note {
  readonly level: "info" | "warn";
  readonly text: string;
}

/** The results of one observation. */
export interface Outcome {
  readonly changes: Changes;
  /** Readings to make at once. */
  readonly asks: readonly Ask[];
  /** For the log: what a person who reads it should know, each told once. */
  readonly notes: readonly Note[];
}

/** The parts of a watch that go over to the one that replaces it at a reload. */
interface Standing {
  readonly ruleSet: RuleSet;
  readonly deadlines: Deadlines;
  readonly vigils: Vigils;
  readonly throttles: Throttles;
  readonly happenings: Happenings;
  readonly today: Today;
  readonly firstLookUntilMs: number;
  readonly world: World;
  readonly alerts: AlertBook;
  readonly noData: NoData;
  readonly failing: Failing;
  readonly counts: Counts;
  readonly endings: Endings;
  readonly market: MarketAnswers;
  readonly together: Together;
  readonly equityCheck: EquityCheck;
  readonly openings: Openings;
  readonly told: ToldSince;
  readonly holdings: Holdings;
  readonly reportedMismatches: Set<string>;
  readonly viewMismatches: number;
}

/** Accounts that have not appeared by then start with what is seen from there on. */
const recallKeptMs = 600_000;
export class Watch {
  readonly #settings: WatchSettings;
  readonly #world: World;
  readonly #advisor: Advisor;
  /** The wallet of which accounts are about to be taken: what is due before that is not judged by its old ones. */
  #answering: string | null = null;
  /** Subjects whose windows over events have not been given the past yet. */
  readonly #newcomers: SubjectNode[] = [];
  readonly #deadlines: Deadlines;
  readonly #alerts: AlertBook;
  readonly #conditions: Conditions;
  readonly #happenings: Happenings;
  readonly #eventWindows: EventWindows;
  readonly #endings: Endings;
  readonly #noData: NoData;
  readonly #failing: Failing;
  readonly #downtime: Downtime;
  readonly #counts: Counts;
  readonly #vigils: Vigils;
  readonly #channels: ChannelAlerts;
  readonly #own: OwnAlerts;
  readonly #throttles: Throttles;
  readonly #series: Series;
  readonly #named: NamedValues;
  readonly #restoring: Restoring;
  readonly #rights: Rights;
  readonly #needs: Needs;
  readonly #equityCheck: EquityCheck;
  readonly #openings: Openings;
  readonly #told: ToldSince;
  readonly #today: Today;
  readonly #profits: Profits;
  readonly #holdings: Holdings;
  readonly #together: Together;
  readonly #market: MarketAnswers;
  readonly #given: Given;
  readonly #wantedMarkets: WantedMarkets;
  /** Samples of before the start, for subjects that are still to appear. */
  readonly #recall = new Recall();
  /** Facts as history had them at the start. */
  readonly #facts: ReadonlyMap<string, string>;
  readonly #gaps = new ProfitGaps();
  readonly #reportedMismatches: Set<string>;
  /** Subjects of before a reload: their windows are fed the past with the first observation. */
  readonly #standing: SubjectNode[] = [];
  #notes: Note[] = [];
  #draft: Draft;
  /** Decisions made outside of an observation; they wait here for the next one. */
  readonly #between: Draft;
  #startedMs: number;
  #viewMismatches: number;
  /** A position or an account went with the answer that is being taken. */
  #parted = false;
  #replaced = false;
  readonly #wentOn: boolean;
  readonly #firstLookUntilMs: number;
  #nowMs: number;
  /** The time of the last observation, also before a reload, ms. */
  #observedMs: number;

  /** @param before the watch that this one replaces at a reload: what it knows goes over, and it must not be used any more */
  constructor(settings: WatchSettings, remembered: Remembered, nowMs: number, before: Watch | null = null) {
    this.#settings = settings;
    this.#startedMs = nowMs;
    this.#wentOn = before !== null;
    this.#facts = remembered.facts;
    this.#nowMs = nowMs;
    this.#observedMs = before === null ? nowMs : before.#observedMs;
    this.#between = new Draft(nowMs);
    this.#draft = this.#between;
    const draft = (): Draft => this.#draft;
    const wallet = (name: string): WatchedWallet | undefined => this.#world.wallet(name);
    const was: Partial<Standing> = before === null ? {} : before.#handOver();
    this.#firstLookUntilMs =
      was.firstLookUntilMs ?? (settings.reloaded ? Number.NEGATIVE_INFINITY : nowMs + firstLookMs);
    const deadlines = new Deadlines(was.deadlines);
    this.#deadlines = deadlines;
    this.#needs = needsOf(settings.ruleSet, settings.named);
    const onNew = (node: SubjectNode): void => this.#welcome(node);
    const onGone: Gone = (node, account, symbol, why) => this.#gone(node, account, symbol, why);
    this.#world = was.world ?? new World(this.#needs, onNew, onGone);
    was.world?.serve(settings.wallets, this.#needs, onNew, onGone);
    this.#advisor = new Advisor(this.#world, settings);
    const kept = new Set(this.#world.wallets.keys());
    this.#equityCheck = new EquityCheck((text) => this.#notes.push({ level: "warn", text }), was.equityCheck);
    this.#openings = was.openings ?? new Openings(remembered.facts);
    this.#told = was.told ?? new ToldSince();
    this.#holdings = was.holdings ?? new Holdings();
    this.#reportedMismatches = was.reportedMismatches ?? new Set();
    this.#viewMismatches = was.viewMismatches ?? 0;
    this.#alerts = new AlertBook({
      ids: { ...remembered.ids },
      routing: settings.routing,
      incidents: incidentsOptions(settings.ruleSet.conditions, settings.capacities ?? new Map()),
      inhibit: settings.inhibit ?? [],
      remind: settings.remind,
      timezone: settings.timezone,
      deadlines,
      draft,
      advise: (alert, atMs) => this.#advisor.about(alert, atMs),
      before: was.alerts,
    });
    const alerts = this.#alerts;
    this.#noData = new NoData({
      ...{ alerts, deadlines, draft, world: this.#world, startedMs: nowMs },
      wallets: settings.wallets,
      alerting: alertingSources(settings.ruleSet),
      guarded: new Set(
        settings.wallets
          .filter((wallet) =>
            settings.ruleSet.conditions.some((rule) => guards(rule, wallet, settings.pairs)),
          )
          .map(({ name }) => name),
      ),
      scheduleMs: settings.scheduleMs,
      timezone: settings.timezone,
      before: was.noData,
      newRules: was.ruleSet ? newRules(was.ruleSet, settings.ruleSet) : [],
    });
    this.#failing = new Failing({
      alerts,
      deadlines,
      draft,
      judgedAll: (rule) => this.#judgedAll(rule),
      before: was.failing,
      ruleOf: (name) =>
        [...settings.ruleSet.conditions, ...settings.ruleSet.events].find((one) => one.name === name),
      stands: (subject) => this.#world.nodes.has(subject),
    });
    this.#counts = was.counts ?? new Counts(remembered.keep);
    this.#downtime = new Downtime({ alerts, timezone: settings.timezone, keep: remembered.keep });
    this.#vigils = new Vigils(
      {
        ruleSet: settings.ruleSet,
        wallets: settings.wallets,
        pairs: settings.pairs,
        deadlines,
        draft,
        note: (sighted, into) => this.#noData.note(sighted, into),
        startedMs: this.#noData.startedMs,
        seenMs: (source, of) => (this.#wentOn ? this.#world.lastSeenMs(source, of) : null),
      },
      was.vigils,
    );
    const isConfigured = (channel: string) => settings.channels?.includes(channel) ?? true;
    this.#channels = new ChannelAlerts(alerts, isConfigured);
    this.#own = new OwnAlerts(alerts, [
      ...[this.#noData, this.#failing, this.#downtime, this.#channels],
      new DrillAlerts(alerts, isConfigured, settings.drills ?? true),
      new InboxAlerts({ alerts, wallet, audits: settings.acknowledge.audit !== null }),
    ]);
    this.#throttles = new Throttles({ alerts, deadlines, draft, before: was.throttles });
    this.#endings = new Endings({
      alerts,
      deadlines,
      draft,
      release: (row, into) => this.#conditions.released(row, into),
      positionsOf: (account) => this.#world.accounts.get(account)?.positions,
      isPending: ({ rule, subject }, as) => {
        const node = this.#world.nodes.get(subject);
        return node !== undefined && this.#conditions.isPending(node, rule, as);
      },
      before: was.endings,
    });
    const windows = WindowPlan.none(settings.timezone);
    const facts = factReader(settings.named ?? [], settings.scheduleMs);
    this.#conditions = new Conditions({
      facts,
      timezone: settings.timezone,
      isMarked: ({ subject }) =>
        settings.judgeOldPositions !== false &&
        "wallet" in subject &&
        subject.wallet !== this.#answering &&
        !this.#world.accounts.ofWallet(subject.wallet).some(({ given }) => given),
      pricesSinceMs: () => this.#world.markets.pricesSinceMs,
      ruleSet: settings.ruleSet,
      windows,
      wallet,
      owner: (node, path) => this.#world.owner(node, path.scope, path.symbol),
      alerts,
      deadlines,
      draft,
      firstLookUntilMs: this.#firstLookUntilMs,
      starting: (rule, atMs) => atMs - this.#noData.sinceMs(rule) <= textPatienceMs && !this.#given.any,
      emptied: ({ node: { subject }, heldSlot, heldEmptyMs }) => {
        if (subject.scope !== "trader") return false;
        const account = this.#world.accounts.get(subject);
        if (account === undefined || account.positions.size > 0 || account.shrunkAtMs === 0) return false;
        // It held after that, with no position left, by orders or a debt: what was liquidated since came and went unseen.
        if (account.shrunkAtMs === heldEmptyMs) return false;
        return this.#endings.liquidatedSince(subject, account.shrunkAtMs, heldSlot);
      },
      heldSlotOf: ({ subject }) => {
        if (subject.scope !== "trader" && subject.scope !== "position") return 0;
        const account = this.#world.accounts.get(subject);
        // Its sizes are the same since then, so no liquidation lies between. One in the very slot of the first state that
        // shows them may be from after it, until a state of a later slot shows them, too.
        return account === undefined ? 0 : Math.min(account.slot, account.sizesSlot + 1);
      },
      heldEmptyMsOf: ({ subject }) => {
        const account = subject.scope === "trader" ? this.#world.accounts.get(subject) : undefined;
        return account === undefined || account.positions.size > 0 ? null : account.shrunkAtMs;
      },
      doubtOf: (node) => this.#doubtOf(node),
      explainedSince: (node, ms, raisedMs) =>
        this.#together.explainedSince(node, ms, raisedMs) ??
        this.#walletOf(node)?.profit.explainedSince(ms, raisedMs) ??
        null,
      toldShare: (spec, node, atMs) => {
        const shareOf = (subject: Subject) => this.#told.share(spec, subject, atMs, this.#today.startMs);
        const members = this.#together.members(node).map((wallet) => shareOf({ scope: "wallet", wallet }));
        return members.length === 0 ? shareOf(node.subject) : Math.min(...members.map((share) => share ?? 1));
      },
      onSight: (instance, into) => {
        this.#noData.note(instance, into);
        this.#failing.condition(instance.rule, instance.node.name, instance.unknown, into);
      },
      onPending: ({ rule, node }) => {
        const text = `${rule.mode === "shadow" ? "shadow, " : ""}pending: ${rule.name} of ${node.name} holds, and fires when it has held for ${formatDurationMs(rule.forMs)}`;
        this.#notes.push({ level: "info", text });
      },
      onReplaced: ({ node }, live, incarnation, into) => {
        const { subject } = node;
        if (subject.scope !== "position") alerts.end(into, live, "closed", null);
        else {
          this.#endings.end(into, {
            live,
            row: null,
            account: subject,
            symbol: subject.symbol,
            fallback: incarnation.split(" ")[0] === node.incarnation.split(" ")[0] ? "closed" : "flipped",
            text: null,
            fromMs: live.alert.sinceMs,
            fromSlot: this.#holdings.slotBefore(accountName(subject), this.#world.accounts.get(subject)),
            goneSlot: this.#world.accounts.slotOf(subject.wallet, subject.pdaIndex) || undefined,
            ...this.#holdings.extentBefore(subject, subject.symbol, incarnation, this.#world),
            another: true,
            suspicious: true,
          });
        }
      },
      onRecovered: (instance, live, { text, textAt, explained }, into) => {
        const subject = instance.node.subject;
        if (explained !== null) {
          const summary = `${instance.node.name}: ${explainedText(explained.usd)}`;
          alerts.end(into, live, "explained", { ...text, summary });
          return;
        }
        if (subject.scope !== "position" && subject.scope !== "trader") {
          alerts.end(into, live, "recovered", text);
          return;
        }
        const account = this.#world.accounts.get(subject);
        this.#endings.end(into, {
          live,
          row: null,
          account: subject,
          symbol: subject.scope === "position" ? subject.symbol : null,
          fallback: "recovered",
          judgedAs: judgedAs(instance),
          text,
          textAt,
          fromMs: Math.max(live.alert.sinceMs, instance.heldAtMs ?? 0),
          fromSlot: instance.heldSlot,
          goneSlot: account?.slot || undefined,
          side: extentOf(instance.node).side,
          another: false,
          suspicious:
            account !== undefined &&
            into.atMs - account.shrunkAtMs < endingPatienceMs &&
            !heldSinceResized(account, instance.heldSlot),
        });
      },
      takeBack: (instance, into) => {
        const { rule, node } = instance;
        const { subject } = node;
        if (subject.scope !== "position" && subject.scope !== "trader") return null;
        const [row, as] = [{ rule: rule.name, subject: node.name }, judgedAs(instance)];
        return this.#endings.takeBack(row, as, into) ?? this.#restoring.takeBack(row, subject, as, into);
      },
    });
    this.#eventWindows = new EventWindows(
      settings.ruleSet,
      (event, atMs) => this.#world.eventEnv(event, eventFacts(event, atMs), atMs),
      (event) => this.#world.ownersOf(event),
      (book, event) => this.#together.covers(book, event),
    );
    this.#happenings = new Happenings(
      {
        facts,
        ruleSet: settings.ruleSet,
        acknowledge: settings.acknowledge,
        alerts,
        throttles: this.#throttles,
        wallet,
        env: (event, facts) => this.#world.eventEnv(event, facts, this.#draft.atMs),
        figuresBefore: (event) => this.#world.figuresBefore(event),
        timezone: settings.timezone,
        absent: (event, unknown, sinceMs) => this.#world.knownAbsent(event, unknown.source, sinceMs),
        deadlines,
        draft,
        reloaded: before !== null,
        onSight: (sight, into) => this.#noData.note(sight, into),
        onJudged: (rule, subject, unknown, into) => this.#failing.event(rule, subject, unknown, into),
      },
      was.happenings,
    );
    this.#rights = new Rights({
      facts: remembered.facts,
      isOurs: (name) => (this.#world.wallets.get(name)?.sinceMs ?? 0) < nowMs,
      happened: (event, into) => this.#happened(event, into),
    });
    this.#series = new Series(settings.ruleSet);
    this.#wantedMarkets = new WantedMarkets(settings.ruleSet, settings.named);
    this.#named = new NamedValues({
      ruleSet: settings.ruleSet,
      windows,
      owner: (node, path) => this.#world.owner(node, path.scope, path.symbol),
    });
    for (const one of settings.wallets) this.#world.addWallet(one);
    this.#today = new Today({
      wallets: this.#world.wallets,
      told: this.#told,
      timezone: settings.timezone,
      deadlines,
      draft,
      nowMs,
      rolled: (into) => this.#newDay(into),
      before: was.today,
    });
    this.#profits = new Profits({
      markets: this.#world.markets,
      accounts: this.#world.accounts,
      today: this.#today,
      deadlines,
      draft,
      note: (text) => this.#notes.push({ level: "warn", text }),
      onGone: (account, into) => this.#holdings.gone(account, into),
      onSpotFlow: (wallet, atMs) => this.#gaps.takeFlow(wallet, atMs),
      asked: this.#needs.profit,
    });
    this.#restoring = new Restoring({
      ruleSet: settings.ruleSet,
      world: this.#world,
      alerts,
      conditions: this.#conditions,
      happenings: this.#happenings,
      known: (wallet) => kept.has(wallet),
      throttles: this.#throttles,
      own: this.#own,
      endings: this.#endings,
      downtime: this.#downtime,
      today: this.#today,
      holdings: this.#holdings,
      hasPair: (name) => settings.pairs?.some((pair) => pair.name === name) ?? false,
    });
    this.#together = new Together({
      ruleSet: settings.ruleSet,
      wallets: settings.wallets,
      pairs: settings.pairs ?? [],
      world: this.#world,
      conditions: this.#conditions,
      series: this.#series,
      named: this.#named,
      staleAfterMs: 3 * settings.scheduleMs.traderState,
      kept,
      before: was.together,
    });
    this.#market = new MarketAnswers({
      settings,
      world: this.#world,
      alerts,
      conditions: this.#conditions,
      noData: this.#noData,
      vigils: this.#vigils,
      series: this.#series,
      named: this.#named,
      restoring: this.#restoring,
      together: this.#together,
      facts: remembered.facts,
      happened: (event, into) => this.#happened(event, into),
      judgeAccount: (account, source, into) => this.#judgeAccount(account, source, into),
      warn: (text) => this.#notes.push({ level: "warn", text }),
      before: was.market,
    });
    this.#given = new Given({
      named: this.#named,
      world: this.#world,
      conditions: this.#conditions,
      noData: this.#noData,
      vigils: this.#vigils,
      gaps: this.#gaps,
      restoring: this.#restoring,
      welcomed: (into) => this.#replayEvents(into),
      changed: (wallets, into) => this.#together.manyChanged(wallets, null, true, into),
    });
    for (const event of remembered.liquidations) this.#endings.remember(event, nowMs);
    this.#alerts.recall(remembered.keep, remembered.alerts, nowMs);
    this.#restoring.restore(remembered, this.#draft);
    this.#world.daemon.facts.values.noDataAlerts = this.#noData.alerts;
    for (const node of this.#world.nodes.values()) this.#named.prepare(node);
    for (const node of [...this.#world.nodes.values()]) {
      this.#conditions.attach(node, this.#draft);
      if (node.subject.scope === "position") this.#downtime.opened(node.name, this.#draft);
      if (isAccountOrMarket(node)) this.#standing.push(node);
    }
    this.#together.start(remembered, nowMs);
    if (before !== null) this.#goOn();
  }

  /** True if what it knew went over to another watch. */
  get replaced(): boolean {
    return this.#replaced;
  }

  #handOver(): Standing {
    this.#replaced = true;
    return {
      ruleSet: this.#settings.ruleSet,
      deadlines: this.#deadlines,
      vigils: this.#vigils,
      throttles: this.#throttles,
      happenings: this.#happenings,
      today: this.#today,
      firstLookUntilMs: this.#firstLookUntilMs,
      world: this.#world,
      alerts: this.#alerts,
      noData: this.#noData,
      failing: this.#failing,
      counts: this.#counts,
      endings: this.#endings,
      market: this.#market,
      together: this.#together,
      equityCheck: this.#equityCheck,
      openings: this.#openings,
      told: this.#told,
      holdings: this.#holdings,
      reportedMismatches: this.#reportedMismatches,
      viewMismatches: this.#viewMismatches,
    };
  }

  /** Keeps the readings from before a reload: what history says of it is settled by that at once. */
  #goOn(): void {
    const draft = this.#draft;
    this.#vigils.goOn(draft.atMs);
    this.#happenings.retry(null, draft);
    for (const [name, entry] of this.#world.wallets) {
      this.#profits.goOn(entry, draft);
      for (const pdaIndex of this.#world.accounts.readIndices(name))
        this.#restoring.endUnclaimed(name, pdaIndex, draft);
    }
    const { entries, configAtMs } = this.#world.markets;
    if (configAtMs !== null) this.#restoring.endUnlisted(new Set(entries.keys()), draft);
    this.#together.goOn(draft);
    for (const part of [this.#alerts, this.#noData, this.#endings]) part.tookOver(draft);
  }

  /** By what it judges. */
  get ruleSet(): WatchSettings["ruleSet"] {
    return this.#settings.ruleSet;
  }

  /** The start, ms, and whether in place of another one: what a replay has to do at the same moment. */
  get beginning(): { readonly atMs: number; readonly reloaded: boolean; readonly wentOn?: true } {
    const reloaded = this.#settings.reloaded === true;
    return { atMs: this.#startedMs, reloaded, ...(this.#wentOn ? { wentOn: true } : {}) };
  }

  /**
   * The next time at which time alone may change something, ms; null when nothing is due. @param untilMs as of
   * `Deadlines.nextMs`
   */
  nextDeadlineMs(untilMs?: number): number | null {
    return this.#deadlines.nextMs(untilMs);
  }

  /** Takes one observation, then works off the deadlines that have come. An observation never moves time back. */
  observe(observation: Observation): Outcome {
    const atMs = Math.max(observation.atMs, this.#nowMs);
    if (atMs - this.#observedMs > stoodStillMs) {
      this.#world.markets.noteStandstill(atMs);
      // Between figures that are given nobody observes time.
      if (!this.#given.any) this.#alerts.noteStandstill(atMs);
    }
    this.#nowMs = atMs;
    this.#observedMs = atMs;
    const draft = new Draft(atMs);
    // What the construction and the restore decided leaves with the first observation.
    draft.absorb(this.#between);
    this.#draft = draft;
    this.#notes = [];
    for (const node of this.#standing.splice(0)) this.#recall.replay(node);
    // What was due before this arrived is judged first, by what was known then: data that went stale in a gap (a machine
    // that slept) do not count as seen all the while.
    this.#answering = observation.kind === "accounts" ? observation.wallet : null;
    this.#advisor.begin();
    this.#deadlines.run(atMs);
    this.#answering = null;
    this.#advisor.begin();
    if (bringsData(observation)) this.#noData.answered(atMs);
    this.#take(observation, draft);
    if (observation.kind !== "time")
      this.#happenings.retry("wallet" in observation ? observation.wallet : null, draft);
    this.#deadlines.run(atMs);
    this.#noData.judged(draft);
    // A rule about the daemon that is due before its next figures is judged by what is so now.
    if (!this.#given.any) this.#world.daemon.facts.values.noDataAlerts = this.#noData.alerts;
    if (atMs - this.#startedMs > recallKeptMs) this.#recall.clear();
    this.#alerts.complete(draft);
    const outcome = { changes: draft.changes, asks: draft.asks, notes: this.#notes };
    this.#draft = this.#between;
    return outcome;
  }

  /** Explains a rule's judgement of a subject now; asking changes nothing. */
  explain(rule: string, subject: string | null, nowMs: number): ExplainAnswer {
    const { ruleSet } = this.#settings;
    const wallet = (name: string) => this.#world.wallet(name);
    const doubtOf = (node: SubjectNode) => this.#doubtOf(node);
    const of = { ruleSet, nodes: this.#world.nodes.values(), alerts: this.#alerts, wallet, doubtOf };
    return explain(of, rule, subject, Math.max(nowMs, this.#nowMs));
  }

  /** Answers what a wallet's accounts would be; asking changes nothing. */
  whatIf(question: WhatIfQuestion, nowMs: number): WhatIfOutcome {
    return this.#advisor.whatIf(question, Math.max(nowMs, this.#nowMs));
  }

  /** A firing alert as it stands now; null where none of this id fires. */
  present(alertId: number, nowMs: number): PresentAlert | null {
    const live = this.#alerts.live.get(alertId);
    if (live === undefined) return null;
    const atMs = Math.max(nowMs, this.#nowMs);
    const { severity, summary, value, textAtMs } = firingAlert(live, atMs);
    const isGone = live.isGone(atMs) || this.#isTaken(live.alert.subject);
    const kept = live.isBetter() ? `no longer ${severity} if that lasts` : live.limit(severity, value)?.until;
    const until = isGone ? undefined : kept;
    return {
      ...{ severity, summary, textAtMs },
      ...(isGone ? { gone: true as const } : {}),
      ...(until === undefined ? {} : { until }),
    };
  }

  /** True for a position that the exchange closed, as it said, after the last state that shows it. */
  #isTaken(name: string): boolean {
    const node = this.#world.nodes.get(name);
    if (node?.subject.scope !== "position") return false;
    const { subject, facts } = node;
    const { side } = facts.values;
    const slot = this.#world.accounts.slotOf(subject.wallet, subject.pdaIndex);
    return this.#endings.tookAllSince(subject, subject.symbol, typeof side === "string" ? side : null, slot);
  }

  status(nowMs: number): WatchStatus {
    return watchStatus({
      atMs: nowMs,
      scheduleMs: this.#settings.scheduleMs,
      startedMs: this.#startedMs,
      wallets: this.#world.wallets.values(),
      accountsOf: (name) => this.#world.accounts.ofWallet(name),
      markets: this.#world.markets,
      exchange: this.#world.exchange.facts,
      alerts: this.#alerts,
      nodes: this.#world.nodes,
      ruleSet: this.#settings.ruleSet,
      viewMismatches: this.#viewMismatches,
      blind: this.#noData.list(),
    });
  }

  /** The needs of rules beyond what is read for everybody. */
  get needs(): Needs {
    return this.#needs;
  }

  /** The start of today, ms, where a rule needs what a wallet's equity was then and only the exchange can tell; else null. */
  midnightMs(wallet: string): number | null {
    return this.#needs.midnight ? this.#today.missingMs(wallet) : null;
  }

  /** Margin ratio of a wallet's worst account; what decides how often it is asked. Null while unknown. */
  marginRatio(wallet: string): number | null {
    let worst: number | null = null;
    for (const account of this.#world.accounts.ofWallet(wallet)) {
      const ratio = account.node.facts.values.marginRatio;
      if (typeof ratio === "number" && !Number.isNaN(ratio)) worst = Math.max(worst ?? 0, ratio);
    }
    return worst;
  }

  /** Newest first, those that are over since not too long among them. */
  get silences(): readonly Silence[] {
    return this.#alerts.silences;
  }

  /** Alerts of which word waits because something holds it. */
  get heldBack(): readonly Held[] {
    return this.#alerts.heldBack;
  }

  /** The markets for which a source that is read market by market is needed now. */
  wantedMarkets(source: Source): WantedSymbols {
    return this.#wantedMarkets.of(source, this.#world.nodes.values());
  }

  /** The reach of rules into the past, by event kind, ms: what has to be read from history at a start. */
  get eventSpans(): ReadonlyMap<Event["kind"], number> {
    return this.#eventWindows.spans;
  }

  /** Feeds the minutes of an owner to the windows, before its first tick. Each owner's come once. */
  rememberMinutes(minutes: HeldMinutes): void {
    const sinceMs = this.#world.wallets.get(minutes.owner.split("/", 1)[0]!)?.sinceMs ?? 0;
    const node = this.#world.nodes.get(minutes.owner);
    if (node && !isAccountOrMarket(node)) this.#recall.feedMinutes(node, minutes, sinceMs);
    else this.#recall.minutes(minutes, sinceMs);
  }

  /**
   * Feeds a stored tick to the windows, before the first observation. Ticks of one owner come oldest first. Subjects that
   * exist already take it at once; only for those that are still to appear it is held.
   */
  rememberTick(tick: Tick): void {
    // The name of a wallet may have been another's then.
    const wallet = this.#world.wallets.get(tick.owner.split("/", 1)[0]!);
    if (wallet && tick.atMs < wallet.sinceMs) return;
    const node = this.#world.nodes.get(tick.owner);
    if (wallet && node === wallet.node) {
      const figure = (field: string) => tick.values[tick.series.indexOf(`wallet.${field}`)];
      const sample = { equity: figure("equity"), pnl: figure("pnl"), netDeposits: figure("netDeposits") };
      this.#gaps.take(tick.owner, node.windows, tick.atMs, sample);
    }
    if (node && !isAccountOrMarket(node)) this.#recall.feed(node, tick);
    else this.#recall.tick(tick);
  }

  /** Takes the time of a collateral record: before the ticks after it at a start. */
  rememberFlow({ wallet, backfilled, happenedMs }: Event): void {
    if (wallet !== null && !backfilled) this.#gaps.takeFlow(wallet, happenedMs);
  }

  /** Takes stored payments of the funding history: a position may have closed during the stop. */
  rememberPayments(events: readonly Event[]): void {
    for (const [name, entry] of this.#world.wallets) {
      const own = events.filter(({ wallet, seenMs }) => wallet === name && seenMs >= entry.sinceMs);
      if (own.length > 0) this.#profits.rememberPayments(entry, own, this.#nowMs);
    }
  }

  /** From when on the events of today have to be read from history at a start, ms; null: their sums were kept. */
  get dayToReadMs(): number | null {
    return this.#today.incomplete ? this.#today.startMs : null;
  }

  /** Takes a stored event of today into its sums, before the first observation. */
  rememberToday(event: Event): void {
    const sinceMs = this.#world.wallets.get(event.wallet ?? "")?.sinceMs ?? 0;
    if (event.seenMs >= sinceMs) this.#today.remember(event);
  }

  /** Feeds a stored event to the windows, before the first observation. */
  rememberEvent(event: Event): void {
    const sinceMs = event.wallet === null ? 0 : (this.#world.wallets.get(event.wallet)?.sinceMs ?? 0);
    if (event.seenMs < sinceMs || !this.#eventWindows.keep(event, this.#nowMs)) return;
    // Samples from before the position was seen are those of another one; newcomers are given all of the past at once.
    for (const node of this.#touchedBy(event))
      if (event.seenMs >= node.bornMs && !this.#newcomers.includes(node))
        this.#eventWindows.feed(node, event, this.#nowMs);
  }

  #take(observation: Observation, draft: Draft): void {
    this.#own.observe(observation, draft);
    switch (observation.kind) {
      case "accounts":
        this.#takeAccounts(observation, draft);
        return;
      case "prices":
        this.#market.prices(observation, draft);
        this.#valued(draft);
        return;
      case "marketConfig":
        this.#market.config(observation, draft);
        this.#valued(draft);
        return;
      case "collateralAssets":
        this.#market.collateralAssets(observation, draft);
        this.#valued(draft);
        return;
      case "fundingRate":
        this.#market.rate(observation, draft);
        return;
      case "depth":
        this.#market.depth(observation, draft);
        return;
      case "calendar":
        this.#market.session(observation, draft);
        return;
      case "external":
        this.#market.external(observation, draft);
        return;
      case "exchangeStatus":
        this.#market.status(observation, draft);
        return;
      case "traderView":
        this.#takeView(observation, draft);
        return;
      case "portfolio":
        this.#takePortfolio(observation, draft);
        return;
      case "events":
        this.#takeEvents(observation, draft);
        return;
      case "backfill":
        this.#takeBackfill(observation.ticks, draft);
        return;
      case "failed": {
        const { kind: _, ...failure } = observation;
        draft.changes.failedReads.push(failure);
        return;
      }
      case "session": {
        const entry = this.#world.wallets.get(observation.wallet);
        if (!entry) return;
        entry.signedIn = observation.signedIn;
        entry.sessionDetail = observation.detail;
        entry.node.facts.values.signedIn = observation.signedIn;
        this.#conditions.judgeNode(entry.node, null, draft);
        return;
      }
      case "daemon":
        this.#daemonFacts(observation.figures, draft);
        this.#named.update(this.#world.daemon, draft.atMs);
        draft.changes.ticks.push(this.#series.daemon(this.#world.daemon.facts.values, draft.atMs));
        this.#world.daemon.windows?.feed(draft.atMs, this.#world.daemon.facts.values);
        this.#conditions.judgeNode(this.#world.daemon, null, draft);
        return;
      case "channel":
        this.#world.daemon.facts.values.brokenChannels = this.#channels.broken;
        this.#conditions.judgeNode(this.#world.daemon, null, draft);
        return;
      case "acknowledged": {
        const { alert, by, comment, shown } = observation;
        const live = this.#alerts.live.get(alert.id);
        // It ended between the asking and now: its row says so and stays as it is.
        if (!live && !alert.event) return;
        // It rose between the asking and now: nobody saw that.
        if (shown && live && severityRank[live.alert.severity] > severityRank[shown.severity]) return;
        this.#alerts.acknowledge(draft, live?.alert ?? alert, by, comment, shown);
        return;
      }
      case "silenced":
        this.#alerts.putSilence(observation.silence, draft);
        return;
      case "started":
        draft.changes.milestones.push({
          atMs: draft.atMs,
          kind: "started",
          value: JSON.stringify({ version: observation.version, lastAliveMs: observation.lastAliveMs }),
        });
        return;
      case "stopped":
        draft.changes.milestones.push({ atMs: draft.atMs, kind: "stopped", value: "{}" });
        return;
      case "figures":
        this.#given.take(observation, draft);
        return;
      case "dropped":
      case "drill":
      case "drilled":
      case "inboxAudited":
      case "watching":
      case "time":
        return;
      default:
        unreachable(observation);
    }
  }

  /** The past from elsewhere: into history, and into the windows of those that exist, at its own time. */
  #takeBackfill(ticks: readonly Tick[], draft: Draft): void {
    const past = new Recall();
    for (const tick of ticks) {
      draft.changes.ticks.push(tick);
      past.tick(tick);
    }
    for (const owner of past.owners) for (const node of this.#world.ownedBy(owner)) past.replay(node);
  }

  #takeAccounts(seen: Observation & { readonly kind: "accounts" }, draft: Draft): void {
    const entry = this.#world.wallets.get(seen.wallet);
    if (!entry) return;
    if (this.#alerts.live.size > 0) this.#keepBeforeLoss(seen);
    const told = this.#world.accounts.take(seen);
    if (told === null) return;
    this.#noteHolders(seen, told, draft);
    this.#replayEvents(draft);
    this.#profits.takeStates(entry, told, seen, draft);
    for (const account of told) {
      this.#holdings.take(account, entry.profit.changes.seen(account.name), draft);
      this.#market.wantAssets(account, draft);
      this.#world.accounts.assess(account);
      noteReading(account);
    }
    const whole = seen.told === undefined;
    if (whole) {
      walletSeen(entry, seen.pdaIndex, draft.atMs);
    }
    sumAccounts(entry, this.#world.accounts.ofWallet(seen.wallet), true);
    this.#profits.answered(entry, draft);
    const wholeMs = whole ? wholeSeenMs(entry) : null;
    if (whole) this.#noData.seen("traderState", seen.wallet, draft, wholeMs);
    if (wholeMs !== null) this.#vigils.seen("traderState", seen.wallet, wholeMs, draft);
    for (const account of told) {
      this.#named.update(account.node, draft.atMs);
      for (const position of account.positions.values()) this.#named.update(position.node, draft.atMs);
      draft.changes.ticks.push(this.#series.account(account, draft.atMs));
      account.node.windows?.feed(draft.atMs, account.node.facts.values);
      for (const position of account.positions.values())
        position.node.windows?.feed(draft.atMs, position.node.facts.values);
    }
    if (entry.node.windows?.hasFields) this.#sampleWallet(entry, draft);
    for (const account of told) {
      this.#realizedToday(entry, account);
      if (whole && this.#needs.equityCheck) this.#equityCheck.note(account, draft.atMs);
    }
    for (const account of told) this.#rights.compare(account, draft);
    for (const account of told) this.#judgeAccount(account, "traderState", draft);
    this.#conditions.judgeNode(entry.node, "traderState", draft);
    this.#together.changed(entry, "traderState", draft);
    if (whole) this.#restoring.endUnclaimed(seen.wallet, seen.pdaIndex, draft);
  }

  /** Keeps the texts of alerts about accounts that an answer shows with less than before, as of before it. */
  #keepBeforeLoss({
    wallet,
    pdaIndex,
    subaccounts,
    atMs,
  }: Observation & { readonly kind: "accounts" }): void {
    const accounts = this.#world.accounts.ofWallet(wallet);
    for (let i = 0; i < accounts.length; i++) {
      const account = accounts[i]!;
      const { ref } = account;
      if (ref.pdaIndex !== pdaIndex) continue;
      let alerts = alertsOf(account.node, null);
      for (const { node } of account.positions.values()) alerts = alertsOf(node, alerts);
      if (alerts === null) continue;
      const now = subaccounts.find(({ subaccount }) => subaccount === ref.subaccount);
      if (now === undefined || !holdsLess(account, now)) continue;
      for (const alert of alerts) alert.beforeLoss = alert.newest(atMs)?.text ?? null;
    }
  }

  /** Notes who holds which market, where that changed. */
  #noteHolders(
    { wallet, pdaIndex }: Observation & { readonly kind: "accounts" },
    told: readonly AccountEntry[],
    draft: Draft,
  ): void {
    if (!this.#parted && !told.some(({ moved }) => moved)) return;
    this.#parted = false;
    const accounts = this.#world.accounts.ofWallet(wallet).filter(({ ref }) => ref.pdaIndex === pdaIndex);
    this.#world.holders.take(wallet, pdaIndex, accounts, draft);
  }

  #takeView(seen: Observation & { readonly kind: "traderView" }, draft: Draft): void {
    const account = this.#world.accounts.takeView(seen.wallet, seen.view, seen.atMs);
    if (!account) return;
    this.#noData.seen("traderView", seen.wallet, draft);
    const differences = compareWithView(account, this.#world.markets);
    if (differences.length === 0) {
      this.#reportedMismatches.delete(account.name);
      return;
    }
    this.#viewMismatches++;
    if (this.#reportedMismatches.has(account.name)) return;
    this.#reportedMismatches.add(account.name);
    const text = `${account.name}: our risk and the exchange's differ: ${differences.join("; ")}`;
    this.#notes.push({ level: "warn", text });
  }

  /** Takes the exchange's values of accounts. */
  #takePortfolio(seen: Observation & { readonly kind: "portfolio" }, draft: Draft): void {
    const entry = this.#world.wallets.get(seen.wallet);
    if (!entry) return;
    const { wallet, midnight } = seen;
    this.#noData.seen("portfolio", wallet, draft);
    if (midnight && this.#today.midnight(wallet, midnight.startMs, { ...midnight, readMs: seen.atMs })) {
      this.#today.refresh(entry);
      entry.profit.publish();
      this.#today.keep(wallet, draft);
      this.#conditions.judgeNode(entry.node, null, draft);
      this.#together.changed(entry, null, draft);
    }
    let compared = false;
    for (const { pdaIndex, subaccount, ofMs, valueUsd } of seen.values) {
      const account = this.#world.accounts.get({ wallet, pdaIndex, subaccount });
      if (account && this.#equityCheck.compare(account, ofMs, valueUsd, draft.atMs)) compared = true;
    }
    if (!compared) return;
    const { daemon } = this.#world;
    const worst = this.#equityCheck.worst(draft.atMs)!;
    daemon.facts.values.equityMismatch = worst.share;
    daemon.facts.values.equityMismatchAccount = worst.account;
    daemon.facts.values.equityMismatchSide = worst.side;
    daemon.seen("portfolio", draft.atMs);
    this.#conditions.judgeNode(daemon, "portfolio", draft);
  }

  #takeEvents(seen: Observation & { readonly kind: "events" }, draft: Draft): void {
    const entry = seen.wallet === null ? undefined : this.#world.wallets.get(seen.wallet);
    // A liquidation that an inbox page brings along goes first, so that its notification is matched with it.
    const events = [...seen.events].sort(
      (a, b) => Number(b.kind === "liquidation") - Number(a.kind === "liquidation"),
    );
    let profitMoved =
      entry !== undefined && seen.source === "funding" && this.#profits.takePayments(entry, events, draft);
    for (const event of events) {
      if (entry && this.#profits.takeEvent(entry, event, events, draft)) profitMoved = true;
      if (entry && event.kind === "collateral") this.rememberFlow(event);
      if (event.kind === "fill") this.#takeFill(event, draft);
      if (entry && event.kind !== "collateral") this.#today.take(event, null);
      if (event.kind === "order") this.#world.placings.event(event);
      this.#happened(event, draft);
    }
    if (entry && this.#profits.takeRead(entry, draft)) profitMoved = true;
    if (entry)
      for (const { order, placedMs } of seen.resting ?? [])
        this.#world.placings.note(entry.wallet.name, order, placedMs);
    this.#endings.weighFills(draft);
    if (seen.cursor) draft.changes.cursors.push(seen.cursor);
    if (!entry) return;
    const wallet = entry.wallet.name;
    if (seen.coversMs !== undefined) this.#told.note(wallet, seen.source, seen.pdaIndex, seen.coversMs);
    this.#today.publish(entry);
    this.#today.keep(wallet, draft);
    if (profitMoved) entry.profit.keep(draft);
    if (profitMoved && !entry.given) entry.profit.publish();
    if (seen.live === true) {
      if (profitMoved) this.#judgeProfit(entry, draft);
      for (const account of this.#world.accounts.ofWallet(entry.wallet.name))
        this.#judgeAccount(account, null, draft);
      return;
    }
    const wholeMs =
      seen.wholeMs === undefined ? partSeen(entry, seen.source, seen.pdaIndex, draft.atMs) : seen.wholeMs;
    if (wholeMs !== null) {
      this.#noData.seen(seen.source, seen.wallet, draft, wholeMs);
      this.#vigils.seen(seen.source, entry.wallet.name, wholeMs, draft);
      entry.node.seen(seen.source, wholeMs);
    }
    if (seen.source === "fills") {
      for (const account of this.#world.accounts.ofWallet(wallet)) this.#realizedToday(entry, account);
    }
    if (seen.unacked !== undefined) {
      entry.unacked = seen.unacked;
      entry.node.facts.values.unacked = seen.unacked;
    }
    if (seen.source === "collateral") {
      if (this.#profits.historyRead(entry, seen.past === true, draft)) profitMoved = true;
      const known = typeof entry.node.facts.values.equity === "number";
      if (known && !entry.node.windows?.hasFields) this.#sampleWallet(entry, draft);
    }
    if (seen.source === "liquidations" && !seen.past)
      this.#endings.read(draft, entry.wallet.name, seen.pdaIndex);
    this.#conditions.judgeNode(entry.node, profitMoved ? null : seen.source, draft);
    if (profitMoved || seen.source === "collateral") this.#together.changed(entry, "collateral", draft);
    else if (seen.source === "fills" || seen.source === "funding")
      this.#together.changed(entry, seen.source, draft);
    // A source that answers again without anything new can be judged again, too.
    const source = profitMoved || seen.events.length > 0 ? null : seen.source;
    for (const account of this.#world.accounts.ofWallet(entry.wallet.name))
      this.#judgeAccount(account, source, draft);
  }

  /** Stores the wallet's figures in history and feeds them to its windows. */
  #sampleWallet({ node, wallet, profit }: WalletEntry, draft: Draft): void {
    this.#named.update(node, draft.atMs);
    const values = profit.sample();
    const held = profit.heldSample();
    draft.changes.ticks.push(this.#series.wallet(wallet.name, values, draft.atMs));
    const onLate = (atMs: number, pnl: number, equity: number, explained: boolean): void => {
      draft.changes.ticks.push(this.#series.wallet(wallet.name, { pnl, equity }, atMs));
      // Held profit becomes a peak when its trades are let go of.
      if (explained) profit.takeLate(pnl);
    };
    this.#gaps.take(wallet.name, node.windows, draft.atMs, values, held, onLate, (ms) =>
      profit.changes.placedAfter(ms),
    );
    node.windows?.feed(draft.atMs, values);
    if (held !== null && typeof values.equity === "number")
      node.windows?.feedLeast(draft.atMs, held.leastPnl, values.equity);
  }

  /** The realized profit of an account's positions today, as old as the fills that were read. */
  #realizedToday(entry: WalletEntry, { ref, positions, given }: AccountEntry): void {
    const { fills } = entry.node.facts.seenMs;
    if (fills === undefined || given) return;
    for (const [symbol, { node }] of positions) {
      node.seen("fills", fills);
      const usd = this.#today.realized(ref.wallet, `${ref.pdaIndex}.${ref.subaccount}`, symbol);
      const { values } = node.facts;
      if (usd !== undefined) values.realizedPnlToday = usd;
      else if (values.realizedPnlToday !== undefined) delete values.realizedPnlToday;
    }
  }

  #newDay(draft: Draft): void {
    for (const entry of this.#world.wallets.values()) {
      this.#conditions.judgeNode(entry.node, null, draft);
      for (const account of this.#world.accounts.ofWallet(entry.wallet.name)) {
        this.#realizedToday(entry, account);
        this.#judgeAccount(account, "fills", draft);
      }
    }
    this.#together.manyChanged(null, null, false, draft);
  }

  #takeFill(event: Event, draft: Draft): void {
    const name = this.#openings.note(event);
    const node = name === null ? undefined : this.#world.nodes.get(name);
    if (!node || event.wallet === null || event.pdaIndex === null) return;
    this.#openings.settle(node, this.#world.accounts.slotOf(event.wallet, event.pdaIndex), draft);
    openFacts(node, node.facts.seenMs.traderState ?? draft.atMs);
  }

  /** Something that values accounts was read. */
  #valued(draft: Draft): void {
    for (const entry of this.#profits.valued(draft)) {
      const { changes } = entry.profit;
      for (const account of this.#world.accounts.ofWallet(entry.wallet.name))
        this.#holdings.take(account, changes.seen(account.name), draft);
      this.#judgeProfit(entry, draft);
    }
  }

  /** Judges what may read the profit of a wallet. */
  #judgeProfit(entry: WalletEntry, draft: Draft): void {
    this.#conditions.judgeNode(entry.node, null, draft);
    this.#together.changed(entry, "collateral", draft);
  }

  *#touchedBy(event: Event): Iterable<SubjectNode> {
    yield* this.#world.touchedBy(event);
    yield* this.#together.touchedBy(event);
  }

  /** One new event: windows first, so that a rule which counts it sees it. */
  #happened(event: Event, draft: Draft): void {
    this.#replayEvents(draft);
    if (this.#eventWindows.keep(event, draft.atMs)) {
      for (const node of this.#touchedBy(event)) this.#eventWindows.feed(node, event, draft.atMs);
    }
    this.#endings.happened(draft, event);
    this.#together.happened(event, draft);
    this.#happenings.take(event, draft);
  }

  /** The doubt about the profit that a rule of this subject may read; null: there is none. */
  #doubtOf(node: SubjectNode): Doubt | null {
    return this.#together.doubtOf(node) ?? this.#walletOf(node)?.profit.doubt ?? null;
  }

  #walletOf({ subject }: SubjectNode): WalletEntry | undefined {
    return "wallet" in subject ? this.#world.wallets.get(subject.wallet) : undefined;
  }

  #judgeAccount(account: AccountEntry, source: Source | null, draft: Draft): void {
    // A new one is judged by what was read before it as well.
    const judge = (node: SubjectNode): void =>
      this.#conditions.judgeNode(node, node.bornMs === draft.atMs ? null : source, draft);
    for (const position of account.positions.values()) judge(position.node);
    judge(account.node);
  }

  /** True if all that a condition can be about was seen since the start, and judged by it. */
  #judgedAll(name: string): boolean {
    const rule = this.#settings.ruleSet.conditions.find((one) => one.name === name);
    if (!rule) return false;
    if (rule.scope === "market" && this.#world.markets.configAtMs === null) return false;
    const ofAccounts = rule.scope === "position" || rule.scope === "trader";
    const anywhere = { ...rule, select: { ...rule.select, symbol: null } };
    for (const { node, wallet } of ofAccounts ? this.#world.wallets.values() : []) {
      const unseen = node.facts.seenMs.traderState === undefined;
      if (unseen && applies(anywhere, { wallet: wallet.name }, () => wallet)) return false;
    }
    for (const node of this.#world.nodes.values())
      if (rulesOf(node).instances.some((one) => one.rule === rule && (!one.judged || one.unknown !== null)))
        return false;
    return true;
  }

  #daemonFacts(figures: DaemonFigures, draft: Draft): void {
    const counts = this.#counts.take(figures, draft);
    const values = this.#world.daemon.facts.values;
    values.host = figures.host;
    values.lag = figures.lagMs;
    values.loopLag = figures.loopLagMs;
    values.failedPolls = figures.failedPolls;
    values.failingReads = figures.failingReads;
    values.blindWallets = this.#noData.wallets;
    values.noDataAlerts = this.#noData.alerts;
    values.clockOffset = figures.clockOffsetMs;
    values.streamConnected = figures.streamConnected;
    values.budgetUsed = figures.budgetUsed;
    values.rateLimited = figures.rateLimited;
    values.undelivered = figures.undelivered;
    values.oldestUndelivered = figures.oldestUndeliveredMs;
    values.waitingChannels = figures.waitingChannels;
    values.databaseBytes = figures.databaseBytes;
    values.authFailures = counts.authFailures;
    values.repeatedAuthFailures = counts.repeatedAuthFailures;
    values.refusedWallets = this.#counts.refusedWallets(figures, draft.atMs);
    values.signingWallets = figures.signingWallets;
    values.signedOutWallets = figures.signedOutWallets;
    values.loginTextRefused = figures.loginTextRefused;
    values.signerUnavailable = figures.signerUnavailable;
    values.deadMessages = figures.deadMessages;
    values.badRecords = counts.badRecords;
    values.brokenChannels = this.#channels.broken;
  }

  /** A subject appeared: it gets its rules and the past of its series; past events follow when its account is whole. */
  #welcome(node: SubjectNode): void {
    const { subject } = node;
    if (subject.scope === "position") {
      this.#born(node, this.#draft);
      this.#openings.born(node, this.#world.accounts.slotOf(subject.wallet, subject.pdaIndex), this.#draft);
      this.#downtime.opened(node.name, this.#draft);
    }
    this.#named.prepare(node);
    this.#conditions.attach(node, this.#draft);
    this.#askForMarket(node, this.#draft);
    if (node.first) this.#recall.replay(node);
    this.#newcomers.push(node);
  }

  /** Requests the market data that a new position's rules need now, where it is not known yet, not at the next turn. */
  #askForMarket(node: SubjectNode, draft: Draft): void {
    if (node.subject.scope !== "position") return;
    const { seenMs } = this.#world.markets.entry(node.subject.symbol).facts;
    for (const source of this.#wantedMarkets.ofPosition(node))
      if (seenMs[source] === undefined) draft.ask(source, null);
  }

  /** Notes since when this position is known, so that a start tells it from others of its name in history. */
  #born(node: SubjectNode, draft: Draft): void {
    const text = node.first ? this.#facts.get(factName(node.name, "incarnation")) : undefined;
    const known = text === undefined ? null : (JSON.parse(text) as { name: string; sinceMs: number });
    if (known?.name === node.incarnation) {
      node.bornMs = known.sinceMs;
      return;
    }
    // Of the first positions ever seen, what the exchange keeps of their past may be theirs.
    node.bornMs = node.first && known === null ? 0 : draft.atMs;
    const value = JSON.stringify({ name: node.incarnation, sinceMs: node.bornMs });
    draft.changes.facts.push({ atMs: draft.atMs, owner: node.name, name: "incarnation", value });
  }

  #replayEvents(draft: Draft): void {
    for (const node of this.#newcomers) this.#eventWindows.replay(node, draft.atMs);
    this.#newcomers.length = 0;
  }

  #gone(node: SubjectNode, account: AccountEntry, symbol: string | null, why: Parting): void {
    const draft = this.#draft;
    if (symbol !== null) this.#downtime.gone(node.name, draft);
    this.#parted = true;
    if (symbol === null) {
      this.#equityCheck.forget(account);
      const entry = this.#world.wallets.get(account.ref.wallet);
      if (entry) this.#profits.takeAccountGone(entry, account, draft);
    }
    this.#conditions.detach(node, draft, ({ heldSlot }, live, row, before) =>
      this.#endings.end(draft, {
        live,
        row,
        before,
        account: account.ref,
        symbol,
        fallback: why === "flipped" ? "flipped" : "closed",
        text: null,
        fromMs: Math.max(live.alert.sinceMs, node.facts.seenMs.traderState ?? 0),
        // An account that is gone may have stood on without what held.
        fromSlot: symbol === null ? heldSlot : account.slot,
        // Accounts that are given have no slots.
        goneSlot: this.#world.accounts.slotOf(account.ref.wallet, account.ref.pdaIndex) || undefined,
        ...(symbol === null ? {} : extentOf(node)),
        another: why !== "closed",
        suspicious: true,
      }),
    );
  }
}

/** Size of a position, in units, and its side; undefined: not known. */
function extentOf({ facts }: SubjectNode) {
  const { size, side } = facts.values;
  return {
    size: typeof size === "number" ? Math.abs(size) : undefined,
    side: typeof side === "string" ? side : undefined,
  };
}

/** The names of the rules whose condition was not there before. */
function newRules(before: RuleSet, now: RuleSet): readonly string[] {
  const known = new Map(
    [...before.conditions, ...before.events].map((rule) => [rule.name, rule.fingerprint]),
  );
  return [...now.conditions, ...now.events]
    .filter(({ name, fingerprint }) => known.get(name) !== fingerprint)
    .map(({ name }) => name);
}

/** Their past stands under an owner that several of them share. */
function isAccountOrMarket({ subject: { scope } }: SubjectNode): boolean {
  return scope === "trader" || scope === "position" || scope === "market";
}

/** The alerts about a subject, added to others; null: none. */
function alertsOf(node: SubjectNode, others: LiveAlert[] | null): LiveAlert[] | null {
  let all = others;
  for (const { alert } of rulesOf(node).instances) if (alert !== null) all = [...(all ?? []), alert];
  return all;
}

/** True if a position of an account is smaller in this state of it, or is not there. */
function holdsLess({ positions }: AccountEntry, now: SubaccountState): boolean {
  let index = 0;
  for (const { state } of positions.values()) {
    // Mostly they stand in the same order.
    const likely = now.positions[index++];
    const same =
      likely?.symbol === state.symbol ? likely : now.positions.find(({ symbol }) => symbol === state.symbol);
    const lots = same?.baseLots ?? 0n;
    if (state.baseLots > 0n ? lots < state.baseLots : lots > state.baseLots) return true;
  }
  return false;
}

/**
 * True if a condition held by a state after the one that first showed the present sizes of its account's positions: no
 * liquidation ended it. @param heldSlot of the state by which it held last
 */
function heldSinceResized({ sizesSlot }: AccountEntry, heldSlot: number): boolean {
  return sizesSlot > 0 && heldSlot > sizesSlot;
}
