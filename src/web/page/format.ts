/**
 * Formats values for the page. The function is sent to the browser as source text, so its body may not refer to
 * anything outside of it, except types.
 */
import type { Escaper } from "../../domain/text/escape.ts";
import type { WireNumber } from "../wire.ts";

export type Safe = { readonly html: string };
export type Format = ReturnType<typeof formatters>;

export function formatters({ escapedLines }: Escaper) {
  const dash = "–";
  const entities: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };

  type Part = string | number | null | Safe | readonly Safe[];

  /** A template tag that escapes its values, unless it created them itself. */
  function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Safe {
    let out = texts[0]!;
    parts.forEach((part, at) => {
      out += markup(part) + texts[at + 1];
    });
    return { html: out };
  }

  function markup(part: Part): string {
    if (part === null) return "";
    if (typeof part === "object")
      return Array.isArray(part) ? part.map(markup).join("") : (part as Safe).html;
    return escapedLines(String(part)).replace(/[&<>"']/g, (letter) => entities[letter]!);
  }

  /** Parses a number of the JSON API; null if it is not known. */
  function numeric(value: WireNumber | null | undefined): number | null {
    if (value === null || value === undefined) return null;
    const number = Number(value);
    return Number.isNaN(number) ? null : number;
  }

  const minus = (text: string) => text.replace("-", "−");
  const grouped = (value: number, digits: number, least = 0) =>
    minus(
      value.toLocaleString("en-US", {
        maximumFractionDigits: digits,
        minimumFractionDigits: Math.min(least, digits),
      }),
    );

  function finite(value: number | null, write: (value: number) => string): string {
    if (value === null) return dash;
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    return write(value);
  }

  /** Smaller amounts round to zero and have no sign. */
  const leastUsd = 0.005;
  const usd = (value: number | null) =>
    finite(value, (known) => {
      const size = Math.abs(known);
      if (size >= 1e7) return `${known < 0 ? "−" : ""}$${grouped(size / 1e6, 2, 2)} M`;
      const digits = size >= 10_000 ? 0 : 2;
      return `${known < 0 && size >= leastUsd ? "−" : ""}$${grouped(size, digits, digits)}`;
    });

  const signedUsd = (value: number | null) =>
    value !== null && value >= leastUsd ? `+${usd(value)}` : usd(value);

  /** Six significant digits suit prices of all sizes. */
  const price = (value: number | null) =>
    finite(value, (known) => minus(known.toLocaleString("en-US", { maximumSignificantDigits: 6 })));

  const amount = (value: number | null) =>
    finite(value, (known) => minus(known.toLocaleString("en-US", { maximumSignificantDigits: 7 })));

  /** Larger ratios are shown as "over" this. */
  const maxRatio = 100;
  const bounded = (value: number | null, write: (value: number) => string) => {
    if (value === null || Math.abs(value) <= maxRatio) return finite(value, write);
    return `${value > 0 ? "over" : "below"} ${write(value > 0 ? maxRatio : -maxRatio)}`;
  };

  const percent = (value: number | null) =>
    bounded(value, (known) => {
      const digits = Math.abs(known) < 0.1 ? 2 : Math.abs(known) < 1 ? 1 : 0;
      return `${grouped(known * 100, digits, digits)} %`;
    });

  const times = (value: number | null) =>
    bounded(value, (known) => `${grouped(known, 1, known < maxRatio ? 1 : 0)}×`);

  const count = (value: number | null) => finite(value, (known) => grouped(known, 0));

  const bytes = (value: number) => {
    const units = ["B", "KB", "MB", "GB", "TB"];
    let [size, unit] = [value, 0];
    while (size >= 1_000 && unit < units.length - 1) [size, unit] = [size / 1_000, unit + 1];
    return `${grouped(size, unit === 0 ? 0 : 1)} ${units[unit]}`;
  };

  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");

  /** A duration, ms. Tenths are shown below ten seconds, seconds below an hour. */
  const span = (ms: number | null): string => {
    if (ms === null) return dash;
    const seconds = Math.max(0, ms) / 1_000;
    if (seconds < 10) return `${seconds.toFixed(1)} s`;
    if (seconds < 60) return `${Math.floor(seconds)} s`;
    if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
    if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${two((seconds / 60) % 60)} min`;
    return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds / 3_600) % 24)} h`;
  };

  /** The local time of day; with the date if it was not today. */
  const clock = (ms: number, nowMs: number) => {
    const at = new Date(ms);
    const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
    if (new Date(nowMs).toDateString() === at.toDateString()) return time;
    return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
  };

  const plural = (many: number, one: string, more = `${one}s`) => `${count(many)} ${many === 1 ? one : more}`;

  /** A camel-case word as separate words: `at risk` for `atRisk`. */
  const words = (word: string) =>
    word.replace(/([a-z0-9])([A-Z])/g, (_, before, letter) => `${before} ${letter.toLowerCase()}`);

  return {
    html,
    numeric,
    usd,
    signedUsd,
    price,
    amount,
    percent,
    times,
    count,
    bytes,
    span,
    clock,
    plural,
    words,
    dash,
  };
}
