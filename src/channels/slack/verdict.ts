/** The meaning of Slack's answers. */
import type { SendResult } from "../channel.ts";
import { type Answer, type NoAnswer, type Poster, parsed } from "../post.ts";

/** The meaning of errors; one that is not listed is about the message. */
const denied = new Set(
  [
    "invalid_auth",
    "not_authed",
    "account_inactive",
    "token_revoked",
    "token_expired",
    "no_permission",
  ].concat([
    "missing_scope",
    "ekm_access_denied",
    "org_login_required",
    "not_allowed_token_type",
    "invalid_token",
    "no_service_id",
  ]),
);
const gone = new Set(
  ["channel_not_found", "not_in_channel", "is_archived", "restricted_action", "channel_is_archived"].concat([
    "no_service",
    "no_team",
    "team_disabled",
    "action_prohibited",
    "posting_to_general_channel_denied",
    "user_not_found",
  ]),
);
const unwell = new Set([
  "internal_error",
  "fatal_error",
  "service_unavailable",
  "request_timeout",
  "rollup_error",
  "team_added_to_org",
]);
/** Its dress is refused: as plain text it may be taken. */
export const ill: ReadonlySet<string> = new Set(
  [
    "invalid_blocks",
    "invalid_blocks_format",
    "invalid_attachments",
    "invalid_payload",
    "msg_blocks_too_long",
  ].concat(["too_many_attachments", "attachment_payload_limit_exceeded", "invalid_arguments"]),
);

/** The thread takes nothing: outside of it the message may be taken. */
export const threadless: ReadonlySet<string> = new Set([
  "cannot_reply_to_message",
  "message_not_found",
  "restricted_action_non_threadable_channel",
  "restricted_action_thread_locked",
]);

export interface Judged {
  readonly result: SendResult;
  /** Slack's own word; null where it took the message or said nothing. */
  readonly error: string | null;
}

interface Said {
  readonly ok?: unknown;
  readonly error?: unknown;
  readonly ts?: unknown;
  readonly success?: unknown;
  readonly result?: unknown;
}

/** The answers of Slack's webhooks, and of servers that take the same messages (Mattermost, Rocket.Chat, Zulip). */
function isTaken(text: string, said: Said | undefined): boolean {
  return (
    text.toLowerCase() === "ok" || said?.ok === true || said?.success === true || said?.result === "success"
  );
}

/** A bot's answers are all 200 with `ok` in the body; a webhook's are a status with a word, "ok" for a message that it took. */
export function judge(answer: Answer | NoAnswer, poster: Poster, by: "bot" | "webhook" = "bot"): Judged {
  if (answer.kind === "none") return { result: poster.verdict(answer, ""), error: null };
  // Its words say if it took the message.
  if (answer.cut !== undefined) return { result: poster.verdict(answer.cut, ""), error: null };
  const said = parsed(answer.text) as Said | undefined;
  const failed = said?.ok === false || answer.status >= 400;
  const word = typeof said?.error === "string" ? said.error : answer.text.trim();
  const error = failed && /^[a-z_]{2,60}$/.test(word) ? word : null;
  const detail = `Slack answered ${error ?? `${answer.status}`}`;
  if (error === "ratelimited" || error === "rate_limited" || error === "message_limit_exceeded")
    return { result: { ...poster.verdict({ ...answer, status: 429 }, ""), detail } as SendResult, error };
  if (error !== null && answer.status !== 429) {
    if (denied.has(error))
      return { result: { kind: "refused", failure: "authentication", detail, channelBroken: true }, error };
    if (gone.has(error))
      return { result: { kind: "refused", failure: "rejected", detail, channelBroken: true }, error };
    if (unwell.has(error) || answer.status >= 500)
      return { result: { kind: "retry", failure: "server-error", detail, afterMs: null }, error };
    return { result: { kind: "refused", failure: "rejected", detail, channelBroken: false }, error };
  }
  const taken = by === "bot" ? said?.ok === true : isTaken(answer.text.trim(), said);
  const receipt = typeof said?.ts === "string" ? said.ts : "accepted";
  return { result: poster.verdict(answer, taken ? receipt : null, error ?? undefined), error };
}
