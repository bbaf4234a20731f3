/** Windows against a naive oracle that keeps every sample and looks at all of them. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type BucketStats,
  createWindow,
  isUnknown,
  rawUpToMs,
  type Unknown,
  type Window,
  type WindowFunction,
} from "../../src/rules/index.ts";
import { dayOf } from "../../src/rules/windows/edge.ts";

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
const minuteMs = 60_000;
const startMs = Date.UTC(2026, 0, 5, 12, 0, 17);

interface Pushed {
  atMs: number;
  value: number;
  companion: number;
}

type Answer = number | "uncovered" | "stale" | "nan";

/** Share of the window in which some sample stood. */
function shareWatched(pushed: readonly Pushed[], nowMs: number, windowMs: number, staleMs: number): number {
  let total = 0;
  let reached = nowMs - windowMs;
  const byMinute = windowMs > rawUpToMs;
  for (const p of [...pushed].sort((a, b) => a.atMs - b.atMs)) {
    const from = Math.max(byMinute ? Math.floor(p.atMs / minuteMs) * minuteMs : p.atMs, reached);
    const to = Math.min(p.atMs + staleMs, nowMs);
    if (to > from) total += to - from;
    reached = Math.max(reached, to);
  }
  return total / windowMs;
}

const share = 0.7;

/** Everything from first principles: sort, filter, walk. */
function oracle(
  fn: WindowFunction,
  pushed: readonly Pushed[],
  nowMs: number,
  windowMs: number,
  staleMs: number,
): Answer {
  const byMinute = windowMs > rawUpToMs;
  const minuteOf = (ms: number) => Math.floor(ms / minuteMs);
  const edge = nowMs - windowMs;
  const sorted = pushed
    .map((p, order) => ({ ...p, order }))
    .sort((a, b) => a.atMs - b.atMs || a.order - b.order);
  const inside = sorted.filter((p) =>
    byMinute ? minuteOf(p.atMs) * minuteMs + minuteMs - 1 >= edge : p.atMs >= edge,
  );
  const watched = () => shareWatched(pushed, nowMs, windowMs, staleMs);
  switch (fn) {
    case "maxOver":
      return inside.length === 0 ? "uncovered" : Math.max(...inside.map((p) => p.value));
    case "minOver":
      if (inside.length === 0 || watched() < 0.9) return "uncovered";
      return Math.min(...inside.map((p) => p.value));
    case "drawdown": {
      if (inside.length === 0) return "uncovered";
      const newest = sorted.at(-1)!;
      const top = Math.max(...inside.map((p) => p.value));
      // The newest of equal peaks counts.
      const peak = inside.filter((p) => p.value === top).at(-1)!;
      return top === newest.value ? 0 : (top - newest.value) / peak.companion;
    }
    case "sumOver":
    case "countOver":
      return inside.reduce((sum, p) => sum + p.value, 0);
    case "ago":
    case "change":
    case "changeRatio": {
      const until = byMinute ? minuteOf(edge) * minuteMs + minuteMs - 1 : edge;
      const then = sorted.filter((p) => p.atMs <= until).at(-1);
      if (then === undefined || edge - then.atMs > staleMs) return "uncovered";
      if (fn === "ago") return then.value;
      const newest = sorted.at(-1)!;
      if (nowMs - newest.atMs > staleMs) return "stale";
      const change = newest.value - then.value;
      const result = fn === "change" ? change : change / Math.abs(then.value);
      return Number.isNaN(result) ? "nan" : result;
    }
    case "avgOver":
    case "stddevOver":
    case "zscore":
    case "quantileOver": {
      if (fn === "zscore" && sorted.length > 0 && nowMs - sorted.at(-1)!.atMs > staleMs) return "stale";
      const from = byMinute ? minuteOf(edge) * minuteMs : edge;
      const steps: { value: number; ms: number; variance: number }[] = [];
      const add = (value: number, begins: number, ends: number, variance = 0) => {
        const ms = Math.min(ends, nowMs) - Math.max(begins, from);
        if (ms > 0) steps.push({ value, ms, variance });
      };
      if (byMinute) {
        const minutes = [...new Set(sorted.map((p) => minuteOf(p.atMs)))];
        for (const [i, minute] of minutes.entries()) {
          const of = sorted.filter((p) => minuteOf(p.atMs) === minute);
          const next = minutes[i + 1] === undefined ? nowMs : minutes[i + 1]! * minuteMs;
          const mean = of.reduce((total, p) => total + p.value, 0) / of.length;
          const variance = of.reduce((total, p) => total + (p.value - mean) ** 2, 0) / of.length;
          add(mean, minute * minuteMs, (minute + 1) * minuteMs, variance);
          add(of.at(-1)!.value, (minute + 1) * minuteMs, Math.min(next, of.at(-1)!.atMs + staleMs));
        }
      } else {
        for (const [i, p] of sorted.entries())
          add(p.value, p.atMs, Math.min(sorted[i + 1]?.atMs ?? nowMs, p.atMs + staleMs));
      }
      const length = steps.reduce((total, { ms }) => total + ms, 0);
      if (nowMs === from || length / (nowMs - from) < 0.9) return "uncovered";
      if (fn === "quantileOver") {
        let reached = 0;
        for (const { value, ms } of steps.sort((x, y) => x.value - y.value)) {
          reached += ms;
          if (reached >= share * length * (1 - 1e-12)) return value;
        }
        return "nan";
      }
      const mean = steps.reduce((total, { value, ms }) => total + value * ms, 0) / length;
      if (fn === "avgOver") return mean;
      const squares = steps.reduce(
        (total, { value, ms, variance }) => total + ms * (variance + (value - mean) ** 2),
        0,
      );
      const deviation = Math.sqrt(squares / length);
      if (fn === "stddevOver") return deviation;
      const result = (sorted.at(-1)!.value - mean) / deviation;
      return Number.isNaN(result) ? "nan" : result;
    }
    case "since":
    case "seriesAge": {
      if (sorted.length === 0) return "uncovered";
      const newest = sorted.at(-1)!;
      if (fn === "seriesAge") return newest.atMs < edge ? "uncovered" : nowMs - newest.atMs;
      const other = sorted.findLastIndex((p) => p.value !== newest.value);
      return Math.min(nowMs - sorted[other + 1]!.atMs, windowMs);
    }
  }
}

