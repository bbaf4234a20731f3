/** The functions that expressions may call: a closed list with a closure for each. Other functions are refused. */
import { formatDurationMs, parseDurationMs } from "../../../domain/text/duration.ts";
import { hasDate } from "../../../domain/text/time-text.ts";
import { formatAgo, formatAmount, formatPercent, formatPrice, formatUsd } from "../../format.ts";
import type { TickOf } from "../../rule.ts";
import { type FactScalar, Unknown, type Value } from "../../value.ts";
import type { Range } from "../../vocabulary/field-types.ts";
import type { Compiling, Run } from "../node.ts";
import {
  bool,
  duration,
  plainDouble,
  plainInt,
  type StaticType,
  text,
  time,
  unitOf,
  withRange,
} from "../types.ts";

type Refuse = (message: string) => Compiling;

const formatters: Readonly<Record<string, (value: number) => string>> = {
  percent: formatPercent,
  usd: formatUsd,
  amount: formatAmount,
};

/** Functions that take a condition and compute the amounts with which it would hold. */
export const supposingNames: ReadonlySet<string> = new Set(["depositTo", "reduceTo"]);

export const functionNames: readonly string[] = [
  ...supposingNames,
  "abs",
  "min",
  "max",
  "sum",
  "size",
  ...Object.keys(formatters),
  "price",
  "duration",
  "timestamp",
  "double",
  "int",
  "string",
];

const calendar: Readonly<Record<string, Intl.DateTimeFormatPartTypes>> = {
  getFullYear: "year",
  getMonth: "month",
  getDate: "day",
  getDayOfWeek: "weekday",
  getHours: "hour",
  getMinutes: "minute",
};
const lengths: Readonly<Record<string, number>> = {
  getHours: 3_600_000,
  getMinutes: 60_000,
  getSeconds: 1_000,
};

export const methodNames: readonly string[] = [
  "like",
  "startsWith",
  "endsWith",
  "contains",
  "lowerAscii",
  "upperAscii",
  "size",
  "exists",
  "exists_one",
  "all",
  "filter",
  "map",
  ...Object.keys(calendar),
  "getSeconds",
];

/**
 * @param tick tick of the market whose price is printed
 * @returns undefined if there is no such function
 */
export function callFunction(
  name: string,
  args: readonly Compiling[],
  tick: TickOf,
  refuse: Refuse,
): Compiling | undefined {
  const [first, second] = args;
  const formatter = formatters[name];
  if (formatter !== undefined && first !== undefined && Object.hasOwn(formatters, name))
    return { type: text, run: mapNumber(first.run, formatter) };
  switch (name) {
    case "price":
      return first && { type: text, run: priceOf(first.run, tick) };
    case "ago":
      return first && { type: text, run: agoOf(first) };
    case "abs":
      return first && { type: withRange(first.type, sizesOf), run: mapNumber(first.run, Math.abs) };
    case "min":
    case "max": {
      if (first === undefined) return undefined;
      const pick = name === "min" ? Math.min : Math.max;
      if (second === undefined) return overList(name, first, pick);
      const kind = first.type.kind === "int" && second.type.kind === "int" ? "int" : "double";
      const unit = unitOf(first.type) === "none" ? unitOf(second.type) : unitOf(first.type);
      return { type: { kind, unit }, run: both(first.run, second.run, pick) };
    }
    case "sum":
      return first && withoutRange(overList(name, first, (a, b) => a + b, 0));
    case "size":
      return first && size(first);
    case "duration":
      return first && durationOf(first, refuse);
    case "timestamp":
      return first && timestampOf(first, refuse);
    case "double":
    case "int":
      return first && toNumber(name, first);
    case "string":
      return first && { type: text, run: mapValue(first.run, (value) => String(value)) };
    default:
      return undefined;
  }
}

