/** Rights that accounts lost or got back, from one answer that the daemon had to the next one, over all its lives. */
import type { SubaccountState } from "../../../src/domain/account.ts";
import { isWhale } from "../names.ts";
import type { Outcome } from "../scenario.ts";
import type { Happened } from "./happened.ts";
import { isTold, livesOf } from "./lives.ts";
import { claimsOf } from "./predicate.ts";

/** Without these nobody gets out. */
const waysOut: ReadonlySet<string> = new Set(["riskReducingTrade", "withdrawCollateral"]);

export const rightsRules: readonly string[] = ["RightLost", "LockedIn", "RightReturned"];

type Words = Readonly<Record<string, string>>;

function wordsOf({ capabilities }: SubaccountState): Words {
  return Object.fromEntries(
    Object.entries(capabilities).map(([name, { immediate, viaColdActivation }]) => [
      name,
      immediate ? "yes" : viaColdActivation ? "viaActivation" : "no",
    ]),
  );
}

/** As texts have them. */
const rights: Words = {
  placeLimitOrder: "place limit orders",
  placeMarketOrder: "place market orders",
  riskIncreasingTrade: "open or enlarge positions",
  riskReducingTrade: "reduce positions",
  depositCollateral: "deposit collateral",
  withdrawCollateral: "withdraw collateral",
};

/** The exchange's names as texts have them. */
const spaced = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

export function changedRights({ log, plan }: Outcome): readonly Happened[] {
  const strangers = new Set(plan.world.wallets.filter(isWhale).map(({ name }) => name));
  const known = new Map<string, Words>();
  return livesOf(log).flatMap((life) => {
    // An answer that was under way in a standstill is told with the time at which it came, and judged later.
    let nowMs = 0;
    return life.told.flatMap((one) => {
      if (isTold(one)) nowMs = Math.max(nowMs, one.observation.atMs);
      // Nobody knows what was read in a gap.
      if (!isTold(one)) known.clear();
      if (!isTold(one)) return [];
      const { observation, committedMs } = one;
      if (observation.kind !== "accounts" || strangers.has(observation.wallet)) return [];
      const { wallet, pdaIndex, subaccounts, told } = observation;
      const atMs = nowMs;
      return subaccounts.flatMap((state): Happened[] => {
        if (told !== undefined && !told.includes(state.subaccount)) return [];
        const subject = `${wallet}/${pdaIndex}.${state.subaccount}`;
        const is = wordsOf(state);
        const was = known.get(subject);
        // An answer that does not tell of them takes none away.
        if (Object.keys(is).length === 0) return [];
        known.set(subject, is);
        if (was === undefined) return [];
        const changed = Object.keys(is).filter((name) => (is[name] === "no") !== (was[name] === "no"));
        return changed.map((name) => ({
          rule: is[name] !== "no" ? "RightReturned" : waysOut.has(name) ? "LockedIn" : "RightLost",
          ...{ wallet, subject, atMs: committedMs, isObserved: true },
          what: `the ${is[name] === "no" ? "loss" : "return"} of ${name}`,
          isIn: ({ eventKey }) => eventKey === `capability:${subject}:${name}:${atMs}`,
          claims: (text) =>
            claimsOf(text, [
              ["account", /^(\S+): the exchange/, subject],
              ["step", /the exchange (took away|gave back)/, is[name] === "no" ? "took away" : "gave back"],
              ["right", /(?:took away|gave back) the right to (.+)$/, rights[name] ?? name],
              ["state", /^The exchange lists the account as ([\w ]+)/, spaced(state.lifecycle)],
            ]),
        }));
      });
    });
  });
}

/** True if nobody knows what rights an account had just before: a gap, or the first reading after one. */
export function areUnknown({ log }: Outcome, subject: string, atMs: number): boolean {
  let gapMs: number | null = null;
  for (const one of livesOf(log).flatMap(({ told }) => told)) {
    if (!isTold(one)) gapMs ??= one.fromMs;
    else if (gapMs !== null && one.observation.kind === "accounts") {
      const { wallet, pdaIndex, subaccounts, told } = one.observation;
      const found = subaccounts.find((state) => `${wallet}/${pdaIndex}.${state.subaccount}` === subject);
      if (found === undefined || (told !== undefined && !told.includes(found.subaccount))) continue;
      if (gapMs <= atMs && atMs <= one.observation.atMs) return true;
      gapMs = null;
    }
  }
  return gapMs !== null && gapMs <= atMs;
}
