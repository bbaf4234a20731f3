/** Messages as lines that a reader of docs/messages.md sees, without markup. */
import type { DiscordBody } from "../../src/channels/discord/render.ts";
import type { mailParts } from "../../src/channels/email/render.ts";
import type { AlertChange } from "../../src/domain/alerts/alert.ts";
import { plainWords } from "../../src/domain/text/plain-words.ts";

/** Marks of struck-out text stay. */
export function chatLines({ content, embeds }: DiscordBody): readonly string[] {
  const lines = embeds.flatMap(({ title, description, fields = [] }) => [
    ...(title === undefined ? [] : ["", title]),
    ...(description === undefined ? [] : [description]),
    ...fields.map(({ name, value }) => `${name}: ${value}`),
  ]);
  return [content, ...lines].flatMap((line) => line.replace(/\*\*|\\/g, "").split("\n"));
}

export function mailLines({ subject, text }: ReturnType<typeof mailParts>): readonly string[] {
  const [, ...body] = text.trimEnd().split("\n");
  return [`Subject: ${subject}`, ...body];
}

/** The kind of a change with its level, or the reason of its end. */
export function kindInWords({ kind, alert }: AlertChange): string {
  if (kind === "ended") return `ends, ${plainWords(alert.ending ?? "")}`;
  const words = {
    fired: alert.event ? "happens" : "fires",
    rose: "rises",
    fell: "falls",
    worsened: "worse",
    changed: "changed",
    reminder: "reminder",
    escalated: "nobody answered",
    acknowledged: "acknowledged",
  } as const;
  return `${words[kind]}, ${alert.severity}`;
}
