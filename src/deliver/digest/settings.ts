/** The schedule and the receivers of a digest. The configuration reader checks the expression and the names. */
import { z } from "zod";

export const digestSettings = z.strictObject({
  /** Six parts: seconds minutes hours days months weekdays. Default: each day at eight. */
  cron: z.string().min(1).default("0 0 8 * * *"),
  /** IANA name; default: the configuration's own. */
  timezone: z.string().min(1).optional(),
  receivers: z.array(z.string()).min(1),
});
export type DigestSettings = z.infer<typeof digestSettings>;
