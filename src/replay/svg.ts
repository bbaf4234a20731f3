/**
 * Draws a backtest as an SVG picture: a lane for each rule and subject, with its levels as colours, the rule's value as
 * a line with its thresholds, and liquidations as marks.
 */

import type { Changes } from "../domain/stored/changes.ts";
import { parseSubject } from "../domain/subject.ts";
import { escaped } from "../domain/text/escape.ts";
import { formatTime } from "../domain/text/time-text.ts";
import { formatNumber, type RuleSet, scopes, type Unit, vocabulary } from "../rules/index.ts";
import type { Span } from "./backtest.ts";
import type { BacktestReport, ReportedAlert } from "./report.ts";

const width = 1_200;
/** Width of the column of lane names. */
const nameWidth = 260;
const plotLeft = nameWidth + 64;
const rightMargin = 40;
/** Minimum distance of two labels of an axis. */
const minLabelGap = 11;
const laneHeight = 56;
const topMargin = 64;
const buckets = 600;
const maxLanes = 200;
const colours = { info: "#3b82f6", warning: "#f59e0b", critical: "#dc2626" } as const;

interface Threshold {
  readonly severity: keyof typeof colours;
  readonly value: number;
}

interface RuleValue {
  readonly rule: string;
  readonly scope: string;
  readonly field: string;
  readonly unit: Unit;
  readonly thresholds: readonly Threshold[];
}

interface Line {
  readonly min: Float64Array;
  readonly max: Float64Array;
}

/** Collects the values of rules while a backtest runs: the minimum and maximum in each bucket of the picture. */
export class ValueLines {
  readonly #span: Span;
  readonly #fields = new Map<string, RuleValue>();
  readonly #lines = new Map<string, Line>();

  constructor(ruleSet: RuleSet, span: Span) {
    this.#span = span;
    for (const rule of ruleSet.conditions) {
      const [first] = rule.levels;
      const text = rule.value?.text ?? first?.when.text ?? "";
      const path = /^\s*(\w+)\.(\w+)\b/.exec(text);
      if (!path || (rule.value !== null && path[0].trim() !== text.trim())) continue;
      const thresholds = rule.levels.flatMap(({ severity, when }) => {
        const of = rule.value === null ? path[0].trim() : "value";
        const literal = of.replace(".", "\\.");
        const found = new RegExp(`^\\s*${literal}\\s*[<>]=?\\s*(-?[\\d.]+)`).exec(when.text);
        return found ? [{ severity, value: Number(found[1]) }] : [];
      });
      const [, scope, field] = path;
      if (thresholds.length === 0 && rule.value === null) continue;
      const known = scopes.find((one) => one === scope);
      const ofField = known && vocabulary[known].find(({ name }) => name === field)?.unit;
      const unit = rule.value?.unit ?? ofField ?? "none";
      this.#fields.set(rule.name, { rule: rule.name, scope: scope!, field: field!, unit, thresholds });
    }
  }

