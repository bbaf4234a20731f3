/**
 * Access to the exchange.
 *
 *   exchange.ts       the composition of all parts
 *   client.ts         one typed method for each endpoint, under a wallet's session
 *   session(s).ts     access tokens: sign in, refresh, recover; tokens.ts, sign-in.ts: their parts
 *   call.ts           one call: arguments, turn, attempts, record; outage-end.ts: the first answer after an outage
 *   budget.ts         the request budget of the process: lanes with shares (fair-queue.ts), and the rate that the exchange
 *                     grants (rate-control.ts)
 *   http.ts           one request, one answer; exchange-time.ts: the exchange's clock
 *   streams.ts        the stream: one common connection, and one a wallet; stream-link.ts: a reconnecting connection,
 *                     stream-socket.ts, -subscriptions.ts, -liveness.ts, -auth.ts: its parts
 *   ledger-slots.ts   the slots that the ledger can have reached
 *   trader-mirror.ts  the merged state of one account family from polls and stream
 *   errors.ts         the errors and the possible reactions
 *   settings.ts       the `exchange:` section
 */
export * from "./budget.ts";
export * from "./call.ts";
export * from "./client.ts";
export * from "./errors.ts";
export * from "./exchange.ts";
export type { ExchangeTime } from "./exchange-time.ts";
export { HOLD_MS } from "./held-messages.ts";
export { createHttp, type Http, type HttpDispatcher, type HttpOptions } from "./http.ts";
export * from "./lanes.ts";
export * from "./ledger-slots.ts";
export { logRate } from "./rate-log.ts";
export type { WalletSession } from "./session.ts";
export type { SessionChange, SessionFigures, SessionWallet } from "./session-parts.ts";
export * from "./sessions.ts";
export * from "./settings.ts";
export type { LoginKind } from "./sign-in.ts";
export type { OpenSocket, SocketEnd, SocketOptions, StreamSocket } from "./stream-socket.ts";
export * from "./streams.ts";
export * from "./trader-mirror.ts";
