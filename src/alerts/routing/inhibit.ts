/** Inhibition: while one alert fires, others that follow from it are held. Pure. */
import { z } from "zod";
import { type Labels, labelOf, matches, matchSettings } from "./match.ts";

export const inhibitSettings = z.array(
  z.strictObject({
    source: matchSettings,
    target: matchSettings,
    /** Labels that must be equal in both. */
    equal: z.array(z.string()).default([]),
  }),
);
export type Inhibitions = z.infer<typeof inhibitSettings>;

/**
 * Returns true if a firing alert with the labels `source` holds one with the labels `target`. An alert does not hold
 * itself.
 */
export function inhibits({ source, target, equal }: Inhibitions[number], from: Labels, of: Labels): boolean {
  return (
    matches(target, of) &&
    matches(source, from) &&
    equal.every((name) => labelOf(from, name) === labelOf(of, name))
  );
}
