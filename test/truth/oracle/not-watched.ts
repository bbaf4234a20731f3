/**
 * Word of a time in which nobody watched: it is told once after each that lasted a minute, with its length and what was open. Pauses of a
 * process last a minute at most here: each word of one is of one that was.
 */
import type { AlertChange } from "../../../src/domain/alerts/alert.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import type { Outcome } from "../scenario.ts";
import { durationMs } from "./duration.ts";
import type { Finding } from "./finding.ts";
import { isTold, livesOf } from "./lives.ts";
import { timeIn } from "./times.ts";

const rule = "NotWatched";
const toldFromMs = 60_000;
/** Commits come at least once in this time while a daemon watches, ms. */
const slackMs = 3_000;
/** Open positions that a row names. */
const maxNamed = 10;

const said = /^I was not watching from (\S+ \S+ \S+) to .* \((.+)\)$/;

export function judgeNotWatched({ log, sections, plan }: Outcome): readonly Finding[] {
  const { timezone } = sections[0] as { readonly timezone: string };
  const findings: Finding[] = [];
  const open = new Set<string>();
  /** The time at which it was last heard of, by its clock and by the true one; null: never. */
  let lastMs: number | null = null;
  let trueLastMs = 0;
  let isSure = true;
  const indices = new Set(
    plan.world.wallets.flatMap(({ name, pdaIndices }) => pdaIndices.map((index) => `${name}/${index}`)),
  );
  // The disk took nothing for a time: nobody knows what was written last.
  const unwritten = new Set(log.of("refused").map(({ life }) => life));
  for (const { number, told, changes } of livesOf(log)) {
    const wasSure: boolean = isSure;
    const read = new Set<string>();
    if (unwritten.has(number)) isSure = false;
    const first = told.find(isTold);
    const words = changes.filter(({ kind, alert }) => kind === "fired" && alert.rule === rule);
    const report = (expected: string, change?: AlertChange): void =>
      void findings.push({
        ...{ check: "soundness", rule, subject: "daemon", atMs: first?.committedMs ?? 0, expected },
        seen: change ? `${change.alert.summary} | ${change.alert.description}` : "nothing",
      });
    const startedMs = first?.observation.atMs;
    const isLater = ({ atMs }: AlertChange) => startedMs !== undefined && atMs > startedMs + slackMs;
    const [ofStart, ofPauses] = [words.filter((one) => !isLater(one)), words.filter(isLater)];
    const pauses = log.of("stalled").filter(({ life }) => life === number);
    for (const change of ofPauses) {
      const toldMs = durationMs(said.exec(change.alert.summary)?.[2] ?? "");
      if (!pauses.some(({ ms }) => ms >= toldFromMs - slackMs && Math.abs(ms - toldMs) <= slackMs))
        report("no word of a pause that was none, or shorter", change);
    }
    if (lastMs !== null && startedMs !== undefined && isSure) {
      // Its clock may be another one after a start.
      const lengths = [startedMs - lastMs, first!.committedMs - trueLastMs];
      const awayMs = { least: Math.min(...lengths), most: Math.max(...lengths) };
      const [change] = ofStart;
      if (ofStart.length > 1) report("it once", ofStart[1]);
      if (change === undefined && awayMs.least > toldFromMs + slackMs) report(`word of ${awayMs.least} ms`);
      if (change !== undefined) {
        if (awayMs.most < toldFromMs - slackMs) report(`nothing: it was away for ${awayMs.most} ms`, change);
        for (const problem of problemsOf(change, { lastMs, awayMs, open, timezone })) report(problem, change);
      }
    }
    for (const one of told) {
      if (!isTold(one)) {
        // Nobody knows what was opened meanwhile, and what the disk took last.
        isSure = false;
        continue;
      }
      const { observation } = one;
      lastMs = Math.max(lastMs ?? 0, observation.atMs);
      trueLastMs = Math.max(trueLastMs, one.committedMs);
      if (observation.kind !== "accounts") continue;
      if (observation.told === undefined) read.add(`${observation.wallet}/${observation.pdaIndex}`);
      note(open, observation);
    }
    // Where it was not sure before, all accounts have to be read again.
    const isKnown: boolean = wasSure || [...indices].every((name) => read.has(name));
    isSure = isKnown && !unwritten.has(number) && told.every(isTold);
  }
  return findings;
}

interface Away {
  readonly lastMs: number;
  readonly awayMs: { readonly least: number; readonly most: number };
  readonly open: ReadonlySet<string>;
  readonly timezone: string;
}

function problemsOf({ alert, details }: AlertChange, { lastMs, awayMs, open, timezone }: Away) {
  const [, from = "", lasted = ""] = said.exec(alert.summary) ?? [];
  const problems: string[] = [];
  const froms = Array.from({ length: 2 * (slackMs / 1_000) + 1 }, (_, index) =>
    timeIn(timezone, lastMs - slackMs + index * 1_000),
  );
  if (awayMs.most - awayMs.least < slackMs && !froms.includes(from))
    problems.push(`from ${timeIn(timezone, lastMs)} on, not ${from}`);
  // Lengths of more than an hour are told in minutes, of more than a day in hours.
  const roundedMs = awayMs.most > 86_400_000 ? 3_600_000 : awayMs.most > 3_600_000 ? 60_000 : 1_000;
  const toldMs = durationMs(lasted);
  if (!(toldMs > awayMs.least - slackMs - roundedMs && toldMs < awayMs.most + slackMs))
    problems.push(`a length of ${awayMs.least} to ${awayMs.most} ms, not ${lasted}`);
  const isOpen = open.size > 0;
  if (
    alert.severity !== (isOpen ? "warning" : "info") ||
    /^No position was open/.test(alert.description) === isOpen
  )
    problems.push(`that ${open.size} positions were open`);
  const names = new Map(details).get("Open positions then")?.split(", ") ?? [];
  if (open.size <= maxNamed && [...open].sort().join() !== names.join())
    problems.push(`open positions ${[...open].sort().join(", ")}`);
  return problems;
}

/** Takes in which positions an answer shows. */
function note(
  open: Set<string>,
  { wallet, pdaIndex, told, subaccounts }: Observation & { readonly kind: "accounts" },
) {
  const prefix = `${wallet}/${pdaIndex}.`;
  const isTold = (name: string): boolean =>
    name.startsWith(prefix) &&
    (told === undefined || told.includes(Number(name.slice(prefix.length).split("/")[0])));
  for (const name of open) if (isTold(name)) open.delete(name);
  for (const { subaccount, positions } of subaccounts)
    for (const { symbol, baseLots } of positions)
      if (baseLots !== 0n) open.add(`${prefix}${subaccount}/${symbol}`);
}
