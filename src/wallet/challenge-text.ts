/**
 * Signing the challenge of a message login: a short text that names the wallet and a nonce.
 *
 *   Sign in to the exchange
 *   wallet:GHYp…
 *   nonce:9b4f0b8a2c
 *   expires:2026-10-05T15:05:00Z
 *
 * How it is worded is the exchange's affair. What a wallet signs is not: the same key signs transactions and the texts of
 * other services, so whoever answers in the exchange's place may not choose freely what is signed.
 */
import { BadChallenge } from "./transaction.ts";
import type { WalletKey } from "./wallet-key.ts";

/** In UTF-8. */
const mostBytes = 1_024;

/** Control and format characters, those of private use and none at all; breaks of lines and paragraphs but newline. */
const unprintable = /(?!\n)[\p{C}\p{Zl}\p{Zp}]/u;
const notBase58 = /[^1-9A-HJ-NP-Za-km-z]+/;
const labelledNonce = /\bnonce\b["']?\s*[:=]?\s*["']?[\w-]{4,}/i;

/**
 * Signs the text of a message login, exactly as it stands.
 * @param nonceId the challenge's id, which may stand in the text in place of a nonce of its own
 * @returns the signature over its UTF-8 bytes, base58
 * @throws {BadChallenge} when it is too long, does not print, or names another wallet or no nonce; it is not quoted
 */
export function signChallengeText(key: WalletKey, text: string, nonceId: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > mostBytes)
    throw new BadChallenge(`the text to be signed has ${bytes} bytes; ${mostBytes} are the most`);
  if (unprintable.test(text)) throw new BadChallenge("the text to be signed holds more than printable text");
  if (!text.split(notBase58).includes(key.address))
    throw new BadChallenge("the text to be signed does not name this wallet");
  if (!labelledNonce.test(text) && (nonceId === "" || !text.includes(nonceId)))
    throw new BadChallenge("the text to be signed holds no nonce");
  return key.signText(text);
}
