/** A mistake in a rule file, told so that its reader can mend it without opening the manual. */
import { namesText } from "../domain/nearest.ts";

export { nearestName } from "../domain/nearest.ts";

export interface RuleProblem {
  readonly file: string;
  /** From 1; 0 where the text came without positions (an override from the configuration). */
  readonly line: number;
  readonly column: number;
  /** The line itself, without its end. */
  readonly source: string;
  /** The mistake, with what was found: `unknown field trader.equty`. */
  readonly message: string;
  /** The allowed words; empty when the message says it all. */
  readonly allowed: readonly string[];
  /** The nearest allowed name, when one is near enough to be meant. */
  readonly nearest: string | null;
  /** For a warning that a rule stays silent for wallets: which, so that whoever tells it can gather them. */
  readonly silent?: { readonly rule: string; readonly wallets: readonly string[] };
}

/** `file:line:column: message`, the line with a caret under it, then what would be right. */
export function formatProblem(problem: RuleProblem): string {
  const place = problem.line > 0 ? `${problem.file}:${problem.line}:${problem.column}` : problem.file;
  const lines = [`${place}: ${problem.message}`];
  if (problem.source !== "") {
    // Long lines are cut around the place, so that the caret stays in sight.
    const from = Math.max(0, problem.column - 80);
    const shown = problem.source.slice(from, from + 120);
    lines.push(`    ${shown}`, `    ${shown.slice(0, problem.column - 1 - from).replace(/[^\t]/g, " ")}^`);
  }
  if (problem.nearest !== null) lines.push(`  did you mean ${problem.nearest}?`);
  if (problem.allowed.length > 0) lines.push(`  allowed: ${namesText(problem.allowed, problem.nearest)}`);
  return lines.join("\n");
}
