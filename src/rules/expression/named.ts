/**
 * Named values in expressions: `value.basis`. Where one is named its own expression is put in, so that it is as fresh as
 * what it rests on, and a rule that names it reads what it reads.
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

/** The meaning of a name: a value, one that is wrong (told where it stands), or one that leads back to itself. */
export type FoundValue = KnownValue | "wrong" | { readonly circle: readonly string[] };

export interface ValueLookup {
  readonly names: readonly string[];
  /** @returns undefined for a name that nobody gave. */
  find(name: string): FoundValue | undefined;
}

export const noValues: ValueLookup = { names: [], find: () => undefined };

/** `value.basis` as the parser is given it: one name of the same length, so that every place stays what it is. */
export const namedPrefix = "value_";

const quotedOrNamed = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?<![\w"'])(\.?)value\.([A-Za-z][A-Za-z0-9_]*)/g;

/** @returns the text with each named value as one name, and which are named. */
export function joinNames(text: string): { readonly text: string; readonly named: readonly string[] } {
  const named = new Set<string>();
  const joined = text.replace(quotedOrNamed, (all, dot: string | undefined, name: string | undefined) => {
    if (name === undefined) return all;
    named.add(name);
    return `${dot}${namedPrefix}${name}`;
  });
  return { text: joined, named: [...named] };
}

/** The named value that a name of the parser's stands for; null when somebody wrote it like this. */
export function namedAt(name: string, text: string, at: number): string | null {
  return name.startsWith(namedPrefix) && text.startsWith("value.", at)
    ? name.slice(namedPrefix.length)
    : null;
}
