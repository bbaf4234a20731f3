/**
 * The holdings of each account at its last reading, stored over restarts. A position that shrank or closed while the daemon
 * was stopped is reported as such after the first reading, as it would have been without the stop, and so is a change of
 * collateral.
 */
import { z } from "zod";
import type { SpotCollateralState } from "../../domain/account.ts";
import type { ChangesBuilder } from "../../domain/stored/changes-builder.ts";
import { KeptKind, type KeptValues, keptNumber } from "../../domain/stored/kept.ts";
import { type AccountRef, accountName } from "../../domain/subject.ts";
import type { MarketRisk } from "../../margin/model.ts";
import { shrink, unitsFromBaseLots } from "../../margin/units.ts";
import type { Balance } from "../profit/changes/balance-change.ts";
import type { SeenBalance } from "../profit/changes/newest-states.ts";
import type { SubjectNode } from "../subjects.ts";
import type { World } from "../world.ts";
import type { AccountEntry, Held } from "./account-entry.ts";

/** Minimum time between two writes that are due to accrued funding alone, ms. */
const accruedEveryMs = 60_000;

interface Kept {
  readonly shrunkAtMs: number;
  readonly held: Held;
  /** The slot of the account's state. Absent in databases of earlier versions. */
  readonly slot?: number;
  /** The newest state that profit was computed from. Absent: none. */
  readonly balance?: KeptBalance;
  /** Slot of that state. Absent: `slot`. */
  readonly balanceSlot?: number;
  /** The position of that state within its slot. Absent: not known. */
  readonly balanceIndex?: number;
}

/** A `Balance` with its integers as text. */
interface KeptBalance {
  readonly collateral: string;
  readonly positions: readonly (readonly [
    symbol: string,
    sequence: string,
    base: string,
    quote: string,
    unsettled: string,
    accumulated: string,
  ])[];
  /** Collateral in other assets. Absent: none. */
  readonly spot?: readonly (readonly [
    assetIndex: number,
    symbol: string,
    balance: string,
    decimals: number,
  ])[];
}

const text = z.string();
const held = z.union([z.tuple([text, text]), z.tuple([text, text, keptNumber])]);
const balance = z.object({
  collateral: text,
  positions: z.array(z.tuple([text, text, text, text, text, text])),
  spot: z.array(z.tuple([keptNumber, text, text, keptNumber])).exactOptional(),
});
/** By account. */
export const keptHoldings: KeptKind<Kept> = new KeptKind(
  "wallet/{}/held",
  z.object({
    shrunkAtMs: keptNumber,
    held: z.record(text, held),
    slot: keptNumber.exactOptional(),
    balance: balance.exactOptional(),
    balanceSlot: keptNumber.exactOptional(),
    balanceIndex: keptNumber.exactOptional(),
  }),
);

export class Holdings {
  /** The stored holdings of accounts that were not read since the start. */
  readonly #before = new Map<string, Kept>();
  /** Accounts whose state was stored before profit was computed from it. */
  readonly #behind = new Set<string>();

  /**
   * @param ours returns true if a wallet name still has the same key
   * @param seen takes the last state of an account
   */
  restore(
    keep: KeptValues,
    ours: (wallet: string) => boolean,
    seen: (wallet: string, account: string, state: SeenBalance) => void,
  ): void {
    for (const [account, kept] of keptHoldings.all(keep)) {
      const wallet = account.slice(0, account.lastIndexOf("/"));
      if (!ours(wallet)) continue;
      this.#before.set(account, kept);
      const { balance, balanceSlot: slot = kept.slot, balanceIndex: index } = kept;
      if (balance !== undefined && slot !== undefined)
        seen(wallet, account, { slot, index, balance: balanceOf(balance) });
    }
  }

  /** Slot of a state from before the stop that showed the holdings until the stop; 0: not known. */
  slotBefore(name: string, account: AccountEntry | undefined): number {
    const before = this.#before.get(name);
    if (before === undefined) return account?.slotBefore ?? 0;
    return before.slot ?? 0;
  }

  /** Side of a position that closed during the stop, and its size before the stop, in units; undefined: not known. */
  extentBefore(
    ref: AccountRef,
    symbol: string,
    incarnation: string,
    { accounts, markets }: Pick<World, "accounts" | "markets">,
  ) {
    const before = this.#before.get(accountName(ref));
    const held = before === undefined ? accounts.get(ref)?.heldBefore : before.held;
    const found = held?.[symbol];
    return {
      side: incarnation.split(" ")[0],
      size:
        found?.[0] === incarnation ? (found[2] ?? unitsOf(found[1], markets.risk.get(symbol))) : undefined,
    };
  }