const functions: WindowFunction[] = [
  "ago",
  "change",
  "changeRatio",
  "minOver",
  "maxOver",
  "avgOver",
  "stddevOver",
  "quantileOver",
  "zscore",
  "since",
  "seriesAge",
  "drawdown",
  "sumOver",
  "countOver",
];
/** Late samples do not find everything as it was: a change among equal ones, the newest of equal peaks of one minute. */
const inOrderOnly = (fn: WindowFunction, windowMs: number) =>
  fn === "since" || (fn === "drawdown" && windowMs > rawUpToMs);
const made = (fn: WindowFunction, windowMs: number, staleAfterMs: number): Window =>
  createWindow({ fn, windowMs, staleAfterMs, quantile: share }, "UTC");

/** Functions whose results move with time alone, and is followed in fine steps. */
const moving: ReadonlySet<WindowFunction> = new Set([
  "avgOver",
  "stddevOver",
  "quantileOver",
  "zscore",
  "minOver",
  "since",
  "seriesAge",
]);

const answer = (read: number | Unknown): Answer => (isUnknown(read) ? (read.unknown as Answer) : read);

function same(got: Answer, wanted: Answer, hint: string) {
  if (typeof got === "number" && typeof wanted === "number" && Number.isFinite(wanted))
    expect(Math.abs(got - wanted), hint).toBeLessThan(1e-9 * Math.max(1, Math.abs(wanted)));
  else expect(got, hint).toBe(wanted);
}

/** Steps of time; with each a sample, late by some, or none. */
const story = (stepMs: number) =>
  fc.array(
    fc.record({
      stepMs: fc.oneof(
        { weight: 8, arbitrary: fc.integer({ min: 0, max: stepMs }) },
        { weight: 1, arbitrary: fc.integer({ min: 0, max: stepMs * 12 }) },
      ),
      lateMs: fc.oneof(
        { weight: 5, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.integer({ min: 0, max: stepMs * 6 }) },
      ),
      value: fc.oneof(
        { weight: 9, arbitrary: fc.integer({ min: -4, max: 9 }) },
        { weight: 1, arbitrary: fc.constant(null) },
      ),
      companion: fc.integer({ min: 1, max: 9 }),
    }),
    { minLength: 1, maxLength: 140, size: "max" },
  );

