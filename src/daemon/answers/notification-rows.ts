/** Notifications of the exchange with their acknowledgements, as history has them. */
import type { NotificationQuery, NotificationRow } from "../../domain/ports.ts";
import type { History } from "../../history/index.ts";

const searchedNotifications = 20_000;

export async function notificationRows(store: History, query: NotificationQuery): Promise<NotificationRow[]> {
  const events = await store.events({
    kind: "notification",
    ...(query.wallet === undefined ? {} : { wallet: query.wallet }),
    newestFirst: true,
    limit: query.unacked ? searchedNotifications : query.limit,
  });
  const rows = await store.acknowledgements({ keys: events.map((event) => event.key) });
  const byKey = new Map(rows.map((row) => [row.key, row]));
  return events
    .map((event) => ({ event, acknowledgement: byKey.get(event.key) ?? null }))
    .filter(({ event, acknowledgement }) => {
      if (!query.unacked) return true;
      return event.inbox?.acked !== true && acknowledgement?.status !== "confirmed";
    })
    .slice(0, query.limit);
}
