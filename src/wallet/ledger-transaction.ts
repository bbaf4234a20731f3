/**
 * Transactions of the ledger: assembled from instructions, parsed from bytes, signed. @solana/kit handles the format;
 * WalletKey signs. Loading takes about 0.2 s, so this file is imported only when needed.
 *
 *   assembleTransaction ─► signTransaction (each holder of a key) ─► wire ─► ledger
 *   readTransaction ◄──────────────────────────────────────────────── wire
 */
import {
  AccountRole,
  type Address,
  address,
  appendTransactionMessageInstructions,
  blockhash,
  compileTransaction,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type SignatureBytes,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  type Transaction,
} from "@solana/kit";
import { addressBytes, addressOf } from "./address.ts";
import { verifyBytes } from "./ed25519.ts";
import { maxTransactionBytes } from "./transaction.ts";
import type { WalletKey } from "./wallet-key.ts";

/** Thrown for bytes that are not a transaction, and for an invalid transaction. */
export class BadTransaction extends Error {
  override readonly name = "BadTransaction";
}

export interface LedgerAccount {
  readonly pubkey: string;
  readonly isSigner: boolean;
  readonly isWritable: boolean;
}

export interface LedgerInstruction {
  readonly programId: string;
  readonly accounts: readonly LedgerAccount[];
  readonly data: Uint8Array;
}

export interface LedgerTransaction {
  readonly version: "legacy" | 0;
  readonly feePayer: string;
  /** Base58. */
  readonly blockhash: string;
  /** The required signers, the fee payer first, with their signatures; null: not signed yet. */
  readonly signatures: ReadonlyMap<string, Uint8Array | null>;
  /** As encoded: an account has the widest rights that any instruction requires for it. */
  readonly instructions: readonly LedgerInstruction[];
  /** All accounts of the message. */
  readonly accounts: readonly LedgerAccount[];
  /** The signed bytes. */
  readonly message: Uint8Array;
  /** Base64. */
  readonly wire: string;
}

/**
 * Creates an unsigned version-0 transaction without lookup tables.
 * @throws {BadTransaction} if an address is invalid or the transaction is too long for the ledger
 */
export function assembleTransaction(parts: {
  readonly feePayer: string;
  readonly blockhash: string;
  readonly instructions: readonly LedgerInstruction[];
}): LedgerTransaction {
  const compiled = wrapErrors(() => {
    const payer = address(parts.feePayer);
    const instructions = parts.instructions.map(({ programId, accounts, data }) => ({
      programAddress: address(programId),
      accounts: accounts.map((it) => ({ address: address(it.pubkey), role: roleOf(it) })),
      data,
    }));
    // The sender tracks the lifetime of the blockhash; the message does not contain it.
    const lifetime = { blockhash: blockhash(parts.blockhash), lastValidBlockHeight: 0n };
    const empty = setTransactionMessageFeePayer(payer, createTransactionMessage({ version: 0 }));
    const message = setTransactionMessageLifetimeUsingBlockhash(lifetime, empty);
    return compileTransaction(appendTransactionMessageInstructions(instructions, message));
  });
  return readTransaction(getBase64EncodedWireTransaction(compiled));
}

/**
 * @param wire base64 of a legacy or version-0 transaction
 * @throws {BadTransaction} if it is invalid, is not in canonical form, or uses lookup tables
 */
