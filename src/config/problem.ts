/** A mistake in the configuration, with the information needed to fix it. */
import { namesText } from "../domain/text/nearest.ts";

export interface ConfigProblem {
  /** As named by the user. */
  readonly file: string;
  /** 1-based; 0 for the file as a whole. */
  readonly line: number;
  readonly column: number;
  /** `channels.mail.smtp.port`, `wallets[0].name`; empty if it concerns no key. */
  readonly path: string;
  /** The mistake and the allowed values. Contains neither a secret nor a value of the environment. */
  readonly message: string;
  /** The allowed values, if the message does not contain them. */
  readonly allowed: readonly string[];
  /** The nearest allowed name, if it is similar enough. */
  readonly nearest: string | null;
  /** The line of the file. Empty for the configuration, whose lines may contain secrets. */
  readonly source: string;
}

/** A valid setting that is rarely intended. */
export interface ConfigWarning {
  readonly file: string;
  /** 1-based; 0 for the file as a whole. */
  readonly line: number;
  /** 1-based; absent for the line as a whole. */
  readonly column?: number;
  /** As in a problem; empty if it concerns no key. */
  readonly path: string;
  readonly message: string;
}

/** `file:line:column: message`, with the known parts of the place. */
export function formatConfigWarning({ file, line, column, message }: ConfigWarning): string {
  const at = column === undefined ? `${line}` : `${line}:${column}`;
  return `${line > 0 ? `${file}:${at}` : file}: ${message}`;
}

/** `file:line:column: path: message`, the line with a caret where it may be shown, and the fix. */
export function formatConfigProblem(problem: ConfigProblem): string {
  const place = problem.line > 0 ? `${problem.file}:${problem.line}:${problem.column}` : problem.file;
  const lines = [`${place}: ${problem.path === "" ? "" : `${problem.path}: `}${problem.message}`];
  if (problem.source !== "") {
    // Long lines are cut around the column, so that the caret is visible.
    const from = Math.max(0, problem.column - 80);
    const shown = problem.source.slice(from, from + 120);
    lines.push(`    ${shown}`, `    ${shown.slice(0, problem.column - 1 - from).replace(/[^\t]/g, " ")}^`);
  }
  if (problem.nearest !== null) lines.push(`  did you mean ${problem.nearest}?`);
  if (problem.allowed.length > 0) lines.push(`  allowed: ${namesText(problem.allowed, problem.nearest)}`);
  return lines.join("\n");
}
