/**
 * Sends pending deliveries.
 *
 *   outbox.ts        sends: a queue for each channel (channel-queue.ts) with pending items (waiting.ts), message content
 *                    (seal.ts), when the channel may be tried (circuit.ts) and its health (health.ts), each attempt
 *                    (attempt.ts); rows are written by journal.ts
 *   acknowledger.ts  acknowledges handled notifications (handled.ts), by inbox (inbox-account.ts)
 */
export { acknowledgeWith } from "./acknowledge-with.ts";
export * from "./acknowledger.ts";
export type { ManualAcknowledgement } from "./by-hand.ts";
export * from "./digest/digest.ts";
export * from "./drills.ts";
export * from "./hand-overs.ts";
export { isHandled, type Recorded } from "./handled.ts";
export { type ExchangeInbox, InboxAudits } from "./inbox-audit.ts";
export type { DeliverLog } from "./log.ts";
export { messageId, messageIdBytes } from "./message-id.ts";
export * from "./outbox.ts";
export type { Probe, Step } from "./probe.ts";
export { testMessage } from "./test-message.ts";
