/** Classifies Pushover's answers. Pure. */
import type { SendResult } from "../channel.ts";
import { cleanLine, shorten } from "../message/text.ts";
import { type Answer, type NoAnswer, type Poster, textOrNumber, tryParseJson } from "../post.ts";

interface Reply {
  /** 1: success. */
  readonly status?: unknown;
  readonly request?: unknown;
  readonly receipt?: unknown;
  readonly token?: unknown;
  readonly user?: unknown;
  readonly errors?: unknown;
}

/** The state of an emergency in Pushover. */
export interface EmergencyState {
  readonly acknowledged?: unknown;
  readonly acknowledged_by?: unknown;
  readonly acknowledged_by_device?: unknown;
  readonly expired?: unknown;
}

export function replyIn(answer: Answer | NoAnswer): Reply {
  return answer.kind === "answer" ? ((tryParseJson(answer.text) ?? {}) as Reply) : {};
}

/** The receipt of an emergency is Pushover's receipt; that of any other message is the request id. */
export function verdict(answer: Answer | NoAnswer, poster: Poster): SendResult {
  const reply = replyIn(answer);
  const words = Array.isArray(reply.errors)
    ? reply.errors.flatMap((one) => textOrNumber(one) ?? []).join("; ")
    : undefined;
  const receipt =
    reply.status === 1 ? (textOrNumber(reply.receipt) ?? textOrNumber(reply.request) ?? "accepted") : null;
  const result = poster.verdict(answer, receipt, words);
  if (result.kind !== "refused") return result;
  if (reply.token === "invalid") return { ...result, failure: "authentication", channelBroken: true };
  return reply.user === "invalid" ? { ...result, channelBroken: true } : result;
}

/** Names the person who acknowledged, for records: the device and the first characters of the user key. */
export function acknowledgerOf({
  acknowledged_by: user,
  acknowledged_by_device: device,
}: EmergencyState): string {
  const named = typeof device === "string" && device !== "" ? device : "somebody";
  const key = typeof user === "string" ? ` ${user.slice(0, 5)}…` : "";
  return `${shorten(cleanLine(named), 40)} (pushover${cleanLine(key) === "" ? "" : ` ${cleanLine(key)}`})`;
}
