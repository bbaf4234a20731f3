/** Access to the exchange and to channels for commands without a daemon. */
import type { Channel, ProbeResult } from "../channels/channel.ts";
import { createChannels, programEnvironment } from "../channels/registry.ts";
import type { DaemonSettings } from "../daemon/settings.ts";
import { version } from "../daemon/version.ts";
import { systemClock } from "../domain/clock.ts";
import type { SessionStore } from "../domain/ports.ts";
import { type BadRecordReport, createExchange, type Exchange } from "../exchange/index.ts";

/** Provides the exchange with the configured wallets, not signed in yet, while `use` runs. */
export async function withExchange<T>(
  settings: Pick<DaemonSettings, "exchange" | "wallets">,
  store: SessionStore,
  use: (exchange: Exchange) => Promise<T>,
  onBadRecord: (report: BadRecordReport) => void = () => {},
): Promise<T> {
  const exchange = createExchange({
    settings: settings.exchange,
    version,
    clock: systemClock(),
    random: Math.random,
    wallets: settings.wallets.flatMap(({ name, key, login }) => (key === null ? [] : [{ name, key, login }])),
    store,
    onSession: () => {},
    onTrouble: () => {},
    onBadRecord,
  });
  try {
    return await use(exchange);
  } finally {
    await exchange.stop();
  }
}

/** Sessions that end with the process. */
export function memorySessions(): SessionStore {
  const rows = new Map<string, Uint8Array>();
  return {
    load: async (name) => rows.get(name) ?? null,
    save: async (wallet, sealed) => void rows.set(wallet, sealed),
    remove: async (wallet) => void rows.delete(wallet),
  };
}

/** Provides a configured channel while `use` runs. */
export async function withChannel<T>(
  settings: DaemonSettings,
  name: string,
  out: NodeJS.WriteStream,
  use: (channel: Channel) => Promise<T>,
): Promise<T> {
  const { timezone, mention } = settings;
  const environment = programEnvironment(process.env);
  const deps = { clock: systemClock(), random: Math.random, out, timezone, mention, environment };
  // A rota sends through other channels. They open no connection before they are used.
  const channels = createChannels(settings.channels, (rota) => settings.rotas[rota]!, deps);
  try {
    return await use(channels.get(name)!);
  } finally {
    await Promise.all([...channels.values()].map((channel) => channel.stop()));
  }
}

/** Probes a channel without sending anything. */
export async function probeChannel(channel: Channel): Promise<ProbeResult> {
  try {
    return await channel.probe(AbortSignal.timeout(channel.deadlineMs));
  } catch {
    const detail = `no answer within ${channel.deadlineMs / 1_000} s`;
    return { kind: "failed", failure: "timeout", detail, fix: "look whether this machine reaches it at all" };
  }
}
