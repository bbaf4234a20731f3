/** Parsers of option values: invalid ones are refused as wrong use, with the allowed values. */
import { InvalidArgumentError } from "commander";
import { parseDurationMs } from "../../domain/text/duration.ts";
import { CommandFailed } from "../command.ts";

export function integerFrom(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected an integer from ${min} to ${max}.`);
  };
}

export function numberFrom(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+(\.\d+)?$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a number from ${min} to ${max}.`);
  };
}

export function oneOf<const T extends string>(allowed: readonly T[]): (text: string) => T {
  return (text) => {
    const found = allowed.find((one) => one === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Expected ${allowed.join(", ")}.`);
  };
}

/** @returns ms */
export function durationFrom(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new InvalidArgumentError("Expected a duration such as 30m, 8h or 7d.");
}

/** @returns ms since the epoch, from an ISO time, `now`, a duration before now, or Unix seconds or milliseconds. */
export function timeFrom(text: string, nowMs: number): number {
  if (text === "now") return nowMs;
  const before = parseDurationMs(text);
  if (before !== undefined) return nowMs - before;
  if (/^\d{9,10}$/.test(text)) return Number(text) * 1_000;
  if (/^\d{12,13}$/.test(text)) return Number(text);
  // Without a zone a time would depend on the machine.
  const isIso = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const ms = isIso ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw new InvalidArgumentError(
    "Expected a time such as 2026-03-01T12:00:00Z (with its zone), 10m (before now), now, or Unix milliseconds.",
  );
}

/**
 * `timeFrom` for an option that is parsed when the command runs.
 * @throws {CommandFailed} status 2, naming the option and the text
 */
export function timeOf(option: string, text: string, nowMs: number): number {
  try {
    return timeFrom(text, nowMs);
  } catch {
    throw new CommandFailed(
      `${option} is a duration such as 30d, or a time such as 2026-01-05T12:00:00Z; found ${text}`,
      2,
    );
  }
}