/** @returns undefined if there is no such function */
export function callMethod(
  name: string,
  base: Compiling,
  args: readonly Compiling[],
  refuse: Refuse,
): Compiling | undefined {
  const part = args[0]?.run ?? (() => "");
  switch (name) {
    case "startsWith":
      return { type: bool, run: texts(base.run, part, (whole, piece) => whole.startsWith(piece)) };
    case "endsWith":
      return { type: bool, run: texts(base.run, part, (whole, piece) => whole.endsWith(piece)) };
    case "contains":
      return { type: bool, run: texts(base.run, part, (whole, piece) => whole.includes(piece)) };
    case "like":
      return like(base, args[0], refuse);
    case "lowerAscii":
      return { type: text, run: mapText(base.run, (whole) => whole.toLowerCase()) };
    case "upperAscii":
      return { type: text, run: mapText(base.run, (whole) => whole.toUpperCase()) };
    case "size":
      return size(base);
    default:
  }
  if (base.type.kind === "duration" && Object.hasOwn(lengths, name)) {
    const unitMs = lengths[name]!;
    return { type: plainInt, run: mapNumber(base.run, (ms) => Math.trunc(ms / unitMs)) };
  }
  if (base.type.kind === "time" && Object.hasOwn(calendar, name))
    return calendarPart(name, base, args[0], refuse);
  return undefined;
}

const maxPattern = 100;

/** `*` matches any text, `?` one character, everything else itself; the whole text has to match. */
function like(base: Compiling, pattern: Compiling | undefined, refuse: Refuse): Compiling {
  const glob = pattern?.constant;
  if (typeof glob !== "string") return refuse('like takes a quoted pattern: wallet.name.like("mm-*")');
  if (glob.length > maxPattern) return refuse(`a pattern of like is at most ${maxPattern} characters long`);
  const letters = [...glob];
  return {
    type: bool,
    run: (env) => {
      const value = base.run(env);
      return typeof value === "string" ? fits([...value], letters) : value;
    },
  };
}

/**
 * Matches one `*` at a time: if the rest does not match, the last star takes one character more. Earlier stars need no backtracking,
 * so this takes at most text × pattern steps.
 */
function fits(text: readonly string[], glob: readonly string[]): boolean {
  let at = 0;
  let g = 0;
  let star = -1;
  let starAt = 0;
  while (at < text.length) {
    if (glob[g] === "*") {
      star = g++;
      starAt = at;
    } else if (g < glob.length && (glob[g] === "?" || glob[g] === text[at])) {
      g++;
      at++;
    } else if (star >= 0) {
      g = star + 1;
      at = ++starAt;
    } else return false;
  }
  while (glob[g] === "*") g++;
  return g === glob.length;
}

function mapNumber(run: Run, change: (value: number) => FactScalar | Unknown): Run {
  return (env) => {
    const value = run(env);
    return typeof value === "number" ? change(value) : value;
  };
}

function priceOf(run: Run, tick: TickOf): Run {
  return (env) => {
    const value = run(env);
    return typeof value === "number" ? formatPrice(value, tick(env)) : value;
  };
}

/** Compiles `ago` of a time or of a duration; the checker refuses other types. */
function agoOf({ type, run }: Compiling): Run {
  if (type.kind !== "time") return mapNumber(run, formatAgo);
  return (env) => {
    const atMs = run(env);
    return typeof atMs === "number" ? formatAgo(env.nowMs - atMs) : atMs;
  };
}

function mapText(run: Run, change: (value: string) => FactScalar): Run {
  return (env) => {
    const value = run(env);
    return typeof value === "string" ? change(value) : value;
  };
}

function mapValue(run: Run, change: (value: Value) => FactScalar): Run {
  return (env) => {
    const value = run(env);
    return value instanceof Unknown ? value : change(value);
  };
}

function both(left: Run, right: Run, work: (l: number, r: number) => number): Run {
  return (env) => {
    const l = left(env);
    if (typeof l !== "number") return l;
    const r = right(env);
    return typeof r === "number" ? work(l, r) : r;
  };
}

function texts(left: Run, right: Run, holds: (whole: string, piece: string) => boolean): Run {
  return (env) => {
    const l = left(env);
    if (typeof l !== "string") return l;
    const r = right(env);
    return typeof r === "string" ? holds(l, r) : r;
  };
}

