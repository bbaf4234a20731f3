/** A message that was sent, as it stands after what was told since by editing it. Pure. */
import { adviceIn, severityRank } from "../domain/alert.ts";
import type { Message, MessageItem } from "../domain/delivery.ts";

/** Amounts that are so much older than the newest of a message are not shown when it is edited, ms. */
const maxAdviceAgeMs = 30_000;

/** True if it is told by editing what stands there, since nobody has to be woken by it. An incident says itself what is quiet. */
export function isCalm(message: Message): boolean {
  return message.content.incident === undefined && getsNoWorse(message);
}

/** True if nothing in it got worse, or ended. */
export function getsNoWorse({ content }: Message): boolean {
  return (
    content.kind === "alert" &&
    content.folded === undefined &&
    content.items.length > 0 &&
    content.items.every(({ change }) => change.kind === "fell" || change.kind === "acknowledged")
  );
}

/**
 * @param since what was told after it, oldest first
 * @returns the message with the newest word about each of its alerts, one item an alert where there was one; alerts of its incident
 * that joined since come after them, others do not
 */
export function asTold(sent: Message, since: readonly Message[]): Message {
  const newest = new Map<number, MessageItem>();
  const { incident } = sent.content;
  const members = new Set(
    [sent, ...since]
      .filter(({ content }) => content.incident?.id === incident?.id)
      .flatMap(({ content }) => content.items.map(({ change }) => change.alertId)),
  );
  for (const { content } of since)
    for (const item of content.items)
      if (incident === undefined || members.has(item.change.alertId)) newest.set(item.change.alertId, item);
  const placed = new Set<number>();
  const items = sent.content.items.flatMap((item) => {
    const now = newest.get(item.change.alertId);
    if (now === undefined) return [item];
    if (placed.has(now.change.alertId)) return [];
    placed.add(now.change.alertId);
    return [now];
  });
  if (placed.size === 0 && since.length === 0) return sent;
  if (sent.content.incident !== undefined) return ofIncident(sent, items, [...newest.values()]);
  if (placed.size === 0) return sent;
  const [only] = items;
  const title = only !== undefined && items.length === 1 ? only.change.alert.summary : sent.content.title;
  return { ...sent, content: { ...sent.content, title, items } };
}

/** The first message of an incident with all alerts of it, what fires before what is over, the worst level first. */
function ofIncident(sent: Message, first: readonly MessageItem[], since: readonly MessageItem[]): Message {
  const { standing: _standing, ...content } = sent.content;
  const all = [...new Map([...first, ...since].map((item) => [item.change.alertId, item])).values()];
  const newestMs = Math.max(...all.map(({ change }) => change.atMs));
  const isOld = ({ change }: MessageItem) => newestMs - change.atMs > maxAdviceAgeMs;
  const fresh = new Set(all.flatMap((item) => (isOld(item) ? [] : accountsAdvised(item))));
  // Whoever follows amounts of long ago pays twice; those of an account that has newer ones are not shown anyway.
  const items = all.map((item) =>
    isOld(item) && !accountsAdvised(item).some((name) => fresh.has(name)) ? withoutAdvice(item) : item,
  );
  items.sort((a, b) => urgency(b) - urgency(a) || nearer(a, b) || a.change.alertId - b.change.alertId);
  const worst = items.find(({ change }) => change.kind !== "ended");
  const title = worst?.change.alert.summary ?? content.title;
  return { ...sent, content: { ...content, title, items } };
}

function accountsAdvised({ change }: MessageItem): readonly string[] {
  return adviceIn(change).map(({ account }) => account);
}

function withoutAdvice({ change, ...item }: MessageItem): MessageItem {
  const { advice: _, ...rest } = change;
  return { ...item, change: rest };
}

/** Alerts of no distance come after those of one. */
function nearer({ distance: one = 2 }: MessageItem, { distance: other = 2 }: MessageItem): number {
  return one - other;
}

function urgency({ change: { kind, alert } }: MessageItem): number {
  // Acknowledged alerts come after the others of their level.
  return kind === "ended" ? -1 : 2 * severityRank[alert.severity] + (alert.acknowledgedAtMs === null ? 1 : 0);
}
