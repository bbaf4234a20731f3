/**
 * Compares a transaction to be signed with the request. Instructions from the exchange are treated as hostile. Each has
 * to equal, account by account and byte by byte, the one that the request leads to. Accounts that are not known
 * beforehand (the exchange's onboarder, its permission account) may not be accounts of the wallet. The assembled
 * transaction is checked in the same way: it is parsed from its bytes.
 */
import {
  differences,
  type Instruction,
  type NamedInstruction,
  onboardInstruction,
  PROGRAM_ID,
  registerInstruction,
  SYSTEM_KEY,
} from "../contract/index.ts";
import { isAddress, logAuthority, traderAddress } from "../wallet/address.ts";
import type { LedgerInstruction, LedgerTransaction } from "../wallet/ledger-transaction.ts";

/** The exchange returned something other than what was requested. Nothing is signed. */
export class InstructionsRefused extends Error {
  override readonly name = "InstructionsRefused";
  readonly reasons: readonly string[];
  constructor(reasons: readonly string[]) {
    super(
      `what the exchange hands out is not what was asked for, so nothing is signed:\n  ${reasons.join("\n  ")}`,
    );
    this.reasons = reasons;
  }
}

/** Accounts of the exchange that its instructions name. */
export interface ExchangeAccounts {
  readonly globalConfig: string;
  readonly globalTraderIndex: readonly string[];
  readonly activeTraderBuffer: readonly string[];
  readonly perpAssetMap: string;
}

/** Instructions that passed the review, and the signers of their transaction. */
export interface Reviewed {
  readonly feePayer: string;
  readonly instructions: readonly NamedInstruction[];
  /** Base58, the fee payer first. */
  readonly signers: readonly string[];
}

export interface OnboardingAsked {
  readonly authority: string;
  readonly feePayer: string;
  readonly maxPositions: number;
  /** The trader account exists on the ledger already. */
  readonly registered: boolean;
  readonly accounts: ExchangeAccounts;
}

/** The exchange's onboarder, and the account that permits it to onboard wallets. */
export interface Permission {
  readonly onboarder: string;
  readonly account: string;
}

const common = ({ accounts }: { accounts: ExchangeAccounts }) => ({
  logAuthority: logAuthority(),
  globalConfig: accounts.globalConfig,
  globalTraderIndex: accounts.globalTraderIndex,
  activeTraderBuffer: accounts.activeTraderBuffer,
});

const firstAccount = (authority: string) => traderAddress(authority, { pdaIndex: 0, subaccount: 0 });

function registration(asked: OnboardingAsked): NamedInstruction {
  const { authority, feePayer, maxPositions } = asked;
  const traderAccount = firstAccount(authority);
  return registerInstruction({ ...common(asked), payer: feePayer, authority, traderAccount, maxPositions });
}

/**
 * Checks the instructions of a registration.
 * @throws {InstructionsRefused} with every difference
 */
export function reviewRegistration(returned: readonly Instruction[], asked: OnboardingAsked): Reviewed {
  const wanted = asked.registered ? 1 : 2;
  if (returned.length !== wanted) {
    const why = asked.registered
      ? "the trader account stands on the ledger already"
      : "the trader account is not on the ledger yet";
    throw new InstructionsRefused([`${returned.length} instructions instead of ${wanted}: ${why}`]);
  }
  const last = returned.at(-1)!;
  // Only the exchange knows these two accounts: they are taken from its answer and checked.
  const [onboarder = "", account = ""] = [last.keys[3]?.pubkey, last.keys[4]?.pubkey];
  const { instructions } = registrationInstructions(asked, { onboarder, account });
  return reviewed(returned, instructions, asked.feePayer);
}

/**
 * Builds the instructions of a registration from the accounts that the exchange names.
 * @throws {InstructionsRefused} when one of them belongs to the wallet, or is no address
 */
export function registrationInstructions(
  asked: OnboardingAsked,
  { onboarder, account }: Permission,
): Reviewed {
  const instructions = [
    ...(asked.registered ? [] : [registration(asked)]),
    onboarding(asked, { onboarder, permission: account, cosigner: undefined }),
  ];
  return { feePayer: asked.feePayer, instructions, signers: signersOf(asked.feePayer, instructions) };
}

/**
 * Builds the instructions of an activation from the accounts that the exchange names.
 * @throws {InstructionsRefused} when one of them belongs to the wallet, or is no address
 */
export function activationInstructions(asked: OnboardingAsked, permission: Permission): Reviewed {
  const { authority, feePayer } = asked;
  const instructions = [
    ...(asked.registered ? [] : [registration(asked)]),
    onboarding(asked, {
      onboarder: permission.onboarder,
      permission: permission.account,
      // The exchange requires the authority's signature, also if another account pays.
      cosigner: feePayer === authority ? undefined : authority,
    }),
  ];
  return { feePayer, instructions, signers: signersOf(feePayer, instructions) };
}

