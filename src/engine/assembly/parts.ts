/**
 * The parts of the engine by the stages in which they are made: state, alerts, evaluation, answers. A part gets those
 * of earlier stages. If it has to call one of a later stage, it gets it at call time by `Later`.
 */
import type { AlertBook } from "../../alerts/alert-book.ts";
import type { Endings } from "../../alerts/endings/endings.ts";
import type { ChannelAlerts } from "../../alerts/own/channel-alerts.ts";
import type { Downtime } from "../../alerts/own/downtime.ts";
import type { Failing } from "../../alerts/own/failing.ts";
import type { NoData } from "../../alerts/own/no-data.ts";
import type { OwnAlerts } from "../../alerts/own/own-alert.ts";
import type { Throttles } from "../../alerts/routing/throttles.ts";
import type { Deadlines } from "../../domain/structures/deadlines.ts";
import type { Conditions } from "../../evaluate/conditions/conditions.ts";
import type { EventRules } from "../../evaluate/events/event-rules.ts";
import type { NoDataWatches } from "../../evaluate/no-data-watches.ts";
import type { WantedMarkets } from "../../evaluate/wanted-markets.ts";
import type { Holdings } from "../../state/accounts/holdings.ts";
import type { Openings } from "../../state/accounts/openings.ts";
import type { Rights } from "../../state/accounts/rights.ts";
import type { CompletenessTimes } from "../../state/completeness-times.ts";
import type { Counts } from "../../state/counts.ts";
import type { Today } from "../../state/day/today.ts";
import type { Needs } from "../../state/needs.ts";
import type { ProfitGaps } from "../../state/profit/profit-gaps.ts";
import type { Profits } from "../../state/profit/profits.ts";
import type { NamedValues } from "../../state/windows/named-values.ts";
import type { Series } from "../../state/windows/series.ts";
import type { World } from "../../state/world.ts";
import type { AccountAnswers } from "../account-answers.ts";
import type { Advisor } from "../advice/advisor.ts";
import type { Aggregates } from "../aggregates/aggregates.ts";
import type { ConditionEnds } from "../condition-ends.ts";
import type { DaemonFacts } from "../daemon-facts.ts";
import type { EventAnswers } from "../event-answers.ts";
import type { ExchangeChecks } from "../exchange-checks.ts";
import type { InjectedFacts } from "../injected-facts.ts";
import type { MarketAnswers } from "../markets/market-answers.ts";
import type { Moment } from "../moment.ts";
import type { Remembered } from "../remembered.ts";
import type { Restoring } from "../restore.ts";
import type { WatchSettings } from "../settings.ts";
import type { SubjectLife } from "../subject-life.ts";
import type { WalletFigures } from "../wallet-figures.ts";
import type { WindowWarmUp } from "../window-warm-up.ts";

/** The parts that all stages share. */
export interface CommonParts {
  readonly settings: WatchSettings;
  readonly startedMs: number;
  readonly moment: Moment;
  readonly deadlines: Deadlines;
  readonly needs: Needs;
  /** Time until which a condition that holds at its first judgement counts as held since watching began, ms. */
  readonly firstLookUntilMs: number;
}

export interface Beginning extends CommonParts {
  readonly remembered: Remembered;
  /** The parts of the engine that this one replaces at a reload; null: none. Their knowledge is transferred. */
  readonly before: Parts | null;
}

export interface StateParts {
  readonly world: World;
  /** Wallets that were watched before a reload. */
  readonly kept: ReadonlySet<string>;
  readonly openings: Openings;
  readonly completeSince: CompletenessTimes;
  readonly holdings: Holdings;
  readonly counts: Counts;
  readonly rights: Rights;
  readonly gaps: ProfitGaps;
  readonly today: Today;
  readonly profits: Profits;
}

export interface AlertParts {
  readonly advisor: Advisor;
  readonly alerts: AlertBook;
  readonly noData: NoData;
  readonly failing: Failing;
  readonly downtime: Downtime;
  readonly channels: ChannelAlerts;
  readonly own: OwnAlerts;
  readonly throttles: Throttles;
  readonly endings: Endings;
}

export interface EvaluationParts {
  readonly noDataWatches: NoDataWatches;
  readonly conditions: Conditions;
  readonly eventRules: EventRules;
  readonly series: Series;
  readonly named: NamedValues;
  readonly wantedMarkets: WantedMarkets;
  readonly aggregates: Aggregates;
}

export interface AnswerParts {
  readonly restoring: Restoring;
  readonly conditionEnds: ConditionEnds;
  readonly daemon: DaemonFacts;
  readonly checks: ExchangeChecks;
  readonly warmUp: WindowWarmUp;
  readonly life: SubjectLife;
  readonly figures: WalletFigures;
  readonly market: MarketAnswers;
  readonly accounts: AccountAnswers;
  readonly events: EventAnswers;
  readonly injected: InjectedFacts;
}

/** Without the initial parts: they would hold those of all earlier reloads. */
export type Parts = CommonParts & StateParts & AlertParts & EvaluationParts & AnswerParts;

/** Returns all parts, for calls after assembly. @throws Error before */
export type Later = () => Parts;
