/**
 * Makes one message of pending items: its id, its items, its content. Pure.
 *
 * The id follows from the content and the receiver. A message that was sent while the disk did not write is finalized
 * again after a crash under the same id, by which the channel recognizes that it was accepted before.
 */
import { createHash } from "node:crypto";
import {
  inOrder,
  isMany,
  type ReportedItem,
  reportedChanges,
  titleOf,
} from "../../alerts/pending/reported.ts";
import { leadOf } from "../../channels/message/lead.ts";
import { type Alert, type AlertChange, type Severity, severityRank } from "../../domain/alerts/alert.ts";
import {
  type Folded,
  firstOfIncident,
  type Message,
  type MessageContent,
  type MessageItem,
  untried,
} from "../../domain/alerts/delivery.ts";
import { messageId, messageIdBytes } from "./message-id.ts";

export interface MessageOptions {
  /** `perpwatch on <host>`. */
  readonly sender: string;
  /** The name that distinguishes this database from others on the same host. */
  readonly instance: string;
  readonly nowMs: number;
  /** The reason for so many changes at once; null: they belong together. */
  readonly folded?: Folded | null;
  /** The other firing alerts of the group. */
  readonly standing?: MessageContent["standing"] | null;
  /** Returns true for an alert whose condition no longer holds. Left out: unknown. */
  readonly isGone?: (alertId: number) => boolean;
}

/** Age from which the text of a quiet change is compared with the current state of its alert, ms. */
const oldAfterMs = 10_000;
/** Changes that state that something holds. */
const worse: ReadonlySet<AlertChange["kind"]> = new Set(["fired", "rose", "worsened", "changed"]);

/** @param reported items of one receiver, in the order of their ids; at least one */
export function makeMessage(reported: readonly ReportedItem[], options: MessageOptions): Message {
  const { sender, instance, nowMs, folded = null, standing = null, isGone = () => false } = options;
  const severity = reported.reduce<Severity>(
    (worst, { item }) => (severityRank[item.severity] > severityRank[worst] ? item.severity : worst),
    "info",
  );
  const distances = new Map(reported.map(({ item, change }) => [change.id, item.distance]));
  const changes = reportedChanges(reported);
  const quiet = new Set(reported.flatMap(({ item, change }) => (item.quiet ? [change.id] : [])));
  const isPassed = ({ id, kind, atMs, alertId }: AlertChange): boolean =>
    quiet.has(id) && worse.has(kind) && nowMs - atMs > oldAfterMs && isGone(alertId);
  // A change that waited and no longer holds comes last.
  const shown = inOrder(changes, folded).toSorted((a, b) => Number(isPassed(a)) - Number(isPassed(b)));
  const items: MessageItem[] = shown.map((change) => {
    const distance = distances.get(change.id);
    const onCall = onCallOf(reported, change, instance);
    const passed = isPassed(change);
    const lead = passed ? `No longer holds (was ${change.alert.severity})` : leadOf(change);
    return {
      ...{ change, lead },
      ...(passed ? { passed: true as const } : {}),
      ...(distance === undefined ? {} : { distance }),
      ...onCall,
    };
  });
  return {
    id: idOf(reported, sender, instance),
    receiver: reported[0]!.item.receiver,
    severity,
    itemIds: reported.map(({ item }) => item.id),
    alertIds: [...new Set(reported.map(({ item }) => item.alertId))],
    content: {
      kind: "alert",
      severity,
      resolved: changes.every(({ kind, alert }) => kind === "ended" && alert.ending === "recovered"),
      title: titleOf(changes, folded),
      items,
      ...(folded === null ? {} : { folded }),
      ...(isMany(changes, folded) ? { tally: tallyOf(changes) } : {}),
      ...(standing === null ? {} : { standing }),
      threads: threadsOf(reported, sender, instance),
      ...incidentOf(reported, instance),
      ...(reported.every(({ item }) => item.quiet === true) ? { quiet: true as const } : {}),
      sender,
    },
    ...untried(nowMs, nowMs),
  };
}

