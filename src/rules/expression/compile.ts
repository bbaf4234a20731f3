/**
 * From text to a checked closure: parse (cel-js) → walk the tree (names, enums, functions, windows; here) → types
 * (cel-js). The walk comes before the types because it knows the nearest name and the members of an enum; an
 * expression is good only when both have nothing to say.
 */
import type { ASTNode } from "@marcbachmann/cel-js";
import type { Scope } from "../../domain/subject.ts";
import { nearestName } from "../problem.ts";
import type { Compiled } from "../rule.ts";
import { type FactScalar, Unknown, type Value } from "../value.ts";
import { eventVocabulary, scopes, vocabulary } from "../vocabulary.ts";
import { checkerFor, longestExpression } from "./checker.ts";
import type { ExpressionProblem, Gathered, Naming } from "./context.ts";
import { type Pick, pickMarket, pickScope, readField, readItemField, readKey } from "./fields.ts";
import { callFunction, callMethod, functionNames, methodNames } from "./functions.ts";
import { historyFunction, historyNames } from "./history.ts";
import { type Cell, collect, existsOne, quantifier } from "./macros.ts";
import type { Compiling, Run } from "./node.ts";
import * as operators from "./operators.ts";
import {
  bool,
  combineUnits,
  duration,
  fieldsByName,
  plainDouble,
  plainInt,
  type StaticType,
  text as textType,
  time,
  typeOfField,
  unitOf,
  wrong,
} from "./types.ts";

export type Wanted = "condition" | "figure" | "text";

/** Loops within loops beyond this depth are refused: their cost multiplies. */
const deepestLoops = 2;

/**
 * @param wanted a `condition` is true or false, a `figure` a number or a duration, a `text` anything that can be printed.
 * @param report is called for every problem; positions are offsets into the text.
 * @returns undefined when something was wrong.
 */
export function compileExpression(
  text: string,
  wanted: Wanted,
  naming: Naming,
  gathered: Gathered,
  report: (problem: ExpressionProblem) => void,
): (Compiled & { readonly type: StaticType }) | undefined {
  if (text.length > longestExpression) {
    report({
      start: 0,
      message: `the expression is ${text.length} characters long; at most ${longestExpression} are taken`,
    });
    return undefined;
  }
  const checker = checkerFor(naming);
  let failed = false;
  const tell = (problem: ExpressionProblem) => {
    if (!problem.warning) failed = true;
    report(problem);
  };
  let parsed: ReturnType<typeof checker.parse>;
  try {
    parsed = checker.parse(text);
  } catch (error) {
    tell(fromCel(error, text));
    return undefined;
  }
  const node = new Walk(text, naming, gathered, tell).compile(parsed.ast);
  if (failed) return undefined;
  const types = parsed.check();
  if (!types.valid) {
    tell(fromCel(types.error, text));
    return undefined;
  }
  const found = describe(node.type);
  if (wanted === "condition" && node.type.kind !== "bool")
    tell({ start: 0, message: `a condition must be true or false, this is ${found}` });
  if (wanted === "figure" && !["double", "int", "duration"].includes(node.type.kind))
    tell({ start: 0, message: `a value must be a number or a duration, this is ${found}` });
  if (wanted === "text" && !["double", "int", "duration", "time", "text", "bool"].includes(node.type.kind))
    tell({ start: 0, message: `${found} cannot be printed` });
  if (failed) return undefined;
  return { text, unit: unitOf(node.type), run: node.run, type: node.type };
}

