/** A shipped rule, written out by hand from the shipped packs. */
import type { Severity } from "../../../src/domain/alerts/alert.ts";
import type { View } from "./view.ts";

/** One level at one moment, as far as figures at a threshold allow to say. */
export interface Level {
  readonly severity: Severity;
  /** Its condition holds. */
  readonly on: boolean;
  /** The condition that ends it holds. */
  readonly off: boolean;
  /** It may be that it cannot be judged: then what held goes on once it can be. */
  readonly perhapsUnknown?: boolean;
}

/** A figure of a text, and what it is. */
interface Figure {
  readonly name: string;
  readonly text: string;
  /** The words of the text, where `text` has them in another form. */
  readonly words?: string;
  /** A number, or the very words. */
  readonly truth: number | string;
  /** By which the truth itself is uncertain. */
  readonly room: number;
}

/** A word of a text, and those that are true. */
export interface Word {
  readonly name: string;
  readonly text: string;
  readonly among: readonly string[];
}

/** A figure of which nobody knows the truth at that moment. */
interface Unknown {
  readonly name: string;
  readonly text: string;
  readonly truth: undefined;
}

export type Claim = Figure | Word | Unknown;

export interface Predicate {
  readonly rule: string;
  /** The times of the shipped rule; a configuration may say otherwise. */
  readonly forMs: number;
  readonly keepMs: number;
  readonly subjects: (view: View) => readonly string[];
  /**
   * Ascending by severity; undefined where it cannot be judged.
   * @param ease 1: what may hold by all that is known does, −1: only what holds beyond doubt
   */
  readonly levels: (view: View, subject: string, ease: Ease) => readonly Level[] | undefined;
  /** Undefined where nothing that a text says of it can be judged. */
  readonly claims: (view: View, subject: string, text: Text) => readonly Claim[] | undefined;
  /** Time for which payments that it may rest on alone are not explained, ms; undefined: there are none, or it rests on more. */
  readonly unreadForMs?: (view: View, subject: string, text: Text, severity: Severity) => number | undefined;
  /** True if time alone may have changed it between two times of the daemon's clock. */
  readonly turns?: (view: View, fromMs: number, toMs: number) => boolean;
  /** Its inputs beside accounts and prices, by their schedules; of markets, those of its own. */
  readonly reads?: readonly string[];
  /** It rests on figures of the daemon itself, and on nothing that is read of the exchange. */
  readonly restsOnItself?: true;
  /** It holds by new prices and the last known positions, too, where these are too old. */
  readonly byOldPositions?: true;
  /** It rests on the positions of its account or wallet, beside those rules that hold by old ones or are about a position. */
  readonly restsOnPositions?: true;
  /** It rests on something else, such as the market of a position, and only its texts name figures of positions. */
  readonly onlyNamesPositions?: true;
  /** Time in which the positions of its account are too old counts for nothing once they are read. */
  readonly standsStill?: true;
  /** It looks back at sizes, which time alone moves: it is judged with the next prices. */
  readonly looksBack?: true;
  /** Its value, and the direction in which that gets worse, where it does not move with time alone. */
  readonly worsens?: {
    /** `away`: from 0, on either side; the other side is told at once. */
    readonly towards: "lower" | "higher" | "away";
    /** The worst value, where that is not 0: what is left to it counts. */
    readonly worst?: number;
    readonly value: (view: View, subject: string) => number | undefined;
  };
  /** The wallets that it rests on, where its subject is of none. */
  readonly restsOn?: (view: View, subject: string) => readonly string[];
}

export type Ease = 1 | -1;

export interface Text {
  readonly summary: string;
  readonly description: string;
}

/** Doubles differ in their last digits. */
const tiny = 1e-9;

/** True if a value is below a bound, by what it may be off. */
export function below(value: number, bound: number, ease: Ease, room = 0): boolean {
  return value < bound + ease * (Math.abs(bound) * tiny + room);
}

export function above(value: number, bound: number, ease: Ease, room = 0): boolean {
  return value > bound - ease * (Math.abs(bound) * tiny + room);
}

export const minuteMs = 60_000;
/** Default of `keepFiringFor`. */
export const keepMs = minuteMs;

const everywheres = new Map<string, RegExp>();

/** The pattern with the flag `g`, one object for all that read the same. */
function everywhereOf({ source, flags }: RegExp): RegExp {
  const known = everywheres.get(source);
  if (known?.flags === `${flags}g`) return known;
  const everywhere = new RegExp(source, `${flags}g`);
  everywheres.set(source, everywhere);
  return everywhere;
}

/** Claims of the figures that a text has, wherever patterns find them in its summary or its description. */
export function claimsOf(
  { summary, description }: Text,
  found: readonly (readonly [
    name: string,
    pattern: RegExp,
    truth: number | string | undefined,
    room?: number,
  ])[],
): readonly Claim[] {
  return found.flatMap(([name, pattern, truth, room = 0]) => {
    const everywhere = everywhereOf(pattern);
    return [summary, description].flatMap((text) =>
      [...text.matchAll(everywhere)].map((match) => claimOf(name, match[1]!, truth, room)),
    );
  });
}

function claimOf(name: string, text: string, truth: number | string | undefined, room: number): Claim {
  return truth === undefined ? { name, text, truth } : { name, text, truth, room };
}

/** The same claims, of which nobody knows the truth. */
export function unknown(claims: readonly Claim[]): readonly Claim[] {
  return claims.map(({ name, text }) => ({ name, text, truth: undefined }));
}

/** Figures as texts have them. */
export const money = String.raw`(-?\$[\d,.]*\d|-?∞)`;
export const percent = String.raw`(-?[\d,.]*\d%|(?:over|below) -?[\d,]+%)`;
