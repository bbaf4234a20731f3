/**
 * Holds what the daemon decided against the truth: it goes through the observations of each life in their order, knows at each which
 * versions of the truth the daemon had, judges every predicate by them, and compares.
 */
import { type AlertChange, type Severity, severityRank } from "../../../src/domain/alert.ts";
import type { Outcome } from "../scenario.ts";
import { judgeAcknowledged } from "./acknowledged.ts";
import { claimProblem } from "./claim.ts";
import { judgeEvents } from "./events.ts";
import { type Finding, timeOf } from "./finding.ts";
import { type Life, livesOf } from "./lives.ts";
import { Margins } from "./margin.ts";
import { judgeNoData } from "./no-data.ts";
import { judgeObtained } from "./obtained.ts";
import { type Level, minuteMs, type Predicate } from "./predicate.ts";
import { eventFigures } from "./rules/event-figures.ts";
import { predicates } from "./rules/index.ts";
import { soonMs } from "./rules/markets.ts";
import { type Run, Runs } from "./runs.ts";
import { lostSome, Seen } from "./seen.ts";
import { readByMarket } from "./seen-markets.ts";
import { Terms } from "./terms.ts";
import { between } from "./truth.ts";
import { accountOf, symbolOf, View, walletOf } from "./view.ts";
import { Wallets } from "./wallets.ts";

type Change = Life["changes"][number];

/** Within which what an observation leads to is committed, by the daemon's clock, ms. */
const promptMs = 1_000;
/** After a start a text waits for its figures for so long. */
const startMs = 60_000;
const textPatienceMs = 5_000;
/** The end of an alert about a position that is gone waits so long for word of it, at most. */
const endingPatienceMs = minuteMs;
const lookBackMs = 2 * minuteMs;
/** Tolerance of the daemon's clock, which the exchange's corrects, from one life to another, ms. */
const clockMs = 1_500;

const judged = new Map(predicates.map((one) => [one.rule, one]));
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

/** Severity null: it ended. */
interface Step {
  readonly atMs: number;
  readonly id: number;
  readonly severity: Severity | null;
}

/** Numbers of times that each rule fired and ended. */
export type Counts = ReadonlyMap<string, { fired: number; ended: number }>;

export interface Judgement {
  readonly findings: readonly Finding[];
  readonly counts: Counts;
}

export function judge(outcome: Outcome): Judgement {
  return new Judge(outcome).run();
}

class Judge {
  readonly #outcome: Outcome;
  readonly #findings: Finding[] = [];
  readonly #seen: Seen;
  readonly #view: View;
  readonly #terms: Terms;
  readonly #runs = new Map<string, Runs>();
  /** Steps of severity, by rule and subject. */
  readonly #steps = new Map<string, Step[]>();
  /** The daemon's clock less the true time, now. */
  #aheadMs = 0;
  #watchingMs = 0;
  #dayBegan = false;
  /** Endings of this life that are to come, in their order, and those whose figures were once true in the time that they waited. */
  #endings: readonly Change[] = [];
  readonly #onceTrue = new Set<Change>();
  /** Data that were too old, with the time at which they were read last. */
  readonly #stale = new Map<string, number>();

