/** Durations as settings. */
import { z } from "zod";
import { parseDurationMs } from "../domain/duration.ts";

/** `5s`, `10m`, `35d`; ms. */
export const durationSetting = z.string().transform((text, context): number => {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms > 0) return ms;
  context.addIssue({
    code: "custom",
    message: "expected a duration such as 250ms, 5s, 10m, 4h or 7d",
    input: text,
  });
  return z.NEVER;
});
