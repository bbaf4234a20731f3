/** docs/messages.md: the messages about each rule that ships, at each stage of an alert's life, as chats and mails show them. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { type DiscordBody, discordBody } from "../../src/channels/discord/render.ts";
import { mailParts } from "../../src/channels/email/render.ts";
import { render } from "../../src/channels/message.ts";
import { seal } from "../../src/deliver/seal.ts";
import type { AlertChange } from "../../src/domain/alert.ts";
import type { Message, OwedItem } from "../../src/domain/delivery.ts";
import { plainWords } from "../../src/domain/plain-words.ts";
import { changesOf, packs } from "./judged.ts";
import { computedLives } from "./lives.ts";

export const documentFile = path.join(import.meta.dirname, "..", "..", "docs", "messages.md");
const lives = path.join(import.meta.dirname, "lives.test.yaml");

/** One step in the life of an alert about a rule. */
export interface Stage {
  readonly rule: string;
  /** The variant of the life, where the rule has several; else empty. */
  readonly life: string;
  readonly change: AlertChange;
}

/** The first step of each kind in each life; the first word of a life's name is its rule. */
export async function stages(): Promise<readonly Stage[]> {
  const found: Stage[] = [];
  for (const [name, changes] of [...computedLives(), ...(await changesOf(lives))]) {
    const [, rule = "", life = ""] = /^(\w+)(?:: (.+))?$/.exec(name) ?? [];
    const seen = new Set<string>();
    for (const change of changes) {
      if (change.alert.rule !== rule || seen.size === seen.add(wordsOf(change)).size) continue;
      found.push({ rule, life, change });
    }
  }
  return found;
}

/** The packs with the names of their rules, in their order. */
export function rulesByPack(): ReadonlyMap<string, readonly string[]> {
  const files = readdirSync(packs).filter((name) => name.endsWith(".yaml") && !name.endsWith(".test.yaml"));
  return new Map(
    files.sort().map((name) => {
      const { rules } = parse(readFileSync(path.join(packs, name), "utf8")) as { rules: { name: string }[] };
      return [name.replace(".yaml", ""), rules.map((rule) => rule.name)];
    }),
  );
}

export function document(told: readonly Stage[]): string {
  const all = Map.groupBy(told, ({ rule }) => rule);
  const parts = [
    "# Messages",
    "",
    "What is sent about each rule that ships, at each stage of an alert's life: in a chat (here Discord's), and as a mail. The",
    "holdings and prices are made up; the figures are computed, judged and told as live. `npm run docs:messages` writes this page.",
  ];
  for (const [pack, rules] of rulesByPack()) {
    parts.push("", `## ${pack}`);
    for (const rule of rules) {
      parts.push("", `### ${rule}`);
      for (const stage of all.get(rule) ?? []) parts.push("", ...stageLines(stage));
    }
  }
  return `${parts.join("\n")}\n`;
}

function stageLines({ life, change }: Stage): readonly string[] {
  const rendering = render(messageOf(change));
  const { subject, text } = mailParts(rendering);
  const [, ...body] = text.trimEnd().split("\n");
  const title = life === "" ? wordsOf(change) : `${wordsOf(change)} (${life})`;
  return [
    `#### ${change.alert.rule}: ${title}`,
    ...["", "```text", ...chatLines(discordBody(rendering, null)), "```"],
    ...["", "```text", `Subject: ${subject}`, ...body, "```"],
  ];
}

function messageOf(change: AlertChange): Message {
  const item: OwedItem = {
    id: 1,
    changeId: change.id,
    alertId: change.alertId,
    receiver: "chat",
    groupKey: null,
    severity: change.alert.severity,
    owedAtMs: change.atMs,
    status: "owed",
    messageId: null,
  };
  const sealing = { sender: "perpwatch on desk", instance: "docs", nowMs: change.atMs };
  return { ...seal([{ item, change }], sealing), id: "CjKV2P7WYv56LdEtF5KtD" };
}

/** Its lines as a reader sees them, without markup. */
function chatLines({ content, embeds }: DiscordBody): readonly string[] {
  const lines = embeds.flatMap(({ description, fields = [] }) => [
    ...(description === undefined ? [] : [description]),
    ...fields.map(({ name, value }) => `${name}: ${value}`),
  ]);
  return [content, ...lines].flatMap((line) => line.replace(/\*\*|\\/g, "").split("\n"));
}

function wordsOf({ kind, alert }: AlertChange): string {
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
