/**
 * `pairs:` → declared hedges, each of legs that are meant to cancel out.
 *
 *   - { name: basis, legs: [main/SOL, hedge/SOL], tolerance: 0.02 }
 */
import { z } from "zod";
import type { ConfigSource, Path } from "../../config/index.ts";
import { nearestName } from "../../domain/text/nearest.ts";
import { type Leg, overlap, parseLeg, usualTolerance } from "../../state/aggregates/pair-legs.ts";
import type { WatchedPair } from "../../state/wallets/watched.ts";

const pairForm = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, "expected letters, digits, _ and -, at most 64"),
  legs: z.array(z.string()).min(2, "a pair has at least two legs, such as [main/SOL, hedge/SOL]"),
  // At 1 a leg without its counterpart would count as hedged.
  tolerance: z
    .number()
    .refine((share) => share >= 0 && share < 1, {
      message: "expected a share of the largest leg, 0 or more and below 1, such as 0.02",
    })
    .default(usualTolerance),
});

/** @returns the pairs without mistakes, and the names of all, which rules can use */
export function readPairs(
  source: ConfigSource,
  wallets: readonly { readonly name: string }[],
): { readonly pairs: readonly WatchedPair[]; readonly known: readonly { readonly name: string }[] } {
  const list = source.read(["pairs"], z.array(z.looseObject({})), []);
  const pairs: WatchedPair[] = [];
  const names = new Map<string, Path>();
  for (const index of Array(list?.length ?? 0).keys()) {
    const at: Path = ["pairs", index];
    const found = source.read(at, pairForm);
    const name = source.raw([...at, "name"]);
    const isFree = typeof name !== "string" || claimName(source, at, name, names);
    const areLegs = checkLegs(source, [...at, "legs"], wallets);
    if (found !== undefined && isFree && areLegs) pairs.push(found);
  }
  return { pairs, known: [...names.keys()].map((name) => ({ name })) };
}

function claimName(source: ConfigSource, at: Path, name: string, names: Map<string, Path>): boolean {
  const before = names.get(name);
  if (before === undefined) {
    names.set(name, at);
    return true;
  }
  const shown = source.hide(name).slice(0, 60);
  source.problem([...at, "name"], `the name ${shown} is taken already, at ${source.placeName(before)}`);
  return false;
}

/** Checks the configured values, so that one wrong leg hides no other. */
function checkLegs(source: ConfigSource, at: Path, wallets: readonly { readonly name: string }[]): boolean {
  const written = source.raw(at);
  if (!Array.isArray(written)) return false;
  const names = wallets.map((wallet) => wallet.name);
  const legs: Leg[] = [];
  let isSound = true;
  const refuse = (
    place: Path,
    message: string,
    more: { nearest?: string | null; allowed?: string[] } = {},
  ) => {
    isSound = false;
    source.problem(place, source.hide(message), more);
  };
  for (const [index, text] of written.entries()) {
    const place = [...at, index];
    if (typeof text !== "string" || source.isBroken(place)) continue;
    const leg = parseLeg(text);
    const shown = text.slice(0, 80);
    if (leg === undefined) {
      refuse(
        place,
        `${shown} is no leg: expected WALLET/SYMBOL such as main/SOL, or main/0.1/SOL of one account`,
      );
      continue;
    }
    if (!names.includes(leg.wallet)) {
      const nearest = nearestName(leg.wallet, names);
      refuse(place, `no wallet is called ${leg.wallet}`, { nearest, allowed: names });
      continue;
    }
    const [first] = legs;
    const twice = legs.find((other) => overlap(leg, other));
    if (twice) refuse(place, `${shown} counts what the leg ${twice.text} counts already`);
    else if (first && first.symbol !== leg.symbol)
      refuse(
        place,
        `${shown} is not in the market of ${first.text}: sizes of different markets do not cancel out`,
      );
    legs.push(leg);
  }
  return isSound;
}
