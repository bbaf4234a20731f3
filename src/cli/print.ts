/** Output for people: aligned tables, ages, colours where a terminal shows them. */
import { randomUUID } from "node:crypto";
import { styleText } from "node:util";
import { clean } from "../channels/text.ts";
import { formatDurationMs } from "../domain/duration.ts";

export type Tint = "red" | "yellow" | "green" | "cyan" | "gray" | "bold";

/** Colours text for a stream: nothing changes where that is no terminal or NO_COLOR is set. To be written by `forTerminal`. */
export type Paint = (tint: Tint, text: string) => string;

/**
 * Stands for the beginning of an escape sequence until the text is written. It is drawn in each process: nothing from
 * outside can contain it, so that colours of `Paint` are told from those in data.
 */
const mark = randomUUID();
const colours = new RegExp(`${mark}\\d+m`, "g");

export function paintFor(stream: NodeJS.WriteStream): Paint {
  return (tint, text) => styleText(tint, forTerminal(text), { stream }).replaceAll("\u001b[", mark);
}

/** Returns a text as it is written: with the colours of `Paint`, and nothing else that a terminal would obey. */
export function forTerminal(text: string): string {
  return clean(text).replaceAll(mark, "\u001b[");
}

export interface Column {
  readonly title: string;
  readonly right?: boolean;
}

/** Cells are cut to one line, and nothing in them can move a cursor. Without rows: `none`. */
export function table(
  columns: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
  paint: Paint,
): string {
  const heads = columns.map((column) => (typeof column === "string" ? { title: column } : column));
  const cells = rows.map((row) => row.map(oneLine));
  const widths = heads.map(({ title }, index) =>
    Math.max(title.length, ...cells.map((row) => widthOf(row[index] ?? ""))),
  );
  const line = (texts: readonly string[]) =>
    texts
      .map((text, index) => {
        const gap = " ".repeat(widths[index]! - widthOf(text));
        return heads[index]!.right === true ? gap + text : text + gap;
      })
      .join("  ")
      .trimEnd();
  const head = line(heads.map(({ title }) => title.toUpperCase()));
  return [paint("gray", head), ...cells.map(line)].join("\n");
}

/**
 * As `table`. Where a line is wider than the terminal, the last column stands below the row that it belongs to, broken
 * between its parts (` · `).
 * @param width of the terminal in characters; undefined: none, nothing is broken
 */
export function tableWithin(
  columns: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
  paint: Paint,
  width: number | undefined,
): string {
  const whole = table(columns, rows, paint);
  if (width === undefined || whole.split("\n").every((line) => widthOf(line) <= width)) return whole;
  const [head, ...lines] = table(
    columns.slice(0, -1),
    rows.map((row) => row.slice(0, -1)),
    paint,
  ).split("\n");
  const below = (index: number): string[] => {
    const last = oneLine(rows[index]?.[columns.length - 1] ?? "");
    const indent = "    ";
    return last === "" ? [] : [wrapped(indent + last, indent, width, /(?<= · )/)];
  };
  return [head, ...lines.flatMap((line, index) => [line, ...below(index)])].join("\n");
}

function widthOf(text: string): number {
  return [...text.replace(colours, "")].length;
}

/** On one line, without anything that a terminal would obey; colours of `Paint` stay. */
export function oneLine(text: string): string {
  return clean(text).replace(/\n+/g, " ");
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
export function wrapped(text: string, indent: string, width = 110, where = /(?<=, )/): string {
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
