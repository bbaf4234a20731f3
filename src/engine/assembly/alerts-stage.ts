/** The second stage: alerts, including the built-in ones, and their ends. */
import { AlertBook } from "../../alerts/alert-book.ts";
import { Endings } from "../../alerts/endings/endings.ts";
import { incidentsOptions } from "../../alerts/incidents/incidents.ts";
import { ChannelAlerts } from "../../alerts/own/channel-alerts.ts";
import { DamagedState } from "../../alerts/own/damaged-state.ts";
import { Downtime } from "../../alerts/own/downtime.ts";
import { DrillAlerts } from "../../alerts/own/drill-alerts.ts";
import { Failing } from "../../alerts/own/failing.ts";
import { InboxAlerts } from "../../alerts/own/inbox-alerts.ts";
import { NoData } from "../../alerts/own/no-data.ts";
import { OwnAlerts } from "../../alerts/own/own-alert.ts";
import { Throttles } from "../../alerts/routing/throttles.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { alertingSources } from "../../evaluate/no-data-watches.ts";
import { guards } from "../../evaluate/selection.ts";
import type { RuleSet } from "../../rules/index.ts";
import { Advisor } from "../advice/advisor.ts";
import { judgedAll } from "../judged-all.ts";
import type { AlertParts, Beginning, Later, StateParts } from "./parts.ts";

export function alertsStage(of: Beginning & StateParts, later: Later): AlertParts {
  const { settings, remembered, startedMs, moment, deadlines, world, before } = of;
  const { ruleSet, timezone } = settings;
  const builder = (): ChangesBuilder => moment.builder;
  const advisor = new Advisor(world, settings);
  const alerts = new AlertBook({
    ids: { ...remembered.ids },
    routing: settings.routing,
    incidents: incidentsOptions(ruleSet.conditions, settings.capacities ?? new Map()),
    inhibit: settings.inhibit ?? [],
    remind: settings.remind,
    ...{ timezone, deadlines, builder },
    advise: (alert, atMs) => advisor.about(alert, atMs),
    before: before?.alerts,
  });
  const rules = [...ruleSet.conditions, ...ruleSet.events];
  const guarded = settings.wallets.filter((wallet) =>
    ruleSet.conditions.some((rule) => guards(rule, wallet, settings.pairs)),
  );
  const noData = new NoData({
    ...{ alerts, deadlines, builder, world, startedMs, timezone },
    wallets: settings.wallets,
    alerting: alertingSources(ruleSet),
    guarded: new Set(guarded.map(({ name }) => name)),
    scheduleMs: settings.scheduleMs,
    before: before?.noData,
    newRules: before === null ? [] : newRules(before.settings.ruleSet, ruleSet),
  });
  const failing = new Failing({
    ...{ alerts, deadlines, builder },
    judgedAll: (rule) => judgedAll({ ruleSet, world }, rule),
    before: before?.failing,
    ruleOf: (name) => rules.find((one) => one.name === name),
    stands: (subject) => world.nodes.has(subject),
  });
  const downtime = new Downtime({ alerts, timezone, keep: remembered.keep });
  const isConfigured = (channel: string) => settings.channels?.includes(channel) ?? true;
  const channels = new ChannelAlerts(alerts, isConfigured);
  const wallet = (name: string) => world.wallet(name);
  return {
    ...{ advisor, alerts, noData, failing, downtime, channels },
    own: new OwnAlerts(alerts, [
      ...[noData, failing, downtime, channels],
      new DamagedState(alerts, remembered.damaged ?? []),
      new DrillAlerts(alerts, isConfigured, settings.drills ?? true),
      new InboxAlerts({ alerts, wallet, audits: settings.acknowledge.audit !== null }),
    ]),
    throttles: new Throttles({ alerts, deadlines, builder, before: before?.throttles }),
    endings: new Endings({
      ...{ alerts, deadlines, builder },
      release: (row, into) => later().conditions.rows.released(row, into),
      positionsOf: (account) => world.accounts.get(account)?.positions,
      isPending: ({ rule, subject }, as) => {
        const node = world.nodes.get(subject);
        return node !== undefined && later().conditions.isPending(node, rule, as);
      },
      before: before?.endings,
    }),
  };
}

/** Returns the names of the rules whose condition is new. */
function newRules(before: RuleSet, now: RuleSet): readonly string[] {
  const known = new Map(
    [...before.conditions, ...before.events].map((rule) => [rule.name, rule.fingerprint]),
  );
  return [...now.conditions, ...now.events]
    .filter(({ name, fingerprint }) => known.get(name) !== fingerprint)
    .map(({ name }) => name);
}