/** In the words of this language rather than the checker's. */
function fromCel(error: unknown, text: string): ExpressionProblem {
  const { summary, message, range } = error as {
    summary?: string;
    message?: string;
    range?: { start: number };
  };
  const told = (summary ?? message ?? String(error)).split("\n")[0]!;
  const plain = told
    .replace(/google\.protobuf\.Duration/g, "duration")
    .replace(/google\.protobuf\.Timestamp/g, "time")
    .replace(/^Unexpected token: EOF$/, "the expression ends too early")
    .replace(/^Exceeded (\w+) \((\d+)\)$/, (_, limit: string, most: string) =>
      limit === "maxMapEntries" ? "maps cannot be written here" : `too large: more than ${most} for ${limit}`,
    )
    .replace(/^no such overload: (.*)$/, "types do not fit: $1")
    .replace(/^found no matching overload for /, "types do not fit: ");
  return { start: Math.min(range?.start ?? 0, text.length), message: plain };
}

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

const bad: Compiling = { type: wrong, run: () => new Unknown("error", null, "not compiled") };

class Walk {
  readonly #text: string;
  readonly #naming: Naming;
  readonly #gathered: Gathered;
  readonly #tell: (problem: ExpressionProblem) => void;
  readonly #locals = new Map<string, Compiling>();
  #loops = 0;

  constructor(text: string, naming: Naming, gathered: Gathered, tell: (problem: ExpressionProblem) => void) {
    this.#text = text;
    this.#naming = naming;
    this.#gathered = gathered;
    this.#tell = tell;
  }

  compile(node: ASTNode): Compiling {
    switch (node.op) {
      case "value":
        return this.#literal(node);
      case "id":
        return this.#name(node.args, node);
      case ".":
        return this.#access(node, node.args[0], node.args[1]);
      case "[]":
        return this.#index(node, node.args[0], node.args[1]);
      case "call":
        return this.#call(node, node.args[0], node.args[1]);
      case "rcall":
        return this.#method(node, node.args[0], node.args[1], node.args[2]);
      case "list":
        return this.#list(node.args);
      case "&&":
      case "||": {
        const [left, right] = [this.compile(node.args[0]), this.compile(node.args[1])];
        return { type: bool, run: (node.op === "&&" ? operators.and : operators.or)(left.run, right.run) };
      }
      case "!_":
        return { type: bool, run: operators.not(this.compile(node.args).run) };
      case "-_": {
        const operand = this.compile(node.args);
        const constant = typeof operand.constant === "number" ? -operand.constant : undefined;
        return withConstant({ type: operand.type, run: operators.negate(operand.run) }, constant);
      }
      case "?:": {
        const [condition, yes, no] = node.args.map((arg) => this.compile(arg));
        return {
          type: widest(yes!.type, no!.type),
          run: operators.choose(condition!.run, yes!.run, no!.run),
        };
      }
      case "+":
      case "-":
      case "*":
      case "/":
      case "%":
        return this.#arithmetic(node.op, node, node.args[0], node.args[1]);
      case "==":
      case "!=": {
        const [left, right] = [this.compile(node.args[0]), this.compile(node.args[1])];
        this.#checkMember(left.type, right, node.args[1]);
        this.#checkMember(right.type, left, node.args[0]);
        for (const side of [left, right])
          if (["list", "map", "record"].includes(side.type.kind))
            this.#problem(node, `${describe(side.type)} cannot be compared; compare its fields or its size`);
        return { type: bool, run: operators.equal(left.run, right.run, node.op === "==") };
      }
      case "<":
      case "<=":
      case ">":
      case ">=": {
        const [left, right] = [this.compile(node.args[0]), this.compile(node.args[1])];
        if (left.type.kind === "bool" || right.type.kind === "bool")
          return this.#problem(node, "true and false have no order: compare them with == or !=");
        const run =
          typeof right.constant === "number"
            ? operators.compareWithConstant(node.op, left.run, right.constant)
            : operators.compare(node.op, left.run, right.run);
        return { type: bool, run };
      }
      case "in":
        return this.#membership(node.args[0], node.args[1]);
      case "map":
        return this.#problem(node, "maps cannot be written here");
      default:
        return this.#problem(node, `\`${node.op}\` is not offered here`);
    }
  }

