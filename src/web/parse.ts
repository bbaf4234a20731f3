/** Validates the parts of a request. */
import type { z } from "zod";
import { Refused } from "./refused.ts";

/** @throws {Refused} 400 with all mistakes */
export function parse<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const result = schema.safeParse(value ?? {});
  if (result.success) return result.data;
  const problems = result.error.issues.map(
    (issue) => `${[where, ...issue.path].join(".")}: ${issue.message}`,
  );
  throw new Refused(400, problems.join("; "));
}
