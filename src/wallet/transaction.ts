/**
 * Signs the challenge of a transaction login: a legacy transaction in wire form, base64, with one empty signature. It can
 * never be executed; signing it only proves the key to the exchange, which is checked here before signing. Compute Budget
 * instructions and Lighthouse's assertions are permitted beside the memo. Whether its blockhash is that of a block is not
 * known here, so they must not cost anything besides the plain fee.
 *
 *   count of signatures (1) · signature (64 bytes) · message: header (3) · accounts · blockhash · instructions
 */

import { addressOf } from "./address.ts";
import type { WalletKey } from "./wallet-key.ts";

/** Thrown for a challenge that a wallet must not sign. */
export class BadChallenge extends Error {
  override readonly name = "BadChallenge";
}

/** Both versions of the Memo program. */
const memoPrograms = [
  "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
  "Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo",
];

/** Programs permitted beside the memo. */
const computeBudget = "ComputeBudget111111111111111111111111111111";
const lighthouse = "L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95";

/** Maximum size of a transaction on the ledger. */
export const maxTransactionBytes = 1_232;
/** Control, format, private-use and unassigned characters; line and paragraph separators except newline. */
export const unprintable = /(?!\n)[\p{C}\p{Zl}\p{Zp}]/u;

/** A message header, an account, a blockhash and an empty list of instructions. */
const minMessageBytes = 3 + 1 + 32 + 32 + 1;

/**
 * Signs a login challenge.
 * @param unsigned base64 of the wire transaction
 * @param nonceId of the challenge; the memo has to contain it
 * @returns base64 of the same bytes with the wallet's signature in slot 0
 * @throws {BadChallenge} if it is malformed, requires another signer, or does more than leave a memo
 */
export function signChallenge(key: WalletKey, unsigned: string, nonceId: string): string {
  const { wire, message } = parseChallenge(key.address, unsigned, nonceId);
  Buffer.from(key.sign(message)).copy(wire, 1);
  return wire.toString("base64");
}

/**
 * @returns the memo of a challenge that may be signed, for a check of its form
 * @throws {BadChallenge} as `signChallenge`
 */
export function memoOfChallenge(wallet: string, unsigned: string, nonceId: string): string {
  return parseChallenge(wallet, unsigned, nonceId).memo;
}

function parseChallenge(wallet: string, unsigned: string, nonceId: string) {
  const wire = Buffer.from(unsigned, "base64");
  if (wire.length === 0 || wire.toString("base64") !== unsigned) throw new BadChallenge("not base64");
  if (wire.length > maxTransactionBytes)
    throw new BadChallenge(`the transaction has more than ${maxTransactionBytes} bytes`);
  // A compact count below 128 is one byte.
  if (wire[0] !== 1) throw new BadChallenge("not exactly one signature is asked for");
  const message = wire.subarray(65);
  return { wire, message, memo: checkMessage(message, wallet, nonceId) };
}

function checkMessage(message: Uint8Array, wallet: string, nonceId: string): string {
  if (message.length < minMessageBytes) throw new BadChallenge("the transaction is cut short");
  if (message[0]! >= 0x80) throw new BadChallenge("not a legacy transaction");
  if (message[0] !== 1 || message[1] !== 0) throw new BadChallenge("not exactly one signer is required");
  const reader = new Reader(message, 3);
  const accounts = Array.from({ length: reader.count() }, () => addressOf(reader.take(32)));
  if (accounts[0] !== wallet) throw new BadChallenge("the fee payer is not this wallet");
  if (new Set(accounts).size !== accounts.length) throw new BadChallenge("an account is listed twice");
  if (message[2]! >= accounts.length) throw new BadChallenge("more accounts are only read than are listed");
  reader.take(32);
  const count = reader.count();
  let memos = 0;
  let memo = "";
  for (let i = 0; i < count; i += 1) {
    const program = accounts[reader.byte()];
    const accountIndices = reader.take(reader.count());
    const data = reader.take(reader.count());
    if (accountIndices.some((index) => index >= accounts.length))
      throw new BadChallenge("an account is not listed");
    if (program !== undefined && memoPrograms.includes(program)) {
      if (accountIndices.some((index) => index !== 0))
        throw new BadChallenge("the memo names another account");
      memo = memoOf(data, nonceId);
      memos += 1;
    } else if (program === computeBudget) checkBudget(data);
    // The first two kinds create accounts that the signer pays for; the others only assert.
    else if (program !== lighthouse || data.length === 0 || data[0]! < 2)
      throw new BadChallenge("the transaction would do more than leave a memo");
  }
  if (memos === 0) throw new BadChallenge("there is no memo");
  if (memos > 1) throw new BadChallenge("there is more than one memo");
  if (!reader.atEnd()) throw new BadChallenge("bytes follow the transaction");
  return memo;
}

/**
 * Returns the memo's text. It has to be printable, so that it cannot be data of another service, and to name this
 * challenge.
 */
function memoOf(data: Uint8Array, nonceId: string): string {
  const bytes = Buffer.from(data);
  const text = bytes.toString("utf8");
  if (!Buffer.from(text).equals(bytes) || unprintable.test(text))
    throw new BadChallenge("the memo is no printable text");
  if (nonceId === "" || !text.includes(nonceId))
    throw new BadChallenge("the memo does not name this challenge");
  return text;
}

/** Permits limits of resources, and a price of 0: a challenge is never executed and needs no priority. */
function checkBudget(data: Uint8Array): void {
  const [kind] = data;
  const isPrice = kind === 3 && data.length === 9;
  const isLimit = (kind === 1 || kind === 2 || kind === 4) && data.length === 5;
  if (!isPrice && !isLimit) throw new BadChallenge("the transaction asks for what no budget is");
  if (isPrice && data.some((byte, index) => index > 0 && byte !== 0))
    throw new BadChallenge("the transaction would pay for being preferred");
}

class Reader {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  byte(): number {
    return this.take(1)[0]!;
  }

  take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new BadChallenge("the transaction is cut short");
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  /** A compact-u16: seven bits a byte, low first, at most three bytes. */
  count(): number {
    let value = 0;
    for (let shift = 0; shift < 21; shift += 7) {
      const next = this.byte();
      value |= (next & 0x7f) << shift;
      // Only the shortest encoding of a length is valid.
      if (next === 0 && shift > 0) break;
      if (next < 0x80) return value;
    }
    throw new BadChallenge("a length is malformed");
  }

  atEnd(): boolean {
    return this.#at === this.#bytes.length;
  }
}
