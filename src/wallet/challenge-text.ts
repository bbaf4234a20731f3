/**
 * The form of a message login's text: the text with places for what differs from login to login.
 *
 *   Sign in to the exchange        Sign in to the exchange
 *   wallet:GHYp…                   wallet:{address}
 *   nonce:9b4f0b8a2c               nonce:{nonce}
 *   expires:2026-10-05T15:05:00Z   expires:{time}
 *
 * The words are the exchange's affair. The text that a wallet signs is not: the same key signs transactions and the texts of other
 * services, so whoever answers in the exchange's place may not choose freely what is signed. A form is trusted as a whole
 * (exchange/login-forms.ts), and nothing else is signed.
 */
import { isAddress } from "./address.ts";
import { BadChallenge } from "./transaction.ts";

/** In UTF-8. */
const mostBytes = 1_024;
/** Between now and a time in the text, before or after, ms. */
const mostFromNowMs = 15 * 60_000;

/** Control and format characters, those of private use and none at all; breaks of lines and paragraphs but newline. */
const unprintable = /(?!\n)[\p{C}\p{Zl}\p{Zp}]/u;
const base58Word = /[1-9A-HJ-NP-Za-km-z]+/g;
const labelledNonce = /\bnonce\b["']?\s*[:=]?\s*["']?([\w-]+)/i;
/** Nothing that says something: whatever stands in place of a nonce is signed. */
const nonceLike = /^(?=.*\d)[\w-]{8,100}$/;
/** ISO 8601 with a time of day, or seconds or milliseconds since 1970 as a word of its own. */
const times =
  /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?|(?<![\w.-])\d{10}(?:\d{3})?(?![\w.-])/gi;

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
 * @returns the form of a text
 * @throws {BadChallenge} when no wallet may sign it, whatever is trusted: it is too long, does not print, does not name this wallet
 * exactly once, names another one, no nonce, or a time that is not within 15 minutes. It is not quoted
 */
export function formOf({ text, nonceId, address, nowMs }: LoginText): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > mostBytes)
    throw new BadChallenge(`the text to be signed has ${bytes} bytes; ${mostBytes} are the most`);
  if (unprintable.test(text)) throw new BadChallenge("the text to be signed holds more than printable text");
  // Places of our own, which no text may bring along.
  if (/[{}]/.test(text))
    throw new BadChallenge("the text to be signed holds braces, as data of a program do");
  const words: readonly string[] = text.match(base58Word) ?? [];
  if (!words.includes(address)) throw new BadChallenge("the text to be signed does not name this wallet");
  if (text.split(address).length !== 2)
    throw new BadChallenge("the text to be signed names this wallet more than once");
  const own = text.replace(address, "{address}");
  const withNonce = placeNonce(own, nonceId);
  if (withNonce === null) throw new BadChallenge("the text to be signed holds no nonce");
  if (withNonce.match(base58Word)?.some((word) => isAddress(word)))
    throw new BadChallenge("the text to be signed names another address than this wallet's");
  const form = withNonce.replace(times, (time) => {
    if (!(Math.abs(momentOf(time) - nowMs) <= mostFromNowMs))
      throw new BadChallenge("the text to be signed names a time that is not within 15 minutes of now");
    return "{time}";
  });
  if (/\b\d{4}-\d\d-\d\d\b/.test(form))
    throw new BadChallenge("the text to be signed names a day without its time");
  return form;
}

/** Null: there is none. */
function placeNonce(text: string, nonceId: string): string | null {
  const labelled = labelledNonce.exec(text)?.[1];
  const found = [labelled ?? "", nonceId].find((one) => nonceLike.test(one) && text.includes(one));
  return found === undefined ? null : text.replaceAll(found, "{nonce}");
}

function momentOf(time: string): number {
  if (/^\d{10}$/.test(time)) return Number(time) * 1_000;
  if (/^\d{13}$/.test(time)) return Number(time);
  // Without a zone it is taken as UTC.
  const iso = time.replace(" ", "T");
  return Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/i.test(iso) ? iso : `${iso}Z`);
}
