/** Tables for people that fit a width: long texts are wrapped in their columns, or stand below their rows. No word is cut. */
import { oneLine, type Paint, repainted, widthOf } from "./print.ts";

export interface Column {
  readonly title: string;
  readonly right?: boolean;
  /** It says what the row is about: below its row it needs no title. */
  readonly text?: boolean;
}

const gap = "  ";
/** Stands before what is below a row. */
const indent = "    ";
/** The last column is wrapped to this at least: what is narrower stands below its row. */
const leastLast = 40;
/** Other columns are wrapped to this at least. */
const leastOther = 12;

/** Words, between which a cell is broken; a time is one word. */
const word = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: \w+)?\S*|\S+/g;

/**
 * Cells are brought to one line before they are wrapped, and nothing in them can move a cursor. What does not fit stands below
 * its row, with its column's title.
 */
export function table(
  columns: readonly (string | Column)[],
  rows: readonly (readonly string[])[],
  paint: Paint,
): string {
  const heads = columns.map((column) => (typeof column === "string" ? { title: column } : column));
  const cells = rows.map((row) => row.map(oneLine));
  const { beside, widths } = fitted(heads, cells, paint.width);
  const shown = heads.slice(0, beside);
  const head = blockOf(
    shown.map(({ title }) => title.toUpperCase()),
    shown,
    widths,
  ).map((line) => paint("gray", line));
  const lines = cells.flatMap((row) => [
    ...blockOf(row.slice(0, beside), shown, widths),
    ...belowOf(row.slice(beside), heads.slice(beside), paint.width),
  ]);
  return [...head, ...lines].join("\n");
}

interface Fitted {
  /** So many columns stand beside each other, the others below. */
  readonly beside: number;
  readonly widths: readonly number[];
}

function fitted(heads: readonly Column[], cells: readonly (readonly string[])[], width: number): Fitted {
  const all = heads.map(({ title }, index) => {
    const texts = [title, ...cells.map((row) => row[index] ?? "")];
    const natural = Math.max(...texts.map(widthOf));
    const longest = Math.max(0, ...texts.flatMap(wordsOf).map(widthOf));
    const inCells = Math.max(0, ...texts.slice(1).map(widthOf));
    const least = index > 0 && index === heads.length - 1 ? leastLast : leastOther;
    return { natural, least: Math.max(longest, Math.min(inCells, least)) };
  });
  for (let beside = all.length; beside > 0; beside--) {
    const widths = shared(all.slice(0, beside), width - (beside - 1) * gap.length);
    if (widths !== null) return { beside, widths };
    // A word that is longer than a line is not cut.
    if (beside === 1) return { beside, widths: [all[0]!.least] };
  }
  return { beside: 0, widths: [] };
}

/** @returns widths that fit into the room, the widest made narrower; null where there are none */
function shared(
  columns: readonly { readonly natural: number; readonly least: number }[],
  room: number,
): readonly number[] | null {
  const cut = (most: number) => columns.map(({ natural, least }) => Math.min(natural, Math.max(least, most)));
  const sum = (widths: readonly number[]) => widths.reduce((total, one) => total + one, 0);
  let most = Math.max(0, ...columns.map(({ natural }) => natural));
  while (sum(cut(most)) > room) {
    if (most === 0) return null;
    most--;
  }
  return cut(most);
}

/** A row as lines, each cell in its column. */
function blockOf(
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

function belowOf(texts: readonly string[], heads: readonly Column[], width: number): readonly string[] {
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
 * Lines of at most so many characters, broken between parts (` · `) where those fit, else between words; a longer word has a
 * line of its own. Colours go on.
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
