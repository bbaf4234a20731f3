/** The series for the chart of an alert: the figure that its rule compares with a number, over the last hours. */
import type { Alert } from "../domain/alerts/alert.ts";
import type { ChartSeries } from "../domain/alerts/chart.ts";
import type { Store } from "../domain/ports.ts";
import { accountName, parseSubject } from "../domain/subject.ts";
import type { RuleSet } from "../rules/index.ts";

const spanMs = 6 * 3_600_000;
const freshMs = 60_000;

/** @returns null where the rule reads more than one figure, or history has no samples of it */
export async function chartSeries(
  alert: Alert,
  ruleSet: RuleSet,
  store: Pick<Store, "ticks">,
  nowMs: number,
): Promise<ChartSeries | null> {
  const rule = ruleSet.conditions.find(({ name }) => name === alert.rule);
  if (!rule) return null;
  const of = rule.value?.text.trim() ?? rule.levels[0]?.when.bound?.of.trim() ?? "";
  const [, scope, field] = /^(\w+)\.(\w+)$/.exec(of) ?? [];
  if (scope === undefined || field === undefined) return null;
  const place = placeOf(alert.subject, scope, field);
  if (place === null) return null;
  const isOf = (text: string) => text.trim() === of || (rule.value !== null && text.trim() === "value");
  const thresholds = rule.levels.flatMap(({ severity, when: { sufficient = [] } }) =>
    sufficient.flatMap((bound) => (isOf(bound.of) ? [{ severity, value: bound.limit }] : [])),
  );
  const points: (readonly [number, number])[] = [];
  for await (const { atMs, series, values } of store.ticks({
    owner: place.owner,
    fromMs: nowMs - spanMs,
    toMs: nowMs,
  })) {
    const value = values[series.indexOf(place.series)];
    if (value !== undefined && Number.isFinite(value)) points.push([atMs, value]);
  }
  const now = rule.value === null ? null : presentPoint(alert, points.at(-1)?.[0] ?? 0, nowMs);
  if (now !== null) points.push(now);
  if (points.length < 2) return null;
  const unit = rule.value?.unit ?? unitOf(rule.levels[0]?.when.parts, of) ?? "none";
  return { title: `${alert.subject}: ${of}`, unit, points, thresholds };
}

/**
 * The present value, as in messages: marks move between samples. The value of an old reading is drawn at its own time.
 */
function presentPoint(
  { state, value, dataAtMs }: Alert,
  lastMs: number,
  nowMs: number,
): readonly [number, number] | null {
  if (state !== "firing" || value === null || !Number.isFinite(value) || dataAtMs < lastMs) return null;
  return [nowMs - dataAtMs <= freshMs ? Math.max(nowMs, lastMs + 1) : Math.max(dataAtMs, lastMs + 1), value];
}

/** The owner and series in history of a field of a subject, or of the account, wallet or market that it belongs to. */
function placeOf(
  name: string,
  scope: string,
  field: string,
): { readonly owner: string; readonly series: string } | null {
  const subject = parseSubject(name);
  if (subject === undefined) return null;
  const own = { owner: name, series: `${scope}.${field}` };
  if (scope === "market" && "symbol" in subject && subject.symbol !== null)
    return { owner: "markets", series: `market[${subject.symbol}].${field}` };
  if (scope === "position")
    return subject.scope === "position"
      ? { owner: accountName(subject), series: `position[${subject.symbol}].${field}` }
      : null;
  if (scope === "trader")
    return subject.scope === "position" || subject.scope === "trader"
      ? { ...own, owner: accountName(subject) }
      : null;
  if (scope === "wallet") return "wallet" in subject ? { ...own, owner: subject.wallet } : null;
  return subject.scope === scope ? own : null;
}

/** The unit of the figure itself, as a comparison has none. */
function unitOf(
  parts: readonly { readonly start: number; readonly end: number; readonly unit: string }[] | undefined,
  of: string,
): string | undefined {
  return parts?.find(({ start, end }) => end - start === of.length)?.unit;
}
