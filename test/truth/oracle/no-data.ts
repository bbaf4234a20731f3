/**
 * No-data alerts: nothing that was answered is reported as missing, a cause that is named was there, what is not read for a minute
 * is reported, and no outage is reported as over while it lasts.
 */
import { noDataRule, unreachableRule } from "../../../src/domain/alerts/built-in.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import { isWhale } from "../names.ts";
import type { Outcome } from "../scenario.ts";
import type { FaultKind } from "../weather.ts";
import type { WalletPlan } from "../world.ts";
import { Answers } from "./answers.ts";
import { type Finding, timeOf } from "./finding.ts";
import { isTold, type Life, livesOf } from "./lives.ts";
import { unnamedBeside } from "./no-data-beside.ts";
import { Causes } from "./no-data-causes.ts";
import { earlyProblems, windowMs } from "./no-data-early.ts";
import { endProblems, figureProblems } from "./no-data-figures.ts";
import { seldomRead } from "./no-data-now-and-then.ts";
import { type Row, rowsOf } from "./no-data-rows.ts";
import { type FiringRow, firingIn, rowProblems, unnamed, worseProblems } from "./no-data-words.ts";
import { assetRules, Readings, type ReadMs } from "./readings.ts";
import { accountsBorneMs } from "./stretched.ts";
import { Terms } from "./terms.ts";
import { timeIn } from "./times.ts";

type Change = Life["changes"][number];

/** `2026-11-21 `. */
const dateLength = 11;
const withinMs = 60_000;
const slackMs = 2_000;
const silent = /no read of the exchange succeeds/;
/** The end of an alert about what streams show as well: the accounts of one wallet, with or without prices, and nothing else. */
const streamedAgain =
  /^(?:Read again|The exchange answers again): (prices; )?positions and balances of wallet (\w+), after/;
/** Data that are read every few seconds; others may have been read before requests were limited. */
const readOften = /prices|positions and balances/;
/** The end of an alert where rules do without what is not read: it says nothing of the exchange. */
const notNeeded = /^No rule needs it any more: /;
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

/** Data that come now and then: its lines tell when they were read last. */
const again = /No data now and then\b.*, read again since /;

