/** Services that tell people: their answers, what is pressed and typed there, and their words. */
import { readPress } from "../../../src/channels/buttons.ts";
import { findMessage } from "../../../src/channels/discord/find-message.ts";
import { readInteraction } from "../../../src/channels/discord/interactions/interaction.ts";
import { parseReceipt } from "../../../src/channels/discord/message-location.ts";
import { permissionsIn } from "../../../src/channels/discord/permissions.ts";
import { RateLimited, RateMemory } from "../../../src/channels/discord/rate-memory.ts";
import { mailFailure, mailFix } from "../../../src/channels/email/failures.ts";
import { clean, forDiscord, forHtml, safeLink, withoutSecrets } from "../../../src/channels/message/text.ts";
import { verdict as ofPagerduty } from "../../../src/channels/pagerduty/verdict.ts";
import { type Answer, Poster, tryParseJson } from "../../../src/channels/post.ts";
import {
  acknowledgerOf,
  verdict as ofPushover,
  replyIn as pushoverReply,
} from "../../../src/channels/pushover/verdict.ts";
import { readFrame, readPresses } from "../../../src/channels/slack/frames.ts";
import { judge } from "../../../src/channels/slack/verdict.ts";
import { readUpdate } from "../../../src/channels/telegram/update.ts";
import { verdict as ofTelegram, replyIn } from "../../../src/channels/telegram/verdict.ts";
import { parseJson } from "../../../src/contract/json.ts";
import { systemClock } from "../../../src/domain/clock.ts";
import { isA, isSyntax, json, type Parsers, words } from "./kinds.ts";

const poster = new Poster({ who: "Slack", secrets: ["xoxb-0123456789-secret", "aa"], timeoutMs: 1 });
const statuses = [200, 400, 401, 404, 429, 500] as const;
let turn = 0;
function answerOf(text: string): Answer {
  const header = text.slice(0, 40);
  return {
    ...{ kind: "answer", status: statuses[turn++ % statuses.length]!, text },
    headers: { "retry-after": header, date: header },
  };
}
const isTaken = ({ kind }: { readonly kind: string }) => kind === "delivered";

const press = {
  ...{ id: "1", application_id: "2", token: "t", channel_id: "3", type: 3, message: { id: "9" } },
  ...{ member: { user: { id: "4", username: "anna" }, roles: ["5"] }, channel: { id: "3", parent_id: "6" } },
  data: { custom_id: "pw:ack:12:abc:1", name: "perpwatch", options: [{ name: "x", value: 1 }] },
};
const message = {
  ...{ id: "1187000000000000000", content: "a 12ab", author: { id: "4", bot: true } },
  embeds: [
    { title: "~~CRITICAL #57: x~~", description: "RESOLVED 12:00", footer: { text: "perpwatch 12ab" } },
  ],
};
const guild = { owner_id: "4", id: "1", roles: [{ id: "5", permissions: "2048", mentionable: true }] };
const overwrites = [{ id: "5", type: 0, allow: "1024", deny: "0" }];

