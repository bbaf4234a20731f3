/** A printed figure against the truth. */
import { fits, printed } from "../../desk/numbers.ts";
import type { Claim } from "./predicate.ts";

/** @returns what is wrong; nothing where the truth rounds to what is printed */
export function claimProblem({ name, text, truth, room }: Claim): readonly string[] {
  if (typeof truth === "string") return text === truth ? [] : [`${name} ${truth}, not ${text}`];
  const number = printed(text);
  if (number === undefined) return [`${name} ${text} is no number`];
  return fits(number, { low: truth, high: truth }, 1e-9, room) ? [] : [`${name} ${truth}, not ${text}`];
}
