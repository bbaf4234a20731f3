/**
 * `values:` of the rule files: named figures of every subject of a scope. Each is compiled when it is first named, or at the end,
 * so they may be in any order and in any file.
 */
import { isMap, type Node, type YAMLMap } from "yaml";
import type { Scope } from "../../domain/subject.ts";
import { Gathered, type Naming } from "../expression/context.ts";
import type { FoundValue, KnownValue, ValueLookup } from "../expression/named.ts";
import type { Compiled, NamedValue } from "../rule.ts";
import { type Unit, units } from "../vocabulary/field-types.ts";
import { visibleScopes } from "../vocabulary.ts";
import { type LoadContext, readExpression, staleness } from "./common.ts";
import { Reader } from "./reader.ts";
import { problemAt, type RuleSource } from "./source.ts";

const valueKeys: readonly string[] = ["name", "scope", "value", "unit", "description"];
/** Scopes whose figures are stored in history: windows over values of other scopes would have no data. */
const valueScopes: readonly Scope[] = ["position", "trader", "wallet", "market", "daemon"];
const nameForm = /^[A-Za-z][A-Za-z0-9]{0,47}$/;
const maxValues = 200;

interface Definition {
  readonly name: string;
  readonly scope: Scope;
  readonly unit: Unit | null;
  readonly description: string | null;
  readonly reader: Reader;
  state: "new" | "compiling" | "done";
  found: KnownValue | "wrong";
  made: NamedValue | null;
}

export class ValueBook implements ValueLookup {
  readonly #definitions = new Map<string, Definition>();
  readonly #context: LoadContext;
  /** Values being compiled now, each named by the previous one. */
  readonly #chain: string[] = [];

  constructor(context: LoadContext) {
    this.#context = context;
  }

  get names(): readonly string[] {
    return [...this.#definitions.keys()];
  }

  /** Adds a definition. Mistakes in its form are reported. */
  add(source: RuleSource, node: Node): void {
    const { problem } = this.#context;
    const at = source.place(node.range?.[0] ?? 0);
    if (!isMap(node)) {
      problem(problemAt(at, { message: "a named value is a mapping: name, scope, value" }));
      return;
    }
    const reader = new Reader(source, node as YAMLMap, null, "values", problem);
    reader.allow(valueKeys);
    const name = reader.text("name", true)?.text;
    const scope = reader.oneOf("scope", valueScopes, true);
    const unit = reader.oneOf("unit", units) ?? null;
    const description = reader.text("description")?.text ?? null;
    reader.text("value", true);
    if (name === undefined) return;
    if (!nameForm.test(name)) {
      reader.problem("name", {
        message: `${name} is no name of a value`,
        allowed: ["letters and digits, at most 48"],
      });
      return;
    }
    const before = this.#definitions.get(name);
    if (before !== undefined) {
      const { file, line } = before.reader.place(null);
      reader.problem("name", { message: `the value ${name} is there already, at ${file}:${line}` });
      return;
    }
    if (this.#definitions.size >= maxValues) {
      reader.problem("name", { message: `more than ${maxValues} named values` });
      return;
    }
    const whole = scope !== undefined && reader.has("value");
    this.#definitions.set(name, {
      name,
      scope: scope ?? "exchange",
      unit,
      description,
      reader,
      state: whole ? "new" : "done",
      found: "wrong",
      made: null,
    });
  }

  find(name: string): FoundValue | undefined {
    const definition = this.#definitions.get(name);
    if (definition === undefined) return undefined;
    if (definition.state === "compiling")
      return { circle: [...this.#chain.slice(this.#chain.indexOf(name)), name] };
    if (definition.state === "new") this.#compile(definition);
    return definition.found;
  }

  /** Compiles values that nothing named. @returns all valid ones, in the order of the files */
  finish(): readonly NamedValue[] {
    return [...this.#definitions.values()].flatMap((definition) => {
      if (definition.state === "new") this.#compile(definition);
      return definition.made === null ? [] : [definition.made];
    });
  }

  #compile(definition: Definition): void {
    const { name, scope, reader } = definition;
    definition.state = "compiling";
    this.#chain.push(name);
    const { input } = this.#context;
    const gathered = new Gathered(
      staleness(undefined, input.scheduleMs, input.stretchedAgesMs),
      input.retentionMs,
      this,
    );
    const naming: Naming = {
      scopes: visibleScopes[scope],
      event: null,
      value: null,
      // Only rules of the subject that an event belongs to count events.
      countable: [],
    };
    const compiled = readExpression(reader, "value", "figure", naming, gathered, this.#context);
    this.#chain.pop();
    definition.state = "done";
    if (compiled === undefined) return;
    const { type } = compiled;
    if (type.kind !== "double" && type.kind !== "int") {
      reader.problem("value", {
        message: "a named value is a number: its history could not be kept otherwise",
      });
      return;
    }
    const unit = definition.unit ?? type.unit;
    const { text } = compiled;
    definition.found = { name, scope, text, unit, kind: type.kind, range: type.range, reads: gathered.reads };
    const { file, line } = reader.place(null);
    definition.made = {
      name,
      scope,
      unit,
      description: definition.description,
      value: compiled as Compiled<number>,
      reads: gathered.reads,
      windows: gathered.windows,
      file,
      line,
    };
  }
}
