/** Queries of the current state. They change nothing. */
import { firingAlert } from "../alerts/firing-alert.ts";
import type { PresentAlert } from "../domain/alerts/alert.ts";
import type { ExplainAnswer } from "../domain/alerts/explanation.ts";
import type { WatchStatus } from "../domain/status.ts";
import { explain } from "../evaluate/explain.ts";
import type { Parts } from "./assembly/parts.ts";
import { watchStatus } from "./status.ts";

/** Returns a rule's judgement of a subject at a time. */
export function explained(
  { settings, world, alerts, aggregates }: Parts,
  rule: string,
  subject: string | null,
  atMs: number,
): ExplainAnswer {
  return explain(
    {
      ...{ ruleSet: settings.ruleSet, nodes: world.nodes.values(), alerts },
      wallet: (name) => world.wallet(name),
      doubtOf: (node) => aggregates.doubtOf(node) ?? world.walletOf(node)?.profit.doubt ?? null,
    },
    rule,
    subject,
    atMs,
  );
}

/** Returns the state of a firing alert at a time; null if no alert with this id fires. */
export function presentAlert(parts: Parts, alertId: number, atMs: number): PresentAlert | null {
  const live = parts.alerts.live.get(alertId);
  if (live === undefined) return null;
  const { severity, summary, value, textAtMs } = firingAlert(live, atMs);
  const isGone = live.isGone(atMs) || isTaken(parts, live.alert.subject);
  const kept = live.isBetter() ? `no longer ${severity} if that lasts` : live.limit(severity, value)?.until;
  const until = isGone ? undefined : kept;
  return {
    ...{ severity, summary, textAtMs },
    ...(isGone ? { gone: true as const } : {}),
    ...(until === undefined ? {} : { until }),
  };
}

/** Returns true for a position that the exchange stated as closed after the last state that shows it. */
function isTaken({ world, endings }: Parts, name: string): boolean {
  const node = world.nodes.get(name);
  if (node?.subject.scope !== "position") return false;
  const { subject, facts } = node;
  const { side } = facts.values;
  const slot = world.accounts.slotOf(subject.wallet, subject.pdaIndex);
  return endings.liquidations.tookAllSince(
    subject,
    subject.symbol,
    typeof side === "string" ? side : null,
    slot,
  );
}

export function statusAt(
  { settings, startedMs, world, alerts, checks, noData }: Parts,
  atMs: number,
): WatchStatus {
  return watchStatus({
    ...{ atMs, startedMs, alerts, scheduleMs: settings.scheduleMs, ruleSet: settings.ruleSet },
    wallets: world.wallets.values(),
    accountsOf: (name) => world.accounts.ofWallet(name),
    markets: world.markets,
    exchange: world.exchange.facts,
    nodes: world.nodes,
    viewMismatches: checks.viewMismatches,
    blind: noData.list(),
  });
}

/** Returns the margin ratio of a wallet's worst account; null while unknown. */
export function worstMarginRatio({ world }: Parts, wallet: string): number | null {
  let worst: number | null = null;
  for (const account of world.accounts.ofWallet(wallet)) {
    const ratio = account.node.facts.values.marginRatio;
    if (typeof ratio === "number" && !Number.isNaN(ratio)) worst = Math.max(worst ?? 0, ratio);
  }
  return worst;
}
