/**
 * Invariants of every scenario, whatever its figures are. Each reads the event log and what is left at the end,
 * and says what is wrong in lines for people.
 */

import { type AlertChange, severityRank } from "../../src/domain/alerts/alert.ts";
import { builtInRules, noDataRule, unreachableRule } from "../../src/domain/alerts/built-in.ts";
import type { Acknowledgement, DeliveryItem } from "../../src/domain/alerts/delivery.ts";
import { parseSubject } from "../../src/domain/subject.ts";
import { channelTraits } from "./channels.ts";
import { maxScheduleMs } from "./config.ts";
import { diskInvariants } from "./invariants-disk.ts";
import { remindedSeldom, worseIsWorse } from "./invariants-few.ts";
import { messagesSayWhatWasDecided, sealedFirst } from "./invariants-messages.ts";
import {
  asksOn,
  halfOpenIsNoticed,
  inboxesAreRead,
  paymentsAreLookedUp,
  pricesHaveAShare,
  refusalsSlowIt,
  requestsAreBounded,
} from "./invariants-reads.ts";
import { reloadForgetsNothing } from "./invariants-reload.ts";
import { type EventLog, jsonOf } from "./log.ts";
import { nameOf } from "./names.ts";
import type { Outcome } from "./scenario.ts";
import { accountOf } from "./world.ts";

export type Invariant = (outcome: Outcome) => readonly string[];

/** Levels of pino. */
const warnLevel = 40;
const errorLevel = 50;
/** The time for which the end of a position may wait for word of it, and a poll. */
const endingWithinMs = 60_000 + 2 * maxScheduleMs;
/** Channels are well again for longer than this at the end. */
const deliveredWithinMs = 150_000;

/** It never breaks, starts and stops when it is told to, and its status can be read. */
const lives: Invariant = ({ faults }) => faults;

/** It meets no fault of its own. */
const saysNoFault: Invariant = ({ log, plan }) => {
  const isFull = plan.troubles.faults.some(({ kind }) => kind === "diskFull");
  const isFault = ({ level, text }: { readonly level: number; readonly text: string }): boolean =>
    level >= errorLevel
      ? !isFull || !text.startsWith("degraded: history does not take commits")
      : level >= warnLevel && /fault of its own/.test(text);
  return log
    .of("said")
    .filter(isFault)
    .map(({ level, text }) => `it said at level ${level}: ${text}`);
};

/** Unless a fault says so, the exchange has no errors: they would be the simulator's own. */
const simulatorWorks: Invariant = ({ log, plan }) => {
  if (plan.troubles.faults.some(({ kind }) => kind === "errors" || kind === "partErrors")) return [];
  const failed = log.of("asked").filter(({ status }) => status === 500);
  return failed.map(({ target }) => `the simulated exchange answered ${target} with 500`);
};

/**
 * A message arrives at its channel once. Again only on a channel that cannot look for it, where the daemon could not know of the
 * first time: its answer was lost, or the daemon ended before it was recorded. And again it is the same message. One that left while
 * the disk took nothing, not even its seal, is made anew by the next life, which knows of no attempt.
 */
const exactlyOnce: Invariant = ({ log }) => {
  const wrong: string[] = [];
  /** The lives that committed messages first. */
  const sealed = new Map<string, number>();
  const known = new Map<
    string,
    { readonly content: string; readonly life: number; readonly lives: Set<number>; recorded: boolean }
  >();
  for (const entry of log.entries) {
    if (entry.kind === "committed") {
      for (const { id, receiver, status } of entry.changes.messages) {
        const key = `${receiver} ${id}`;
        if (!sealed.has(key)) sealed.set(key, entry.life);
        const before = known.get(key);
        if (before && status === "delivered") before.recorded = true;
      }
    } else if (entry.kind === "answered") {
      known.get(`${entry.channel} ${entry.id}`)?.lives.add(entry.life);
    } else if (entry.kind === "arrived") {
      const { life } = entry;
      const key = `${entry.channel} ${entry.message.id}`;
      const content = jsonOf(entry.message.content);
      const before = known.get(key);
      const isLost = before !== undefined && before.life < life && sealed.get(key) !== before.life;
      if (!before || isLost) known.set(key, { content, life, lives: new Set(), recorded: false });
      else if (channelTraits[entry.channel]?.keepsIds)
        wrong.push(`${key} arrived again, on a channel that keeps ids`);
      else if (before.recorded) wrong.push(`${key} arrived again after it was recorded as delivered`);
      else if (before.lives.has(life)) wrong.push(`${key} arrived again after its delivery was confirmed`);
      else if (before.content !== content) wrong.push(`${key} arrived again with another content`);
    }
  }
  return wrong;
};

