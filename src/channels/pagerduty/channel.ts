/**
 * PagerDuty's Events API v2: an alert triggers an incident, an acknowledgement here acknowledges it, an ending resolves
 * it. Every event has a key of its alert, so sending it again changes nothing. An event of the exchange (such as a
 * liquidation) has no end; a person resolves its incident in PagerDuty.
 *
 * The alerts of an account that belong to an incident share a key, which is resolved with the last of them. If one of
 * them was triggered under its own key before it joined the incident, that key is resolved when it joins.
 */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { AlertChange } from "../../domain/alerts/alert.ts";
import type { Capacity, Message, MessageItem } from "../../domain/alerts/delivery.ts";
import { safeAddress, trimmed } from "../address.ts";
import type { Channel, ProbeResult } from "../channel.ts";
import type { CommandLine } from "../message/command-line.ts";
import { ledBy } from "../message/lines.ts";
import type { Block } from "../message/rendering.ts";
import { shorten } from "../message/text.ts";
import { render } from "../message.ts";
import { digestRefused, Poster, probeFailure } from "../post.ts";
import { verdict } from "./verdict.ts";

export const pagerdutySettings = z.strictObject({
  type: z.literal("pagerduty"),
  /** The integration key of a service: Events API v2. */
  routingKey: z.string().regex(/^[A-Za-z0-9]{32}$/, "must be an integration key of 32 letters and digits"),
  /** Another server, such as the EU's: https://events.eu.pagerduty.com */
  apiUrl: safeAddress.default("https://events.pagerduty.com"),
});
export type PagerdutySettings = z.infer<typeof pagerdutySettings>;

export interface PagerdutyDeps {
  readonly timezone: string;
  readonly commandLine: CommandLine;
}

const timeoutMs = 8_000;
export const pagerdutyCapacity: Capacity = { apart: true, isNeverFolded: true, byAccount: true };

export function createPagerduty(name: string, settings: PagerdutySettings, deps: PagerdutyDeps): Channel {
  const { routingKey } = settings;
  const url = `${trimmed(settings.apiUrl)}/v2/enqueue`;
  const poster = new Poster({ who: "PagerDuty", secrets: [routingKey], timeoutMs });

  const probe = async (signal: AbortSignal): Promise<ProbeResult> => {
    // PagerDuty refuses an empty event for every key. Without creating an incident a probe can only show that the
    // service answers.
    const answer = await poster.call({ url, body: {} }, signal);
    if (answer.kind === "answer" && answer.status < 500 && answer.status !== 404)
      return {
        kind: "ok",
        detail: `PagerDuty answers; whether it knows the key, channels test ${name} shows`,
      };
    const verdict = poster.verdict(answer, "");
    const away = "check that no firewall keeps this machine from events.pagerduty.com";
    if (verdict.kind === "delivered") return { kind: "ok", detail: "PagerDuty answers" };
    return probeFailure(verdict, { denied: "check routingKey", refused: "check apiUrl", away });
  };

  return {
    name,
    kind: "pagerduty",
    deadlineMs: 30_000,
    ...pagerdutyCapacity,
    start: probe,
    probe,
    stop: () => poster.close(),
    async send({ message, late }, signal) {
      if (message.content.kind === "digest") return digestRefused("PagerDuty");
      const { blocks, headline, notes } = render(message, { ...deps, apart: true }, late);
      const events =
        message.content.kind === "test"
          ? [testEvent(message, headline)]
          : message.content.items.flatMap((item, i) => eventsOf(message, item, blocks[i]!, notes));
      const receipts: string[] = [];
      // In order, one by one: an event may depend on an earlier one with the same key.
      for (const event of events) {
        const answer = await poster.call({ url, body: { routing_key: routingKey, ...event } }, signal);
        const result = verdict(answer, poster);
        if (result.kind !== "delivered") return result;
        receipts.push(result.receipt);
      }
      return { kind: "delivered", receipt: poster.words([...new Set(receipts)].join(" ")) || "accepted" };
    },
  };
}

const links = (block: Block): readonly object[] =>
  block.runbook === null ? [] : [{ href: block.runbook, text: "What to do" }];

/** The PagerDuty events of a change. None if it only ends one alert of an account whose incident continues. */
function eventsOf(
  message: Message,
  { change, onCall }: MessageItem,
  block: Block,
  notes: readonly string[],
): object[] {
  const own = keyOf(message, change);
  if (onCall === undefined) return [eventOf(message, change, own, block, notes)];
  const shared = `perpwatch-${onCall.id}`;
  const ofAccount =
    change.kind === "ended" && onCall.more ? [] : [eventOf(message, change, shared, block, notes)];
  const wasAlone = change.kind !== "fired" && change.kind !== "acknowledged";
  return wasAlone ? [...ofAccount, { event_action: "resolve", dedup_key: own }] : ofAccount;
}

function eventOf(
  message: Message,
  change: AlertChange,
  dedup_key: string,
  block: Block,
  notes: readonly string[],
): object {
  const { alert, kind } = change;
  if (kind === "acknowledged") return { event_action: "acknowledge", dedup_key };
  if (kind === "ended") return { event_action: "resolve", dedup_key };
  return {
    event_action: "trigger",
    dedup_key,
    client: message.content.sender,
    payload: {
      summary: shorten(ledBy(block, block.what), 1_024),
      source: alert.subject,
      severity: alert.severity,
      timestamp: new Date(change.happenedMs ?? change.atMs).toISOString(),
      ...(alert.symbol === null ? {} : { component: alert.symbol }),
      ...(alert.wallet === null ? {} : { group: alert.wallet }),
      class: alert.rule,
      custom_details: {
        ...Object.fromEntries(block.figures),
        ...(block.description === "" ? {} : { description: block.description }),
        freshness: [...block.fresh, ...notes].join(" "),
        alert: `#${alert.id}`,
        message: message.id,
      },
    },
    links: links(block),
  };
}

function testEvent(message: Message, headline: string): object {
  return {
    event_action: "trigger",
    dedup_key: `perpwatch-test-${message.id}`,
    client: message.content.sender,
    payload: {
      summary: shorten(headline, 1_024),
      source: message.content.sender,
      severity: message.severity,
      timestamp: new Date(message.sealedAtMs).toISOString(),
      custom_details: { message: message.id, note: "This is a test. Nothing has happened; resolve it." },
    },
  };
}

/** The key of an alert: constant for its life and different on each daemon, because alert numbers start at 1 on each. */
function keyOf({ content }: Message, { alert }: AlertChange): string {
  const parts = [content.sender, alert.id, alert.rule, alert.subject, alert.firedAtMs];
  return `perpwatch-${createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 40)}`;
}
