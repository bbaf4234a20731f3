/** Classifies PagerDuty's answers. Pure. */
import type { SendResult } from "../channel.ts";
import { type Answer, type NoAnswer, type Poster, textOrNumber, tryParseJson } from "../post.ts";

interface Reply {
  readonly status?: unknown;
  readonly message?: unknown;
  readonly errors?: unknown;
  readonly dedup_key?: unknown;
}

/** The receipt is the event's key. */
export function verdict(answer: Answer | NoAnswer, poster: Poster): SendResult {
  const reply = answer.kind === "answer" ? (tryParseJson(answer.text) as Reply | undefined) : undefined;
  const words = [reply?.message, ...(Array.isArray(reply?.errors) ? reply.errors : [])]
    .flatMap((one) => textOrNumber(one) ?? [])
    .join("; ");
  const receipt = typeof reply?.dedup_key === "string" ? reply.dedup_key : "accepted";
  const result = poster.verdict(
    answer,
    reply?.status === "success" ? receipt : null,
    reply === undefined ? undefined : words,
  );
  return result.kind === "delivered" ? result : keyRefusal(result, words);
}

/** Turns a refused key into a broken channel: it is refused for every message. */
function keyRefusal(result: Exclude<SendResult, { kind: "delivered" }>, words: string): SendResult {
  const wrongKey = result.kind === "refused" && /routing[ _]key|integration/i.test(words);
  return wrongKey ? { ...result, failure: "authentication", channelBroken: true } : result;
}
