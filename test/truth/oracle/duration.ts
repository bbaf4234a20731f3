/** Durations as texts have them: `45s`, `1m 30s`, `3.2s`, `120ms`, `-19s`. */
import { parseDurationMs } from "../../../src/domain/duration.ts";
import { type Claim, claimsOf, type Text } from "./predicate.ts";

export const duration = String.raw`(-?(?:\d+(?:\.\d+)?(?:ms|[smhdwy]) ?)+)`;

const unitMs: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
/** The next smaller unit, of which nothing is told where a duration has one unit alone. */
const below: Readonly<Record<string, number>> = { d: 3_600_000, h: 60_000, m: 1_000, s: 1_000, ms: 1 };

/** The time of which a text tells: `within 15 min`, `in 24 h`, `of the last hour`. */
export function windowClaims(text: Text, truthMs: number): readonly Claim[] {
  return claimsOf(text, [
    [
      "window",
      /(?:within|in|of|in the last|of the last|over the last) (an hour|hour|\d+ (?:min|h)|\d+[smhd](?: \d+[smh])?)\b/,
      undefined,
    ],
  ]).map((claim): Claim => {
    const ms = windowMsOf(claim.text);
    return { ...claim, truth: ms === truthMs ? claim.text : `${truthMs} ms`, room: 0 };
  });
}

function windowMsOf(text: string): number {
  if (text.endsWith("hour")) return unitMs.h!;
  return parseDurationMs(text.replace("min", "m").replaceAll(" ", "")) ?? Number.NaN;
}

/** A duration that is told in its two largest units, the rest cut off. */
export function durationClaims(
  { summary, description }: Text,
  name: string,
  pattern: RegExp,
  truthMs: number | undefined,
): readonly Claim[] {
  const text = (pattern.exec(summary) ?? pattern.exec(description))?.[1]?.trim();
  if (text === undefined) return [];
  if (truthMs === undefined) return [{ name, text, truth: undefined }];
  const negative = text.startsWith("-");
  const plain = text.replace("-", "");
  const parts = plain.split(" ").map((part) => /[a-z]+$/.exec(part)![0]);
  const step = parts.length > 1 ? unitMs[parts[1]!]! : below[parts[0]!]!;
  const toldMs = parseDurationMs(plain.replaceAll(" ", ""))!;
  // Seconds below ten have a decimal.
  const room = plain.includes(".") || toldMs < 10_000 ? (parts[0] === "ms" ? 1 : 100) : step / 2 + 500;
  const middle = plain.includes(".") || toldMs < 10_000 ? Math.abs(truthMs) : Math.abs(truthMs) - step / 2;
  const signed = (ms: number): number => (negative ? -ms : ms);
  return [
    {
      ...{ name, text: String(signed(toldMs)), words: text },
      ...{ truth: truthMs < 0 === negative ? signed(middle) : truthMs, room },
    },
  ];
}