/**
 * Everything that was ever owed is delivered, and arrived, or still waits; and what waits for long could not leave. Given up is
 * just what its channel refused for good.
 */
const nothingLost: Invariant = ({ log, owed, endMs }) => {
  const wrong: string[] = [];
  const rejected = new Set(log.of("rejected").map(({ channel, id }) => `${channel} ${id}`));
  const arrived = new Set(log.of("arrived").map(({ channel, message }) => `${channel} ${message.id}`));
  const left = new Map(owed.map((item) => [item.id, item]));
  const committed = new Map<number, DeliveryItem>();
  for (const { changes } of log.of("committed"))
    for (const item of changes.deliveryItems) committed.set(item.id, item);
  for (const [id, { alertId, receiver }] of committed) {
    const item = left.get(id);
    const name = `item ${id} of alert ${alertId} for ${receiver}`;
    if (!item) wrong.push(`${name} was owed and is not known any more`);
    else if (item.status === "dead") {
      if (!rejected.has(`${receiver} ${item.messageId}`)) wrong.push(`${name} was given up`);
    } else if (item.status === "delivered" && !arrived.has(`${receiver} ${item.messageId}`))
      wrong.push(`${name} counts as delivered in ${item.messageId}, which never arrived`);
    else if (
      item.status !== "delivered" &&
      Math.max(item.owedAtMs, item.releaseAtMs ?? 0) < endMs - deliveredWithinMs
    )
      wrong.push(`${name} still waits, owed ${Math.round((endMs - item.owedAtMs) / 1_000)} s ago`);
  }
  return wrong;
};

/** Nothing is acknowledged at the exchange before a message about it arrived, unless the configuration wants that. */
const acknowledgedAfterwards: Invariant = ({ log }) => {
  const wrong: string[] = [];
  const rows = new Map<string, Acknowledgement>();
  const told = new Set<number>();
  for (const entry of log.entries) {
    if (entry.kind === "committed") for (const row of entry.changes.acknowledgements) rows.set(row.key, row);
    else if (entry.kind === "arrived") for (const id of entry.message.alertIds) told.add(id);
    else if (entry.kind === "acknowledged") {
      const row = rows.get(entry.key);
      if (!row) wrong.push(`${entry.key} of ${entry.wallet} was acknowledged and is not known`);
      else if (row.word === "always") continue;
      else if (
        row.rules.length === 0 ||
        row.rules.some(({ alertIds }) => !alertIds.some((id) => told.has(id)))
      )
        wrong.push(`${entry.key} of ${entry.wallet} was acknowledged before a message of each rule arrived`);
    }
  }
  return wrong;
};

/** With troubles over for longer than this, what was told is acknowledged, ms. */
const acknowledgedWithinMs = 60_000;