/** Returns the incident of a message, if all of its changes belong to one. */
function incidentOf(reported: readonly ReportedItem[], instance: string): Pick<MessageContent, "incident"> {
  const keys = new Set(reported.map(({ item: { groupKey, incident = groupKey } }) => incident));
  const [key] = keys;
  if (key === undefined || keys.size > 1 || firstOfIncident(key) === null) return {};
  return { incident: { id: nameOf([instance, key]) } };
}

/** Returns the incident of a change's account, if its receiver keeps one for each. */
function onCallOf(
  reported: readonly ReportedItem[],
  { id }: AlertChange,
  instance: string,
): Pick<MessageItem, "onCall"> {
  const item = reported.find(({ change }) => change.id === id)?.item;
  if (item?.onCall === undefined) return {};
  const { account, first, more } = item.onCall;
  return { onCall: { id: nameOf([instance, item.receiver, "account", account, first]), more } };
}

function nameOf(parts: readonly unknown[]): string {
  return messageId(createHash("sha256").update(JSON.stringify(parts)).digest().subarray(0, messageIdBytes));
}

/** Maximum threads of one message. */
const maxThreads = 5;

/**
 * Returns the thread names that all messages of an alert share: its incident's, that of its group and firing day, else
 * its own. A group has no end, so its threads are split by day.
 */
function threadsOf(reported: readonly ReportedItem[], sender: string, instance: string): string[] {
  const names = reported.map(({ item, change: { alert } }) => {
    const day = Math.floor(alert.firedAtMs / 86_400_000);
    const ofGroup = firstOfIncident(item.groupKey) === null ? [item.groupKey, day] : [item.groupKey];
    const what = item.groupKey === null ? [alert.id, alert.firedAtMs] : ofGroup;
    return nameOf([sender, instance, item.receiver, ...what]);
  });
  return [...new Set(names)].slice(0, maxThreads);
}

/**
 * Returns the id of a message. An event is identified by its key, even if it is judged again because a crash lost the
 * judgement. Any other change is identified by its number, time and content: numbers begin at 1 in each database, and
 * daemons that watch one exchange see the same thing in the same millisecond. A channel takes two messages with one id
 * for one message, so ids must be unique.
 */
function idOf(reported: readonly ReportedItem[], sender: string, instance: string): string {
  const parts = reported.map(({ item, change: { id, kind, atMs, alert } }) =>
    alert.eventKey !== null && kind === "fired"
      ? [alert.rule, alert.subject, alert.eventKey]
      : [id, kind, atMs, alert.rule, alert.subject, alert.summary, ...(item.again ? ["again"] : [])],
  );
  return nameOf([sender, instance, reported[0]!.item.receiver, parts]);
}

/** Maximum rows of a tally; the last row counts the rest by rule alone. */
const maxTallied = 20;

function tallyOf(changes: readonly AlertChange[]): NonNullable<MessageContent["tally"]> {
  const typesOf = new Map<string, Set<string | undefined>>();
  for (const { alert } of changes)
    typesOf.set(alert.rule, (typesOf.get(alert.rule) ?? new Set()).add(alert.eventType));
  const byWallet = counted(changes, ({ rule, wallet, eventType }) => {
    const isOne = eventType === undefined || typesOf.get(rule)?.size === 1;
    return { rule, wallet, ...(isOne ? {} : { eventType }) };
  });
  return byWallet.length <= maxTallied
    ? byWallet
    : counted(changes, ({ rule }) => ({ rule, wallet: null })).slice(0, maxTallied);
}

type Row = NonNullable<MessageContent["tally"]>[number];

/** Counts changes by the row of their alerts, largest first. */
function counted(changes: readonly AlertChange[], of: (alert: Alert) => Omit<Row, "count">): Row[] {
  const rows = new Map<string, { readonly row: Omit<Row, "count">; count: number }>();
  for (const { alert } of changes) {
    const row = of(alert);
    const key = JSON.stringify(row);
    const one = rows.get(key) ?? { row, count: 0 };
    one.count++;
    rows.set(key, one);
  }
  return [...rows.values()]
    .map(({ row, count }) => ({ ...row, count }))
    .sort((a, b) => b.count - a.count || (a.rule < b.rule ? -1 : 1));
}
