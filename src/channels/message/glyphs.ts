/** A symbol for each tone, for chats. */
import type { Tone } from "./rendering.ts";

export const glyphs: Readonly<Record<Tone, string>> = {
  critical: "🔴",
  warning: "🟠",
  info: "🔵",
  good: "🟢",
  over: "⚪",
  test: "🟣",
};
