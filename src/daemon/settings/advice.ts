/**
 * The `advice:` section: the advised kinds of actions for accounts in danger, and the further move that they have to
 * withstand.
 */
import { z } from "zod";
import { usualAdvice } from "../../advice/settings.ts";
import { clearings } from "../../domain/what-if.ts";

export const adviceSettings = z.strictObject({
  order: z
    .array(z.enum(clearings))
    .refine((order) => new Set(order).size === order.length, "names a kind twice")
    .default([...usualAdvice.order]),
  headroom: z
    .number()
    .refine(
      (share) => share >= 0 && share <= 10,
      "expected a share of a daily move from 0 to 10, such as 0.5",
    )
    .default(usualAdvice.headroom),
});