function overList(
  name: string,
  list: Compiling,
  work: (a: number, b: number) => number,
  start?: number,
): Compiling {
  const of: StaticType = list.type.kind === "list" ? list.type.of : plainDouble;
  const empty = new Unknown("error", null, `${name} of an empty list`);
  const nan = new Unknown("nan", null, `${name} of infinite values`);
  const { run } = list;
  return {
    type: of,
    run: (env) => {
      const items = run(env);
      if (items instanceof Unknown) return items;
      let total = start;
      for (const item of items as readonly number[]) total = total === undefined ? item : work(total, item);
      if (total === undefined) return empty;
      return Number.isNaN(total) ? nan : total;
    },
  };
}

/** The range of absolute values. */
function sizesOf({ least, most }: Range): Range {
  return { least: Math.max(0, least, -most), most: Math.max(-least, most) };
}

/** Removes the range: a sum may be larger than each of its parts. */
function withoutRange(made: Compiling): Compiling {
  return { ...made, type: withRange(made.type, () => undefined) };
}

function size(of: Compiling): Compiling {
  return {
    type: { kind: "int", unit: "count" },
    run: mapValue(of.run, (value) => {
      // The length of a text is its number of characters, as in CEL, not of UTF-16 units.
      if (typeof value === "string") return [...value].length;
      return Array.isArray(value) ? value.length : Object.keys(value).length;
    }),
  };
}

/** `duration("7d")` in the syntax of the configuration; for a duration, its text for messages. */
function durationOf(argument: Compiling, refuse: Refuse): Compiling {
  if (argument.type.kind === "duration")
    return { type: text, run: mapNumber(argument.run, formatDurationMs) };
  if (typeof argument.constant !== "string") return refuse('duration takes quoted text: duration("30s")');
  const ms = parseDurationMs(argument.constant);
  if (ms === undefined)
    return refuse(`"${argument.constant}" is no duration; they look like 250ms, 5s, 10m, 4h, 7d`);
  return { type: duration, run: () => ms, constant: ms };
}

function timestampOf(argument: Compiling, refuse: Refuse): Compiling {
  const ms = typeof argument.constant === "string" ? Date.parse(argument.constant) : Number.NaN;
  if (Number.isNaN(ms)) return refuse('timestamp takes a quoted time: timestamp("2026-01-31T00:00:00Z")');
  return { type: time, run: () => ms, constant: ms };
}

function toNumber(name: "double" | "int", argument: Compiling): Compiling {
  const failed = new Unknown("error", null, "the text is no number");
  const unit = unitOf(argument.type);
  const { run } = argument;
  return {
    type: { kind: name, unit },
    run: (env) => {
      const value = run(env);
      if (value instanceof Unknown) return value;
      const number = typeof value === "string" && value.trim() === "" ? Number.NaN : Number(value);
      if (Number.isNaN(number)) return failed;
      if (name === "double") return number;
      return Number.isFinite(number) ? Math.trunc(number) : failed;
    },
  };
}

/** As in CEL: months and weekdays count from 0 (January, Sunday), days of the month from 1. Default time zone: UTC. */
function calendarPart(name: string, base: Compiling, zone: Compiling | undefined, refuse: Refuse): Compiling {
  if (zone !== undefined && typeof zone.constant !== "string")
    return refuse(`${name} takes a quoted time zone`);
  const part = calendar[name]!;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: (zone?.constant as string | undefined) ?? "UTC",
      hourCycle: "h23",
      [part]: part === "weekday" ? "short" : "numeric",
    });
  } catch {
    return refuse(`"${zone?.constant}" is no time zone; they look like Europe/Berlin`);
  }
  const noDate = new Unknown("error", null, `${name} of a time without a date`);
  const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  return {
    type: plainInt,
    run: mapNumber(base.run, (ms) => {
      if (!hasDate(ms)) return noDate;
      const found = format.formatToParts(ms).find((p) => p.type === part)?.value ?? "";
      if (part === "weekday") return days.indexOf(found);
      return part === "month" ? Number(found) - 1 : Number(found);
    }),
  };
}
