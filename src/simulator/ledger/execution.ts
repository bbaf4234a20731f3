/**
 * Executes transactions on the simulated ledger, as far as onboarding and stop losses need it:
 *
 *   signatures ─► blockhash ─► fee ─► each instruction in turn ─► all changes, or none
 *
 * It knows the exchange's three instructions, Compute Budget and Memo; other programs do not exist.
 */
import {
  differences,
  kindOf,
  MAX_POSITIONS,
  MIN_MAX_POSITIONS,
  type NamedInstruction,
  onboardedCapabilities,
  onboardInstruction,
  PROGRAM_ID,
  readOnboard,
  readRegister,
  readStopLoss,
  registerInstruction,
  stopLossInstruction,
} from "../../contract/index.ts";
import { stopLossAddress } from "../../wallet/address.ts";
import {
  brokenSignatures,
  type LedgerInstruction,
  type LedgerTransaction,
  missingSigners,
  signatureOf,
} from "../../wallet/ledger-transaction.ts";
import { setTriggers } from "../accounts/orders.ts";
import type { Trigger } from "../accounts/position.ts";
import { abs } from "../decimals.ts";
import type { Market, World } from "../state.ts";
import { follow, openAccount, openWallet } from "../world.ts";
import { permissionAccount, programAccounts, stopLossParts } from "./accounts.ts";
import {
  isRecent,
  keepTransaction,
  lamportsOf,
  lamportsPerSignature,
  move,
  rentOf,
  stopLossAccountBytes,
  traderAccountBytes,
} from "./ledger.ts";
import { type Transaction, transact } from "./transaction.ts";

/** The ledger refuses the transaction. */
export class TransactionRefused extends Error {
  override readonly name = "TransactionRefused";
  /** In JSON-RPC's form: `"BlockhashNotFound"`, `{ InstructionError: [0, …] }`. */
  readonly error: unknown;
  readonly logs: readonly string[];
  constructor(message: string, error: unknown, logs: readonly string[] = []) {
    super(message);
    this.error = error;
    this.logs = logs;
  }
}

/** The effects of a transaction. */
export interface Prepared {
  /** Lamports paid (negative) or received, by address. */
  readonly lamports: ReadonlyMap<string, bigint>;
  readonly logs: readonly string[];
  /** Applies the effects. */
  apply(): void;
}

const computeBudgetProgram = "ComputeBudget111111111111111111111111111111";
const memoPrograms = [
  "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
  "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
];

/** The index of the market among the accounts of a stop loss. */
const orderbookAt = 6 + programAccounts.globalTraderIndex.length + programAccounts.activeTraderBuffer.length;

/**
 * Computes the effects of a transaction without applying them.
 * @param without checks to skip, as in a simulation
 * @throws {TransactionRefused}
 */
export function prepare(
  world: World,
  transaction: LedgerTransaction,
  without: { readonly signatures?: boolean; readonly blockhash?: boolean } = {},
): Prepared {
  if (without.signatures !== true) {
    const [missing] = missingSigners(transaction);
    if (missing !== undefined) throw unsigned(`${missing} has not signed`);
    const [broken] = brokenSignatures(transaction);
    if (broken !== undefined) throw unsigned(`the signature of ${broken} does not hold`);
    if (world.ledger.transactions.has(signatureOf(transaction)!))
      throw new TransactionRefused("This transaction has already been processed", "AlreadyProcessed");
  }
  if (without.blockhash !== true && !isRecent(world, transaction.blockhash))
    throw new TransactionRefused("Blockhash not found", "BlockhashNotFound");
  const pending = new PendingChanges(world);
  pending.pay(transaction.feePayer, lamportsPerSignature * BigInt(transaction.signatures.size), "fee");
  for (const [index, instruction] of transaction.instructions.entries()) {
    pending.logs.push(`Program ${instruction.programId} invoke [1]`);
    try {
      run(pending, instruction);
    } catch (error) {
      if (!(error instanceof InstructionFailed)) throw error;
      const logs = [
        ...pending.logs,
        `Program log: ${error.message}`,
        `Program ${instruction.programId} failed`,
      ];
      const text = `Error processing Instruction ${index}: ${error.message}`;
      throw new TransactionRefused(text, { InstructionError: [index, error.kind] }, logs);
    }
    pending.logs.push(`Program ${instruction.programId} success`);
  }
  return { lamports: pending.lamports, logs: pending.logs, apply: () => pending.apply() };
}

