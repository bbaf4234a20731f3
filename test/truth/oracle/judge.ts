/**
 * Holds what the daemon decided against the truth: it goes through the observations of each life in their order, knows at each which
 * versions of the truth the daemon had, judges every predicate by them, and compares.
 */
import { type AlertChange, type Severity, severityRank } from "../../../src/domain/alerts/alert.ts";
import { noDataRule, unreachableRule } from "../../../src/domain/alerts/built-in.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import { isWhale } from "../names.ts";
import type { Outcome } from "../scenario.ts";
import { judgeAcknowledged } from "./acknowledged.ts";
import { adviceProblems, missingAdvice } from "./advice.ts";
import { ageClaims, ageProblems, oldAfterMs } from "./age.ts";
import { judgeBuiltIn } from "./built-in.ts";
import { claimProblem } from "./claim.ts";
import { Clear } from "./clear.ts";
import { Closed } from "./closed.ts";
import { judgeFigures } from "./daemon/figures.ts";
import { garbledWithin, noDataAlerts, stalledMs, valuesOff } from "./daemon/troubles.ts";
import { detailProblems } from "./details.ts";
import { judgeEndings } from "./endings.ts";
import { judgeEvents } from "./events.ts";
import { explainedClaims } from "./explained.ts";
import { type Finding, timeOf } from "./finding.ts";
import { FormerTexts, isOfFormer, type Look } from "./former-texts.ts";
import { Hedges } from "./hedges.ts";
import { judgeInTime } from "./in-time.ts";
import { judgeIncidents } from "./incidents.ts";
import { ListedAlerts } from "./listed-alerts.ts";
import { type Gap, isTold, type Life, livesOf, type Shown } from "./lives.ts";
import { Margins, symbolsOf } from "./margin.ts";
import { judgeNoData } from "./no-data.ts";
import { judgeNotWatched } from "./not-watched.ts";
import { judgeObtained } from "./obtained.ts";
import { judgeOldAlerts } from "./old-alerts.ts";
import { judgeOwed } from "./owed.ts";
import { type Claim, type Level, minuteMs, type Predicate } from "./predicate.ts";
import { judgeReminded } from "./reminded.ts";
import { Reminders, type Word } from "./reminders.ts";
import { eventFigures } from "./rules/event-figures.ts";
import { predicates } from "./rules/index.ts";
import { soonMs } from "./rules/markets.ts";
import { tradesWithinMs } from "./rules/whales.ts";
import { type Freshness, type Run, Runs } from "./runs.ts";
import { lostSome, priceOf, Seen, termsOf } from "./seen.ts";
import { eventSources } from "./seen-events.ts";
import { readByMarket } from "./seen-markets.ts";
import { problemsOf } from "./shown.ts";
import { Sizes } from "./sizes.ts";
import { Stakes } from "./stakes.ts";
import { Terms } from "./terms.ts";
import { type AccountTruth, between } from "./truth.ts";
import { missingIn, unclaimed } from "./unclaimed.ts";
import { accountOf, symbolOf, View, walletOf } from "./view.ts";
import { Wallets } from "./wallets.ts";
import { wordProblems } from "./words.ts";

type Change = Life["changes"][number];

/** Within which what an observation leads to is committed, by the daemon's clock, ms. */
const promptMs = 1_000;
/** After a start a text waits for its figures for so long. */
const startMs = 60_000;
const textPatienceMs = 5_000;
/** The end of an alert about a position that is gone waits so long for word of it, at most. */
const endingPatienceMs = minuteMs;
/** Word of a liquidation is waited for where an account lost something so long before, ms. */
const lossMs = 2 * minuteMs;
/** Time is observed so often, and windows over figures of the daemon move with it, ms. */
const tickMs = 1_000;
/** A longer time between two observations is a standstill. */
const stoodStillMs = 2_000;
/** A shorter time in which nothing was observed: what was due in it is late. */
const lateMs = 1_100;
/** Observations that have the daemon's clock as it is, also where it was set back. */
const ofTheClock: ReadonlySet<string> = new Set(["time", "daemon", "watching"]);
/** Tolerance of the daemon's clock, which the exchange's corrects, from one life to another, ms. */
const clockMs = 1_500;

/** Observations by which positions that were read before become known. */
const figuring: ReadonlySet<string> = new Set(["prices", "marketConfig", "collateralAssets"]);

const allJudged: ReadonlyMap<string, Predicate> = new Map(predicates.map((one) => [one.rule, one]));
const isRecovery = ({ kind, alert }: Change): boolean =>
  kind === "ended" && alert.ending === "recovered" && !alert.event && allJudged.has(alert.rule);
/** Alerts about missing data: what they say is at stake is judged here, and the rest of them apart. */
const ofNoData: ReadonlySet<string> = new Set([noDataRule, unreachableRule]);
/** Rules that the changed configuration of a reload has other terms for. */
const changedByReload: ReadonlySet<string> = new Set(["MarginHigh", "DatabaseLarge"]);
/** Steps of an alert whose text tells of the condition as it is. */
const stating: ReadonlySet<string> = new Set([
  "fired",
  "rose",
  "fell",
  "worsened",
  "changed",
  "reminder",
  "ended",
]);

/** Those of them that are told by the newest positions that there are; others wait until these are read. */
const byNewest: ReadonlySet<string> = new Set(["fired", "rose", "worsened", "changed", "reminder"]);

/** Steps that call on somebody to act on what fires still. */
const pressing: ReadonlySet<string> = new Set(["reminder", "escalated"]);

/** Severity null: it ended. */
interface Step {
  readonly atMs: number;
  readonly id: number;
  readonly severity: Severity | null;
}

/** A recovery that may have waited for word of a liquidation. */
interface Waited {
  /** The time in this life in which it may have, by the daemon's clock. */
  readonly fromMs: number;
  readonly toMs: number;
  /** It and its text were true meanwhile, in this life or in one before. */
  isOver: boolean;
  isSaid: boolean;
  /** The position that it is about, when it was over; null: it was not. */
  identity: string | null;
}

/** An alert that got markedly worse since it was told last. */
interface Worse {
  readonly word: Word;
  readonly value: number;
  readonly fromMs: number;
  /** The time by which that is told. */
  readonly dueMs: number;
}

/** Numbers of times that each rule fired and ended. */
export type Counts = ReadonlyMap<string, { fired: number; ended: number }>;

export interface Judgement {
  readonly findings: readonly Finding[];
  readonly counts: Counts;
}

