/**
 * The exchange's API as data: one table of endpoints, one of stream channels, the records and the error codes. Nothing
 * here does I/O. endpoint.ts describes the use of an entry by a client and by a server. fields.ts describes the parsing
 * of records, and of absent, null and unknown fields.
 *
 *   endpoints.ts     the table, and the types Client and Handlers made from it
 *   request.ts       arguments → request (client), request → arguments (server), the same checks on both sides
 *   reply.ts         reply → record, or the fields that do not match; lists are parsed row by row
 *   router.ts        method and path → entry
 *   records/         schemas of replies; times are Unix ms, quantities that may pass 2^53 are bigint
 *   instructions.ts  onboarding and stop loss, in the ledger's binary format
 *   natural-keys.ts  keys that are equal for the same event
 *   stream/          the table of channels, their messages, frames in and out
 *   errors.ts        error codes and their remedies
 */
export * from "./amount.ts";
export * from "./base58.ts";
export * from "./endpoint.ts";
export * from "./endpoints.ts";
export * from "./errors.ts";
export type { Open, Output, Schema, Wire } from "./fields.ts";
export * from "./instructions.ts";
export * from "./json.ts";
export * from "./natural-keys.ts";
export type { Param, Params, ParamType, Where } from "./params.ts";
export { wireName } from "./params.ts";
export * from "./program.ts";
export * from "./records/auth.ts";
export * from "./records/exchange.ts";
export * from "./records/history.ts";
export * from "./records/market.ts";
export * from "./records/notifications.ts";
export * from "./records/onboarding.ts";
export * from "./records/series.ts";
export * from "./records/trader.ts";
export * from "./reply.ts";
export * from "./request.ts";
export * from "./router.ts";
export * from "./shape.ts";
export * from "./stream/stream-channels.ts";
export * from "./stream/stream-frames.ts";
export * from "./stream/stream-messages.ts";
export * from "./time.ts";
