/** Resolves the names of one expression, and suggests corrections for unknown ones. */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { Scope } from "../../domain/subject.ts";
import { nearestName } from "../problem.ts";
import type { ReadScope } from "../rule.ts";
import { Unknown } from "../value.ts";
import type { Field } from "../vocabulary/field-types.ts";
import { eventVocabulary, vocabulary } from "../vocabulary.ts";
import type { ExpressionProblem, Gathered, Naming } from "./context.ts";
import type { Compiling } from "./node.ts";
import { readField } from "./nodes/fields.ts";
import { functionNames } from "./nodes/functions.ts";
import { isScope, noEvent, notVisible } from "./not-visible.ts";
import { duration, fieldsByName, numberOf, time, typeOfField, wrong } from "./types.ts";

/** Placeholder for a part with a reported mistake. */
export const bad: Compiling = { type: wrong, run: () => new Unknown("error", null, "not compiled") };

export class Names {
  readonly naming: Naming;
  readonly gathered: Gathered;
  readonly report: (problem: ExpressionProblem) => void;
  /** The items of the enclosing loops. */
  readonly locals = new Map<string, Compiling>();

  constructor(naming: Naming, gathered: Gathered, report: (problem: ExpressionProblem) => void) {
    this.naming = naming;
    this.gathered = gathered;
    this.report = report;
  }

  problem(
    node: ASTNode,
    message: string,
    more: { allowed?: readonly string[]; nearest?: string | null; at?: number } = {},
  ): Compiling {
    const { at, ...rest } = more;
    this.report({ start: at ?? node.start, message, ...rest });
    return bad;
  }

  /** Resolves a single name: a loop's item, `value`, or `now`; scopes alone are not values. */
  meaning(name: string, node: ASTNode): Compiling {
    const local = this.locals.get(name);
    if (local !== undefined) return local;
    if (name === "now") {
      this.gathered.readsNow = true;
      return { type: time, run: (env) => env.nowMs };
    }
    if (name === "value" && this.naming.value !== null) {
      const absent = new Unknown("missing", null, "the rule's value is not there");
      const { kind, unit, range } = this.naming.value;
      return {
        type: kind === "duration" ? duration : numberOf(kind, unit, range),
        run: (env) => env.value ?? absent,
      };
    }
    if (name === "value" && this.naming.owners !== undefined)
      return this.problem(node, "`value` belongs to rules: here it is alert.value", {
        nearest: "alert.value",
      });
    if (name === "value") return this.problem(node, "`value` needs the rule to have a `value:`");
    const fields = this.fieldsOf(name);
    if (fields === undefined) return this.unknown(name, node);
    return this.problem(node, `${name} is not a value by itself: name one of its fields`, {
      allowed: [...fields.keys()],
    });
  }

  /** @param field the field that is read of it; null: none */
  unknown(name: string, node: ASTNode, field: string | null = null): Compiling {
    const names = this.all();
    const allowed = { allowed: names };
    if (isScope(name)) return this.problem(node, this.#elsewhere(name, field), allowed);
    if (name === "event" && this.naming.event === null)
      return this.problem(node, noEvent(field, this.naming), allowed);
    const known = [...names, ...functionNames, ...this.locals.keys()];
    return this.problem(node, `unknown name ${name}`, { ...allowed, nearest: nearestName(name, known) });
  }

  #elsewhere(scope: Scope, field: string | null): string {
    const known = vocabulary[scope].some(({ name }) => name === field) ? field : null;
    return notVisible(field === null ? scope : `${scope}.${field}`, scope, known, this.naming);
  }

  all(): string[] {
    const { scopes: visible, event, value, owners } = this.naming;
    if (owners !== undefined) return [...Object.keys(owners), "now"];
    return [...visible, ...(event === null ? [] : [event.name]), ...(value === null ? [] : ["value"]), "now"];
  }

  fieldsOf(name: string): ReadonlyMap<string, Field> | undefined {
    const { owners } = this.naming;
    if (owners !== undefined) return Object.hasOwn(owners, name) ? fieldsByName(owners[name]!) : undefined;
    if ((this.naming.scopes as readonly string[]).includes(name))
      return fieldsByName(vocabulary[name as Scope]);
    const { event } = this.naming;
    return event?.name === name ? fieldsByName(eventVocabulary[event.kind]) : undefined;
  }

  field(
    node: ASTNode,
    at: number,
    owner: string,
    scope: ReadScope,
    fields: ReadonlyMap<string, Field>,
    name: string,
    symbol: string | null,
  ): Compiling {
    const field = fields.get(name);
    if (field === undefined) return this.noField(node, at, owner, name, fields.keys());
    this.gathered.read(scope, field, symbol);
    this.gathered.readsPresent = true;
    const path = `${owner}.${name}`;
    const run = readField(path, { scope, symbol }, field, this.gathered.staleAfterMs);
    return { type: typeOfField(field), run };
  }

  noField(node: ASTNode, at: number, owner: string, name: string, fields: Iterable<string>): Compiling {
    const allowed = [...fields];
    return this.problem(node, `unknown field ${owner}.${name}`, {
      allowed,
      nearest: nearestName(name, allowed),
      at,
    });
  }
}
