/**
 * Completeness of the inputs: an account state or a price that a stream frame showed is observed within a second, and while
 * nothing stands between the daemon and the exchange whatever is read on a schedule is read every two poll intervals.
 */
import { noDataRule } from "../../../src/domain/alerts/built-in.ts";
import type { Observation } from "../../../src/domain/observation.ts";
import type { Source } from "../../../src/domain/sources.ts";
import { isWhale } from "../names.ts";
import type { Outcome } from "../scenario.ts";
import { Clear } from "./clear.ts";
import type { Finding } from "./finding.ts";
import { isTold, type Life, livesOf } from "./lives.ts";
import { Terms } from "./terms.ts";

/** From the arrival of a frame to the commit of its observation, ms. */
const shownMs = 1_000;
/** The same of a notification: its account may have to be looked up first. */
const notifiedMs = 2_500;
/** A change waits so long for one of another account that is missing, ms. */
const heldMs = 5_000;
/** Beside two poll intervals, ms: the way there and back, and what else has its turn. */
const slackMs = 3_000;
/** After a trouble requests and streams need so long to be as before, ms. */
const settleMs = 60_000;
/** The same for histories, which are tried again within two minutes after failures. */
const historiesSettleMs = 125_000;
/** A subscription is changed for another within this, ms. */
const changedMs = 5_000;

/** An account is believed to be gone, with all that it had, after so many answers. */
const emptyAnswers = 3;

/** A state of one account, or a price of one market, that has to be observed. */
interface Shown {
  /** The time by which it is observed, ms. */
  readonly dueMs: number;
  readonly what: string;
  /** Sequence of the account, or second of the price. */
  readonly version: number;
  /** Null: it is no price. */
  readonly mark: number | null;
  readonly atMs: number;
}

interface Version {
  readonly version: number;
  readonly mark: number | null;
  /** It is a price of a poll. */
  readonly polled: boolean;
  readonly atMs: number;
}

/** A mark in a frame. */
type Mark = Pick<Shown, "mark" | "atMs">;

export function judgeObtained(outcome: Outcome): readonly Finding[] {
  const { log, simulator, endMs } = outcome;
  const clear = new Clear(outcome);
  const names = new Map(
    [...simulator.world.wallets.values()].map(({ authority, name }) => [authority, name]),
  );
  const findings: Finding[] = [];
  const ends = lifeEndsOf(outcome);
  const lives = livesOf(log);
  const scheduled = scheduledIn(outcome, lives);
  for (const life of lives) {
    const lastMs = ends.get(life.number) ?? endMs;
    const observed = observedIn(life);
    const all = shownTo(outcome, life, observed, names);
    const marks = Map.groupBy(all, ({ what }) => what);
    for (const shown of all) {
      const { what, version, mark, atMs, dueMs } = shown;
      if (dueMs >= lastMs || !clear.works(atMs, dueMs)) continue;
      if (isObserved(shown, observed.get(what) ?? [], marks.get(what)!)) continue;
      findings.push({
        ...{ check: "completeness", rule: "stream", subject: what, atMs: dueMs },
        expected: `an observation of ${version}${mark === null ? "" : ` with the mark ${mark}`}, which a frame showed at ${new Date(atMs).toISOString()}`,
        seen: `nothing within ${dueMs - atMs} ms in life ${life.number}`,
      });
    }
    findings.push(...unread(outcome, life, lastMs, clear, scheduled));
    findings.push(...untold(outcome, life, lastMs, clear, names));
  }
  return findings;
}

/** @param marks of all frames, if it is a price */
function isObserved(
  { version, mark, atMs, dueMs }: Shown,
  observed: readonly Version[],
  marks: readonly Mark[],
): boolean {
  if (mark === null) return observed.some((one) => one.version >= version && one.atMs <= dueMs);
  // A price that was known before is not told again.
  const before = observed.findLast((one) => one.atMs <= atMs);
  if (before?.mark === mark && before.version >= version) return true;
  const later = marks.filter((one) => one.atMs >= atMs);
  return observed.some(
    (one) =>
      one.atMs >= atMs &&
      one.atMs <= dueMs &&
      // Seconds are whole: within one a poll may be of any time.
      (one.version > version ||
        (one.polled && one.version === version) ||
        later.some((other) => other.atMs <= one.atMs && other.mark === one.mark)),
  );
}

