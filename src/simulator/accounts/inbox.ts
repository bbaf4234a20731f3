/** Notifications: created at events, listed and acknowledged by their wallet. */

import { type Transaction, transact } from "../ledger/transaction.ts";
import type { Account, Notification, Wallet, World } from "../state.ts";
import type { Place } from "./position.ts";

/** Maximum rows of the list of unacknowledged ones. */
export const unackedLimit = 1_000;

export interface EventBody {
  /** Fields after `slot`, `slotIndex`, `timestamp`. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly details: Readonly<Record<string, unknown>> | null;
}

/** Creates a notification of a ledger event for the account's wallet. The house has no inbox. */
export function eventNotification(
  world: World,
  tx: Transaction,
  account: Account,
  place: Place,
  notificationType: string,
  body: EventBody,
  recipientIndex = 0,
): void {
  if (account === world.house) return;
  const { slot, slotIndex, eventIndex, instructionIndex, atMs } = place;
  add(tx, account.wallet, {
    source: "event",
    id: world.nextNotificationId++,
    notificationType,
    createdMs: atMs,
    account,
    place: { slot, slotIndex, eventIndex, instructionIndex, atMs, recipientIndex },
    title: null,
    body: null,
    data: {
      slot: String(slot),
      slotIndex,
      timestamp: String(Math.floor(atMs / 1000)),
      ...body.data,
    },
    details: body.details,
    acked: false,
    ackedMs: null,
  });
}

export interface MessageText {
  readonly notificationType: string;
  readonly title: string | null;
  readonly body: string | null;
  readonly data: unknown;
}

/** Creates an announcement to all present wallets. Each wallet acknowledges its own copy; the id is shared. */
export function announce(world: World, text: MessageText): number {
  const id = world.nextNotificationId++;
  transact(world, (tx) => {
    for (const wallet of world.wallets.values()) add(tx, wallet, written(world, "admin", id, text));
  });
  return id;
}

/** Creates a message to one user. */
export function tell(world: World, wallet: Wallet, text: MessageText): number {
  const id = world.nextNotificationId++;
  transact(world, (tx) => add(tx, wallet, written(world, "general", id, text)));
  return id;
}

function written(world: World, source: "admin" | "general", id: number, text: MessageText): Notification {
  return {
    source,
    id,
    notificationType: text.notificationType,
    createdMs: world.nowMs,
    account: null,
    place: null,
    title: text.title,
    body: text.body,
    data: text.data,
    details: null,
    acked: false,
    ackedMs: null,
  };
}

function add(tx: Transaction, wallet: Wallet, notification: Notification): void {
  wallet.notifications.push(notification);
  tx.notifications.push({ wallet: wallet.authority, notification });
}

/**
 * Returns true if a trader account's inbox contains it: its own events, and notifications to the wallet or to everyone.
 */
export function isFor(notification: Notification, account: Account): boolean {
  return notification.account === null || notification.account === account;
}

export type AckItem =
  | { readonly type: "event" | "admin" | "general"; readonly id: number }
  | {
      readonly type: "event";
      readonly slot: number;
      readonly slotIndex: number;
      readonly instructionIndex: number;
      readonly eventIndex: number;
      readonly recipientIndex: number;
    };

/**
 * Ignores unknown items and items acknowledged before.
 * @returns number of newly acknowledged items
 */
export function acknowledge(world: World, account: Account, items: readonly AckItem[]): number {
  const wanted = new Set(items.map((item) => keyOf(item)));
  let count = 0;
  for (const notification of account.wallet.notifications.all()) {
    if (!isFor(notification, account)) continue;
    const { source, id, place } = notification;
    const known =
      wanted.has(keyOf({ type: source, id })) ||
      (place !== null && wanted.has(keyOf({ type: "event", ...place })));
    if (known && acknowledgeOne(world, notification)) count += 1;
  }
  return count;
}

/** Acknowledges everything created before the time. */
export function acknowledgeBefore(world: World, account: Account, beforeMs: number): number {
  let count = 0;
  for (const notification of account.wallet.notifications.all()) {
    if (notification.createdMs >= beforeMs || !isFor(notification, account)) continue;
    if (acknowledgeOne(world, notification)) count += 1;
  }
  return count;
}

function acknowledgeOne(world: World, notification: Notification): boolean {
  if (notification.acked) return false;
  notification.acked = true;
  notification.ackedMs = world.nowMs;
  return true;
}

function keyOf(item: AckItem): string {
  return "id" in item && item.id !== undefined
    ? `${item.type}#${item.id}`
    : place5(item as Extract<AckItem, { slot: number }>);
}

function place5(item: Extract<AckItem, { slot: number }>): string {
  return `event@${item.slot}.${item.slotIndex}.${item.instructionIndex}.${item.eventIndex}.${item.recipientIndex}`;
}
