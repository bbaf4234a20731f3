/**
 * Messages say what was decided: each of their items is the newest step of its alert among those that they were made for, word for word as
 * it was committed; none is left out, and title, severity and counts follow from them.
 */
import { type AlertChange, type Severity, severityRank } from "../../src/domain/alerts/alert.ts";
import type { DeliveryItem, Message } from "../../src/domain/alerts/delivery.ts";
import type { Changes } from "../../src/domain/stored/changes.ts";
import type { Invariant } from "./invariants.ts";
import { type EventLog, jsonOf, type Logged } from "./log.ts";
import { isDiskFull } from "./oracle/full-disk.ts";

/** Rows of a tally that are told apart. */
const maxTallied = 20;

/** A critical message waits for the disk for so long, less what its clock may be off, ms. */
const sealPatienceMs = 4_900;
/** The daemon's clock may be off by this where the exchange corrects it, ms. */
const clockSlackMs = 1_000;
/** Another message goes so shortly before a critical one, ms. */
const besideCriticalMs = 15_000;

/** The words that lead, by the kind of a step. Of an end, and of an event, they follow from the alert. */
const leads: Readonly<Record<string, (severity: Severity) => string>> = {
  fired: (severity) => `FIRING ${severity}`,
  rose: (severity) => `WORSE, now ${severity}`,
  fell: (severity) => `BETTER, now ${severity}`,
  worsened: (severity) => `WORSE, still ${severity}`,
  changed: (severity) => `CHANGED, still ${severity}`,
  reminder: (severity) => `STILL FIRING ${severity}`,
  escalated: (severity) => `NOBODY ANSWERED, ${severity}`,
  acknowledged: (severity) => `ACKNOWLEDGED, still ${severity}`,
};

const endings: Readonly<Record<string, string>> = {
  recovered: "RESOLVED",
  closed: "CLOSED",
  liquidated: "LIQUIDATED",
  deleveraged: "AUTO-DELEVERAGED",
  flipped: "FLIPPED",
  explained: "EXPLAINED",
  ruleChanged: "RULE CHANGED",
  noLongerWatched: "NO LONGER WATCHED",
};

/** The items and changes that each life decided on, by their numbers; those of lives before it are known to it where they were committed. */
interface Decided {
  readonly items: Map<string, DeliveryItem>;
  readonly changes: Map<string, AlertChange>;
}

/** A life's own; committed by any. */
const keyIn = (life: number | null, id: number): string => `${life} ${id}`;

