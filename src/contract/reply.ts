/**
 * Descriptions of replies and their parser.
 *
 * Lists are parsed row by row. A row that does not match its schema is left out of the record and returned in
 * `rejected`, so one bad row does not reject the others. Any other reply is parsed as a whole or rejected.
 */
import { z } from "zod";
import { flag, listOf, maybe, type Output, orElse, record, type Schema, text, type Wire } from "./fields.ts";

/** `R` is the type of the parsed record, `W` the type on the wire (both only for the compiler). */
export type Reply<R = unknown, W = unknown> = {
  readonly record?: R;
  readonly wire?: W;
  /** Note for the docs. */
  readonly note: string | null;
} & (
  | { readonly kind: "record"; readonly schema: Schema }
  | { readonly kind: "rows"; readonly field: string | null; readonly envelope: Schema; readonly row: Schema }
  /** 204, or 200 with anything: the record is null. */
  | { readonly kind: "none" }
);

/** One record. */
export function one<S extends Schema>(schema: S, note: string | null = null): Reply<Output<S>, Wire<S>> {
  return { kind: "record", schema, note };
}

/** No record: 204 or any 200 is success, a body is ignored. `note` describes the body that servers send. */
export function nothing(note: string): Reply<null, unknown> {
  return { kind: "none", note };
}

/** A bare JSON array of rows. */
export function rowsOf<S extends Schema>(row: S): Reply<Output<S>[], Wire<S>[]> {
  return { kind: "rows", field: null, envelope: z.array(z.unknown()), row, note: null };
}

/** Fields beside the rows; zod takes an empty shape for an object that may hold nothing. */
type Beside<Shape, Fields> = keyof Shape extends never ? unknown : Fields;

/** An object whose `field` is the list of rows, with `shape` beside it. */
export function rowsIn<const F extends string, S extends Schema, Shape extends z.core.$ZodLooseShape>(
  field: F,
  row: S,
  shape: Shape,
): Reply<
  { [K in F]: Output<S>[] } & Beside<Shape, z.output<z.ZodObject<Shape, z.core.$strip>>>,
  { [K in F]?: Wire<S>[] | null | undefined } & Beside<Shape, z.input<z.ZodObject<Shape, z.core.$strip>>>
> {
  return {
    kind: "rows",
    field,
    envelope: record({ ...shape, [field]: listOf(z.unknown()) }),
    row,
    note: null,
  };
}

const cursors = { nextCursor: maybe(text), prevCursor: maybe(text), hasMore: orElse(flag, false) };

/** A page: `{ <field>, nextCursor, prevCursor, hasMore }`; absent cursors are null, an absent `hasMore` is false. */
export function pageOf<S extends Schema>(row: S) {
  return rowsIn("data", row, cursors);
}

/** The same for funding, with the rows in `events`. */
export function eventsPageOf<S extends Schema>(row: S) {
  return rowsIn("events", row, cursors);
}

/** The mismatch of a reply, or of a row of it, with its schema: the endpoint, and the first wrong fields. */
export interface ReplyProblem {
  readonly endpoint: string;
  /** Up to 5, as `snapshot.subaccounts[0].collateral`, `mids.{}`; the empty path is the reply itself. */
  readonly fields: readonly { readonly path: string; readonly message: string }[];
  /** All problems on one line. */
  readonly message: string;
}

/** A row that was left out, with its raw value. */
export interface RejectedRow {
  readonly index: number;
  readonly raw: unknown;
  readonly problem: ReplyProblem;
}

export type ParsedReply<R> =
  | { readonly ok: true; readonly record: R; readonly rejected: readonly RejectedRow[] }
  | { readonly ok: false; readonly problem: ReplyProblem };

const NONE: readonly RejectedRow[] = [];
const maxFields = 5;
/** Maximum rows of a reply: the largest limit of a request is 10 000. */
const maxRows = 20_000;

/** Returns the length of a list in a reply that exceeds `maxRows`, nested lists included; null: none does. */
export function overlong(json: unknown, depth = 6): number | null {
  if (typeof json !== "object" || json === null || depth === 0) return null;
  if (Array.isArray(json) && json.length > maxRows) return json.length;
  for (const inner of Object.values(json)) {
    const found = overlong(inner, depth - 1);
    if (found !== null) return found;
  }
  return null;
}

/** Minimum length of a text that can contain such a list, characters. */
export const shortestOverlong = 2 * maxRows;

/** Parses a successful reply. @param json from `parseJson`; undefined: there was no body */
export function parseReply<R>(
  endpoint: { readonly name: string; readonly reply: Reply<R> },
  json: unknown,
): ParsedReply<R> {
  const { name, reply } = endpoint;
  if (reply.kind === "none") return { ok: true, record: null as R, rejected: NONE };
  const whole = parseRecord(name, reply.kind === "record" ? reply.schema : reply.envelope, json);
  if (!whole.ok || reply.kind === "record") return whole as ParsedReply<R>;

  const field = reply.field;
  const envelope = whole.record as Record<string, unknown>;
  const raws = (field === null ? whole.record : envelope[field]) as unknown[];
  const rows: unknown[] = [];
  const rejected: RejectedRow[] = [];
  for (const [index, raw] of raws.entries()) {
    const row = parseRecord(name, reply.row, raw, `${field ?? ""}[${index}]`);
    if (row.ok) rows.push(row.record);
    else rejected.push({ index, raw, problem: row.problem });
  }
  if (field !== null) envelope[field] = rows;
  return { ok: true, record: (field === null ? rows : envelope) as R, rejected };
}

/** Parses one record by its schema; `source` names the endpoint or channel in the problem. */
export function parseRecord<S extends Schema>(
  source: string,
  schema: S,
  json: unknown,
  at = "",
): ParsedReply<Output<S>> {
  const parsed = checked(schema, json);
  if (parsed === null) {
    const message = `${source}: more mistakes than can be listed`;
    return { ok: false, problem: { endpoint: source, fields: [], message } };
  }
  if (parsed.success) return { ok: true, record: parsed.data, rejected: NONE };
  const issues = parsed.error.issues;
  const fields = issues.slice(0, maxFields).map((issue) => ({
    path: `${at}${issue.path.map(step).join("")}`.replace(/^\./, ""),
    message: `${issue.message.replace(/^Invalid input: /, "").replace(/, received .*$/, "")}, found ${describe(json, issue.path)}`,
  }));
  const more = issues.length > fields.length ? `, and ${issues.length - fields.length} more` : "";
  const list = fields.map((f) => `${f.path === "" ? "the reply" : f.path}: ${f.message}`).join("; ");
  return { ok: false, problem: { endpoint: source, fields, message: `${source}: ${list}${more}` } };
}

/** @returns null if zod exceeds the stack: from about 100 000 issues, or as many levels of nesting */
function checked<S extends Schema>(schema: S, json: unknown) {
  try {
    return z.safeParse(schema, json);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** Returns the text of one step of a path. A symbol is a map key, which the server chose; all are written alike. */
function step(part: PropertyKey): string {
  if (typeof part === "symbol") return ".{}";
  return typeof part === "number" ? `[${part}]` : `.${String(part)}`;
}

/** Returns the type of the value at a path, and the value if it is a number or boolean: texts may be secrets. */
function describe(json: unknown, path: readonly PropertyKey[]): string {
  let value = json;
  for (const part of path) {
    const own = typeof part === "symbol" ? part.description! : part;
    value = (value as Record<PropertyKey, unknown> | null | undefined)?.[own];
  }
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "object" ? "an object" : "text";
}