  #problem(
    node: ASTNode,
    message: string,
    more: { allowed?: readonly string[]; nearest?: string | null; at?: number } = {},
  ): Compiling {
    const { at, ...rest } = more;
    this.#tell({ start: at ?? node.start, message, ...rest });
    return bad;
  }

  #literal(node: ASTNode & { op: "value" }): Compiling {
    const value = node.args;
    switch (typeof value) {
      case "number":
        return { type: plainDouble, run: () => value, constant: value };
      case "bigint": {
        const number = Number(value);
        if (!Number.isSafeInteger(number)) return this.#problem(node, `${value} is too large to be exact`);
        return { type: plainInt, run: () => number, constant: number };
      }
      case "string":
        return { type: textType, run: () => value, constant: value };
      case "boolean":
        return { type: bool, run: () => value, constant: value };
      default:
        if (value === null)
          return this.#problem(node, "null is no value here: what is missing is unknown, ask has(…)");
        return this.#problem(node, "only numbers, text, true and false can be written here");
    }
  }

  /** A bare name: a loop's item, `value`, `now`; the scopes themselves are no values. */
  #name(name: string, node: ASTNode): Compiling {
    const local = this.#locals.get(name);
    if (local !== undefined) return local;
    if (name === "now") {
      this.#gathered.readsNow = true;
      return { type: time, run: (env) => env.nowMs };
    }
    if (name === "value" && this.#naming.value !== null) {
      const absent = new Unknown("missing", null, "the rule's value is not there");
      const { kind, unit } = this.#naming.value;
      return { type: kind === "duration" ? duration : { kind, unit }, run: (env) => env.value ?? absent };
    }
    if (name === "value") return this.#problem(node, "`value` needs the rule to have a `value:`");
    const fields = this.#fieldsOf(name);
    if (fields === undefined) return this.#unknownName(name, node);
    return this.#problem(node, `${name} is not a value by itself: name one of its fields`, {
      allowed: [...fields.keys()],
    });
  }

  #unknownName(name: string, node: ASTNode): Compiling {
    const names = this.#names();
    const elsewhere = (scopes as readonly string[]).includes(name) || name === "event";
    return this.#problem(node, elsewhere ? `${name} is not visible here` : `unknown name ${name}`, {
      allowed: names,
      nearest: elsewhere ? null : nearestName(name, [...names, ...functionNames, ...this.#locals.keys()]),
    });
  }

  #names(): string[] {
    const { scopes: visible, event, value } = this.#naming;
    return [...visible, ...(event === null ? [] : [event.name]), ...(value === null ? [] : ["value"]), "now"];
  }

  #fieldsOf(name: string) {
    if ((this.#naming.scopes as readonly string[]).includes(name))
      return fieldsByName(vocabulary[name as Scope]);
    const { event } = this.#naming;
    return event?.name === name ? fieldsByName(eventVocabulary[event.kind]) : undefined;
  }

  #access(node: ASTNode, left: ASTNode, name: string): Compiling {
    // The position of the name behind the dot.
    const at = node.pos;
    if (left.op === "id" && !this.#locals.has(left.args) && left.args !== "now" && left.args !== "value") {
      const scope = left.args;
      const fields = this.#fieldsOf(scope);
      if (fields === undefined) return this.#unknownName(scope, left);
      const isEvent = this.#naming.event?.name === scope;
      return this.#field(node, at, scope, isEvent ? "event" : (scope as Scope), fields, name, null, null);
    }
    if (left.op === "call" && left.args[0] === "market") {
      const symbol = left.args[1][0];
      if (left.args[1].length !== 1 || symbol?.op !== "value" || typeof symbol.args !== "string")
        return this.#problem(left, 'market takes one quoted symbol: market("BTC").markPrice');
      const fields = fieldsByName(vocabulary.market);
      const path = `market("${symbol.args}")`;
      return this.#field(node, at, path, "market", fields, name, symbol.args, pickMarket(symbol.args));
    }
    const base = this.compile(left);
    if (base.type.kind === "record") {
      const field = base.type.fields.get(name);
      if (field === undefined)
        return this.#noField(node, at, this.#textOf(left), name, base.type.fields.keys());
      return { type: typeOfField(field), run: readItemField(this.#textOf(node), base.run, field) };
    }
    if (base.type.kind === "map") return this.#key(node, base, base.type, () => name);
    if (base.type.kind === "wrong") return bad;
    return this.#problem(node, `${describe(base.type)} has no fields`, { at });
  }

  #field(
    node: ASTNode,
    at: number,
    owner: string,
    scope: Scope | "event",
    fields: ReturnType<typeof fieldsByName>,
    name: string,
    symbol: string | null,
    pick: Pick | null,
  ): Compiling {
    const field = fields.get(name);
    if (field === undefined) return this.#noField(node, at, owner, name, fields.keys());
    this.#gathered.read(scope, field, symbol);
    const path = `${owner}.${name}`;
    const run = readField(path, pick ?? pickScope(scope), field, this.#gathered.staleAfterMs);
    return { type: typeOfField(field), run };
  }

  #noField(node: ASTNode, at: number, owner: string, name: string, fields: Iterable<string>): Compiling {
    const allowed = [...fields];
    return this.#problem(node, `unknown field ${owner}.${name}`, {
      allowed,
      nearest: nearestName(name, allowed),
      at,
    });
  }

  #key(node: ASTNode, map: Compiling, type: StaticType & { kind: "map" }, key: Run): Compiling {
    const of: StaticType = type.of === "texts" ? textType : plainDouble;
    return { type: of, run: readKey(this.#textOf(node), map.run, key, type.missing) };
  }

  #index(node: ASTNode, left: ASTNode, right: ASTNode): Compiling {
    const [base, index] = [this.compile(left), this.compile(right)];
    if (base.type.kind === "map") return this.#key(node, base, base.type, index.run);
    if (base.type.kind === "wrong") return bad;
    if (base.type.kind !== "list") return this.#problem(node, `${describe(base.type)} has no parts`);
    const outside = new Unknown("error", null, `${this.#textOf(node)} is outside of the list`);
    const { run } = base;
    return {
      type: base.type.of,
      run: (env) => {
        const list = run(env);
        if (list instanceof Unknown) return list;
        const position = index.run(env);
        if (typeof position !== "number") return position;
        return (list as readonly Value[])[position] ?? outside;
      },
    };
  }

  #list(items: readonly ASTNode[]): Compiling {
    const compiled = items.map((item) => this.compile(item));
    const of = compiled[0]?.type ?? textType;
    const runs = compiled.map((item) => item.run);
    const constants = compiled.map((item) => item.constant);
    if (constants.every((constant) => constant !== undefined)) {
      const list = constants as readonly FactScalar[];
      return { type: { kind: "list", of }, run: () => list };
    }
    return {
      type: { kind: "list", of },
      run: (env) => {
        const list: Value[] = [];
        for (const run of runs) {
          const value = run(env);
          if (value instanceof Unknown) return value;
          list.push(value);
        }
        return list as readonly FactScalar[];
      },
    };
  }

  #arithmetic(
    operator: operators.Arithmetic,
    node: ASTNode,
    leftNode: ASTNode,
    rightNode: ASTNode,
  ): Compiling {
    const [left, right] = [this.compile(leftNode), this.compile(rightNode)];
    const text = this.#textOf(node);
    const [l, r] = [left.type.kind, right.type.kind];
    if (operator === "+" && l === "text" && r === "text")
      return { type: textType, run: operators.join(left.run, right.run) };
    if (l === "list" || r === "list") return this.#problem(node, "lists cannot be joined");
    const whole = l === "int" && r === "int";
    const run = operators.arithmetic(operator, left.run, right.run, whole, text);
    if (l === "time" || r === "time") return { type: l === "time" && r === "time" ? duration : time, run };
    if (l === "duration" || r === "duration") return { type: duration, run };
    if (
      operator === "/" &&
      whole &&
      typeof left.constant === "number" &&
      typeof right.constant === "number"
    ) {
      const quotient = left.constant / right.constant;
      if (!Number.isInteger(quotient))
        return this.#problem(
          node,
          `${text} is ${Math.trunc(quotient)}: whole numbers divide without a rest; write ${left.constant}.0 / ${right.constant}`,
        );
    }
    const unit = combineUnits(operator, unitOf(left.type), unitOf(right.type));
    const result: Compiling = { type: { kind: whole ? "int" : "double", unit }, run };
    if (typeof left.constant !== "number" || typeof right.constant !== "number") return result;
    // Both known now: worked out once.
    const value = run({} as never);
    return typeof value === "number" ? withConstant({ ...result, run: () => value }, value) : result;
  }

  #membership(itemNode: ASTNode, listNode: ASTNode): Compiling {
    const [item, list] = [this.compile(itemNode), this.compile(listNode)];
    if (listNode.op === "list")
      for (const element of listNode.args) this.#checkMember(item.type, this.compile(element), element);
    const { run } = list;
    if (list.type.kind === "map") {
      return {
        type: bool,
        run: (env) => {
          const map = run(env);
          if (map instanceof Unknown) return map;
          const key = item.run(env);
          return typeof key === "string" ? Object.hasOwn(map as object, key) : key;
        },
      };
    }
    return {
      type: bool,
      run: (env) => {
        const value = item.run(env);
        if (value instanceof Unknown) return value;
        const items = run(env);
        return items instanceof Unknown ? items : (items as readonly Value[]).includes(value);
      },
    };
  }

  /** An enum against a literal that is none of its members would never be equal: a typing error, not a condition. */
  #checkMember(type: StaticType, other: Compiling, node: ASTNode): void {
    if (type.kind !== "text" || type.members === null || typeof other.constant !== "string") return;
    if (type.members.includes(other.constant)) return;
    this.#tell({
      start: node.start,
      message: type.open
        ? `"${other.constant}" is no word that is known here; it will match only if the exchange uses it`
        : `"${other.constant}" can never be equal to this`,
      allowed: type.members.map((member) => `"${member}"`),
      nearest: nearestName(other.constant, type.members),
      warning: type.open,
    });
  }

  #call(node: ASTNode, name: string, args: readonly ASTNode[]): Compiling {
    if (name === "has") return this.#has(node, args[0]);
    if (name === "market")
      return this.#problem(node, 'name one of the market\'s fields: market("BTC").markPrice');
    if (historyNames.has(name)) {
      const { countable } = this.#naming;
      if (countable === null)
        return this.#problem(node, `${name} looks back over series, which are kept for conditions only`);
      return (
        historyFunction(name, args, this.#naming, countable, this.#gathered, this.#tell, compileExpression) ??
        bad
      );
    }
    const compiled = args.map((arg) => this.compile(arg));
    if (compiled.some((arg) => arg.type.kind === "wrong")) return bad;
    const result = callFunction(name, compiled, (message) => this.#problem(node, message));
    if (result !== undefined) return result;
    const names = [...functionNames, ...historyNames, "has", "market"];
    return this.#problem(node, `unknown function ${name}`, {
      nearest: nearestName(name, names),
      allowed: names,
    });
  }

  #method(node: ASTNode, name: string, receiver: ASTNode, args: readonly ASTNode[]): Compiling {
    if (name === "matches")
      return this.#problem(node, "matches is refused: one pattern can stop the whole program", {
        allowed: ["startsWith", "endsWith", "contains", "in [ … ]"],
      });
    const loop = this.#loop(node, name, receiver, args);
    if (loop !== undefined) return loop;
    const base = this.compile(receiver);
    const compiled = args.map((arg) => this.compile(arg));
    if ([base, ...compiled].some((part) => part.type.kind === "wrong")) return bad;
    const result = callMethod(name, base, compiled, (message) => this.#problem(node, message));
    return (
      result ??
      this.#problem(node, `unknown function ${name}`, {
        nearest: nearestName(name, methodNames),
        allowed: methodNames,
      })
    );
  }

  #loop(node: ASTNode, name: string, receiver: ASTNode, args: readonly ASTNode[]): Compiling | undefined {
    if (!["exists", "exists_one", "all", "filter", "map"].includes(name)) {
      if (name !== "any") return undefined;
      return this.#problem(node, "unknown function any", { nearest: "exists" });
    }
    const list = this.compile(receiver);
    const variable = args[0];
    if (list.type.kind === "wrong") return bad;
    if (list.type.kind !== "list")
      return this.#problem(node, `${name} runs over a list, not ${describe(list.type)}`);
    if (variable?.op !== "id") return this.#problem(node, `${name} takes a name first: ${name}(p, …)`);
    if (this.#loops >= deepestLoops)
      return this.#problem(node, `loops go at most ${deepestLoops} deep: their cost multiplies`);
    if (this.#locals.has(variable.args) || this.#names().includes(variable.args))
      return this.#problem(variable, `the name ${variable.args} is taken`);

    const cell: Cell = { item: 0 };
    const { of } = list.type;
    this.#locals.set(variable.args, { type: of, run: () => cell.item });
    this.#loops++;
    const body = args.slice(1).map((arg) => this.compile(arg));
    this.#loops--;
    this.#locals.delete(variable.args);
    if (body.some((part) => part.type.kind === "wrong")) return bad;

    const [first, second] = body;
    if (first === undefined) return this.#problem(node, `${name} takes a name and an expression`);
    switch (name) {
      case "exists":
        return { type: bool, run: quantifier(list.run, cell, first.run, true) };
      case "all":
        return { type: bool, run: quantifier(list.run, cell, first.run, false) };
      case "exists_one":
        return { type: bool, run: existsOne(list.run, cell, first.run) };
      case "filter":
        return { type: list.type, run: collect(list.run, cell, first.run, null) };
      default:
        return second === undefined
          ? { type: { kind: "list", of: first.type }, run: collect(list.run, cell, null, first.run) }
          : { type: { kind: "list", of: second.type }, run: collect(list.run, cell, first.run, second.run) };
    }
  }

  /** Whether a field is there: missing is `false`, stale stays unknown. */
  #has(node: ASTNode, argument: ASTNode | undefined): Compiling {
    if (argument?.op !== ".") return this.#problem(node, "has takes a field: has(event.price)");
    const left = this.#mapUnder(argument);
    if (left !== undefined) {
      const key = argument.args[1];
      return {
        type: bool,
        run: (env) => {
          const map = left.run(env);
          return map instanceof Unknown ? map : Object.hasOwn(map as object, key);
        },
      };
    }
    const field = this.compile(argument);
    if (field.type.kind === "wrong") return bad;
    return {
      type: bool,
      run: (env) => {
        const value = field.run(env);
        if (!(value instanceof Unknown)) return true;
        return value.unknown === "missing" ? false : value;
      },
    };
  }

  #mapUnder(node: ASTNode & { op: "." }): Compiling | undefined {
    if (node.args[0].op !== ".") return undefined;
    const base = this.compile(node.args[0]);
    return base.type.kind === "map" ? base : undefined;
  }

  #textOf(node: ASTNode): string {
    return this.#text.slice(node.start, node.end);
  }
}

function withConstant(node: Compiling, constant: FactScalar | undefined): Compiling {
  return constant === undefined ? node : { ...node, constant };
}

function widest(a: StaticType, b: StaticType): StaticType {
  if (a.kind === "double" && b.kind === "double" && a.unit !== b.unit) return plainDouble;
  if (a.kind === "text" && b.kind === "text") return a.members === b.members ? a : textType;
  return a.kind === "wrong" ? b : a;
}
