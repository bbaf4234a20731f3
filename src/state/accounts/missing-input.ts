/**
 * Finds the missing input of a figure that is unknown although its account was read: the price of a market that it depends on,
 * or the configuration of the market or of its collateral.
 */
import type { Source } from "../../domain/sources.ts";
import type { Subject } from "../../domain/subject.ts";
import type { Unknown } from "../../rules/index.ts";
import { hasSpot } from "../markets/spot-collateral.ts";
import type { World } from "../world.ts";
import type { AccountEntry } from "./account-entry.ts";

/** @returns the source of the missing input; if none is found, the source in the judgement */
export function missingInput(world: World, subject: Subject, unknown: Unknown): Source | null {
  const { source } = unknown;
  if (unknown.unknown !== "missing" || (source !== "traderState" && source !== "markets")) return source;
  // A PDA index that was never read has precedence over a missing price.
  if (source === "traderState" && isUnread(world, subject, unknown.wallet)) return source;
  for (const account of accountsOf(world, subject, unknown.wallet)) {
    if (account.injected || account.node.facts.seenMs.traderState === undefined) continue;
    const missing = missingOf(world, account);
    if (missing !== null) return missing;
  }
  return source;
}

/** Markets that the accounts of a subject depend on and that a source did not report since `sinceMs`. */
export function silentMarkets(world: World, subject: Subject, source: Source, sinceMs: number): string[] {
  const symbols =
    "symbol" in subject && subject.symbol !== null
      ? [subject.symbol.toUpperCase()]
      : accountsOf(world, subject, null).flatMap(symbolsOf);
  return symbols.filter((symbol) => {
    const market = world.markets.entries.get(symbol);
    const seen = market?.facts.seenMs[source];
    return (
      seen === undefined || seen < sinceMs || (source === "markets" && !world.markets.markTicks.has(symbol))
    );
  });
}

function accountsOf(world: World, subject: Subject, wallet: string | null): readonly AccountEntry[] {
  if ("subaccount" in subject) {
    const account = world.accounts.get(subject);
    return account === undefined ? [] : [account];
  }
  const name = wallet ?? ("wallet" in subject ? subject.wallet : null);
  return name === null ? [] : world.accounts.ofWallet(name);
}

/** True if some PDA index of a wallet was not read since the start. */
function isUnread(world: World, subject: Subject, wallet: string | null): boolean {
  const name = "subaccount" in subject ? null : (wallet ?? ("wallet" in subject ? subject.wallet : null));
  return name !== null && world.lastSeenMs("traderState", name) === null;
}

function symbolsOf({ positions, otherMarkets }: AccountEntry): string[] {
  return [...positions.keys(), ...otherMarkets];
}

function missingOf({ markets }: World, account: AccountEntry): Source | null {
  for (const symbol of symbolsOf(account)) {
    if (!markets.risk.has(symbol)) return "marketConfig";
    if (!markets.markTicks.has(symbol)) return "markets";
  }
  if (!hasSpot(account.state) || account.risk.spot !== undefined) return null;
  return markets.assetsAtMs === null || unlistedOf(markets, account) !== null ? "marketConfig" : "markets";
}

function unlistedOf(markets: World["markets"], { state }: AccountEntry): string | null {
  for (const one of state.spotCollaterals) {
    const why = one.balance > 0n ? markets.unlisted(one) : null;
    if (why !== null) return why;
  }
  return null;
}

/** True if accounts of a subject hold collateral besides cash, whose value depends on the list of collateral assets. */
export function holdsAssets(world: World, subject: Subject): boolean {
  return accountsOf(world, subject, null).some(({ state }) => hasSpot(state));
}

/** The reason why the lists give collateral of a subject's accounts no value; null: there is none. */
export function unlistedCollateral(world: World, subject: Subject): string | null {
  for (const account of accountsOf(world, subject, null)) {
    const why = unlistedOf(world.markets, account);
    if (why !== null) return why;
  }
  return null;
}
