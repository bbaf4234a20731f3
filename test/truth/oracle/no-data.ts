/**
 * No-data alerts: nothing that was answered is reported as missing, a cause that is named was there, what is not read for a minute
 * is reported, and no outage is reported as over while it lasts.
 */
import { blindRule, unreachableRule } from "../../../src/domain/built-in.ts";
import { isWhale } from "../names.ts";
import type { Outcome } from "../scenario.ts";
import type { FaultKind } from "../weather.ts";
import { Answers } from "./answers.ts";
import { type Finding, timeOf } from "./finding.ts";
import { isTold, type Life, livesOf } from "./lives.ts";
import { Terms } from "./terms.ts";

type Change = Life["changes"][number];

const withinMs = 60_000;
const slackMs = 2_000;
const silent = /no read of the exchange succeeds/;
/** The end of an alert about what is read of the accounts of one wallet, and nothing else. */
const positionsAgain = /^Read again: positions and balances of wallet (\w+), after/;
/** The end of an alert about prices alone, where rules do without what is not read. */
const pricesAlone = /^No rule needs it any more: .*: no prices from the exchange since \d/;
/** Wallets without data that have an alert each. */
const ownAlerts = 3;
/** An exchange that answers nothing has answered nothing for so long, ms. */
const quietMs = 25_000;
/** Causes are told for so long after they were there, ms. */
const causeMs = 90_000;
/** A fault that just began leaves answers on their way. */
const settledMs = 5_000;

/** Words of causes, and what has to be there. */
const causes: readonly (readonly [words: RegExp, kind: FaultKind])[] = [
  [/HTTP 5\d\d/, "errors"],
  [/connection refused/, "outage"],
  [/unreadable record/, "garbled"],
];

const ofAssets = /^collateral asset rules /;

interface Row {
  readonly schedule: string;
  /** Empty: no wallet's. */
  readonly wallets: readonly string[];
  readonly text: string;
}

/** Data that come now and then, and may not come yet. */
const again = /No data now and then .*, read again since /;

