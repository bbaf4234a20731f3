/**
 * The tick: one observation in, one Changes value out. No I/O, no clock, no chance: the same observations in the same
 * order give the same Changes, live, in a rule test, in a backtest or in a simulation.
 *
 *   observation ──► facts (accounts, markets, wallets) ──► windows ──► rules ──► alerts ──► owed items, acknowledgements
 *
 * Its state is changed in place; the caller commits what it returns before anything that follows from it is done, and
 * feeds it a `time` observation at `nextDeadlineMs()` and at least once a second.
 */

import { AlertBook } from "../alerts/alert-book.ts";
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
import { firstLookMs, textPatienceMs } from "../alerts/patience.ts";
import { Throttles } from "../alerts/throttles.ts";
import { type PresentAlert, severityRank } from "../domain/alert.ts";
import type { Changes } from "../domain/changes.ts";
import { Deadlines, stoodStillMs } from "../domain/deadlines.ts";
import { type Ask, Draft } from "../domain/draft.ts";
import { formatDurationMs } from "../domain/duration.ts";
import type { ExplainAnswer } from "../domain/explanation.ts";
import type { Observation, Source } from "../domain/observation.ts";
import type { Silence } from "../domain/silence.ts";
import type { WatchStatus } from "../domain/status.ts";
import type { Subject } from "../domain/subject.ts";
import { unreachable } from "../domain/unreachable.ts";
import type { WhatIfOutcome, WhatIfQuestion } from "../domain/what-if.ts";
import { Conditions } from "../evaluate/conditions.ts";
import { explain } from "../evaluate/explain.ts";
import { Happenings } from "../evaluate/happenings.ts";
import { applies, guards } from "../evaluate/selection.ts";
import { rulesOf } from "../evaluate/subject-rules.ts";
import { alertingSources, Vigils } from "../evaluate/vigils.ts";
import { WantedMarkets, type WantedSymbols } from "../evaluate/wanted-markets.ts";
import { factReader, type RuleSet } from "../rules/index.ts";
import { Counts } from "../state/counts.ts";
import { eventFacts } from "../state/event-facts.ts";
import { Holdings } from "../state/holdings.ts";
import { Openings } from "../state/openings.ts";
import type { Doubt } from "../state/profit/profit.ts";
import { ProfitGaps } from "../state/profit/profit-gaps.ts";
import { Profits } from "../state/profit/profits.ts";
import { Today } from "../state/profit/today.ts";
import { Rights } from "../state/rights.ts";
import type { SubjectNode } from "../state/subjects.ts";
import { ToldSince } from "../state/told-since.ts";
import type { WalletEntry } from "../state/wallets.ts";
import { type Needs, needsOf } from "../state/wants.ts";
import type { WatchedWallet } from "../state/watched.ts";
import { EventWindows } from "../state/windows/event-windows.ts";
import { NamedValues } from "../state/windows/named-values.ts";
import { Series } from "../state/windows/series.ts";
import { WindowPlan } from "../state/windows/windows.ts";
import { type Gone, World } from "../state/world.ts";
import { AccountAnswers } from "./account-answers.ts";
import { Advisor } from "./advice/advisor.ts";
import { Together } from "./aggregates/together.ts";
import { ConditionEnds } from "./condition-ends.ts";
import { DaemonFacts } from "./daemon-facts.ts";
import { EventAnswers } from "./event-answers.ts";
import { ExchangeChecks } from "./exchange-checks.ts";
import { Given } from "./figures.ts";
import { MarketAnswers } from "./market-answers.ts";
import { Past } from "./past.ts";
import type { Remembered } from "./remembered.ts";
import { Restoring } from "./restore.ts";
import type { WatchSettings } from "./settings.ts";
import { watchStatus } from "./status.ts";
import { SubjectLife } from "./subject-life.ts";
import { WalletFigures } from "./wallet-figures.ts";

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
  readonly checks: ExchangeChecks;
  readonly openings: Openings;
  readonly told: ToldSince;
  readonly holdings: Holdings;
}

