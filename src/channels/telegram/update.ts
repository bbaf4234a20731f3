/** Parses Telegram's updates, strictly. Pure. */
import { z } from "zod";
import { cleanLine, shorten } from "../message/text.ts";

export interface Press {
  readonly id: string;
  readonly person: { readonly id: string; readonly name: string };
  readonly chat: { readonly id: string; readonly username: string | null };
  readonly topicId: number | null;
  readonly messageId: number;
  readonly data: string;
}

const number = z.int().transform(String);
const update = z.object({
  update_id: z.int(),
  callback_query: z
    .object({
      id: z.string(),
      from: z.object({ id: number, first_name: z.string().default(""), username: z.string().optional() }),
      message: z.object({
        message_id: z.int(),
        message_thread_id: z.int().optional(),
        chat: z.object({ id: number, username: z.string().optional() }),
      }),
      data: z.string(),
    })
    .optional()
    .catch(undefined),
});

/** @returns null for an update without an id; `press` null: it is not a button press */
export function readUpdate(raw: unknown): { readonly id: number; readonly press: Press | null } | null {
  const { data } = update.safeParse(raw);
  if (data === undefined) return null;
  const query = data.callback_query;
  return { id: data.update_id, press: query === undefined ? null : pressOf(query) };
}

function pressOf({ id, from, message, data }: NonNullable<z.output<typeof update>["callback_query"]>): Press {
  const name = shorten(cleanLine(from.username ?? from.first_name), 60);
  return {
    id,
    person: { id: from.id, name: `${name} (telegram ${from.id})` },
    chat: { id: message.chat.id, username: message.chat.username ?? null },
    topicId: message.message_thread_id ?? null,
    messageId: message.message_id,
    data,
  };
}
