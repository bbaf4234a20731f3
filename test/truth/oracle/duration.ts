/** Durations as texts have them: `45s`, `1m 30s`, `3.2s`, `120ms`, `-19s`. */
import { type Claim, claimsOf, type Text } from "./predicate.ts";

export const duration = String.raw`(-?(?:\d+(?:\.\d+)?(?:ms|[smhdwy]) ?)+)`;

const unitMs: Readonly<Record<string, number>> = {
  y: 365 * 86_400_000,
  w: 7 * 86_400_000,
  ...{ d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 },
};
/** The next smaller unit, of which nothing is told where a duration has one unit alone. */
const below: Readonly<Record<string, number>> = { d: 3_600_000, h: 60_000, m: 1_000, s: 1_000, ms: 1 };

const wholeMs = 1_000;
/** Below this durations have a digit after the point. */
const tenthsMs = 10_000;
const tenthMs = 100;

/** Milliseconds of `90s`, `1m30s`, `1m 30s`, `2.5h`; not a number where a text is no such thing. */
export function durationMs(text: string): number {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhdwy]) ?)+$/.test(text)) return Number.NaN;
  const parts = [...text.matchAll(/([\d.]+)([a-z]+)/g)];
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitMs[unit!]!, 0));
}

/** The time of which a text tells: `within 15m`, `in 1d`, `in the last hour`. */
export function windowClaims(text: Text, truthMs: number): readonly Claim[] {
  return claimsOf(text, [
    ["window", /(?:within|in|in the last) (an hour|hour|\d+[smhd](?: \d+[smh])?)\b/, undefined],
  ]).map((claim): Claim => {
    const ms = windowMsOf(claim.text);
    return { ...claim, truth: ms === truthMs ? claim.text : `${truthMs} ms`, room: 0 };
  });
}

function windowMsOf(text: string): number {
  return text.endsWith("hour") ? unitMs.h! : durationMs(text);
}

/** A duration that is told in its two largest units, of whole seconds, the rest cut off; below ten seconds in tenths of them. */
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
  const toldMs = durationMs(plain);
  const { fromMs, toMs } = toldAs(plain, toldMs);
  const sizeMs = Math.abs(truthMs);
  const signed = (ms: number): number => (negative ? -ms : ms);
  // The middle of all that is told so stands for the text.
  const offMs = sizeMs - (fromMs + toMs) / 2;
  return [
    {
      ...{ name, text: String(signed(toldMs)), words: text },
      ...{ truth: truthMs < 0 === negative ? signed(toldMs + offMs) : truthMs, room: (toMs - fromMs) / 2 },
    },
  ];
}

/** The durations that are told by the same words. */
function toldAs(text: string, toldMs: number): { readonly fromMs: number; readonly toMs: number } {
  const units = [...text.matchAll(/[a-z]+/g)].map(([unit]) => unit);
  if (units[0] === "ms") return { fromMs: toldMs - 0.5, toMs: toldMs + 0.5 };
  if (toldMs < tenthsMs)
    return { fromMs: Math.max(toldMs - tenthMs / 2, wholeMs), toMs: toldMs + tenthMs / 2 };
  const stepMs = units.length > 1 ? unitMs[units[1]!]! : below[units[0]!]!;
  // From 9.95 s on it is told as ten seconds.
  const fromMs = toldMs - (toldMs === tenthsMs ? tenthMs : wholeMs) / 2;
  return { fromMs, toMs: toldMs + stepMs - wholeMs / 2 };
}
