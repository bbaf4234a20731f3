/** The last stage: takes the exchange's answers, and restores the stored state. */
import { eventFacts } from "../../state/event-facts.ts";
import { EventWindows } from "../../state/windows/event-windows.ts";
import { AccountAnswers } from "../account-answers.ts";
import { ConditionEnds } from "../condition-ends.ts";
import { DaemonFacts } from "../daemon-facts.ts";
import { EventAnswers } from "../event-answers.ts";
import { ExchangeChecks } from "../exchange-checks.ts";
import { InjectedFacts } from "../injected-facts.ts";
import { MarketAnswers } from "../markets/market-answers.ts";
import { Restoring } from "../restore.ts";
import { SubjectLife } from "../subject-life.ts";
import { WalletFigures } from "../wallet-figures.ts";
import { WindowWarmUp } from "../window-warm-up.ts";
import type { AlertParts, AnswerParts, Beginning, EvaluationParts, Later, StateParts } from "./parts.ts";

export function answersStage(
  of: Beginning & StateParts & AlertParts & EvaluationParts,
  later: Later,
): AnswerParts {
  const { settings, remembered, startedMs, moment, needs, before } = of;
  const { ruleSet } = settings;
  const { facts } = remembered;
  const { world, kept, openings, completeSince, holdings, counts, rights, gaps, today, profits } = of;
  const { alerts, noData, downtime, channels, own, throttles, endings } = of;
  const { noDataWatches, conditions, eventRules, series, named, wantedMarkets, aggregates } = of;
  const warn = (text: string): void => moment.note("warn", text);
  const restoring = new Restoring({
    ...{ ruleSet, world, alerts, conditions, eventRules, throttles, own, endings, downtime, today, holdings },
    known: (wallet) => kept.has(wallet),
    hasPair: (name) => settings.pairs?.some((pair) => pair.name === name) ?? false,
  });
  const checks = new ExchangeChecks({
    ...{ world, conditions, noData, aggregates, today, warn },
    checksEquity: needs.equityCheck,
    before: before?.checks,
  });
  const warmUp = new WindowWarmUp({
    ...{ world, aggregates, profits, gaps, today, startedMs },
    nowMs: () => moment.nowMs,
    eventWindows: new EventWindows(
      ruleSet,
      (event, atMs) => world.eventEnv(event, eventFacts(event, atMs), atMs),
      (event) => world.ownersOf(event),
      (book, event) => aggregates.covers(book, event),
    ),
  });
  const life = new SubjectLife({
    ...{
      world,
      warmUp,
      conditions,
      endings,
      downtime,
      named,
      wantedMarkets,
      openings,
      profits,
      checks,
      facts,
    },
  });
  const figures = new WalletFigures({
    ...{ world, conditions, aggregates, named, series, gaps, today, profits, holdings },
  });
  const market = new MarketAnswers({
    ...{
      settings,
      world,
      alerts,
      conditions,
      noData,
      noDataWatches,
      series,
      named,
      restoring,
      aggregates,
      facts,
      warn,
    },
    happened: (event, into) => later().events.happened(event, into),
    judgeAccount: (account, source, into) => figures.judgeAccount(account, source, into),
    before: before?.market,
  });
  const answers = { world, warmUp, profits, noData, noDataWatches, conditions, aggregates, figures };
  return {
    ...{ restoring, checks, warmUp, life, figures, market },
    conditionEnds: new ConditionEnds({ world, alerts, endings, holdings, restoring }),
    daemon: new DaemonFacts({ node: world.daemon, conditions, noData, channels, counts, named, series }),
    accounts: new AccountAnswers({
      ...answers,
      ...{ alerts, life, holdings, market, named, series, checks, rights, restoring },
    }),
    events: new EventAnswers({ ...answers, openings, today, endings, completeSince, eventRules }),
    injected: new InjectedFacts({
      ...{ named, world, conditions, noData, noDataWatches, gaps, restoring },
      welcomed: (into) => warmUp.welcomed(into),
      changed: (wallets, into) => aggregates.manyChanged(wallets, null, true, into),
    }),
  };
}