/** Positions and prices that are of different times wait so long for new positions, ms. */
const oldPatienceMs = 15_000;
/** An alert that may rest on a payment alone fires no sooner, ms. */
const uncertainMs = 10_000;
/** No window of a rule is longer, but for those of a day, ms. */
const tenMinutesMs = 600_000;
/** Times of the daemon are whole, ms. */
const roundedMs = 1;
/** A payment is explained so long after it was seen at the latest, or counts as profit or loss, ms. */
const unexplainedMs = 360_000;
/** Records of a change are read within this, ms. */
const recordMs = 15_000;

/** @param rules those of the shipped rules that are judged; absent: all of them */
export function judge(outcome: Outcome, rules?: readonly string[]): Judgement {
  const judged =
    rules === undefined ? allJudged : new Map([...allJudged].filter(([rule]) => rules.includes(rule)));
  return new Judge(outcome, judged).run();
}

class Judge {
  readonly #outcome: Outcome;
  readonly #judged: ReadonlyMap<string, Predicate>;
  readonly #lives: readonly Life[];
  readonly #findings: Finding[] = [];
  readonly #seen: Seen;
  readonly #view: View;
  readonly #terms: Terms;
  readonly #stakes: Stakes;
  readonly #closed = new Closed();
  readonly #runs = new Map<string, Runs>();
  /** The same by predicate and subject. */
  readonly #runsOf = new Map<Predicate, Map<string, Runs>>();
  /** Steps of severity, by rule and subject. */
  readonly #steps = new Map<string, Step[]>();
  /** The daemon's clock less the true time, now. */
  #aheadMs = 0;
  #watchingMs = 0;
  /** Time for which the daemon did not run before this life, ms. */
  #awayMs = 0;
  #dayBegan = false;
  /** Times in which the process stood still or did not run, by the daemon's clock. */
  readonly #stalls: { readonly fromMs: number; readonly toMs: number }[] = [];
  /** The beginning of the last gap in the recording of this life, ms; null: there is none. */
  #gapMs: number | null = null;
  readonly #reminders: Reminders;
  /** Alerts whose value is markedly worse than what was told of them, by rule and subject. */
  readonly #worse = new Map<string, Worse>();
  readonly #clear: Clear;
  /** Recoveries of this life, and those of later ones that may have begun to wait before it ended. */
  #waited = new Map<Change, Waited>();
  /** The true wall times at which the alerts of this life and of those before fired, by their id, ms. */
  readonly #firedMs = new Map<number, number>();
  /** Alerts that fired by what was read within a gap. */
  readonly #firedByLost = new Set<number>();
  /** The last gap of all lives, and the daemon's clock less the true time in it. */
  #lastGap: (Pick<Gap, "fromMs" | "toMs"> & { readonly aheadMs: number }) | null = null;
  #noticedMs = Number.NaN;
  #former = new FormerTexts([]);
  readonly #listed: ListedAlerts;
  /** Data that were too old, with the time at which they were read last. */
  readonly #stale = new Map<string, number>();

