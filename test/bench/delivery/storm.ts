/**
 * 5,000 events in a minute over 50 wallets, 2 % of them critical, told on two channels that take one message a second: a
 * Discord bot that says so in its headers and with 429, and a webhook that answers 429 with Retry-After in whole seconds.
 *
 *   node test/bench/delivery/storm.ts EVENTS SECONDS
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type Severity, severities } from "../../../src/domain/alerts/alert.ts";
import { seededRandom } from "../../../src/domain/clock.ts";
import { startDiscord } from "../../support/discord.ts";
import { startService } from "../../support/service.ts";
import { quantile } from "../daemon/figures.ts";
import { desk, notification, titleOf } from "./desk.ts";

export interface StormResult {
  readonly events: number;
  readonly seconds: number;
  readonly bySeverity: readonly {
    readonly channel: string;
    readonly severity: Severity;
    readonly events: number;
    readonly p50: number;
    readonly p99: number;
    readonly max: number;
  }[];
  readonly channels: readonly {
    readonly channel: string;
    readonly messages: number;
    /** Requests that were told to wait. */
    readonly refused: number;
    /** Most events that one message tells of. */
    readonly largest: number;
    readonly lost: number;
    readonly inTwo: number;
    /** After the last event until the last message. */
    readonly overAfterS: number;
  }[];
  readonly rssBeforeMiB: number;
  readonly rssMostMiB: number;
}

const events = Number(process.argv[2] ?? 5_000);
const seconds = Number(process.argv[3] ?? 60);
const wallets = 50;
const stepMs = 50;
const mib = 2 ** 20;
const random = seededRandom(1);

await using discord = await startDiscord({ bucket: { limit: 1, perMs: 1_000 } });
let freeAtMs = 0;
await using hook = await startService(({ headers }, take) => {
  const nowMs = performance.now();
  if (nowMs < freeAtMs)
    return { status: 429, headers: { "retry-after": String(Math.ceil((freeAtMs - nowMs) / 1_000)) } };
  freeAtMs = nowMs + 1_000;
  take(String(headers["idempotency-key"]));
  return { status: 202, body: "taken" };
});
const { token, channelId, apiUrl } = discord;
const bench = await desk(wallets, {
  chat: { type: "discord", token, channelId, apiUrl },
  hook: { type: "webhook", url: `${hook.url}/` },
});
await sleep(2_000);

const severityOf: Severity[] = [];
const rssBeforeMiB = process.memoryUsage.rss() / mib;
let rssMostMiB = rssBeforeMiB;
const startMs = performance.now();
while (severityOf.length < events) {
  const due = Math.min(
    events,
    Math.ceil((events * (performance.now() - startMs + stepMs)) / (seconds * 1_000)),
  );
  const batches = new Map<number, ReturnType<typeof notification>[]>();
  while (severityOf.length < due) {
    const n = severityOf.length;
    const chance = random();
    const severity: Severity = chance < 0.02 ? "critical" : chance < 0.2 ? "warning" : "info";
    severityOf.push(severity);
    const wallet = Math.floor(random() * wallets);
    const batch = batches.get(wallet) ?? [];
    batch.push(notification(`w${wallet}`, n, severity));
    batches.set(wallet, batch);
  }
  for (const [wallet, batch] of batches) void bench.observe(`w${wallet}`, batch);
  rssMostMiB = Math.max(rssMostMiB, process.memoryUsage.rss() / mib);
  await sleep(stepMs);
}
const lastMs = Date.now();
for (let i = 0; i < 600 && bench.outbox.figures().undelivered > 0; i++) {
  rssMostMiB = Math.max(rssMostMiB, process.memoryUsage.rss() / mib);
  await sleep(500);
}

const alerts = await bench.store.alerts({ limit: events * 2 });
const messages = await bench.store.messages({});
const arrived = {
  chat: new Set(discord.messages.map(({ nonce }) => nonce)),
  hook: new Set<string | null>(hook.taken),
};
const refused = {
  chat: discord.requests.filter(({ status }) => status === 429).length,
  hook: hook.asked.filter(({ method }) => method === "POST").length - hook.taken.length,
};
const byTitle = new Map(alerts.map((alert) => [alert.summary, alert]));
const channels: StormResult["channels"][number][] = [];
const bySeverity: StormResult["bySeverity"][number][] = [];
for (const channel of ["chat", "hook"] as const) {
  const mine = messages.filter(({ receiver }) => receiver === channel);
  const telling = new Map<number, (typeof mine)[number][]>();
  for (const message of mine)
    for (const id of message.alertIds) telling.set(id, [...(telling.get(id) ?? []), message]);
  let lost = 0;
  let inTwo = 0;
  const waits: Record<Severity, number[]> = { critical: [], warning: [], info: [] };
  for (const [n, severity] of severityOf.entries()) {
    const alert = byTitle.get(titleOf(n, severity));
    const told = alert === undefined ? [] : (telling.get(alert.id) ?? []);
    const there = told.find(({ id, status }) => status === "delivered" && arrived[channel].has(id));
    if (there === undefined || alert === undefined) lost++;
    else waits[severity].push((there.deliveredAtMs ?? Number.NaN) - alert.firedAtMs);
    if (told.length > 1) inTwo++;
  }
  channels.push({
    ...{ channel, messages: mine.length, refused: refused[channel], lost, inTwo },
    largest: Math.max(...mine.map(({ alertIds }) => alertIds.length)),
    overAfterS: (Math.max(...mine.map(({ deliveredAtMs }) => deliveredAtMs ?? 0)) - lastMs) / 1_000,
  });
  for (const severity of [...severities].toReversed()) {
    const ms = waits[severity];
    const [p50, p99] = [quantile(ms, 0.5), quantile(ms, 0.99)];
    bySeverity.push({ channel, severity, events: ms.length, p50, p99, max: Math.max(...ms) });
  }
}
await bench.stop();
const result: StormResult = { events, seconds, bySeverity, channels, rssBeforeMiB, rssMostMiB };
if (!process.stdout.write(`${JSON.stringify(result)}\n`)) await once(process.stdout, "drain");
process.exit(0);
