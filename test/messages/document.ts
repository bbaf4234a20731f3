/**
 * docs/messages.md: the messages about each rule that ships, at each stage of an alert's life, those of an incident, and of ends that
 * a life of figures does not come to, as chats and mails show them.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { discordBody } from "../../src/channels/discord/render.ts";
import { mailParts } from "../../src/channels/email/render.ts";
import { render } from "../../src/channels/message.ts";
import { makeMessage } from "../../src/deliver/message/make-message.ts";
import { type AlertChange, severityRank } from "../../src/domain/alerts/alert.ts";
import type { DeliveryItem, Message } from "../../src/domain/alerts/delivery.ts";
import { timeOfDay } from "../../src/domain/text/time-text.ts";
import type { Sent } from "./incident.ts";
import { changesOf, packs } from "./judged.ts";
import { chatLines, kindInWords, mailLines } from "./lines.ts";
import { computedLives } from "./lives.ts";
import type { Standing } from "./world.ts";

export const documentFile = path.join(import.meta.dirname, "..", "..", "docs", "messages.md");
const lives = path.join(import.meta.dirname, "lives.test.yaml");

/** One step in the life of an alert about a rule. */
export interface Stage {
  readonly rule: string;
  /** The variant of the life, where the rule has several; else empty. */
  readonly life: string;
  readonly change: AlertChange;
  /** The other alerts that fire then. */
  readonly standing: readonly Standing[];
}

/** The first step of each kind in each life; the first word of a life's name is its rule. */
export async function stages(): Promise<readonly Stage[]> {
  const found: Stage[] = [];
  const computed = computedLives().map(([name, { changes, standing }]) => ({ name, changes, standing }));
  const stated = [...(await changesOf(lives))].map(([name, changes]) => ({ name, changes, standing: null }));
  for (const { name, changes, standing } of [...computed, ...stated]) {
    const [, rule = "", life = ""] = /^(\w+)(?:: (.+))?$/.exec(name) ?? [];
    const seen = new Set<string>();
    for (const change of changes) {
      if (change.alert.rule !== rule || seen.size === seen.add(kindInWords(change)).size) continue;
      found.push({ rule, life, change, standing: standing?.get(change.id) ?? [] });
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

/** @param ends changes that end an alert for another reason than its condition or its position   @param incident its messages */
export function document(
  told: readonly Stage[],
  ends: readonly AlertChange[],
  incident: readonly Sent[],
): string {
  const all = Map.groupBy(told, ({ rule }) => rule);
  const parts = [
    "# Messages",
    "",
    "What is sent about each rule that ships, at each stage of an alert's life: in a chat (here Discord's), and as a mail. The",
    "holdings and prices are made up; the figures are computed, judged and told as live. `npm run docs:messages` writes this page.",
    "",
    "`main/0.0` is an account of the wallet `main`: its PDA index, and its subaccount. 🔴 critical, 🟠 warning, 🔵 info, 🟢 over and well,",
    "⚪ over, without saying that all is well: something critical fires beside it, it stands otherwise than before, or nobody watches it any more.",
    "",
    "A *daily move* is how much a market usually moves in a day: one standard deviation, by the hours of the last week, and at least",
    "1%. A position that is less than one daily move from liquidation can be liquidated by a usual day.",
  ];
  for (const [pack, rules] of rulesByPack()) {
    parts.push("", `## ${pack}`);
    for (const rule of rules) {
      parts.push("", `### ${rule}`);
      for (const stage of all.get(rule) ?? []) parts.push("", ...stageLines(stage));
    }
  }
  parts.push(
    "",
    "## Other ends",
    "",
    "Of an alert whose rule or wallet is not watched as before, and of a loss that was none.",
  );
  for (const change of ends)
    parts.push("", ...stageLines({ rule: change.alert.rule, life: "", change, standing: [] }));
  parts.push("", "## Incidents", "", ...aboutIncidents);
  for (const sent of incident) parts.push("", ...sentLines(sent));
  return `${parts.join("\n")}\n`;
}

const aboutIncidents = [
  "One incident over three accounts of a desk: each account that becomes critical is in a message that notifies; what only gets worse is",
  "not, until it is half as far from liquidation as in the last message that notified. All of it is reminded of in one message, and its end is one. A chat that edits has the",
  "first message kept current; a mailbox gets what is quiet with the next message.",
];

/** One message of the incident, under the time at which it left. */
function sentLines({ atMs, receiver, message, edited, body, mail }: Sent): readonly string[] {
  const kinds = [...new Set(message.content.items.map(({ change }) => kindInWords(change)))].join("; ");
  const how = edited
    ? "the first message is edited"
    : message.content.quiet
      ? "a quiet message"
      : "a message that notifies";
  const lines = body === null ? mailLines(mail!) : chatLines(body);
  return [`### ${timeOfDay(atMs, "UTC")} ${receiver}: ${how} (${kinds})`, "", "```text", ...lines, "```"];
}

function stageLines({ life, change, standing }: Stage): readonly string[] {
  const rendering = render(messageOf(change, standing));
  const title = life === "" ? kindInWords(change) : `${kindInWords(change)} (${life})`;
  return [
    `#### ${change.alert.rule}: ${title}`,
    ...["", "```text", ...chatLines(discordBody(rendering, null)), "```"],
    ...["", "```text", ...mailLines(mailParts(rendering)), "```"],
  ];
}

function messageOf(change: AlertChange, standing: Stage["standing"] = []): Message {
  const item: DeliveryItem = {
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
  const rank = ({ gone, severity }: Standing): number => (gone ? -1 : severityRank[severity]);
  const alerts = standing
    .toSorted((a, b) => rank(b) - rank(a))
    .map(({ id, severity, summary, gone, until }) => ({
      ...{ id, severity, summary },
      ...(gone ? { gone: true as const } : {}),
      ...(until ? { until } : {}),
    }));
  const sealing = {
    ...{ sender: "perpwatch on desk", instance: "docs", nowMs: change.atMs },
    standing: alerts.length === 0 ? null : { alerts, more: 0 },
  };
  return { ...makeMessage([{ item, change }], sealing), id: "CjKV2P7WYv56LdEtF5KtD" };
}
