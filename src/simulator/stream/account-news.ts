/** News of accounts on the stream: the changes of a transaction, and the notifications that it led to. */
import { type Delta, deltaOf } from "../server/answers/delta.ts";
import { notificationItem } from "../server/answers/notifications.ts";
import type { Change, World } from "../state.ts";
import { keyOf, type Subscribers } from "./subscribers.ts";

export function tellAccounts(change: Change, world: World, subscribers: Subscribers): void {
  const byOwner = new Map<string, { authority: string; pdaIndex: number; deltas: Delta[] }>();
  for (const [account, what] of change.accounts) {
    const { authority } = account.wallet;
    const key = keyOf("traderState", { authority, traderPdaIndex: account.pdaIndex });
    if (!subscribers.has(key)) continue;
    const owner = byOwner.get(key) ?? { authority, pdaIndex: account.pdaIndex, deltas: [] };
    owner.deltas.push(deltaOf(world, account, what));
    byOwner.set(key, owner);
  }
  for (const [key, { authority, pdaIndex, deltas }] of byOwner) {
    const message = {
      channel: "traderState",
      authority,
      traderPdaIndex: pdaIndex,
      slot: change.slot,
      messageType: "delta",
      deltas,
    };
    subscribers.broadcast(key, message);
  }
}

export function tellNotifications(change: Change, world: World, subscribers: Subscribers): void {
  for (const { wallet, notification } of change.notifications) {
    const account = notification.account ?? world.wallets.get(wallet)?.accounts.get("0.0");
    subscribers.broadcast(keyOf("notifications", { authority: wallet }), {
      channel: "notification",
      payload: { ...notificationItem(notification), acked: false },
      authority: wallet,
      traderPubkey: account?.address ?? null,
      traderPdaIndex: account?.pdaIndex ?? 0,
    });
  }
}
