/** Invariants of what is written: nothing that was decided is lost while the process lives, whatever the disk takes, and nothing is taken for written that is not. */
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import type { Acknowledgement } from "../../src/domain/alerts/delivery.ts";
import { eventName } from "../../src/domain/event.ts";
import type { Changes } from "../../src/domain/stored/changes.ts";
import { committedOf } from "./oracle/lives.ts";
import type { Outcome } from "./scenario.ts";

type Invariant = (outcome: Outcome) => readonly string[];

/** The longest time after which refused commits are written once the disk takes them again, ms. */
const writtenWithinMs = 7_000;

/** Names of the things that changes tell for the first time. */
const newIn = ({ alertChanges, deliveryItems: owed, events }: Changes): readonly string[] => [
  ...alertChanges.map(({ id, kind }) => `change ${id} (${kind})`),
  ...owed.flatMap(({ id, status, receiver }) => (status === "owed" ? [`item ${id} for ${receiver}`] : [])),
  ...events.map(({ kind, key }) => `event ${eventName(kind, key)}`),
];

/** Over all lives changes of alerts and owed items are written in their order, and none is left out. */
const wholeAndInOrder: Invariant = ({ log }) => {
  const wrong: string[] = [];
  const last = { change: 0, item: 0 };
  const next = (what: "change" | "item", id: number): void => {
    if (id !== last[what] + 1) wrong.push(`${what} ${id} was committed after ${what} ${last[what]}`);
    last[what] = id;
  };
  for (const { changes } of committedOf(log)) {
    for (const { id } of changes.alertChanges) next("change", id);
    for (const { id, status } of changes.deliveryItems)
      if (status === "owed" && id > last.item) next("item", id);
  }
  return wrong;
};

/** Refused commits are written as soon as the disk takes them, unless the process ends before. */
const heldIsWritten: Invariant = ({ log, plan }) => {
  const wrong: string[] = [];
  const beginMs = log.entries[0]!.atMs;
  const worksMs = plan.troubles.faults.reduce(
    (most, { kind, toMs }) => (kind === "diskFull" ? Math.max(most, beginMs + toMs) : most),
    0,
  );
  const awakeMs = log
    .of("stalled")
    .reduce(
      (most, { atMs, ms }) => (atMs <= most + writtenWithinMs ? Math.max(most, atMs + ms) : most),
      worksMs,
    );
  const dueMs = awakeMs + writtenWithinMs;
  const held = new Map<number, Set<string>>();
  const report = (life: number, what: string): void => void wrong.push(`life ${life}: ${what}`);
  for (const entry of log.entries) {
    if (entry.kind === "refused") {
      const names = held.get(entry.life) ?? new Set<string>();
      held.set(entry.life, names);
      for (const name of entry.changes.flatMap(newIn)) names.add(name);
    } else if (entry.kind === "committed") {
      const names = held.get(entry.life);
      if (names === undefined) continue;
      for (const name of newIn(entry.changes))
        if (names.delete(name) && entry.atMs > dueMs)
          report(entry.life, `${name} was written ${entry.atMs - dueMs} ms too late`);
    } else if (entry.kind === "life" && /^(is killed|has stopped)$/.test(entry.text) && entry.atMs < dueMs)
      held.delete(entry.life);
  }
  for (const [life, names] of held)
    for (const name of names) report(life, `${name} was refused by the disk and never written`);
  return wrong;
};

/** Nothing is acknowledged at the exchange before that, and the deliveries that it rests on, are recorded. */
const acknowledgedAsRecorded: Invariant = ({ log }) => {
  const wrong: string[] = [];
  const rows = new Map<string, Acknowledgement>();
  const delivered = new Set<number>();
  for (const entry of log.entries) {
    if (entry.kind === "committed") {
      for (const row of entry.changes.acknowledgements) rows.set(row.key, row);
      for (const { alertId, status } of entry.changes.deliveryItems)
        if (status === "delivered") delivered.add(alertId);
    } else if (entry.kind === "acknowledged") {
      const row = rows.get(entry.key);
      if (row === undefined) continue;
      const isDelivered = row.rules.every(({ alertIds }) => alertIds.some((id) => delivered.has(id)));
      if (row.status === "waiting" || (row.word !== "always" && !isDelivered))
        wrong.push(`${entry.key} of ${entry.wallet} was acknowledged, and history says ${row.status}`);
    }
  }
  return wrong;
};

/**
 * A change is told on each channel in one message, however often it arrives. In another one only where the first left while the disk
 * took nothing, and the process ended before it was recorded.
 */
const toldInOneMessage: Invariant = ({ log, plan }) => {
  const wrong: string[] = [];
  const beginMs = log.entries[0]!.atMs;
  const isRefused = (atMs: number): boolean =>
    plan.troubles.faults.some(
      ({ kind, fromMs, toMs }) =>
        kind === "diskFull" && beginMs + fromMs <= atMs && beginMs + toMs + writtenWithinMs >= atMs,
    );
  const known = new Map<string, { readonly id: string; readonly life: number; readonly atMs: number }>();
  const recorded = new Set<string>();
  /** Messages that arrived, without an answer so far; and those of them that were refused for good since, which nobody could know of. */
  const unanswered = new Set<string>();
  const excused = new Set<string>();
  for (const entry of log.entries) {
    if (entry.kind === "answered") unanswered.delete(`${entry.channel} ${entry.id}`);
    if (entry.kind === "rejected" && unanswered.has(`${entry.channel} ${entry.id}`))
      excused.add(`${entry.channel} ${entry.id}`);
    if (entry.kind === "committed")
      for (const { id, receiver } of entry.changes.messages) recorded.add(`${receiver} ${id}`);
    if (entry.kind !== "arrived") continue;
    const { channel, message, life, atMs } = entry;
    unanswered.add(`${channel} ${message.id}`);
    for (const { change } of message.content.items) {
      const key = `${channel} ${nameOf(change)}`;
      const before = known.get(key);
      const isNew =
        before === undefined || (before.id !== message.id && excused.has(`${channel} ${before.id}`));
      if (isNew) known.set(key, { id: message.id, life, atMs });
      else if (
        before.id !== message.id &&
        (before.life === life || recorded.has(`${channel} ${before.id}`) || !isRefused(before.atMs))
      )
        wrong.push(`${channel}: ${nameOf(change)} is told in ${before.id} and in ${message.id}`);
    }
  }
  return wrong;
};

/** An event is one, whoever judges it again. */
const nameOf = ({ id, atMs, alert }: AlertChange): string =>
  alert.eventKey === null
    ? `change ${id} of alert ${alert.id} at ${atMs}`
    : `${alert.rule} of ${alert.eventKey}`;

export const diskInvariants: Readonly<Record<string, Invariant>> = {
  wholeAndInOrder,
  heldIsWritten,
  acknowledgedAsRecorded,
  toldInOneMessage,
};
