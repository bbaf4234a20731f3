/** Deposits, withdrawals, and transfers between the accounts of one wallet. */
import { abs } from "../decimals.ts";
import { type Transaction, transact } from "../ledger/transaction.ts";
import type { Account, World } from "../state.ts";

/**
 * A deposit (positive) or a withdrawal (negative) of quote lots, an external flow. The caller checks that it is
 * allowed.
 */
export function moveExternally(world: World, tx: Transaction, account: Account, amount: bigint): void {
  if (amount === 0n) return;
  account.collateral += amount;
  account.netDeposits += amount;
  world.externalFlows += amount;
  if (amount > 0n) account.lastDepositSlot = tx.slot;
  note(tx, account, amount > 0n ? "deposit" : "withdrawal", abs(amount));
}

/** Transfers between two accounts of one wallet, with a row for each of them. */
export function transfer(tx: Transaction, from: Account, to: Account, amount: bigint): void {
  if (amount === 0n) return;
  from.collateral -= amount;
  from.netDeposits -= amount;
  to.collateral += amount;
  to.netDeposits += amount;
  note(tx, from, "transfer", amount);
  note(tx, to, "transfer", amount);
}

/** Transfers the rest of an isolated subaccount without a position to subaccount 0. */
export function sweep(world: World, account: Account): void {
  if (account.subaccount === 0 || account.positions.size > 0 || account.orders.size > 0) return;
  const cross = account.wallet.accounts.get(`${account.pdaIndex}.0`);
  if (!cross || account.collateral <= 0n) return;
  transact(world, (tx) => transfer(tx, account, cross, account.collateral));
}

function note(
  tx: Transaction,
  account: Account,
  type: "deposit" | "withdrawal" | "transfer",
  amount: bigint,
): void {
  account.wallet.collateral.push({
    ...tx.next(),
    account,
    type,
    amount,
    collateralAfter: account.collateral,
  });
  tx.touch(account);
}