/** True wall time of the end of each life that was killed or told to stop, ms. */
function lifeEndsOf({ log }: Outcome): ReadonlyMap<number, number> {
  return new Map(
    log
      .of("life")
      .filter(({ text }) => text === "is killed" || text === "is told to stop")
      .map(({ life, atMs }) => [life, atMs]),
  );
}

/** Accounts by name with their sequences, markets by symbol with their seconds and marks, in the order of their commits. */
function observedIn({ told }: Life): ReadonlyMap<string, readonly Version[]> {
  const found = new Map<string, Version[]>();
  const note = (
    what: string,
    { atMs, version, mark = null, polled = false }: Partial<Version> & Pick<Version, "atMs" | "version">,
  ): void => {
    const all = found.get(what) ?? [];
    found.set(what, all);
    all.push({ version, mark, polled, atMs });
  };
  for (const { observation, committedMs } of told.filter(isTold)) {
    if (observation.kind === "accounts")
      for (const { subaccount, sequence } of observation.subaccounts)
        note(`${observation.wallet}/${observation.pdaIndex}.${subaccount}`, {
          version: sequence,
          atMs: committedMs,
        });
    else if (observation.kind === "prices")
      for (const { symbol, exchangeMs, markPriceUsd } of observation.markets)
        note(symbol, {
          version: Math.floor(exchangeMs / 1_000),
          mark: markPriceUsd,
          polled: observation.live !== true,
          atMs: committedMs,
        });
  }
  return found;
}

/** States and prices in frames to a life that have to be observed: whole states, and changes that follow on from what is known. */
function shownTo(
  { log, plan }: Outcome,
  life: Life,
  observed: ReadonlyMap<string, readonly Version[]>,
  names: ReadonlyMap<string, string>,
): readonly Shown[] {
  const found: Shown[] = [];
  /** Newest version of each that the daemon has to have. */
  const newest = new Map<string, number>();
  const indices = new Map(plan.world.wallets.map(({ name, pdaIndices }) => [name, pdaIndices]));
  const versionAt = (what: string, atMs: number): number =>
    Math.max(
      newest.get(what) ?? Number.NEGATIVE_INFINITY,
      ...(observed.get(what) ?? []).filter((one) => one.atMs <= atMs).map(({ version }) => version),
    );
  const show = (
    what: string,
    version: number,
    atMs: number,
    { heldMs = 0, mark = null as number | null, isDue = true },
  ): void => {
    newest.set(what, version);
    const dueMs = isDue ? atMs + shownMs + heldMs : Number.POSITIVE_INFINITY;
    found.push({ what, version, mark, atMs, dueMs });
  };
  const lists = life.told
    .filter(isTold)
    .flatMap(({ observation: one, committedMs }) =>
      one.kind === "marketConfig"
        ? [{ atMs: committedMs, symbols: new Set(one.markets.map(({ symbol }) => symbol)) }]
        : [],
    );
  /** A row that cannot be read leaves a market out of a list; streams of one that two lists leave out are over. */
  const isListed = (symbol: string, atMs: number): boolean => {
    // Nothing can be made of a price before the first list.
    if (lists.every((one) => one.atMs > atMs)) return false;
    const known = lists.filter((one) => one.atMs <= atMs + shownMs).slice(-2);
    return known.every(({ symbols }) => symbols.has(symbol));
  };
  /** Changes that do not follow on from what is known, by wallet and PDA index: others wait for them for a while. */
  const holes = new Map<string, readonly { readonly what: string; readonly version: number }[]>();
  const garbledMs = log.of("garbledFrame").flatMap((one) => (one.life === life.number ? [one.atMs] : []));
  for (const { life: number, text, atMs } of log.of("frame")) {
    if (number !== life.number) continue;
    const frame = JSON.parse(text);
    // One that cannot be understood may have the channel of prices changed for another: then a price may be taken, and need not be.
    const isDue = !garbledMs.some((ms) => ms <= atMs && atMs - ms < changedMs);
    if (frame.channel === "traderState") {
      const wallet = names.get(frame.authority) ?? "";
      const { traderPdaIndex: index } = frame;
      if (!indices.get(wallet)?.includes(index)) continue;
      const rows: readonly { subaccountIndex: number; sequence: number }[] =
        frame.messageType === "snapshot" ? frame.subaccounts : frame.deltas;
      const nameOf = (row: { subaccountIndex: number }) => `${wallet}/${index}.${row.subaccountIndex}`;
      const knownOf = (row: { subaccountIndex: number }) => versionAt(nameOf(row), atMs);
      const family = `${wallet}/${index}`;
      const open = (holes.get(family) ?? []).filter((one) => versionAt(one.what, atMs) < one.version);
      holes.set(family, open);
      const jumps = rows.filter((row) => Number(row.sequence) > knownOf(row) + 1);
      if (frame.messageType === "delta" && jumps.length > 0) {
        const missing = jumps.map((row) => ({ what: nameOf(row), version: Number(row.sequence) }));
        holes.set(family, [...open, ...missing]);
        continue;
      }
      for (const row of rows)
        if (Number(row.sequence) > Math.max(0, knownOf(row)))
          show(nameOf(row), Number(row.sequence), atMs, { heldMs: open.length > 0 ? heldMs : 0 });
    } else if (frame.channel !== "notification") {
      const rows: readonly { symbol: string; timestamp: number | string; markPrice: number }[] =
        frame.stats ?? [frame];
      for (const { symbol, timestamp, markPrice } of rows)
        if (isListed(symbol, atMs) && Number(timestamp) >= versionAt(symbol, atMs))
          show(symbol, Number(timestamp), atMs, { mark: Number(markPrice), isDue });
    }
  }
  return found;
}