export const parsers: Parsers = {
  "answers of Slack": {
    takesAll: true,
    input: json([
      { ok: true, ts: "1.2", channel: "C1" },
      { ok: false, error: "ratelimited" },
      "invalid_token",
    ]),
    run: (input: string) => judge(answerOf(input), poster).error === null,
  },
  "frames of Slack": {
    input: json(
      [
        { type: "hello", num_connections: 1 },
        { type: "disconnect", reason: "refresh_requested" },
        {
          ...{ type: "interactive", envelope_id: "e1" },
          payload: {
            ...{ type: "block_actions", user: { id: "U1", username: "anna" }, channel: { id: "C1" } },
            ...{ message: { thread_ts: "1.2" }, actions: [{ action_id: "pw:ack:12:abc:1" }] },
          },
        },
      ],
      1_048_576,
    ),
    run: (input: string) => readPresses(readFrame(input)?.payload).length > 0,
  },
  "answers of Telegram": {
    takesAll: true,
    input: json([
      { ok: true, result: { message_id: 5, username: "bot" } },
      { ok: false, description: "Bad Request: chat not found", parameters: { retry_after: 5 } },
    ]),
    run: (input: string) => {
      const answer = answerOf(input);
      return isTaken(ofTelegram(answer, replyIn(answer), poster));
    },
  },
  "updates of Telegram": {
    input: json(
      [
        {
          update_id: 7,
          callback_query: {
            ...{ id: "1", from: { id: 4, first_name: "Anna", username: "anna" }, data: "pw:ack:12:abc:1" },
            message: { message_id: 9, message_thread_id: 3, chat: { id: -100, username: "desk" } },
          },
        },
      ],
      1_048_576,
    ),
    run: (input: string) => readUpdate(tryParseJson(input)) !== null,
  },
  "answers of Pushover": {
    takesAll: true,
    input: json([
      { status: 1, request: "a", receipt: "b".repeat(30) },
      { status: 0, token: "invalid", errors: ["application token is invalid"] },
      { status: 1, acknowledged: 1, acknowledged_by: "u".repeat(30), acknowledged_by_device: "phone" },
    ]),
    run: (input: string) => {
      const answer = answerOf(input);
      acknowledgerOf(pushoverReply(answer) as object);
      return isTaken(ofPushover(answer, poster));
    },
  },
  "answers of PagerDuty": {
    takesAll: true,
    input: json([
      { status: "success", message: "Event processed", dedup_key: "a" },
      { status: "invalid event", message: "Event object is invalid", errors: ["routing_key is wrong"] },
    ]),
    run: (input: string) => isTaken(ofPagerduty(answerOf(input), poster)),
  },
  "answers of other services": {
    takesAll: true,
    input: words(['{"id":"a","error":"no"}', "gone", "<html>502</html>", "Wed, 21 Oct 2026 07:28:00 GMT"]),
    run: (input: string) => isTaken(poster.verdict(answerOf(input), input, input)),
  },
  "answers of mail servers": {
    takesAll: true,
    input: words(
      ["535 5.7.8 no AGEAYQ==", "421 4.7.0 rate limited", "550 5.1.1 <a@b.c> unknown", "354 go on"],
      16_000,
    ),
    run: (input: string) => {
      const error = {
        ...{ message: input, response: input, responseCode: Number.parseInt(input, 10) },
        ...{ code: ["EAUTH", "EENVELOPE", "ETLS", "EMESSAGE"][turn++ % 4], command: input.slice(0, 12) },
      };
      mailFix(error, "starttls");
      return mailFailure(error, (text) => withoutSecrets(text, ["s3cret-of-some-length"])).kind === "retry";
    },
  },
  "answers of Discord": {
    takesAll: true,
    input: json([
      message,
      { retry_after: 1.5, global: true, message: "You are being rate limited." },
      { code: 50035, message: "Invalid Form Body", errors: { embeds: { 0: { title: {} } } } },
    ]),
    run: (input: string) => {
      const { status, headers } = answerOf(input);
      try {
        new RateMemory(systemClock()).note("POST", "/channels/1/messages/2", status, headers, input);
      } catch (error) {
        if (!(error instanceof RateLimited)) throw error;
        if (!(error.afterMs <= 86_400_000)) throw new TypeError(`Discord wants ${error.afterMs} ms`);
      }
      parseReceipt(input);
      return true;
    },
  },
  "messages that Discord holds": {
    takesAll: true,
    input: json([[message], [message, { ...message, author: null }], []]),
    run: async (input: string) => {
      const after = async () => ({ kind: "ok", data: tryParseJson(input) }) as const;
      const found = await findMessage(
        { id: "12ab", sealedAtMs: 1_791_212_430_000 } as never,
        null,
        { after } as never,
        new AbortController().signal,
      );
      return found === null || found.kind === "ok";
    },
  },
  "permissions in Discord": {
    takesAll: true,
    input: json([
      { guild, overwrites },
      { guild, overwrites: [] },
    ]),
    run: (input: string) => {
      const said = tryParseJson(input) as { guild?: never; overwrites?: never } | undefined;
      return (
        permissionsIn(said?.guild ?? (guild as never), said?.overwrites ?? [], { id: "4", roles: ["5"] }) >=
        0n
      );
    },
    // The probe says that the answer has another form than expected.
    mayThrow: isA(TypeError, SyntaxError, RangeError),
  },
  "presses in Discord": {
    input: json([press, { ...press, type: 2 }]),
    run: (input: string) => readInteraction(parseJson(input), "3") !== null,
    mayThrow: isSyntax,
  },
  "ids of buttons": {
    input: words(["pw:ack:12:abc:1", "pw:all:abcdefghij:1", "pw:mute:1:a:8:critical"]),
    run: (input: string) => readPress(input) !== null,
  },
  "words of services": {
    input: words(
      [
        "535 5.7.8 not AGEAYQ== %41%42 \\u0041\\u0042 61:62:63:64 <@U1> https://a.b/c?d=e",
        "**bold** `code` @everyone # head",
        "https://runbook.example/a",
      ],
      16_384,
    ),
    run: (input: string) => {
      withoutSecrets(input, ["s3cret-of-some-length", "ab", "üü€"]);
      forDiscord(clean(input), 500);
      forHtml(input);
      return safeLink(input) !== null;
    },
  },
};
