/** The inbox of a trader account. Every call needs the session of its wallet. */
import { get, group, post } from "../endpoint.ts";
import { body, path, query } from "../params.ts";
import { ackItems, notificationItem, notificationsHead } from "../records/notifications.ts";
import { nothing, rowsIn } from "../reply.ts";

const traderPubkey = path.key("The trader account.", { wire: "trader_pubkey" });
const acknowledged = "Any 200 is success; servers send { ok: true } or nothing.";

export const notificationEndpoints = group("notifications", {
  notifications: get("/v1/traders/{trader_pubkey}/notifications", {
    summary: "Notifications of one trader account, newest first.",
    notes: ["`unackedOnly` returns up to 1000 items and ignores `limit` and `cursor`."],
    params: {
      traderPubkey,
      limit: query.integer("Most items.", { min: 1, max: 100 }),
      cursor: query.string("Where to go on towards older items."),
      unackedOnly: query.boolean("Only what is not acknowledged."),
    },
    session: "required",
    reply: rowsIn("items", notificationItem, notificationsHead),
    paging: { older: { field: "nextCursor", argument: "cursor" }, newer: null },
    order: "newestFirst",
    errors: [401, 403],
  }),
  ackNotifications: post("/v1/traders/{trader_pubkey}/notifications/ack/notifications", {
    summary: "Acknowledges notifications one by one.",
    notes: ["The longest list is not stated: send at most 100."],
    params: {
      traderPubkey,
      items: body.json("What to acknowledge; events by their five indices or by id.", ackItems, {
        required: true,
      }),
    },
    session: "required",
    reply: nothing(acknowledged),
    success: [200, 204],
    errors: [400, 401, 403],
    safeToRetry: true,
  }),
  ackUpTo: post("/v1/traders/{trader_pubkey}/notifications/ack/up-to", {
    summary: "Acknowledges everything before an instant.",
    notes: ["That includes what was indexed late and never seen: prefer ackNotifications."],
    params: {
      traderPubkey,
      beforeTimestamp: body.iso("Items created before it.", { required: true }),
    },
    session: "required",
    reply: nothing(acknowledged),
    success: [200, 204],
    errors: [400, 401, 403],
    safeToRetry: true,
  }),
});