/** Notifications about accounts that frames told of, and that were not observed soon. */
function untold(
  { log, plan }: Outcome,
  life: Life,
  lastMs: number,
  clear: Clear,
  names: ReadonlyMap<string, string>,
): readonly Finding[] {
  const indices = new Map(plan.world.wallets.map(({ name, pdaIndices }) => [name, pdaIndices]));
  const keys = new Map(
    log
      .of("ledger")
      .flatMap(({ notifications }) =>
        notifications.map(({ wallet, id, key }) => [`${wallet} ${id}`, key] as const),
      ),
  );
  const observedMs = new Map<string, number>();
  /** Since when each account is known, and the markets are. */
  const knownMs = new Map<string, number>();
  const note = (all: Map<string, number>, name: string, ms: number): void => {
    if (!all.has(name)) all.set(name, ms);
  };
  for (const { observation: one, committedMs } of life.told.filter(isTold)) {
    if (one.kind === "marketConfig") note(knownMs, "markets", committedMs);
    else if (one.kind === "accounts")
      for (const { subaccount } of one.subaccounts)
        note(knownMs, `${one.wallet}/${one.pdaIndex}.${subaccount}`, committedMs);
    else if (one.kind === "events")
      for (const { kind, key } of one.events) if (kind === "notification") note(observedMs, key, committedMs);
  }
  const isKnown = (name: string, atMs: number): boolean =>
    (knownMs.get(name) ?? Number.POSITIVE_INFINITY) < atMs;
  return log.of("frame").flatMap(({ life: number, text, atMs }): readonly Finding[] => {
    if (number !== life.number || !text.startsWith('{"channel":"notification"')) return [];
    const { payload, authority, traderPdaIndex } = JSON.parse(text);
    const wallet = names.get(authority) ?? "";
    const key = keys.get(`${wallet} ${payload.id}`);
    const dueMs = atMs + notifiedMs;
    if (payload.source !== "event" || payload.data === null || key === undefined) return [];
    if (!indices.get(wallet)?.includes(traderPdaIndex) || dueMs >= lastMs || !clear.works(atMs, dueMs))
      return [];
    if (
      !isKnown("markets", atMs) ||
      ![...knownMs.keys()].some(
        (name) => name.startsWith(`${wallet}/${traderPdaIndex}.`) && isKnown(name, atMs),
      )
    )
      return [];
    if ((observedMs.get(key) ?? Number.POSITIVE_INFINITY) <= dueMs) return [];
    return [
      {
        ...{ check: "completeness", rule: "stream", subject: wallet, atMs: dueMs },
        expected: `an observation of ${key}, which a frame showed at ${new Date(atMs).toISOString()}`,
        seen: `nothing within ${notifiedMs} ms in life ${life.number}`,
      },
    ];
  });
}

const firstSources: ReadonlySet<Source> = new Set(["traderState", "markets"]);
/** The part of its ceiling that the daemon asks where it has to let something wait. */
const fullShare = 0.9;
/** A ceiling of so many times what is needed stretches no schedule. */
const plenty = 3;

