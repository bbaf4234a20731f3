/** The `advice:` section: the kinds of actions that are advised where an account is in danger, and for which further move they suffice. */
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
