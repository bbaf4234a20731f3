/** The text of an alert as history keeps it. */
import { z } from "zod";
import { keptNumber } from "../../domain/stored/kept.ts";
import type { AlertText } from "../live-alert.ts";

const value = z.union([keptNumber, z.boolean(), z.string()]);
const facts = z.record(z.string(), z.record(z.string(), z.union([value, z.record(z.string(), value)])));

export const keptText: z.ZodType<AlertText> = z.object({
  summary: z.string(),
  description: z.string(),
  value: keptNumber.nullable(),
  dataAtMs: keptNumber,
  details: z.array(z.tuple([z.string(), z.string()])),
  facts: facts.optional(),
  statesAge: z.literal(true).exactOptional(),
});
