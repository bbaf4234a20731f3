/** Actions that the exchange currently permits an account: by its rights, the status of markets and of the exchange. */
import type { Permits } from "../../advice/situation.ts";
import { plainWords } from "../../domain/text/plain-words.ts";
import type { AccountEntry } from "../../state/accounts/account-entry.ts";
import type { World } from "../../state/world.ts";

/** Rights that no answer states count as granted. */
export function permitsOf({ name, state }: AccountEntry, { markets, exchange }: World): Permits {
  const may = (right: string): boolean => {
    const capability = state.capabilities[right];
    // A right that needs an active account is granted with the action itself.
    return capability === undefined || capability.immediate || capability.viaColdActivation;
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
