/** Shows answers: rows as a table if they are flat enough, everything else as YAML. */
import { stringify } from "yaml";
import type { Paint } from "../../terminal/print.ts";
import { table } from "../../terminal/table.ts";

type Row = Readonly<Record<string, unknown>>;

/** Wider tables are not readable on a terminal. */
const maxColumns = 12;

/** @param value a record, or rows */
export function showAnswer(value: unknown, paint: Paint): string {
  if (value === null || value === undefined) return "done";
  if (Array.isArray(value)) return showRows(value, paint);
  if (typeof value !== "object") return String(value);
  const entries = Object.entries(value as Row);
  const list = entries.find((entry): entry is [string, Row[]] => isTable(entry[1]));
  if (list === undefined) return yaml(value);
  const beside = Object.fromEntries(
    entries.filter(([name, one]) => name !== list[0] && one !== null && one !== undefined),
  );
  const rows = showRows(list[1], paint);
  return Object.keys(beside).length === 0 ? rows : `${rows}\n\n${yaml(beside)}`;
}

function showRows(rows: readonly unknown[], paint: Paint): string {
  if (rows.length === 0) return "No rows.";
  if (!isTable(rows)) return yaml(rows);
  const columns = columnsOf(rows);
  const cells = rows.map((row) => columns.map((name) => cell(name, row[name])));
  const isNumeric = (name: string): boolean => rows.some((row) => isNumber(row[name]));
  const heads = columns.map((name) => ({ title: name, right: isNumeric(name) && !isTime(name) }));
  return table(heads, cells, paint);
}

/** Returns true for rows of single values with few columns. */
function isTable(value: unknown): value is Row[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((row) => typeof row === "object" && row !== null && !Array.isArray(row)) &&
    columnsOf(value as Row[]).length <= maxColumns &&
    (value as Row[]).every((row) =>
      Object.values(row).every((one) => one === null || typeof one !== "object"),
    )
  );
}

/** Names that have a value in some row. */
function columnsOf(rows: readonly Row[]): string[] {
  const names = new Set<string>();
  for (const row of rows)
    for (const [name, value] of Object.entries(row))
      if (value !== null && value !== undefined) names.add(name);
  return [...names];
}

function cell(name: string, value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (isTime(name) && typeof value === "number" && value > 1e11 && value < 1e14)
    return new Date(value).toISOString();
  return String(value);
}

/** Returns true for names of times, which the client returns as Unix milliseconds. */
function isTime(name: string): boolean {
  return /(time|timestamp|At|Ms|createdAt|expiry)$/i.test(name);
}

function isNumber(value: unknown): boolean {
  return (
    typeof value === "number" ||
    typeof value === "bigint" ||
    (typeof value === "string" && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value))
  );
}

function yaml(value: unknown): string {
  return stringify(value, { lineWidth: 110 }).trimEnd();
}