describe.each([
  { name: "raw", windowMs: 60_000, staleAfterMs: 9_000, stepMs: 5_000 },
  { name: "raw, the longest", windowMs: 600_000, staleAfterMs: 90_000, stepMs: 15_000 },
  { name: "by the minute, an hour", windowMs: 3_600_000, staleAfterMs: 90_000, stepMs: 60_000 },
  { name: "by the minute", windowMs: 7_200_000, staleAfterMs: 400_000, stepMs: 150_000 },
  { name: "by the minute, stale within it", windowMs: 660_000, staleAfterMs: 20_000, stepMs: 15_000 },
])("$name", ({ windowMs, staleAfterMs, stepMs }) => {
  test.each(functions)("%s answers as the oracle does, at every step and however it was fed", (fn) => {
    fc.assert(
      fc.property(story(stepMs), (steps) => {
        const window = made(fn, windowMs, staleAfterMs);
        const pushed: Pushed[] = [];
        let nowMs = startMs;
        for (const step of steps) {
          nowMs += step.stepMs;
          if (step.value !== null) {
            const lateMs = inOrderOnly(fn, windowMs) ? 0 : step.lateMs;
            const sample = { atMs: nowMs - lateMs, value: step.value, companion: step.companion };
            pushed.push(sample);
            window.push(sample.atMs, sample.value, sample.companion);
          }
          same(
            answer(window.read(nowMs)),
            pushed.length === 0 && fn !== "sumOver" && fn !== "countOver"
              ? "uncovered"
              : oracle(fn, pushed, nowMs, windowMs, staleAfterMs),
            `at +${nowMs - startMs}`,
          );
          if (fn === "minOver" || fn === "maxOver")
            expect(window.coverage(nowMs)).toBeCloseTo(
              shareWatched(pushed, nowMs, windowMs, staleAfterMs),
              9,
            );
        }
        // A replay hears the same samples in the order of time.
        const replayed = made(fn, windowMs, staleAfterMs);
        for (const p of [...pushed].sort((a, b) => a.atMs - b.atMs))
          replayed.push(p.atMs, p.value, p.companion);
        if (fn !== "drawdown") same(answer(replayed.read(nowMs)), answer(window.read(nowMs)), "replayed");
        expect(replayed.coverage(nowMs)).toBeCloseTo(window.coverage(nowMs), 9);
      }),
      { seed, numRuns: 30 },
    );
  });

  test.each(functions)("%s changes by itself only at the edge that it announced", (fn) => {
    fc.assert(
      fc.property(
        story(stepMs),
        fc.array(fc.integer({ min: 1, max: stepMs }), { maxLength: 30 }),
        (steps, waits) => {
          const window = made(fn, windowMs, staleAfterMs);
          let nowMs = startMs;
          for (const step of steps) {
            nowMs += step.stepMs;
            if (step.value !== null) window.push(nowMs - step.lateMs, step.value, step.companion);
          }
          for (const wait of waits) {
            const before = answer(window.read(nowMs));
            const edgeMs = window.nextEdgeMs(nowMs);
            if (edgeMs !== null) expect(edgeMs).toBeGreaterThan(nowMs);
            nowMs += wait;
            if (edgeMs === null || nowMs < edgeMs) {
              // An average moves all the time and is followed in fine steps; the rest stand still in between.
              if (moving.has(fn)) continue;
              expect(answer(window.read(nowMs)), `next edge ${edgeMs}, now ${nowMs}`).toBe(before);
            }
          }
        },
      ),
      { seed, numRuns: 30 },
    );
  });

  test.each(functions)("%s answers the same as long as it says that it holds", (fn) => {
    let held = 0;
    fc.assert(
      fc.property(
        story(stepMs),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 4, maxLength: 4 }),
        fc.boolean(),
        (told, parts, watched) => {
          // A minimum says nothing of a window with gaps.
          const steps = watched
            ? told.map((step) => ({
                ...step,
                stepMs: Math.min(step.stepMs, staleAfterMs / 2),
                lateMs: 0,
                value: step.value ?? 1,
              }))
            : told;
          const begun = (): Window => {
            const window = made(fn, windowMs, staleAfterMs);
            const stepMs = staleAfterMs / 2;
            for (let i = watched ? Math.ceil((windowMs * 1.2) / stepMs) : 0; i > 0; i--)
              window.push(startMs - i * stepMs, (i * 7) % 9, 1 + (i % 5));
            return window;
          };
          const window = begun();
          let nowMs = startMs;
          for (const step of steps) {
            nowMs += step.stepMs;
            if (step.value !== null) window.push(nowMs - step.lateMs, step.value, step.companion);
            const before = answer(window.read(nowMs));
            const untilMs = window.holdsUntilMs?.(nowMs) ?? nowMs;
            if (!(untilMs > nowMs)) continue;
            held++;
            // Of a copy, since reading ahead forgets what lies behind.
            const copy = begun();
            let atMs = startMs;
            for (const other of steps) {
              atMs += other.stepMs;
              if (atMs > nowMs) break;
              if (other.value !== null) copy.push(atMs - other.lateMs, other.value, other.companion);
              if (other === step) break;
            }
            const lastMs = Math.min(untilMs, nowMs + 3 * windowMs);
            const looks = parts.map((part) => Math.round(nowMs + part * (lastMs - nowMs)));
            for (const lookMs of [...looks.sort((a, b) => a - b), lastMs])
              expect(
                answer(copy.read(lookMs)),
                `at +${nowMs - startMs}, until ${untilMs}, look ${lookMs}`,
              ).toBe(before);
          }
        },
      ),
      { seed, numRuns: 20 },
    );
    if (["ago", "change", "changeRatio", "minOver", "maxOver", "drawdown"].includes(fn))
      expect(held).toBeGreaterThan(20);
  });
  test.each(functions)("%s is left as it was by what it says changed nothing", (fn) => {
    let quiet = 0;
    fc.assert(
      fc.property(story(stepMs), (steps) => {
        const window = made(fn, windowMs, staleAfterMs);
        // A minimum holds over a window without gaps only.
        const everyMs = staleAfterMs / 2;
        for (let i = Math.ceil((windowMs * 1.2) / everyMs); i > 0; i--)
          window.push(startMs - i * everyMs, (i * 7) % 9, 1 + (i % 5));
        let nowMs = startMs;
        // What was read last, and until when that was said to hold.
        let last: { readonly figure: Answer; readonly untilMs: number } | null = null;
        for (const step of steps) {
          nowMs += Math.min(step.stepMs, everyMs);
          if (step.value !== null && window.push(nowMs - step.lateMs, step.value, step.companion))
            last = null;
          const figure = answer(window.read(nowMs));
          if (last !== null && nowMs <= last.untilMs) {
            quiet++;
            expect(figure, `at +${nowMs - startMs}`).toBe(last.figure);
          } else last = { figure, untilMs: window.holdsUntilMs?.(nowMs) ?? Number.NEGATIVE_INFINITY };
        }
      }),
      { seed, numRuns: 30 },
    );
    if (fn === "minOver" || fn === "maxOver") expect(quiet).toBeGreaterThan(20);
  });
});