export function judgeNoData(outcome: Outcome): readonly Finding[] {
  const { log, simulator, plan } = outcome;
  const answers = new Answers(log, simulator.world);
  const terms = new Terms(outcome.sections);
  const beginMs = log.entries[0]!.atMs;
  const findings: Finding[] = [];
  const lives = livesOf(log);
  const isNoData = ({ alert: { rule } }: Change) => rule === blindRule || rule === unreachableRule;
  const changes = lives.flatMap(({ number, changes }) =>
    changes.filter(isNoData).map((one) => ({ ...one, life: number })),
  );
  const strangers = new Set(plan.world.wallets.filter(isWhale).map(({ name }) => name));
  const inForce = (kind: FaultKind, fromMs: number, toMs: number) =>
    plan.troubles.faults.filter(
      (one) => one.kind === kind && beginMs + one.fromMs <= toMs && beginMs + one.toMs >= fromMs,
    );
  const indices = new Map(plan.world.wallets.map(({ name, pdaIndices }) => [name, pdaIndices]));
  /** True if its end tells of positions and balances alone, and all were seen since a time: streams that open show them unasked. */
  const isStreamedAgain = (
    { alert, committedMs, life }: (typeof changes)[number],
    sinceMs: number,
  ): boolean => {
    const wallet = positionsAgain.exec(alert.summary)?.[1];
    if (wallet === undefined) return false;
    const { told } = lives.find(({ number }) => number === life)!;
    const fromMs = Math.max(sinceMs, committedMs - 2 * terms.accountsMs);
    const read = new Set(
      told.filter(isTold).flatMap(({ observation: one, committedMs: ms }) => {
        const isNew = ms > fromMs && ms <= committedMs;
        const isWhole = one.kind === "accounts" && one.wallet === wallet && one.told === undefined;
        return isNew && isWhole ? [one.pdaIndex] : [];
      }),
    );
    return indices.get(wallet)!.every((index) => read.has(index));
  };
  /** True if an answer came just now: it may have been asked for before requests were limited. */
  const isAnswered = (atMs: number): boolean =>
    log.of("asked").some((one) => one.status === 200 && one.atMs > atMs - slackMs && one.atMs <= atMs);
  /** True if its end tells of prices alone, and those of all markets were streamed since a time. */
  const isPricedByStream = (
    { alert, committedMs, life }: (typeof changes)[number],
    sinceMs: number,
  ): boolean => {
    if (!pricesAlone.test(alert.summary)) return false;
    const { told } = lives.find(({ number }) => number === life)!;
    const [all, streamed] = [new Set<string>(), new Set<string>()];
    for (const { observation, committedMs: ms } of told.filter(isTold)) {
      if (observation.kind !== "prices" || ms > committedMs) continue;
      for (const { symbol } of observation.markets) {
        all.add(symbol);
        if (observation.live && ms > sinceMs) streamed.add(symbol);
      }
    }
    return all.size > 0 && all.size === streamed.size;
  };
  /** True if an answer without the accounts of a wallet, which had some before, was not believed at once. */
  const isDoubted = (wallet: string, atMs: number): boolean =>
    log
      .of("committed")
      .some(
        ({ changes: { observations }, atMs: ms }) =>
          ms <= atMs &&
          ms >= atMs - causeMs &&
          observations.some(
            (one) => one.kind === "failed" && one.wallet === wallet && one.detail.includes("no subaccounts"),
          ),
      );
  for (const change of changes) {
    const { kind, alert, committedMs } = change;
    const report = (check: Finding["check"], expected: string, seen: string) =>
      findings.push({ check, rule: alert.rule, subject: alert.subject, atMs: committedMs, expected, seen });
    if (kind === "ended") {
      if (alert.ending !== "recovered") continue;
      const still = [
        ...inForce("outage", committedMs, committedMs),
        ...inForce("limited", committedMs, committedMs).filter(
          ({ fromMs }) =>
            !isStreamedAgain(change, beginMs + fromMs) &&
            !isPricedByStream(change, beginMs + fromMs) &&
            !isAnswered(committedMs),
        ),
      ];
      for (const one of still)
        if (beginMs + one.fromMs < committedMs - settledMs && beginMs + one.toMs > committedMs + slackMs)
          report("false resolve", `nothing: ${JSON.stringify(one)} lasts`, alert.summary);
      continue;
    }
    if (!["fired", "rose", "worsened"].includes(kind)) continue;
    const quietFromMs = committedMs - quietMs;
    if (silent.test(alert.summary) && answers.anyWithin(change.life, quietFromMs, committedMs - slackMs))
      report(
        "false no-data",
        `another cause: there were answers from ${timeOf(quietFromMs)} on`,
        alert.summary,
      );
    const rows = rowsOf(change);
    const concerned = new Set(rows.flatMap(({ wallets }) => wallets));
    const isSilence = alert.rule === unreachableRule || silent.test(alert.summary);
    // One alert for several wallets stands for more than these: up to so many have one each.
    if (
      kind === "fired" &&
      alert.subject === "exchange" &&
      !isSilence &&
      rows.length > 0 &&
      rows.every(({ wallets }) => wallets.length > 0) &&
      concerned.size <= ownAlerts
    )
      report("soundness", `an alert for each of ${[...concerned].join(", ")}`, alert.summary);
    for (const { schedule, wallets, text } of rows) {
      // Their inboxes are judged by the rules about notifications, as everybody's.
      if (schedule === "traderState" && wallets.some((wallet) => strangers.has(wallet)))
        report("false no-data", "nothing: nobody is woken for the positions of a stranger", text);
      for (const [words, fault] of causes)
        if (
          words.test(text) &&
          inForce(fault, committedMs - causeMs, committedMs).length === 0 &&
          !(fault === "garbled" && wallets.some((wallet) => isDoubted(wallet, committedMs)))
        )
          report("false no-data", `another cause: there was no ${fault} within ${causeMs} ms`, text);
      // Answers that come and are too slow add up to data that are missing.
      if (!answers.knows(schedule) || text.includes("answers too slow")) continue;
      // The second list of its schedule: that of the markets may be there.
      if (ofAssets.test(text)) continue;
      // It says itself that all of it is read again for the moment.
      if (again.test(alert.summary)) continue;
      const freshMs =
        2 * (schedule === "traderState" ? terms.accountsMs : schedule === "markets" ? terms.pricesMs : 8_000);
      for (const wallet of wallets.length > 0 ? wallets : [""]) {
        const toMs = answers.completeTo(schedule, wallet, committedMs - slackMs);
        if (toMs > committedMs - freshMs)
          report(
            "false no-data",
            `nothing of ${wallet || "the exchange"}: answers of ${new Date(toMs).toISOString()} are there`,
            text,
          );
      }
    }
  }
  for (const life of lives) findings.push(...unreported(life, changes, strangers));
  return findings;
}

