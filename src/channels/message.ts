/**
 * From a sealed message to what a person reads, before any channel's own dress. Pure: the same message gives the same
 * text on every attempt, but for a note that it is late.
 *
 * Whoever is woken by it gets the answers in this order: what, how bad, how fresh the data is, what now.
 */

import {
  type Advice,
  type AlertChange,
  adviceIn,
  type Ending,
  isTaking,
  type Taking,
} from "../domain/alert.ts";
import { lateAfterMs, type Message, type MessageItem, maxInFull, maxReported } from "../domain/delivery.ts";
import { formatDurationMs } from "../domain/duration.ts";
import { flat } from "../domain/template-data.ts";
import { formatTime, timeOfDay } from "../domain/time-text.ts";
import { unreachable } from "../domain/unreachable.ts";
import type { Late } from "./channel.ts";
import { ledBy } from "./lines.ts";
import type { Block, Rendering, Section, Tone } from "./rendering.ts";
import { clean, cleanLine, ownLine, safeLink, shorten } from "./text.ts";

export { formatTime };

export interface RenderOptions {
  /** IANA name; default UTC. */
  readonly timezone?: string;
  /** Default: `perpwatch …`. */
  readonly commandLine?: CommandLine;
  /** Each block is read without the others. Left out: together, so advice about an account stands once. */
  readonly apart?: boolean;
}

/** Makes the command line of this daemon where it runs: `alerts ack 17` → all that has to be typed. */
export type CommandLine = (words: string) => string;

export const plainCommandLine: CommandLine = (words) => `perpwatch ${words}`;

/** @param late given where the message leaves long after it was owed */
export function render(message: Message, options: RenderOptions = {}, late?: Late): Rendering {
  const { content } = message;
  const zone = options.timezone ?? "UTC";
  const call = options.commandLine ?? plainCommandLine;
  const { items } = content;
  const advice = options.apart ? items.map(adviceOf) : adviceOnce(items);
  // Nothing is green while something critical of the group fires.
  const green: Tone = stillCritical(content) ? "over" : "good";
  const open = items.filter(isOpenItem).map(({ change }) => change.alertId);
  const newestMs = Math.max(...items.map(({ change }) => change.atMs));
  const blocks = items.map((item, index) => {
    const when = { zone, newestMs };
    const block = renderItem(item, advice[index]!, when, options.apart ? { call } : { call, open });
    return block.tone === "good" ? { ...block, tone: green } : block;
  });
  const notes: string[] = [];
  if (content.kind === "test") notes.push("This is a test. Nothing has happened.");
  if (content.items.some(({ change }) => change.alert.drill))
    notes.push("This is a fire drill. Nothing has happened, and there is nothing to do.");
  const note = lateNote(message, late);
  if (note !== null) notes.push(note);
  const inFull =
    content.folded === undefined && blocks.length <= maxReported
      ? blocks.length
      : Math.min(blocks.length, maxInFull);
  if (content.folded === "digest")
    notes.push("Nothing could leave for a while; this is what piled up, the worst first.");
  if (content.folded === "storm") notes.push("More than can be told one by one; the worst first.");
  if (content.tally !== undefined) notes.push(`All in all: ${tallyText(content.tally)}.`);
  if (content.more !== undefined)
    notes.push(`${content.more} more are not named here: ${call("alerts")} lists them.`);
  return {
    tone: toneOf(message, blocks, green),
    headline: headlineOf(message, blocks),
    notes,
    blocks,
    inFull,
    sections: sectionsOf(content),
    standing: standingLines(message, zone),
    footer: `${shorten(cleanLine(content.sender), 80)} · ${message.id}`,
  };
}

function sectionsOf({ sections = [] }: Message["content"]): Section[] {
  return sections.map(({ title, rows }) => ({
    title: ownLine(title),
    rows: rows.map(([name, value]) => [cleanLine(name), cleanLine(value)] as const),
  }));
}

function tallyText(tally: NonNullable<Message["content"]["tally"]>): string {
  return tally
    .map(
      ({ rule, eventType, wallet, count }) =>
        `${count} × ${cleanLine(rule)}${eventType === undefined ? "" : `, ${cleanLine(eventType)}`}${wallet === null ? "" : ` (${cleanLine(wallet)})`}`,
    )
    .join(", ");
}

