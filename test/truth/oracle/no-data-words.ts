/**
 * What alerts about missing data say beside what is missing: a text that is told as worse adds something, rows are of known names, the
 * nearest position is the one that the text leads with, and alerts that fire now are such.
 */
import type { AlertChange } from "../../../src/domain/alert.ts";

type Row = readonly [name: string, value: string];

/** Rows of texts about what is missing, and of their ends. */
const missingRows: ReadonlySet<string> = new Set([
  ...["Nearest position", "Not read", "Rules that cannot judge", "Last failure"],
]);
const endRows: ReadonlySet<string> = new Set(["Not read from", "Until", "Still without data", "Firing now"]);

const lead = /^(?!No data)(.+?)\. No data/;
const counted = / on (\d+) of \d+ wallets/;
const silent = /: no read of the exchange succeeds /;
const firingNow = /^(\w+): (.*) \(#(\d+)\)$/s;
const more = /^\d+ more$/;

/** An alert that a row says fires now. */
export interface FiringRow {
  readonly id: number;
  readonly severity: string;
  readonly summary: string;
  readonly text: string;
}

/** Rows that are not known or do not fit their text. */
export function rowProblems({ kind, alert, details }: Pick<AlertChange, "kind" | "alert" | "details">) {
  const problems: string[] = [];
  const known = kind === "ended" ? endRows : missingRows;
  for (const [name] of details) if (!known.has(name)) problems.push(`nothing is known of a row "${name}"`);
  const led = lead.exec(alert.summary)?.[1];
  const near = details.find(([name]) => name === "Nearest position")?.[1];
  if (kind !== "ended" && led !== near)
    problems.push(
      `a row for the nearest position that reads "${led ?? "(none)"}", not "${near ?? "(none)"}"`,
    );
  return problems;
}

export function firingIn(details: readonly Row[]): readonly FiringRow[] {
  return details.flatMap(([name, text]) => {
    if (name !== "Firing now" || more.test(text)) return [];
    const [, severity = "", summary = "", id = ""] = firingNow.exec(text) ?? [];
    return [{ id: Number(id), severity, summary, text }];
  });
}

interface Said {
  readonly wallets: number;
  readonly isSilent: boolean;
  readonly isLed: boolean;
}

const saidBy = (summary: string): Said => ({
  wallets: Number(counted.exec(summary)?.[1] ?? (/ on wallet /.test(summary) ? 1 : 0)),
  isSilent: silent.test(summary),
  isLed: / from liquidation /.test(summary),
});

/** Problems of a text that is told as worse. @param before the text that was told last */
export function worseProblems(summary: string, before: string): readonly string[] {
  const [now, last] = [saidBy(summary), saidBy(before)];
  const adds = now.wallets > last.wallets || (now.isSilent && !last.isSilent) || (now.isLed && !last.isLed);
  return adds ? [] : [`more than was told before: "${before}"`];
}