  /** @param judged by rule */
  constructor(outcome: Outcome, judged: ReadonlyMap<string, Predicate>) {
    this.#outcome = outcome;
    this.#judged = judged;
    this.#terms = new Terms(outcome.sections);
    const { truth, plan } = outcome;
    this.#lives = livesOf(outcome.log);
    this.#reminders = new Reminders(outcome, this.#lives);
    this.#clear = new Clear(outcome);
    this.#listed = new ListedAlerts(this.#lives);
    const margins = new Margins(truth.rules);
    const { wallets, pairs } = plan.world;
    this.#stakes = new Stakes(wallets);
    const indices = new Map(wallets.map(({ name, pdaIndices }) => [name, pdaIndices]));
    this.#seen = new Seen({
      ...{ truth, margins, indices },
      ...{
        noDataAlerts: noDataAlerts(outcome),
        valuesOff: valuesOff(outcome),
        isGarbled: garbledWithin(outcome),
        stalledMs: stalledMs(outcome),
      },
    });
    const whales = wallets.filter(isWhale).map(({ name }) => name);
    const known = { seen: this.#seen, truth };
    const equity = (account: AccountTruth) => this.#seen.figures(account)?.equity;
    const marginEquity = (account: AccountTruth) => margins.of(account, this.#seen.prices)?.equity;
    const late = plan.troubles.faults.filter((one) => one.kind === "historiesLate");
    const explainedMs = (wallet: string): number =>
      Math.max(0, ...late.map((one) => (one.wallets.includes(wallet) ? one.mostMs : 0))) + recordMs;
    const isClear = (wallet: string, fromMs: number, toMs: number): boolean =>
      this.#clear.all(fromMs - this.#aheadMs, toMs - this.#aheadMs, wallet);
    this.#view = new View(
      {
        ...{ seen: this.#seen, terms: this.#terms, sizes: new Sizes(this.#seen, truth, whales) },
        money: new Wallets({
          ...known,
          indices,
          notified: new Set(plan.world.wallets.filter((one) => !one.watchOnly).map(({ name }) => name)),
          equity,
          marginEquity,
          explainedMs,
          readMs: recordMs,
          isClear,
        }),
        hedges: new Hedges({ ...known, indices, pairs }),
      },
      wallets,
    );
  }

  run(): Judgement {
    const lives = this.#lives;
    this.#former = new FormerTexts(
      lives
        .flatMap(({ changes }) => changes)
        .filter(({ alert }) => !alert.event && this.#judged.has(alert.rule)),
    );
    const counts = new Map<string, { fired: number; ended: number }>();
    for (const { changes } of lives)
      for (const { kind, alert } of changes) {
        const count = counts.get(alert.rule) ?? { fired: 0, ended: 0 };
        counts.set(alert.rule, count);
        if (kind === "fired") count.fired++;
        if (kind === "ended" || (kind === "fired" && alert.event)) count.ended++;
      }
    for (const [index, life] of lives.entries())
      this.#live(
        life,
        lives.slice(index + 1).flatMap((one) => one.changes),
      );
    return {
      findings: [
        ...this.#findings,
        ...this.#listed.findings,
        ...judgeEvents(this.#outcome),
        ...judgeEndings(this.#outcome),
        ...judgeAcknowledged(this.#outcome),
        ...judgeNoData(this.#outcome),
        ...judgeObtained(this.#outcome),
        ...judgeFigures(this.#outcome),
        ...judgeOwed(this.#outcome),
        ...judgeInTime(this.#outcome),
        ...judgeOldAlerts(this.#outcome),
        ...judgeReminded(this.#outcome),
        ...judgeIncidents(this.#outcome),
        ...judgeBuiltIn(this.#outcome),
        ...judgeNotWatched(this.#outcome),
      ],
      counts,
    };
  }

  /** @param later changes of later lives */
  #live(life: Life, later: readonly Change[]): void {
    const { told, changes, shown } = life;
    const gaps = told.flatMap((one) => (one.observation === null ? [one] : []));
    const isRecorded = ({ atMs }: Change) => !gaps.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs);
    const waiting = changes.filter(
      (one) =>
        (one.alert.event
          ? eventFigures.has(one.alert.rule)
          : this.#judged.has(one.alert.rule) || ofNoData.has(one.alert.rule)) && isRecorded(one),
    );
    for (const { kind, alertId, committedMs } of changes)
      if (kind === "fired") this.#firedMs.set(alertId, committedMs);
    const endMs = told.findLast(isTold)?.observation.atMs ?? Number.NEGATIVE_INFINITY;
    this.#waited = new Map([
      ...waiting.filter(isRecovery).map((change) => this.#wait(change, change.atMs)),
      ...later
        .filter(
          (change) =>
            isRecovery(change) && this.#judged.has(change.alert.rule) && this.#firedMs.has(change.alertId),
        )
        .map((change) => this.#wait(change, endMs)),
    ]);
    this.#watchingMs = Number.NEGATIVE_INFINITY;
    this.#gapMs = null;
    this.#worse.clear();
    this.#beginLife(told[0]);
    this.#noteSteps(changes);
    let next = 0;
    let group = new Map<Change, readonly string[]>();
    let groupMs = Number.NaN;
    const finish = (): void => {
      for (const [change, problems] of group) this.#report(change, problems);
      group = new Map();
    };
    const look = (): void => {
      for (const [change, problems] of group) {
        if (problems.length === 0) continue;
        const found = this.#problems(change);
        if (problems.includes("not judged") || found.length < problems.length) group.set(change, found);
      }
    };
    this.#listed.begin(life, this.#outcome.log);
    let version = -1;
    const { hedges, sizes } = this.#view;
    let seen = 0;
    for (const [index, one] of told.entries()) {
      for (; shown[seen]?.after === index; seen++) this.#judgeShown(shown[seen]!);
      if (one.observation === null) {
        finish();
        this.#lose(one);
        version = -1;
        continue;
      }
      const { observation, committedMs } = one;
      // An answer that was under way in a standstill is told late, with the time at which it came.
      const isLate = observation.atMs < this.#view.nowMs && !ofTheClock.has(observation.kind);
      const atMs = isLate ? this.#view.nowMs : observation.atMs;
      let turns = this.#turns(this.#view.nowMs, atMs);
      const lostTurns = this.#lostTurns(this.#view.nowMs, atMs);
      // The process stood still, and no clock of what is read ran.
      if (atMs - this.#view.nowMs > lateMs) this.#stalls.push({ fromMs: this.#view.nowMs, toMs: atMs });
      if (atMs - this.#view.nowMs > stoodStillMs)
        for (const runs of this.#runs.values())
          if (!runs.predicate.restsOnItself) runs.breakOff(this.#view.nowMs);
      this.#view.nowMs = atMs;
      this.#aheadMs = atMs - committedMs;
      if (atMs !== groupMs) {
        finish();
        groupMs = atMs;
        for (; next < waiting.length && waiting[next]!.atMs <= atMs; next++)
          group.set(waiting[next]!, ["not judged"]);
        look();
      }
      // The last figures of what goes with this observation are those of just before it.
      this.#lookBack(atMs, (change) => change.atMs === atMs || change.alert.wallet === ownerOf(observation));
      if (observation.kind === "watching") {
        this.#watchingMs = atMs;
        // Rules that a reload changes begin anew; all others go on.
        for (const runs of this.#runs.values())
          if (!observation.reloaded || changedByReload.has(runs.predicate.rule)) runs.breakOff(atMs);
        if (!observation.reloaded) {
          this.#view.money.forget(atMs);
          this.#stakes.forget(false);
          this.#view.dailyMoves.clear();
        }
      }
      this.#beginDay(atMs);
      this.#notice(atMs);
      for (const wrong of this.#seen.take(observation, committedMs))
        this.#findings.push({
          ...{ check: "inputs", rule: observation.kind, subject: "", atMs: committedMs },
          ...{ expected: "what was true", seen: wrong },
        });
      if (hedges.note(observation, committedMs)) turns = true;
      if (observation.kind === "accounts") {
        sizes.note(observation);
        this.#stakes.note(observation, this.#view);
        this.#closed.note(observation, this.#view);
      }
      if (observation.kind === "external") {
        this.#stakes.noteMove(observation);
        this.#view.dailyMoves.set(observation.symbol, observation.dailyVolatility ?? Number.NaN);
      }
      if (figuring.has(observation.kind)) this.#stakes.fill(this.#view);
      const answered = observation.kind === "accounts" ? observation.wallet : null;
      if (answered !== null) this.#view.money.note(answered, true, atMs);
      if (version !== this.#seen.version || turns || lostTurns) {
        const only = version < 0 || turns || lostTurns ? null : ownerOf(observation);
        version = this.#seen.version;
        for (const name of only === null ? this.#view.wallets.keys() : [only])
          if (name !== answered) this.#view.money.note(name, false, atMs);
        this.#judgeAll(atMs, only);
        this.#lookBack(atMs);
      }
      this.#judgeWorse(atMs);
      look();
      this.#listed.look(atMs, this.#aheadMs, (change, summary) => this.#summaryProblems(change, summary));
    }
    finish();
    for (const runs of this.#runs.values()) runs.stop(groupMs, this.#carries(runs, groupMs));
  }

  /** True if the clocks of a rule and subject go on after a start: all that they rest on is read again then, and they were stored. */
  #carries({ predicate: { reads, restsOnItself } }: Runs, atMs: number): boolean {
    if (reads || restsOnItself || this.#gapMs !== null) return false;
    const ms = atMs - this.#aheadMs - this.#outcome.log.entries[0]!.atMs;
    return !this.#outcome.plan.troubles.faults.some(
      (one) => one.kind === "diskFull" && one.fromMs <= ms && one.toMs >= ms - lossMs,
    );
  }

  /** Figures that are shown are those of what was told so far. */
  #judgeShown({ nowMs, wallets }: Shown): void {
    const atMs = nowMs - this.#aheadMs;
    for (const name of this.#view.wallets.keys())
      if (!wallets.some((one) => one.name === name))
        this.#findings.push({
          ...{ check: "figures", rule: "status", subject: name, atMs },
          ...{ expected: "each wallet", seen: `${name} is not shown` },
        });
    for (const wallet of wallets)
      for (const seen of problemsOf(this.#view, wallet, (forMs) =>
        this.#clear.all(atMs - forMs, atMs, wallet.name),
      ))
        this.#findings.push({
          ...{ check: "figures", rule: "status", subject: wallet.name, atMs },
          ...{ expected: "what is true", seen },
        });
  }

  /** A clock that was wrong when the life before ended may be right from the start of the next: then it is an earlier time. */
  #beginLife(first: Life["told"][number] | undefined): void {
    if (first === undefined) return;
    const backMs = this.#view.nowMs - (first.observation === null ? first.fromMs : first.observation.atMs);
    this.#awayMs = Math.max(0, -backMs);
    if (backMs <= 0) return;
    for (const runs of this.#runs.values()) runs.setBack(backMs);
    for (const [key, steps] of this.#steps)
      this.#steps.set(
        key,
        steps.map((one) => ({ ...one, atMs: one.atMs - backMs })),
      );
  }

  #noteSteps(changes: readonly Change[]): void {
    for (const { kind, atMs, alert } of changes) {
      if (alert.event || !["fired", "rose", "fell", "ended"].includes(kind)) continue;
      const key = `${alert.rule} ${alert.subject}`;
      const steps = this.#steps.get(key) ?? [];
      this.#steps.set(key, steps);
      steps.push({ atMs, id: alert.id, severity: kind === "ended" ? null : alert.severity });
    }
  }

  /** Nothing is known of a time; it may begin with the start. */
  #lose(gap: Gap): void {
    const { fromMs } = gap;
    const { nowMs } = this.#view;
    if (fromMs - nowMs > stoodStillMs) this.#stalls.push({ fromMs: nowMs, toMs: fromMs });
    if (this.#watchingMs === Number.NEGATIVE_INFINITY) {
      this.#watchingMs = fromMs;
      this.#seen.forget();
    }
    this.#gapMs = fromMs;
    this.#worse.clear();
    this.#lastGap = { fromMs, toMs: gap.toMs, aheadMs: this.#aheadMs };
    for (const runs of this.#runs.values()) runs.doubt(fromMs);
    this.#seen.lose(gap);
    this.#view.money.lose();
    this.#view.hedges.lose();
    this.#view.sizes.lose(gap, this.#aheadMs);
    this.#stakes.forget(true);
    this.#closed.lose();
  }

  /** True if time alone brings about another judgement from one time to another. */
  #turns(fromMs: number, toMs: number): boolean {
    const { hedges, sizes, terms } = this.#view;
    return (
      this.#seen.markets.turns(fromMs, toMs, soonMs) ||
      [...this.#judged.values()].some((one) => one.turns?.(this.#view, fromMs, toMs)) ||
      hedges.turns(fromMs, toMs) ||
      sizes.turns(fromMs, toMs, terms.windowMs("WhaleTrades", tradesWithinMs))
    );
  }

  /** Another day is another ground of what is lost in it. */
  #beginDay(atMs: number): void {
    const { midnightMs } = this.#outcome.plan.start;
    if (this.#dayBegan || midnightMs === null || atMs < midnightMs) return;
    this.#dayBegan = true;
    this.#view.money.beginDay(midnightMs);
    this.#seen.forgetMidnights();
  }

  /** @param only a wallet: nothing changed of the others since they were judged */
  #judgeAll(atMs: number, only: string | null): void {
    const there = new Set<Runs>();
    const isOf = (subject: string): boolean => {
      const wallet = walletOf(subject);
      return only === null || wallet === only || !this.#view.wallets.has(wallet);
    };
    const stale = this.#staleNow();
    for (const predicate of this.#judged.values()) {
      const known = this.#runsOf.get(predicate) ?? new Map<string, Runs>();
      this.#runsOf.set(predicate, known);
      for (const subject of predicate.subjects(this.#view)) {
        if (!isOf(subject)) continue;
        const runs = known.get(subject) ?? this.#beginRuns(predicate, subject);
        known.set(subject, runs);
        there.add(runs);
        const freshness = this.#freshness(predicate, subject, atMs, stale);
        const areOld = this.#arePositionsOld(predicate, subject, stale);
        runs.judge(this.#view, this.#identity(subject), atMs, freshness, areOld);
        this.#noteWorse(predicate, subject, atMs, freshness);
      }
    }
    for (const runs of this.#runs.values()) if (!there.has(runs) && isOf(runs.subject)) runs.breakOff(atMs);
    this.#noteRecoveries(atMs);
  }

  #beginRuns(predicate: Predicate, subject: string): Runs {
    const runs = new Runs(predicate, subject, (run) => this.#ran(predicate, subject, run));
    const doubtMs = this.#gapMs ?? this.#cameInGapMs(subject);
    if (doubtMs !== null) runs.doubt(doubtMs);
    this.#runs.set(`${predicate.rule} ${subject}`, runs);
    return runs;
  }

  /** Its value is markedly worse than what was told, at the level that was told. */
  #noteWorse(
    { rule, worsens, levels }: Predicate,
    subject: string,
    atMs: number,
    freshness: Freshness,
  ): void {
    if (worsens === undefined) return;
    const key = `${rule} ${subject}`;
    const word = this.#reminders.at(rule, subject, atMs);
    const value = word === null || freshness !== "fresh" ? undefined : worsens.value(this.#view, subject);
    const isAt = (severity: Severity): boolean => {
      const [most, least] = [levels(this.#view, subject, 1), levels(this.#view, subject, -1)];
      const index = least?.findIndex((one) => one.severity === severity) ?? -1;
      return least?.[index]?.on === true && !most!.slice(index + 1).some(({ on }) => on);
    };
    const isWorse =
      value !== undefined && this.#reminders.isWorse(word!, value, worsens) && isAt(word!.severity!);
    const before = this.#worse.get(key);
    if (!isWorse) this.#worse.delete(key);
    else if (before?.word !== word) {
      const waitMs = atMs < this.#watchingMs + startMs ? textPatienceMs : 0;
      this.#worse.set(key, { word: word!, value, fromMs: atMs, dueMs: atMs + promptMs + tickMs + waitMs });
    }
  }

  /** Demands word of a value that got worse. */
  #judgeWorse(atMs: number): void {
    for (const [key, { word, value, fromMs, dueMs }] of this.#worse) {
      if (atMs <= dueMs) continue;
      const [rule, subject] = key.split(" ") as [string, string];
      this.#worse.set(key, { word, value, fromMs, dueMs: Number.POSITIVE_INFINITY });
      if (this.#reminders.at(rule, subject, dueMs) !== word) continue;
      this.#findings.push({
        ...{ check: "completeness", rule, subject, atMs: dueMs - this.#aheadMs },
        expected: `word that alert ${word.id} got worse: ${word.value} was told at ${timeOf(word.atMs)}, and it is ${value} since ${timeOf(fromMs)}`,
        seen: `nothing by ${timeOf(dueMs)}, all by the daemon's clock`,
      });
    }
  }

  #wait(change: Change, toMs: number): readonly [Change, Waited] {
    const { isOver = false, isSaid = false, identity = null } = this.#waited.get(change) ?? {};
    return [change, { fromMs: toMs - endingPatienceMs - promptMs, toMs, isOver, isSaid, identity }];
  }

  /** An alert that is over is ended later where its account lost some of a position, by the figures of now or of then. */
  #noteRecoveries(atMs: number): void {
    for (const [change, waited] of this.#waited) {
      const { id, rule, subject } = change.alert;
      if (waited.toMs < atMs || waited.fromMs > atMs) continue;
      if (atMs - this.#aheadMs < (this.#firedMs.get(id) ?? Number.NEGATIVE_INFINITY)) continue;
      if (!this.#lostPosition(rule, subject, atMs, waited.toMs)) continue;
      const { condition, claims } = this.#check(change, atMs);
      if (condition.length === 0) {
        waited.isOver = true;
        waited.identity = this.#identity(subject);
      }
      // The moment at which it was over is between two looks: the age of what it rests on is that of then.
      if (claims.every((claim) => claim.startsWith("age of "))) waited.isSaid = true;
    }
  }

  /**
   * Holds texts that say what was so before against the figures of now, as long as their alert has fired and they were not told.
   * @param concerns true for those that these figures may be about
   */
  #lookBack(atMs: number, concerns: (change: Change) => boolean = () => true): void {
    const trueMs = atMs - this.#aheadMs;
    for (const change of this.#former.open) {
      const firedMs = this.#firedMs.get(change.alertId);
      if (firedMs === undefined || firedMs > trueMs + roundedMs) continue;
      // The time of a commit that a full disk held up is known to some ms only.
      const isOver = change.committedMs < trueMs - roundedMs && change.atMs < atMs;
      if (isOver || !concerns(change)) continue;
      this.#former.note(change, this.#lookAt(change));
    }
  }

  /** A change by the figures of now; null: it cannot be judged by them. */
  #lookAt({ alert, details }: Change): Look | null {
    const predicate = this.#judged.get(alert.rule)!;
    if (!predicate.subjects(this.#view).includes(alert.subject)) return null;
    if (predicate.levels(this.#view, alert.subject, 1) === undefined) return null;
    const own = predicate.claims(this.#view, alert.subject, alert);
    if (own === undefined) return null;
    const ages = ageClaims(this.#view, alert.subject, alert);
    return {
      figures: [
        ...own.flatMap(claimProblem),
        ...unclaimed(alert, [...own, ...ages]),
        ...detailProblems(this.#view, alert, details, false),
      ],
      ages: ages.flatMap(claimProblem),
    };
  }

  /** Problems of a summary of an alert that fires, by the figures of now; null: it cannot be judged by them. */
  #summaryProblems({ alert }: Change, summary: string): readonly string[] | null {
    const predicate = this.#judged.get(alert.rule);
    if (predicate === undefined || !predicate.subjects(this.#view).includes(alert.subject)) return null;
    const levels = predicate.levels(this.#view, alert.subject, 1);
    if (levels === undefined) return null;
    // Its figures may be any of some.
    if (levels.some(({ perhapsUnknown }) => perhapsUnknown)) return [];
    // It looks back into a life before, of whose last samples some are not known here.
    const isYoung = this.#view.nowMs - this.#watchingMs < this.#terms.windowMs("LosingFast", tenMinutesMs);
    if (isYoung && alert.rule === "LosingFast") return null;
    // Amounts of what is not explained are looked for in the description, which names more than that.
    const text = { ...alert, summary, description: summary };
    const own = predicate.claims(this.#view, alert.subject, text);
    const found = own?.filter((one) => one.text !== summary && one.text !== "not named");
    return found === undefined ? null : found.flatMap(claimProblem);
  }

  #identity(subject: string): string {
    return identityIn(this.#seen.accounts.get(accountOf(subject)), subject);
  }

  /** The beginning of the last gap, where what is seen now for the first time was there in it: an earlier life may have seen it. */
  #cameInGapMs(subject: string): number | null {
    if (this.#lastGap === null) return null;
    const { fromMs, toMs, aheadMs } = this.#lastGap;
    const all = this.#outcome.truth.accounts.get(accountOf(subject)) ?? [];
    const identity = this.#identity(subject);
    const was = between(all, fromMs - aheadMs, toMs - aheadMs).some(
      (state) => identityIn(state, subject) === identity,
    );
    return was ? fromMs : null;
  }

  /** Names of what is too old now. */
  #staleNow(): readonly string[] {
    return [...this.#stale].flatMap(([name, readMs]) =>
      this.#seen.readMs.get(name) === readMs ? [name] : [],
    );
  }

  /** @param stale names of what is too old now */
  #arePositionsOld(predicate: Predicate, subject: string, stale: readonly string[]): boolean {
    return stale.some((name) => name.endsWith(".") && this.#rests(predicate, subject, name));
  }

  /** @param stale names of what is too old now */
  #freshness(predicate: Predicate, subject: string, atMs: number, stale: readonly string[]): Freshness {
    if (predicate.restsOnItself) return "fresh";
    if (this.#gapMs !== null && !this.#isReadAgain(subject)) return "old";
    if (this.#staleFromMs(predicate, subject) < atMs) return "old";
    let found: Freshness = "fresh";
    for (const name of stale) {
      if (!this.#rests(predicate, subject, name)) continue;
      if (!name.endsWith(".") || !predicate.byOldPositions) return "old";
      found = "old positions";
    }
    return found;
  }

  /** After a gap only what was read whole is fresh: the stream tells some of it. */
  #isReadAgain(subject: string): boolean {
    const account = accountOf(subject);
    const { readMs } = this.#seen;
    return readMs.has("prices") && (!account.includes("/") || readMs.has(account.replace(/\d+$/, "")));
  }

  /** True of an account that the daemon may know from a gap alone. */
  readonly #isLost = (name: string): boolean =>
    this.#gapMs !== null &&
    (this.#seen.accounts.has(name) ? this.#view.account(name) === undefined : !this.#isReadAgain(name));

  /** True if everything was read since the start by which the accounts of a subject are valued. */
  #isValued(subject: string): boolean {
    if (this.#view.money.isUnknown(subject)) return false;
    const account = accountOf(subject);
    const { accounts, readMs } = this.#seen;
    const isRead = (symbol: string): boolean => readMs.has(priceOf + symbol) && readMs.has(termsOf + symbol);
    return [...accounts.values()].every(
      (one) =>
        (one.name !== account && one.wallet !== account) ||
        (this.#seen.figures(one) !== undefined && symbolsOf(one).every(isRead)),
    );
  }

  /** @param name of what is read: prices, that of one market, or `wallet/0.`: the accounts of one PDA index */
  #rests({ restsOn }: Predicate, subject: string, name: string): boolean {
    const wallets = restsOn?.(this.#view, subject) ?? [subject];
    const ofMarket = [priceOf, termsOf].find((one) => name.startsWith(one));
    if (ofMarket !== undefined) {
      const own = [...this.#seen.accounts.values()].filter(
        (one) => one.name === accountOf(subject) || wallets.includes(one.wallet),
      );
      return own.some((one) => symbolsOf(one).includes(name.slice(ofMarket.length)));
    }
    return name === "prices" || wallets.includes(walletOf(name)) || subject.startsWith(name);
  }

  /** The time at which what is read of its markets is too old, −∞ where it was not read yet; infinite where nothing is. */
  #staleFromMs({ reads }: Predicate, subject: string): number {
    if (!reads) return Number.POSITIVE_INFINITY;
    const { readMs } = this.#seen.markets;
    const symbol = symbolOf(subject);
    const ofAccount = () => this.#seen.accounts.get(subject)?.positions.map((one) => one.symbol) ?? [];
    const symbols = symbol === "" ? ofAccount() : [symbol];
    let fromMs = Number.POSITIVE_INFINITY;
    for (const source of reads) {
      // Events that were not read since the start are known from before; after a gap they may be old.
      const ofEvents = eventSources.includes(source);
      const eventsMs =
        this.#seen.events.readMs.get(joined(source, walletOf(subject))) ??
        (ofEvents && this.#gapMs !== null ? Number.NEGATIVE_INFINITY : undefined);
      if (eventsMs !== undefined) fromMs = Math.min(fromMs, eventsMs + 2 * this.#terms.everyMs(source));
      for (const one of readByMarket.has(source) ? symbols : []) {
        const lastMs = readMs.get(joined(source, one)) ?? Number.NEGATIVE_INFINITY;
        fromMs = Math.min(fromMs, lastMs + 2 * this.#terms.historiesMs);
      }
    }
    return fromMs;
  }

  /** Data that were not read for too long are not known beyond doubt. */
  #notice(atMs: number): void {
    if (atMs === this.#noticedMs) return;
    this.#noticedMs = atMs;
    for (const runs of this.#runs.values()) {
      if (!runs.predicate.reads || !runs.isSure) continue;
      const staleMs = this.#staleFromMs(runs.predicate, runs.subject);
      if (staleMs < atMs) runs.becomeOld(Math.max(staleMs, this.#watchingMs));
    }
    const { accountsMs, pricesMs } = this.#terms;
    const termsMs = this.#terms.everyMs("marketConfig");
    for (const [name, readMs] of this.#seen.readMs) {
      const ofAccounts = name.endsWith(".");
      const ofTerms = name.startsWith(termsOf);
      if (!ofAccounts && !ofTerms && name !== "prices" && !name.startsWith(priceOf)) continue;
      const everyMs = ofTerms ? termsMs : ofAccounts ? accountsMs : pricesMs;
      const staleMs = readMs + 2 * everyMs;
      if (staleMs >= atMs || this.#stale.get(name) === readMs) continue;
      this.#stale.set(name, readMs);
      for (const runs of this.#runs.values()) {
        if (runs.predicate.restsOnItself || !this.#rests(runs.predicate, runs.subject, name)) continue;
        if (ofAccounts && runs.predicate.byOldPositions) runs.positionsAreOld(staleMs);
        else runs.becomeOld(staleMs);
      }
    }
  }

  /** True if what was given up is no longer of the last time that counts, from one moment to another. */
  #lostTurns(fromMs: number, toMs: number): boolean {
    const { deadSince } = this.#seen.daemon;
    if (deadSince === undefined) return false;
    const [lastedMs] = this.#terms.durations("MessagesLost", [3_600_000]);
    return [deadSince.fromMs, deadSince.toMs].some((ms) => fromMs < ms + lastedMs! && ms + lastedMs! <= toMs);
  }

  /** A level surely held, or was surely gone, for some time: it has to be reported. */
  #ran(predicate: Predicate, subject: string, { severity, holds, byOld, fromMs, toMs, againMs }: Run): void {
    const { rule, forMs, keepMs, looksBack = false, restsOnItself = false, unreadForMs } = predicate;
    // A change of its accounts may be a payment as long as its records were not read, each kind for itself.
    const times = this.#terms.of(rule, { forMs, keepMs });
    const mayBePaid =
      unreadForMs !== undefined &&
      this.#view.money.changedWithin(subject, fromMs - uncertainMs, fromMs + times.forMs.most);
    const slackMs =
      promptMs +
      (holds && mayBePaid ? uncertainMs : 0) +
      (looksBack ? 2 * this.#terms.pricesMs : 0) +
      (restsOnItself ? tickMs : 0) +
      (fromMs < this.#watchingMs + startMs ? textPatienceMs : 0) +
      (byOld ? oldPatienceMs : 0) +
      (holds || !this.#lostPosition(rule, subject, fromMs, toMs) ? 0 : endingPatienceMs);
    if (holds)
      this.#judgeReminders(predicate, subject, { severity, fromMs: againMs ?? fromMs, toMs }, slackMs);
    // Such a rule is judged by the second, and may not have been before the process stood still.
    const unseen = this.#stalls.find((one) => one.fromMs >= fromMs && one.fromMs < fromMs + tickMs);
    const seenMs = restsOnItself && unseen ? unseen.toMs : fromMs;
    const countedMs = seenMs + (holds ? times.forMs.most : times.keepMs.most);
    const ownMs = Math.max(countedMs, againMs ?? countedMs);
    const stall = this.#stalls.find((one) => one.fromMs <= ownMs + slackMs && ownMs < one.toMs);
    const dueMs = (stall?.toMs ?? ownMs) + slackMs;
    // What ends at the very time at which word is due may have ended in the same moment.
    if (dueMs >= toMs) return;
    const stood = this.#severityAt(rule, subject, dueMs);
    const enough = stood !== null && severityRank[stood] >= severityRank[severity];
    if (enough === holds) return;
    this.#findings.push({
      ...{ check: holds ? "completeness" : "late resolve", rule, subject, atMs: dueMs - this.#aheadMs },
      expected: holds
        ? `${severity}, since it held from ${timeOf(fromMs)} to ${timeOf(toMs)}`
        : `less than ${severity}, since that was gone from ${timeOf(fromMs)} to ${timeOf(toMs)}`,
      seen: `${stood ?? "nothing"} at ${timeOf(dueMs)}, all by the daemon's clock`,
    });
  }

  /** A level surely held for some time: while the critical one does its alert is reminded of. */
  #judgeReminders(
    { rule }: Predicate,
    subject: string,
    { severity, ...span }: Pick<Run, "severity" | "fromMs" | "toMs">,
    slackMs: number,
  ): void {
    if (severity !== "critical") return;
    for (const { word, dueMs } of this.#reminders.missed(rule, subject, span, slackMs + tickMs, this.#stalls))
      this.#findings.push({
        ...{ check: "completeness", rule, subject, atMs: dueMs - this.#aheadMs },
        expected: `a reminder of alert ${word.id}, which was told last at ${timeOf(word.atMs)}: it held from ${timeOf(span.fromMs)} to ${timeOf(span.toMs)}`,
        seen: `nothing by ${timeOf(dueMs)}, all by the daemon's clock`,
      });
  }

  /** True if its account lost some of a position before the end of a time, so that word of a liquidation is waited for. */
  #lostPosition(rule: string, subject: string, fromMs: number, toMs: number): boolean {
    const all = this.#outcome.truth.accounts.get(accountOf(subject)) ?? [];
    // Time in which nobody watched is none of it, and no word may have been heard in the lives since an alert fired.
    const firedMs = this.#steps.get(`${rule} ${subject}`)?.findLast(({ atMs }) => atMs <= fromMs)?.atMs;
    const restoredMs = firedMs !== undefined && firedMs < this.#watchingMs ? fromMs - firedMs : 0;
    const awayMs = lossMs + (fromMs - lossMs <= this.#watchingMs ? this.#awayMs : 0);
    const lookBackMs = Math.max(awayMs, restoredMs);
    const held = between(all, fromMs - this.#aheadMs - lookBackMs, toMs - this.#aheadMs);
    const isLost = held.some((state, index) => index > 0 && lostSome(held[index - 1]!, state));
    const seenMs = this.#seen.lostMs.get(accountOf(subject)) ?? [];
    return isLost || seenMs.some((ms) => ms >= fromMs - lookBackMs && ms <= toMs);
  }

  readonly #standing = (rule: string, subject: string): Severity | null =>
    this.#severityAt(rule, subject, this.#view.nowMs);

  #severityAt(rule: string, subject: string, atMs: number): Severity | null {
    // The alert of a position that is gone may end after that of the next one fired.
    const standing = new Map<number, Severity>();
    for (const step of this.#steps.get(`${rule} ${subject}`) ?? []) {
      if (step.atMs > atMs) break;
      if (step.severity === null) standing.delete(step.id);
      else standing.set(step.id, step.severity);
    }
    return [...standing.values()].at(-1) ?? null;
  }

  #report(change: Change, problems: readonly string[]): void {
    if (problems.length === 0) return;
    const { kind, alert, committedMs } = change;
    this.#findings.push({
      check: kind === "ended" || kind === "fell" ? "false resolve" : "soundness",
      ...{ rule: alert.rule, subject: alert.subject, atMs: committedMs },
      expected: problems.join("; "),
      seen: `alert ${alert.id} ${kind} ${alert.severity}: ${alert.summary} | ${alert.description}`,
    });
  }

  /** Statements of a change that are false by what the daemon has now. */
  #problems(change: Change): readonly string[] {
    const { kind, alert } = change;
    if (kind === "fired" && this.#lastGap !== null && !this.#isReadAgain(alert.subject))
      this.#firedByLost.add(alert.id);
    if (alert.event)
      return kind === "fired"
        ? eventFigures.get(alert.rule)!(this.#view, alert.subject, alert).flatMap(claimProblem)
        : [];
    if (pressing.has(kind)) {
      const closedMs = this.#closed.sinceMs(alert.subject, change.atMs);
      if (closedMs !== null) return [`it has been closed since ${timeOf(closedMs)}`];
    }
    if (isOfFormer(change) && this.#judged.has(alert.rule)) {
      const firedMs = this.#firedMs.get(alert.id);
      const isOfGap = this.#lastGap !== null && (firedMs === undefined || firedMs <= this.#lastGap.toMs);
      return isOfGap || this.#firedByLost.has(alert.id) ? [] : this.#former.problems(change);
    }
    if (!stating.has(kind) || isOfFormer(change)) return [];
    if (kind === "ended" && alert.ending === "explained") return this.#explainedProblems(change);
    if (ofNoData.has(alert.rule))
      return kind === "ended" || this.#gapMs !== null ? [] : this.#stakes.problems(change, this.#view);
    const { condition, claims } = this.#check(change, change.atMs);
    const { isOver = false, isSaid = false } = this.#waited.get(change) ?? {};
    const ages = byNewest.has(kind) ? this.#ageProblems(change) : [];
    return [...(isOver ? this.#againProblems(change) : condition), ...(isSaid ? [] : claims), ...ages];
  }

  /** A recovery that is told later than it was must not surely be undone by then. */
  #againProblems(change: Change): readonly string[] {
    const { alert, atMs } = change;
    // It may be another position by then.
    if (this.#waited.get(change)?.identity !== this.#identity(alert.subject)) return [];
    const lowest = this.#runs.get(`${alert.rule} ${alert.subject}`)?.levels[0];
    const againMs = lowest?.surelyOnMs ?? null;
    return againMs !== null && atMs - againMs > promptMs ? [`it holds again since ${timeOf(againMs)}`] : [];
  }

  #check(
    change: Change,
    atMs: number,
  ): { readonly condition: readonly string[]; readonly claims: readonly string[] } {
    const { rule, subject } = change.alert;
    const predicate = this.#judged.get(rule)!;
    const isJudged = predicate.subjects(this.#view).includes(subject);
    const levels = isJudged && predicate.levels(this.#view, subject, 1);
    const certain = isJudged && predicate.levels(this.#view, subject, -1);
    // An answer within a gap is not known here before the next one.
    if ((!levels || !certain) && this.#gapMs !== null) return { condition: [], claims: [] };
    if (!levels || !certain)
      return {
        condition: [`nothing is known of ${subject}, or nothing is to be told of it`],
        claims: ["its figures are not known"],
      };
    return {
      condition: this.#conditionProblems(predicate, { ...change, atMs }, levels, certain),
      claims: this.#claimProblems(predicate, change),
    };
  }

  /** @param more claims beside those of its rule */
  #claimProblems(predicate: Predicate, change: Change, more: readonly Claim[] = []): readonly string[] {
    const { alert, details, advice = [] } = change;
    const { claims } = predicate;
    const { nowMs } = this.#view;
    const isFresh =
      this.#isReadAgain(alert.subject) &&
      this.#isValued(alert.subject) &&
      this.#freshness(predicate, alert.subject, nowMs, this.#staleNow()) === "fresh";
    const own = claims(this.#view, alert.subject, alert);
    if (own === undefined) return more.flatMap(claimProblem);
    const found = [...own, ...ageClaims(this.#view, alert.subject, alert), ...more];
    return [
      ...found.flatMap(claimProblem),
      ...unclaimed(alert, found),
      ...(isFresh ? missingIn(alert) : []),
      ...wordProblems(this.#view, alert.rule, alert.subject, alert),
      ...detailProblems(this.#view, alert, details, isFresh),
      // Right after a start something that advice rests on may not have been read.
      ...(isFresh && change.atMs >= this.#watchingMs + textPatienceMs
        ? missingAdvice(this.#view, change, this.#standing)
        : []),
      ...advice.flatMap(({ line }) =>
        adviceProblems(this.#view, line, alert.subject, this.#standing, this.#isLost),
      ),
    ];
  }

  /** An alert that was raised by a payment, which its end tells of, beside how its wallet stands. */
  #explainedProblems(change: Change): readonly string[] {
    const { rule, subject } = change.alert;
    const predicate = this.#judged.get(rule)!;
    const certain = predicate.levels(this.#view, subject, -1);
    return [
      ...(certain?.some(({ on }) => on) ? ["it still holds"] : []),
      ...this.#claimProblems(predicate, change, this.#paidClaims(change)),
    ];
  }

  #paidClaims({ alert }: Change): readonly Claim[] {
    const { truth } = this.#outcome;
    const toMs = this.#view.nowMs - this.#aheadMs;
    const fromMs = (this.#firedMs.get(alert.id) ?? toMs) - unexplainedMs;
    return explainedClaims(truth, alert, { fromMs, toMs });
  }

  #ageProblems({ alert, committedMs }: Change): readonly string[] {
    const afterMs = oldAfterMs(this.#outcome, committedMs);
    return ageProblems(this.#view, this.#judged.get(alert.rule)!, alert, afterMs);
  }

  /** An alert that may rest on a withdrawal alone fires when that was not explained for some time. */
  #hastyProblems({ unreadForMs }: Predicate, alert: AlertChange["alert"]): readonly string[] {
    const ms = unreadForMs?.(this.#view, alert.subject, alert, alert.severity);
    return ms !== undefined && ms + clockMs < uncertainMs
      ? [`it may rest on a payment that was seen ${ms} ms before, whose record was not read`]
      : [];
  }

  #conditionProblems(
    predicate: Predicate,
    { kind, alert, atMs }: AlertChange,
    levels: readonly Level[],
    certain: readonly Level[],
  ): readonly string[] {
    const { rule, subject, severity } = alert;
    const index = levels.findIndex((one) => one.severity === severity);
    const times = this.#terms.of(rule, predicate);
    const runs = this.#runs.get(`${rule} ${subject}`)?.levels[index];
    const lastedMs = (sinceMs: number | null | undefined) =>
      sinceMs === null || sinceMs === undefined ? -1 : atMs - sinceMs;
    const short = (ms: number, leastMs: number) => ms + (leastMs > 0 ? clockMs : 0) < leastMs;
    switch (kind) {
      case "fired":
      case "rose":
        if (!levels.slice(index).some(({ on }) => on)) return [`${severity} does not hold`];
        if (short(lastedMs(runs?.perhapsOnMs), times.forMs.least))
          return [lasted(`${severity} has held`, lastedMs(runs?.perhapsOnMs), times.forMs.least)];
        return this.#hastyProblems(predicate, alert);
      case "worsened":
      case "changed":
        return [];
      case "reminder": {
        const lowest = this.#runs.get(`${rule} ${subject}`)?.levels[0];
        const goneMs = lastedMs(lowest?.surelyGoneMs && Math.max(lowest.surelyGoneMs, lowest.againMs ?? 0));
        const lagMs = promptMs + tickMs + (predicate.looksBack ? 2 * this.#terms.pricesMs : 0);
        return goneMs > lagMs ? [`it has been gone for ${goneMs} ms, and only waits for its end`] : [];
      }
      case "fell": {
        const over = this.#runs.get(`${rule} ${subject}`)?.levels[index + 1];
        if (certain.slice(index + 1).some(({ on }) => on)) return [`more than ${severity} holds`];
        // An alert whose end waits for word of a liquidation goes on at what holds by then.
        const goneMs = Math.max(lastedMs(over?.perhapsGoneMs), over?.mostGoneMs ?? 0);
        return short(goneMs, times.keepMs.least)
          ? [lasted(`more than ${severity} has been gone`, goneMs, times.keepMs.least)]
          : [];
      }
      default: {
        if (certain.some(({ on }) => on)) return ["it still holds"];
        const lowest = this.#runs.get(`${rule} ${subject}`)?.levels[0];
        // It may be gone by time alone, in that very moment.
        const goneMs = Math.max(lastedMs(lowest?.perhapsGoneMs), levels[0]?.off ? 0 : -1);
        return short(goneMs, times.keepMs.least)
          ? [lasted("it has been gone", goneMs, times.keepMs.least)]
          : [];
      }
    }
  }
}

/** Names of readings: few, and asked for with each judgement. */
const names = new Map<string, Map<string, string>>();

function joined(source: string, of: string): string {
  const known = names.get(source) ?? new Map<string, string>();
  names.set(source, known);
  const name = known.get(of) ?? `${source} ${of}`;
  known.set(of, name);
  return name;
}

/** Says for how long something has to last that lasted shorter. @param ms below 0: not at all */
const lasted = (what: string, ms: number, leastMs: number): string =>
  `${leastMs} ms for which ${what}, not ${Math.max(0, Math.round(ms))} ms`;

/** The wallet that an observation is about; null: more than one, or anything else. */
function ownerOf(observation: Observation): string | null {
  const { kind } = observation;
  return kind === "accounts" || kind === "events" || kind === "portfolio" ? observation.wallet : null;
}

/** The position that a subject is about in a state of its account; empty: there is none. */
function identityIn(account: AccountTruth | undefined, subject: string): string {
  const position = account?.positions.find(({ symbol }) => symbol === symbolOf(subject));
  return position ? `${position.sequence} ${position.baseLots > 0n}` : "";
}
