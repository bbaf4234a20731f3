/** Composes the engine in stages, and starts it from the stored state. */
import { firstLookMs } from "../../alerts/patience.ts";
import { Deadlines } from "../../domain/structures/deadlines.ts";
import { needsOf } from "../../state/needs.ts";
import { Moment } from "../moment.ts";
import type { Remembered } from "../remembered.ts";
import type { WatchSettings } from "../settings.ts";
import { alertsStage } from "./alerts-stage.ts";
import { answersStage } from "./answers-stage.ts";
import { evaluationStage } from "./evaluation-stage.ts";
import type { Beginning, CommonParts, Later, Parts } from "./parts.ts";
import { stateStage } from "./state-stage.ts";

/** @param before the parts of the engine that this one replaces at a reload: their knowledge is transferred */
export function assemble(
  settings: WatchSettings,
  remembered: Remembered,
  nowMs: number,
  before: Parts | null,
): Parts {
  let parts: Parts | null = null;
  const later: Later = () => {
    if (parts === null) throw new Error("a part of the engine was called before all of them were made");
    return parts;
  };
  const firstLookUntilMs = settings.reloaded ? Number.NEGATIVE_INFINITY : nowMs + firstLookMs;
  const unread = (remembered.unread ?? []).map((text) => ({ level: "warn", text }) as const);
  const common: CommonParts = {
    settings,
    startedMs: nowMs,
    moment: new Moment(nowMs, before?.moment.observedMs ?? nowMs, unread),
    deadlines: new Deadlines(before?.deadlines),
    needs: needsOf(settings.ruleSet, settings.named),
    firstLookUntilMs: before?.firstLookUntilMs ?? firstLookUntilMs,
  };
  const beginning: Beginning = { ...common, remembered, before };
  const state = stateStage(beginning, later);
  const alerts = alertsStage({ ...beginning, ...state }, later);
  const evaluation = evaluationStage({ ...beginning, ...state, ...alerts }, later);
  const answers = answersStage({ ...beginning, ...state, ...alerts, ...evaluation }, later);
  parts = { ...common, ...state, ...alerts, ...evaluation, ...answers };
  start(parts, remembered);
  if (before !== null) goOn(parts);
  return parts;
}

/** Restores the stored state, and attaches the rules to the existing subjects. */
function start(parts: Parts, remembered: Remembered): void {
  const { startedMs, moment, world, alerts, endings, downtime, conditions, named } = parts;
  for (const event of remembered.liquidations) endings.liquidations.remember(event, startedMs);
  alerts.restoreNotifications(remembered.keep, remembered.alerts, startedMs);
  parts.restoring.restore(remembered, moment.builder);
  parts.daemon.noteNoData();
  for (const node of world.nodes.values()) named.prepare(node);
  for (const node of [...world.nodes.values()]) {
    conditions.attach(node, moment.builder);
    if (node.subject.scope === "position") downtime.opened(node.name, moment.builder);
    parts.warmUp.stands(node);
  }
  parts.aggregates.start(remembered, startedMs);
}

/** Keeps the readings from before a reload: stored states are checked against them at once. */
function goOn(parts: Parts): void {
  const { moment, world, restoring } = parts;
  const { builder } = moment;
  parts.noDataWatches.goOn(builder.atMs);
  parts.eventRules.retry(null, builder);
  for (const [name, entry] of world.wallets) {
    parts.profits.states.goOn(entry, builder);
    for (const pdaIndex of world.accounts.readIndices(name)) restoring.endUnclaimed(name, pdaIndex, builder);
  }
  const { entries, configAtMs } = world.markets;
  if (configAtMs !== null) restoring.endUnlisted(new Set(entries.keys()), builder);
  parts.aggregates.goOn(builder);
  for (const part of [parts.alerts, parts.noData, parts.endings]) part.tookOver(builder);
}
