/**
 * The tick: one observation in, one Changes value out. No I/O, no clock, no randomness: the same observations in the
 * same order give the same Changes, live, in a rule test, in a backtest or in a simulation.
 *
 *   observation ──► facts (accounts, markets, wallets) ──► windows ──► rules ──► alerts ──► pending items, acknowledgements
 *
 * Its state is changed in place; the caller commits the returned changes before acting on them, and passes it a `time`
 * observation at `nextDeadlineMs()` and at least once a second.
 */

import { bringsData } from "../alerts/own/exchange-silence.ts";
import type { Held } from "../alerts/routing/held-notifications.ts";
import type { PresentAlert } from "../domain/alerts/alert.ts";
import type { ExplainAnswer } from "../domain/alerts/explanation.ts";
import type { Silence } from "../domain/alerts/silence.ts";
import type { Observation } from "../domain/observation.ts";
import type { Source } from "../domain/sources.ts";
import type { WatchStatus } from "../domain/status.ts";
import type { Changes } from "../domain/stored/changes.ts";
import type { Ask } from "../domain/stored/changes-builder.ts";
import { stoodStillMs } from "../domain/structures/deadlines.ts";
import type { WhatIfOutcome, WhatIfQuestion } from "../domain/what-if.ts";
import type { WantedSymbols } from "../evaluate/wanted-markets.ts";
import type { Needs } from "../state/needs.ts";
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
  /** Reads to make at once. */
  readonly asks: readonly Ask[];
  /** Log notes for people, each written once. */
  readonly notes: readonly Note[];
}

export class Watch {
  readonly #parts: Parts;
  readonly #intake: Intake;
  readonly #wentOn: boolean;
  #replaced = false;

  /**
   * @param before the watch that this one replaces at a reload: its state is transferred, and it must not be used any
   * more
   */
  constructor(settings: WatchSettings, remembered: Remembered, nowMs: number, before: Watch | null = null) {
    if (before !== null) before.#replaced = true;
    this.#wentOn = before !== null;
    this.#parts = assemble(settings, remembered, nowMs, before === null ? null : before.#parts);
    this.#intake = new Intake(this.#parts);
  }

  /** True if its state was transferred to another watch. */
  get replaced(): boolean {
    return this.#replaced;
  }

  /** The current rules. */
  get ruleSet(): WatchSettings["ruleSet"] {
    return this.#parts.settings.ruleSet;
  }

  /** The start, ms, and if it replaced another watch: a replay has to do the same at this time. */
  get beginning(): { readonly atMs: number; readonly reloaded: boolean; readonly wentOn?: true } {
    const { startedMs, settings } = this.#parts;
    const reloaded = settings.reloaded === true;
    return { atMs: startedMs, reloaded, ...(this.#wentOn ? { wentOn: true } : {}) };
  }

  /** The past of subjects: at a start filled from history before the first observation. */
  get warmUp(): WindowWarmUp {
    return this.#parts.warmUp;
  }

  /**
   * Returns the next time at which time alone may change something, ms; null if nothing is due. @param untilMs see
   * `Deadlines.nextMs`
   */
  nextDeadlineMs(untilMs?: number): number | null {
    return this.#parts.deadlines.nextMs(untilMs);
  }

  /** Takes one observation, then handles the deadlines that are due. An observation does not move time back. */
  observe(observation: Observation): Outcome {
    const { moment, deadlines, world, alerts, advisor, noData, eventRules, daemon, warmUp, injected } =
      this.#parts;
    const atMs = Math.max(observation.atMs, moment.nowMs);
    if (atMs - moment.observedMs > stoodStillMs) {
      world.markets.noteStandstill(atMs);
      // No time observations come between injected facts.
      if (!injected.any) alerts.noteStandstill(atMs);
    }
    const builder = moment.begin(atMs);
    warmUp.begin();
    // Deadlines from before this arrival are judged first, by the data known then: data that became stale in a gap (a
    // machine that slept) does not count as read in the meantime.
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

  /** Explains a rule's judgement of a subject now; changes nothing. */
  explain(rule: string, subject: string | null, nowMs: number): ExplainAnswer {
    return explained(this.#parts, rule, subject, this.#notBefore(nowMs));
  }

  /** Answers a what-if question about a wallet's accounts; changes nothing. */
  whatIf(question: WhatIfQuestion, nowMs: number): WhatIfOutcome {
    return this.#parts.advisor.whatIf(question, this.#notBefore(nowMs));
  }

  /** Returns the current state of a firing alert; null if no alert with this id fires. */
  present(alertId: number, nowMs: number): PresentAlert | null {
    return presentAlert(this.#parts, alertId, this.#notBefore(nowMs));
  }

  status(nowMs: number): WatchStatus {
    return statusAt(this.#parts, nowMs);
  }

  /** The reads that rules need beyond the regular ones. */
  get needs(): Needs {
    return this.#parts.needs;
  }

  /**
   * Returns the start of today, ms, if a rule needs a wallet's equity at that time and only the exchange has it; else
   * null.
   */
  midnightMs(wallet: string): number | null {
    const { needs, today } = this.#parts;
    return needs.midnight ? today.missingMs(wallet) : null;
  }

  /** Returns the margin ratio of a wallet's worst account, which decides how often it is read. Null while unknown. */
  marginRatio(wallet: string): number | null {
    return worstMarginRatio(this.#parts, wallet);
  }

  /** Newest first, with recently ended ones. */
  get silences(): readonly Silence[] {
    return this.#parts.alerts.silences;
  }

  /** Held notifications of alerts. */
  get heldBack(): readonly Held[] {
    return this.#parts.alerts.heldBack;
  }

  /** Returns the markets for which a source that is read market by market is needed now. */
  wantedMarkets(source: Source): WantedSymbols {
    return this.#parts.wantedMarkets.of(source, this.#parts.world.nodes.values());
  }

  #notBefore(nowMs: number): number {
    return Math.max(nowMs, this.#parts.moment.nowMs);
  }
}