/**
 * Executes a signed transaction.
 * @returns its signature
 * @throws {TransactionRefused}
 */
export function execute(world: World, transaction: LedgerTransaction): string {
  const prepared = prepare(world, transaction);
  const signature = signatureOf(transaction)!;
  prepared.apply();
  keepTransaction(world, signature, null);
  return signature;
}

const unsigned = (why: string) =>
  new TransactionRefused(`Transaction signature verification failure: ${why}`, "SignatureFailure");

/** A failed instruction, which ends the transaction. */
class InstructionFailed extends Error {
  readonly kind: unknown;
  constructor(message: string, kind: unknown) {
    super(message);
    this.kind = kind;
  }
}

function fail(message: string, kind: unknown = { Custom: 1 }): never {
  throw new InstructionFailed(message, kind);
}

interface Registered {
  readonly authority: string;
  readonly pdaIndex: number;
  readonly subaccount: number;
  readonly maxPositions: number;
}

/** The changes of a transaction that is being prepared. */
class PendingChanges {
  readonly world: World;
  readonly lamports = new Map<string, bigint>();
  readonly logs: string[] = [];
  readonly #registered = new Map<string, Registered>();
  readonly #acts: ((tx: Transaction) => void)[] = [];
  readonly #moved = new Set<Market>();

  constructor(world: World) {
    this.world = world;
  }

  pay(from: string, amount: bigint, what: "fee" | "rent"): void {
    const left = lamportsOf(this.world, from) + (this.lamports.get(from) ?? 0n) - amount;
    if (left < 0n && what === "fee") {
      throw new TransactionRefused("insufficient funds for fee", "InsufficientFundsForFee");
    }
    if (left < 0n) fail(`insufficient lamports: ${amount} are needed for rent`);
    this.#add(from, -amount);
  }

  rent(from: string, to: string, bytes: number): void {
    this.pay(from, rentOf(bytes), "rent");
    this.#add(to, rentOf(bytes));
  }

