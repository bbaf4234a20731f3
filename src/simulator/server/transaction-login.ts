/**
 * Sign-in by a transaction that can never be executed: a legacy transaction of one memo, with an invalid blockhash.
 *
 *   count of signatures · signatures (64 bytes each) · header (3) · accounts · blockhash · instructions
 *
 * A wallet may add Compute Budget and Lighthouse instructions anywhere before it signs; any other difference from the
 * challenge is refused.
 */
import { createHash } from "node:crypto";
import { base58 } from "@scure/base";
import { addressBytes } from "../../wallet/address.ts";
import { verifyBytes } from "../../wallet/ed25519.ts";
import { Refusal } from "./sessions.ts";

const memoProgram = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr";
const tolerated = new Set([
  "ComputeBudget111111111111111111111111111111",
  "L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95",
]);

/** The text of the memo. */
const memoOf = (nonceId: string): Buffer => Buffer.from(`exchange sign-in:${nonceId}`);
/** Deterministic, and not the hash of any block. */
const blockhashOf = (nonceId: string): Buffer =>
  createHash("sha256").update(`exchange sign-in, never a block: ${nonceId}`).digest();

/** @returns base64 of the transaction to sign */
export function challenge(wallet: string, nonceId: string): string {
  const memo = memoOf(nonceId);
  return Buffer.concat([
    Buffer.from([1]),
    Buffer.alloc(64),
    Buffer.from([1, 0, 1, 2]),
    addressBytes(wallet),
    base58.decode(memoProgram),
    blockhashOf(nonceId),
    Buffer.from([1, 1, 1, 0, memo.length]),
    memo,
  ]).toString("base64");
}

/** @throws {Refusal} 400 for malformed transactions, 403 for one that is not the signed challenge */
export function verifyChallenge(wallet: string, nonceId: string, signed: string): void {
  const bytes = Buffer.from(signed, "base64");
  if (bytes.toString("base64") !== signed) malformed();
  const { signatures, message, accounts, signers, readonlySigners, readonlyFrom, blockhash, instructions } =
    parse(bytes);
  const [signature] = signatures;
  if (signers !== 1 || readonlySigners !== 0 || !signature) refuse("another signer");
  if (accounts[0] !== wallet) refuse("the wallet is not the fee payer");
  if (!blockhash.equals(blockhashOf(nonceId))) refuse("another blockhash");
  let memos = 0;
  for (const instruction of instructions) {
    const program = accounts[instruction.program];
    if (instruction.program < readonlyFrom) refuse("a program that would be written");
    if (program === memoProgram) {
      memos += 1;
      const own = instruction.accounts.length === 1 && instruction.accounts[0] === 0;
      if (!own || !instruction.data.equals(memoOf(nonceId))) refuse("another memo");
    } else if (program === undefined || !tolerated.has(program))
      refuse("an instruction that was not asked for");
  }
  if (memos !== 1) refuse("no memo");
  if (!verifyBytes(addressBytes(wallet), message, signature)) refuse("the signature is not the wallet's");
}

function refuse(_why: string): never {
  throw new Refusal(403, "invalid_transaction");
}

function malformed(): never {
  throw new Refusal(400, "malformed_transaction");
}

/**
 * Parses a legacy transaction, as strictly as the ledger.
 * @throws {Refusal} 400
 */
function parse(bytes: Buffer) {
  let at = 0;
  const take = (length: number): Buffer => {
    if (at + length > bytes.length) malformed();
    at += length;
    return bytes.subarray(at - length, at);
  };
  const byte = (): number => take(1)[0] as number;
  /** Seven bits a byte, lowest first, at most three bytes, in the shortest form. */
  const count = (): number => {
    let value = 0;
    for (let shift = 0; shift < 21; shift += 7) {
      const next = byte();
      value |= (next & 0x7f) << shift;
      if (next === 0 && shift > 0) malformed();
      if (next < 0x80) return value;
    }
    return malformed();
  };
  const several = <T>(read: () => T): T[] => {
    const length = count();
    if (length > bytes.length) malformed();
    return Array.from({ length }, read);
  };
  const signatures = several(() => take(64));
  const message = bytes.subarray(at);
  const signers = byte();
  // The highest bit marks versioned messages, which the challenge is not.
  if (signers >= 0x80) malformed();
  const [readonlySigners, readonlyOthers] = [byte(), byte()];
  const accounts = several(() => base58.encode(take(32)));
  const blockhash = take(32);
  const instructions = several(() => ({ program: byte(), accounts: several(byte), data: take(count()) }));
  const readonlyFrom = accounts.length - readonlyOthers;
  const isListed = (index: number) => index < accounts.length;
  if (
    at !== bytes.length ||
    signatures.length !== signers ||
    readonlyFrom < signers ||
    new Set(accounts).size !== accounts.length ||
    // The fee payer cannot be a program.
    !instructions.every((it) => it.program > 0 && isListed(it.program) && it.accounts.every(isListed))
  ) {
    malformed();
  }
  return { signatures, message, signers, readonlySigners, readonlyFrom, accounts, blockhash, instructions };
}