describe("fed from one-minute roll-ups", () => {
  const windowMs = 7_200_000;
  const staleAfterMs = 90_000;

  const rolledUp = (samples: readonly number[], times: readonly number[]): BucketStats => ({
    count: samples.length,
    min: Math.min(...samples),
    max: Math.max(...samples),
    sum: samples.reduce((a, b) => a + b, 0),
    sumSquares: samples.reduce((a, b) => a + b * b, 0),
    last: samples.at(-1)!,
    lastMs: times.at(-1)!,
  });

  test.each(functions.filter((fn) => fn !== "countOver"))(
    "%s answers as if it had seen the samples",
    (fn) => {
      fc.assert(
        fc.property(story(40_000), fc.double({ min: 0, max: 1, noNaN: true }), (steps, part) => {
          const whole = made(fn, windowMs, staleAfterMs);
          const mixed = made(fn, windowMs, staleAfterMs);
          let nowMs = startMs;
          const pushed: Pushed[] = [];
          for (const step of steps) {
            nowMs += step.stepMs;
            if (step.value !== null)
              pushed.push({ atMs: nowMs, value: step.value, companion: step.companion });
          }
          const rawFromMs = Math.floor((startMs + part * (nowMs - startMs)) / minuteMs) * minuteMs;
          const minutes = new Map<number, Pushed[]>();
          // Equity moves with profit, and with what is paid in or out between one minute and the next.
          const paidIn = new Map<number, number>();
          for (const p of pushed) {
            const minute = Math.floor(p.atMs / minuteMs);
            if (!paidIn.has(minute)) paidIn.set(minute, 5 + p.companion);
            p.companion = paidIn.get(minute)! + p.value;
          }
          for (const p of pushed) {
            whole.push(p.atMs, p.value, p.companion);
            if (p.atMs >= rawFromMs) continue;
            const minute = Math.floor(p.atMs / minuteMs) * minuteMs;
            minutes.set(minute, [...(minutes.get(minute) ?? []), p]);
          }
          for (const [minute, of] of minutes) {
            const times = of.map((p) => p.atMs);
            mixed.pushBucket(
              minute,
              rolledUp(
                of.map((p) => p.value),
                times,
              ),
              rolledUp(
                of.map((p) => p.companion),
                times,
              ),
            );
          }
          for (const p of pushed) if (p.atMs >= rawFromMs) mixed.push(p.atMs, p.value, p.companion);
          for (const waitMs of [0, 30_000, 1_800_000]) {
            const [got, wanted] = [answer(mixed.read(nowMs + waitMs)), answer(whole.read(nowMs + waitMs))];
            if (fn === "since" && typeof got === "number" && typeof wanted === "number")
              expect(Math.abs(got - wanted)).toBeLessThan(minuteMs);
            else same(got, wanted, `after ${waitMs}`);
          }
          if (fn !== "since") expect(mixed.coverage(nowMs)).toBeCloseTo(whole.coverage(nowMs), 9);
        }),
        { seed, numRuns: 60 },
      );
    },
  );

  test("what stood behind a peak lies between the least and the most of its minute where money was paid in or out within it", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: -9, max: 9 }), fc.integer({ min: 1, max: 9 })), {
          minLength: 1,
          maxLength: 9,
        }),
        (samples) => {
          const at = Math.floor(startMs / minuteMs) * minuteMs;
          const [values, behind] = [samples.map(([value]) => value), samples.map(([, equity]) => equity)];
          const times = samples.map((_, i) => at + i * 5_000);
          const window = made("drawdown", windowMs, staleAfterMs);
          window.pushBucket(at, rolledUp(values, times), rolledUp(behind, times));
          window.push(at + minuteMs, -20);
          const peak = Math.max(...values);
          const fall = peak + 20;
          const least = fall / Math.max(...behind);
          const most = fall / Math.min(...behind);
          const read = window.read(at + minuteMs) as number;
          expect(read).toBeGreaterThanOrEqual(least);
          expect(read).toBeLessThanOrEqual(most);
          if (values.at(-1) === peak) expect(read).toBe(fall / behind.at(-1)!);
        },
      ),
      { seed },
    );
  });

  test("an hour counts as its minutes", () => {
    const hourMs = 3_600_000;
    const at = Math.floor(startMs / hourMs) * hourMs;
    const stats = {
      count: 720,
      min: 1,
      max: 5,
      sum: 720 * 3,
      sumSquares: 720 * 10,
      last: 4,
      lastMs: at + hourMs - 5,
    };
    const read = (fn: WindowFunction) => {
      const window = made(fn, hourMs * 2, 90_000);
      window.pushBucket(at, stats, stats, hourMs);
      window.pushBucket(at + hourMs, { ...stats, lastMs: at + 2 * hourMs - 5 }, stats, hourMs);
      return window.read(at + 2 * hourMs);
    };
    expect(read("avgOver")).toBeCloseTo(3);
    expect(read("stddevOver")).toBeCloseTo(1);
    expect(read("minOver")).toBe(1);
    expect(read("maxOver")).toBe(5);
    expect(read("ago")).toBe(3);
  });

  test("a series that stands still does not deviate, whatever its size", () => {
    const window = made("stddevOver", windowMs, 90_000);
    const zscore = made("zscore", windowMs, 90_000);
    for (let i = 0; i < 2_000; i++)
      for (const one of [window, zscore]) one.push(startMs + i * 5_000, 60_123.1);
    expect(window.read(startMs + 2_000 * 5_000)).toBe(0);
    expect(answer(zscore.read(startMs + 2_000 * 5_000))).toBe("nan");
  });
});

