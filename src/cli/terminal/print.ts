/** Output for people: colours on a terminal, ages, widths, counts. */
import { randomUUID } from "node:crypto";
import { styleText } from "node:util";
import { formatDurationMs } from "../../domain/text/duration.ts";
import { escaped, escapedLines } from "../../domain/text/escape.ts";

export type Tint = "red" | "yellow" | "green" | "cyan" | "gray" | "bold";

/**
 * Colours text for a stream, unless it is no terminal or NO_COLOR is set. The result has to be written by
 * `forTerminal`.
 */
export interface Paint {
  (tint: Tint, text: string): string;
  /** Maximum columns of a table: those of the terminal, at least 100. */
  readonly width: number;
}

const minWidth = 100;

/**
 * Stands for the beginning of an escape sequence until the text is written. It is random in each process, so that data
 * cannot contain it.
 */
const mark = randomUUID();
/** The codes that end a colour, and bold. */
const endings: ReadonlySet<string> = new Set(["39m", "22m"]);
const colours = new RegExp(`${mark}\\d+m`, "g");

export function paintFor(stream: NodeJS.WriteStream): Paint {
  return Object.assign(
    (tint: Tint, text: string) => styleText(tint, forTerminal(text), { stream }).replaceAll("\u001b[", mark),
    { width: Math.max(minWidth, stream.columns ?? 0) },
  );
}

/** Returns a text for a terminal: with the colours of `Paint`, and all other control characters escaped. */
export function forTerminal(text: string): string {
  return escapedLines(text).replaceAll(mark, "\u001b[");
}

/** Number of visible characters. */
export function widthOf(text: string): number {
  return [...text.replace(colours, "")].length;
}

/** Splits a coloured text into lines that each end their colour, and begin it again on the next line. */
export function repainted(lines: readonly string[]): readonly string[] {
  let open = "";
  return lines.map((line) => {
    const begun = open + line;
    for (const [code] of line.matchAll(colours)) open = endings.has(code.slice(mark.length)) ? "" : code;
    return open === "" ? begun : `${begun}${mark}${open === `${mark}1m` ? "22m" : "39m"}`;
  });
}

/** A value on one line, with control characters escaped; colours of `Paint` remain. */
export function oneLine(text: string): string {
  return escaped(text);
}

/** `12s ago`; `never` for null. */
export function ago(ms: number | null, nowMs: number): string {
  if (ms === null) return "never";
  return `${formatDurationMs(Math.max(0, nowMs - ms))} ago`;
}

export function severityTint(severity: string): Tint {
  return severity === "critical" ? "red" : severity === "warning" ? "yellow" : "cyan";
}

/** The first and last characters of an address. */
export function shortAddress(address: string): string {
  return address.length > 12 ? `${address.slice(0, 4)}…${address.slice(-4)}` : address;
}

/** Wraps a text at `where`, by default after commas; lines after the first are indented. */
export function wrapped(text: string, indent: string, width = minWidth, where = /(?<=, )/): string {
  const lines = [""];
  for (const part of text.split(where)) {
    const last = lines.at(-1)!;
    if (last !== "" && widthOf(last + part.trimEnd()) > width) {
      lines[lines.length - 1] = last.trimEnd();
      lines.push(indent + part);
    } else lines[lines.length - 1] = last + part;
  }
  return lines.join("\n");
}

/** `1 rule`, `2 rules`. */
export function counted(count: number, one: string, more = `${one}s`): string {
  return `${count} ${count === 1 ? one : more}`;
}
