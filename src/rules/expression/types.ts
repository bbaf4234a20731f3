/** Static types of expressions: CEL's types with additions (unit of a number, members of an enum). */

import { capabilityFields, orderItemFields, positionItemFields } from "../vocabulary/account.ts";
import type { Field, Range, Unit } from "../vocabulary/field-types.ts";

export type StaticType =
  | {
      readonly kind: "double" | "int";
      readonly unit: Unit;
      /** The plausible range. Absent: not known. */
      readonly range?: Range;
    }
  | { readonly kind: "bool" }
  | { readonly kind: "duration" }
  | { readonly kind: "time" }
  | { readonly kind: "text"; readonly members: readonly string[] | null; readonly open: boolean }
  | { readonly kind: "map"; readonly of: "texts" | "numbers"; readonly missing: "empty" | "unknown" }
  | { readonly kind: "list"; readonly of: StaticType }
  | { readonly kind: "record"; readonly name: string; readonly fields: ReadonlyMap<string, Field> }
  /** It has a mistake, which is reported. */
  | { readonly kind: "wrong" };

export const bool: StaticType = { kind: "bool" };
export const text: StaticType = { kind: "text", members: null, open: true };
export const plainDouble: StaticType = { kind: "double", unit: "none" };
export const plainInt: StaticType = { kind: "int", unit: "none" };
export const duration: StaticType = { kind: "duration" };
export const time: StaticType = { kind: "time" };
export const wrong: StaticType = { kind: "wrong" };

export const fieldsByName = (fields: readonly Field[]): ReadonlyMap<string, Field> =>
  new Map(fields.map((field) => [field.name, field]));

const positionItem: StaticType = {
  kind: "record",
  name: "PositionItem",
  fields: fieldsByName(positionItemFields),
};
const orderItem: StaticType = { kind: "record", name: "OrderItem", fields: fieldsByName(orderItemFields) };
const capabilities: StaticType = {
  kind: "record",
  name: "Capabilities",
  fields: fieldsByName(capabilityFields),
};

export function typeOfField(field: Field): StaticType {
  switch (field.type) {
    case "number":
      return numberOf("double", field.unit, field.plausible);
    case "boolean":
      return bool;
    case "text":
      return text;
    case "enum":
      return { kind: "text", members: field.members ?? null, open: field.open ?? false };
    case "duration":
      return duration;
    case "time":
      return time;
    case "texts":
      return { kind: "map", of: "texts", missing: field.absent === "missing" ? "unknown" : "empty" };
    case "numbers":
      return { kind: "map", of: "numbers", missing: "unknown" };
    case "positions":
      return { kind: "list", of: positionItem };
    case "orders":
      return { kind: "list", of: orderItem };
    case "capabilities":
      return capabilities;
  }
}

/** The CEL name of the type of a field. */
export function celTypeOfField(field: Field): string {
  const names = {
    number: "double",
    boolean: "bool",
    text: "string",
    enum: "string",
    duration: "google.protobuf.Duration",
    time: "google.protobuf.Timestamp",
    texts: "map<string, string>",
    numbers: "map<string, double>",
    positions: "list<PositionItem>",
    orders: "list<OrderItem>",
    capabilities: "Capabilities",
  } as const;
  return names[field.type];
}

export function numberOf(kind: "double" | "int", unit: Unit, range: Range | undefined): StaticType {
  return range === undefined ? { kind, unit } : { kind, unit, range };
}

export function rangeOf(type: StaticType): Range | undefined {
  return type.kind === "double" || type.kind === "int" ? type.range : undefined;
}

/** The type of the number with another range; without a range if none was known. */
export function withRange(type: StaticType, change: (range: Range) => Range | undefined): StaticType {
  const range = rangeOf(type);
  if (range === undefined || (type.kind !== "double" && type.kind !== "int")) return type;
  return numberOf(type.kind, type.unit, change(range));
}

export function unitOf(type: StaticType): Unit {
  if (type.kind === "double" || type.kind === "int") return type.unit;
  if (type.kind === "duration" || type.kind === "time") return type.kind;
  return "none";
}

/** The unit of a sum, difference, product or quotient, if it has one. */
export function combineUnits(operator: string, left: Unit, right: Unit): Unit {
  switch (operator) {
    case "+":
    case "-":
    case "%":
      if (left === right) return left;
      return left === "none" ? right : right === "none" ? left : "none";
    case "*":
      if (left === "none" || left === "ratio") return right === "none" && left === "ratio" ? "none" : right;
      return right === "none" || right === "ratio" ? left : "none";
    default:
      return right === "none" ? left : "none";
  }
}

/** Text for display of a type. */
export function describe(type: StaticType): string {
  switch (type.kind) {
    case "double":
    case "int":
      return "a number";
    case "bool":
      return "true or false";
    case "record":
    case "wrong":
      return "a thing with fields";
    default:
      return `a ${type.kind}`;
  }
}
