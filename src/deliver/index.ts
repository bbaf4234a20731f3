/**
 * Works what is owed.
 *
 *   outbox.ts        sends: lines of channels (line.ts), what waits (waiting.ts), seals (seal.ts), rows (journal.ts),
 *                    when a channel may be tried (circuit.ts)
 */
export type { DeliverLog } from "./log.ts";
export * from "./outbox.ts";
export type { Probe, Step } from "./probe.ts";
