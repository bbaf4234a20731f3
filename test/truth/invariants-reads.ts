/** Invariants of reads: a stream over which nothing comes any more is given up, so that its data are polled, and polls go on. */
import type { Invariant } from "./invariants.ts";
import { isHeld } from "./invariants-messages.ts";
import { isWhale } from "./names.ts";
import { isDiskFull } from "./oracle/full-disk.ts";
import type { AccountTruth } from "./oracle/truth.ts";

/** A stream is pinged after 20 s, given up 10 s later, and may have had late frames on their way. */
const noticedWithinMs = 45_000;

export const halfOpenIsNoticed: Invariant = ({ log, plan }) => {
  const beginMs = log.entries[0]!.atMs;
  const stalls = log.of("stalled").map(({ atMs, ms }) => ({ fromMs: atMs, toMs: atMs + ms }));
  const lives = log.of("life").map(({ atMs }) => atMs);
  const ends = log.of("streamEnds").flatMap(({ was, atMs }) => (was ? [atMs] : []));
  return plan.troubles.faults.flatMap((fault) => {
    const fromMs = beginMs + fault.fromMs;
    const dueMs = fromMs + noticedWithinMs;
    if (fault.kind !== "halfOpen" || beginMs + fault.toMs < dueMs) return [];
    const isAway = stalls.some((one) => one.fromMs <= dueMs && one.toMs >= fromMs);
    if (isAway || lives.some((ms) => ms >= fromMs && ms <= dueMs)) return [];
    const last = log.of("life").findLast(({ atMs }) => atMs <= fromMs);
    if (last === undefined || hasEnded(last.text)) return [];
    const number = last.life;
    const isBefore = ({ atMs, life }: { readonly atMs: number; readonly life: number }) =>
      life === number && atMs <= fromMs;
    const opened = log.of("streamOpens").filter(isBefore).length;
    const standing = opened - log.of("streamEnds").filter((one) => one.was && isBefore(one)).length;
    const givenUp = ends.filter((ms) => ms > fromMs && ms <= dueMs).length;
    return givenUp < standing
      ? [
          `${standing} streams told nothing from ${new Date(fromMs).toISOString()} on, and ${givenUp} were given up`,
        ]
      : [];
  });
};

/** True for the end of a life of the daemon. */
const hasEnded = (text: string): boolean => /^(is killed|is told to stop|has stopped)/.test(text);

/** An inbox that is asked for so often at least stands in what is read of its wallet, ms. */
const inboxAskedMs = 30_000;
/** Between an answer and what is committed of it, with other inboxes of the wallet read in between, ms. */
const inboxToldMs = 2_000;

/** The time by which all inboxes of a wallet are said to have been read is true of each. */
export const inboxesAreRead: Invariant = ({ log, simulator, plan }) => {
  const accounts = new Map(
    [...simulator.world.wallets.values()].flatMap(({ name, accounts: own }) =>
      [...own.values()].map(({ address, pdaIndex, subaccount }) => [
        address,
        { wallet: name, pdaIndex, subaccount },
      ]),
    ),
  );
  /** By wallet and PDA index, the subaccounts that are there. */
  const listed = new Map<string, readonly number[]>();
  /** An account that is gone gets mail seldom, and is read seldom. */
  const isGone = (address: string): boolean => {
    const { wallet, pdaIndex, subaccount } = accounts.get(address)!;
    return listed.get(`${wallet}/${pdaIndex}`)?.includes(subaccount) === false;
  };
  const wrong: string[] = [];
  /** By wallet and address: since when it is asked for, when it was asked for last, and when it was answered whole. */
  const inboxes = new Map<string, Map<string, { sinceMs: number; askedMs: number; answeredMs: number }>>();
  let life = 0;
  /** Times that the daemon's clock showed, and the true ones, ms. */
  let times: { readonly shownMs: number; readonly trueMs: number }[] = [];
  for (const entry of log.entries) {
    if (entry.kind === "life" && entry.life !== life) {
      life = entry.life;
      times = [];
      inboxes.clear();
    } else if (entry.kind === "asked") {
      const [, address = ""] = /^\/v1\/traders\/(\w+)\/notifications\?/.exec(entry.target) ?? [];
      const wallet = accounts.get(address)?.wallet;
      if (wallet === undefined || entry.life !== life) continue;
      const own =
        inboxes.get(wallet) ?? new Map<string, { sinceMs: number; askedMs: number; answeredMs: number }>();
      const { sinceMs = entry.atMs, answeredMs: before = Number.NEGATIVE_INFINITY } = own.get(address) ?? {};
      // A record with a wrong field costs only itself.
      const isWhole = entry.status === 200 && entry.garbled !== "cut";
      own.set(address, { sinceMs, askedMs: entry.atMs, answeredMs: isWhole ? entry.atMs : before });
      inboxes.set(wallet, own);
    } else if (entry.kind === "committed" && !isDiskFull(plan, log.entries[0]!.atMs, entry.atMs)) {
      const { observations } = entry.changes;
      const time = observations.findLast(({ kind }) => kind === "time");
      if (time !== undefined) times.push({ shownMs: time.atMs, trueMs: entry.atMs });
      for (const one of observations) {
        // A part says nothing of the others.
        if (one.kind === "accounts" && one.told === undefined) {
          const { wallet, pdaIndex, subaccounts } = one;
          listed.set(
            `${wallet}/${pdaIndex}`,
            subaccounts.map(({ subaccount }) => subaccount),
          );
        }
        if (one.kind !== "events" || one.source !== "notifications" || !one.wallet || !one.wholeMs) continue;
        const { wholeMs } = one;
        const whole = times.findLast(({ shownMs }) => shownMs <= wholeMs);
        const now = times.findLast(({ shownMs }) => shownMs <= one.atMs);
        // It was held for long before it was committed.
        if (whole === undefined || now === undefined || entry.atMs - now.trueMs > inboxToldMs) continue;
        // In a standstill the time is committed late.
        const wholeTrueMs = Math.min(whole.trueMs, now.trueMs - (one.atMs - wholeMs));
        const fromMs = wholeTrueMs - inboxToldMs;
        // An account that came after that time had no inbox then.
        for (const [address, { sinceMs, askedMs, answeredMs }] of inboxes.get(one.wallet) ?? [])
          if (
            sinceMs <= wholeTrueMs &&
            askedMs > entry.atMs - inboxAskedMs &&
            answeredMs < fromMs &&
            !isGone(address) &&
            !isHeld(log, entry.atMs)
          )
            wrong.push(
              `at ${new Date(entry.atMs).toISOString()} ${one.wallet} counts as read ${one.atMs - wholeMs} ms ago, and the inbox ${address} was not`,
            );
      }
    }
  }
  return wrong.slice(0, 3);
};

