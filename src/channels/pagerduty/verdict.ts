/** The meaning of PagerDuty's answers. Pure. */
import type { SendResult } from "../channel.ts";
import { type Answer, type NoAnswer, type Poster, parsed, textIn } from "../post.ts";

interface Said {
  readonly status?: unknown;
  readonly message?: unknown;
  readonly errors?: unknown;
  readonly dedup_key?: unknown;
}

/** The receipt is the key of the event. */
export function verdict(answer: Answer | NoAnswer, poster: Poster): SendResult {
  const said = answer.kind === "answer" ? (parsed(answer.text) as Said | undefined) : undefined;
  const words = [said?.message, ...(Array.isArray(said?.errors) ? said.errors : [])]
    .flatMap((one) => textIn(one) ?? [])
    .join("; ");
  const receipt = typeof said?.dedup_key === "string" ? said.dedup_key : "accepted";
  const result = poster.verdict(
    answer,
    said?.status === "success" ? receipt : null,
    said === undefined ? undefined : words,
  );
  return result.kind === "delivered" ? result : ofKey(result, words);
}

/** A key that is refused is refused for every message. */
function ofKey(result: Exclude<SendResult, { kind: "delivered" }>, words: string): SendResult {
  const wrongKey = result.kind === "refused" && /routing[ _]key|integration/i.test(words);
  return wrongKey ? { ...result, failure: "authentication", channelBroken: true } : result;
}
