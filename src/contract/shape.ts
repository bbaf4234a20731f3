/** Derives the fields of a record from its schema, with path and type, for help texts and the reference. */
import type { z } from "zod";
import type { Endpoint } from "./endpoint.ts";
import type { Schema } from "./fields.ts";

export interface RecordField {
  /** Path in the reply: `snapshot.subaccounts[].collateral`. `{}` is any key. */
  readonly path: string;
  /** `text`, `an integer`, `a list`, … */
  readonly kind: string;
  /** It may be absent or null on the wire. */
  readonly optional: boolean;
}

/** Returns the fields of an endpoint's reply, in order; empty: it has no record. */
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
  /** The schema that is also read under other spellings. */
  readonly spells?: z.core.$ZodType;
};

/** @param last the list of the page's rows: listed after all other fields */
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

/** Returns the type of a list's or map's content if it has a name. */
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

/** Returns the schema inside wrappers that allow absence. */
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