function standingLines({ content: { standing }, sealedAtMs }: Message, zone: string): string[] {
  if (standing === undefined) return [];
  const lines = standing.alerts.map(({ id, severity, summary, textAtMs, gone, until }) => {
    const asOf = textAtMs === undefined ? "" : `, as of ${shortTime(textAtMs, sealedAtMs, zone)}`;
    const better = until === undefined ? "" : ` (${ownLine(until)})`;
    return `${gone ? `Ending, was ${severity}` : `Also firing, ${severity}`}: ${ownLine(summary)}${better}${asOf} (#${id})`;
  });
  return standing.more === 0 ? lines : [...lines, `Also firing: ${standing.more} more`];
}

/** With its date where that may not be today's. */
function shortTime(ms: number, nowMs: number, zone: string): string {
  return (nowMs - ms > 12 * 3_600_000 ? formatTime : timeOfDay)(ms, zone);
}

function lateNote({ content, sealedAtMs }: Message, late: Late | undefined): string | null {
  const trueTimes = "The times below are the true ones.";
  if (late?.insteadOf !== undefined) {
    const held = late.heldMs > lateAfterMs ? ` Held ${formatDurationMs(late.heldMs)}. ${trueTimes}` : "";
    return `In place of ${late.insteadOf}, who is on duty and did not get it: ${cleanLine(late.because)}.${held}`;
  }
  if (late)
    return `Delivered late: held ${formatDurationMs(late.heldMs)}, because ${cleanLine(late.because)}. ${trueTimes}`;
  // Quiet changes of an incident wait on purpose.
  if (content.incident !== undefined) return null;
  const oldestMs = Math.min(...content.items.map(({ change }) => change.atMs));
  const waitedMs = sealedAtMs - oldestMs;
  if (content.items.length === 0 || waitedMs <= lateAfterMs) return null;
  return `Delivered late: held ${formatDurationMs(waitedMs)}. ${trueTimes}`;
}

/** The words that lead an alert change. Only a recovery is called resolved. */
export function leadOf(change: AlertChange): string {
  const { alert } = change;
  if (alert.drill) return "DRILL";
  switch (change.kind) {
    case "fired":
      return alert.event ? alert.severity.toUpperCase() : `FIRING ${alert.severity}`;
    case "rose":
      return `WORSE, now ${alert.severity}`;
    case "fell":
      return `BETTER, now ${alert.severity}`;
    case "worsened":
      return `WORSE, still ${alert.severity}`;
    case "changed":
      return `CHANGED, still ${alert.severity}`;
    case "reminder":
      return `STILL FIRING ${alert.severity}`;
    case "escalated":
      return `NOBODY ANSWERED, ${alert.severity}`;
    case "acknowledged":
      return alert.state === "firing" ? `ACKNOWLEDGED, still ${alert.severity}` : "ACKNOWLEDGED";
    case "ended":
      return endingLead(alert.ending);
    default:
      return unreachable(change.kind);
  }
}

function endingLead(ending: Ending | null): string {
  switch (ending) {
    case "recovered":
      return "RESOLVED";
    case "closed":
      return "CLOSED";
    case "liquidated":
      return "LIQUIDATED";
    case "deleveraged":
      return "AUTO-DELEVERAGED";
    case "flipped":
      return "FLIPPED";
    case "explained":
      return "EXPLAINED";
    case "ruleChanged":
      return "RULE CHANGED";
    case "noLongerWatched":
      return "NO LONGER WATCHED";
    case null:
      return "ENDED";
    default:
      return unreachable(ending);
  }
}

/** The meaning of an ending by which nothing was taken, so that nobody takes silence for safety. */
const endingMeaning: Readonly<Record<Exclude<Ending, "recovered" | Taking>, string>> = {
  closed: "The position is closed. Nothing of it is left to watch.",
  flipped: "The position changed its side. It is watched as a new one.",
  explained:
    "Money was paid in or out, or moved between accounts. That is no profit and no loss, so what this alert said before does not hold. If money left and it was not you, the key is in other hands.",
  ruleChanged:
    "Now: look at it yourself, do not wait for another alert. The rule was changed or removed: this alert ends, and fires anew only where a new rule holds. What it watched may be no better.",
  noLongerWatched: "Now: look at it yourself; perpwatch sends nothing more about it. It may be no better.",
};

