/** The first stage: the state of accounts, wallets, markets and the day. */
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { Holdings } from "../../state/accounts/holdings.ts";
import { Openings } from "../../state/accounts/openings.ts";
import { Rights } from "../../state/accounts/rights.ts";
import { CompletenessTimes } from "../../state/completeness-times.ts";
import { Counts } from "../../state/counts.ts";
import { Today } from "../../state/day/today.ts";
import { ProfitGaps } from "../../state/profit/profit-gaps.ts";
import { Profits } from "../../state/profit/profits.ts";
import type { SubjectNode } from "../../state/subjects.ts";
import { type Gone, World } from "../../state/world.ts";
import type { Beginning, Later, StateParts } from "./parts.ts";

export function stateStage(of: Beginning, later: Later): StateParts {
  const { settings, remembered, startedMs, moment, deadlines, needs, before } = of;
  const builder = (): ChangesBuilder => moment.builder;
  const onNew = (node: SubjectNode): void => later().life.appeared(node, moment.builder);
  const onGone: Gone = (node, account, symbol, why) =>
    later().life.gone(node, account, symbol, why, moment.builder);
  const world = before?.world ?? new World(needs, onNew, onGone);
  before?.world.serve(settings.wallets, needs, onNew, onGone);
  const kept = new Set(world.wallets.keys());
  for (const one of settings.wallets) world.addWallet(one);
  const completeSince = before?.completeSince ?? new CompletenessTimes();
  const holdings = before?.holdings ?? new Holdings();
  const gaps = new ProfitGaps();
  const today = new Today({
    ...{
      wallets: world.wallets,
      completeSince: completeSince,
      timezone: settings.timezone,
      deadlines,
      builder,
      nowMs: startedMs,
    },
    rolled: (into) => later().figures.newDay(into),
    before: before?.today,
  });
  return {
    ...{ world, kept, completeSince: completeSince, holdings, gaps, today },
    openings: before?.openings ?? new Openings(remembered.facts),
    counts: before?.counts ?? new Counts(remembered.keep),
    rights: new Rights({
      facts: remembered.facts,
      isOurs: (name) => (world.wallets.get(name)?.sinceMs ?? 0) < startedMs,
      happened: (event, into) => later().events.happened(event, into),
    }),
    profits: new Profits({
      ...{ markets: world.markets, accounts: world.accounts, today, deadlines, builder },
      note: (text) => moment.note("warn", text),
      onGone: (account, into) => holdings.gone(account, into),
      onSpotFlow: (wallet, atMs) => gaps.takeFlow(wallet, atMs),
      asked: needs.profit,
    }),
  };
}
