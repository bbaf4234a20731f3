/**
 * Derives the form of a text that a wallet should sign for a login: the text with placeholders for the parts that differ
 * between logins.
 *
 *   Sign in to the exchange        Sign in to the exchange
 *   wallet:GHYp…                   wallet:{address}
 *   nonce:9b4f0b8a2c               nonce:{nonce hex}
 *   expires:2026-10-05T15:05:00Z   expires:{time}
 *
 * The exchange chooses the words. But the same key signs transactions and the texts of other services, so an attacker
 * that answers in place of the exchange must not be able to choose the signed text. Only texts of a trusted form are
 * signed, and a form is trusted as a whole (signer/login-forms.ts).
 */
import { isAddress } from "./address.ts";
import { BadChallenge, unprintable } from "./transaction.ts";

/** Maximum length of a text in UTF-8. */
const maxBytes = 1_024;
/** Maximum difference between now and a time in the text, ms. */
const maxFromNowMs = 15 * 60_000;

const base58Word = /[1-9A-HJ-NP-Za-km-z]+/g;
const labelledNonces = /\bnonce\b["']?\s*[:=]?\s*["']?([\w-]+)/gi;
const day = /\d{4}-\d\d-\d\d/;
/** ISO 8601 with a time of day, or seconds or milliseconds since 1970 as a separate word. */
const times =
  /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?|(?<![\w.-])\d{10}(?:\d{3})?(?![\w-]|\.\d)/g;

export interface LoginText {
  readonly text: string;
  /** The challenge's id, which may be the nonce of the text. */
  readonly nonceId: string;
  /** The wallet that should sign it. */
  readonly address: string;
  /** The exchange's time, ms. */
  readonly nowMs: number;
}

/**
 * @param isMemo true for a memo, which does not name the wallet: its transaction does
 * @returns the form of a text
 * @throws {BadChallenge} if no wallet may sign it under any trusted form: it is too long, has unprintable characters,
 *   does not name this wallet exactly once, names another address, has no nonce, or has a time more than 15 minutes from now.
 *   The error does not quote it
 */
export function formOf({ text, nonceId, address, nowMs }: LoginText, isMemo = false): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes)
    throw new BadChallenge(`the text to be signed has ${bytes} bytes; ${maxBytes} are the most`);
  if (unprintable.test(text)) throw new BadChallenge("the text to be signed holds more than printable text");
  // Braces mark placeholders of the form, so a text must not contain them.
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

/** Returns the text with a placeholder for its nonce; null: it has none. */
function placeNonce(text: string, nonceId: string): string | null {
  const labelled = [...text.matchAll(labelledNonces)].map(([, value]) => value!);
  for (const one of [...labelled, nonceId]) {
    const kind = one !== "" && text.includes(one) ? kindOf(one) : null;
    if (kind !== null) return text.replaceAll(one, `{nonce ${kind}}`);
  }
  return null;
}

/**
 * Returns the kind of a nonce; null: not a nonce. Any value of this kind is signed in its place, so a nonce must not
 * carry a meaning, and its kind is a part of the form.
 */
function kindOf(nonce: string): string | null {
  if (nonce.length < 8 || nonce.length > 64) return null;
  if (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(nonce)) return "uuid";
  // One in 130,000 nonces of 12 hex digits has only letters.
  if (/^(?:[\da-f]+|[\dA-F]+)$/.test(nonce)) return "hex";
  if (!/\d/.test(nonce)) return null;
  // Words, dates and addresses carry a meaning.
  if (/[a-z]{6}|[A-Z]{6}/.test(nonce) || day.test(nonce) || isAddress(nonce)) return null;
  if (/^[\da-z]+$/i.test(nonce)) return "letters and digits";
  return /^[\da-z]+-\d+$/i.test(nonce) ? "numbered" : null;
}

function momentOf(time: string): number {
  if (/^\d{10}$/.test(time)) return Number(time) * 1_000;
  if (/^\d{13}$/.test(time)) return Number(time);
  // A time without a zone is UTC.
  const iso = time.replace(" ", "T");
  return Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/.test(iso) ? iso : `${iso}Z`);
}
