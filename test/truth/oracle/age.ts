/** The age of positions that texts name where they were not read for some time: `positions as of 04:59:26 GMT+5:30, 14s old`. */
import { claimProblem } from "./claim.ts";
import { duration, durationClaims } from "./duration.ts";
import { type Claim, claimsOf, type Text } from "./predicate.ts";
import { accountOf, type View, walletOf } from "./view.ts";

/** Times are told in whole seconds. */
const secondMs = 1_000;

export function ageClaims(view: View, subject: string, text: Text): readonly Claim[] {
  const all = lastReadsMs(view, subject).map((readMs) => claimsAt(view, text, readMs));
  return all.find((claims) => claims.every((one) => claimProblem(one).length === 0)) ?? all[0] ?? [];
}

function claimsAt({ nowMs, terms }: View, text: Text, readMs: number | undefined): readonly Claim[] {
  const ageMs = readMs === undefined ? undefined : nowMs - readMs;
  const told = claimsOf(text, [["time of the positions", /positions as of (\d\d:\d\d:\d\d)/, undefined]]);
  return [
    ...told.map(({ name, text: time }): Claim => {
      if (readMs === undefined) return { name, text: time, truth: undefined };
      const near = [0, -secondMs, secondMs].map((ms) => timeIn(terms.timezone, readMs + ms));
      return { name, text: time, among: near };
    }),
    ...durationClaims(text, "age of the positions", new RegExp(`, ${duration} old\\)`), ageMs),
  ];
}

/**
 * Times at which the account of a subject was told of last, by the daemon's clock. Of a wallet, that of which it is longest ago, and
 * the time at which one of its PDA indices was read whole: a stream tells of some. Undefined: not known.
 */
function lastReadsMs({ seen }: View, subject: string): readonly (number | undefined)[] {
  const own = accountOf(subject);
  if (own.includes("/")) return [seen.toldMs.get(own)];
  return [seen.toldMs, seen.readMs].map((times) => {
    const ofWallet = [...times].flatMap(([name, ms]) => (walletOf(name) === own ? [ms] : []));
    return ofWallet.length === 0 ? undefined : Math.min(...ofWallet);
  });
}

function timeIn(timeZone: string, ms: number): string {
  return new Intl.DateTimeFormat("en-GB", {
    timeZone,
    ...{ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
  }).format(ms);
}