function onboarding(
  asked: OnboardingAsked,
  parts: { onboarder: string; permission: string; cosigner: string | undefined },
): NamedInstruction {
  const { authority, feePayer } = asked;
  const traderAccount = firstAccount(authority);
  checkNotOwn(
    { onboarder: parts.onboarder, "permission account": parts.permission, ...namedAccounts(asked.accounts) },
    [authority, feePayer, traderAccount],
  );
  return onboardInstruction({
    ...common(asked),
    traderOnboarder: parts.onboarder,
    permissionAccount: parts.permission,
    traderAccount,
    cosigner: parts.cosigner,
  });
}

/** Accounts of the exchange by name. */
export function namedAccounts(accounts: ExchangeAccounts): Readonly<Record<string, string>> {
  return Object.fromEntries([
    ["global configuration", accounts.globalConfig],
    ["asset map", accounts.perpAssetMap],
    ...accounts.globalTraderIndex.map((it, index) => [`global trader index ${index}`, it]),
    ...accounts.activeTraderBuffer.map((it, index) => [`active trader buffer ${index}`, it]),
  ]) as Record<string, string>;
}

/** Checks that accounts that the exchange names as its own are addresses and do not belong to the wallet. */
export function checkNotOwn(theirs: Readonly<Record<string, string>>, ours: readonly string[]): void {
  const reasons: string[] = [];
  for (const [name, pubkey] of Object.entries(theirs)) {
    if (!isAddress(pubkey)) reasons.push(`the ${name} is no address`);
    else if (ours.includes(pubkey)) reasons.push(`the ${name} is ${pubkey}, which is the wallet's own`);
    else if (pubkey === SYSTEM_KEY || pubkey === PROGRAM_ID) reasons.push(`the ${name} is a program`);
  }
  if (reasons.length > 0) throw new InstructionsRefused(reasons);
}

/** @throws {InstructionsRefused} unless both lists are the same */
export function reviewed(
  returned: readonly Instruction[],
  asked: readonly NamedInstruction[],
  feePayer: string,
): Reviewed {
  const reasons =
    returned.length === asked.length ? [] : [`${returned.length} instructions instead of ${asked.length}`];
  for (const [index, instruction] of asked.entries()) {
    const other = returned[index];
    if (other === undefined) continue;
    const { programId, keys, data } = other;
    for (const one of differences(instruction, { programId, accounts: keys, data: Uint8Array.from(data) }))
      reasons.push(`instruction ${index + 1} (${titles[instruction.kind]}): ${one}`);
  }
  if (reasons.length > 0) throw new InstructionsRefused(reasons);
  return { feePayer, instructions: asked, signers: signersOf(feePayer, asked) };
}

const titles = { register: "register", onboard: "onboarding", stopLoss: "stop loss" } as const;

function signersOf(feePayer: string, instructions: readonly NamedInstruction[]): string[] {
  const signers = instructions.flatMap(({ accounts }) => accounts.filter((it) => it.isSigner));
  return [...new Set([feePayer, ...signers.map((it) => it.pubkey)])];
}

/** The instructions in the form of which a transaction is assembled. */
export const plainInstructions = ({ instructions }: Reviewed): LedgerInstruction[] =>
  instructions.map(({ programId, accounts, data }) => ({
    programId,
    accounts: accounts.map(({ pubkey, isSigner, isWritable }) => ({ pubkey, isSigner, isWritable })),
    data,
  }));

/**
 * The last check before a signature: the transaction's bytes contain the reviewed instructions and nothing else.
 * @throws {InstructionsRefused}
 */
export function reviewTransaction(transaction: LedgerTransaction, wanted: Reviewed): void {
  const reasons: string[] = [];
  if (transaction.feePayer !== wanted.feePayer) reasons.push(`${transaction.feePayer} would pay the fee`);
  if (transaction.instructions.length !== wanted.instructions.length)
    reasons.push(`${transaction.instructions.length} instructions instead of ${wanted.instructions.length}`);
  for (const [index, asked] of wanted.instructions.entries()) {
    const actual = transaction.instructions[index];
    if (actual === undefined) continue;
    for (const one of differences(asked, actual, { rights: "atLeast" }))
      reasons.push(`instruction ${index + 1} (${titles[asked.kind]}): ${one}`);
  }
  const signers = new Set(wanted.signers);
  const accounts = wanted.instructions.flatMap((it) => it.accounts);
  const writable = new Set([
    wanted.feePayer,
    ...accounts.filter((it) => it.isWritable).map((it) => it.pubkey),
  ]);
  for (const { pubkey, isSigner, isWritable } of transaction.accounts) {
    if (isSigner !== signers.has(pubkey)) reasons.push(`${pubkey} ${isSigner ? "would" : "does not"} sign`);
    if (isWritable && !writable.has(pubkey)) reasons.push(`${pubkey} would be written`);
  }
  if (reasons.length > 0) throw new InstructionsRefused(reasons);
}
