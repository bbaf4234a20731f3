/** Warns of external addresses that are called without TLS and carry secrets. The warnings contain no address. */
import { isPlain } from "../../channels/address.ts";
import type { ChannelSettings } from "../../channels/registry.ts";
import type { ConfigSource } from "../../config/index.ts";
import type { HeartbeatSettings } from "./heartbeat.ts";

const fix = "take https://, or keep it within a network that you trust";

export function warnOfPlainAddresses(
  source: ConfigSource,
  channels: Readonly<Record<string, ChannelSettings>>,
  heartbeat: HeartbeatSettings | null | undefined,
): void {
  for (const [name, settings] of Object.entries(channels)) {
    const shown = shownBy(settings);
    if (shown !== null)
      source.warn(["channels", name, "url"], `${name} leaves this machine without TLS: ${shown}: ${fix}`);
  }
  for (const [key, url] of [
    ["url", heartbeat?.url],
    ["failUrl", heartbeat?.failUrl],
  ] as const)
    if (url != null && isPlain(url))
      source.warn(
        ["heartbeat", key],
        `the heartbeat leaves this machine without TLS: who reads it on the way can send it in place of the daemon: ${fix}`,
      );
}

/** Returns what an eavesdropper learns; null: nothing but ordinary alert messages. */
function shownBy(settings: ChannelSettings): string | null {
  if (settings.type === "ntfy" && isPlain(settings.url))
    return "who reads the topic on the way can read and write all of it";
  if (settings.type !== "webhook" || !isPlain(settings.url)) return null;
  const { pathname, search } = new URL(settings.url);
  return pathname + search === "/" ? null : "who reads the address on the way can write to it";
}
