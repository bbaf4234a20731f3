/** The series behind an alert as a picture: its line, the levels at which rules fire, and now. Pure. */
import type { Severity } from "../../domain/alert.ts";
import { formatDurationMs } from "../../domain/duration.ts";
import { formatAmount, formatPercent, formatPrice, formatUsd } from "../../domain/number-text.ts";
import type { ChartSeries } from "../../domain/ports.ts";
import { timeOfDay } from "../../domain/time-text.ts";
import { cleanLine, forHtml, shorten } from "../text.ts";

const width = 640;
const height = 240;
const left = 12;
const right = 110;
const top = 34;
const bottom = 28;
/** Points drawn: more of them than pixels tell nothing more. */
const mostPoints = 400;

const colours: Readonly<Record<Severity, string>> = {
  info: "#2e90fa",
  warning: "#f79009",
  critical: "#d92d20",
};

/** @returns an SVG of 640 × 240, or null where there is no line to draw */
export function chartSvg(series: ChartSeries, timezone: string): string | null {
  const points = thinned(series.points.filter(([, value]) => drawable(value)));
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || points.length < 2 || last[0] <= first[0]) return null;
  const limits = series.thresholds.filter(({ value }) => drawable(value));
  const values = [...points.map(([, value]) => value), ...limits.map(({ value }) => value)];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const margin = Math.max((most - least || Math.abs(most)) * 0.08, 1e-100);
  const [low, high] = [least - margin, most + margin];
  const x = (ms: number) => round(left + ((ms - first[0]) / (last[0] - first[0])) * (width - left - right));
  const y = (value: number) =>
    round(height - bottom - ((value - low) / (high - low)) * (height - top - bottom));
  const format = formatOf(series.unit);
  const path = points.map(([ms, value], index) => `${index === 0 ? "M" : "L"}${x(ms)} ${y(value)}`).join("");
  const placed: number[] = [];
  const labelAt = (value: number): number => {
    let at = y(value) + 4;
    while (placed.some((other) => Math.abs(other - at) < 14)) at += 14;
    placed.push(at);
    return at;
  };
  const edge = width - right;
  const text = (at: number, line: number, fill: string, words: string, anchor = "start") =>
    `<text x="${at}" y="${line}" fill="${fill}" text-anchor="${anchor}">${forHtml(words)}</text>`;
  const span = formatDurationMs(last[0] - first[0]);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="DejaVu Sans Mono" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#1e1f22"/>`,
    text(left, 22, "#dbdee1", shorten(cleanLine(series.title), 70)),
    `<path d="${path}" fill="none" stroke="#dbdee1" stroke-width="2" stroke-linejoin="round"/>`,
    `<circle cx="${x(last[0])}" cy="${y(last[1])}" r="4" fill="#ffffff"/>`,
    text(edge + 8, labelAt(last[1]), "#ffffff", format(last[1])),
    ...limits.flatMap(({ severity, value }) => [
      `<line x1="${left}" x2="${edge}" y1="${y(value)}" y2="${y(value)}" stroke="${colours[severity]}" stroke-width="1.5" stroke-dasharray="6 4"/>`,
      text(edge + 8, labelAt(value), colours[severity], format(value)),
    ]),
    text(left, height - 10, "#949ba4", timeOfDay(first[0], timezone)),
    text(edge, height - 10, "#949ba4", `${timeOfDay(last[0], timezone)} · ${span}`, "end"),
    "</svg>",
  ].join("\n");
}

/** Infinity is a distance to what is not there; beyond these is no figure of any market. */
function drawable(value: number): boolean {
  return Math.abs(value) < 1e100;
}

/** Of each stretch the least and the most, so that no spike is lost. */
function thinned(points: ChartSeries["points"]): ChartSeries["points"] {
  if (points.length <= mostPoints) return points;
  const size = Math.ceil(points.length / (mostPoints / 2));
  const kept: (readonly [number, number])[] = [];
  for (let index = 0; index < points.length; index += size) {
    const some = points.slice(index, index + size);
    const least = some.reduce((a, b) => (b[1] < a[1] ? b : a));
    const most = some.reduce((a, b) => (b[1] > a[1] ? b : a));
    kept.push(...(least === most ? [least] : least[0] < most[0] ? [least, most] : [most, least]));
  }
  const last = points.at(-1)!;
  if (kept.at(-1) !== last) kept.push(last);
  return kept;
}

function formatOf(unit: string): (value: number) => string {
  switch (unit) {
    case "usd":
      return formatUsd;
    case "price":
      return formatPrice;
    case "ratio":
      return formatPercent;
    case "rate":
      return (value) => `${formatPercent(value)}/h`;
    case "yearlyRate":
      return (value) => `${formatPercent(value)}/year`;
    case "duration":
      return formatDurationMs;
    default:
      return formatAmount;
  }
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