/** Nothing that the exchange answers has the daemon ask nothing at all for longer, ms. */
const asksWithinMs = 30_000;

export const asksOn: Invariant = ({ log }) => {
  const wrong: string[] = [];
  const stalls = log.of("stalled");
  /** By life, the time of its last request. */
  const lastMs = new Map<number, number>();
  const check = (life: number, atMs: number): void => {
    const fromMs = lastMs.get(life) ?? atMs;
    const stalled = stalls.filter((one) => one.atMs >= fromMs && one.atMs <= atMs);
    const ms = stalled.reduce((left, one) => left - one.ms, atMs - fromMs);
    if (ms > asksWithinMs)
      wrong.push(
        `life ${life} asked nothing for ${Math.round(ms)} ms from ${new Date(fromMs).toISOString()}`,
      );
  };
  for (const entry of log.entries)
    if (entry.kind === "sent") {
      check(entry.life, entry.atMs);
      lastMs.set(entry.life, entry.atMs);
    } else if (entry.kind === "life" && /^(is killed|is told to stop)$/.test(entry.text)) {
      check(entry.life, entry.atMs);
      lastMs.delete(entry.life);
    }
  return wrong;
};

/** Requests that a daemon has under way at most, however slow the exchange is. */
const maxUnderWay = 64;

export const requestsAreBounded: Invariant = ({ log }) =>
  log
    .of("sent")
    .filter(({ underWay }) => underWay > maxUnderWay)
    .slice(0, 1)
    .map(
      ({ life, underWay, atMs }) =>
        `life ${life} had ${underWay} requests under way at ${new Date(atMs).toISOString()}`,
    );

/** From when an exchange that grants little has been met, ms after a start. */
const learnedMs = 60_000;
/** The time over which refusals are counted, and so many of them. */
const countedMs = 60_000;
const maxRefused = 15;
/** Requests that were under way when a fault ended are refused after it. */
const settledMs = 10_000;

/** A daemon that is refused asks less: where the exchange grants fewer requests than it wants, few of them are refused. */
export const refusalsSlowIt: Invariant = ({ log, plan }) => {
  const beginMs = log.entries[0]!.atMs;
  const isLimited = (ms: number): boolean =>
    plan.troubles.faults.some(
      ({ kind, fromMs, toMs }) =>
        kind === "limited" && ms >= beginMs + fromMs && ms <= beginMs + toMs + settledMs,
    );
  const starts = new Map<number, number>();
  for (const { life, atMs, text } of log.of("life")) if (text === "watches") starts.set(life, atMs);
  const refused = log.of("asked").filter(({ status, life, atMs }) => {
    const fromMs = starts.get(life);
    return status === 429 && fromMs !== undefined && atMs >= fromMs + learnedMs && !isLimited(atMs);
  });
  for (const [index, { life, atMs }] of refused.entries()) {
    const last = refused[index + maxRefused];
    if (last !== undefined && last.life === life && last.atMs - atMs < countedMs)
      return [
        `life ${life} was refused more than ${maxRefused} times within ${countedMs / 1_000} s from ${new Date(atMs).toISOString()}`,
      ];
  }
  return [];
};