  /**
   * Takes a reading of an account.
   * @param compared its newest state that profit was computed from; undefined: none
   */
  take(account: AccountEntry, compared: SeenBalance | undefined, builder: ChangesBuilder): void {
    const before = this.#before.size > 0 ? this.#before.get(account.name) : undefined;
    let was: Held | null = null;
    if (before !== undefined) {
      this.#before.delete(account.name);
      was = before.held;
      account.slotBefore = before.slot ?? 0;
      const shrunk = hasShrunk(before, account);
      account.heldBefore = shrunk ? before.held : null;
      account.shrunkAtMs = shrunk ? builder.atMs : before.shrunkAtMs;
    }
    const isBehind = compared?.balance !== account.state;
    const caughtUp = !isBehind && this.#behind.size > 0 && this.#behind.delete(account.name);
    const isDue = account.accrued && builder.atMs - account.keptMs >= accruedEveryMs;
    if (!account.moved && !caughtUp && !isDue) return;
    account.moved = false;
    account.accrued = false;
    account.keptMs = builder.atMs;
    if (isBehind) this.#behind.add(account.name);
    const held: Record<string, Kept["held"][string]> = {};
    for (const [symbol, { node, state }] of account.positions) {
      const { size } = node.facts.values;
      const lots = String(state.baseLots);
      const known = was?.[symbol];
      // Before the market list is read, units stay those that are stored.
      const same = known?.[0] === node.incarnation && known[1] === lots ? known[2] : undefined;
      const units = typeof size === "number" ? Math.abs(size) : same;
      held[symbol] = units === undefined ? [node.incarnation, lots] : [node.incarnation, lots, units];
    }
    const { shrunkAtMs, slot } = account;
    const balance = compared && { balance: keptBalance(compared.balance) };
    const place = {
      ...(isBehind && compared ? { balanceSlot: compared.slot } : {}),
      ...(compared?.index === undefined ? {} : { balanceIndex: compared.index }),
    };
    if (before === undefined || !isSame(before, { shrunkAtMs, held, ...balance }))
      keptHoldings.put(account.name, { shrunkAtMs, held, slot, ...balance, ...place }, builder);
  }

  /** Takes that an account no longer exists. */
  gone(name: string, builder: ChangesBuilder): void {
    this.#behind.delete(name);
    keptHoldings.drop(name, builder);
  }
}

/** Returns true if a kept value differs in its slots only. */
function isSame({ shrunkAtMs, held, balance }: Kept, now: Kept): boolean {
  return JSON.stringify({ shrunkAtMs, held, balance }) === JSON.stringify(now);
}

function keptBalance(state: Balance): KeptBalance {
  return {
    collateral: String(state.collateralQuoteLots),
    positions: state.positions.map((one) => [
      one.symbol,
      one.sequence,
      String(one.baseLots),
      String(one.virtualQuoteLots),
      String(one.unsettledFundingQuoteLots),
      String(one.accumulatedFundingQuoteLots),
    ]),
    ...(state.spotCollaterals.length === 0 ? {} : { spot: state.spotCollaterals.map(keptSpot) }),
  };
}

function keptSpot({
  assetIndex,
  symbol,
  balance,
  decimals,
}: SpotCollateralState): NonNullable<KeptBalance["spot"]>[number] {
  return [assetIndex, symbol, String(balance), decimals];
}

function balanceOf({ collateral, positions, spot = [] }: KeptBalance): Balance {
  return {
    collateralQuoteLots: BigInt(collateral),
    spotCollaterals: spot.map(([assetIndex, symbol, balance, decimals]) => ({
      assetIndex,
      symbol,
      balance: BigInt(balance),
      decimals,
    })),
    positions: positions.map(([symbol, sequence, base, quote, unsettled, accumulated]) => ({
      symbol,
      sequence,
      baseLots: BigInt(base),
      virtualQuoteLots: BigInt(quote),
      unsettledFundingQuoteLots: BigInt(unsettled),
      accumulatedFundingQuoteLots: BigInt(accumulated),
    })),
  };
}

function hasShrunk({ held }: Kept, account: AccountEntry): boolean {
  return Object.entries(held).some(([symbol, [incarnation, size]]) => {
    const now = account.positions.get(symbol);
    if (now?.node.incarnation !== incarnation) return true;
    return magnitude(now.state.baseLots) < magnitude(BigInt(size));
  });
}

/** Undefined: the market is not known. */
const unitsOf = (lots: string, market: MarketRisk | undefined): number | undefined =>
  market && unitsFromBaseLots(shrink(magnitude(BigInt(lots))), market);

function magnitude(lots: bigint): bigint {
  return lots < 0n ? -lots : lots;
}

/** Size of a position, in units, and its side; undefined: not known. */
export function extentOf({ facts }: SubjectNode) {
  const { size, side } = facts.values;
  return {
    size: typeof size === "number" ? Math.abs(size) : undefined,
    side: typeof side === "string" ? side : undefined,
  };
}
