/** Output for people: aligned tables, ages, colours where a terminal shows them. */
import { randomUUID } from "node:crypto";
import { styleText } from "node:util";
import { formatDurationMs } from "../domain/duration.ts";
import { escaped, escapedLines } from "../domain/escape.ts";

export type Tint = "red" | "yellow" | "green" | "cyan" | "gray" | "bold";

/** Colours text for a stream: nothing changes where that is no terminal or NO_COLOR is set. To be written by `forTerminal`. */
export interface Paint {
  (tint: Tint, text: string): string;
  /** Tables take so many columns at most: those of the terminal, and never less than 100. */
  readonly width: number;
}

const leastWidth = 100;

/**
 * Stands for the beginning of an escape sequence until the text is written. It is drawn in each process: nothing from
 * outside can contain it, so that colours of `Paint` are told from those in data.
 */
const mark = randomUUID();
/** The codes that end a colour, and bold. */
const endings: ReadonlySet<string> = new Set(["39m", "22m"]);
const colours = new RegExp(`${mark}\\d+m`, "g");

export function paintFor(stream: NodeJS.WriteStream): Paint {
  return Object.assign(
    (tint: Tint, text: string) => styleText(tint, forTerminal(text), { stream }).replaceAll("\u001b[", mark),
    { width: Math.max(leastWidth, stream.columns ?? 0) },
  );
}

/** Returns a text as it is written: with the colours of `Paint`, and all else that a terminal would obey shown as escapes. */
export function forTerminal(text: string): string {
  return escapedLines(text).replaceAll(mark, "\u001b[");
}

/** Characters that are seen. */
export function widthOf(text: string): number {
  return [...text.replace(colours, "")].length;
}

/** Lines of one painted text: a colour that goes over the end of a line ends there and begins anew with the next. */
export function repainted(lines: readonly string[]): readonly string[] {
  let open = "";
  return lines.map((line) => {
    const begun = open + line;
    for (const [code] of line.matchAll(colours)) open = endings.has(code.slice(mark.length)) ? "" : code;
    return open === "" ? begun : `${begun}${mark}${open === `${mark}1m` ? "22m" : "39m"}`;
  });
}

/** A value on one line, without anything that a terminal would obey; colours of `Paint` stay. */
export function oneLine(text: string): string {
  return escaped(text);
}

/** `12s ago`; `never` for what has not happened. */
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

/** Lines of at most so many characters, broken after commas, or where else; those after the first are indented. */
export function wrapped(text: string, indent: string, width = leastWidth, where = /(?<=, )/): string {
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