export function judgeNoData(outcome: Outcome): readonly Finding[] {
  const { log, simulator, plan } = outcome;
  const answers = new Answers(log, simulator.world);
  const terms = new Terms(outcome.sections);
  const beginMs = log.entries[0]!.atMs;
  const findings: Finding[] = [];
  const lives = livesOf(log);
  const names = new Set(plan.world.wallets.map(({ name }) => name));
  const isNoData = ({ alert: { rule } }: Change) => rule === noDataRule || rule === unreachableRule;
  const changes = lives.flatMap(({ number, changes }) =>
    changes.filter(isNoData).map((one) => ({ ...one, life: number })),
  );
  const strangers = new Set(plan.world.wallets.filter(isWhale).map(({ name }) => name));
  const guarded = new Set([...names].filter((one) => !strangers.has(one)));
  const inForce = (kind: FaultKind, fromMs: number, toMs: number) =>
    plan.troubles.faults.filter(
      (one) => one.kind === kind && beginMs + one.fromMs <= toMs && beginMs + one.toMs >= fromMs,
    );
  const indices = new Map(plan.world.wallets.map(({ name, pdaIndices }) => [name, pdaIndices]));
  /** True if its end tells of what streams show alone, and all was seen since a time: those that open show it unasked. */
  const isStreamedAgain = (
    { alert, committedMs, life }: (typeof changes)[number],
    sinceMs: number,
  ): boolean => {
    const [again, prices, wallet = ""] = streamedAgain.exec(alert.summary) ?? [];
    if (again === undefined) return false;
    const { told } = lives.find(({ number }) => number === life)!;
    const arePricesSeen = told
      .filter(isTold)
      .some(
        ({ observation: { kind }, committedMs: ms }) =>
          kind === "prices" && Math.abs(committedMs - ms) <= slackMs,
      );
    if (prices !== undefined && !arePricesSeen) return false;
    const fromMs = Math.max(sinceMs, committedMs - 3 * terms.accountsMs);
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
      if (alert.ending !== "recovered" || notNeeded.test(alert.summary)) continue;
      const still = [
        ...inForce("outage", committedMs, committedMs),
        ...inForce("limited", committedMs, committedMs).filter(
          ({ fromMs }) =>
            readOften.test(alert.summary) &&
            !isStreamedAgain(change, beginMs + fromMs) &&
            !isAnswered(committedMs),
        ),
      ];
      for (const one of still)
        if (beginMs + one.fromMs < committedMs - settledMs && beginMs + one.toMs > committedMs + slackMs)
          report("false resolve", `nothing: ${JSON.stringify(one)} lasts`, alert.summary);
      continue;
    }
    const before = changes.findLast(
      (one) => one.alertId === change.alertId && one.atMs < change.atMs && one.kind !== "reminder",
    );
    // Single answers do not end a silence: nothing is known by which it would be less.
    if (kind === "fell" && before !== undefined && silent.test(before.alert.summary))
      for (const one of inForce("outage", committedMs, committedMs))
        if (one.kind === "outage" && one.streams && beginMs + one.fromMs < committedMs - settledMs)
          report("false resolve", `nothing less: ${JSON.stringify(one)} lasts`, alert.summary);
    if (!["fired", "rose", "worsened"].includes(kind)) continue;
    const quietFromMs = committedMs - quietMs;
    if (silent.test(alert.summary) && answers.anyWithin(change.life, quietFromMs, committedMs - slackMs))
      report(
        "false no-data",
        `another cause: there were answers from ${timeOf(quietFromMs)} on`,
        alert.summary,
      );
    const rows = rowsOf(change, names);
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
      if (!alerting.has(schedule))
        report("false no-data", `nothing of ${schedule}: no rule that has to judge reads it`, text);
      // Their inboxes are judged by the rules about notifications, as everybody's.
      if (schedule === "traderState" && wallets.some((wallet) => strangers.has(wallet)))
        report("false no-data", "nothing: nobody is woken for the positions of a stranger", text);
      const stoodMs = outcome.log
        .of("stalled")
        .filter((one) => one.atMs <= committedMs && one.atMs + one.ms >= committedMs - causeMs)
        .reduce((sum, { ms }) => sum + ms, 0);
      for (const [words, fault] of causes)
        if (
          words.test(text) &&
          inForce(fault, committedMs - causeMs - stoodMs, committedMs).length === 0 &&
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
  const causesOf = new Causes(log, simulator.world);
  const isCeilingLow = ceilingIsLow(outcome, terms);
  const borneMs = accountsBorneMs(log, terms);
  const silence: Silence = {
    ...{ changes, strangers, terms },
    // A low ceiling stretches their schedules.
    histories: isCeilingLow ? [] : plan.world.wallets.filter((one) => !isWhale(one)).flatMap(historiesOf),
  };
  const keyed = new Set(
    plan.world.wallets.filter((one) => !isWhale(one) && !one.watchOnly).map((one) => one.name),
  );
  const all = lives.flatMap((one) => one.changes);
  const owed = new Set(
    log.of("committed").flatMap((entry) => entry.changes.deliveryItems.map(({ changeId }) => changeId)),
  );
  /** The newest texts that anybody is owed word of, by alert. */
  const lastTold = new Map<number, { readonly summary: string; readonly atMs: number }>();
  const named = new Map<number, Map<string, Named>>();
  const byLife = new Map<number, Readings>();
  const traded = new Set(plan.world.accounts.flatMap(({ symbols }) => symbols));
  for (const life of lives) {
    const readings = new Readings(life, indices);
    byLife.set(life.number, readings);
    findings.push(...unreported(life, silence));
    if (!isCeilingLow)
      findings.push(
        ...seldomRead(life, {
          ...{ readings, borneMs },
          wallets: [...guarded],
          isSaid: (wallet, fromMs, toMs) => standsWithin(changes, fromMs, toMs, wallet),
        }),
      );
    const gaps = life.told.filter((one) => !isTold(one));
    for (const change of changes) {
      const { kind, alert, alertId, atMs, committedMs, past } = change;
      const before = lastTold.get(alertId);
      const isOwed = owed.has(change.id);
      if (isOwed) lastTold.set(alertId, { summary: alert.summary, atMs });
      const isRecorded = !gaps.some(({ fromMs, toMs }) => fromMs <= atMs && atMs <= toMs);
      if (change.life === life.number && stating.has(kind) && !again.test(alert.summary)) {
        const all = named.get(alertId) ?? new Map<string, Named>();
        named.set(alertId, all);
        // A shorter list says that the rest was read, or that no rule lacks it.
        if (isOwed && !isShort(change)) all.clear();
        for (const row of rowsOf(change, names))
          for (const one of namedBy(row, strangers))
            all.set(`${one.schedule} ${one.owner}`, {
              ...{ ...one, life: life.number, atMs },
              readMs: latest(readings.at(one.schedule, one.owner, atMs)),
            });
      }
      if (change.life !== life.number || !isRecorded || past) continue;
      const aheadMs = atMs - committedMs;
      const report = (check: Finding["check"], problems: readonly string[]) => {
        for (const expected of problems)
          findings.push({
            ...{ check, rule: alert.rule, subject: alert.subject, atMs: committedMs, expected },
            seen: `alert ${alert.id} ${kind}: ${alert.summary}`,
          });
      };
      const isOfSources = alert.labels.source !== "configuration";
      if (isOfSources && (stating.has(kind) || kind === "ended")) report("figures", rowProblems(change));
      if (kind === "worsened" && isOfSources && isOwed)
        report(
          "few",
          worseProblems(alert.summary, before?.summary ?? "", () =>
            timesBetween(before?.atMs ?? atMs, atMs, terms.timezone),
          ),
        );
      for (const one of kind === "ended" ? firingIn(change.details) : [])
        if (!firesAt(all, one, atMs)) report("figures", [`an alert that fires, not "${one.text}"`]);
      if (kind === "ended" && alert.ending === "recovered") {
        report("figures", endProblems(change, terms.timezone));
        report("figures", unnamedBeside(change, changes, guarded, readings));
        const others = changes.filter((one) => one.alertId !== alertId);
        // An alert of several wallets that lists it too goes on.
        const listed = [...(named.get(alertId)?.values() ?? [])].filter(
          ({ owner }) => !standing(others, atMs, names.has(owner) ? owner : null),
        );
        report("false resolve", unreadAtEnd(change, listed, { life: life.number, byLife, traded, terms }));
      }
      if (!stating.has(kind)) continue;
      const rows = rowsOf(change, names);
      const known = { readings, timezone: terms.timezone, watched: names.size };
      report("figures", figureProblems(change, rows, known));
      // Nobody knows what was read in a time of which there are no records.
      const isWhole = !gaps.some(({ fromMs, toMs }) => fromMs <= atMs && toMs > atMs - windowMs);
      if (kind === "fired" && isOfSources && isWhole)
        report("false no-data", earlyProblems(rows, readings, terms, atMs));
      // Another alert may name the rest.
      const isAlone = !changes.some(
        (one) => one.alertId !== alertId && firesAt(changes, { id: one.alertId, severity: null }, atMs),
      );
      if (isOfSources && !isShort(change) && !isCeilingLow && isAlone) {
        const about = names.has(alert.subject) ? [alert.subject] : rows.flatMap(({ wallets }) => wallets);
        const own = [...new Set(about)].filter((wallet) => keyed.has(wallet));
        report("no data", unnamed(rows, own, readings, terms, atMs));
      }
      for (const row of rows) {
        const sinceMs = oldestMs(readings, row, atMs);
        if (sinceMs === undefined) continue;
        const told = { life: life.number, atMs: committedMs, sinceMs: sinceMs - aheadMs, aheadMs };
        report("false no-data", causesOf.problems(row, { ...told, timezone: terms.timezone }, isCeilingLow));
      }
    }
  }
  return findings;
}

/** Data that an alert named as missing. */
interface Named {
  readonly schedule: string;
  readonly words: string;
  /** A wallet, a market, or empty. */
  readonly owner: string;
  /** The last time that it was named, by the daemon's clock, ms. */
  readonly atMs: number;
  /** The reading of which it was then, ms; null: there was none. */
  readonly readMs: number | null;
  readonly life: number;
}

/** The parts of a source are read at different times: so many intervals may lie between the oldest one and the others. */
const partsIntervals = 3;

const latest = (times: readonly ReadMs[]): number | null =>
  times.reduce<number | null>((last, ms) => (typeof ms === "number" ? Math.max(last ?? ms, ms) : last), null);

/** Sources that a row names and that are always needed. @param strangers wallets that only rules about whales read */
function namedBy(
  { schedule, words, wallets, symbols, text }: Row,
  strangers: ReadonlySet<string>,
): readonly Pick<Named, "schedule" | "owner" | "words">[] {
  if (!alerting.has(schedule) || ofAssets.test(text)) return [];
  const owners = wallets.length > 0 ? wallets : symbols.length > 0 ? symbols : [""];
  return owners.filter((owner) => !strangers.has(owner)).map((owner) => ({ schedule, owner, words }));
}

/** True if it lists only some of what is missing. */
const isShort = ({ details }: Change): boolean =>
  details.some(([name, text]) => name === "Not read" && /^\d+ more$/.test(text));

interface AtEnd {
  readonly life: number;
  readonly byLife: ReadonlyMap<number, Readings>;
  /** Markets in which wallets trade: where streams told of each of them, prices are read. */
  readonly traded: ReadonlySet<string>;
  readonly terms: Terms;
}

/** Data that an alert named, and that were not read since, at its end. */
function unreadAtEnd(
  { alert, atMs }: Change,
  named: readonly Named[],
  { life, byLife, traded, terms }: AtEnd,
): readonly string[] {
  if (named.length > 0 && notNeeded.test(alert.summary))
    return [
      `another end: rules need ${named.map(({ schedule, owner }) => `${schedule} ${owner}`).join(", ")}`,
    ];
  return named.flatMap((one) => {
    // Rules may do without it by then: nothing is said of it.
    if (!alert.summary.includes(one.words) && !/ more kinds? of data/.test(alert.summary)) return [];
    const isRead = (owner: string): boolean => {
      const times = [...byLife].flatMap(([number, readings]) => {
        if (number < one.life) return [];
        // A life that is over counts with everything that it read.
        const found = readings.at(one.schedule, owner, number === life ? atMs : Number.POSITIVE_INFINITY);
        return found.map((ms) => (number > one.life && typeof ms === "number" ? one.atMs : ms));
      });
      if (times.includes(undefined)) return true;
      // A source in parts is whole when the missing part was read since, and the others not long before.
      const leastMs = one.atMs - partsIntervals * terms.everyMs(one.schedule);
      const ms = latest(times);
      return ms !== null && (ms >= one.atMs || (ms >= leastMs && ms > (one.readMs ?? 0)));
    };
    if (isRead(one.owner)) return [];
    if (one.schedule === "markets" && one.owner === "" && [...traded].every(isRead)) return [];
    return [`nothing: ${one.schedule} ${one.owner} was named at ${timeOf(one.atMs)}, and not read since`];
  });
}

/** All seconds from one time to another, as texts have them without their date. */
function timesBetween(fromMs: number, toMs: number, timezone: string): ReadonlySet<string> {
  const times = new Set<string>();
  for (let ms = fromMs - slackMs; ms <= toMs; ms += 1_000) times.add(timeIn(timezone, ms).slice(dateLength));
  return times;
}

/** True if an alert fires at a time of the daemon's clock, at that severity (null: any), or did in the same moment. */
function firesAt(
  changes: readonly Change[],
  { id, severity }: Pick<FiringRow, "id"> & { readonly severity: string | null },
  atMs: number,
): boolean {
  const own = changes.filter(({ alertId }) => alertId === id);
  const last = own.findLast((one) => one.atMs < atMs);
  const now = own.filter((one) => one.atMs === atMs);
  return [...(last ? [last] : []), ...now].some(
    (one) => one.kind !== "ended" && (severity === null || one.alert.severity === severity),
  );
}

/** Steps of an alert whose text tells of what is missing as it is. */
const stating: ReadonlySet<string> = new Set(["fired", "rose", "fell", "worsened", "reminder"]);

/** The time since which something of a row was not read, by the daemon's clock, ms; undefined: not known. */
function oldestMs(
  readings: Readings,
  { words, schedule, wallets, symbols }: Row,
  atMs: number,
): number | undefined {
  const owners = wallets.length > 0 ? wallets : symbols.length > 0 ? symbols : [""];
  const times =
    words === assetRules
      ? readings.assetRulesAt(atMs)
      : owners.flatMap((owner) => readings.at(schedule, owner, atMs));
  const { startedMs } = readings;
  if (times.includes(undefined) || startedMs === undefined) return undefined;
  return Math.min(...times.map((ms) => ms ?? startedMs));
}

/** Requests a second that are sent soon after a start where nothing limits them: the rate begins at 20 and grows as it is used. */
const usualCeiling = 40;
/** A ceiling of so many times what is needed lets nothing wait. */
const plenty = 3;

/** True if requests wait for their turn under the ceiling, so that schedules are stretched and reads are given up. */
function ceilingIsLow({ plan }: Outcome, { ceiling }: Terms): boolean {
  const { wallets, requestsPerSecond } = plan.world;
  const indices = wallets.reduce((sum, { pdaIndices }) => sum + pdaIndices.length, 0);
  const neededPerSecond = 1 + 0.5 * indices + 0.4 * wallets.length;
  const most = Math.min(ceiling ?? usualCeiling, requestsPerSecond ?? usualCeiling);
  return most < plenty * neededPerSecond;
}

/** Schedules that live rules read whose data may not be missing unsaid. */
const alerting: ReadonlySet<string> = new Set([
  ...["traderState", "markets", "marketConfig", "collateral", "liquidations", "notifications"],
]);

/** The list of markets: nothing that rests on margins can be judged before it was read once. */
const listName = "markets";

function historiesOf({ name, watchOnly, pdaIndices }: WalletPlan): readonly string[] {
  return [
    `collateral ${name}/`,
    ...pdaIndices.map((index) => `liquidations ${name}/${index}`),
    ...(watchOnly ? [] : [`notifications ${name}/`]),
  ];
}

interface Silence {
  readonly changes: readonly Change[];
  /** Wallets of which nobody is told that they are not seen. */
  readonly strangers: ReadonlySet<string>;
  /** Names of the histories and inboxes that critical rules rest on, as `historyOf` has them. */
  readonly histories: readonly string[];
  readonly terms: Terms;
}

/** While data are missing, the alert about them is looked for so often, ms. */
const againMs = 10_000;
/** Data of a history or an inbox are too old after so many intervals, and that is reported within some time, ms. */
const staleIntervals = 3;
const reportedMs = 30_000;

/**
 * Accounts and prices that were not read for a minute, histories and inboxes that were not read for longer than rules bear, and a list
 * of markets that was not read in the first minute, while nothing was said of it.
 */
function unreported(
  { told, number }: Life,
  { changes, strangers, histories, terms }: Silence,
): readonly Finding[] {
  const findings: Finding[] = [];
  const readMs = new Map<string, number>();
  const wallets = new Set<string>();
  const known = new Set(histories);
  const mostOf = (name: string): number =>
    slackMs + (known.has(name) ? reportedMs + staleIntervals * terms.everyMs(sourceOf(name)) : withinMs);
  const check = (name: string, untilMs: number): void => {
    const sinceMs = readMs.get(name);
    const mostMs = mostOf(name);
    if (sinceMs === undefined || untilMs - sinceMs < mostMs) return;
    const isOfAll = name === "prices" || name === listName;
    const firstMs = sinceMs + mostMs;
    const times = [firstMs, Math.max(firstMs, untilMs - slackMs)];
    for (let ms = firstMs + againMs; ms < untilMs - slackMs; ms += againMs) times.push(ms);
    const dueMs = times
      .sort((a, b) => a - b)
      .find((ms) => !standing(changes, ms, isOfAll ? null : ownerOf(name)));
    if (dueMs === undefined) return;
    findings.push({
      ...{ check: "no data", rule: noDataRule, subject: name, atMs: dueMs },
      expected: `word of it: ${name === listName ? "not read since" : "last read at"} ${new Date(sinceMs).toISOString()}`,
      seen: `nothing in life ${number}, by the daemon's clock`,
    });
  };
  let lastMs = told.find(isTold)?.observation.atMs ?? 0;
  let clearedMs = Number.NEGATIVE_INFINITY;
  for (const one of told) {
    const { observation } = one;
    if (observation === null) {
      // Nobody knows what was read in a gap.
      readMs.clear();
      clearedMs = one.toMs;
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
      for (const name of histories) {
        readMs.set(name, atMs);
        wallets.add(name);
      }
    } else if (kind === "marketConfig") {
      check(listName, atMs);
      readMs.delete(listName);
    }
    const name =
      kind === "accounts" && observation.told === undefined
        ? `${observation.wallet}/${observation.pdaIndex}`
        : kind === "prices" && !observation.live
          ? "prices"
          : historyOf(observation, known);
    if (name === null || strangers.has(ownerOf(name))) continue;
    const { wholeMs = atMs } = observation.kind === "events" ? observation : {};
    if (wholeMs === null) continue;
    check(name, atMs);
    readMs.set(name, Math.max(wholeMs, clearedMs, readMs.get(name) ?? wholeMs));
    wallets.add(name);
  }
  for (const name of wallets) check(name, lastMs);
  return findings;
}

/** `collateral w1/`, of one PDA index `liquidations w1/0`; null: it is none that is looked for. */
function historyOf(observation: Observation, known: ReadonlySet<string>): string | null {
  if (observation.kind !== "events" || observation.live || observation.past) return null;
  const name = `${observation.source} ${observation.wallet}/${observation.pdaIndex ?? ""}`;
  return known.has(name) ? name : null;
}

const sourceOf = (name: string): string => name.split(" ")[0]!;
const ownerOf = (name: string): string => name.replace(/^\w+ /, "").split("/")[0]!;

/** True if `standing` at some time between two. */
function standsWithin(changes: readonly Change[], fromMs: number, toMs: number, wallet: string): boolean {
  const times = changes.flatMap(({ atMs }) => (atMs > fromMs && atMs <= toMs + slackMs ? [atMs] : []));
  return [fromMs, toMs + slackMs, ...times].some((ms) => standing(changes, ms, wallet));
}

/** True if an alert about missing data of a wallet (null: of anything) fires at a time of the daemon's clock. */
function standing(changes: readonly Change[], atMs: number, wallet: string | null): boolean {
  const alerts = new Map<number, Change>();
  // One that ends just then stood until then.
  for (const change of changes)
    if (change.atMs <= atMs - (change.kind === "ended" ? slackMs : 0)) alerts.set(change.alertId, change);
  return [...alerts.values()].some(
    ({ kind, alert }) =>
      kind !== "ended" &&
      (wallet === null ||
        alert.subject === wallet ||
        alert.subject === "exchange" ||
        /\d+ of \d+ wallets/.test(alert.summary)),
  );
}
