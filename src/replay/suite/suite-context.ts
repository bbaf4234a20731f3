/** The wallets and times that the tests of a suite share. */
import type { WatchedWallet } from "../../state/wallets/watched.ts";

/** The context in which a test is read. */
export interface SuiteContext {
  readonly startMs: number;
  readonly intervalMs: number;
  /** Wallets by name; one that is not there yet is taken in as it is met. */
  readonly known: Map<string, WatchedWallet>;
}

export function meet(wallet: string, { known }: SuiteContext): void {
  if (!known.has(wallet)) known.set(wallet, walletOf(wallet));
}

export function walletOf(name: string): WatchedWallet {
  // No key: nothing is signed in a test.
  return { name, authority: `authority of ${name}`, labels: {}, limits: {}, watchOnly: false };
}
