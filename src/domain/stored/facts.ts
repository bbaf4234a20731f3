/**
 * The last known facts: history stores each change with its time, and a start compares the first answers with them. Each
 * owner has kinds of its own, which define the name and the schema of their text.
 */
import type { z } from "zod";
import { decode, encode } from "../text/json.ts";
import type { FactChange } from "./changes.ts";
import type { ChangesBuilder } from "./changes-builder.ts";

/** The newest text of each fact, by `factName`. */
export type Facts = ReadonlyMap<string, string>;

/** Returns the key of an owner's fact in `Facts`. */
export function factName(owner: string, name: string): string {
  return `${owner}\n${name}`;
}

export class FactKind<Value> {
  readonly name: string;
  readonly #schema: z.ZodType<Value>;
  readonly #form: "json" | "text";

  /** @param form text: the value is a string, which is stored unchanged */
  constructor(name: string, schema: z.ZodType<Value>, form: "json" | "text" = "json") {
    this.name = name;
    this.#schema = schema;
    this.#form = form;
  }

  /** @returns null: history has none. @throws {FactError} */
  get(facts: Facts, owner: string): Value | null {
    const text = facts.get(factName(owner, this.name));
    return text === undefined ? null : this.read(owner, text);
  }

  /** @throws {FactError} */
  read(owner: string, text: string): Value {
    let value: unknown;
    try {
      value = this.#form === "text" ? text : decode(text);
    } catch (error) {
      throw new FactError(owner, this.name, (error as Error).message);
    }
    const parsed = this.#schema.safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    throw new FactError(owner, this.name, `${issue?.path.join(".") || "the value"}: ${issue?.message}`);
  }

  textOf(value: Value): string {
    return this.#form === "text" ? (value as string) : encode(value);
  }

  put(owner: string, value: Value, builder: ChangesBuilder): void {
    const { atMs } = builder;
    builder.changes.facts.push({ atMs, owner, name: this.name, value: this.textOf(value) });
  }

  /** Returns true for a change of this kind of fact. */
  is(change: FactChange): boolean {
    return change.name === this.name;
  }
}

/** A fact that its owner cannot read: of a later version, or damaged. */
export class FactError extends Error {
  constructor(owner: string, name: string, reason: string) {
    super(`the fact ${name} of ${owner} does not fit: ${reason}`);
    this.name = "FactError";
  }
}
