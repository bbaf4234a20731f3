/** A text against the truth. */
import { fits, printed } from "../../desk/numbers.ts";
import type { Claim } from "./predicate.ts";

/** @returns what is wrong; nothing where the truth rounds to what is printed */
export function claimProblem(claim: Claim): readonly string[] {
  const { name, text } = claim;
  if ("among" in claim)
    return claim.among.includes(text) ? [] : [`${name} "${claim.among.join('" or "')}", not "${text}"`];
  if (claim.truth === undefined) return [];
  const { truth, room } = claim;
  if (typeof truth === "string") return text === truth ? [] : [`${name} ${truth}, not ${text}`];
  const number = printed(text);
  if (number === undefined) return [`${name} ${text} is no number`];
  return fits(number, { low: truth, high: truth }, 1e-9, room) ? [] : [`${name} ${truth}, not ${text}`];
}