/** About what the schedules of these wallets need, requests a second. */
function neededPerSecond(wallets: Outcome["plan"]["world"]["wallets"]): number {
  const indices = wallets.reduce((sum, { pdaIndices }) => sum + pdaIndices.length, 0);
  return 1 + 0.5 * indices + 0.4 * wallets.length;
}

/**
 * All that was not read for more than two intervals, or at all, though nothing was in the way for that long.
 * @param scheduled what each life reads
 */
function unread(
  outcome: Outcome,
  life: Life,
  lastMs: number,
  clear: Clear,
  scheduled: readonly Reading[],
): readonly Finding[] {
  const { sections, log } = outcome;
  const terms = new Terms(sections);
  const findings: Finding[] = [];
  const refusedMs = log.of("asked").flatMap(({ status, atMs }) => (status === 429 ? [atMs] : []));
  const askedMs = log.of("asked").map(({ atMs }) => atMs);
  const reloadedMs = log
    .of("life")
    .flatMap(({ text, atMs }) => (text.startsWith("is reloaded") ? [atMs] : []));
  const { wallets, requestsPerSecond } = outcome.plan.world;
  const ceiling = Math.min(
    terms.ceiling ?? Number.POSITIVE_INFINITY,
    requestsPerSecond ?? Number.POSITIVE_INFINITY,
  );
  const isCeilingLow = ceiling < plenty * neededPerSecond(wallets);
  /** The part of the ceiling that was used. */
  const usedShare = (fromMs: number, toMs: number): number => {
    const count = askedMs.filter((ms) => fromMs < ms && ms <= toMs).length;
    return count / (((toMs - fromMs) / 1_000) * ceiling);
  };
  const readMs = new Map<string, number>();
  const readings = new Map<string, Reading>();
  const began = log.of("life").find((one) => one.life === life.number && one.text === "watches");
  for (const reading of began ? scheduled : []) {
    readMs.set(reading.name, began!.atMs);
    readings.set(reading.name, reading);
  }
  /** The last times at which an answer about the accounts of a wallet was not believed, ms. */
  const doubtedMs = new Map<string, number>();
  const check = ({ name, source, wallet }: Reading, toMs: number): void => {
    const fromMs = readMs.get(name);
    if (fromMs === undefined) return;
    const isDoubted = source === "traderState" && (doubtedMs.get(wallet!) ?? 0) > fromMs;
    const intervalsMs = (isDoubted ? 2 * emptyAnswers : 2) * terms.everyMs(source);
    const mostMs = intervalsMs + slackMs;
    const isFirst = firstSources.has(source);
    const beforeMs = isFirst ? settleMs : historiesSettleMs;
    const lengthMs = beforeMs + mostMs;
    let dueMs = clear.after(fromMs - beforeMs, lengthMs, wallet);
    // The exchange refuses some, and says for how long.
    for (const ms of refusedMs)
      if (dueMs !== null && ms >= dueMs - lengthMs && ms <= dueMs)
        dueMs = clear.after(ms + 1, lengthMs, wallet);
    // A ceiling stretches the schedules of histories first.
    if (isCeilingLow && !isFirst) return;
    if (dueMs === null || dueMs >= toMs) return;
    if (usedShare(fromMs, dueMs) >= fullShare) dueMs += intervalsMs;
    // Schedules begin anew.
    const { length } = reloadedMs.filter((ms) => ms >= fromMs && ms <= dueMs!);
    dueMs += length * slackMs;
    if (dueMs >= toMs) return;
    findings.push({
      ...{ check: "completeness", rule: noDataRule, subject: name, atMs: dueMs },
      expected: `a reading of ${source} within ${mostMs} ms, since nothing is in the way from ${new Date(dueMs - lengthMs).toISOString()} on`,
      seen: `none from ${new Date(fromMs).toISOString()} to ${new Date(toMs).toISOString()}`,
    });
  };
  const held = new Held(wallets.filter((one) => !isWhale(one)).map(({ name }) => name));
  for (const { observation, committedMs } of life.told.filter(isTold)) {
    const { kind } = observation;
    if (kind === "accounts") {
      const before = held.symbols();
      held.take(observation);
      const now = held.symbols();
      for (const source of marketSources) {
        for (const symbol of before) {
          const name = `${source} ${symbol}`;
          if (now.has(symbol)) continue;
          check({ name, source, wallet: null }, committedMs);
          readMs.delete(name);
        }
        for (const symbol of now) {
          const name = `${source} ${symbol}`;
          // A market whose funding was never settled has no rate.
          if (before.has(symbol) || source === "fundingRates") continue;
          readMs.set(name, committedMs);
          readings.set(name, { name, source, wallet: null });
        }
      }
    }
    if (kind === "failed" && observation.source === "traderState" && observation.reason === "bad-record")
      doubtedMs.set(observation.wallet!, committedMs);
    const reading = readingOf(observation);
    if (reading === null) continue;
    check(reading, committedMs);
    // A market in which nobody has a position need not be read.
    if (marketSources.includes(reading.source) && !held.symbols().has(reading.name.split(" ")[1]!)) continue;
    readMs.set(reading.name, committedMs);
    readings.set(reading.name, reading);
  }
  for (const reading of readings.values()) check(reading, lastMs);
  return findings;
}

