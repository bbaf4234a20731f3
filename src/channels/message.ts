/**
 * From a sealed message to what a person reads, before any channel's own dress. Pure: the same message gives the same
 * text on every attempt, but for a note that it is late.
 *
 * Whoever is woken by it gets the answers in this order: what, how bad, how fresh the data is, what now.
 */
import type { Advice, AlertChange } from "../domain/alerts/alert.ts";
import {
  lateAfterMs,
  type Message,
  type MessageItem,
  maxInFull,
  maxReported,
} from "../domain/alerts/delivery.ts";
import { flat } from "../domain/alerts/template-data.ts";
import { formatDurationMs } from "../domain/text/duration.ts";
import { formatTime, timeOfDay } from "../domain/text/time-text.ts";
import type { Late } from "./channel.ts";
import { type Acknowledging, isOpenItem, whatNow } from "./message/acknowledging.ts";
import { type CommandLine, plainCommandLine } from "./message/command-line.ts";
import { adviceOf, adviceOnce, descriptionOf } from "./message/description.ts";
import { isGone } from "./message/ending-texts.ts";
import { freshness, type When } from "./message/freshness.ts";
import { headlineOf } from "./message/headline.ts";
import { leadOf, toneOfChange } from "./message/lead.ts";
import type { Block, Rendering, Section, Tone } from "./message/rendering.ts";
import { clean, cleanLine, ownLine, safeLink, shorten } from "./message/text.ts";

export interface RenderOptions {
  /** IANA name; default UTC. */
  readonly timezone?: string;
  /** Default: `perpwatch …`. */
  readonly commandLine?: CommandLine;
  /** Each block is read without the others. Left out: together, so advice about an account stands once. */
  readonly apart?: boolean;
}

/** @param late set if the message leaves long after it became pending */
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

/** The summary, without the subject in front of it. */
function unnamed({ summary, subject }: AlertChange["alert"]): string {
  const [text, lead] = [ownLine(summary), `${cleanLine(subject)}: `];
  return text.length > lead.length && text.startsWith(lead) ? text.slice(lead.length) : text;
}

function figuresOf({ details }: AlertChange): Block["figures"] {
  return details.map(([name, value]) => [cleanLine(name), cleanLine(value)] as const);
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