/** Notifications whose messages were delivered are acknowledged at the end. */
const acknowledgedAtAll: Invariant = ({ log, owed, endMs }) => {
  const acknowledged = new Set(log.of("acknowledged").map(({ key }) => key));
  const rows = new Map<string, Acknowledgement>();
  /** By alert: the time of its last delivery, ms; infinite: some of it is not delivered. */
  const deliveredMs = new Map<number, number>();
  const statuses = new Map(owed.map(({ id, status }) => [id, status]));
  const isOver = (id: number): boolean => ["delivered", "dead"].includes(statuses.get(id) ?? "");
  // An alert whose messages a channel refused for good was told to nobody there.
  const delivered = new Set(owed.flatMap(({ alertId, status }) => (status === "delivered" ? [alertId] : [])));
  for (const { changes, atMs } of log.of("committed")) {
    for (const row of changes.acknowledgements) rows.set(row.key, row);
    for (const { id, alertId } of changes.deliveryItems)
      deliveredMs.set(
        alertId,
        isOver(id) ? Math.max(deliveredMs.get(alertId) ?? 0, atMs) : Number.POSITIVE_INFINITY,
      );
  }
  return [...rows.values()].flatMap(({ key, wallet, word, rules, status }) => {
    if (acknowledged.has(key) || (word !== "whenDelivered" && word !== "always")) return [];
    const ids = rules.flatMap(({ alertIds }) => alertIds);
    const isTold = rules.length > 0 && rules.every((one) => one.alertIds.some((id) => delivered.has(id)));
    if (word === "whenDelivered" && !isTold) return [];
    const lastMs = Math.max(0, ...ids.map((id) => deliveredMs.get(id) ?? Number.POSITIVE_INFINITY));
    if (word === "whenDelivered" && lastMs > endMs - acknowledgedWithinMs) return [];
    return [`${key} of ${wallet} is not acknowledged at the end, and is ${status} by the history`];
  });
};

/** A running process commits its figures every five seconds, whatever it reads. */
const figuresWithinMs = 7_000;

/** It stands still only where the scenario makes it. */
const goesOn: Invariant = ({ log }) => {
  const refusedMs = log.of("refused").map(({ atMs }) => atMs);
  /** A full disk takes nothing: the last time at which it refused something until then, ms. */
  const lastRefusedMs = (toMs: number): number => refusedMs.findLast((ms) => ms <= toMs) ?? 0;
  const wrong: string[] = [];
  const lastMs = new Map<number, number>();
  for (const entry of log.entries) {
    if (entry.kind === "stalled") {
      const known = lastMs.get(entry.life);
      if (known !== undefined) lastMs.set(entry.life, entry.atMs + entry.ms);
    } else if (entry.kind === "life" && /^is (killed|told to stop)$/.test(entry.text))
      lastMs.delete(entry.life);
    else if (entry.kind === "life" && entry.text === "watches") lastMs.set(entry.life, entry.atMs);
    else if (entry.kind === "committed") {
      const known = lastMs.get(entry.life);
      if (known === undefined) continue;
      if (entry.atMs - Math.max(known, lastRefusedMs(entry.atMs)) > figuresWithinMs)
        wrong.push(
          `life ${entry.life} committed nothing for ${Math.round(entry.atMs - known)} ms until ${new Date(entry.atMs).toISOString()}`,
        );
      lastMs.set(entry.life, Math.max(known, entry.atMs));
    }
  }
  return wrong;
};

/** A decision is committed within this, ms. */
const committedWithinMs = 1_000;

/** So long after a commit was refused what is shown may not be recorded yet, and before it what was to be recorded, ms. */
const refusedForMs = 60_000;

