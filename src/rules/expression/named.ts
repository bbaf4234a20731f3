/**
 * Named values in expressions: `value.basis`. The expression of the value is inserted in place of its name, so that the result is as
 * fresh as the inputs, and a rule that names it reads its inputs.
 */
import type { Scope } from "../../domain/subject.ts";
import type { Read } from "../rule.ts";
import type { Range, Unit } from "../vocabulary/field-types.ts";

export interface KnownValue {
  readonly name: string;
  readonly scope: Scope;
  readonly text: string;
  readonly unit: Unit;
  readonly kind: "double" | "int";
  readonly range?: Range | undefined;
  readonly reads: readonly Read[];
}

/** The meaning of a name: a value, one with a mistake (reported at its definition), or one that refers to itself. */
export type FoundValue = KnownValue | "wrong" | { readonly circle: readonly string[] };

export interface ValueLookup {
  readonly names: readonly string[];
  /** @returns undefined for an unknown name */
  find(name: string): FoundValue | undefined;
}

export const noValues: ValueLookup = { names: [], find: () => undefined };

/** `value.basis` in the form passed to the parser: one name of the same length, so that all offsets stay the same. */
export const namedPrefix = "value_";

const quotedOrNamed = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?<![\w"'])(\.?)value\.([A-Za-z][A-Za-z0-9_]*)/g;

/** @returns the text with each named value as one name, and the names used */
export function joinNames(text: string): { readonly text: string; readonly named: readonly string[] } {
  const named = new Set<string>();
  const joined = text.replace(quotedOrNamed, (all, dot: string | undefined, name: string | undefined) => {
    if (name === undefined) return all;
    named.add(name);
    return `${dot}${namedPrefix}${name}`;
  });
  return { text: joined, named: [...named] };
}

/** The named value for a name in the parser's tree; null if the text itself contains that name. */
export function namedAt(name: string, text: string, at: number): string | null {
  return name.startsWith(namedPrefix) && text.startsWith("value.", at)
    ? name.slice(namedPrefix.length)
    : null;
}
