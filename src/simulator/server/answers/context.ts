/** The input of all answers, and helpers that several of them need. */
import type { IncomingHttpHeaders } from "node:http";
import { unitsFromBaseLots, usdFromQuoteLots } from "../../../margin/units.ts";
import { priceUsd } from "../../accounts/orders.ts";
import type { Account, Market, Wallet, World } from "../../state.ts";
import { Refusal, type Session, type Sessions } from "../sessions.ts";

export interface Context {
  readonly world: World;
  readonly sessions: Sessions;
  readonly nowMs: number;
  readonly headers: IncomingHttpHeaders;
  /** The bearer's session; null where the endpoint needs none. */
  readonly session: Session | null;
}

/** A refusal with text, as data routes answer; with a code if the request itself is invalid. */
export class NotFound extends Error {
  override readonly name = "NotFound";
  readonly status: number;
  readonly code: string | null;
  constructor(message: string, status = 404, code: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Symbols are compared without case. */
export function marketOf(world: World, symbol: string): Market {
  const market = world.markets.get(symbol.toUpperCase());
  if (!market) throw new NotFound(`Market not found: ${symbol}`);
  return market;
}

export function accountOf(world: World, address: string): Account {
  const account = world.accounts.get(address);
  if (!account) throw new NotFound(`Not a trader account: ${address}`, 400, "unknown_trader_account");
  return account;
}

/**
 * The caller's own account of a notification route.
 * @throws {Refusal} 403 for another wallet's account
 */
export function ownAccount(context: Context, address: string): Account {
  const { world, session } = context;
  const account = world.accounts.get(address);
  if (!session || !account || account.wallet.authority !== session.wallet) {
    throw new Refusal(403, "insufficient_role");
  }
  return account;
}

export function walletOf(world: World, authority: string): Wallet | undefined {
  if (authority === world.house.wallet.authority) return world.house.wallet;
  return world.wallets.get(authority);
}

export const oracleUsd = (market: Market): number => priceUsd(market, market.oracleTicks);
export const iso = (ms: number): string => new Date(ms).toISOString();
export const seconds = (ms: number): number => Math.floor(ms / 1000);
export const usdOf: (quoteLots: bigint) => number = usdFromQuoteLots;

export function unitsOf(market: Market, lots: bigint): number {
  return unitsFromBaseLots(lots, market.spec);
}
