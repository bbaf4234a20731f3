/** The form in which a parser of foreign bytes is tried, and its makers of inputs. */
import {
  asJson,
  type Chance,
  changedBytes,
  changedJson,
  changedText,
  poolOf,
  stretchedBytes,
  stretchedText,
} from "../hostile-values.ts";

export type Input = string | Uint8Array;

export interface Parser {
  /** Makes an input. */
  readonly input: (by: Chance) => Input;
  /** @returns false where it says that the input is wrong */
  readonly run: (input: never) => unknown;
  readonly mayThrow?: (error: unknown) => boolean;
  /** It has no way to refuse an input. */
  readonly takesAll?: boolean;
}

export type Parsers = Readonly<Record<string, Parser>>;

/** Most inputs are made of examples that are no longer. */
const smallExample = 1_500;

/** @param longest input that the source lets through, characters */
export function json(of: readonly unknown[], longest = 65_536): Parser["input"] {
  const pool = poolOf(of, (one) => asJson(one).length, smallExample);
  return (by) =>
    by.size === "longest" ? stretchedText(by, changedJson(by, pool), longest) : changedJson(by, pool);
}

/** @param longest input that the source lets through, characters */
export function words(of: readonly string[], longest = 65_536): Parser["input"] {
  const pool = poolOf(of, ({ length }) => length, smallExample);
  return (by) =>
    by.size === "longest" ? stretchedText(by, changedText(by, pool), longest) : changedText(by, pool);
}

/** @param longest input that the source lets through, bytes */
export function bytes(of: readonly Uint8Array[], longest = 65_536): Parser["input"] {
  const pool = poolOf(of, ({ length }) => length, smallExample);
  return (by) =>
    by.size === "longest" ? stretchedBytes(by, changedBytes(by, pool), longest) : changedBytes(by, pool);
}

export const isSyntax = (error: unknown): boolean => error instanceof SyntaxError;
export const isA =
  (...kinds: readonly (new (...parts: never[]) => Error)[]) =>
  (error: unknown): boolean =>
    kinds.some((kind) => error instanceof kind);

/** A declared error of stored bytes: what is broken there is told by whoever reads them. */
export const isBroken = (error: unknown): boolean =>
  error instanceof RangeError ||
  (error instanceof Error &&
    (error.constructor === Error || "code" in error || error instanceof SyntaxError));
