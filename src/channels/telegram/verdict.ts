/** The meaning of Telegram's answers. Pure. */
import type { SendResult } from "../channel.ts";
import { type Answer, bounded, type NoAnswer, type Poster, parsed, textIn } from "../post.ts";

export interface Said {
  readonly ok?: unknown;
  readonly description?: unknown;
  readonly result?: { readonly message_id?: unknown; readonly username?: unknown; readonly title?: unknown };
  readonly parameters?: { readonly retry_after?: unknown };
}

export function saidIn(answer: Answer | NoAnswer): Said {
  return answer.kind === "answer" ? ((parsed(answer.text) ?? {}) as Said) : {};
}

export function verdict(answer: Answer | NoAnswer, said: Said, poster: Poster): SendResult {
  const words = typeof said.description === "string" ? said.description : undefined;
  const receipt = said.ok === true ? (textIn(said.result?.message_id) ?? "accepted") : null;
  const result = poster.verdict(answer, receipt, words);
  // The time to wait stands in the answer's body.
  const seconds = Number(textIn(said.parameters?.retry_after));
  if (result.kind === "retry" && result.failure === "rate-limited" && seconds > 0)
    return { ...result, afterMs: bounded(seconds * 1_000) };
  // The chat is gone, moved, or never was: no message will be taken.
  const ofChat = /chat not found|chat_id|upgraded to a supergroup|thread not found|not enough rights/i;
  if (result.kind === "refused" && !result.channelBroken && ofChat.test(words ?? ""))
    return { ...result, channelBroken: true };
  // A token that is none is answered like a path that is none.
  if (result.kind === "refused" && answer.kind === "answer" && answer.status === 404)
    return { ...result, failure: "authentication" };
  return result;
}
