/** A message that was sent, as it stands after what was told since by editing it. Pure. */
import type { Message, MessageItem } from "../domain/delivery.ts";

/** Nothing in it got worse: told by editing what stands there, since nobody has to be woken by it. */
export function isCalm({ content }: Message): boolean {
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
 * that joined since come after them
 */
export function asTold(sent: Message, since: readonly Message[]): Message {
  const newest = new Map<number, MessageItem>();
  for (const { content } of since) for (const item of content.items) newest.set(item.change.alertId, item);
  const placed = new Set<number>();
  const items = sent.content.items.flatMap((item) => {
    const now = newest.get(item.change.alertId);
    if (now === undefined) return [item];
    if (placed.has(now.change.alertId)) return [];
    placed.add(now.change.alertId);
    return [now];
  });
  const { incident } = sent.content;
  if (incident !== undefined)
    for (const { content } of since) {
      if (content.incident?.id !== incident.id) continue;
      for (const { change } of content.items) {
        if (placed.has(change.alertId)) continue;
        placed.add(change.alertId);
        items.push(newest.get(change.alertId)!);
      }
    }
  if (placed.size === 0) return sent;
  const [only] = items;
  const title = only !== undefined && items.length === 1 ? only.change.alert.summary : sent.content.title;
  return { ...sent, content: { ...sent.content, title, items } };
}