  #add(address: string, amount: bigint): void {
    this.lamports.set(address, (this.lamports.get(address) ?? 0n) + amount);
  }

  exists(traderAccount: string): boolean {
    return this.world.accounts.has(traderAccount) || this.#registered.has(traderAccount);
  }

  register(traderAccount: string, registered: Registered): void {
    this.#registered.set(traderAccount, registered);
    const { authority, pdaIndex, subaccount, maxPositions } = registered;
    this.#acts.push((tx) => {
      const { world } = this;
      const wallet = openWallet(world, `registered-${world.nextUserId}`, authority, false);
      const account = openAccount(world, wallet, pdaIndex, subaccount);
      account.onboarded = false;
      account.maxPositions = maxPositions;
      tx.touch(account).rights = true;
    });
  }

  change(act: (tx: Transaction) => void, market?: Market): void {
    this.#acts.push(act);
    if (market) this.#moved.add(market);
  }

  apply(): void {
    const { world } = this;
    for (const [address, amount] of this.lamports) move(world, address, amount);
    if (this.#acts.length > 0) {
      transact(world, (tx) => {
        for (const act of this.#acts) act(tx);
      });
    }
    if (this.#moved.size > 0) follow(world, this.#moved);
  }
}

function run(pending: PendingChanges, instruction: LedgerInstruction): void {
  const { programId, accounts, data } = instruction;
  if (programId === computeBudgetProgram) return;
  if (memoPrograms.includes(programId)) {
    if (accounts.some((it) => !it.isSigner))
      fail("a memo's account did not sign", "MissingRequiredSignature");
    return;
  }
  if (programId !== PROGRAM_ID) fail(`no such program: ${programId}`, "UnsupportedProgramId");
  const kind = kindOf(data);
  if (kind === null) fail("an instruction that this program does not have", "InvalidInstructionData");
  programs[kind](pending, instruction);
}

const programs = { register, onboard, stopLoss: placeStopLoss };

function register(pending: PendingChanges, given: LedgerInstruction): void {
  const asked = readRegister(given.data) ?? fail("malformed", "InvalidInstructionData");
  const { maxPositions, pdaIndex, subaccount } = asked;
  if (asked.preferences > 1) fail("unknown preferences", "InvalidInstructionData");
  if (maxPositions < MIN_MAX_POSITIONS || maxPositions > MAX_POSITIONS)
    fail(`maxPositions ${maxPositions} is not ${MIN_MAX_POSITIONS} to ${MAX_POSITIONS}`);
  if (subaccount > 100) fail("subaccounts end at 100");
  const payer = accountAt(given, 3);
  const authority = accountAt(given, 4);
  const traderAccount = pending.world.deriveAddress(authority, pdaIndex, subaccount);
  const plain = registerInstruction({
    ...programAccounts,
    ...{ payer, authority, traderAccount, maxPositions, pdaIndex, subaccount },
  });
  const bytes = plain.data.slice();
  bytes[12] = asked.preferences;
  hold({ ...plain, data: bytes }, given);
  if (pending.exists(traderAccount)) fail("the trader account exists already", "AccountAlreadyInitialized");
  // The first account also creates the wallet.
  const isFirst = pdaIndex === 0 && subaccount === 0;
  if (!isFirst && !pending.world.wallets.has(authority)) fail("the wallet's first trader account is 0.0");
  pending.rent(payer, traderAccount, traderAccountBytes(maxPositions));
  pending.register(traderAccount, { authority, pdaIndex, subaccount, maxPositions });
}

function onboard(pending: PendingChanges, given: LedgerInstruction): void {
  const { world } = pending;
  const set = readOnboard(given.data) ?? fail("malformed", "InvalidInstructionData");
  const traderAccount = accountAt(given, 5);
  const plain = onboardInstruction({
    ...programAccounts,
    traderOnboarder: world.ledger.onboarder.address,
    permissionAccount,
    traderAccount,
  });
  hold({ ...plain, data: given.data }, given, true);
  if (!pending.exists(traderAccount)) fail("there is no such trader account", "UninitializedAccount");
  const all = onboardedCapabilities.every(({ target }) => set.some((it) => it.target === target && it.on));
  pending.change((tx) => {
    const account = world.accounts.get(traderAccount)!;
    account.onboarded = all;
    tx.touch(account).rights = true;
  });
}

function placeStopLoss(pending: PendingChanges, given: LedgerInstruction): void {
  const { world } = pending;
  const order = readStopLoss(given.data) ?? fail("malformed", "InvalidInstructionData");
  const traderAccount = accountAt(given, 4);
  const orderbook = accountAt(given, orderbookAt);
  const market = [...world.markets.values()].find((it) => it.spec.marketPubkey === orderbook);
  if (!market) fail("no such market", "InvalidAccountData");
  const account = world.accounts.get(traderAccount) ?? fail("no such trader account", "UninitializedAccount");
  hold(
    stopLossInstruction({
      ...stopLossParts(account, market),
      funder: accountAt(given, 3),
      order,
    }),
    given,
  );
  const position = account.positions.get(market.spec.symbol);
  if (!account.onboarded) fail("the trader account is not onboarded");
  if (!position) fail("there is no position");
  const closing = position.baseLots > 0n ? "ask" : "bid";
  if (order.side !== closing) fail("the order would not close the position");
  if (order.baseLots > abs(position.baseLots)) fail("larger than the position");
  const falling = order.direction === "below";
  const kind = falling === (closing === "ask") ? "stopLoss" : "takeProfit";
  const trigger: Trigger = {
    id: `${kind === "stopLoss" ? "sl" : "tp"}-${order.triggerTicks}`,
    kind,
    triggerTicks: Number(order.triggerTicks),
    executionTicks: Number(order.executionTicks),
    side: closing,
  };
  if (position.triggers.length === 0) {
    pending.rent(
      accountAt(given, 3),
      stopLossAddress(traderAccount, market.spec.assetId),
      stopLossAccountBytes,
    );
  }
  pending.change((tx) => {
    const now = account.positions.get(market.spec.symbol);
    const others = now?.triggers.filter((it) => it.kind !== kind) ?? [];
    setTriggers(tx, market, account, [...others, trigger]);
  }, market);
}

function accountAt(given: LedgerInstruction, index: number): string {
  return given.accounts[index]?.pubkey ?? fail(`account ${index} is missing`, "NotEnoughAccountKeys");
}

function hold(asked: NamedInstruction, given: LedgerInstruction, moreSigners = false): void {
  const [first] = differences(asked, given, { rights: "atLeast", moreSigners });
  if (first === undefined) return;
  const signer = first.endsWith("does not sign");
  fail(first, signer ? "MissingRequiredSignature" : "InvalidAccountData");
}