/** The daemon shows as firing what it decided. */
const showsWhatFires: Invariant = ({ log }) => {
  const fires = new Map<number, { readonly fromMs: number; toMs: number }>();
  for (const { changes, atMs } of log.of("committed"))
    for (const { alert, alertId, kind } of changes.alertChanges) {
      if (alert.event || alert.shadow) continue;
      const known = fires.get(alertId);
      if (kind === "ended" && known) known.toMs = atMs;
      else if (!known) fires.set(alertId, { fromMs: atMs, toMs: Number.POSITIVE_INFINITY });
    }
  // Where the disk took nothing for a while, what is shown may not be recorded.
  const refused = log.of("refused");
  const isRefusing = (life: number, atMs: number): boolean =>
    refused.some((one) => one.life === life && Math.abs(one.atMs - atMs) < refusedForMs);
  return log.of("shown").flatMap(({ firing, life, atMs }) => {
    if (isRefusing(life, atMs)) return [];
    const shown = new Set(firing.map(({ id }) => id));
    const at = new Date(atMs).toISOString();
    return [
      ...[...fires].flatMap(([id, { fromMs, toMs }]) =>
        fromMs < atMs && toMs > atMs + committedWithinMs && !shown.has(id)
          ? [`alert ${id} fires and is not shown at ${at}`]
          : [],
      ),
      ...[...shown].flatMap((id) => {
        const { fromMs = Number.POSITIVE_INFINITY, toMs = 0 } = fires.get(id) ?? {};
        return fromMs <= atMs + committedWithinMs && toMs >= atMs
          ? []
          : [`alert ${id} is shown and does not fire at ${at}`];
      }),
    ];
  });
};

/** At the end no alert fires about a position that is not there, by the exchange, for longer than its end may wait. */
const noneStandsForNothing: Invariant = ({ status, simulator, log, endMs }) => {
  const changed = new Map<string, number>();
  for (const { accounts, atMs } of log.of("ledger")) for (const { name } of accounts) changed.set(name, atMs);
  return (status?.watch.firing ?? []).flatMap(({ id, rule, subject }) => {
    const parsed = parseSubject(subject);
    if (parsed?.scope !== "position") return [];
    const account = accountOf(simulator.world, parsed);
    const gone =
      !account.positions.has(parsed.symbol) && endMs - (changed.get(nameOf(account)) ?? 0) > endingWithinMs;
    return gone ? [`alert ${id} (${rule}) still fires about ${subject}, which is gone`] : [];
  });
};

/** All troubles are over for two intervals at the end: nothing is without data, no channel counts as broken. */
const wellAgain: Invariant = ({ status }) => {
  if (status === null) return ["nothing runs at the end"];
  const { firing, blind, wallets } = status.watch;
  const streams = status.streams?.connections.filter(({ connected }) => !connected) ?? [];
  const standing: readonly string[] = [noDataRule, unreachableRule, "ChannelBroken"];
  return [
    ...firing
      .filter(({ rule }) => standing.includes(rule))
      .map(({ id, rule, summary }) => `alert ${id} (${rule}) still fires: ${summary}`),
    ...blind.map(
      ({ wallet, source, sinceMs }) =>
        `${wallet ?? "exchange"}: no data of ${source} since ${new Date(sinceMs).toISOString()}`,
    ),
    ...wallets.filter(({ seenMs }) => seenMs === null).map(({ name }) => `${name} was never seen`),
    ...streams.map(({ wallet, detail }) => `the stream of ${wallet ?? "all"} is not connected: ${detail}`),
    ...status.channels
      .filter(({ working }) => !working)
      .map(({ name, detail }) => `channel ${name} does not work: ${detail}`),
  ];
};

