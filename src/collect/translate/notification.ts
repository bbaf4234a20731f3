/** An inbox item as events: the notification, and the canonical liquidation if it reports one. */
import {
  ackItemOf,
  camelKeys,
  EVENT_NOTIFICATION_TYPES,
  type EventData,
  type EventNotification,
  eventData,
  type NotificationItem,
  notificationKey,
} from "../../contract/index.ts";
import type { Event, FieldValue, InboxItem } from "../../domain/event.ts";
import type { KnownAccount } from "../accounts.ts";
import type { CollectedWallet } from "../collector.ts";
import { type MarketBook, unitsOf, usdOfQuoteLots, usdOfTicks } from "../market-book.ts";
import { walletEvent } from "./event.ts";
import { liquidationOfNotification } from "./liquidation.ts";

const liquidationTypes: ReadonlySet<string> = new Set([
  ...["liquidation", "backstop_liquidation", "adl"],
  "spot_collateral_liquidation",
]);

/**
 * @param account the owner of the inbox
 * @returns the notification first, then the liquidation if there is one
 */
export function notificationEvents(
  item: NotificationItem,
  wallet: CollectedWallet,
  account: KnownAccount,
  book: MarketBook,
  seenMs: number,
): readonly Event[] {
  return item.source === "event"
    ? ledgerEvents(item, wallet, account, book, seenMs)
    : [announcement(item, wallet, account, seenMs)];
}

/**
 * Returns true if an item is of a type that reports liquidations, also of collateral, and its data does not identify
 * it.
 */
export function isUnreadLiquidation(item: EventNotification): boolean {
  return liquidationTypes.has(item.notificationType) && eventData(item) === null;
}

function ledgerEvents(
  item: EventNotification,
  wallet: CollectedWallet,
  account: KnownAccount,
  book: MarketBook,
  seenMs: number,
): readonly Event[] {
  const key = notificationKey(item, wallet.authority);
  const event = eventData(item);
  const raw = typeof item.data === "object" && item.data !== null ? camelKeys(item.data) : item.data;
  const happenedMs = event?.data.timestamp ?? item.createdAt;
  const { slot, slotIndex, eventIndex } = item;
  const liquidation = liquidationOfNotification(
    event,
    { slot, slotIndex, eventIndex, happenedMs, seenMs, key, data: raw },
    wallet,
    account,
    book,
  );
  const summary = event === null ? summaryOfDetails(item, book) : summaryOf(event, book);
  // Only the short form distinguishes a stop from a take profit.
  const triggerType = item.details?.triggerType ?? null;
  const isBare = typeof raw === "object" && raw !== null && !("triggerType" in raw);
  const notification = walletEvent("notification", wallet, {
    key,
    pdaIndex: account.pdaIndex,
    subaccount: account.subaccount,
    symbol: summary.symbol,
    happenedMs,
    seenMs,
    slot,
    slotIndex,
    eventIndex,
    fields: {
      source: "event",
      type: item.notificationType,
      side: summary.side,
      size: summary.size,
      price: summary.price,
      title: null,
      body: null,
    },
    data: triggerType !== null && isBare ? { ...raw, triggerType } : raw,
    inbox: {
      ...inboxOf(item, account, liquidation?.key ?? null),
      ...(isUnreadLiquidation(item) ? { unread: true } : {}),
    },
  });
  return liquidation === null ? [notification] : [notification, liquidation];
}

function announcement(
  item: Exclude<NotificationItem, EventNotification>,
  wallet: CollectedWallet,
  account: KnownAccount,
  seenMs: number,
): Event {
  const fields: Record<string, FieldValue> = {
    source: item.source,
    type: item.notificationType,
    side: null,
    size: null,
    price: null,
    title: item.title,
    body: item.body,
  };
  return walletEvent("notification", wallet, {
    key: notificationKey(item, wallet.authority),
    happenedMs: item.createdAt,
    seenMs,
    fields,
    data: item.data ?? null,
    inbox: inboxOf(item, account, null),
  });
}

function inboxOf(item: NotificationItem, account: KnownAccount, liquidationKey: string | null): InboxItem {
  return {
    source: item.source,
    notificationType: item.notificationType,
    traderPubkey: account.address,
    item: ackItemOf(item) as InboxItem["item"],
    acked: item.acked,
    liquidationKey,
  };
}

interface Summary {
  readonly symbol: string | null;
  readonly side: string | null;
  readonly size: number | null;
  readonly price: number | null;
}

/** Size in units, price in USD, from the exact data. */
function summaryOf(event: EventData, book: MarketBook): Summary {
  switch (event.type) {
    case "order_filled": {
      const { symbol, side, price, baseLotsFilled } = event.data;
      return { symbol, side, price, size: unitsOf(baseLotsFilled, book.of(symbol)) };
    }
    case "liquidation":
    case "stop_loss_executed":
    case "conditional_order_executed": {
      const { symbol, side, baseAmount, quoteLotsFilled } = event.data;
      const size = Math.abs(baseAmount);
      const price = size === 0 ? null : usdOfQuoteLots(quoteLotsFilled) / size;
      return { symbol, side, size, price };
    }
    case "risk_engine_cancel_order": {
      const { symbol, side, baseLotsReleased, priceInTicks } = event.data;
      const market = book.of(symbol);
      return {
        symbol,
        side,
        size: unitsOf(baseLotsReleased, market),
        price: usdOfTicks(priceInTicks, market),
      };
    }
    case "stop_loss_order_placed": {
      const { symbol, side, quantity, price } = event.data;
      return {
        symbol,
        side,
        size: quantity === null ? null : Math.abs(Number(quantity)),
        price: price === null ? null : Number(price),
      };
    }
    case "backstop_liquidation": {
      const market = book.ofAsset(event.data.assetId);
      const units = unitsOf(event.data.baseLotsTransferred, market);
      const size = units === null ? null : Math.abs(units);
      const value = Math.abs(usdOfQuoteLots(event.data.virtualQuoteLotsTransferred));
      return { symbol: market?.symbol ?? null, side: null, size, price: size ? value / size : null };
    }
    case "adl": {
      const market = book.ofAsset(event.data.assetId);
      return {
        symbol: market?.symbol ?? null,
        side: null,
        size: unitsOf(event.data.baseLotsClosed, market),
        price: null,
      };
    }
    case "spot_collateral_liquidation":
      return { symbol: null, side: null, size: null, price: null };
  }
}

/** Returns the short form of a notification whose data has an unknown type, or is invalid. */
function summaryOfDetails(item: EventNotification, book: MarketBook): Summary {
  const { details } = item;
  const known = (EVENT_NOTIFICATION_TYPES as readonly string[]).includes(item.notificationType);
  const market = details?.assetId == null ? undefined : book.ofAsset(details.assetId);
  const size = details?.baseAmount ?? null;
  return {
    symbol: details?.symbol ?? market?.symbol ?? symbolIn(item.data, book),
    side: details?.side ?? null,
    size: size === null ? null : Math.abs(size),
    price: known ? (details?.price ?? null) : null,
  };
}

/** Returns a symbol from data of an unknown shape, if it is in the market list. */
function symbolIn(data: unknown, book: MarketBook): string | null {
  const symbol = (data as { symbol?: unknown } | null | undefined)?.symbol;
  return typeof symbol === "string" ? (book.of(symbol)?.symbol ?? null) : null;
}
