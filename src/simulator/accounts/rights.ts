/** The rights of trader accounts: all after onboarding, except those that the exchange took away. */

import type { Account } from "../state.ts";
import { type Right, rights } from "./right.ts";

type Holder = Pick<Account, "onboarded" | "lostRights">;

const allowed = { immediate: true, viaColdActivation: false };
const viaActivation = { immediate: false, viaColdActivation: true };
const forbidden = { immediate: false, viaColdActivation: false };

/** As flags on the ledger. */
export function rightFlags({ onboarded, lostRights }: Holder): number {
  if (!onboarded) return 0;
  return rights.reduce((flags, right, bit) => flags | (lostRights.has(right) ? 0 : 1 << bit), 0);
}

function stateOf({ onboarded, lostRights }: Holder): "cold" | "active" | "reduceOnly" | "frozen" {
  if (!onboarded) return "cold";
  if (lostRights.size === rights.length) return "frozen";
  return lostRights.has("riskIncreasingTrade") ? "reduceOnly" : "active";
}

/** In the form of answers. */
export function capabilitiesOf(holder: Holder) {
  const of = (right: Right) =>
    holder.lostRights.has(right) ? forbidden : holder.onboarded ? allowed : viaActivation;
  return {
    flags: rightFlags(holder),
    state: stateOf(holder),
    capabilities: {
      placeLimitOrder: of("placeLimitOrder"),
      placeMarketOrder: of("placeMarketOrder"),
      riskIncreasingTrade: of("riskIncreasingTrade"),
      riskReducingTrade: of("riskReducingTrade"),
      depositCollateral: of("depositCollateral"),
      withdrawCollateral: of("withdrawCollateral"),
    },
  };
}

/** The combined rights of several accounts: a right that one of them has. */
export function jointRights(accounts: readonly Holder[]): Holder {
  const [first, ...others] = accounts;
  const lost = [...(first?.lostRights ?? [])].filter((right) =>
    others.every(({ lostRights }) => lostRights.has(right)),
  );
  return { onboarded: accounts.some(({ onboarded }) => onboarded), lostRights: new Set(lost) };
}