/** The time that figures of what is gone are from; left out: they are the last ones. */
const beforeEnding: Readonly<Partial<Record<Ending, string>>> = {
  closed: "from before it was closed",
  liquidated: "from before the liquidation",
  deleveraged: "from before the deleveraging",
  flipped: "from before it changed its side",
};

/** Advice that its block shows: what to do is said while there is something to do, and where no words of the user's stand. */
function adviceOf({ change, passed, body }: MessageItem): readonly Advice[] {
  return change.kind === "ended" || passed || body !== undefined ? [] : adviceIn(change);
}

/** The advice that each item shows: about each account the newest, once, where advice about it stands first. */
function adviceOnce(items: readonly MessageItem[]): readonly (readonly Advice[])[] {
  const newest = new Map<string, { readonly atMs: number; readonly one: Advice }>();
  for (const item of items)
    for (const one of adviceOf(item)) {
      const { atMs } = item.change;
      const found = newest.get(one.account);
      if (found === undefined || atMs > found.atMs) newest.set(one.account, { atMs, one });
    }
  return items.map((item) =>
    adviceOf(item).flatMap(({ account }) => {
      const found = newest.get(account);
      newest.delete(account);
      return found ? [found.one] : [];
    }),
  );
}

interface When {
  /** IANA name. */
  readonly zone: string;
  /** The time of the newest change of the message, ms. */
  readonly newestMs: number;
}

/** A reading that is so much older than the newest of its message says so, ms. */
const recentMs = 10_000;

/** The command that acknowledges. */
interface Acknowledging {
  readonly call: CommandLine;
  /** The alerts of the message that remind until somebody does: their command stands once. Left out: each has its own. */
  readonly open?: readonly number[];
}

function renderItem(
  item: MessageItem,
  advice: readonly Advice[],
  when: When,
  acknowledging: Acknowledging,
): Block {
  const block = usual(item, advice, when, acknowledging);
  const { title, body } = item;
  if (title === undefined && body === undefined) return block;
  return {
    ...block,
    ...(title === undefined ? {} : { what: ownLine(flat(title.words)) }),
    ...(body === undefined ? {} : { description: clean(flat(body)).trim() }),
    own: {
      ...(title === undefined ? {} : { title: title.words }),
      ...(body === undefined ? {} : { body }),
      bare: title?.bare === true,
    },
  };
}

function usual(
  item: MessageItem,
  advice: readonly Advice[],
  when: When,
  acknowledging: Acknowledging,
): Block {
  const { change } = item;
  const { zone } = when;
  const { alert } = change;
  return {
    alertId: alert.id,
    rule: cleanLine(alert.rule),
    tone: item.passed ? "over" : toneOfChange(change),
    lead: ownLine(item.lead) || leadOf(change),
    what: isGone(change)
      ? `${cleanLine(alert.subject)}${change.stands === "noPositions" ? " has no positions any more" : ""} (before: ${unnamed(alert)})`
      : ownLine(alert.summary),
    figures: figuresOf(change),
    description:
      change.kind === "ended" || item.passed
        ? ""
        : descriptionOf(
            change,
            advice,
            adviceOf(item).some(({ clears }) => clears === true),
          ),
    fresh: freshness(change, when).map(ownLine),
    now: item.passed ? [] : whatNow(change, zone, acknowledging).map(ownLine),
    isOver: change.kind === "ended",
    runbook: change.kind === "ended" && alert.ending === "recovered" ? null : safeLink(alert.runbook),
  };
}

/**
 * First the value and its limit, then what to do, then the rest. Amounts that clear an account are what to do now: of the rule's own
 * words for that (`Now: …`, at the end of its description) those that ask for collateral say no more than the amounts.
 * @param hasAmounts the message says what clears the account, here or with another alert
 */
