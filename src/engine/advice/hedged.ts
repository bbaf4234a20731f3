/** Reductions in other accounts that keep the ratio of declared pairs when one position is reduced. */
import type { Companion } from "../../advice/amounts.ts";
import type { Situation } from "../../advice/situation.ts";
import type { AccountEntry } from "../../state/accounts/account-entry.ts";
import { type Leg, parseLeg } from "../../state/aggregates/pair-legs.ts";
import { wholeSeenMs } from "../../state/wallets/wallets.ts";
import type { WatchedPair } from "../../state/wallets/watched.ts";
import type { World } from "../../state/world.ts";

/** `lots` of this account are closed for `of` base lots of the reduced position. */
interface Reached {
  readonly account: AccountEntry;
  readonly lots: bigint;
  readonly of: bigint;
}

/**
 * Returns the legs that have to be reduced together with a position; empty: it is no leg of a pair, or all others are
 * flat.
 * @param situationOf null: the figures of an account cannot be computed now
 * @returns a text: the reason why they are unknown or cannot be reduced in the same ratio
 */
export function companionsOf(
  account: AccountEntry,
  symbol: string,
  pairs: readonly WatchedPair[],
  world: World,
  situationOf: (account: AccountEntry) => Situation | undefined,
): readonly Companion[] | string {
  const reached: Reached[] = [{ account, lots: 1n, of: 1n }];
  // A companion may be a leg of another pair, so the list grows while it is read.
  for (const one of reached) {
    for (const { name, legs } of pairs) {
      const parsed = legs.flatMap((text) => parseLeg(text) ?? []);
      const own = parsed.find((leg) => isOf(leg, one.account, symbol));
      if (own === undefined) continue;
      const unread = parsed.find(({ wallet }) => !isRead(wallet, world));
      if (unread !== undefined)
        return `${symbol} is a leg of the pair ${name}, of which ${unread.text} is not read`;
      const size = sizeOf(own, world);
      if (lotsOf(one.account, symbol) > 0n !== size > 0n)
        return `${symbol} is a leg of the pair ${name}, and against ${own.text} as a whole`;
      for (const leg of parsed) {
        const other = leg === own ? 0n : sizeOf(leg, world);
        if (other === 0n) continue;
        const holder = largestHolder(leg, other > 0n, world);
        const lots = one.lots * absolute(other);
        const of = one.of * absolute(size);
        const known = reached.find(({ account: there }) => there === holder);
        if (known === undefined) reached.push({ account: holder, lots, of });
        else if (known.lots * of !== lots * known.of)
          return `${symbol} is a leg of several pairs, ${name} among them, whose ratios differ`;
      }
    }
  }
  const companions: Companion[] = [];
  for (const { account: other, lots, of } of reached.slice(1)) {
    const situation = situationOf(other);
    if (situation === undefined) return `the other leg of ${symbol}, in ${other.name}, cannot be valued now`;
    companions.push({ situation, lots, of });
  }
  return companions;
}

function isOf({ wallet, account, symbol }: Leg, { ref }: AccountEntry, of: string): boolean {
  if (wallet !== ref.wallet || symbol !== of) return false;
  return account === null || (account.pdaIndex === ref.pdaIndex && account.subaccount === ref.subaccount);
}

function isRead(wallet: string, { wallets }: World): boolean {
  const entry = wallets.get(wallet);
  return entry !== undefined && wholeSeenMs(entry) !== null;
}

/** Signed, base lots. */
function sizeOf(leg: Leg, world: World): bigint {
  return holdersOf(leg, world).reduce((sum, account) => sum + lotsOf(account, leg.symbol), 0n);
}

function holdersOf(leg: Leg, { accounts }: World): readonly AccountEntry[] {
  return accounts.ofWallet(leg.wallet).filter((account) => isOf(leg, account, leg.symbol));
}

/** Returns the account with the largest part of a leg on its side; a leg that is not flat has one. */
function largestHolder(leg: Leg, isLong: boolean, world: World): AccountEntry {
  const held = (account: AccountEntry) => (isLong ? 1n : -1n) * lotsOf(account, leg.symbol);
  return holdersOf(leg, world).reduce((most, account) => (held(account) > held(most) ? account : most));
}

function lotsOf({ positions }: AccountEntry, symbol: string): bigint {
  return positions.get(symbol)?.state.baseLots ?? 0n;
}

function absolute(lots: bigint): bigint {
  return lots < 0n ? -lots : lots;
}
