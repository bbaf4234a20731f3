/** The wallets and times that the tests of a suite share. */
import type { WatchedWallet } from "../../state/wallets/watched.ts";

/** The context in which a test is read. */
export interface SuiteContext {
  readonly startMs: number;
  readonly intervalMs: number;
  /** Wallets by name; wallets that tests name are added. */
  readonly known: Map<string, WatchedWallet>;
}

export function addWallet(wallet: string, { known }: SuiteContext): void {
  if (!known.has(wallet)) known.set(wallet, testWallet(wallet));
}

export function testWallet(name: string): WatchedWallet {
  // There is no key: nothing is signed in a test.
  return { name, authority: `authority of ${name}`, labels: {}, limits: {}, watchOnly: false };
}