export class Watch {
  readonly #settings: WatchSettings;
  readonly #world: World;
  readonly #advisor: Advisor;
  /** The wallet of which accounts are about to be taken: what is due before that is not judged by its old ones. */
  #answering: string | null = null;
  readonly #deadlines: Deadlines;
  readonly #alerts: AlertBook;
  readonly #conditions: Conditions;
  readonly #happenings: Happenings;
  readonly past: Past;
  readonly #endings: Endings;
  readonly #noData: NoData;
  readonly #failing: Failing;
  readonly #downtime: Downtime;
  readonly #counts: Counts;
  readonly #vigils: Vigils;
  readonly #daemon: DaemonFacts;
  readonly #own: OwnAlerts;
  readonly #throttles: Throttles;
  readonly #series: Series;
  readonly #named: NamedValues;
  readonly #restoring: Restoring;
  readonly #rights: Rights;
  readonly #needs: Needs;
  readonly #checks: ExchangeChecks;
  readonly #openings: Openings;
  readonly #told: ToldSince;
  readonly #today: Today;
  readonly #profits: Profits;
  readonly #holdings: Holdings;
  readonly #together: Together;
  readonly #market: MarketAnswers;
  readonly #given: Given;
  readonly #wantedMarkets: WantedMarkets;
  readonly #life: SubjectLife;
  readonly #conditionEnds: ConditionEnds;
  readonly #figures: WalletFigures;
  readonly #accounts: AccountAnswers;
  readonly #events: EventAnswers;
  readonly #gaps = new ProfitGaps();
  #notes: Note[] = [];
  #draft: Draft;
  /** Decisions made outside of an observation; they wait here for the next one. */
  readonly #between: Draft;
  #startedMs: number;
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
    const onNew = (node: SubjectNode): void => this.#life.appeared(node, this.#draft);
    const onGone: Gone = (node, account, symbol, why) =>
      this.#life.gone(node, account, symbol, why, this.#draft);
    this.#world = was.world ?? new World(this.#needs, onNew, onGone);
    was.world?.serve(settings.wallets, this.#needs, onNew, onGone);
    this.#advisor = new Advisor(this.#world, settings);
    const kept = new Set(this.#world.wallets.keys());
    this.#openings = was.openings ?? new Openings(remembered.facts);
    this.#told = was.told ?? new ToldSince();
    this.#holdings = was.holdings ?? new Holdings();
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
    const channels = new ChannelAlerts(alerts, isConfigured);
    this.#own = new OwnAlerts(alerts, [
      ...[this.#noData, this.#failing, this.#downtime, channels],
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
      emptied: (instance) => this.#conditionEnds.emptied(instance),
      heldSlotOf: (node) => this.#conditionEnds.heldSlotOf(node),
      heldEmptyMsOf: (node) => this.#conditionEnds.heldEmptyMsOf(node),
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
      onReplaced: (...of) => this.#conditionEnds.replaced(...of),
      onRecovered: (...of) => this.#conditionEnds.recovered(...of),
      takeBack: (instance, into) => this.#conditionEnds.takeBack(instance, into),
    });
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
      happened: (event, into) => this.#events.happened(event, into),
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
      rolled: (into) => this.#figures.newDay(into),
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
    this.#conditionEnds = new ConditionEnds({
      ...{ world: this.#world, alerts, endings: this.#endings, holdings: this.#holdings },
      restoring: this.#restoring,
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
    this.#daemon = new DaemonFacts({
      ...{ node: this.#world.daemon, conditions: this.#conditions, noData: this.#noData, channels },
      ...{ counts: this.#counts, named: this.#named, series: this.#series },
    });
    this.#checks = new ExchangeChecks({
      ...{ world: this.#world, conditions: this.#conditions, noData: this.#noData },
      ...{ together: this.#together, today: this.#today },
      warn: (text) => this.#notes.push({ level: "warn", text }),
      checksEquity: this.#needs.equityCheck,
      before: was.checks,
    });
    this.past = new Past({
      ...{ world: this.#world, together: this.#together, profits: this.#profits, gaps: this.#gaps },
      ...{ today: this.#today, startedMs: nowMs, nowMs: () => this.#nowMs },
      eventWindows: new EventWindows(
        settings.ruleSet,
        (event, atMs) => this.#world.eventEnv(event, eventFacts(event, atMs), atMs),
        (event) => this.#world.ownersOf(event),
        (book, event) => this.#together.covers(book, event),
      ),
    });
    this.#life = new SubjectLife({
      ...{ world: this.#world, past: this.past, conditions: this.#conditions, endings: this.#endings },
      ...{ downtime: this.#downtime, named: this.#named, wantedMarkets: this.#wantedMarkets },
      ...{ openings: this.#openings, profits: this.#profits, checks: this.#checks },
      facts: remembered.facts,
    });
    this.#figures = new WalletFigures({
      ...{ world: this.#world, conditions: this.#conditions, together: this.#together },
      ...{ named: this.#named, series: this.#series, gaps: this.#gaps, today: this.#today },
      ...{ profits: this.#profits, holdings: this.#holdings },
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
      happened: (event, into) => this.#events.happened(event, into),
      judgeAccount: (account, source, into) => this.#figures.judgeAccount(account, source, into),
      warn: (text) => this.#notes.push({ level: "warn", text }),
      before: was.market,
    });
    const answers = {
      ...{ world: this.#world, past: this.past, profits: this.#profits, noData: this.#noData },
      ...{ vigils: this.#vigils, conditions: this.#conditions, together: this.#together },
      figures: this.#figures,
    };
    this.#accounts = new AccountAnswers({
      ...answers,
      ...{ alerts, life: this.#life, holdings: this.#holdings, market: this.#market },
      ...{ named: this.#named, series: this.#series, checks: this.#checks, rights: this.#rights },
      restoring: this.#restoring,
    });
    this.#events = new EventAnswers({
      ...answers,
      ...{ openings: this.#openings, today: this.#today, endings: this.#endings, told: this.#told },
      happenings: this.#happenings,
    });
    this.#given = new Given({
      named: this.#named,
      world: this.#world,
      conditions: this.#conditions,
      noData: this.#noData,
      vigils: this.#vigils,
      gaps: this.#gaps,
      restoring: this.#restoring,
      welcomed: (into) => this.past.welcomed(into),
      changed: (wallets, into) => this.#together.manyChanged(wallets, null, true, into),
    });
    for (const event of remembered.liquidations) this.#endings.remember(event, nowMs);
    this.#alerts.recall(remembered.keep, remembered.alerts, nowMs);
    this.#restoring.restore(remembered, this.#draft);
    this.#daemon.noteNoData();
    for (const node of this.#world.nodes.values()) this.#named.prepare(node);
    for (const node of [...this.#world.nodes.values()]) {
      this.#conditions.attach(node, this.#draft);
      if (node.subject.scope === "position") this.#downtime.opened(node.name, this.#draft);
      this.past.stands(node);
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
      checks: this.#checks,
      openings: this.#openings,
      told: this.#told,
      holdings: this.#holdings,
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
    // Decisions of the construction and the restore leave with the first observation.
    draft.absorb(this.#between);
    this.#draft = draft;
    this.#notes = [];
    this.past.begin();
    // Deadlines from before this arrived are judged first, by what was known then: data that went stale in a gap (a machine
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
    if (!this.#given.any) this.#daemon.noteNoData();
    this.past.drop(atMs);
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
      viewMismatches: this.#checks.viewMismatches,
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

  #take(observation: Observation, draft: Draft): void {
    this.#own.observe(observation, draft);
    switch (observation.kind) {
      case "accounts":
        this.#accounts.take(observation, draft);
        return;
      case "prices":
        this.#market.prices(observation, draft);
        this.#figures.valued(draft);
        return;
      case "marketConfig":
        this.#market.config(observation, draft);
        this.#figures.valued(draft);
        return;
      case "collateralAssets":
        this.#market.collateralAssets(observation, draft);
        this.#figures.valued(draft);
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
        this.#checks.takeView(observation, draft);
        return;
      case "portfolio":
        this.#checks.takePortfolio(observation, draft);
        return;
      case "events":
        this.#events.take(observation, draft);
        return;
      case "backfill":
        this.past.takeBackfill(observation.ticks, draft);
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
        this.#daemon.take(observation.figures, draft);
        return;
      case "channel":
        this.#daemon.channelTurned(draft);
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

  /** The doubt about the profit that a rule of this subject may read; null: there is none. */
  #doubtOf(node: SubjectNode): Doubt | null {
    return this.#together.doubtOf(node) ?? this.#walletOf(node)?.profit.doubt ?? null;
  }

  #walletOf({ subject }: SubjectNode): WalletEntry | undefined {
    return "wallet" in subject ? this.#world.wallets.get(subject.wallet) : undefined;
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
