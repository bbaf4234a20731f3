/**
 * The receipt of an alert: for each step and receiver, when it happened at the exchange, was seen, fired, became pending, was
 * finalized, was accepted by the channel and was acknowledged to the exchange.
 */

import type { AlertStory } from "../ports.ts";
import type { AlertChangeKind } from "./alert.ts";
import type { AckStatus, DeliveryStatus } from "./delivery.ts";

/** The steps, in order. */
export const receiptSteps = [
  "happened",
  "seen",
  "fired",
  "owed",
  "sealed",
  "accepted",
  "acknowledged",
] as const;
export type ReceiptStep = (typeof receiptSteps)[number];

export interface Receipt {
  readonly receiver: string;
  /** The step in the alert's life that it notifies. */
  readonly kind: AlertChangeKind;
  readonly status: DeliveryStatus;
  readonly messageId: string | null;
  /** The channel's answer: Discord's message id, the SMTP reply. */
  readonly receipt: string | null;
  /** The time of each step, ms; null: not reached, or (`happened`) not known from the exchange. */
  readonly atMs: Readonly<Record<ReceiptStep, number | null>>;
  /** The time since the previous known step, ms; absent if not known, and for the first. */
  readonly afterMs: Readonly<Partial<Record<ReceiptStep, number>>>;
  /** The acknowledgement of the notification that reported it, where one did. */
  readonly acknowledgement: {
    readonly key: string;
    readonly status: AckStatus;
    readonly reason: string;
  } | null;
}

/** @returns in the order of their items */
export function receiptsOf({
  alert,
  changes,
  owed,
  messages,
  event,
  acknowledgements,
}: AlertStory): Receipt[] {
  const byId = new Map(messages.map((message) => [message.id, message]));
  const changeOf = new Map(changes.map((change) => [change.id, change]));
  const row = acknowledgements?.[0] ?? null;
  return owed.flatMap((item): Receipt[] => {
    const change = changeOf.get(item.changeId);
    if (!change) return [];
    const message = item.messageId === null ? undefined : byId.get(item.messageId);
    // An event was seen at its own time; the data of a condition at the time of its oldest input.
    const seen = alert.event ? (event?.seenMs ?? alert.dataAtMs) : change.alert.dataAtMs;
    const first = change.kind === "fired";
    const atMs = {
      happened: change.happenedMs,
      seen: first || !alert.event ? seen : null,
      fired: change.atMs,
      owed: item.owedAtMs,
      sealed: message?.sealedAtMs ?? null,
      accepted: item.status === "delivered" ? (message?.deliveredAtMs ?? null) : null,
      acknowledged: first ? (row?.confirmedAtMs ?? null) : null,
    };
    return [
      {
        receiver: item.receiver,
        kind: change.kind,
        status: item.status,
        messageId: item.messageId,
        receipt: message?.receipt ?? null,
        atMs,
        afterMs: between(atMs),
        acknowledgement: first && row ? { key: row.key, status: row.status, reason: row.reason } : null,
      },
    ];
  });
}

function between(atMs: Receipt["atMs"]): Receipt["afterMs"] {
  const after: Partial<Record<ReceiptStep, number>> = {};
  let before: number | null = null;
  for (const step of receiptSteps) {
    const at = atMs[step];
    if (at === null) continue;
    if (before !== null) after[step] = at - before;
    before = at;
  }
  return after;
}
