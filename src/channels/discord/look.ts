/** Looks for a message of ours by its id, which stands in the footer: what an attempt left of which no answer came. */
import type { Message } from "../../domain/delivery.ts";
import type { ApiAnswer } from "./api.ts";
import type { Destination } from "./destination.ts";
import { snowflakeAt } from "./place.ts";

/** Discord's clock and ours may differ by this much. */
const clockSlackMs = 5 * 60_000;
const mostPages = 5;

/** @returns the message; null: it is not there; a problem: nobody knows */
export async function lookFor(
  message: Message,
  threadId: string | null,
  destination: Destination,
  signal: AbortSignal,
): Promise<ApiAnswer | null> {
  let after = snowflakeAt(message.sealedAtMs - clockSlackMs);
  for (let page = 0; page < mostPages; page++) {
    const answer = await destination.after(after, threadId, signal);
    if (answer === null || answer.kind === "problem") return answer;
    const messages = Array.isArray(answer.data) ? (answer.data as WireMessage[]) : [];
    const found = messages.find((one) => one.author?.bot === true && carries(one, message.id));
    if (found !== undefined) return { kind: "ok", data: found };
    const newest = messages.map(({ id }) => BigInt(id)).reduce((a, b) => (a > b ? a : b), 0n);
    if (messages.length < 100) return null;
    after = String(newest);
  }
  return null;
}

interface WireMessage {
  readonly id: string;
  readonly content?: string;
  readonly author?: { readonly bot?: boolean };
  readonly embeds?: readonly { readonly footer?: { readonly text?: string } }[];
}

function carries(message: WireMessage, id: string): boolean {
  const texts = [message.content ?? "", ...(message.embeds ?? []).map(({ footer }) => footer?.text ?? "")];
  return texts.some((text) => text.trimEnd().endsWith(` ${id}`));
}
