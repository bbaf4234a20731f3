/**
 * Sends pending deliveries.
 *
 *   outbox.ts      sends until each item is delivered or dead; rows are written by journal.ts
 *   queue/         a queue for each channel (channel-queue.ts): each attempt (attempt.ts), when the channel may be tried (circuit.ts),
 *                  its health (health.ts)
 *   message/       the content of a message, fixed before it is sent (finalizer.ts, make-message.ts)
 *   acknowledge/   acknowledges handled notifications at the exchange (acknowledger.ts), and compares its inbox (inbox-audit.ts)
 *   digest/        the digest
 */
export { acknowledgeWith } from "./acknowledge/acknowledge-with.ts";
export * from "./acknowledge/acknowledger.ts";
export type { ManualAcknowledgement } from "./acknowledge/by-hand.ts";
export { isHandled, type Recorded } from "./acknowledge/handled.ts";
export { type ExchangeInbox, InboxAudits } from "./acknowledge/inbox-audit.ts";
export * from "./digest/digest.ts";
export * from "./drills.ts";
export * from "./hand-overs.ts";
export type { DeliverLog } from "./log.ts";
export { messageId, messageIdBytes } from "./message/message-id.ts";
export * from "./outbox.ts";
export type { Probe, Step } from "./probe.ts";
export { testMessage } from "./test-message.ts";
