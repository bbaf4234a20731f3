/**
 * Push messages by ntfy (ntfy.sh or a private server). ntfy has no idempotency key, so a message whose answer was lost
 * may be delivered twice.
 */
import { z } from "zod";
import type { Severity } from "../../domain/alerts/alert.ts";
import type { Capacity, Message } from "../../domain/alerts/delivery.ts";
import { anyAddress, isPlain, secretWord, trimmed } from "../address.ts";
import type { Channel, Outgoing, ProbeResult } from "../channel.ts";
import type { CommandLine } from "../message/command-line.ts";
import { blockLines, lineOf, maxLine, sectionLines } from "../message/lines.ts";
import type { Rendering, Tone } from "../message/rendering.ts";
import { shorten } from "../message/text.ts";
import { render } from "../message.ts";
import { type Answer, type NoAnswer, Poster, probeFailure, tryParseJson } from "../post.ts";

export const ntfySettings = z
  .strictObject({
    type: z.literal("ntfy"),
    url: anyAddress.default("https://ntfy.sh"),
    topic: z.string().regex(/^[-_A-Za-z0-9]{1,64}$/, "must be a topic: letters, digits, _ and -, at most 64"),
    /** An access token of the server. */
    token: secretWord.optional(),
  })
  .refine(({ url, token }) => token === undefined || !isPlain(url), {
    path: ["url"],
    message: "has to begin with https:// where a token is sent (http:// only for this machine)",
  });
export type NtfySettings = z.infer<typeof ntfySettings>;

export interface NtfyDeps {
  readonly timezone: string;
  readonly commandLine: CommandLine;
}

const timeoutMs = 8_000;
/** Maximum size of a message in ntfy, with a margin, bytes. Larger ones would become attached files. */
const maxBytes = 4_000;
/** Maximum alerts in one message; each has a line of at least `minLineBytes`. */
export const ntfyCapacity: Capacity = { maxNamed: 20 };
const minLineBytes = 120;
const maxNotesBytes = 1_000;
/** Silent. */
const lowPriority = 2;
const priorities: Readonly<Record<Severity, number>> = { critical: 5, warning: 4, info: 3 };
const tags: Readonly<Record<Tone, string>> = {
  critical: "rotating_light",
  warning: "warning",
  info: "information_source",
  good: "white_check_mark",
  over: "white_circle",
  test: "test_tube",
};

export function createNtfy(name: string, settings: NtfySettings, deps: NtfyDeps): Channel {
  const base = trimmed(settings.url);
  const { topic, token } = settings;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  // A topic is a secret: whoever knows it can read it.
  const poster = new Poster({
    who: `ntfy at ${new URL(base).host}`,
    secrets: [...(token === undefined ? [] : [token]), topic],
    timeoutMs,
  });

  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    const answer = await poster.call({ method: "GET", url: `${base}/${topic}/auth`, headers }, signal);
    const verdict = poster.verdict(answer, replyIn(answer)?.success === true ? "" : null);
    if (verdict.kind === "delivered") return { kind: "ok", detail: `${new URL(base).host} takes messages` };
    return probeFailure(verdict, {
      denied: "check token, and that it may write to this topic",
      refused: "check url: it is the server's address, without the topic",
      away: "check url, and that no firewall is in between",
    });
  };

  return {
    name,
    kind: "ntfy",
    ...ntfyCapacity,
    deadlineMs: timeoutMs + 1_000,
    start: probe,
    probe,
    stop: () => poster.close(),
    async send(outgoing, signal) {
      const answer = await poster.call({ url: base, headers, body: bodyOf(outgoing, topic, deps) }, signal);
      const reply = replyIn(answer);
      return poster.verdict(
        answer,
        typeof reply?.id === "string" ? reply.id : null,
        typeof reply?.error === "string" ? reply.error : undefined,
      );
    },
  };
}

interface Reply {
  readonly id?: unknown;
  readonly error?: unknown;
  readonly success?: unknown;
}

function replyIn(answer: Answer | NoAnswer): Reply | undefined {
  return answer.kind === "answer" ? (tryParseJson(answer.text) as Reply | undefined) : undefined;
}

function bodyOf({ message, late }: Outgoing, topic: string, deps: NtfyDeps): object {
  const rendering = render(message, deps, late);
  const link = rendering.blocks.find((block) => block.runbook !== null)?.runbook;
  return {
    topic,
    title: shorten(rendering.headline, 250),
    message: textOf(rendering),
    priority: priorityOf(message),
    tags: [tags[rendering.tone]],
    ...(link == null ? {} : { click: link }),
  };
}

function priorityOf({ content, severity }: Message): number {
  if (content.quiet) return lowPriority;
  return content.resolved || content.kind === "test" ? priorities.info : priorities[severity];
}

/**
 * Shows as many alerts in full as fit beside one line for each of the others. The footer, which holds the message's id,
 * always fits.
 */
function textOf(rendering: Rendering): string {
  const { blocks, footer } = rendering;
  const room = maxBytes - Buffer.byteLength(footer) - 2;
  for (let inFull = rendering.inFull; blocks.length > 1 && inFull >= 0; inFull--) {
    const text = textWith(rendering, inFull, maxLine);
    if (Buffer.byteLength(text) <= room) return `${text}\n\n${footer}`;
  }
  const text =
    blocks.length > 1
      ? textWith(
          { ...rendering, notes: [cutToBytes(rendering.notes.join("\n"), maxNotesBytes)] },
          0,
          minLineBytes,
        )
      : textWith(rendering, blocks.length, maxLine);
  return `${cutToBytes(text, room)}\n\n${footer}`;
}

/** @param limit bytes per line */
function textWith(rendering: Rendering, inFull: number, limit: number): string {
  const { blocks, notes, sections, standing } = rendering;
  const full = blocks.slice(0, inFull).map((block) => blockLines(block, rendering).join("\n"));
  const lines = blocks.slice(inFull).map((block) => cutToBytes(lineOf(block), limit));
  return [...notes, ...full, lines.join("\n"), sectionLines(sections).join("\n"), standing.join("\n")]
    .filter((part) => part !== "")
    .join("\n\n");
}

function cutToBytes(text: string, limit: number): string {
  let kept = text;
  while (Buffer.byteLength(kept) > limit)
    kept = shorten(kept, Math.min(kept.length - 1, Math.floor(kept.length * 0.9)));
  return kept;
}
