/** No notification is acknowledged at the exchange before a message that names it is at a channel, but for those of no rule. */
import type { Alert } from "../../../src/domain/alerts/alert.ts";
import { isWhale } from "../names.ts";
import type { Outcome } from "../scenario.ts";
import type { Finding } from "./finding.ts";
import { ruleOfType } from "./happened.ts";

/** Types that are told as one with what the liquidation history says. */
const liquidationTypes: ReadonlySet<string> = new Set(["liquidation", "backstop_liquidation", "adl"]);
const liquidationRules = ["Liquidated", "AutoDeleveraged", "WhaleLiquidated"];
/** A person has to acknowledge their alert, and nobody does here. */
const byPeople: ReadonlySet<string> = new Set(["SpotCollateralLiquidated"]);

export function judgeAcknowledged({ log, plan, sections }: Outcome): readonly Finding[] {
  const findings: Finding[] = [];
  const types = new Map(
    log
      .of("ledger")
      .flatMap(({ notifications }) => notifications.map(({ key, type }) => [key, type] as const)),
  );
  /** Keys of events that messages named, and rules by wallet. */
  const named = new Set<string>();
  const leaves = sections.every(
    ({ acknowledge }) => (acknowledge as { unmatched: string }).unmatched === "leave",
  );
  // A small one of a stranger is of no rule.
  const strangers = new Set(plan.world.wallets.filter(isWhale).map(({ name }) => name));
  const alerts = new Map<number, Alert>();
  for (const entry of log.entries) {
    if (entry.kind === "committed")
      for (const { alert } of entry.changes.alertChanges) alerts.set(alert.id, alert);
    if (entry.kind === "arrived") {
      const { alertIds, content } = entry.message;
      // A summary of many tells of the last ones by rule and wallet, and how many.
      const tallied = alertIds
        .flatMap((id) => alerts.get(id) ?? [])
        .filter(({ rule, wallet }) =>
          content.tally?.some((one) => one.rule === rule && (one.wallet ?? wallet) === wallet),
        );
      for (const { eventKey, rule, wallet } of [
        ...content.items.map(({ change }) => change.alert),
        ...tallied,
      ])
        named.add(`${eventKey?.replace(/^notification:/, "")}`).add(`${rule} ${wallet}`);
    }
    if (entry.kind !== "acknowledged") continue;
    const { key, wallet, atMs } = entry;
    const type = types.get(key) ?? "";
    const admin = /^notification:admin:.*:(\d+)$/.exec(key)?.[1];
    const rule = key.startsWith("notification:event") ? ruleOfType[type] : "Announcement";
    const isNamed =
      rule === undefined
        ? liquidationTypes.has(type)
          ? liquidationRules.some((one) => named.has(`${one} ${wallet}`)) ||
            (strangers.has(wallet) && !leaves)
          : !leaves
        : named.has(key) ||
          [...named].some(
            (one) => admin && one.startsWith("notification:admin:") && one.endsWith(`:${admin}`),
          );
    if (isNamed && !byPeople.has(rule ?? "")) continue;
    findings.push({
      ...{ check: "once", rule: rule ?? type, subject: wallet, atMs },
      ...{
        expected: "a message that names it, before it is acknowledged",
        seen: `${key} (${type}) is acknowledged`,
      },
    });
  }
  return findings;
}
