/** The age of positions that texts name where they were not read for some time: `positions as of 04:59:26 GMT+5:30, 14s old`. */
import type { Outcome } from "../scenario.ts";
import { claimProblem } from "./claim.ts";
import { duration, durationClaims } from "./duration.ts";
import { type Claim, claimsOf, type Predicate, type Text } from "./predicate.ts";
import type { Seen } from "./seen.ts";
import { Terms } from "./terms.ts";
import { timeIn } from "./times.ts";
import { accountOf, symbolOf, type View, walletOf } from "./view.ts";

/** Times at which accounts were told of, and PDA indices read whole, by their names; the daemon's clock, ms. */
export type Reads = Pick<Seen, "toldMs" | "readMs">;

/** Times are told in whole seconds. */
const secondMs = 1_000;
/** Positions are too old after so many of the intervals at which they are read. */
const intervals = 3;
const mostMs = 60_000;
/** As many requests a second as nobody needs. */
const plentyOfRequests = 40;
/** Schedules are stretched for so long after the last refusal, ms. */
const slowMs = 180_000;
const figure = /\$[\d,.]*\d|[\d,.]*\d%/;
/** The time of day in `2026-11-21 03:41:18 UTC`. */
const ofDay = [11, 19] as const;
const ageWords = /\(positions as of .* old\)$/;

export function ageClaims(view: View, subject: string, text: Text): readonly Claim[] {
  const all = lastReadsMs(view.seen, subject).map((readMs) => claimsAt(view, text, readMs));
  return all.find((claims) => claims.every((one) => claimProblem(one).length === 0)) ?? all[0] ?? [];
}

function claimsAt({ nowMs, terms }: View, text: Text, readMs: number | undefined): readonly Claim[] {
  const ageMs = readMs === undefined ? undefined : nowMs - readMs;
  const told = claimsOf(text, [["time of the positions", /positions as of (\d\d:\d\d:\d\d)/, undefined]]);
  return [
    ...told.map(({ name, text: time }): Claim => {
      if (readMs === undefined) return { name, text: time, truth: undefined };
      const near = [0, -secondMs, secondMs].map((ms) => timeIn(terms.timezone, readMs + ms).slice(...ofDay));
      return { name, text: time, among: near };
    }),
    ...durationClaims(text, "age of the positions", new RegExp(`, ${duration} old\\)`), ageMs),
  ];
}

/**
 * Times at which the account of a subject was told of last, by the daemon's clock. Of a wallet, that of which it is longest ago, and
 * the time at which one of its PDA indices was read whole: a stream tells of some. Undefined: not known.
 */
function lastReadsMs({ toldMs, readMs }: Reads, subject: string): readonly (number | undefined)[] {
  const own = accountOf(subject);
  if (own.includes("/")) return [toldMs.get(own)];
  return [toldMs, readMs].map((times) => {
    const ofWallet = [...times].flatMap(([name, ms]) => (walletOf(name) === own ? [ms] : []));
    return ofWallet.length === 0 ? undefined : Math.min(...ofWallet);
  });
}

/** True for a rule whose texts say how old positions are where these are too old. */
export function statesAge({ byOldPositions, restsOnPositions }: Predicate, subject: string): boolean {
  return symbolOf(subject) !== "" || byOldPositions === true || restsOnPositions === true;
}

/** The age after which positions are too old at the latest, ms. @param atMs true wall time */
export function oldAfterMs({ plan, sections, log }: Outcome, atMs: number): number {
  const { accountsMs, ceiling } = new Terms(sections);
  const ms = atMs - log.entries[0]!.atMs;
  // They are read less often where few requests are granted, and too old after so much of that, but no later than after a minute.
  const isSlow =
    (ceiling !== null && ceiling < plentyOfRequests) ||
    plan.world.requestsPerSecond !== null ||
    plan.troubles.faults.some(
      ({ kind, fromMs, toMs }) => kind === "limited" && fromMs <= ms && ms <= toMs + slowMs,
    );
  return isSlow ? mostMs : intervals * accountsMs;
}

/** True if the positions that a subject is about are too old, by each of the times at which they may have been read last. */
export function areOld(reads: Reads, subject: string, nowMs: number, afterMs: number): boolean {
  return lastReadsMs(reads, subject).every((ms) => ms !== undefined && nowMs - ms > afterMs);
}

/**
 * The words about their age that a text about positions lacks which are too old.
 * @param afterMs see `oldAfterMs`
 */
export function ageProblems(
  { seen, nowMs }: View,
  predicate: Predicate,
  { subject, summary, description }: Text & { readonly subject: string },
  afterMs: number,
): readonly string[] {
  if (!statesAge(predicate, subject) || ageWords.test(summary)) return [];
  // A text without figures names none of the positions.
  if (!figure.test(summary) && !figure.test(description)) return [];
  return areOld(seen, subject, nowMs, afterMs) ? ["the age of the positions, which are too old"] : [];
}
