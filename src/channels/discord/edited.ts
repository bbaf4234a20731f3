/** A sent message as it stands on Discord after what was told since, by editing it. Pure. */
import type { Message, MessageItem } from "../../domain/delivery.ts";
import { formatTime } from "../../domain/time-text.ts";
import { asTold } from "../as-told.ts";
import { leadOf } from "../message/lead.ts";
import { type RenderOptions, render } from "../message.ts";
import type { Block } from "../rendering.ts";
import { cleanLine, ownLine } from "../text.ts";
import { type DiscordBody, discordBody, type Ended, endedBody, endingTone } from "./render.ts";

/** @returns the message with what was told since, those of its alerts that are over, and its body */
export function editedBody(
  message: Message,
  since: readonly Message[],
  options: RenderOptions,
): { readonly told: Message; readonly over: ReadonlySet<number>; readonly body: DiscordBody } {
  const now = asTold(message, since);
  const hasList = message.content.incident === undefined;
  const told = hasList ? asTold(message, since.map(withoutEnds)) : marked(message, since, now);
  const ended = endingsIn(now, options.timezone ?? "UTC");
  const over = new Set(ended.map(({ alertId }) => alertId));
  const rendered = render(told, options);
  const blocks = rendered.blocks.map((block, index) =>
    over.has(block.alertId) && !block.isOver
      ? settled(block, told.content.items[index]!, now, options.timezone ?? "UTC")
      : block,
  );
  const rendering = { ...rendered, blocks, ...headlineOf(told, over, options) };
  const body =
    ended.length === 0 ? discordBody(rendering, null, hasList) : endedBody(rendering, ended, hasList);
  return { told, over, body };
}

/**
 * An alert that is over, as it was told before its end: its title, when it fired and who acknowledged it, and nothing that was so or was
 * asked for then. Of one that recovered it says how that stands.
 * @param now the message with the ends that were told since
 */
function settled(block: Block, { change: { alert } }: MessageItem, now: Message, zone: string): Block {
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

/** The headline of the first message of an incident, which is about what fires; none of its own where nothing is over, or all is. */
function headlineOf(
  told: Message,
  over: ReadonlySet<number>,
  options: RenderOptions,
): { readonly headline?: string } {
  const { content } = told;
  const firing = content.items.filter(({ change }) => !over.has(change.alertId));
  if (content.incident === undefined || over.size === 0 || firing.length === 0) return {};
  const { headline } = render({ ...told, content: { ...content, items: firing } }, options);
  return { headline };
}

/**
 * The first message of an incident with all that was told since: what is over comes last, as it was told before its end.
 * @param told it with the ends, too
 */
function marked(message: Message, since: readonly Message[], told: Message): Message {
  const before = new Map(
    asTold(message, since.map(withoutEnds)).content.items.map((item) => [item.change.alertId, item]),
  );
  const isOver = ({ change }: MessageItem) => change.kind === "ended";
  // In the order in which they stood: the title that is struck is the one that was read.
  const places = [...before.keys()];
  const place = ({ change }: MessageItem) => places.indexOf(change.alertId);
  const over = told.content.items.filter(isOver).toSorted((a, b) => place(a) - place(b));
  const items = [
    ...told.content.items.filter((item) => !isOver(item)),
    ...over.map((item) => before.get(item.change.alertId) ?? item),
  ];
  return { ...told, content: { ...told.content, items } };
}

function withoutEnds(message: Message): Message {
  const { content } = message;
  return {
    ...message,
    content: { ...content, items: content.items.filter(({ change }) => change.kind !== "ended") },
  };
}

/** The ends that a message tells of. */
function endingsIn({ content }: Message, timezone: string): Ended[] {
  return content.items
    .filter(({ change }) => change.kind === "ended")
    .map(({ change, lead }) => ({
      alertId: change.alertId,
      words: `${ownLine(lead)} ${formatTime(change.atMs, timezone)}`,
      tone: endingTone(leadOf(change)),
    }));
}
