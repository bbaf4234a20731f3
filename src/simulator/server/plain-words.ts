/** Explains a schema's issues to users. */
import type { z } from "zod";

const kinds: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "a mapping",
  record: "a mapping",
  array: "a list",
};

/** For `safeParse(value, { error: plainWords })`; undefined keeps the schema's own message. */
export function plainWords(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined
        ? "is missing"
        : `has to be ${kinds[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `has to be one of ${issue.values.map(String).join(", ")}`;
    case "unrecognized_keys":
      return `unknown: ${issue.keys.join(", ")}`;
    case "too_small":
      return `has to be at least ${issue.minimum}`;
    case "too_big":
      return `has to be at most ${issue.maximum}`;
    default:
      return undefined;
  }
}