export const messagesSayWhatWasDecided: Invariant = ({ log, plan }) => {
  const decided: Decided = { items: new Map(), changes: new Map() };
  const take = ({ deliveryItems: owed, alertChanges }: Changes, life: number | null): void => {
    for (const one of owed) decided.items.set(keyIn(life, one.id), one);
    for (const one of alertChanges) decided.changes.set(keyIn(life, one.id), one);
  };
  // A message may leave before the commit of what it tells was tried, while the disk takes nothing.
  for (const entry of log.entries)
    if (entry.kind === "committed") take(entry.changes, entry.life);
    else if (entry.kind === "refused") for (const changes of entry.changes) take(changes, entry.life);
  const beginMs = log.entries[0]!.atMs;
  const seen = new Set<string>();
  const wrong: string[] = [];
  for (const entry of log.entries) {
    if (entry.kind === "committed") take(entry.changes, null);
    else if (entry.kind === "arrived" && entry.message.content.kind === "alert") {
      const { message, channel, life } = entry;
      const key = `${channel} ${message.id}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const owed = message.itemIds.map(
        (id) => decided.items.get(keyIn(life, id)) ?? decided.items.get(keyIn(null, id)),
      );
      const changes = owed.map(
        (one) =>
          one &&
          (decided.changes.get(keyIn(life, one.changeId)) ?? decided.changes.get(keyIn(null, one.changeId))),
      );
      if (isWhole(owed) && isWhole(changes))
        for (const text of problemsOf(message, owed, changes)) wrong.push(`${key}: ${text}`);
      else if (!isDiskFull(plan, beginMs, entry.atMs))
        wrong.push(`${key}: it tells of what was never decided`);
    }
  }
  return wrong;
};

/**
 * A message leaves once it is committed with what it tells: a life that ends meanwhile knows of it. While the disk takes nothing, a
 * critical one and what goes before it wait some seconds for that.
 */
export const sealedFirst: Invariant = ({ log, plan }) => {
  const sealed = new Set<string>();
  const early = new Map<string, Pick<Logged, "atMs"> & { readonly channel: string; readonly id: string }>();
  for (const entry of log.entries)
    if (entry.kind === "committed")
      for (const { id, receiver } of entry.changes.messages) sealed.add(`${receiver} ${id}`);
    else if (entry.kind === "attempt" && !sealed.has(`${entry.channel} ${entry.id}`))
      early.set(`${entry.channel} ${entry.id}`, entry);
  if (early.size === 0) return [];
  const severities = new Map(
    log.of("arrived").map(({ channel, message }) => [`${channel} ${message.id}`, message.severity]),
  );
  const beginMs = log.entries[0]!.atMs;
  const ends = log.of("life").flatMap(({ text, atMs }) => (text === "is killed" ? [atMs] : []));
  const goesWithCritical = (channel: string, atMs: number): boolean =>
    // A life that ends does not come to the critical one, nor does a channel that breaks by what goes before it.
    ends.some((ms) => ms >= atMs && ms < atMs + besideCriticalMs) ||
    log
      .of("refused")
      .flatMap(({ changes }) => changes.flatMap(({ deliveryItems: owed }) => owed))
      .some(
        ({ receiver, severity, owedAtMs }) =>
          receiver === channel &&
          severity === "critical" &&
          owedAtMs < atMs + clockSlackMs &&
          owedAtMs > atMs - besideCriticalMs,
      ) ||
    [...early].some(
      ([key, other]) =>
        other.channel === channel &&
        Math.abs(other.atMs - atMs) < besideCriticalMs &&
        (severities.get(key) ?? "critical") === "critical",
    );
  return [...early].flatMap(([key, { channel, atMs }]) => {
    const isHeld =
      log.entries.findLast((one) => one.atMs < atMs && isOfDisk.has(one.kind))?.kind === "refused";
    if (!isHeld && !isDiskFull(plan, beginMs + sealPatienceMs, atMs))
      return [`${key} left before it was committed`];
    return goesWithCritical(channel, atMs)
      ? []
      : [`${key} left before it was committed, for nothing critical`];
  });
};

/** True if what was to be committed just before a time was refused. */
export const isHeld = (log: EventLog, atMs: number): boolean =>
  log.entries.findLast((one) => one.atMs < atMs && isOfDisk.has(one.kind))?.kind === "refused";

const isOfDisk: ReadonlySet<string> = new Set(["committed", "refused"]);

function isWhole<T>(list: readonly (T | undefined)[]): list is readonly T[] {
  return !list.includes(undefined);
}

function problemsOf(
  { severity, content, sealedAtMs }: Message,
  owed: readonly DeliveryItem[],
  changes: readonly AlertChange[],
): readonly string[] {
  const wrong: string[] = [];
  const check = (is: boolean, text: string): void => {
    if (!is) wrong.push(text);
  };
  const told = newestOf(changes);
  const { folded, tally = [], title } = content;
  check(content.items.length === told.length, `${content.items.length} of ${told.length} items`);
  check(content.more === undefined, `${content.more} more of ${told.length}`);
  for (const { change, lead } of content.items) {
    const own = told.find(({ id }) => id === change.id);
    if (!own) {
      wrong.push(`${change.kind} of alert ${change.alertId} is not the newest that it was made for`);
      continue;
    }
    check(
      jsonOf({ ...change, kind: own.kind }) === jsonOf(own),
      `change ${own.id} was decided as ${jsonOf(own)} and is told as ${jsonOf(change)}`,
    );
    const kinds = changes.filter(({ alertId }) => alertId === own.alertId).map(({ kind }) => kind);
    check(kinds.includes(change.kind), `${change.kind} of alert ${change.alertId} was ${kinds.join(", ")}`);
    // A quiet change that waited for more than 10 s may hold no longer.
    const mayBePassed =
      owed.some((item) => item.changeId === change.id && item.quiet === true) &&
      sealedAtMs - change.atMs > 10_000;
    const isPassed = mayBePassed && lead === `No longer holds (was ${change.alert.severity})`;
    check(isPassed || lead === leadOf(change), `${lead} leads ${change.kind} of alert ${change.alertId}`);
  }
  const worst = owed.reduce<Severity>(
    (most, one) => (severityRank[one.severity] > severityRank[most] ? one.severity : most),
    "info",
  );
  check(
    severity === worst && content.severity === worst,
    `${severity} and ${content.severity}, not ${worst}`,
  );
  const isGood = told.every(({ kind, alert }) => kind === "ended" && alert.ending === "recovered");
  check(content.resolved === isGood, `resolved ${content.resolved}`);
  const first = content.items[0]?.change.alert;
  if (!first) return wrong;
  const begins = told.length === 1 ? first.summary : `${told.length} `;
  check(title.startsWith(begins), `title "${title}"`);
  // Ends of several wallets name the accounts.
  const wallets = new Set(told.map(({ alert }) => alert.wallet));
  const account = first.subject.split("/").slice(0, 2).join("/");
  const isNamed = wallets.size > 1 && !wallets.has(null) && told.every(({ kind }) => kind === "ended");
  check(!isNamed || folded !== undefined || title.includes(` of ${account}`), `title "${title}"`);
  check(folded === undefined || title.endsWith(first.summary), `title "${title}" without the worst`);
  const counted = tally.reduce((sum, { count }) => sum + count, 0);
  check(
    folded === undefined || tally.length >= maxTallied || counted === told.length,
    `a tally of ${counted}`,
  );
  return wrong;
}

/** Each event, and of each other alert the newest step. */
function newestOf(changes: readonly AlertChange[]): readonly AlertChange[] {
  const last = new Map(changes.map((one) => [one.alertId, one]));
  return changes.filter((one) => one.alert.event || last.get(one.alertId) === one);
}

function leadOf({ kind, alert }: AlertChange): string {
  if (alert.drill) return "DRILL";
  if (kind === "fired" && alert.event) return alert.severity.toUpperCase();
  return kind === "ended" ? (endings[alert.ending!] ?? "") : leads[kind]!(alert.severity);
}
