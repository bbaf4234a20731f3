/** The meaning of Pushover's answers. Pure. */
import type { SendResult } from "../channel.ts";
import { type Answer, type NoAnswer, type Poster, parsed, textIn } from "../post.ts";
import { cleanLine, shorten } from "../text.ts";

interface Said {
  /** 1: it did what was asked. */
  readonly status?: unknown;
  readonly request?: unknown;
  readonly receipt?: unknown;
  readonly token?: unknown;
  readonly user?: unknown;
  readonly errors?: unknown;
}

/** An emergency, as its receipt tells of it. */
export interface State {
  readonly acknowledged?: unknown;
  readonly acknowledged_by?: unknown;
  readonly acknowledged_by_device?: unknown;
  readonly expired?: unknown;
}

export function saidIn(answer: Answer | NoAnswer): Said {
  return answer.kind === "answer" ? ((parsed(answer.text) ?? {}) as Said) : {};
}

/** The receipt of an emergency is Pushover's own, of another message the request's id. */
export function verdict(answer: Answer | NoAnswer, poster: Poster): SendResult {
  const said = saidIn(answer);
  const words = Array.isArray(said.errors)
    ? said.errors.flatMap((one) => textIn(one) ?? []).join("; ")
    : undefined;
  const receipt = said.status === 1 ? (textIn(said.receipt) ?? textIn(said.request) ?? "accepted") : null;
  const result = poster.verdict(answer, receipt, words);
  if (result.kind !== "refused") return result;
  if (said.token === "invalid") return { ...result, failure: "authentication", channelBroken: true };
  return said.user === "invalid" ? { ...result, channelBroken: true } : result;
}

/** The person who acknowledged, for records: the device, and as much of the user key as tells people apart. */
export function byOf({ acknowledged_by: user, acknowledged_by_device: device }: State): string {
  const named = typeof device === "string" && device !== "" ? device : "somebody";
  const key = typeof user === "string" ? ` ${user.slice(0, 5)}…` : "";
  return `${shorten(cleanLine(named), 40)} (pushover${cleanLine(key) === "" ? "" : ` ${cleanLine(key)}`})`;
}
