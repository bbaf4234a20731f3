/**
 * Access to the exchange.
 *
 *   exchange.ts       the composition of all parts
 *   requests/         client.ts: one typed method for each endpoint; call.ts: arguments, turn, attempts, record; http.ts: one request,
 *                     one answer; budget.ts: the request budget of the process, in lanes, at the rate that the exchange grants
 *   session/          access tokens of wallets: sign in, refresh, recover
 *   stream/           one common connection, and one a wallet (streams.ts), each of which reconnects (link.ts); the merged state of one
 *                     account family from polls and stream (trader-mirror.ts)
 *   exchange-time.ts  the exchange's clock; outage-end.ts: the first answer after an outage
 *   errors.ts         the errors and the possible reactions
 *   settings.ts       the `exchange:` section
 */

export * from "./errors.ts";
export * from "./exchange.ts";
export type { ExchangeTime } from "./exchange-time.ts";
export * from "./requests/budget.ts";
export * from "./requests/call.ts";
export * from "./requests/client.ts";
export { createHttp, type Http, type HttpDispatcher, type HttpOptions } from "./requests/http.ts";
export * from "./requests/lanes.ts";
export { logRate } from "./requests/rate-log.ts";
export type { WalletSession } from "./session/session.ts";
export type { SessionChange, SessionFigures, SessionWallet } from "./session/session-parts.ts";
export * from "./session/sessions.ts";
export type { LoginKind } from "./session/sign-in.ts";
export * from "./settings.ts";
export { HOLD_MS } from "./stream/held-messages.ts";
export * from "./stream/ledger-slots.ts";
export type { OpenSocket, SocketEnd, SocketOptions, StreamSocket } from "./stream/socket.ts";
export * from "./stream/streams.ts";
export * from "./stream/trader-mirror.ts";
