/** The inbox of a trader account; only for its own wallet. */
import type { Handlers, WireFor } from "../../../contract/index.ts";
import { type AckItem, acknowledge, acknowledgeBefore, isFor, unackedLimit } from "../../accounts/inbox.ts";
import type { Notification } from "../../state.ts";
import { type Context, iso, ownAccount } from "./context.ts";

type Item = NonNullable<WireFor<"notifications">["items"]>[number];
/** The contract does not state the default `limit`. */
const defaultLimit = 50;

export function notificationItem(it: Notification): Item {
  const common = {
    id: it.id,
    notificationType: it.notificationType,
    createdAt: iso(it.createdMs),
    acked: it.acked,
    data: it.data,
  };
  if (it.source !== "event" || it.place === null) {
    const { title, body } = it;
    return { source: it.source === "admin" ? "admin" : "general", ...common, title, body };
  }
  const { slot, slotIndex, instructionIndex, eventIndex, recipientIndex } = it.place;
  const item = { source: "event", ...common, slot, slotIndex, instructionIndex, eventIndex, recipientIndex };
  return (it.details === null ? item : { ...item, details: it.details }) as Item;
}

export const notificationAnswers = {
  notifications: (args, context) => {
    const account = ownAccount(context, args.traderPubkey);
    const { notifications } = account.wallet;
    if (args.unackedOnly) {
      const { rows } = notifications.page({
        limit: unackedLimit,
        where: (it) => !it.acked && isFor(it, account),
      });
      return { items: rows.map(notificationItem), nextCursor: null };
    }
    const page = notifications.page({
      limit: args.limit ?? defaultLimit,
      cursor: args.cursor,
      where: (it) => isFor(it, account),
    });
    return { items: page.rows.map(notificationItem), nextCursor: page.nextCursor };
  },
  ackNotifications: (args, context) => {
    acknowledge(context.world, ownAccount(context, args.traderPubkey), args.items as readonly AckItem[]);
    return { ok: true };
  },
  ackUpTo: (args, context) => {
    acknowledgeBefore(context.world, ownAccount(context, args.traderPubkey), args.beforeTimestamp);
    return { ok: true };
  },
} satisfies Partial<Handlers<Context>>;
