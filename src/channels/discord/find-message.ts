/** Searches Discord for a message by the id in its footer, to find out whether an unanswered attempt arrived. */
import { z } from "zod";
import type { Message } from "../../domain/alerts/delivery.ts";
import type { ApiAnswer } from "./api.ts";
import type { Destination } from "./destination.ts";
import { snowflakeAt } from "./message-location.ts";

/** Maximum difference between Discord's clock and ours. */
const clockSlackMs = 5 * 60_000;
const maxPages = 5;
const pageLength = 100;

/** @returns the message; null: it is not there; a problem: it is not known */
export async function findMessage(
  message: Message,
  threadId: string | null,
  destination: Destination,
  signal: AbortSignal,
): Promise<ApiAnswer | null> {
  let after = snowflakeAt(message.sealedAtMs - clockSlackMs);
  for (let page = 0; page < maxPages; page++) {
    const answer = await destination.after(after, threadId, signal);
    if (answer === null || answer.kind === "problem") return answer;
    const messages = readMessages(answer.data);
    const found = messages.find((one) => one.author.bot === true && carries(one, message.id));
    if (found !== undefined) return { kind: "ok", data: found };
    const newest = messages.map(({ id }) => BigInt(id)).reduce((a, b) => (a > b ? a : b), 0n);
    if (messages.length < pageLength) return null;
    after = String(newest);
  }
  return null;
}

/** The fields that identify our messages. */
const wire = z.object({
  id: z.string().regex(/^\d{1,20}$/),
  content: z.string().catch(""),
  author: z.object({ bot: z.boolean().optional() }).catch({}),
  embeds: z.array(z.object({ footer: z.object({ text: z.string().optional() }).optional() })).catch([]),
});
type WireMessage = z.output<typeof wire>;

/** The messages of a page; other entries are omitted. */
function readMessages(data: unknown): readonly WireMessage[] {
  const entries = Array.isArray(data) ? data.slice(0, pageLength) : [];
  return entries.flatMap((one) => wire.safeParse(one).data ?? []);
}

function carries(message: WireMessage, id: string): boolean {
  const texts = [message.content, ...message.embeds.map(({ footer }) => footer?.text ?? "")];
  return texts.some((text) => text.trimEnd().endsWith(` ${id}`));
}
