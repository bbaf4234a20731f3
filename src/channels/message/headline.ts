/** The headline of a message: one alert in words, or the worst of several. */
import type { Message, MessageItem } from "../../domain/alerts/delivery.ts";
import { isOpen } from "./acknowledging.ts";
import { isGone } from "./ending-texts.ts";
import { ledBy } from "./lines.ts";
import type { Block } from "./rendering.ts";
import { cleanLine, ownLine } from "./text.ts";

/** The words for how all of several ended; empty where there are none that fit all. */
function endedAlike([first, ...others]: readonly Block[]): string {
  const over = first !== undefined && (first.tone === "over" || first.tone === "good");
  return over && others.every(({ lead }) => lead === first.lead) ? `${first.lead}: ` : "";
}

/** The account of an account or a position; empty for anything else. */
function accountIn(subject: string): readonly string[] {
  return /^[^/]+\/\d+\.\d+(?=\/|$)/.exec(cleanLine(subject)) ?? [];
}

/** `, north/0.0 got worse`: other accounts in a message that are critical and got worse, which its first alert does not say. */
function worseIn([first, ...others]: readonly MessageItem[]): string {
  const worse = others.flatMap(({ change: { kind, alert }, passed }) => {
    const isWorse = (kind === "worsened" || kind === "rose") && alert.severity === "critical" && !passed;
    return isWorse ? accountIn(alert.subject) : [];
  });
  const accounts = [...new Set(worse)].filter(
    (name) => !accountIn(first!.change.alert.subject).includes(name),
  );
  if (accounts.length === 0) return "";
  return `, ${accounts.slice(0, 3).join(", ")}${accounts.length > 3 ? " and others" : ""} got worse`;
}

export function headlineOf({ content }: Message, blocks: readonly Block[]): string {
  const title = ownLine(content.title);
  const [first, ...others] = blocks;
  const [item] = content.items;
  if (first === undefined || item === undefined) return title || `${blocks.length} alerts`;
  if (others.length > 0) {
    // Whoever is woken reads what is worst, which stands first, not a count.
    const loud = first.tone === "critical" || first.tone === "warning";
    if (!loud) return endedAlike(blocks) + (title || `${blocks.length} alerts`);
    const more = others.length + (content.more ?? 0);
    const open = content.items.filter(({ change }) => isOpen(change)).length;
    const but = item.change.kind !== "acknowledged" || open === 0 ? "" : `, ${open} not acknowledged`;
    return `${ledBy(first, first.what)} (+${more} more ${more === 1 ? "alert" : "alerts"}${but}${worseIn(content.items)})`;
  }
  if (first.own?.title !== undefined) return ledBy(first, first.what);
  const stale = isGone(item.change) && title.includes(ownLine(item.change.alert.summary));
  const text = stale || title === "" ? first.what : title;
  return text.toLowerCase().startsWith(first.lead.toLowerCase()) ? text : `${first.lead}: ${text}`;
}