  constructor(outcome: Outcome) {
    this.#outcome = outcome;
    this.#terms = new Terms(outcome.sections);
    this.#seen = new Seen(outcome.truth);
    const { truth, plan } = outcome;
    const margins = new Margins(truth.rules);
    const { wallets } = plan.world;
    const money = new Wallets({
      ...{ seen: this.#seen, truth },
      indices: new Map(wallets.map(({ name, pdaIndices }) => [name, pdaIndices])),
      equity: (account) => margins.of(account, this.#seen.prices)?.equity,
    });
    this.#view = new View(this.#seen, margins, money, wallets, this.#terms);
  }

  run(): Judgement {
    const lives = livesOf(this.#outcome.log);
    const counts = new Map<string, { fired: number; ended: number }>();
    for (const { changes } of lives)
      for (const { kind, atMs, alert } of changes) {
        const count = counts.get(alert.rule) ?? { fired: 0, ended: 0 };
        counts.set(alert.rule, count);
        if (kind === "fired") count.fired++;
        if (kind === "ended" || (kind === "fired" && alert.event)) count.ended++;
        if (alert.event || !["fired", "rose", "fell", "ended"].includes(kind)) continue;
        const key = `${alert.rule} ${alert.subject}`;
        const steps = this.#steps.get(key) ?? [];
        this.#steps.set(key, steps);
        steps.push({ atMs, id: alert.id, severity: kind === "ended" ? null : alert.severity });
      }
    for (const life of lives) this.#live(life);
    return {
      findings: [
        ...this.#findings,
        ...judgeEvents(this.#outcome),
        ...judgeAcknowledged(this.#outcome),
        ...judgeNoData(this.#outcome),
        ...judgeObtained(this.#outcome),
      ],
      counts,
    };
  }

  #live({ told, changes }: Life): void {
    const waiting = changes.filter(({ alert }) =>
      alert.event ? eventFigures.has(alert.rule) : judged.has(alert.rule),
    );
    this.#endings = waiting.filter(
      ({ kind, alert }) => kind === "ended" && alert.ending === "recovered" && !alert.event,
    );
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
    let version = -1;
    for (const { observation, committedMs } of told) {
      const { atMs } = observation;
      const turns =
        this.#seen.markets.turns(this.#view.nowMs, atMs, soonMs) ||
        predicates.some((one) => one.turns?.(this.#view, this.#view.nowMs, atMs));
      this.#view.nowMs = atMs;
      this.#aheadMs = atMs - committedMs;
      if (atMs !== groupMs) {
        finish();
        groupMs = atMs;
        for (; next < waiting.length && waiting[next]!.atMs <= atMs; next++)
          group.set(waiting[next]!, ["not judged"]);
        look();
      }
      if (observation.kind === "watching") {
        this.#breakAll(atMs);
        this.#watchingMs = atMs;
        if (!observation.reloaded) this.#view.money.forget();
      }
      this.#beginDay(atMs);
      this.#notice(atMs);
      for (const wrong of this.#seen.take(observation, committedMs))
        this.#findings.push({
          ...{ check: "inputs", rule: observation.kind, subject: "", atMs: committedMs },
          ...{ expected: "what was true", seen: wrong },
        });
      const answered = observation.kind === "accounts" ? observation.wallet : null;
      if (answered !== null) this.#view.money.note(answered, true, atMs);
      if (version !== this.#seen.version || turns) {
        version = this.#seen.version;
        for (const name of this.#view.wallets.keys())
          if (name !== answered) this.#view.money.note(name, false, atMs);
        this.#judgeAll(atMs);
        this.#lookAhead(atMs);
      }
      look();
    }
    finish();
    this.#breakAll(groupMs);
  }

  /** Another day is another ground of what is lost in it. */
  #beginDay(atMs: number): void {
    const { midnightMs } = this.#outcome.plan.start;
    if (this.#dayBegan || midnightMs === null || atMs < midnightMs) return;
    this.#dayBegan = true;
    this.#view.money.beginDay(midnightMs);
    this.#seen.forgetMidnights();
  }

  #judgeAll(atMs: number): void {
    const there = new Set<string>();
    for (const predicate of predicates)
      for (const subject of predicate.subjects(this.#view)) {
        const key = `${predicate.rule} ${subject}`;
        there.add(key);
        let runs = this.#runs.get(key);
        if (!runs) {
          runs = new Runs(predicate, subject, (run) => this.#ran(predicate, subject, run));
          this.#runs.set(key, runs);
        }
        const fresh = this.#isFresh(subject) && this.#staleFromMs(predicate, subject) >= atMs;
        runs.judge(this.#view, this.#identity(subject), atMs, fresh);
      }
    for (const [key, runs] of this.#runs) if (!there.has(key)) runs.breakOff(atMs);
  }

  /** An ending may wait for word of a liquidation, and has the figures of when it began to. */
  #lookAhead(atMs: number): void {
    for (const change of this.#endings) {
      if (change.atMs - atMs > endingPatienceMs + promptMs) break;
      const { rule, subject } = change.alert;
      if (change.atMs < atMs || this.#onceTrue.has(change)) continue;
      const predicate = judged.get(rule)!;
      if (predicate.levels(this.#view, subject, 1) === undefined) continue;
      if (predicate.claims(this.#view, subject, change.alert).flatMap(claimProblem).length === 0)
        this.#onceTrue.add(change);
    }
    this.#endings = this.#endings.filter((change) => change.atMs >= atMs);
  }

  /** True if a recovery waited since a moment at which its figures were true. */
  #hasWaited(change: Change): boolean {
    const { kind, atMs, alert } = change;
    if (kind !== "ended" || !this.#onceTrue.has(change)) return false;
    const fromMs = atMs - endingPatienceMs - promptMs;
    return (this.#seen.lostMs.get(accountOf(alert.subject)) ?? []).some((ms) => ms >= fromMs && ms <= atMs);
  }

  #identity(subject: string): string {
    const position = this.#seen.accounts
      .get(accountOf(subject))
      ?.positions.find(({ symbol }) => symbol === symbolOf(subject));
    return position ? `${position.sequence} ${position.baseLots > 0n}` : "";
  }

  #isFresh(subject: string): boolean {
    for (const [name, readMs] of this.#stale)
      if (
        this.#seen.readMs.get(name) === readMs &&
        (name === "prices" || subject === walletOf(name) || subject.startsWith(name))
      )
        return false;
    return true;
  }

  /** The time at which what is read of its markets is too old, −∞ where it was not read yet; infinite where nothing is. */
  #staleFromMs({ reads = [] }: Predicate, subject: string): number {
    const { readMs } = this.#seen.markets;
    const symbol = symbolOf(subject);
    const ofAccount = () => this.#seen.accounts.get(subject)?.positions.map((one) => one.symbol) ?? [];
    const symbols = symbol === "" ? ofAccount() : [symbol];
    let fromMs = Number.POSITIVE_INFINITY;
    for (const source of reads) {
      // What was not read since the start is known from before.
      const eventsMs = this.#seen.events.readMs.get(`${source} ${walletOf(subject)}`);
      if (eventsMs !== undefined) fromMs = Math.min(fromMs, eventsMs + 2 * this.#terms.everyMs(source));
      for (const one of readByMarket.has(source) ? symbols : []) {
        const lastMs = readMs.get(`${source} ${one}`) ?? Number.NEGATIVE_INFINITY;
        fromMs = Math.min(fromMs, lastMs + 2 * this.#terms.historiesMs);
      }
    }
    return fromMs;
  }

  /** Data that were not read for too long are not known beyond doubt. */
  #notice(atMs: number): void {
    for (const runs of this.#runs.values()) {
      if (!runs.predicate.reads) continue;
      const staleMs = this.#staleFromMs(runs.predicate, runs.subject);
      if (staleMs < atMs) runs.breakOff(Math.max(staleMs, this.#watchingMs));
    }
    const { accountsMs, pricesMs } = this.#terms;
    for (const [name, readMs] of this.#seen.readMs) {
      const ofAccounts = name.endsWith(".");
      if (!ofAccounts && name !== "prices") continue;
      const staleMs = readMs + 2 * (ofAccounts ? accountsMs : pricesMs);
      if (staleMs >= atMs || this.#stale.get(name) === readMs) continue;
      this.#stale.set(name, readMs);
      for (const runs of this.#runs.values())
        if (!ofAccounts || runs.subject === walletOf(name) || runs.subject.startsWith(name))
          runs.breakOff(staleMs);
    }
  }

  #breakAll(atMs: number): void {
    for (const runs of this.#runs.values()) runs.breakOff(atMs);
  }

  /** A level surely held, or was surely gone, for some time: it has to be reported. */
  #ran({ rule, forMs, keepMs }: Predicate, subject: string, { severity, holds, fromMs, toMs }: Run): void {
    const slackMs =
      promptMs +
      (fromMs < this.#watchingMs + startMs ? textPatienceMs : 0) +
      (holds || !this.#lostPosition(subject, fromMs, toMs) ? 0 : endingPatienceMs);
    const times = this.#terms.of(rule, { forMs, keepMs });
    const dueMs = fromMs + (holds ? times.forMs.most : times.keepMs.most) + slackMs;
    if (dueMs > toMs) return;
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

  /** True if its account lost some of a position before the end of a time, so that word of a liquidation is waited for. */
  #lostPosition(subject: string, fromMs: number, toMs: number): boolean {
    const all = this.#outcome.truth.accounts.get(accountOf(subject)) ?? [];
    const held = between(all, fromMs - this.#aheadMs - lookBackMs, toMs - this.#aheadMs);
    const isLost = held.some((state, index) => index > 0 && lostSome(held[index - 1]!, state));
    const seenMs = this.#seen.lostMs.get(accountOf(subject)) ?? [];
    return isLost || seenMs.some((ms) => ms >= fromMs - lookBackMs && ms <= toMs);
  }

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

  /** The claims of a change that are not so by what the daemon has now. */
  #problems(change: Change): readonly string[] {
    const { kind, alert, past } = change;
    const { rule, subject } = alert;
    if (alert.event)
      return kind === "fired"
        ? eventFigures.get(rule)!(this.#view, subject, alert).flatMap(claimProblem)
        : [];
    const predicate = judged.get(rule)!;
    if (!stating.has(kind) || past || (kind === "ended" && alert.ending !== "recovered")) return [];
    const levels = predicate.levels(this.#view, subject, 1);
    const certain = predicate.levels(this.#view, subject, -1);
    const waited = this.#hasWaited(change);
    const runs = this.#runs.get(`${rule} ${subject}`)?.levels[0];
    if (waited && typeof runs?.perhapsGoneMs === "number") return [];
    if (!levels || !certain) return [`nothing is known of ${subject}`];
    return [
      ...this.#conditionProblems(predicate, change, levels, certain),
      ...(waited ? [] : predicate.claims(this.#view, subject, alert).flatMap(claimProblem)),
    ];
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
          return [`${severity} has held for ${lastedMs(runs?.perhapsOnMs)} ms`];
        return [];
      case "worsened":
      case "changed":
      case "reminder":
        return [];
      case "fell": {
        const over = this.#runs.get(`${rule} ${subject}`)?.levels[index + 1];
        if (certain.slice(index + 1).some(({ on }) => on)) return [`more than ${severity} holds`];
        return short(lastedMs(over?.perhapsGoneMs), times.keepMs.least)
          ? [`more than ${severity} has been gone for ${lastedMs(over?.perhapsGoneMs)} ms`]
          : [];
      }
      default: {
        if (certain.some(({ on }) => on)) return ["it still holds"];
        const lowest = this.#runs.get(`${rule} ${subject}`)?.levels[0];
        return short(lastedMs(lowest?.perhapsGoneMs), times.keepMs.least)
          ? [`it has been gone for ${lastedMs(lowest?.perhapsGoneMs)} ms`]
          : [];
      }
    }
  }
}