export function readTransaction(wire: string): LedgerTransaction {
  const bytes = new Uint8Array(Buffer.from(wire, "base64"));
  if (bytes.length === 0 || Buffer.from(bytes).toString("base64") !== wire)
    throw new BadTransaction("not base64");
  if (bytes.length > maxTransactionBytes) {
    throw new BadTransaction(
      `the transaction has ${bytes.length} bytes, the ledger takes ${maxTransactionBytes}`,
    );
  }
  const { transaction, message } = wrapErrors(() => {
    const transaction = getTransactionDecoder().decode(bytes);
    return { transaction, message: getCompiledTransactionMessageDecoder().decode(transaction.messageBytes) };
  });
  const { version } = message;
  if (version !== 0 && version !== "legacy")
    throw new BadTransaction(`transactions of version ${version} are not read here`);
  if ("addressTableLookups" in message && (message.addressTableLookups?.length ?? 0) > 0) {
    throw new BadTransaction("the transaction takes accounts from lookup tables");
  }
  const { header, staticAccounts } = message;
  if (header.numSignerAccounts < 1) throw new BadTransaction("nobody has to sign the transaction");
  // The decoder accepts truncated bytes and trailing bytes without an error.
  const reencoded = wrapErrors(() => ({
    message: getCompiledTransactionMessageEncoder().encode(message),
    whole: getTransactionEncoder().encode(transaction),
  }));
  if (!equalBytes(reencoded.message, transaction.messageBytes) || !equalBytes(reencoded.whole, bytes))
    throw new BadTransaction("the transaction is cut short, or more follows it");
  if (new Set(staticAccounts).size !== staticAccounts.length)
    throw new BadTransaction("an account is named twice");
  const accounts = staticAccounts.map((pubkey, index) => ({
    pubkey,
    ...rightsOf(index, header, staticAccounts),
  }));
  const account = (index: number): LedgerAccount => {
    const found = accounts[index];
    if (found === undefined) throw new BadTransaction("an instruction names an account that is not there");
    return found;
  };
  return {
    version,
    feePayer: accounts[0]!.pubkey,
    blockhash: message.lifetimeToken,
    signatures: new Map(
      Object.entries(transaction.signatures).map(([key, signature]) => [
        key,
        signature === null ? null : new Uint8Array(signature),
      ]),
    ),
    instructions: message.instructions.map((it) => ({
      programId: account(it.programAddressIndex).pubkey,
      accounts: (it.accountIndices ?? []).map(account),
      data: new Uint8Array(it.data ?? []),
    })),
    accounts,
    message: new Uint8Array(transaction.messageBytes),
    wire,
  };
}

/** @throws {BadTransaction} if the key's signature is not required */
export function signTransaction(transaction: LedgerTransaction, key: WalletKey): LedgerTransaction {
  if (!transaction.signatures.has(key.address))
    throw new BadTransaction(`${key.address} does not have to sign this transaction`);
  const signatures = Object.fromEntries(
    [...transaction.signatures].map(([pubkey, signature]) => [
      pubkey,
      pubkey === key.address ? key.sign(transaction.message) : signature,
    ]),
  ) as Record<Address, SignatureBytes | null>;
  const messageBytes = transaction.message as unknown as Transaction["messageBytes"];
  return readTransaction(getBase64EncodedWireTransaction({ messageBytes, signatures }));
}

/** The signers whose signatures are missing. */
export function missingSigners({ signatures }: LedgerTransaction): string[] {
  return [...signatures].flatMap(([pubkey, signature]) => (signature === null ? [pubkey] : []));
}

/** The signers whose signatures are invalid. */
export function brokenSignatures({ signatures, message }: LedgerTransaction): string[] {
  return [...signatures].flatMap(([pubkey, signature]) =>
    signature === null || isValidSignature(pubkey, message, signature) ? [] : [pubkey],
  );
}

/** The transaction's id on the ledger: the fee payer's signature, base58; null: not signed yet. */
export function signatureOf({ signatures, feePayer }: LedgerTransaction): string | null {
  const signature = signatures.get(feePayer);
  return signature ? addressOf(signature) : null;
}

function isValidSignature(pubkey: string, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verifyBytes(addressBytes(pubkey), message, signature);
  } catch {
    // An address that is not a point of the curve has no valid signature.
    return false;
  }
}

function roleOf({ isSigner, isWritable }: LedgerAccount): AccountRole {
  if (isSigner) return isWritable ? AccountRole.WRITABLE_SIGNER : AccountRole.READONLY_SIGNER;
  return isWritable ? AccountRole.WRITABLE : AccountRole.READONLY;
}

interface Header {
  readonly numSignerAccounts: number;
  readonly numReadonlySignerAccounts: number;
  readonly numReadonlyNonSignerAccounts: number;
}

/** Signers come first; within signers and non-signers, read-only accounts come last. */
function rightsOf(index: number, header: Header, all: readonly unknown[]) {
  const isSigner = index < header.numSignerAccounts;
  const isWritable = isSigner
    ? index < header.numSignerAccounts - header.numReadonlySignerAccounts
    : index < all.length - header.numReadonlyNonSignerAccounts;
  return { isSigner, isWritable };
}

function equalBytes(one: ArrayLike<number>, other: ArrayLike<number>): boolean {
  return one.length === other.length && Array.from(one).every((byte, index) => byte === other[index]);
}

/** Wraps errors of the library in BadTransaction. */
function wrapErrors<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw new BadTransaction(`no transaction: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