function descriptionOf(
  { alert, limit }: AlertChange,
  advice: readonly Advice[],
  hasAmounts: boolean,
): string {
  const text = told(clean(alert.description).trim());
  const at = /(?:^|\s)Now: (?!.*\sNow: )/s.exec(text)?.index ?? text.length;
  const now = text.slice(at).trim();
  const first = advice.findIndex(({ clears }) => clears === true);
  const lines = [
    limit === undefined || limit === "" ? "" : `Value ${ownLine(limit)}.`,
    ...advice
      .map(({ line }) => cleanLine(line))
      .map((line, index) =>
        index === first ? `Now: ${line.slice(0, 1).toLowerCase()}${line.slice(1)}` : line,
      ),
    hasAmounts ? besideAmounts(now) : now,
    text.slice(0, at).trim(),
  ];
  return lines.filter((line) => line !== "").join("\n");
}

/** The words of a rule that stand below amounts: without a first clause that asks for collateral, unless it has a figure of its own. */
function besideAmounts(now: string): string {
  const text = now.replace(/^Now:\s+/, "");
  const [clause = ""] = /^.*?(?:[;.](?=\s|$)|$)/s.exec(text) ?? [];
  const isSaid = /^(?:add collateral|deposit)\b[^$]*$/.test(clause);
  const rest = isSaid ? text.slice(clause.length).trim() : text;
  return rest.slice(0, 1).toUpperCase() + rest.slice(1);
}

/** A description of nothing but dashes, where a rule prints what was not told, is none. */
function told(description: string): string {
  return /^[–\s]*$/.test(description) ? "" : description;
}

/**
 * The subject is no more, or no longer judged: summary and description are its last ones, and "is 4 % from liquidation"
 * must not be read as the present. A recovery is judged like a beginning, so its texts are of the moment.
 */
function isGone({ kind, alert }: AlertChange): boolean {
  if (kind !== "ended" || alert.ending === null) return false;
  return alert.ending !== "recovered" && alert.ending !== "explained";
}

/** The summary, without the subject in front of it. */
function unnamed({ summary, subject }: AlertChange["alert"]): string {
  const [text, lead] = [ownLine(summary), `${cleanLine(subject)}: `];
  return text.length > lead.length && text.startsWith(lead) ? text.slice(lead.length) : text;
}

function figuresOf({ details }: AlertChange): Block["figures"] {
  return details.map(([name, value]) => [cleanLine(name), cleanLine(value)] as const);
}

/** Says of which time the figures of what is gone are; nothing where it has none. */
function figuresTime({ alert, details, happenedMs }: AlertChange, zone: string): string[] {
  if (details.length === 0 || alert.ending === null) return [];
  const where = beforeEnding[alert.ending];
  const which = where === undefined ? "The figures are the last ones" : `The figures are ${where}`;
  // A state may have been read after what happened that does not show it yet.
  const seen =
    happenedMs !== null && alert.dataAtMs > happenedMs
      ? ` at ${formatTime(happenedMs, zone)}`
      : `, seen ${formatTime(alert.dataAtMs, zone)}`;
  return [`${which}${seen}.`];
}

function freshness(change: AlertChange, { zone, newestMs }: When): string[] {
  const { alert, atMs, happenedMs } = change;
  const beforeMs = newestMs - atMs;
  const isOld = beforeMs > recentMs;
  const seenText = `${isOld ? "Old: seen" : "Seen"} ${formatTime(atMs, zone)}${isOld ? `, ${formatDurationMs(beforeMs)} before the newest here` : ""}`;
  const lines: string[] = [];
  if (happenedMs !== null) {
    const laterMs = atMs - happenedMs;
    // An alert may outlast the liquidation that ends it: that was seen, and reported, long before.
    const what = isGone(change) ? "the alert ended" : "seen";
    const seen = laterMs >= 1_000 ? `, ${what} ${formatDurationMs(laterMs)} later` : "";
    lines.push(`Happened ${formatTime(happenedMs, zone)}${seen}.`);
  }
  if (isGone(change)) {
    if (happenedMs === null) lines.push(`Ended ${formatTime(atMs, zone)}.`);
  } else if (!alert.event) {
    const ageMs = Math.max(0, atMs - alert.dataAtMs);
    if (change.past && ageMs >= 1_000) {
      lines.push(`Last seen ${formatTime(alert.dataAtMs, zone)}, ${formatDurationMs(ageMs)} ago.`);
      return [...lines, ...lifeOf(change, zone)];
    }
    // The daemon always knows its own figures.
    if (alert.subject === "daemon") return [...lines, `${seenText}.`, ...lifeOf(change, zone)];
    const age = ageMs < 1_000 ? "less than a second old" : `${formatDurationMs(ageMs)} old`;
    lines.push(
      isOld && ageMs < 1_000 ? `${seenText}.` : `${seenText}, on data ${age}${isOld ? " then" : ""}.`,
    );
  } else if (happenedMs === null) {
    lines.push(`Seen ${formatTime(atMs, zone)}.`);
  }
  return [...lines, ...lifeOf(change, zone)];
}

