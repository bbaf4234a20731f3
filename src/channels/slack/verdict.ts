/** Classifies Slack's answers. */
import type { SendResult } from "../channel.ts";
import { type Answer, type NoAnswer, type Poster, tryParseJson } from "../post.ts";

/** Errors by their meaning. An unlisted error concerns the message. */
const authErrors = new Set(
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
const channelErrors = new Set(
  ["channel_not_found", "not_in_channel", "is_archived", "restricted_action", "channel_is_archived"].concat([
    "no_service",
    "no_team",
    "team_disabled",
    "action_prohibited",
    "posting_to_general_channel_denied",
    "user_not_found",
  ]),
);
const serverErrors = new Set([
  "internal_error",
  "fatal_error",
  "service_unavailable",
  "request_timeout",
  "rollup_error",
  "team_added_to_org",
]);
/** Errors of the formatting; plain text may be accepted. */
export const formatErrors: ReadonlySet<string> = new Set(
  [
    "invalid_blocks",
    "invalid_blocks_format",
    "invalid_attachments",
    "invalid_payload",
    "msg_blocks_too_long",
  ].concat(["too_many_attachments", "attachment_payload_limit_exceeded", "invalid_arguments"]),
);

/** Errors of the thread; outside of it the message may be accepted. */
export const threadErrors: ReadonlySet<string> = new Set([
  "cannot_reply_to_message",
  "message_not_found",
  "restricted_action_non_threadable_channel",
  "restricted_action_thread_locked",
]);

export interface Judgement {
  readonly result: SendResult;
  /** Slack's error code; null: the message was accepted, or there is no code. */
  readonly error: string | null;
}

interface Reply {
  readonly ok?: unknown;
  readonly error?: unknown;
  readonly ts?: unknown;
  readonly success?: unknown;
  readonly result?: unknown;
}

/** Returns true for success of Slack's webhooks and of compatible servers (Mattermost, Rocket.Chat, Zulip). */
function isAccepted(text: string, reply: Reply | undefined): boolean {
  return (
    text.toLowerCase() === "ok" ||
    reply?.ok === true ||
    reply?.success === true ||
    reply?.result === "success"
  );
}

/**
 * Classifies an answer. A bot's answers have status 200 with `ok` in the body; a webhook's have a status and a word,
 * "ok" for success.
 */
export function judge(answer: Answer | NoAnswer, poster: Poster, by: "bot" | "webhook" = "bot"): Judgement {
  if (answer.kind === "none") return { result: poster.verdict(answer, ""), error: null };
  // An incomplete body does not show if the message was accepted.
  if (answer.cut !== undefined) return { result: poster.verdict(answer.cut, ""), error: null };
  const reply = tryParseJson(answer.text) as Reply | undefined;
  const failed = reply?.ok === false || answer.status >= 400;
  const word = typeof reply?.error === "string" ? reply.error : answer.text.trim();
  const error = failed && /^[a-z_]{2,60}$/.test(word) ? word : null;
  const detail = `Slack answered ${error ?? `${answer.status}`}`;
  if (error === "ratelimited" || error === "rate_limited" || error === "message_limit_exceeded")
    return { result: { ...poster.verdict({ ...answer, status: 429 }, ""), detail } as SendResult, error };
  if (error !== null && answer.status !== 429) {
    if (authErrors.has(error))
      return { result: { kind: "refused", failure: "authentication", detail, channelBroken: true }, error };
    if (channelErrors.has(error))
      return { result: { kind: "refused", failure: "rejected", detail, channelBroken: true }, error };
    if (serverErrors.has(error) || answer.status >= 500)
      return { result: { kind: "retry", failure: "server-error", detail, afterMs: null }, error };
    return { result: { kind: "refused", failure: "rejected", detail, channelBroken: false }, error };
  }
  const taken = by === "bot" ? reply?.ok === true : isAccepted(answer.text.trim(), reply);
  const receipt = typeof reply?.ts === "string" ? reply.ts : "accepted";
  return { result: poster.verdict(answer, taken ? receipt : null, error ?? undefined), error };
}
