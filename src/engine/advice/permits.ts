/** Actions that the exchange takes of an account now: by its rights, the status of markets and that of the exchange. */
import type { Permits } from "../../advice/situation.ts";
import { plainWords } from "../../domain/plain-words.ts";
import type { AccountEntry } from "../../state/accounts/account-entry.ts";
import type { World } from "../../state/world.ts";

/** A right that no answer told of is taken as there. */
export function permitsOf({ name, state }: AccountEntry, { markets, exchange }: World): Permits {
  const may = (right: string): boolean => {
    const told = state.capabilities[right];
    // One that waits for the account to be made active again comes with the action itself.
    return told === undefined || told.immediate || told.viaColdActivation;
  };
  const halted = exchange.facts.values.active === false ? "trading at the exchange is halted" : null;
  const canTrade = may("riskReducingTrade") && (may("placeMarketOrder") || may("placeLimitOrder"));
  return {
    deposit: may("depositCollateral") ? null : `${name} may not take deposits now`,
    give:
      exchange.facts.values.withdrawalsAvailable === false
        ? "withdrawals at the exchange are halted"
        : may("withdrawCollateral")
          ? null
          : `nothing may leave ${name} now`,
    reduce: (symbol) => {
      if (halted !== null) return halted;
      if (!canTrade) return `${name} may not trade now`;
      const status = markets.entries.get(symbol)?.config?.status ?? "active";
      return status === "active" ? null : `${symbol} is ${plainWords(status)}`;
    },
  };
}