function rowsOf({ details }: Change): readonly Row[] {
  return details.flatMap(([name, text]) => {
    const found = name === "Not read" ? /^([a-z ]+?)(?: of ([\w, ]+))? \(schedule (\w+)\)/.exec(text) : null;
    return found ? [{ schedule: found[3]!, wallets: found[2]?.split(", ") ?? [], text }] : [];
  });
}

/** The list of markets: nothing that rests on margins can be judged before it was read once. */
const listName = "markets";

/**
 * Accounts and prices that were not read for a minute, and a list of markets that was not read in the first one, while nothing was said
 * of it.
 * @param strangers wallets of which nobody is told that they are not seen
 */
function unreported(
  { told, number }: Life,
  changes: readonly Change[],
  strangers: ReadonlySet<string>,
): readonly Finding[] {
  const findings: Finding[] = [];
  const readMs = new Map<string, number>();
  const wallets = new Set<string>();
  const check = (name: string, untilMs: number): void => {
    const sinceMs = readMs.get(name);
    if (sinceMs === undefined || untilMs - sinceMs < withinMs + slackMs) return;
    const dueMs = sinceMs + withinMs + slackMs;
    const isOfAll = name === "prices" || name === listName;
    if (standing(changes, dueMs, isOfAll ? null : name.split("/")[0]!)) return;
    findings.push({
      ...{ check: "no data", rule: blindRule, subject: name, atMs: dueMs },
      expected: `word of it: ${name === listName ? "not read since" : "last read at"} ${new Date(sinceMs).toISOString()}`,
      seen: `nothing in life ${number}, by the daemon's clock`,
    });
  };
  let lastMs = told.find(isTold)?.observation.atMs ?? 0;
  for (const { observation } of told) {
    if (observation === null) {
      // Nobody knows what was read in a gap.
      readMs.clear();
      continue;
    }
    const { kind, atMs } = observation;
    // Time is observed each second: in a gap the process stood still, and could say nothing.
    const gapMs = atMs - lastMs;
    if (gapMs > slackMs) for (const [name, ms] of readMs) readMs.set(name, ms + gapMs);
    lastMs = Math.max(lastMs, atMs);
    if (kind === "watching" && !observation.reloaded) {
      readMs.set(listName, atMs);
      wallets.add(listName);
    } else if (kind === "marketConfig") {
      check(listName, atMs);
      readMs.delete(listName);
    }
    const name =
      kind === "accounts" && observation.told === undefined
        ? `${observation.wallet}/${observation.pdaIndex}`
        : kind === "prices" && !observation.live
          ? "prices"
          : null;
    if (name === null || strangers.has(name.split("/")[0]!)) continue;
    check(name, atMs);
    readMs.set(name, atMs);
    wallets.add(name);
  }
  for (const name of wallets) check(name, lastMs);
  return findings;
}

/** True if an alert about missing data of a wallet (null: of anything) fires at a time of the daemon's clock. */
function standing(changes: readonly Change[], atMs: number, wallet: string | null): boolean {
  const alerts = new Map<number, Change>();
  for (const change of changes) if (change.atMs <= atMs) alerts.set(change.alertId, change);
  return [...alerts.values()].some(
    ({ kind, alert }) =>
      kind !== "ended" &&
      (wallet === null ||
        alert.subject === wallet ||
        alert.subject === "exchange" ||
        /\d+ of \d+ wallets/.test(alert.summary)),
  );
}