/** The exchange answers for so long without a request of prices, ms, and so often. */
const withoutPricesMs = 20_000;
const answersWithoutPrices = 30;
const ofPrices = "/v1/markets/stats/latest";
/** A read of prices takes so long at most, and is tried again after so long, doubled with each that failed before it, ms. */
const readMs = 10_000;
const againMs = 2_000;
const maxAgainMs = 30_000;

/**
 * However few requests there may be, prices have a share of them: nothing can be judged without. Where several reads of them failed one
 * after the other, for another reason than a limit, they are asked for less often.
 */
export const pricesHaveAShare: Invariant = ({ log }) => {
  const stalls = log.of("stalled");
  /** By life, the reads of prices that failed since the last one that did not. */
  const failed = new Map<number, number>();
  /** By life: the time of the first other answer since prices were asked for, and the number of those. */
  const since = new Map<number, { readonly fromMs: number; others: number }>();
  for (const entry of log.entries) {
    if (entry.kind === "committed")
      for (const one of entry.changes.observations) {
        if (one.kind === "prices" && !one.live) failed.delete(entry.life);
        else if (one.kind === "failed" && one.source === "markets" && one.reason !== "rate-limited")
          failed.set(entry.life, (failed.get(entry.life) ?? 0) + 1);
      }
    if (entry.kind !== "sent" && entry.kind !== "asked") continue;
    const { life, target, atMs } = entry;
    if (target.startsWith(ofPrices)) since.delete(life);
    else if (entry.kind === "asked" && entry.status === 200) {
      const first = since.get(life) ?? { fromMs: atMs, others: 0 };
      since.set(life, first);
      first.others++;
      const stalled = stalls.filter((one) => one.atMs >= first.fromMs && one.atMs <= atMs);
      const forMs = stalled.reduce((left, { ms }) => left - ms, atMs - first.fromMs);
      const failures = failed.get(life) ?? 0;
      const waitMs = readMs + Math.min(maxAgainMs, againMs * 2 ** Math.max(0, failures - 1));
      if (first.others >= answersWithoutPrices && forMs > Math.max(withoutPricesMs, waitMs))
        return [
          `life ${life} asked for no prices for ${Math.round(forMs)} ms from ${new Date(first.fromMs).toISOString()} on, and had ${first.others} other answers`,
        ];
    }
  }
  return [];
};

/** Records of a payment are asked for so soon after the daemon saw it, ms. */
const lookedUpWithinMs = 10_000;
/** Troubles of that long ago may put off what is asked for, ms. */
const troubledMs = 90_000;

/** A payment into an account, or out of it, is looked up as soon as the account shows it. */
export const paymentsAreLookedUp: Invariant = ({ log, plan, simulator, truth }) => {
  const beginMs = log.entries[0]!.atMs;
  const isTroubled = (atMs: number): boolean =>
    plan.world.requestsPerSecond !== null ||
    plan.troubles.faults.some(
      ({ fromMs, toMs }) =>
        beginMs + fromMs <= atMs + lookedUpWithinMs && beginMs + toMs >= atMs - troubledMs,
    ) ||
    [...log.of("stalled"), ...log.of("life")].some(
      (one) => one.atMs >= atMs - troubledMs && one.atMs <= atMs + lookedUpWithinMs,
    );
  const known = [...simulator.world.wallets.values()];
  const authorityOf = (of: string): string => known.find(({ name }) => name === of)!.authority;
  const authorities = new Map(
    plan.world.wallets.filter((one) => !isWhale(one)).map(({ name }) => [name, authorityOf(name)]),
  );
  const asked = (wallet: string, fromMs: number, toMs: number): boolean =>
    log
      .of("sent")
      .some(
        ({ target, atMs }) =>
          target.startsWith(`/v1/users/${authorities.get(wallet)}/collateral-history`) &&
          atMs >= fromMs &&
          atMs <= toMs,
      );
  const last = new Map<string, AccountTruth>();
  for (const { changes, atMs } of log.of("committed"))
    for (const one of changes.observations) {
      if (one.kind === "watching") last.clear();
      if (one.kind !== "accounts" || !authorities.has(one.wallet)) continue;
      for (const { subaccount, sequence } of one.subaccounts) {
        const name = `${one.wallet}/${one.pdaIndex}.${subaccount}`;
        const state = truth.account(name, sequence);
        const before = last.get(name);
        if (state === undefined || (one.told !== undefined && !one.told.includes(subaccount))) continue;
        last.set(name, state);
        if (before === undefined || before.netDeposits === state.netDeposits || isTroubled(atMs)) continue;
        const paid = truth.accounts
          .get(name)!
          .find((other) => other.sequence > before.sequence && other.netDeposits !== before.netDeposits);
        if (!asked(one.wallet, paid!.ofMs, atMs + lookedUpWithinMs))
          return [
            `${name} shows a payment at ${new Date(atMs).toISOString()}, and its history is not asked for`,
          ];
      }
    }
  return [];
};
