/** The channels of the configuration. */
import { z } from "zod";
import { type ChannelSettings, channelSettings } from "../../channels/registry.ts";
import type { ConfigSource } from "../../config/index.ts";

const channelName = /^[A-Za-z0-9_-]{1,64}$/;

export function readChannels(source: ConfigSource): Readonly<Record<string, ChannelSettings>> {
  if (!source.has(["channels"])) {
    source.problem(
      ["channels"],
      "no channel is configured, so nobody would be told: add one, at least { here: { type: console } }",
    );
    return {};
  }
  const found = source.read(["channels"], z.record(z.string(), z.unknown()));
  if (found !== undefined && Object.keys(found).length === 0)
    source.problem(["channels"], "expected at least one channel, such as { here: { type: console } }");
  const channels: Record<string, ChannelSettings> = {};
  for (const name of Object.keys(found ?? {})) {
    if (!channelName.test(name))
      source.problem(["channels", name], "a channel's name has letters, digits, _ and -, at most 64", {
        atKey: true,
      });
    const settings = source.read(["channels", name], channelSettings);
    if (settings !== undefined) channels[name] = settings;
  }
  return channels;
}
