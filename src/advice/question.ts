/** Parses hypothetical prices and parts of positions. */

import { symbolKey } from "../domain/symbol.ts";
import { nearestName } from "../domain/text/nearest.ts";

/** A price: in USD, or as a signed share of the mark. */
export type PriceChange = { readonly symbol: string } & (
  | { readonly kind: "to"; readonly usd: number }
  | { readonly kind: "by"; readonly share: number }
);

/** A part of a position: `share` above 0 and at most 1, or `units` above 0. */
export type Closing = { readonly symbol: string } & (
  | { readonly kind: "share"; readonly share: number }
  | { readonly kind: "units"; readonly units: number }
);

export class BadQuestion extends Error {
  override readonly name = "BadQuestion";
}

/** @throws {BadQuestion} */
export function readPrice(text: string, known: Iterable<string>): PriceChange {
  const [symbol, value] = split(text, known);
  const bad = () => new BadQuestion(`${text}: expected a price such as SOL=120 or a change such as SOL=-10%`);
  if (value === null) throw bad();
  const share = percentOf(value);
  if (share !== null) {
    if (share > -1 && share <= 100) return { symbol, kind: "by", share };
    throw new BadQuestion(`${text}: a price falls by less than 100% and rises by at most 10000%`);
  }
  const usd = numberOf(value);
  if (usd === null || !(usd > 0)) throw bad();
  return { symbol, kind: "to", usd };
}

/** @throws {BadQuestion} */
export function readClosing(text: string, known: Iterable<string>): Closing {
  const [symbol, value] = split(text, known);
  if (value === null) return { symbol, kind: "share", share: 1 };
  const share = percentOf(value);
  if (share !== null) {
    if (share > 0 && share <= 1) return { symbol, kind: "share", share };
    throw new BadQuestion(`${text}: a position is closed by more than 0% and at most 100%`);
  }
  const units = numberOf(value);
  if (units !== null && units > 0) return { symbol, kind: "units", units };
  throw new BadQuestion(`${text}: expected SOL, a share such as SOL=50%, or a size such as SOL=12.5`);
}

/** The symbol as the exchange writes it, and the text after the first `=`. */
function split(text: string, known: Iterable<string>): readonly [string, string | null] {
  const at = text.indexOf("=");
  const symbol = symbolKey((at === -1 ? text : text.slice(0, at)).trim());
  const all = [...known];
  if (!all.includes(symbol)) {
    const nearest = nearestName(symbol, all);
    throw new BadQuestion(
      `${text}: no market is called ${symbol || '""'}${nearest === null ? "" : ` (did you mean ${nearest}?)`}`,
    );
  }
  return [symbol, at === -1 ? null : text.slice(at + 1).trim()];
}

/** `-10%` as -0.1. */
function percentOf(text: string): number | null {
  if (!text.endsWith("%")) return null;
  const value = numberOf(text.slice(0, -1));
  return value === null ? Number.NaN : value / 100;
}

/** `58000`, `58,000.5`, `-3`, `+3`, with or without a dollar sign. */
function numberOf(text: string): number | null {
  const plain = text.trim().replace(/^([+-]?)\$/, "$1");
  return /^[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?$/.test(plain) ? Number(plain.replaceAll(",", "")) : null;
}
