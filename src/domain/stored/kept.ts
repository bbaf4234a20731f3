/**
 * Values that history stores by name beside its tables: the state that a part needs after a restart. Each part has a kind of
 * its own, which defines the names of its values and the schema of their JSON.
 */
import { z } from "zod";
import { decode, encode } from "../text/json.ts";
import type { ChangesBuilder } from "./changes-builder.ts";

export type KeptValues = ReadonlyMap<string, string>;

/** A number, also an infinite one. */
export const keptNumber = z.custom<number>((value) => typeof value === "number", "expected a number");

export class KeptKind<Value, Key extends string | number = string> {
  readonly #prefix: string;
  readonly #suffix: string;
  readonly #schema: z.ZodType<Value>;

  /** @param names `prefix/{}/suffix`: the braces stand for the key; without them there is one value */
  constructor(names: string, schema: z.ZodType<Value>) {
    const [prefix = "", suffix = ""] = names.split("{}");
    this.#prefix = prefix;
    this.#suffix = suffix;
    this.#schema = schema;
  }

  name(key: Key): string {
    return `${this.#prefix}${key}${this.#suffix}`;
  }

  /** @returns the key in a name; null: the name is of another kind */
  keyOf(name: string): string | null {
    if (!name.startsWith(this.#prefix) || !name.endsWith(this.#suffix)) return null;
    const end = name.length - this.#suffix.length;
    return end < this.#prefix.length ? null : name.slice(this.#prefix.length, end);
  }

  /** @throws {KeptValueError} */
  get(kept: KeptValues, key: Key): Value | null {
    const name = this.name(key);
    const text = kept.get(name);
    return text === undefined ? null : this.read(name, text);
  }

  /** Yields all of this kind, in stored order. @throws {KeptValueError} */
  *all(kept: KeptValues): Iterable<readonly [key: string, value: Value]> {
    for (const [name, text] of kept) {
      const key = this.keyOf(name);
      if (key !== null) yield [key, this.read(name, text)];
    }
  }

  keys(kept: KeptValues): string[] {
    return [...kept.keys()].flatMap((name) => this.keyOf(name) ?? []);
  }

  /** @throws {KeptValueError} */
  read(name: string, text: string): Value {
    let value: unknown;
    try {
      value = decode(text);
    } catch (error) {
      throw new KeptValueError(name, (error as Error).message);
    }
    const parsed = this.#schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new KeptValueError(name, `${issue?.path.join(".") || "the value"}: ${issue?.message}`);
  }

  put(key: Key, value: Value, builder: ChangesBuilder): void {
    builder.changes.keep.push(this.row(key, value));
  }

  drop(key: Key, builder: ChangesBuilder): void {
    builder.changes.keep.push(this.row(key, null));
  }

  /** @param value null: it is deleted */
  row(key: Key, value: Value | null): { readonly name: string; readonly value: string | null } {
    return { name: this.name(key), value: value === null ? null : encode(value) };
  }
}

/** A kept value that a start cannot read. */
export interface DamagedValue {
  readonly name: string;
  /** The kind of content, for people: `a silence`. */
  readonly meaning: string;
  /** True if a notification depends on it. */
  readonly notifies: boolean;
}

/** A kept value that its owner cannot read: of a later version, or damaged. */
export class KeptValueError extends Error {
  constructor(name: string, reason: string) {
    super(`the kept value ${name} does not fit: ${reason}`);
    this.name = "KeptValueError";
  }
}
