/** The body of a sent Discord message with later updates. Pure. */
import type { Message, MessageItem } from "../../domain/alerts/delivery.ts";
import { formatTime } from "../../domain/text/time-text.ts";
import { leadOf } from "../message/lead.ts";
import type { Block } from "../message/rendering.ts";
import { cleanLine, ownLine } from "../message/text.ts";
import { withUpdates } from "../message/updated-message.ts";
import { type RenderOptions, render } from "../message.ts";
import { type DiscordBody, discordBody, type Ended, endedBody, endingTone } from "./render.ts";

/** @returns the updated message, its ended alerts, and its body */
export function editedBody(
  message: Message,
  since: readonly Message[],
  options: RenderOptions,
): { readonly shown: Message; readonly over: ReadonlySet<number>; readonly body: DiscordBody } {
  const now = withUpdates(message, since);
  const hasList = message.content.incident === undefined;
  const shown = hasList
    ? withUpdates(message, since.map(withoutEndings))
    : withEndedLast(message, since, now);
  const ended = endingsIn(now, options.timezone ?? "UTC");
  const over = new Set(ended.map(({ alertId }) => alertId));
  const rendered = render(shown, options);
  const blocks = rendered.blocks.map((block, index) =>
    over.has(block.alertId) && !block.isOver
      ? endedBlock(block, shown.content.items[index]!, now, options.timezone ?? "UTC")
      : block,
  );
  const rendering = { ...rendered, blocks, ...headlineOf(shown, over, options) };
  const body =
    ended.length === 0 ? discordBody(rendering, null, hasList) : endedBody(rendering, ended, hasList);
  return { shown, over, body };
}

/**
 * The block of an ended alert: its title, when it fired and who acknowledged it, without figures and requests that no
 * longer apply. For a recovered alert it has the recovery's summary.
 * @param now the message with all endings
 */
function endedBlock(block: Block, { change: { alert } }: MessageItem, now: Message, zone: string): Block {
  const end = now.content.items.find(({ change }) => change.alertId === alert.id)?.change;
  const recovered = end?.kind === "ended" && end.alert.ending === "recovered";
  const by = alert.acknowledgedBy === null ? "" : `, acknowledged by ${cleanLine(alert.acknowledgedBy)}`;
  return {
    ...block,
    description: recovered ? `${ownLine(end.alert.summary)}.` : "",
    figures: [],
    fresh: [`Fired ${formatTime(alert.firedAtMs, zone)}${by}.`],
    now: [],
    runbook: null,
  };
}

/**
 * The headline of an incident's first message, about the alerts that still fire. Empty if no alert or every alert has
 * ended.
 */
function headlineOf(
  shown: Message,
  over: ReadonlySet<number>,
  options: RenderOptions,
): { readonly headline?: string } {
  const { content } = shown;
  const firing = content.items.filter(({ change }) => !over.has(change.alertId));
  if (content.incident === undefined || over.size === 0 || firing.length === 0) return {};
  const { headline } = render({ ...shown, content: { ...content, items: firing } }, options);
  return { headline };
}

/**
 * The first message of an incident with all updates. Ended alerts come last, as they were before they ended.
 * @param shown the message with all updates, endings included
 */
function withEndedLast(message: Message, since: readonly Message[], shown: Message): Message {
  const before = new Map(
    withUpdates(message, since.map(withoutEndings)).content.items.map((item) => [item.change.alertId, item]),
  );
  const isOver = ({ change }: MessageItem) => change.kind === "ended";
  // In their original order, so that the struck title is the one that was read.
  const places = [...before.keys()];
  const place = ({ change }: MessageItem) => places.indexOf(change.alertId);
  const over = shown.content.items.filter(isOver).toSorted((a, b) => place(a) - place(b));
  const items = [
    ...shown.content.items.filter((item) => !isOver(item)),
    ...over.map((item) => before.get(item.change.alertId) ?? item),
  ];
  return { ...shown, content: { ...shown.content, items } };
}

function withoutEndings(message: Message): Message {
  const { content } = message;
  return {
    ...message,
    content: { ...content, items: content.items.filter(({ change }) => change.kind !== "ended") },
  };
}

/** The endings in a message. */
function endingsIn({ content }: Message, timezone: string): Ended[] {
  return content.items
    .filter(({ change }) => change.kind === "ended")
    .map(({ change, lead }) => ({
      alertId: change.alertId,
      words: `${ownLine(lead)} ${formatTime(change.atMs, timezone)}`,
      tone: endingTone(leadOf(change)),
    }));
}