  take({ ticks }: Changes): void {
    const wanted = new Set([...this.#fields.values()].map(({ scope, field }) => `${scope} ${field}`));
    for (const { atMs, owner, series, values } of ticks) {
      const bucket = Math.floor(
        ((atMs - this.#span.fromMs) / (this.#span.toMs - this.#span.fromMs)) * buckets,
      );
      if (bucket < 0 || bucket >= buckets) continue;
      for (let i = 0; i < series.length; i++) {
        const name = series[i]!;
        const field = name.slice(name.lastIndexOf(".") + 1);
        const scope = /^\w+/.exec(name)![0];
        if (!wanted.has(`${scope} ${field}`)) continue;
        const value = values[i]!;
        if (!Number.isFinite(value)) continue;
        const symbol = /\[([^\]]+)\]/.exec(name)?.[1];
        const subject =
          scope === "position" ? `${owner}/${symbol}` : scope === "market" ? `market/${symbol}` : owner;
        const key = `${subject} ${field}`;
        const line = this.#lines.get(key) ?? {
          min: new Float64Array(buckets).fill(Number.NaN),
          max: new Float64Array(buckets).fill(Number.NaN),
        };
        this.#lines.set(key, line);
        if (!(line.min[bucket]! <= value)) line.min[bucket] = value;
        if (!(line.max[bucket]! >= value)) line.max[bucket] = value;
      }
    }
  }

  /** The value of a rule about a subject; null where the rule reads more than one figure. */
  of(rule: string, subject: string): { readonly watched: RuleValue; readonly line: Line } | null {
    const watched = this.#fields.get(rule);
    if (!watched) return null;
    const parsed = parseSubject(subject);
    const owner =
      parsed !== undefined && "symbol" in parsed && watched.scope === "market"
        ? `market/${parsed.symbol}`
        : subject;
    const line = this.#lines.get(`${owner} ${watched.field}`);
    return line ? { watched, line } : null;
  }
}

export function drawBacktest(report: BacktestReport, lines: ValueLines, timezone: string): string {
  const { fromMs, toMs } = report;
  const span = Math.max(1, toMs - fromMs);
  const x = (ms: number) => round(plotLeft + ((ms - fromMs) / span) * (width - plotLeft - rightMargin));
  const lanes = [...Map.groupBy(report.alerts, ({ rule, subject }) => `${rule}\n${subject}`).values()];
  const shown = lanes.slice(0, maxLanes);
  const height = topMargin + Math.max(1, shown.length) * laneHeight + 40;
  const out: string[] = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(
      16,
      24,
      `${report.alerts.length} alerts, ${report.messages.length} messages`,
      'font-size="16" font-weight="600"',
    ),
    text(16, 44, `${formatTime(fromMs, timezone)} to ${formatTime(toMs, timezone)}`, 'fill="#6b7280"'),
  ];
  for (const { fromMs: from, toMs: to } of [...report.down, ...report.gaps]) {
    const [left, right] = [x(Math.max(from, fromMs)), x(Math.min(to, toMs))];
    out.push(
      `<rect x="${left}" y="${topMargin}" width="${Math.max(1, round(right - left))}" height="${height - topMargin - 40}" fill="#e5e7eb"><title>no data</title></rect>`,
    );
  }
  for (let i = 0; i <= 6; i++) {
    const atMs = fromMs + (span * i) / 6;
    const at = x(atMs);
    out.push(`<line x1="${at}" x2="${at}" y1="${topMargin}" y2="${height - 36}" stroke="#e5e7eb"/>`);
    const label = formatTime(atMs, timezone).slice(5, 16);
    out.push(text(at, height - 18, label, 'fill="#6b7280" text-anchor="middle"'));
  }
  for (const [index, alerts] of shown.entries())
    out.push(...lane(alerts, topMargin + index * laneHeight, { x, toMs, lines }));
  if (shown.length === 0) out.push(text(16, topMargin + 24, "No rule would have fired.", ""));
  if (lanes.length > shown.length)
    out.push(text(16, height - 18, `and ${lanes.length - shown.length} more`, ""));
  for (const { happenedMs, subject, kind } of report.liquidations) {
    const at = x(happenedMs);
    const title = `${subject} liquidated (${kind}) at ${formatTime(happenedMs, timezone)}`;
    out.push(
      `<g><title>${markup(title)}</title><line x1="${at}" x2="${at}" y1="${topMargin - 6}" y2="${height - 36}" stroke="#111827" stroke-dasharray="4 3"/><path d="M${at} ${topMargin - 4}l-6 -10h12z" fill="#111827"/></g>`,
    );
  }
  out.push("</svg>");
  return `${out.join("\n")}\n`;
}

interface Drawing {
  readonly x: (ms: number) => number;
  readonly toMs: number;
  readonly lines: ValueLines;
}

function lane(alerts: readonly ReportedAlert[], y: number, { x, toMs, lines }: Drawing): string[] {
  const [first] = alerts;
  const { rule, subject } = first!;
  const out = [
    text(16, y + 22, shortened(rule), 'font-weight="600"'),
    text(16, y + 38, shortened(subject), 'fill="#6b7280"'),
    `<line x1="${plotLeft}" x2="${width - rightMargin}" y1="${y + laneHeight - 4}" y2="${y + laneHeight - 4}" stroke="#e5e7eb"/>`,
  ];
  for (const alert of alerts) {
    const endMs = alert.endedAtMs ?? toMs;
    if (alert.event) {
      out.push(
        `<circle cx="${x(alert.firedAtMs)}" cy="${y + 26}" r="5" fill="${colours[alert.severity]}"><title>${markup(alert.summary)}</title></circle>`,
      );
      continue;
    }
    alert.levels.forEach(({ severity, atMs }, index) => {
      const until = alert.levels[index + 1]?.atMs ?? endMs;
      const left = x(atMs);
      const wide = Math.max(2, round(x(until) - left));
      out.push(
        `<rect x="${left}" y="${y + 6}" width="${wide}" height="${laneHeight - 14}" fill="${colours[severity]}" fill-opacity="0.35"><title>${markup(`${severity}: ${alert.summary}`)}</title></rect>`,
      );
    });
  }
  const found = lines.of(rule, subject);
  if (found) out.push(...valueLine(found, y));
  return out;
}

function valueLine({ watched, line }: { watched: RuleValue; line: Line }, y: number): string[] {
  const known = [...line.min, ...line.max].filter(Number.isFinite).sort((a, b) => a - b);
  if (known.length === 0) return [];
  const marks = watched.thresholds.map(({ value }) => value);
  // Values far from every threshold are clipped, because they would flatten the rest.
  const usual = known[Math.floor(known.length * 0.95)]!;
  const max = Math.max(usual, ...marks);
  const min = Math.min(known[0]!, ...marks);
  const span = max - min || 1;
  const yOf = (value: number) => {
    const share = Math.min(1, Math.max(0, (value - min) / span));
    return round(y + laneHeight - 8 - share * (laneHeight - 18));
  };
  const out = watched.thresholds.map(
    ({ severity, value }) =>
      `<line x1="${plotLeft}" x2="${width - rightMargin}" y1="${yOf(value)}" y2="${yOf(value)}" stroke="${colours[severity]}" stroke-dasharray="2 3"><title>${markup(`${severity} at ${formatNumber(value, watched.unit)}`)}</title></line>`,
  );
  out.push(...axis(watched, [max, min], yOf));
  let path = "";
  let drawing = false;
  for (let i = 0; i < buckets; i++) {
    const [low, high] = [line.min[i]!, line.max[i]!];
    if (Number.isNaN(low)) continue;
    const at = round(plotLeft + ((i + 0.5) / buckets) * (width - plotLeft - rightMargin));
    path += `${drawing ? "L" : "M"}${at} ${yOf(high)}`;
    if (yOf(high) !== yOf(low)) path += `L${at} ${yOf(low)}`;
    drawing = true;
  }
  out.push(`<path d="${path}" fill="none" stroke="#374151" stroke-width="1"/>`);
  return out;
}

/**
 * The labels of the thresholds and of the ends of the scale, left of the lane; a label that would overlap another is
 * left out.
 */
function axis(
  { thresholds, unit }: RuleValue,
  ends: readonly number[],
  yOf: (value: number) => number,
): string[] {
  const marks = [
    ...thresholds.map(({ value, severity }) => ({ value, fill: colours[severity] })),
    ...ends.map((value) => ({ value, fill: "#6b7280" })),
  ];
  const labelled: number[] = [];
  return marks.flatMap(({ value, fill }) => {
    const at = yOf(value);
    if (labelled.some((one) => Math.abs(one - at) < minLabelGap)) return [];
    labelled.push(at);
    const style = `fill="${fill}" font-size="10" text-anchor="end"`;
    return [text(plotLeft - 6, round(at + 3.5), formatNumber(value, unit), style)];
  });
}

function text(x: number, y: number, content: string, style: string): string {
  return `<text x="${x}" y="${y}" ${style}>${markup(content)}</text>`;
}

function shortened(content: string): string {
  return content.length > 34 ? `${content.slice(0, 33)}…` : content;
}

function markup(content: string): string {
  return escaped(content)
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
