/** From a notification to a message at a channel's other side: the real watch, history, ingest and outbox, in this process. */
import path from "node:path";
import { acknowledgeSettings } from "../../../src/alerts/acknowledge.ts";
import { remindSettings } from "../../../src/alerts/reminders/remind.ts";
import { routingSettings } from "../../../src/alerts/routing/route.ts";
import type { Channel } from "../../../src/channels/channel.ts";
import { channelSettings, createChannel } from "../../../src/channels/registry.ts";
import { walletEvent } from "../../../src/collect/translate/event.ts";
import { createOutbox, type Outbox } from "../../../src/deliver/index.ts";
import type { Severity } from "../../../src/domain/alerts/alert.ts";
import { systemClock } from "../../../src/domain/clock.ts";
import type { Event } from "../../../src/domain/event.ts";
import { type Source, sources } from "../../../src/domain/sources.ts";
import { nothingRemembered } from "../../../src/engine/remembered.ts";
import { Watch } from "../../../src/engine/watch.ts";
import { type History, openStore } from "../../../src/history/index.ts";
import type { IngestLoop } from "../../../src/ingest/loop.ts";
import { benchFolder, ingestLoop, ruleSetOf } from "../daemon/judging.ts";
import { benchWallets } from "../daemon/world.ts";

const rules = `rules:
${(["critical", "warning", "info"] as const)
  .map(
    (severity) =>
      `  - { name: Told${severity}, on: notification, when: event.type == "${severity}", severity: ${severity}, summary: "{{ event.title }}" }`,
  )
  .join("\n")}
`;

export interface Desk {
  readonly store: History;
  readonly outbox: Outbox;
  /** Notifications of one wallet, seen now. */
  observe(wallet: string, events: readonly Event[]): Promise<void>;
  stop(): Promise<void>;
}

export function notification(wallet: string, n: number, severity: Severity): Event {
  const nowMs = Date.now();
  return walletEvent(
    "notification",
    { name: wallet, authority: "", watchOnly: true, pdaIndices: [0] },
    {
      key: `general/${n}`,
      happenedMs: nowMs,
      seenMs: nowMs,
      fields: {
        ...{ source: "general", type: severity, side: null, size: null, price: null },
        ...{ title: titleOf(n, severity), body: null },
      },
    },
  );
}

export const titleOf = (n: number, severity: Severity): string => `${severity} notification ${n}`;

/** @param settings of channels, by name, as a configuration has them */
export async function desk(
  wallets: number,
  settings: Readonly<Record<string, object>>,
  routing: object = {},
): Promise<Desk> {
  const clock = systemClock();
  const random = Math.random;
  const store = openStore({ path: path.join(benchFolder(), "delivery.db"), clock });
  const channels = new Map<string, Channel>();
  for (const [name, one] of Object.entries(settings)) {
    const parsed = channelSettings.parse(one);
    channels.set(name, createChannel(name, parsed, { clock, random, out: process.stderr }));
  }
  const all = benchWallets(wallets);
  const watch = new Watch(
    {
      wallets: all.map((one) => ({ ...one, labels: {}, limits: {}, watchOnly: false })),
      ruleSet: ruleSetOf(rules),
      routing: routingSettings.parse({ receivers: [...channels.keys()], ...routing }),
      remind: remindSettings.parse({}),
      acknowledge: acknowledgeSettings.parse({}),
      scheduleMs: Object.fromEntries(sources.map((source) => [source, 3_600_000])) as Record<Source, number>,
      timezone: "UTC",
    },
    nothingRemembered,
    clock.nowMs(),
  );
  let ingest: IngestLoop | null = null;
  const { stormFold } = routingSettings.parse({ receivers: ["any"] });
  const outbox = createOutbox({
    ...{ store, channels, clock, random, sender: "perpwatch on bench", instance: "bench" },
    observe: (observation) => void ingest?.observe(observation),
    stormFold: () => stormFold,
  });
  ingest = ingestLoop({ watch, store, clock, onCommitted: (changes) => outbox.committed(changes) });
  const running = ingest;
  await outbox.start(new AbortController().signal);
  running.start();
  const nowMs = clock.nowMs();
  await running.observe({ kind: "started", atMs: nowMs, version: "bench", lastAliveMs: nowMs });
  // Each inbox was read once and was empty: what comes from here on is news.
  for (const { name } of all)
    await running.observe({ kind: "events", source: "notifications", wallet: name, atMs: nowMs, events: [] });
  return {
    store,
    outbox,
    observe: (wallet, events) =>
      running.observe({ kind: "events", source: "notifications", wallet, atMs: clock.nowMs(), events }),
    async stop() {
      await running.stop();
      await outbox.stop();
      await store.close();
    },
  };
}
