/** The third stage: rules and their inputs. */
import { textPatienceMs } from "../../alerts/patience.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import type { Subject } from "../../domain/subject.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { Conditions } from "../../evaluate/conditions/conditions.ts";
import { EventRules } from "../../evaluate/events/event-rules.ts";
import { NoDataWatches } from "../../evaluate/no-data-watches.ts";
import { WantedMarkets } from "../../evaluate/wanted-markets.ts";
import { factReader } from "../../rules/index.ts";
import { NamedValues } from "../../state/windows/named-values.ts";
import { Series } from "../../state/windows/series.ts";
import { WindowPlan } from "../../state/windows/windows.ts";
import { Aggregates } from "../aggregates/aggregates.ts";
import type { AlertParts, Beginning, EvaluationParts, Later, StateParts } from "./parts.ts";

type Made = Beginning & StateParts & AlertParts;

export function evaluationStage(of: Made, later: Later): EvaluationParts {
  const { settings, moment, deadlines, world, noData, before } = of;
  const { ruleSet, wallets, pairs } = settings;
  const goesOn = before !== null;
  const windows = WindowPlan.none(settings.timezone);
  const noDataWatches = new NoDataWatches(
    {
      ...{ ruleSet, wallets, pairs, deadlines },
      builder: () => moment.builder,
      note: (rule, into) => noData.note(rule, into),
      startedMs: noData.startedMs,
      seenMs: (source, seen) => (goesOn ? world.lastSeenMs(source, seen) : null),
    },
    before?.noDataWatches,
  );
  const facts = factReader(settings.named ?? [], settings.scheduleMs);
  const conditions = conditionsOf(of, facts, windows, later);
  const series = new Series(ruleSet);
  const named = new NamedValues({
    ...{ ruleSet, windows },
    owner: (node, path) => world.owner(node, path.scope, path.symbol),
  });
  return {
    ...{ noDataWatches, conditions, series, named },
    eventRules: eventRulesOf(of, facts),
    wantedMarkets: new WantedMarkets(ruleSet, settings.named),
    aggregates: new Aggregates({
      ...{ ruleSet, wallets, pairs: pairs ?? [], world, conditions, series, named, kept: of.kept },
      staleAfterMs: 3 * settings.scheduleMs.traderState,
      before: before?.aggregates,
    }),
  };
}

type Facts = ReturnType<typeof factReader>;

function conditionsOf(of: Made, facts: Facts, windows: WindowPlan, later: Later): Conditions {
  const { settings, moment, deadlines, world, alerts, noData, failing, completeSince, today } = of;
  const { ruleSet, timezone } = settings;
  const judgesOld = settings.judgeOldPositions !== false;
  return new Conditions({
    ...{ ruleSet, timezone, facts, windows, alerts, deadlines },
    builder: (): ChangesBuilder => moment.builder,
    firstLookUntilMs: of.firstLookUntilMs,
    isMarked: ({ subject }) =>
      judgesOld &&
      "wallet" in subject &&
      subject.wallet !== moment.answering &&
      !world.accounts.ofWallet(subject.wallet).some(({ injected }) => injected),
    pricesSinceMs: () => world.markets.pricesSinceMs,
    wallet: (name) => world.wallet(name),
    owner: (node, path) => world.owner(node, path.scope, path.symbol),
    starting: (rule, atMs) => atMs - noData.sinceMs(rule) <= textPatienceMs && !later().injected.any,
    emptied: (instance) => later().conditionEnds.emptied(instance),
    heldSlotOf: (node) => later().conditionEnds.heldSlotOf(node),
    heldEmptyMsOf: (node) => later().conditionEnds.heldEmptyMsOf(node),
    doubtOf: (node) => later().aggregates.doubtOf(node) ?? world.walletOf(node)?.profit.doubt ?? null,
    explainedSince: (node, ms, raisedMs) =>
      later().aggregates.explainedSince(node, ms, raisedMs) ??
      world.walletOf(node)?.profit.explainedSince(ms, raisedMs) ??
      null,
    completeShare: (spec, node, atMs) => {
      const shareOf = (subject: Subject) => completeSince.share(spec, subject, atMs, today.startMs);
      const members = later().aggregates.members(node);
      const shares = members.map((wallet) => shareOf({ scope: "wallet", wallet }));
      return members.length === 0 ? shareOf(node.subject) : Math.min(...shares.map((share) => share ?? 1));
    },
    onDataState: (instance, into) => {
      noData.note(instance, into);
      failing.condition(instance.rule, instance.node.name, instance.unknown, into);
    },
    onPending: ({ rule, node }) => {
      const shadow = rule.mode === "shadow" ? "shadow, " : "";
      const lasts = formatDurationMs(rule.forMs);
      const text = `${shadow}pending: ${rule.name} of ${node.name} holds, and fires when it has held for ${lasts}`;
      moment.note("info", text);
    },
    onReplaced: (...one) => later().conditionEnds.replaced(...one),
    onRecovered: (...one) => later().conditionEnds.recovered(...one),
    takeBack: (instance, into) => later().conditionEnds.takeBack(instance, into),
  });
}

function eventRulesOf(of: Made, facts: Facts): EventRules {
  const { settings, moment, deadlines, world, alerts, noData, failing, before } = of;
  return new EventRules(
    {
      ...{ ruleSet: settings.ruleSet, timezone: settings.timezone, acknowledge: settings.acknowledge },
      ...{ facts, alerts, throttles: of.throttles, deadlines },
      builder: () => moment.builder,
      wallet: (name) => world.wallet(name),
      env: (event, own) => world.eventEnv(event, own, moment.builder.atMs),
      figuresBefore: (event) => world.figuresBefore(event),
      absent: (event, unknown, sinceMs) => world.knownAbsent(event, unknown.source, sinceMs),
      reloaded: before !== null,
      onDataState: (judged, into) => noData.note(judged, into),
      onJudged: (rule, subject, unknown, into) => failing.event(rule, subject, unknown, into),
    },
    before?.eventRules,
  );
}
