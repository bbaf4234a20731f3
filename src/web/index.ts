/**
 * The local API and page.
 *
 *   dashboard.ts    opens and closes it       socket.ts   the owner's socket      server.ts   common parts of answers
 *   api.ts          /api/v1                   metrics/    /metrics, and health    limits/     connections, requests, durations
 *   page/           the status page           client.ts   requests of commands    wire.ts     numbers in JSON
 *   authorizer.ts   rights over TCP           access/     sessions, tokens, links, passwords
 */
export { tryAddress } from "./address.ts";
export type { StatusAnswer } from "./api.ts";
export { askDaemon, type DaemonAnswer, type DaemonQuestion } from "./client.ts";
export { createDashboard, type Dashboard, type DashboardOptions, type PageLink } from "./dashboard.ts";
export { DashboardError, type DashboardFailure } from "./errors.ts";
export type { DashboardLog } from "./log.ts";
export { isLocal, isLoopback, isPasswordHash, isSecure, type ListenSettings } from "./settings.ts";
export { foreignReason, maxPathBytes } from "./socket.ts";
export { toWire, type Wire, type WireNumber } from "./wire.ts";