/** Sentences about when an alert fired and ended. */
function lifeOf(change: AlertChange, zone: string): string[] {
  const { alert, atMs } = change;
  const lines: string[] = [];
  if (change.kind === "ended") {
    const lastedMs = (alert.endedAtMs ?? atMs) - alert.firedAtMs;
    lines.push(
      `Fired ${formatTime(alert.firedAtMs, zone)}, lasted ${formatDurationMs(Math.max(0, lastedMs))}.`,
    );
  } else if (alert.alreadySo && !alert.event && change.kind === "fired") {
    lines.push("Already so when perpwatch started watching.");
  } else if (!alert.event && change.kind !== "fired") {
    lines.push(`Firing since ${formatTime(alert.firedAtMs, zone)}.`);
  }
  return lines;
}

/** True of an item that says how its reminders stop. */
function isOpenItem({ change, passed, body }: MessageItem): boolean {
  const { kind, alert } = change;
  return (
    !passed && body === undefined && kind !== "ended" && kind !== "fell" && !alert.drill && isOpen(change)
  );
}

function whatNow(change: AlertChange, zone: string, { call, open = [] }: Acknowledging): string[] {
  const { alert } = change;
  if (change.kind === "ended")
    return [...meaningOf(change), ...(isGone(change) ? figuresTime(change, zone) : [])];
  if (alert.acknowledgedBy !== null) {
    const when = alert.acknowledgedAtMs === null ? "" : ` at ${formatTime(alert.acknowledgedAtMs, zone)}`;
    const quiet = change.quietIfAcknowledged === undefined ? "" : `: quiet ${change.quietIfAcknowledged}`;
    return [`Acknowledged by ${cleanLine(alert.acknowledgedBy)}${when}${quiet}.`];
  }
  if (alert.drill) return ["That it reached you is all that it was for."];
  if (alert.event || alert.severity === "info" || change.kind === "fell") return [];
  const quiet = change.quietIfAcknowledged === undefined ? "" : ` ${change.quietIfAcknowledged}`;
  const own = call(`alerts ack ${alert.id}`);
  if (open.length < 2) return [`To stop the reminders${quiet}: ${own}`];
  if (alert.id !== open[0]) return quiet === "" ? [] : [`Once acknowledged it is quiet${quiet}.`];
  return [
    `To stop the reminders${quiet}: ${own}`,
    `${open.length === 2 ? "Both" : `All ${open.length}`} of them: ${call(`alerts ack ${open.join(" ")}`)}`,
  ];
}

function meaningOf({ alert, stands }: AlertChange): string[] {
  if (alert.ending === null) return [];
  if (alert.ending === "recovered" && stands === "noData")
    return ["What this alert listed is read again. Other data are still missing."];
  if (alert.ending === "recovered" && stands === "firing")
    return ["What this alert listed is read again. Look at what fires now."];
  if (alert.ending === "closed" && stands === "another")
    return ["It was replaced by another position of the same name, which is watched as a new one."];
  if (alert.ending === "closed" && stands === "noPositions")
    return ["The account has no positions any more."];
  if (alert.ending === "recovered") return [];
  if (alert.ending === "flipped" && (stands === "long" || stands === "short"))
    return [`The position changed its side: it is ${stands} now, and watched as a new one.`];
  if (alert.ending === "ruleChanged" && alert.acknowledgedBy !== null)
    return [
      endingMeaning.ruleChanged,
      `The acknowledgement by ${cleanLine(alert.acknowledgedBy)} ends with it.`,
    ];
  if (!isTaking(alert.ending)) return [endingMeaning[alert.ending]];
  return [takingMeaning(alert, alert.ending, stands)];
}

