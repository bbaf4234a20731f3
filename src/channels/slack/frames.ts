/** Parses frames of Slack's Socket Mode, strictly. Pure. */
import { z } from "zod";
import { cleanLine, shorten } from "../message/text.ts";
import { tryParseJson } from "../post.ts";

export interface Press {
  readonly person: { readonly id: string; readonly name: string };
  readonly channelId: string;
  /** The thread of the message; null: it is in the channel. */
  readonly threadTs: string | null;
  readonly actionId: string;
}

const envelope = z.object({
  type: z.string(),
  reason: z.string().optional(),
  envelope_id: z.string().max(200).optional(),
  payload: z.unknown().optional(),
});
const payload = z.object({
  type: z.literal("block_actions"),
  user: z.object({ id: z.string().max(40), username: z.string().optional(), name: z.string().optional() }),
  channel: z.object({ id: z.string().max(40) }),
  message: z.object({ thread_ts: z.string().max(40).optional() }).optional(),
  actions: z.array(z.object({ action_id: z.string().max(255) })).max(25),
});

/** @returns null for an invalid frame */
export function readFrame(text: string): z.output<typeof envelope> | null {
  return envelope.safeParse(tryParseJson(text)).data ?? null;
}

/** @param raw payload of a frame */
export function readPresses(raw: unknown): readonly Press[] {
  const { data } = payload.safeParse(raw);
  if (data === undefined) return [];
  const name = shorten(cleanLine(data.user.username ?? data.user.name ?? ""), 60);
  return data.actions.map(({ action_id }) => ({
    person: { id: data.user.id, name: `${name} (slack ${data.user.id})`.trim() },
    channelId: data.channel.id,
    threadTs: data.message?.thread_ts ?? null,
    actionId: action_id,
  }));
}