/** Sources that are read market by market, of those in which somebody has a position. */
const sourceOfMarket = { depth: "orderbook", external: "candles", fundingRate: "fundingRates" } as const;
const marketSources: readonly Source[] = Object.values(sourceOfMarket);

/** The markets in which wallets have positions, as the daemon was told. */
class Held {
  readonly #wallets: readonly string[];
  readonly #byAccount = new Map<string, readonly string[]>();

  constructor(wallets: readonly string[]) {
    this.#wallets = wallets;
  }

  take({ wallet, pdaIndex, told, subaccounts }: Observation & { readonly kind: "accounts" }): void {
    if (!this.#wallets.includes(wallet)) return;
    const prefix = `${wallet}/${pdaIndex}.`;
    if (told === undefined)
      for (const name of [...this.#byAccount.keys()])
        if (name.startsWith(prefix)) this.#byAccount.delete(name);
    for (const { subaccount, positions } of subaccounts)
      this.#byAccount.set(
        `${prefix}${subaccount}`,
        [...positions.values()].map(({ symbol }) => symbol),
      );
  }

  symbols(): ReadonlySet<string> {
    return new Set([...this.#byAccount.values()].flat());
  }
}

/** Something that is read again and again. */
interface Reading {
  readonly name: string;
  /** Its schedule. */
  readonly source: Source;
  readonly wallet: string | null;
}

/** All that has to be read in each life: what every daemon reads, and the histories that were read in any. */
function scheduledIn({ plan }: Outcome, lives: readonly Life[]): readonly Reading[] {
  const all = new Map<string, Reading>();
  for (const { name: wallet, pdaIndices } of plan.world.wallets)
    for (const index of pdaIndices)
      all.set(`${wallet}/${index}`, { name: `${wallet}/${index}`, source: "traderState", wallet });
  all.set("prices", { name: "prices", source: "markets", wallet: null });
  for (const source of ["marketConfig", "exchangeStatus"] as const)
    all.set(source, { name: source, source, wallet: null });
  for (const { observation } of lives.flatMap(({ told }) => told).filter(isTold)) {
    const reading = readingOf(observation);
    if (reading !== null && !marketSources.includes(reading.source)) all.set(reading.name, reading);
  }
  return [...all.values()];
}

/** The reading of which an observation tells; null: it tells of none, or of one that is needed at times only. */
function readingOf(observation: Observation): Reading | null {
  switch (observation.kind) {
    case "accounts": {
      const { wallet, pdaIndex, told } = observation;
      return told === undefined ? { name: `${wallet}/${pdaIndex}`, source: "traderState", wallet } : null;
    }
    case "prices":
      return observation.live ? null : { name: "prices", source: "markets", wallet: null };
    case "events": {
      const { source, wallet, pdaIndex = "", live, past } = observation;
      if (live || past || wallet === null) return null;
      return { name: `${source} ${wallet}/${pdaIndex}`, source, wallet };
    }
    case "portfolio":
      return { name: `portfolio ${observation.wallet}`, source: "portfolio", wallet: observation.wallet };
    case "depth":
    case "external":
    case "fundingRate": {
      const source = sourceOfMarket[observation.kind];
      return { name: `${source} ${observation.symbol}`, source, wallet: null };
    }
    case "marketConfig":
    case "exchangeStatus":
      return { name: observation.kind, source: observation.kind, wallet: null };
    default:
      return null;
  }
}
