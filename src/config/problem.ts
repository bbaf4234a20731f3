/** A mistake in what a person configured, told so that it can be mended without opening the manual. */
import { namesText } from "../domain/nearest.ts";

export interface ConfigProblem {
  /** As the person named it. */
  readonly file: string;
  /** From 1; 0 where the file as a whole is meant. */
  readonly line: number;
  readonly column: number;
  /** `channels.mail.smtp.port`, `wallets[0].name`; empty where no key is meant. */
  readonly path: string;
  /** The mistake and the allowed values. Never a secret, nor a value that came from the environment. */
  readonly message: string;
  /** The allowed values, where the message does not say it all. */
  readonly allowed: readonly string[];
  /** The nearest allowed name, when one is near enough to be meant. */
  readonly nearest: string | null;
  /** The line itself. Empty for the configuration, whose lines may hold secrets. */
  readonly source: string;
}

/** A setting that is no mistake, and yet seldom meant so. */
export interface ConfigWarning {
  readonly file: string;
  /** From 1; 0 where the file as a whole is meant. */
  readonly line: number;
  /** From 1; absent where the line as a whole is meant. */
  readonly column?: number;
  /** As in a problem; empty where no key of the configuration is meant. */
  readonly path: string;
  readonly message: string;
}

/** `file:line:column: message`, or as much of the place as is known. */
export function formatConfigWarning({ file, line, column, message }: ConfigWarning): string {
  const at = column === undefined ? `${line}` : `${line}:${column}`;
  return `${line > 0 ? `${file}:${at}` : file}: ${message}`;
}

/** `file:line:column: path: message`, the line with a caret under it where it may be shown, then what would be right. */
export function formatConfigProblem(problem: ConfigProblem): string {
  const place = problem.line > 0 ? `${problem.file}:${problem.line}:${problem.column}` : problem.file;
  const lines = [`${place}: ${problem.path === "" ? "" : `${problem.path}: `}${problem.message}`];
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
