/** Figures of alerts about missing data: since when, for how long, of how many wallets. */
import { claimProblem } from "./claim.ts";
import { duration, durationClaims } from "./duration.ts";
import type { Life } from "./lives.ts";
import type { Row } from "./no-data-rows.ts";
import { type Claim, claimsOf, percent, type Text } from "./predicate.ts";
import { assetRules, type Readings, type ReadMs } from "./readings.ts";
import { timeIn } from "./times.ts";
import { unclaimed } from "./unclaimed.ts";

type Change = Life["changes"][number];

export interface Figures {
  readonly readings: Readings;
  readonly timezone: string;
  /** Number of wallets that are watched. */
  readonly watched: number;
}

const silent = /: no read of the exchange succeeds /;
const counted = /^(?:.*\. )?No data(?: now and then)? on (\d+) of (\d+) wallets/;
const sinceTime = /: no [^(]* since (\d\d:\d\d:\d\d \S+)(?: \(.*\))?$/;
const everSince = /: no [^(]* ever since the start(?: \(.*\))?$/;
const againTime = /, read again since (\d\d:\d\d:\d\d \S+)$/;
/** A cause that is cut off may lack what closes its brackets. */
const causesIn = /No data[^(]* \((.*)\)(?:, read again since .*)?$/;
/** Causes and kinds of data that a text names. */
const namedCauses = 2;
const namedKinds = 2;

/** Statements about times and numbers of a text about missing data that are not true, of those that can be judged. */
export function figureProblems(
  change: Change,
  rows: readonly Row[],
  { readings, timezone, watched }: Figures,
): readonly string[] {
  const { alert, atMs } = change;
  const { summary } = alert;
  // A name that the configuration gets wrong is missing in another way.
  if (alert.labels.source === "configuration") return [];
  const problems: string[] = [];
  const readOf = ({ schedule, wallets, symbols, words }: Row): readonly ReadMs[] => {
    if (words === assetRules) return readings.assetRulesAt(atMs);
    const owners = wallets.length > 0 ? wallets : symbols.length > 0 ? symbols : [""];
    return owners.map((owner) => readings.at(schedule, owner, atMs)).reduce(eitherOldest);
  };
  for (const row of rows) {
    const all = readOf(row);
    const texts = all.map((ms) => (ms === null ? "never" : ms === undefined ? null : timeIn(timezone, ms)));
    // More wallets may have been read before those.
    if (texts.includes(null) || row.more) continue;
    if (!texts.includes(row.read)) problems.push(`last read ${texts.join(" or ")}, not "${row.text}"`);
  }
  const leading = rows.filter(({ schedule }) => schedule === rows[0]?.schedule);
  const all = silent.test(summary)
    ? readings.anyAt(atMs)
    : leading.some(({ more }) => more) || rows.length === 0
      ? [undefined]
      : leading.map(readOf).reduce(eitherOldest);
  // A long list ends with the number of the rows that are left out.
  const isWhole = !change.details.some(([name, text]) => name === "Not read" && /^\d+ more$/.test(text));
  const of = { alert, leading, rows, isWhole, atMs, timezone, watched, startedMs: readings.startedMs };
  const judged = all.map((readMs) => claimsAt(readMs, of));
  const wrong = judged.map((claims) => [...claims.flatMap(claimProblem), ...unclaimed(alert, claims)]);
  if (wrong.every((one) => one.length > 0)) problems.push(...(wrong.at(-1) ?? []));
  return problems;
}

/** The oldest of two times, for each that either may be. */
function eitherOldest(some: readonly ReadMs[], others: readonly ReadMs[]): readonly ReadMs[] {
  return some.flatMap((one) =>
    others.map((other) => {
      if (one === undefined || other === undefined) return undefined;
      return one === null || other === null ? null : Math.min(one, other);
    }),
  );
}

interface Of {
  readonly alert: Text;
  readonly rows: readonly Row[];
  readonly leading: readonly Row[];
  /** These are all rows. */
  readonly isWhole: boolean;
  readonly atMs: number;
  readonly timezone: string;
  readonly watched: number;
  readonly startedMs: number | undefined;
}

/** Everything that a text states where what it names was last read at that time. */
function claimsAt(
  readMs: ReadMs,
  { alert, rows, leading, isWhole, atMs, timezone, watched, startedMs }: Of,
): readonly Claim[] {
  const { summary } = alert;
  const text: Text = { summary, description: "" };
  const fromMs = readMs ?? (readMs === null ? startedMs : undefined);
  const wallets = new Set(rows.flatMap((row) => row.wallets));
  const [, count, all] = counted.exec(summary) ?? [];
  const isKnown = !rows.some(({ more }) => more);
  const since = sinceTime.exec(summary)?.[1];
  const causes = [...new Set((silent.test(summary) ? rows : leading).flatMap(({ cause }) => cause ?? []))];
  const told = causesIn.exec(summary)?.[1];
  const expected =
    causes.slice(0, namedCauses).join(", ") +
    (causes.length > namedCauses ? ` and ${causes.length - namedCauses} more` : "");
  const kinds = new Set(rows.map(({ words, symbols }) => `${words} ${symbols.join(", ")}`)).size;
  const moreKinds = isWhole ? Math.max(0, kinds - namedKinds) : undefined;
  return [
    ...durationClaims(
      text,
      "time without data",
      new RegExp(`No data(?: on (?:wallet \\w+|\\d+ of \\d+ wallets))? for ${duration}:`),
      fromMs === undefined ? undefined : atMs - fromMs,
    ),
    ...durationClaims(
      text,
      "age of the last reading",
      new RegExp(`liquidation (?:price )?${duration} ago`),
      undefined,
    ),
    ...claimsOf(text, [
      ["distance", new RegExp(`was ${percent} from liquidation`), undefined],
      ["least distance", new RegExp(`; ${percent} from liquidation at the worst price since`), undefined],
      ["move", new RegExp(`, (?:mark|price \\([a-z ]+\\)) (?:up|down) ${percent} since`), undefined],
      ["time", againTime, undefined],
      ["more kinds", /: no .*? and (\d+) more(?: from the exchange)? (?:ever )?since/, moreKinds],
      ["more kinds", /now and then.*?: .*? and (\d+) more[ ,]/, moreKinds],
    ]),
    ...(count === undefined
      ? []
      : [
          { name: "wallets", text: all!, truth: watched, room: 0 },
          isKnown && Number(count) < wallets.size
            ? { name: "wallets without data", text: count, truth: wallets.size, room: 0 }
            : { name: "wallets without data", text: count, truth: undefined },
        ]),
    ...(since === undefined
      ? []
      : [
          readMs === undefined
            ? { name: "since", text: since, truth: undefined }
            : {
                name: "since",
                text: since,
                among: [readMs === null ? "the start" : timeIn(timezone, readMs).slice(dateLength)],
              },
        ]),
    ...(everSince.test(summary) && typeof readMs === "number"
      ? [{ name: "since", text: "the start", among: [timeIn(timezone, readMs)] }]
      : []),
    ...(told === undefined
      ? []
      : [
          isKnown || !told.includes(" more")
            ? { name: "causes", text: told, among: [expected] }
            : { name: "causes", text: told, truth: undefined },
        ]),
  ];
}

/** `2026-11-21 `. */
const dateLength = 11;

const endLasted = new RegExp(`^(?:Read again|The exchange answers again): .*, after ${duration}$`);
const endWallets = / of (\d+) wallets, after /;
const kindsNamed = 4;

/** Statements of an end about times and numbers that do not fit each other, or the time at which its alert began. */
export function endProblems({ alert, details, atMs }: Change, timezone: string): readonly string[] {
  const { summary, sinceMs } = alert;
  if (!endLasted.test(summary)) return [];
  const told = new Map(details);
  const [from, until] = [told.get("Not read from"), told.get("Until")];
  const text: Text = { summary, description: "" };
  const problems: string[] = [];
  if (from !== timeIn(timezone, sinceMs))
    problems.push(`not read from ${timeIn(timezone, sinceMs)}, not ${from}`);
  const kinds = summary.replace(/^[^:]*: | (?:of|from) [^;]*$/g, "").split("; ");
  if (kinds.length > kindsNamed + 1) problems.push(`${kindsNamed} kinds of data at most`);
  // It says in seconds when it was read again.
  const within = (ms: number): readonly string[] => {
    const claims = [
      ...durationClaims(text, "time without data", endLasted, ms),
      ...claimsOf(text, [
        ["wallets", endWallets, undefined],
        ["more kinds", /; (\d+) more kinds? of data /, undefined],
      ]),
    ];
    return [
      ...claims.flatMap(claimProblem),
      ...unclaimed({ summary, description: alert.description }, claims),
    ];
  };
  const lengths: number[] = [];
  for (let ms = atMs; ms > sinceMs - secondMs && lengths.length === 0; ms -= secondMs)
    if (timeIn(timezone, ms) === until)
      for (let offMs = -secondMs; offMs <= secondMs; offMs += tenthMs) lengths.push(ms - sinceMs + offMs);
  if (lengths.length === 0) return [...problems, `a time between ${from} and now, not ${until}`];
  const wrong = lengths.map(within);
  return wrong.every((one) => one.length > 0) ? [...problems, ...wrong[0]!] : problems;
}

const secondMs = 1_000;
const tenthMs = 100;
