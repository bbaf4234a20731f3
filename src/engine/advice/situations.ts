/** Current accounts with the rules that judge them, as input of what-if questions and advice. */
import type { JudgedPosition, JudgedRule, Situation } from "../../advice/situation.ts";
import { heldMsOf } from "../../alerts/lifecycle.ts";
import { rulesOf } from "../../evaluate/conditions/subject-rules.ts";
import type { AccountEntry } from "../../state/accounts/account-entry.ts";
import { hasSpot } from "../../state/markets/spot-collateral.ts";
import type { SubjectNode } from "../../state/subjects.ts";
import type { World } from "../../state/world.ts";
import { permitsOf } from "./permits.ts";

/**
 * @returns undefined if the account's figures cannot be computed now: a price, terms of a market or its state are
 * unknown
 */
export function situationOf(account: AccountEntry, world: World, nowMs: number): Situation | undefined {
  const { risk, node, name, assessed, injected, state } = account;
  if (!assessed || injected || (hasSpot(state) && risk.spot === undefined)) return undefined;
  const positions = [...account.positions].map(([symbol, entry]): [string, JudgedPosition] => [
    symbol,
    { ...judged(entry.node, nowMs), state: entry.state },
  ]);
  const { markets } = world;
  return {
    name,
    permits: permitsOf(account, world),
    nowMs,
    risk,
    markets: markets.risk,
    marks: markets.markTicks,
    rates: markets.rates,
    trader: judged(node, nowMs),
    positions: new Map(positions),
  };
}

function judged(node: SubjectNode, nowMs: number): Pick<Situation["trader"], "name" | "env" | "rules"> {
  const own = rulesOf(node);
  const rules = own.plan.map(({ rule }, index): JudgedRule => {
    const instance = own.instance(index);
    return {
      rule,
      windows: instance.windows,
      severity: instance.alert?.alert.severity ?? null,
      heldMs: (level) => heldMsOf(instance.lifecycle, level, nowMs),
    };
  });
  return { name: node.name, env: node.env, rules };
}
