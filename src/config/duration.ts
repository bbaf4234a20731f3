/** Schema of durations in settings. */
import { z } from "zod";
import { parseDurationMs } from "../domain/text/duration.ts";

const expected = "expected a duration such as 250ms, 5s, 10m, 4h or 7d";

/** `5s`, `10m`, `35d`; the value is in ms. */
export const durationSetting = z.string({ error: expected }).transform((text, context): number => {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms > 0) return ms;
  context.addIssue({
    code: "custom",
    message: expected,
    input: text,
  });
  return z.NEVER;
});
