/**
 * The local API and page.
 *
 *   dashboard.ts   opens and closes it        socket.ts   the owner's door        server.ts   what all answers share
 *   api.ts         /api/v1                    metrics.ts  /metrics                health.ts   /healthz, /readyz
 *   page/          the status page            client.ts   how commands ask        wire.ts     numbers in JSON
 *   door.ts        who may what over TCP      access/     sessions, tokens, links, passwords
 */
export { tryAddress } from "./address.ts";
export type { StatusAnswer } from "./api.ts";
export { askDaemon, type DaemonAnswer, type DaemonQuestion } from "./client.ts";
export { createDashboard, type Dashboard, type DashboardOptions, type PageLink } from "./dashboard.ts";
export { DashboardError, type DashboardFailure } from "./errors.ts";
export type { DashboardLog } from "./log.ts";
export { isLocal, isLoopback, isPasswordHash, isSecure, type ListenSettings } from "./settings.ts";
export { maxPathBytes, whyForeign } from "./socket.ts";
export { toWire, type Wire, type WireNumber } from "./wire.ts";
