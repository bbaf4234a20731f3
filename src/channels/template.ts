/**
 * Templates of one channel: the user's own words for what it is told. They are applied when a message is sealed, so that every
 * attempt sends the same, and a channel prints them like what stands there without any. What goes wrong with one leaves the
 * usual words: an alert is never held up by its wording.
 */
import type { AlertChange } from "../domain/alert.ts";
import type { Message, MessageItem } from "../domain/delivery.ts";
import {
  flat,
  type TemplateData,
  type TemplateFacts,
  type TemplateValue,
  type WordedText,
} from "../domain/template-data.ts";
import { figureLines } from "./lines.ts";
import { type RenderOptions, render } from "./message.ts";
import type { Block } from "./rendering.ts";

/**
 * The steps for which templates may be written: the steps in an alert's life, an event, and the one ending that is good
 * news.
 */
export const templateKinds = [
  "event",
  "fired",
  "rose",
  "fell",
  "worsened",
  "changed",
  "reminder",
  "escalated",
  "acknowledged",
  "resolved",
  "ended",
] as const;
export type TemplateKind = (typeof templateKinds)[number];

export interface TextTemplate {
  readonly text: string;
  /** It prints itself what leads. */
  readonly leads: boolean;
  words(data: TemplateData): WordedText;
}

/** Left out: the usual words. */
export interface Texts {
  /** In place of the summary, one line. */
  readonly title?: TextTemplate;
  /** In place of description, figures, times and what to do. */
  readonly body?: TextTemplate;
}

export interface ChannelTemplates {
  readonly all: Texts;
  /** Before those of `all`. */
  readonly byKind: { readonly [kind in TemplateKind]?: Texts };
}

/** The templates for a change. */
export function templateKindOf({ kind, alert }: AlertChange): TemplateKind {
  if (kind === "ended") return alert.ending === "recovered" ? "resolved" : "ended";
  return kind === "fired" && alert.event ? "event" : kind;
}

/**
 * The message in the words of the channel's templates, to be sealed so.
 * @param onFault told of a template that failed; for people
 */
export function worded(
  message: Message,
  templates: ChannelTemplates | undefined,
  options: RenderOptions,
  onFault: (detail: string) => void,
): Message {
  if (templates === undefined || message.content.kind !== "alert") return message;
  const { blocks } = render(message, options);
  const items = message.content.items.map((item, index): MessageItem => {
    const kind = templateKindOf(item.change);
    const own = templates.byKind[kind];
    const title = own?.title ?? templates.all.title;
    const body = own?.body ?? templates.all.body;
    if (title === undefined && body === undefined) return item;
    const data = dataOf(message, item, blocks[index]!);
    const said = (template: TextTemplate | undefined, what: string): WordedText | undefined => {
      try {
        const words = template?.words(data) ?? [];
        // Nothing, or nothing but dashes where nothing is known, tells nobody anything.
        return /[^\s–]/.test(flat(words)) ? words : undefined;
      } catch (error) {
        onFault(`the ${what} of ${kind}: ${error instanceof Error ? error.message : String(error)}`);
        return undefined;
      }
    };
    const words = said(title, "title");
    const text = said(body, "body");
    // What is written for one kind says it in its own words. A drill is always called one.
    const bare = (own?.title !== undefined || title?.leads === true) && item.change.alert.drill !== true;
    return {
      ...item,
      ...(words === undefined ? {} : { title: { words, bare } }),
      ...(text === undefined ? {} : { body: text }),
    };
  });
  return { ...message, content: { ...message.content, items } };
}

function dataOf(message: Message, { change }: MessageItem, block: Block): TemplateData {
  const { alert, atMs, happenedMs } = change;
  const { content } = message;
  const until = alert.endedAtMs ?? atMs;
  return {
    atMs: message.sealedAtMs,
    facts: {
      ...change.facts,
      alert: known({
        id: String(alert.id),
        rule: alert.rule,
        subject: alert.subject,
        wallet: alert.wallet,
        symbol: alert.symbol,
        severity: alert.severity,
        change: change.kind,
        ending: alert.ending,
        lead: block.lead,
        summary: block.what,
        description: block.description || null,
        figures: figureLines(block.figures).join("\n") || null,
        freshness: block.fresh.join("\n") || null,
        whatNow: block.now.join("\n") || null,
        runbook: block.runbook,
        value: alert.value,
        labels: alert.labels,
        details: Object.fromEntries(block.figures),
        event: alert.event,
        drill: alert.drill === true,
        alreadySo: alert.alreadySo,
        acknowledgedBy: alert.acknowledgedBy,
        at: atMs,
        happenedAt: happenedMs,
        since: alert.sinceMs,
        firedAt: alert.firedAtMs,
        endedAt: alert.event ? null : alert.endedAtMs,
        acknowledgedAt: alert.acknowledgedAtMs,
        dataAt: alert.dataAtMs,
        dataAge: Math.max(0, atMs - alert.dataAtMs),
        lasted: alert.event ? null : Math.max(0, until - alert.firedAtMs),
      }),
      message: known({
        id: message.id,
        sender: content.sender,
        severity: content.severity,
        alerts: content.items.length,
        more: content.more ?? 0,
      }),
    },
  };
}

function known(values: Readonly<Record<string, TemplateValue | null>>): TemplateFacts[string] {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, TemplateValue] => entry[1] !== null),
  );
}
