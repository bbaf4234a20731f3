/** Suggests the known name nearest to an unknown one. */

/**
 * @returns the candidate that differs by at most a third of its letters, the nearest first; else the only one that begins so;
 * null when there is none
 */
export function nearestName(found: string, given: Iterable<string>): string | null {
  const candidates = [...given];
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
  if (best !== null || wanted.length < 3) return best;
  const longer = [...new Set(candidates)].filter((one) => one.toLowerCase().startsWith(wanted));
  return longer.length === 1 ? longer[0]! : null;
}

/** Maximum number of listed names. */
const maxNames = 40;

/** Returns names to choose from, each once. If there are too many, the nearest one is among those listed. */
export function namesText(names: readonly string[], nearest: string | null): string {
  const each = [...new Set(names)];
  if (each.length <= maxNames) return each.join(", ");
  const near = each.filter((name) => name === nearest);
  const shown = [...near, ...each.filter((name) => name !== nearest)].slice(0, maxNames);
  return `${shown.join(", ")}, … and ${each.length - maxNames} more`;
}

/** Returns Levenshtein's distance; two swapped neighbours count as one. */
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
