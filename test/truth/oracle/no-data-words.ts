/**
 * Words of alerts about missing data beside those that name it: a text that is told as worse adds something, rows are of known names, the
 * nearest position is the one that the text leads with, and alerts that fire now are such.
 */
import type { AlertChange } from "../../../src/domain/alerts/alert.ts";
import type { Row } from "./no-data-rows.ts";
import type { Readings } from "./readings.ts";
import type { Terms } from "./terms.ts";

type Line = readonly [name: string, value: string];

/** Rows of texts about what is missing, and of their ends. */
const missingRows: ReadonlySet<string> = new Set([
  ...["Nearest position", "Not read", "Rules that cannot judge", "Last failure"],
]);
const endRows: ReadonlySet<string> = new Set(["Not read from", "Until", "Still without data", "Firing now"]);

const lead = /^(?!No data)(.+?)\. No data/;
const counted = / on (\d+) of \d+ wallets/;
const silent = /: no read of the exchange succeeds /;
const sinceTime = / since (\d\d:\d\d:\d\d \S+)(?: \(.*\))?$/;
const firingNow = /^(\w+): (.*?)(, as of [^(]*)? \(#(\d+)\)$/s;
const more = /^\d+ more$/;

/** An alert that a row says fires now. */
export interface FiringRow {
  readonly id: number;
  readonly severity: string;
  readonly summary: string;
  /** False: it says that its text is an older one. */
  readonly isOfNow: boolean;
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

export function firingIn(details: readonly Line[]): readonly FiringRow[] {
  return details.flatMap(([name, text]) => {
    if (name !== "Firing now" || more.test(text)) return [];
    const [, severity = "", summary = "", asOf, id = ""] = firingNow.exec(text) ?? [];
    return [{ id: Number(id), severity, summary, isOfNow: asOf === undefined, text }];
  });
}

/** Data of wallets that rules rest on. */
const ofWallets = ["traderState", "liquidations", "collateral", "notifications"];
/** After so many intervals rules cannot do without. */
const intervals = 3;
/** It is reported then, and named in the texts that follow, ms. */
const namedMs = 120_000;

/**
 * Data that are missing for long and that no row names.
 * @param wallets those that the text is about, without those whose data no rule has to judge
 */
export function unnamed(
  rows: readonly Row[],
  wallets: readonly string[],
  readings: Readings,
  terms: Terms,
  atMs: number,
): readonly string[] {
  const { startedMs } = readings;
  if (startedMs === undefined || rows.some(({ more }) => more)) return [];
  const isNamed = (source: string, wallet: string): boolean =>
    rows.some(({ schedule, wallets: named }) => schedule === source && named.includes(wallet));
  const owned = wallets.flatMap((wallet) => ofWallets.map((source) => [source, wallet] as const));
  return owned.flatMap(([source, wallet]) => {
    const all = readings.at(source, wallet, atMs);
    if (isNamed(source, wallet) || all.includes(undefined)) return [];
    const readMs = Math.max(startedMs, ...all.flatMap((ms) => ms ?? []));
    return atMs - readMs > intervals * terms.everyMs(source) + namedMs
      ? [`a row for ${source} of ${wallet}, which was read ${atMs - readMs} ms before`]
      : [];
  });
}

interface Said {
  readonly wallets: number;
  readonly isSilent: boolean;
  /** It tells of positions, by what their figures rest on or by the one that is nearest to liquidation. */
  readonly isRisky: boolean;
}

const saidBy = (summary: string): Said => ({
  wallets: Number(counted.exec(summary)?.[1] ?? (/ on wallet /.test(summary) ? 1 : 0)),
  isSilent: silent.test(summary),
  isRisky: / from liquidation |: no [^(]*(?:positions and balances|prices|market rules)/.test(summary),
});

/**
 * Problems of a text that is told as worse.
 * @param before the text that was told last
 * @param timesSince all times since that was told, as texts have them
 */
export function worseProblems(
  summary: string,
  before: string,
  timesSince: () => ReadonlySet<string>,
): readonly string[] {
  const [now, last] = [saidBy(summary), saidBy(before)];
  if (now.wallets > last.wallets || (now.isSilent && !last.isSilent) || (now.isRisky && !last.isRisky))
    return [];
  // A silence that ended without word is followed by another one.
  const since = sinceTime.exec(summary)?.[1];
  const isNew = now.isSilent && since !== undefined && timesSince().has(since);
  return isNew ? [] : [`more than was told before: "${before}"`];
}
