/**
 * Message templates of one channel. They are applied when a message is finalized, so every attempt sends the same text.
 * If a template fails, the default text is used: a template never holds back an alert.
 */
import type { AlertChange } from "../../domain/alerts/alert.ts";
import type { Message, MessageItem } from "../../domain/alerts/delivery.ts";
import {
  flat,
  type TemplateData,
  type TemplateFacts,
  type TemplateValue,
  type WordedText,
} from "../../domain/alerts/template-data.ts";
import { type RenderOptions, render } from "../message.ts";
import { figureLines } from "./lines.ts";
import type { Block } from "./rendering.ts";

/** The steps for which templates may be written: the steps of an alert, an event, and recovery as the one good ending. */
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
  /** The template prints the lead itself. */
  readonly leads: boolean;
  words(data: TemplateData): WordedText;
}

/** Left out: the default text. */
export interface Texts {
  /** Replaces the summary, one line. */
  readonly title?: TextTemplate;
  /** Replaces description, figures, times and acknowledgement. */
  readonly body?: TextTemplate;
}

export interface ChannelTemplates {
  readonly all: Texts;
  /** Take precedence over `all`. */
  readonly byKind: { readonly [kind in TemplateKind]?: Texts };
}

/** Returns the template kind of a change. */
export function templateKindOf({ kind, alert }: AlertChange): TemplateKind {
  if (kind === "ended") return alert.ending === "recovered" ? "resolved" : "ended";
  return kind === "fired" && alert.event ? "event" : kind;
}

/**
 * Returns the message with the texts of the channel's templates, to be finalized.
 * @param onFault receives the error of a template that failed; for people
 */
export function applyTemplates(
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
    const wordsFrom = (template: TextTemplate | undefined, what: string): WordedText | undefined => {
      try {
        const words = template?.words(data) ?? [];
        // An empty text, or one of dashes for unknown values only, is not used.
        return /[^\s–]/.test(flat(words)) ? words : undefined;
      } catch (error) {
        onFault(`the ${what} of ${kind}: ${error instanceof Error ? error.message : String(error)}`);
        return undefined;
      }
    };
    const words = wordsFrom(title, "title");
    const text = wordsFrom(body, "body");
    // A template for one kind contains the lead in its own words. A drill always shows its lead.
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
      alert: withoutNulls({
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
      message: withoutNulls({
        id: message.id,
        sender: content.sender,
        severity: content.severity,
        alerts: content.items.length,
        more: content.more ?? 0,
      }),
    },
  };
}

function withoutNulls(values: Readonly<Record<string, TemplateValue | null>>): TemplateFacts[string] {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, TemplateValue] => entry[1] !== null),
  );
}