/** Says what to look at after the exchange took something. */
function takingMeaning(
  { subject, symbol }: AlertChange["alert"],
  ending: Taking,
  stands: AlertChange["stands"],
): string {
  const account = cleanLine(subject).split("/").slice(0, 2).join("/");
  const took = ending === "deleveraged" ? "auto-deleveraged" : "liquidated";
  if (stands === "noPositions")
    return `Now: look at what is left of the collateral of ${account}; the exchange ${took} what it held.`;
  if (symbol === null)
    return `Now: look at what is left of ${account}; the exchange ${took} something of it.`;
  const look =
    ending === "deleveraged"
      ? "look whether a hedge of it elsewhere stands alone"
      : `look at what is left of ${account}`;
  const other =
    stands === "another"
      ? " Another one of the same name stands there now, and is watched as a new one."
      : "";
  return `Now: ${look}; the exchange ${took} the position.${other}`;
}

function toneOfChange(change: AlertChange): Tone {
  if (change.alert.drill) return "test";
  if (change.kind !== "ended") return change.alert.severity;
  if (change.alert.ending === "recovered") return "good";
  return isTaking(change.alert.ending) ? "critical" : "over";
}

function stillCritical({ standing }: Message["content"]): boolean {
  return standing?.alerts.some(({ severity, gone }) => severity === "critical" && !gone) === true;
}

function toneOf(message: Message, blocks: readonly Block[], green: Tone): Tone {
  if (message.content.kind === "test") return "test";
  if (message.content.items.some(({ change }) => change.alert.drill)) return "test";
  if (message.content.resolved) return green;
  const order: readonly Tone[] = ["critical", "warning", "info", "over", "good"];
  return order.find((tone) => blocks.some((block) => block.tone === tone)) ?? message.severity;
}

/** The words for how all of several ended; empty where there are none that fit all. */
function endedAlike([first, ...others]: readonly Block[]): string {
  const over = first !== undefined && (first.tone === "over" || first.tone === "good");
  return over && others.every(({ lead }) => lead === first.lead) ? `${first.lead}: ` : "";
}

/** True of an alert that fires and reminds until somebody acknowledges it. */
function isOpen({ alert }: AlertChange): boolean {
  return (
    alert.state === "firing" && !alert.event && alert.severity !== "info" && alert.acknowledgedBy === null
  );
}

/** The account of an account or a position; empty for anything else. */
function accountIn(subject: string): readonly string[] {
  return /^[^/]+\/\d+\.\d+(?=\/|$)/.exec(cleanLine(subject)) ?? [];
}

/** `, north/0.0 got worse`: other accounts in a message that are critical and got worse, which its first alert does not say. */
function worseIn([first, ...others]: readonly MessageItem[]): string {
  const worse = others.flatMap(({ change: { kind, alert }, passed }) => {
    const isWorse = (kind === "worsened" || kind === "rose") && alert.severity === "critical" && !passed;
    return isWorse ? accountIn(alert.subject) : [];
  });
  const accounts = [...new Set(worse)].filter(
    (name) => !accountIn(first!.change.alert.subject).includes(name),
  );
  if (accounts.length === 0) return "";
  return `, ${accounts.slice(0, 3).join(", ")}${accounts.length > 3 ? " and others" : ""} got worse`;
}

function headlineOf({ content }: Message, blocks: readonly Block[]): string {
  const title = ownLine(content.title);
  const [first, ...others] = blocks;
  const [item] = content.items;
  if (first === undefined || item === undefined) return title || `${blocks.length} alerts`;
  if (others.length > 0) {
    // Whoever is woken reads what is worst, which stands first, not a count.
    const loud = first.tone === "critical" || first.tone === "warning";
    if (!loud) return endedAlike(blocks) + (title || `${blocks.length} alerts`);
    const more = others.length + (content.more ?? 0);
    const open = content.items.filter(({ change }) => isOpen(change)).length;
    const but = item.change.kind !== "acknowledged" || open === 0 ? "" : `, ${open} not acknowledged`;
    return `${ledBy(first, first.what)} (+${more} more ${more === 1 ? "alert" : "alerts"}${but}${worseIn(content.items)})`;
  }
  if (first.own?.title !== undefined) return ledBy(first, first.what);
  const stale = isGone(item.change) && title.includes(ownLine(item.change.alert.summary));
  const text = stale || title === "" ? first.what : title;
  return text.toLowerCase().startsWith(first.lead.toLowerCase()) ? text : `${first.lead}: ${text}`;
}
