/** The parts of a record, read off its schema, for help texts and the reference: every field with its path and kind. */
import type { z } from "zod";
import type { Endpoint } from "./endpoint.ts";
import type { Schema } from "./fields.ts";

export interface RecordField {
  /** As it stands on the wire, from the reply down: `snapshot.subaccounts[].collateral`. `{}` stands for any key. */
  readonly path: string;
  /** `text`, `an integer`, `a list`, … */
  readonly kind: string;
  /** It may be absent or null on the wire. */
  readonly optional: boolean;
}

/** The fields of what an endpoint answers, in their order; none where it answers nothing. */
export function replyFields({ reply }: Endpoint): readonly RecordField[] {
  const fields: RecordField[] = [];
  if (reply.kind === "record") walk(reply.schema, "", fields);
  else if (reply.kind === "rows") {
    if (reply.field === null) {
      fields.push({ path: "[]", kind: "a list", optional: false });
      walk(reply.row, "[]", fields);
    } else {
      walk(reply.envelope, "", fields, reply.field);
      walk(reply.row, `${reply.field}[]`, fields);
    }
  }
  return fields;
}

type Def = z.core.$ZodTypeDef & {
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>;
  readonly element?: z.core.$ZodType;
  readonly valueType?: z.core.$ZodType;
  readonly inner?: z.core.$ZodType;
  readonly innerType?: z.core.$ZodType;
  readonly options?: readonly z.core.$ZodType[];
  readonly expected?: string;
  readonly values?: readonly unknown[];
  readonly in?: z.core.$ZodType;
  /** The schema read under other spellings too. */
  readonly spells?: z.core.$ZodType;
};

/** @param last the list that a page is about: told of after all others, before its rows */
function walk(schema: Schema, path: string, into: RecordField[], last: string | null = null): void {
  const { shape } = bare(schema).def;
  if (shape === undefined) return;
  for (const name of Object.keys(shape))
    if (name !== last) add(shape[name]!, path === "" ? name : `${path}.${name}`, into);
  if (last !== null) into.push({ path: last, kind: "a list", optional: true });
}

function add(schema: Schema, path: string, into: RecordField[]): void {
  const { def, optional } = bare(schema);
  if (def.element !== undefined) {
    into.push({ path, kind: `a list${of(def.element)}`, optional });
    walk(def.element, `${path}[]`, into);
  } else if (def.valueType !== undefined) {
    into.push({ path, kind: `an object by key${of(def.valueType)}`, optional });
    walk(def.valueType, `${path}.{}`, into);
  } else if (def.shape !== undefined) {
    into.push({ path, kind: "an object", optional });
    walk(schema, path, into);
  } else into.push({ path, kind: kindOf(def), optional });
}

/** The content of a list or map, when that is told by a word. */
function of(inner: Schema): string {
  const { def } = bare(inner);
  return def.shape !== undefined ? "" : ` of ${kindOf(def).replace(/^an? /, "")}`;
}

function kindOf(def: Def): string {
  if (def.expected !== undefined) return def.expected;
  if (def.element !== undefined) return `a list${of(def.element)}`;
  if (def.values !== undefined) return def.values.map(String).join(" or ");
  if (def.options !== undefined) return def.options.map((one) => kindOf(bare(one).def)).join(" or ");
  return def.type === "unknown" ? "anything" : `a ${def.type}`;
}

/** The schema behind what only says that it may be absent. */
function bare(schema: Schema): { readonly def: Def; readonly optional: boolean } {
  let { def } = schema._zod as { def: Def };
  let optional = false;
  for (;;) {
    const same = def.spells ?? (def.type === "pipe" ? def.in : undefined);
    const inner = same ?? def.inner ?? def.innerType;
    if (inner === undefined) return { def, optional };
    optional ||= same === undefined;
    def = inner._zod.def as Def;
  }
}
