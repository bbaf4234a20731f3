/** A mistake in a rule file, with what a reader needs to correct it. */
import { namesText } from "../domain/text/nearest.ts";

export { nearestName } from "../domain/text/nearest.ts";

export interface RuleProblem {
  readonly file: string;
  /** From 1; 0 if the text has no positions (an override from the configuration). */
  readonly line: number;
  readonly column: number;
  /** The line itself, without its end. */
  readonly source: string;
  /** The mistake, with the text found: `unknown field trader.equity`. */
  readonly message: string;
  /** The allowed words; empty if the message is sufficient. */
  readonly allowed: readonly string[];
  /** The nearest allowed name, if one is near enough. */
  readonly nearest: string | null;
  /** For a warning that a rule does not work for wallets: the rule and the wallets, so that such warnings can be merged. */
  readonly silent?: { readonly rule: string; readonly wallets: readonly string[] };
}

/** Formats as `file:line:column: message`, the line with a caret under it, then a suggestion. */
export function formatProblem(problem: RuleProblem): string {
  const place = problem.line > 0 ? `${problem.file}:${problem.line}:${problem.column}` : problem.file;
  const lines = [`${place}: ${problem.message}`];
  if (problem.source !== "") {
    // Long lines are cut around the place, so that the caret stays visible.
    const from = Math.max(0, problem.column - 80);
    const shown = problem.source.slice(from, from + 120);
    lines.push(`    ${shown}`, `    ${shown.slice(0, problem.column - 1 - from).replace(/[^\t]/g, " ")}^`);
  }
  if (problem.nearest !== null) lines.push(`  did you mean ${problem.nearest}?`);
  if (problem.allowed.length > 0) lines.push(`  allowed: ${namesText(problem.allowed, problem.nearest)}`);
  return lines.join("\n");
}
