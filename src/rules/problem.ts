/** A mistake in a rule file, told so that its reader can mend it without opening the manual. */

export interface RuleProblem {
  readonly file: string;
  /** From 1; 0 where the text came without positions (an override from the configuration). */
  readonly line: number;
  readonly column: number;
  /** The line itself, without its end. */
  readonly source: string;
  /** What is wrong, with what was found: `unknown field trader.equty`. */
  readonly message: string;
  /** What is allowed there; empty when the message says it all. */
  readonly allowed: readonly string[];
  /** The nearest allowed name, when one is near enough to be meant. */
  readonly nearest: string | null;
  /** Of a warning that a rule stays silent for wallets: which, so that whoever tells it can gather them. */
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
  if (problem.allowed.length > 0) lines.push(`  allowed: ${problem.allowed.join(", ")}`);
  return lines.join("\n");
}

/** The candidate that differs by at most a third of its letters, the nearest first; null when none does. */
export function nearestName(found: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Number.POSITIVE_INFINITY;
  const wanted = found.slice(0, 64).toLowerCase();
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance && distance <= Math.max(1, Math.floor(candidate.length / 3))) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein's distance, in which two swapped neighbours count as one. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, before[j - 2]! + 1);
      row.push(least);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}