/** Texts have a word for each figure, and none that only a program uses. */
const textsAreWhole: Invariant = ({ log }) => {
  const wrong = new Set<string>();
  for (const { message } of log.of("arrived"))
    for (const { change } of message.content.items) {
      const { summary, description, rule } = change.alert;
      for (const text of [summary, description])
        if (/undefined|NaN|Infinity|\[object|– –/.test(text)) wrong.add(`${rule} ${change.kind}: "${text}"`);
      if (summary === "") wrong.add(`${rule} ${change.kind} has no summary`);
    }
  return [...wrong];
};

/** The times between the end of one life of the daemon and the start of the next. */
function absencesIn(log: EventLog): readonly { readonly atMs: number; readonly ms: number }[] {
  const turns = log.of("life").filter(({ text }) => /^(is killed|has stopped|starts)$/.test(text));
  return turns.flatMap(({ text, atMs }, index) => {
    const next = turns[index + 1];
    return text === "starts" || next?.text !== "starts" ? [] : [{ atMs, ms: next.atMs - atMs }];
  });
}

/**
 * An alert fires once, changes while it fires, and ends once; one of a rule and a subject at a time; one of a rule and an event
 * ever. Over all lives.
 */
const livesOnce: Invariant = ({ log, endMs }) => {
  const wrong: string[] = [];
  const standing = new Map<number, string>();
  const bySubject = new Map<string, number>();
  const events = new Map<string, number>();
  const changeIds = new Set<number>();
  // The alert about a position that is gone waits for word of its end, while the next one of that name may have its own.
  const doubled = new Map<
    number,
    { readonly by: string; readonly sinceMs: number; readonly decidedMs: number }
  >();
  const pauses = [...log.of("stalled"), ...absencesIn(log)];
  /** @param decidedMs by the daemon's clock: a full disk takes later what was decided then */
  const lasted = (id: number, untilMs: number, decidedMs: number): void => {
    const double = doubled.get(id);
    doubled.delete(id);
    if (!double) return;
    const stood = pauses.filter(({ atMs, ms }) => atMs + ms > double.sinceMs && atMs < untilMs);
    const ms = Math.min(untilMs - double.sinceMs, decidedMs - double.decidedMs);
    if (stood.reduce((left, one) => left - one.ms, ms) > endingWithinMs)
      wrong.push(`${double.by} fires while alert ${id} does`);
  };
  for (const entry of log.of("committed"))
    for (const { id, kind, alert, atMs: decidedMs } of entry.changes.alertChanges) {
      const name = `alert ${alert.id} (${alert.rule} of ${alert.subject})`;
      if (changeIds.has(id)) wrong.push(`${name}: change ${id} was committed twice`);
      changeIds.add(id);
      if (alert.event) {
        const key = `${alert.rule} ${alert.subject} ${alert.eventKey}`;
        const before = events.get(key);
        if (kind !== "fired" || alert.eventKey === null) continue;
        if (before !== undefined) wrong.push(`${name} tells of ${alert.eventKey}, as alert ${before} did`);
        events.set(key, alert.id);
        continue;
      }
      const subject = `${alert.rule} ${alert.subject}${partOf(alert)}`;
      if (kind === "fired") {
        const other = bySubject.get(subject);
        if (other !== undefined) doubled.set(other, { by: name, sinceMs: entry.atMs, decidedMs });
        if (standing.has(alert.id)) wrong.push(`${name} fires twice`);
        standing.set(alert.id, subject);
        bySubject.set(subject, alert.id);
      } else if (!standing.has(alert.id)) wrong.push(`${name}: ${kind} while it does not fire`);
      else if (kind === "ended") {
        // An alert about missing data may end under another rule than it fired with.
        const fired = standing.get(alert.id)!;
        if (fired !== subject && alert.rule !== noDataRule && alert.rule !== unreachableRule)
          wrong.push(`${name} ends as another than it fired: ${fired}`);
        standing.delete(alert.id);
        lasted(alert.id, entry.atMs, decidedMs);
        if (bySubject.get(fired) === alert.id) bySubject.delete(fired);
      }
    }
  for (const id of [...doubled.keys()]) lasted(id, endMs, Number.POSITIVE_INFINITY);
  return wrong;
};

/** A replay of the recording decides what the daemon decided, to the letter, but for the ids of alerts. */
const replaysAlike: Invariant = ({ log, replayed }) => {
  if (replayed === null) return [];
  const fieldsOf = ({ kind, atMs, alert, details, happenedMs, stands }: AlertChange) => {
    const { id: _, ...rest } = alert;
    return { kind, atMs, details, happenedMs, stands, ...rest };
  };
  const line = (change: AlertChange | undefined): string =>
    change === undefined
      ? "nothing"
      : `${change.kind} of ${change.alert.rule} ${change.alert.subject} at ${new Date(change.atMs).toISOString()}: ${change.alert.summary}`;
  const live = log.of("committed").flatMap(({ changes }) => changes.alertChanges);
  for (let i = 0; i < Math.max(live.length, replayed.length); i++) {
    const [one, other] = [live[i], replayed[i]];
    if (
      one === undefined ||
      other === undefined ||
      one.kind !== other.kind ||
      one.alert.subject !== other.alert.subject
    )
      return [`where the daemon decided ${line(one)}, a replay decides ${line(other)}`];
    const before = fieldsOf(one);
    const after = fieldsOf(other);
    const differing = (Object.keys(before) as (keyof typeof before)[]).filter(
      (name) => jsonOf(before[name]) !== jsonOf(after[name]),
    );
    if (differing.length > 0) {
      const values = differing.map(
        (name) => `${name}: ${jsonOf(before[name])}, replayed ${jsonOf(after[name])}`,
      );
      return [`a replay decides another ${line(one)} (${values.join("; ")})`];
    }
  }
  return [];
};

/** Rules of the program itself may have an alert for each of several things of one subject: a channel, a rule, names in the configuration. */
const partOf = ({ rule, labels }: Pick<AlertChange["alert"], "rule" | "labels">): string =>
  (builtInRules as readonly string[]).includes(rule)
    ? ` ${labels.channel ?? ""} ${labels.failing ?? ""} ${labels.source === "configuration"}`
    : "";

/** On each channel the steps of an alert arrive in their order; those of a higher level alone may overtake. */
const inOrder: Invariant = ({ log }) => {
  const wrong: string[] = [];
  const newest = new Map<string, AlertChange & { readonly life: number }>();
  const seen = new Set<string>();
  const committed = new Set(log.of("committed").flatMap(({ changes }) => changes.alertChanges.map(stepOf)));
  for (const { channel, message, life } of log.of("arrived")) {
    if (seen.has(`${channel} ${message.id}`)) continue;
    seen.add(`${channel} ${message.id}`);
    for (const { change } of message.content.items) {
      // A change that was never committed leaves its number to another one.
      const key = `${channel} ${change.alertId} ${change.alert.firedAtMs}`;
      const before = newest.get(key);
      const follows = before && (before.life === life || committed.has(stepOf(before)));
      const overtakes =
        before !== undefined &&
        before.kind !== "ended" &&
        before.kind !== "fell" &&
        severityRank[before.alert.severity] > severityRank[change.alert.severity];
      if (follows && change.id < before.id && !overtakes)
        wrong.push(`${channel}: ${change.kind} of alert ${change.alertId} arrived after a later step`);
      if (!follows || change.id > before.id) newest.set(key, { ...change, life });
    }
  }
  return wrong;
};

const stepOf = ({ id, alertId, atMs }: AlertChange): string => `${id} ${alertId} ${atMs}`;

export const invariants: Readonly<Record<string, Invariant>> = {
  lives,
  saysNoFault,
  simulatorWorks,
  exactlyOnce,
  sealedFirst,
  nothingLost,
  acknowledgedAfterwards,
  acknowledgedAtAll,
  goesOn,
  showsWhatFires,
  noneStandsForNothing,
  wellAgain,
  textsAreWhole,
  livesOnce,
  inOrder,
  remindedSeldom,
  worseIsWorse,
  messagesSayWhatWasDecided,
  halfOpenIsNoticed,
  asksOn,
  paymentsAreLookedUp,
  pricesHaveAShare,
  refusalsSlowIt,
  inboxesAreRead,
  requestsAreBounded,
  reloadForgetsNothing,
  replaysAlike,
  ...diskInvariants,
};

/** @returns a line for each violation, with the name of its invariant */
export function violations(outcome: Outcome): readonly string[] {
  return Object.entries(invariants).flatMap(([name, holds]) =>
    holds(outcome).map((line) => `${name}: ${line}`),
  );
}
