/**
 * The form of a text that a wallet is asked to sign for a login: the text with places for what differs from login to login.
 *
 *   Sign in to the exchange        Sign in to the exchange
 *   wallet:GHYp…                   wallet:{address}
 *   nonce:9b4f0b8a2c               nonce:{nonce hex}
 *   expires:2026-10-05T15:05:00Z   expires:{time}
 *
 * The words are the exchange's affair. The text that a wallet signs is not: the same key signs transactions and the texts of other
 * services, so whoever answers in the exchange's place may not choose freely what is signed. A form is trusted as a whole
 * (signer/login-forms.ts), and nothing else is signed.
 */
import { isAddress } from "./address.ts";
import { BadChallenge, unprintable } from "./transaction.ts";

/** In UTF-8. */
const maxBytes = 1_024;
/** Between now and a time in the text, before or after, ms. */
const maxFromNowMs = 15 * 60_000;

const base58Word = /[1-9A-HJ-NP-Za-km-z]+/g;
const labelledNonces = /\bnonce\b["']?\s*[:=]?\s*["']?([\w-]+)/gi;
const day = /\d{4}-\d\d-\d\d/;
/** ISO 8601 with a time of day, or seconds or milliseconds since 1970 as a word of its own. */
const times =
  /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?|(?<![\w.-])\d{10}(?:\d{3})?(?![\w-]|\.\d)/g;

export interface LoginText {
  readonly text: string;
  /** The challenge's id, which may stand in the text in place of a nonce of its own. */
  readonly nonceId: string;
  /** The wallet that is to sign it. */
  readonly address: string;
  /** The exchange's time, ms. */
  readonly nowMs: number;
}

/**
 * @param isMemo it names no wallet: the transaction that it stands in does
 * @returns the form of a text
 * @throws {BadChallenge} when no wallet may sign it, whatever is trusted: it is too long, does not print, does not name this wallet
 * exactly once, names another one, no nonce, or a time that is not within 15 minutes. It is not quoted
 */
export function formOf({ text, nonceId, address, nowMs }: LoginText, isMemo = false): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes)
    throw new BadChallenge(`the text to be signed has ${bytes} bytes; ${maxBytes} are the most`);
  if (unprintable.test(text)) throw new BadChallenge("the text to be signed holds more than printable text");
  // Places of our own, which no text may bring along.
  if (/[{}]/.test(text))
    throw new BadChallenge("the text to be signed holds braces, as data of a program do");
  const words: readonly string[] = text.match(base58Word) ?? [];
  if (!isMemo && !words.includes(address))
    throw new BadChallenge("the text to be signed does not name this wallet");
  if (text.split(address).length > 2)
    throw new BadChallenge("the text to be signed names this wallet more than once");
  const withNonce = placeNonce(text.replace(address, "{address}"), nonceId);
  if (withNonce === null) throw new BadChallenge("the text to be signed holds no nonce");
  if (withNonce.match(base58Word)?.some((word) => isAddress(word)))
    throw new BadChallenge("the text to be signed names another address than this wallet's");
  const form = withNonce.replace(times, (time) => {
    if (!(Math.abs(momentOf(time) - nowMs) <= maxFromNowMs))
      throw new BadChallenge("the text to be signed names a time that is not within 15 minutes of now");
    return "{time}";
  });
  if (day.test(form)) throw new BadChallenge("the text to be signed names a day without its time");
  return form;
}

/** Null: there is none. */
function placeNonce(text: string, nonceId: string): string | null {
  const labelled = [...text.matchAll(labelledNonces)].map(([, value]) => value!);
  for (const one of [...labelled, nonceId]) {
    const kind = one !== "" && text.includes(one) ? kindOf(one) : null;
    if (kind !== null) return text.replaceAll(one, `{nonce ${kind}}`);
  }
  return null;
}

/** Null: it is no nonce. A nonce says nothing: whatever stands in its place is signed, so its kind is a part of the form. */
function kindOf(nonce: string): string | null {
  if (nonce.length < 8 || nonce.length > 64) return null;
  if (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(nonce)) return "uuid";
  // One of 130,000 nonces of 12 digits has letters alone.
  if (/^(?:[\da-f]+|[\dA-F]+)$/.test(nonce)) return "hex";
  if (!/\d/.test(nonce)) return null;
  // Words, days and addresses say something.
  if (/[a-z]{6}|[A-Z]{6}/.test(nonce) || day.test(nonce) || isAddress(nonce)) return null;
  if (/^[\da-z]+$/i.test(nonce)) return "letters and digits";
  return /^[\da-z]+-\d+$/i.test(nonce) ? "numbered" : null;
}

function momentOf(time: string): number {
  if (/^\d{10}$/.test(time)) return Number(time) * 1_000;
  if (/^\d{13}$/.test(time)) return Number(time);
  // Without a zone it is taken as UTC.
  const iso = time.replace(" ", "T");
  return Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso : `${iso}Z`);
}
