import { rulesOf } from "../evaluate/conditions/subject-rules.ts";
import { applies } from "../evaluate/selection.ts";
import type { RuleSet } from "../rules/index.ts";
import type { World } from "../state/world.ts";

/** Returns true if all possible subjects of a condition were seen since the start, and judged by it. */
export function judgedAll(
  { ruleSet, world }: { readonly ruleSet: RuleSet; readonly world: World },
  name: string,
): boolean {
  const rule = ruleSet.conditions.find((one) => one.name === name);
  if (!rule) return false;
  if (rule.scope === "market" && world.markets.configAtMs === null) return false;
  const ofAccounts = rule.scope === "position" || rule.scope === "trader";
  const anywhere = { ...rule, select: { ...rule.select, symbol: null } };
  for (const { node, wallet } of ofAccounts ? world.wallets.values() : []) {
    const unseen = node.facts.seenMs.traderState === undefined;
    if (unseen && applies(anywhere, { wallet: wallet.name }, () => wallet)) return false;
  }
  for (const node of world.nodes.values())
    if (rulesOf(node).instances.some((one) => one.rule === rule && (!one.judged || one.unknown !== null)))
      return false;
  return true;
}
