/** Classifies Telegram's answers. Pure. */
import type { SendResult } from "../channel.ts";
import {
  type Answer,
  boundedWaitMs,
  type NoAnswer,
  type Poster,
  textOrNumber,
  tryParseJson,
} from "../post.ts";

export interface Reply {
  readonly ok?: unknown;
  readonly description?: unknown;
  readonly result?: { readonly message_id?: unknown; readonly username?: unknown; readonly title?: unknown };
  readonly parameters?: { readonly retry_after?: unknown };
}

export function replyIn(answer: Answer | NoAnswer): Reply {
  return answer.kind === "answer" ? ((tryParseJson(answer.text) ?? {}) as Reply) : {};
}

export function verdict(answer: Answer | NoAnswer, reply: Reply, poster: Poster): SendResult {
  const words = typeof reply.description === "string" ? reply.description : undefined;
  const receipt = reply.ok === true ? (textOrNumber(reply.result?.message_id) ?? "accepted") : null;
  const result = poster.verdict(answer, receipt, words);
  // The wait is in the answer's body.
  const seconds = Number(textOrNumber(reply.parameters?.retry_after));
  if (result.kind === "retry" && result.failure === "rate-limited" && seconds > 0)
    return { ...result, afterMs: boundedWaitMs(seconds * 1_000) };
  // The chat does not exist or has moved; every message would be refused.
  const ofChat = /chat not found|chat_id|upgraded to a supergroup|thread not found|not enough rights/i;
  if (result.kind === "refused" && !result.channelBroken && ofChat.test(words ?? ""))
    return { ...result, channelBroken: true };
  // Telegram answers an invalid token like an unknown path.
  if (result.kind === "refused" && answer.kind === "answer" && answer.status === 404)
    return { ...result, failure: "authentication" };
  return result;
}