describe("by hand", () => {
  const minute = 60_000;
  const fed = (
    fn: WindowFunction,
    windowMs: number | "today",
    samples: [number, number, number?][],
  ): Window => {
    const window = createWindow({ fn, windowMs, staleAfterMs: 2 * minute }, "UTC");
    for (const [atMs, value, companion] of samples) window.push(atMs, value, companion);
    return window;
  };

  test("drawdown is measured against what stood behind the peak", () => {
    const window = fed("drawdown", 10 * minute, [
      [startMs, 100, 1_000],
      [startMs + minute, 300, 2_000],
      [startMs + 2 * minute, 50, 500],
    ]);
    expect(window.read(startMs + 2 * minute)).toBe((300 - 50) / 2_000);
    expect(window.nextEdgeMs(startMs + 2 * minute)).toBe(startMs + 11 * minute + 1);
    expect(window.read(startMs + 11 * minute + 1)).toBe(0);
  });

  test.each([
    ["10m", 10 * minute],
    ["24h", 1_440 * minute],
  ])(
    "drawdown over %s divides by the equity of the peak, not by that of the end of its minute",
    (_, windowMs) => {
      const begin = Math.floor(startMs / minute) * minute;
      const peakMs = begin + 20_000;
      const window = fed("drawdown", windowMs, [
        [begin, 0, 14_000],
        [peakMs, 3_750, 17_750],
        // Half of it is lost within the minute, and 2,000 are withdrawn.
        [begin + 40_000, 1_890, 15_890],
        [begin + 50_000, 1_890, 13_890],
        [begin + 2 * minute, 0, 12_000],
      ]);
      expect(window.read(begin + 2 * minute)).toBe(3_750 / 17_750);
    },
  );

  test("a minimum that was not watched enough is not said to hold against a sample of that very moment", () => {
    const window = createWindow({ fn: "minOver", windowMs: 20 * minute, staleAfterMs: 2.5 * minute }, "UTC");
    const begin = Math.floor(startMs / minute) * minute;
    for (let i = 0; i <= 15; i++) window.push(begin + i * minute, i === 15 ? 3 : 9);
    const nowMs = begin + 18 * minute + 50_000;
    expect(answer(window.read(nowMs))).toBe("uncovered");
    expect(window.holdsUntilMs?.(nowMs)).toBeLessThan(nowMs);
    // It is no new minimum, but its minute is watched now.
    expect(window.push(nowMs, 9)).toBe(false);
    expect(window.read(nowMs)).toBe(3);
  });

  test("a fall with nothing behind it is endless", () => {
    const window = fed("drawdown", 10 * minute, [
      [startMs, 10, 0],
      [startMs + 1, 5, 0],
    ]);
    expect(window.read(startMs + 1)).toBe(Number.POSITIVE_INFINITY);
  });

  test("NaN never enters, clear forgets", () => {
    const window = fed("maxOver", 10 * minute, [[startMs, Number.NaN]]);
    expect(isUnknown(window.read(startMs))).toBe(true);
    window.push(startMs, 3);
    expect(window.read(startMs)).toBe(3);
    window.clear();
    expect(isUnknown(window.read(startMs))).toBe(true);
    expect(window.coverage(startMs)).toBe(0);
  });

  test("today begins at midnight of the time zone, and ends there", () => {
    const window = createWindow(
      { fn: "sumOver", windowMs: "today", staleAfterMs: minute },
      "America/New_York",
    );
    const midnight = Date.UTC(2026, 0, 5, 5, 0, 0);
    window.push(midnight - 1, 5);
    window.push(midnight, 7);
    window.push(midnight + 60 * minute, 11);
    expect(window.read(midnight + 61 * minute)).toBe(18);
    expect(window.nextEdgeMs(midnight + 61 * minute)).toBe(midnight + 24 * 60 * minute);
    expect(window.read(midnight + 24 * 60 * minute)).toBe(0);
  });

  test.each([
    ["UTC", Date.UTC(2026, 2, 8, 13), Date.UTC(2026, 2, 8), 24],
    ["America/New_York", Date.UTC(2026, 2, 8, 13), Date.UTC(2026, 2, 8, 5), 23],
    ["America/New_York", Date.UTC(2026, 10, 1, 13), Date.UTC(2026, 10, 1, 4), 25],
    ["Asia/Kolkata", Date.UTC(2026, 5, 1, 20), Date.UTC(2026, 5, 1, 18, 30), 24],
    ["Australia/Lord_Howe", Date.UTC(2026, 9, 3, 20), Date.UTC(2026, 9, 3, 13, 30), 23.5],
  ])("the day of %s around %i", (zone, nowMs, from, hours) => {
    expect(dayOf(zone)(nowMs)).toEqual({ startMs: from, endMs: from + hours * 3_600_000 });
  });

  // Looking at each of the samples each time would outlast the test's time many times over.
  test("a long window stays cheap: two days of seconds are read again and again", () => {
    for (const fn of functions) {
      const window = made(fn, 86_400_000, 15_000);
      for (let s = 0; s < 2 * 86_400; s++) window.push(startMs + s * 1_000, -s, 1);
      for (let i = 0; i < 5_000; i++) window.read(startMs + 2 * 86_400_000 + i);
    }
  });
});
