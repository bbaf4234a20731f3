/** Tables of limited width: long texts are wrapped in their columns, or moved below their rows. No word is cut. */
import { oneLine, type Paint, repainted, widthOf } from "./print.ts";

export interface Column {
  readonly title: string;
  readonly right?: boolean;
  /** A text that needs no title below its row. */
  readonly text?: boolean;
}

const gap = "  ";
/** Indent of texts below a row. */
const indent = "    ";
/** Minimum width of the last column; if there is less space, it moves below its row. */
const minLast = 40;
/** Minimum width of other columns. */
const minOther = 12;

/** Words, at which a cell may be wrapped; a time is one word. */
const word = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: \w+)?\S*|\S+/g;

/**
 * Formats a table. Cells are brought to one line, with control characters escaped, before they are wrapped. Columns
 * that do not fit are written below their row, with their title.
 */
export function table(
  columns: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
  paint: Paint,
): string {
  const heads = columns.map((column) => (typeof column === "string" ? { title: column } : column));
  const cells = rows.map((row) => row.map(oneLine));
  const { columnCount, widths } = fitColumns(heads, cells, paint.width);
  const shown = heads.slice(0, columnCount);
  const head = rowLines(
    shown.map(({ title }) => title.toUpperCase()),
    shown,
    widths,
  ).map((line) => paint("gray", line));
  const lines = cells.flatMap((row) => [
    ...rowLines(row.slice(0, columnCount), shown, widths),
    ...linesBelow(row.slice(columnCount), heads.slice(columnCount), paint.width),
  ]);
  return [...head, ...lines].join("\n");
}

interface FittedColumns {
  /** Number of columns beside each other; the others are below. */
  readonly columnCount: number;
  readonly widths: readonly number[];
}

function fitColumns(
  heads: readonly Column[],
  cells: readonly (readonly string[])[],
  width: number,
): FittedColumns {
  const all = heads.map(({ title }, index) => {
    const texts = [title, ...cells.map((row) => row[index] ?? "")];
    const natural = Math.max(...texts.map(widthOf));
    const longestWord = Math.max(0, ...texts.flatMap(wordsOf).map(widthOf));
    const inCells = Math.max(0, ...texts.slice(1).map(widthOf));
    const min = index > 0 && index === heads.length - 1 ? minLast : minOther;
    return { natural, min: Math.max(longestWord, Math.min(inCells, min)) };
  });
  for (let columnCount = all.length; columnCount > 0; columnCount--) {
    const widths = shareWidth(all.slice(0, columnCount), width - (columnCount - 1) * gap.length);
    if (widths !== null) return { columnCount, widths };
    // A word that is longer than a line is not cut.
    if (columnCount === 1) return { columnCount, widths: [all[0]!.min] };
  }
  return { columnCount: 0, widths: [] };
}

/** @returns widths that fit into `room`, with the widest columns reduced; null if there are none */
function shareWidth(
  columns: readonly { readonly natural: number; readonly min: number }[],
  room: number,
): readonly number[] | null {
  const cut = (maxWidth: number) =>
    columns.map(({ natural, min }) => Math.min(natural, Math.max(min, maxWidth)));
  const sum = (widths: readonly number[]) => widths.reduce((total, one) => total + one, 0);
  let maxWidth = Math.max(0, ...columns.map(({ natural }) => natural));
  while (sum(cut(maxWidth)) > room) {
    if (maxWidth === 0) return null;
    maxWidth--;
  }
  return cut(maxWidth);
}

/** A row as lines, each cell in its column. */
function rowLines(
  texts: readonly string[],
  heads: readonly Column[],
  widths: readonly number[],
): readonly string[] {
  const wrapped = heads.map((_, index) => wrap(texts[index] ?? "", widths[index]!));
  const height = Math.max(1, ...wrapped.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) =>
    heads
      .map(({ right }, index) => {
        const text = wrapped[index]![at] ?? "";
        const space = " ".repeat(Math.max(0, widths[index]! - widthOf(text)));
        return right === true ? space + text : text + space;
      })
      .join(gap)
      .trimEnd(),
  );
}

function linesBelow(texts: readonly string[], heads: readonly Column[], width: number): readonly string[] {
  const parts = texts.flatMap((text, index) => {
    if (text === "") return [];
    const { title, text: isText } = heads[index]!;
    return [isText === true ? text : `${title} ${text}`.trimStart()];
  });
  if (parts.length === 0) return [];
  return wrap(parts.join(" · "), width - indent.length).map((line) => indent + line);
}

function wordsOf(text: string): readonly string[] {
  return text.match(word) ?? [];
}

/**
 * Wraps a text between parts (` · `) if they fit, otherwise between words; a longer word gets a line of its own.
 * Colours continue on the next line.
 */
function wrap(text: string, width: number): readonly string[] {
  if (widthOf(text) <= width) return [text];
  const lines: string[] = [];
  const pieces = text.split(/(?<= ·) /).flatMap((part) => (widthOf(part) <= width ? [part] : wordsOf(part)));
  for (const piece of pieces) {
    const last = lines.at(-1);
    if (last === undefined || widthOf(last) + 1 + widthOf(piece) > width) lines.push(piece);
    else lines[lines.length - 1] = `${last} ${piece}`;
  }
  return repainted(lines);
}
