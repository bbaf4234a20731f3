/** Applies later updates to a sent message. Pure. */
import { adviceIn, severityRank } from "../../domain/alerts/alert.ts";
import type { Message, MessageItem } from "../../domain/alerts/delivery.ts";

/** Advice older than the newest item by more than this is not shown when the message is edited, ms. */
const maxAdviceAgeMs = 30_000;

/**
 * Returns true if the message can be delivered by editing an earlier message, because nobody has to be woken. For
 * incidents the message's `quiet` flag decides instead.
 */
export function isMinorUpdate(message: Message): boolean {
  return message.content.incident === undefined && hasOnlyMinorChanges(message);
}

/** Returns true if every item is a lower level or an acknowledgement. */
export function hasOnlyMinorChanges({ content }: Message): boolean {
  return (
    content.kind === "alert" &&
    content.folded === undefined &&
    content.items.length > 0 &&
    content.items.every(({ change }) => change.kind === "fell" || change.kind === "acknowledged")
  );
}

/**
 * @param since later messages, oldest first
 * @returns the message with the newest item of each of its alerts, one item per alert. Alerts that joined its incident
 * later are appended; other alerts are not
 */
export function withUpdates(sent: Message, since: readonly Message[]): Message {
  const newestItems = new Map<number, MessageItem>();
  const { incident } = sent.content;
  const members = new Set(
    [sent, ...since]
      .filter(({ content }) => content.incident?.id === incident?.id)
      .flatMap(({ content }) => content.items.map(({ change }) => change.alertId)),
  );
  for (const { content } of since)
    for (const item of content.items)
      if (incident === undefined || members.has(item.change.alertId))
        newestItems.set(item.change.alertId, item);
  const placed = new Set<number>();
  const items = sent.content.items.flatMap((item) => {
    const now = newestItems.get(item.change.alertId);
    if (now === undefined) return [item];
    if (placed.has(now.change.alertId)) return [];
    placed.add(now.change.alertId);
    return [now];
  });
  if (placed.size === 0 && since.length === 0) return sent;
  if (sent.content.incident !== undefined) return updatedIncident(sent, items, [...newestItems.values()]);
  if (placed.size === 0) return sent;
  const [only] = items;
  const title = only !== undefined && items.length === 1 ? only.change.alert.summary : sent.content.title;
  return { ...sent, content: { ...sent.content, title, items } };
}

/** The first message of an incident with all alerts of the incident: firing before ended, highest level first. */
function updatedIncident(
  sent: Message,
  first: readonly MessageItem[],
  since: readonly MessageItem[],
): Message {
  const { standing: _standing, ...content } = sent.content;
  const all = [...new Map([...first, ...since].map((item) => [item.change.alertId, item])).values()];
  const newestMs = Math.max(...all.map(({ change }) => change.atMs));
  const isOld = ({ change }: MessageItem) => newestMs - change.atMs > maxAdviceAgeMs;
  const fresh = new Set(all.flatMap((item) => (isOld(item) ? [] : advisedAccounts(item))));
  // A reader who follows outdated amounts pays twice. Advice for an account that has newer advice is not shown anyway.
  const items = all.map((item) =>
    isOld(item) && !advisedAccounts(item).some((name) => fresh.has(name)) ? withoutAdvice(item) : item,
  );
  items.sort((a, b) => urgency(b) - urgency(a) || byDistance(a, b) || a.change.alertId - b.change.alertId);
  const worst = items.find(({ change }) => change.kind !== "ended");
  const title = worst?.change.alert.summary ?? content.title;
  return { ...sent, content: { ...content, title, items } };
}

function advisedAccounts({ change }: MessageItem): readonly string[] {
  return adviceIn(change).map(({ account }) => account);
}

function withoutAdvice({ change, ...item }: MessageItem): MessageItem {
  const { advice: _, ...rest } = change;
  return { ...item, change: rest };
}

/** Orders by distance to liquidation. Alerts without a distance come last. */
function byDistance({ distance: one = 2 }: MessageItem, { distance: other = 2 }: MessageItem): number {
  return one - other;
}

function urgency({ change: { kind, alert } }: MessageItem): number {
  // Within a level, acknowledged alerts come after the others.
  return kind === "ended" ? -1 : 2 * severityRank[alert.severity] + (alert.acknowledgedAtMs === null ? 1 : 0);
}
