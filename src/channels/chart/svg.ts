/** Draws the series behind an alert as SVG: the line, the thresholds of its rule, and the newest value. Pure. */
import type { Severity } from "../../domain/alerts/alert.ts";
import type { ChartSeries } from "../../domain/alerts/chart.ts";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { timeOfDay } from "../../domain/text/time-text.ts";
import { forHtml, ownLine, shorten } from "../message/text.ts";
import { formatOf } from "./chart-text.ts";
import { thinned } from "./thin.ts";

const width = 640;
const height = 240;
const left = 12;
const right = 110;
const top = 34;
const bottom = 28;
const labelHeight = 14;
/** Maximum number of drawn points; more would exceed the pixels. */
const maxPoints = 400;

export const chartSize = { width, height } as const;

/** Colours. Chats are dark, mails are light. */
export interface ChartTheme {
  readonly background: string;
  readonly text: string;
  readonly faint: string;
  readonly now: string;
  readonly levels: Readonly<Record<Severity, string>>;
}

const darkChart: ChartTheme = {
  ...{ background: "#1e1f22", text: "#dbdee1", faint: "#949ba4", now: "#ffffff" },
  levels: { info: "#2e90fa", warning: "#f79009", critical: "#d92d20" },
};
/** For mails: their text colour and severity colours. */
export const lightChart: ChartTheme = {
  ...{ background: "#f9fafb", text: "#344054", faint: "#667085", now: "#101828" },
  levels: { info: "#175cd3", warning: "#b54708", critical: "#b42318" },
};

/** @returns an SVG of 640 × 240, or null if there are fewer than two points */
export function chartSvg(series: ChartSeries, timezone: string, theme = darkChart): string | null {
  const points = thinned(
    series.points.filter(([, value]) => isDrawable(value)),
    maxPoints,
  );
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || points.length < 2 || last[0] <= first[0]) return null;
  const limits = series.thresholds.filter(({ value }) => isDrawable(value));
  const values = [...points.map(([, value]) => value), ...limits.map(({ value }) => value)];
  const [min, max] = [Math.min(...values), Math.max(...values)];
  const margin = Math.max((max - min || Math.abs(max)) * 0.08, 1e-100);
  const [low, high] = [min - margin, max + margin];
  const x = (ms: number) => round(left + ((ms - first[0]) / (last[0] - first[0])) * (width - left - right));
  const y = (value: number) =>
    round(height - bottom - ((value - low) / (high - low)) * (height - top - bottom));
  const format = formatOf(series.unit);
  const path = points.map(([ms, value], index) => `${index === 0 ? "M" : "L"}${x(ms)} ${y(value)}`).join("");
  const labels = spreadLabels([last[1], ...limits.map(({ value }) => value)].map((value) => y(value) + 4));
  const edge = width - right;
  const text = (at: number, line: number, fill: string, words: string, anchor = "start") =>
    `<text x="${at}" y="${line}" fill="${fill}" text-anchor="${anchor}">${forHtml(words)}</text>`;
  const span = formatDurationMs(last[0] - first[0]);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="DejaVu Sans Mono" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="${theme.background}"/>`,
    text(left, 22, theme.text, shorten(ownLine(series.title), 70)),
    `<path d="${path}" fill="none" stroke="${theme.text}" stroke-width="2" stroke-linejoin="round"/>`,
    `<circle cx="${x(last[0])}" cy="${y(last[1])}" r="4" fill="${theme.now}"/>`,
    text(edge + 8, labels[0]!, theme.now, format(last[1])),
    ...limits.flatMap(({ severity, value }, index) => [
      `<line x1="${left}" x2="${edge}" y1="${y(value)}" y2="${y(value)}" stroke="${theme.levels[severity]}" stroke-width="1.5" stroke-dasharray="6 4"/>`,
      text(edge + 8, labels[index + 1]!, theme.levels[severity], format(value)),
    ]),
    text(left, height - 10, theme.faint, timeOfDay(first[0], timezone)),
    text(edge, height - 10, theme.faint, `${timeOfDay(last[0], timezone)} · ${span}`, "end"),
    "</svg>",
  ].join("\n");
}

/** Returns y positions at which the labels do not overlap, in the order of the input. */
function spreadLabels(positions: readonly number[]): number[] {
  const from = [...positions.keys()].sort((a, b) => positions[a]! - positions[b]!);
  const at = [...positions];
  for (const [place, index] of from.entries()) {
    const above = from[place - 1];
    if (above !== undefined) at[index] = Math.max(at[index]!, at[above]! + labelHeight);
  }
  let maxY = height - 8;
  for (const index of from.toReversed()) {
    at[index] = round(Math.min(at[index]!, maxY));
    maxY = at[index]! - labelHeight;
  }
  return at;
}

/** Infinity stands for a missing liquidation price; no market figure is above this bound. */
function isDrawable(value: number): boolean {
  return Math.abs(value) < 1e100;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
