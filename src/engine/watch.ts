/**
 * The tick: one observation in, one Changes value out. No I/O, no clock, no chance: the same observations in the same
 * order give the same Changes, live, in a rule test, in a backtest or in a simulation.
 *
 *   observation ──► facts (accounts, markets, wallets) ──► windows ──► rules ──► alerts ──► owed items, acknowledgements
 *
 * Its state is changed in place; the caller commits what it returns before anything that follows from it is done, and
 * feeds it a `time` observation at `nextDeadlineMs()` and at least once a second.
 */

import { bringsData } from "../alerts/own/exchange-silence.ts";
import type { Held } from "../alerts/routing/held-notifications.ts";
import type { PresentAlert } from "../domain/alert.ts";
import type { Changes } from "../domain/changes.ts";
import type { Ask } from "../domain/changes-builder.ts";
import { stoodStillMs } from "../domain/deadlines.ts";
import type { ExplainAnswer } from "../domain/explanation.ts";
import type { Observation } from "../domain/observation.ts";
import type { Silence } from "../domain/silence.ts";
import type { Source } from "../domain/sources.ts";
import type { WatchStatus } from "../domain/status.ts";
import type { WhatIfOutcome, WhatIfQuestion } from "../domain/what-if.ts";
import type { WantedSymbols } from "../evaluate/wanted-markets.ts";
import type { Needs } from "../state/wants.ts";
import { assemble } from "./assembly/assemble.ts";
import type { Parts } from "./assembly/parts.ts";
import { Intake } from "./intake.ts";
import type { Note } from "./moment.ts";
import { explained, presentAlert, statusAt, worstMarginRatio } from "./questions.ts";
import type { Remembered } from "./remembered.ts";
import type { WatchSettings } from "./settings.ts";
import type { WindowWarmUp } from "./window-warm-up.ts";

/** The results of one observation. */
export interface Outcome {
  readonly changes: Changes;
  /** Readings to make at once. */
  readonly asks: readonly Ask[];
  /** For the log: what a person who reads it should know, each told once. */
  readonly notes: readonly Note[];
}

export class Watch {
  readonly #parts: Parts;
  readonly #intake: Intake;
  readonly #wentOn: boolean;
  #replaced = false;

  /** @param before the watch that this one replaces at a reload: what it knows goes over, and it must not be used any more */
  constructor(settings: WatchSettings, remembered: Remembered, nowMs: number, before: Watch | null = null) {
    if (before !== null) before.#replaced = true;
    this.#wentOn = before !== null;
    this.#parts = assemble(settings, remembered, nowMs, before === null ? null : before.#parts);
    this.#intake = new Intake(this.#parts);
  }

  /** True if what it knew went over to another watch. */
  get replaced(): boolean {
    return this.#replaced;
  }

  /** By what it judges. */
  get ruleSet(): WatchSettings["ruleSet"] {
    return this.#parts.settings.ruleSet;
  }

  /** The start, ms, and whether in place of another one: what a replay has to do at the same moment. */
  get beginning(): { readonly atMs: number; readonly reloaded: boolean; readonly wentOn?: true } {
    const { startedMs, settings } = this.#parts;
    const reloaded = settings.reloaded === true;
    return { atMs: startedMs, reloaded, ...(this.#wentOn ? { wentOn: true } : {}) };
  }

  /** The past of subjects: a start fills it from history, before the first observation. */
  get warmUp(): WindowWarmUp {
    return this.#parts.warmUp;
  }

  /**
   * The next time at which time alone may change something, ms; null when nothing is due. @param untilMs as of
   * `Deadlines.nextMs`
   */
  nextDeadlineMs(untilMs?: number): number | null {
    return this.#parts.deadlines.nextMs(untilMs);
  }

  /** Takes one observation, then works off the deadlines that have come. An observation never moves time back. */
  observe(observation: Observation): Outcome {
    const { moment, deadlines, world, alerts, advisor, noData, eventRules, daemon, warmUp, injected } =
      this.#parts;
    const atMs = Math.max(observation.atMs, moment.nowMs);
    if (atMs - moment.observedMs > stoodStillMs) {
      world.markets.noteStandstill(atMs);
      // Between figures that are given nobody observes time.
      if (!injected.any) alerts.noteStandstill(atMs);
    }
    const builder = moment.begin(atMs);
    warmUp.begin();
    // Deadlines from before this arrived are judged first, by what was known then: data that went stale in a gap (a machine
    // that slept) do not count as seen all the while.
    moment.answering = observation.kind === "accounts" ? observation.wallet : null;
    advisor.begin();
    deadlines.run(atMs);
    moment.answering = null;
    advisor.begin();
    if (bringsData(observation)) noData.answered(atMs);
    this.#intake.take(observation, builder);
    if (observation.kind !== "time")
      eventRules.retry("wallet" in observation ? observation.wallet : null, builder);
    deadlines.run(atMs);
    noData.judged(builder);
    if (!injected.any) daemon.noteNoData();
    warmUp.drop(atMs);
    alerts.complete(builder);
    return { changes: builder.changes, asks: builder.asks, notes: moment.end() };
  }

  /** Explains a rule's judgement of a subject now; asking changes nothing. */
  explain(rule: string, subject: string | null, nowMs: number): ExplainAnswer {
    return explained(this.#parts, rule, subject, this.#notBefore(nowMs));
  }

  /** Answers what a wallet's accounts would be; asking changes nothing. */
  whatIf(question: WhatIfQuestion, nowMs: number): WhatIfOutcome {
    return this.#parts.advisor.whatIf(question, this.#notBefore(nowMs));
  }

  /** A firing alert as it stands now; null where none of this id fires. */
  present(alertId: number, nowMs: number): PresentAlert | null {
    return presentAlert(this.#parts, alertId, this.#notBefore(nowMs));
  }

  status(nowMs: number): WatchStatus {
    return statusAt(this.#parts, nowMs);
  }

  /** The needs of rules beyond what is read for everybody. */
  get needs(): Needs {
    return this.#parts.needs;
  }

  /** The start of today, ms, where a rule needs what a wallet's equity was then and only the exchange can tell; else null. */
  midnightMs(wallet: string): number | null {
    const { needs, today } = this.#parts;
    return needs.midnight ? today.missingMs(wallet) : null;
  }

  /** Margin ratio of a wallet's worst account; what decides how often it is asked. Null while unknown. */
  marginRatio(wallet: string): number | null {
    return worstMarginRatio(this.#parts, wallet);
  }

  /** Newest first, those that are over since not too long among them. */
  get silences(): readonly Silence[] {
    return this.#parts.alerts.silences;
  }

  /** Alerts of which word waits because something holds it. */
  get heldBack(): readonly Held[] {
    return this.#parts.alerts.heldBack;
  }

  /** The markets for which a source that is read market by market is needed now. */
  wantedMarkets(source: Source): WantedSymbols {
    return this.#parts.wantedMarkets.of(source, this.#parts.world.nodes.values());
  }

  #notBefore(nowMs: number): number {
    return Math.max(nowMs, this.#parts.moment.nowMs);
  }
}
