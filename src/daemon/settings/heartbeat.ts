/** The `heartbeat:` section: the addresses of the dead man's switch, which may be secret, and the interval. */
import { z } from "zod";
import { anyAddress } from "../../channels/address.ts";
import { durationSetting } from "../../config/index.ts";

export const heartbeatSettings = z
  .strictObject({
    url: anyAddress,
    failUrl: anyAddress.optional(),
    every: durationSetting
      .refine((ms) => ms >= 5_000 && ms <= 86_400_000, "has to be between 5s and 1d")
      .default(60_000),
  })
  .transform(({ url, failUrl, every }) => ({ url, failUrl: failUrl ?? null, everyMs: every }));

export type HeartbeatSettings = z.output<typeof heartbeatSettings>;
