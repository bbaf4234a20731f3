/** Functions of rules and templates that compute the deposit or trade with which a condition would hold. */
import { withDeposit, withReduction } from "../margin/hypothetical.ts";
import { leastAmount } from "../margin/least-amount.ts";
import type { AccountRisk } from "../margin/model.ts";
import { shrink, unitsFromBaseLots, usdFromQuoteLots } from "../margin/units.ts";
import { type Env, isUnknown, Unknown, type Value } from "../rules/index.ts";
import { firstDeposit, firstPart, maxDeposit } from "./amounts.ts";
import { Outlook, type Situation } from "./situation.ts";
import { writtenQuoteLots } from "./texts.ts";

type Condition = (env: Env) => Value | Unknown;

const noPosition = new Unknown("absent", null, "there is no such position");

/** @returns USD, rounded up to the precision of texts; 0: it holds already, +∞: no amount is enough */
export function depositTo(situation: Situation, env: Env, condition: Condition): number | Unknown {
  const { risk } = situation;
  const after = (amount: bigint) => condition(supposedEnv(situation, withDeposit(risk, amount), env));
  for (const end of [after(0n), after(maxDeposit)]) if (isUnknown(end)) return end;
  const least = leastAmount((amount) => after(amount) === true, firstDeposit, maxDeposit);
  return least === null ? Number.POSITIVE_INFINITY : usdFromQuoteLots(shrink(writtenQuoteLots(least)));
}

/**
 * @param fee taker fee of the market, a fraction
 * @returns the change of the position's size in base units, negative: sell; 0: it holds already, infinite: closing it is not enough
 */
export function reduceTo(
  situation: Situation,
  symbol: string,
  fee: number,
  env: Env,
  condition: Condition,
): number | Unknown {
  const { risk, markets, marks } = situation;
  const position = risk.positions.find((one) => one.symbol === symbol);
  const [market, priceTicks] = [markets.get(symbol), marks.get(symbol)];
  if (position === undefined || market === undefined || priceTicks === undefined) return noPosition;
  const now = condition(supposedEnv(situation, risk, env));
  if (isUnknown(now)) return now;
  const size = BigInt(position.baseLots);
  const held = size < 0n ? -size : size;
  const isEnough = (lots: bigint): boolean => {
    const reduced =
      lots === 0n ? risk : (withReduction(risk, markets, { symbol, lots, priceTicks, fee }) ?? risk);
    const supposed = supposedEnv(situation, reduced, env);
    const then = condition(supposed);
    // A closed position leaves no unknown.
    return then === true || (isUnknown(then) && lots === held);
  };
  const least = leastAmount(isEnough, firstPart(held), held);
  const sign = size > 0n ? -1 : 1;
  if (least === null) return sign * Number.POSITIVE_INFINITY;
  return least === 0n ? 0 : sign * unitsFromBaseLots(least, market);
}

/** The surroundings of a subject with a hypothetical account and position, and all else unchanged. */
function supposedEnv(situation: Situation, risk: AccountRisk, env: Env): Env {
  const { trader, positions } = new Outlook(situation, { risk, marks: situation.marks });
  const symbol = env.position?.values.symbol;
  return {
    ...env,
    trader,
    position: typeof symbol === "string" ? positions.get(symbol) : env.position,
    window: (index) => env.window(index),
    // A hypothesis within a hypothesis would start from the real account.
    ...{ suppose: undefined, allFresh: false },
  };
}
