/** Compiles the parsed tree to closures, node by node. */

import type { ASTNode } from "@marcbachmann/cel-js";
import { nearestName } from "../problem.ts";
import type { Part, ReadScope } from "../rule.ts";
import { type FactScalar, Unknown } from "../value.ts";
import { vocabulary } from "../vocabulary.ts";
import type { CompileFilter } from "./context.ts";
import { historyFunction, historyNames } from "./history/history.ts";
import { namedAt } from "./named.ts";
import { bad, type Names } from "./names.ts";
import type { Cell, Compiling } from "./node.ts";
import { arithmetic } from "./nodes/arithmetic.ts";
import { Comparisons } from "./nodes/comparisons.ts";
import { readItemField } from "./nodes/fields.ts";
import { callFunction, callMethod, functionNames, methodNames, supposingNames } from "./nodes/functions.ts";
import { LimitMaps } from "./nodes/limit-maps.ts";
import { literal, withConstant } from "./nodes/literals.ts";
import { collect, existsOne, quantifier } from "./nodes/macros.ts";
import { namedValue } from "./nodes/named-values.ts";
import * as operators from "./nodes/operators.ts";
import { isThere } from "./nodes/presence.ts";
import { supposedCondition, supposing } from "./nodes/supposing.ts";
import { noTick, tickOf } from "./nodes/tick-of.ts";
import { sliceOf } from "./nodes/tree-text.ts";
import {
  bool,
  describe,
  fieldsByName,
  plainDouble,
  rangeOf,
  type StaticType,
  text as textType,
  typeOfField,
  unitOf,
  withRange,
} from "./types.ts";

/** Maximum depth of nested loops: their costs multiply. */
const maxLoopDepth = 2;
/** Assumed maximum number of positions, or orders, of an account. */
const itemsOfAList = 64;
/** Maximum number of steps of one evaluation, counted at load: about a millisecond. */
const maxSteps = 100_000;

export class Walk {
  readonly #text: string;
  readonly #names: Names;
  /** Compiles a filter, which is an expression within this one. */
  readonly #compileFilter: CompileFilter;
  readonly #comparisons: Comparisons;
  readonly #limits: LimitMaps;
  #loops = 0;
  /** The number of times that the current part may run in one evaluation. */
  #times = 1;
  #steps = 0;

  /** @param checksRanges see `Comparisons` */
  constructor(text: string, names: Names, compileFilter: CompileFilter, checksRanges: boolean) {
    this.#text = text;
    this.#names = names;
    this.#compileFilter = compileFilter;
    this.#comparisons = new Comparisons(text, names, checksRanges);
    this.#limits = new LimitMaps(names);
  }

  /** Every part with a value of its own, innermost first. */
  readonly parts: Part[] = [];

  /** The result for each node. */
  readonly made = new Map<ASTNode, Compiling>();

  compile(node: ASTNode): Compiling {
    const { gathered } = this.#names;
    const place = gathered.place;
    const made = this.#compile(node);
    this.made.set(node, made);
    const { type, constant, run } = made;
    if (this.#names.locals.size === 0 && constant === undefined && type.kind !== "wrong") {
      const reads = gathered.readsSince(place);
      this.parts.push({ start: node.start, end: node.end, unit: unitOf(type), run, reads });
    }
    return made;
  }

  #compile(node: ASTNode): Compiling {
    const before = this.#steps;
    this.#steps += this.#times;
    if (before <= maxSteps && this.#steps > maxSteps)
      return this.#names.problem(
        node,
        `this could take more than ${maxSteps} steps: shorten its lists or loops`,
      );
    switch (node.op) {
      case "value":
        return literal(node, this.#names);
      case "id": {
        const named = namedAt(node.args, this.#text, node.start);
        return named === null
          ? this.#names.meaning(node.args, node)
          : namedValue(node, named, null, this.#names, this.#compileFilter);
      }
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
        const [left, right] = this.#sides(node.args);
        if (node.op === "&&") return { type: bool, run: operators.and(left.run, right.run) };
        const sufficient = [...(left.sufficient ?? []), ...(right.sufficient ?? [])];
        return {
          ...{ type: bool, run: operators.or(left.run, right.run) },
          ...(sufficient.length === 0 ? {} : { sufficient }),
        };
      }
      case "!_":
        return { type: bool, run: operators.not(this.compile(node.args).run) };
      case "-_": {
        const operand = this.compile(node.args);
        const constant = typeof operand.constant === "number" ? -operand.constant : undefined;
        const type = withRange(operand.type, ({ least, most }) => ({ least: -most, most: -least }));
        return withConstant({ type, run: operators.negate(operand.run) }, constant);
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
        return arithmetic(node.op, node, this.#sides(node.args), this.#textOf(node), this.#names);
      case "==":
      case "!=":
        return this.#comparisons.equal(node, ...this.#sides(node.args));
      case "<":
      case "<=":
      case ">":
      case ">=":
        return this.#comparisons.order(node, ...this.#sides(node.args));
      case "in":
        return this.#membership(node.args[0], node.args[1]);
      case "map":
        return this.#names.problem(node, "maps cannot be written here");
      default:
        return this.#names.problem(node, `\`${node.op}\` is not offered here`);
    }
  }

  #sides([left, right]: readonly [ASTNode, ASTNode]): [Compiling, Compiling] {
    return [this.compile(left), this.compile(right)];
  }

  #access(node: ASTNode, left: ASTNode, name: string): Compiling {
    // The position of the name after the dot.
    const at = node.pos;
    if (
      left.op === "id" &&
      !this.#names.locals.has(left.args) &&
      left.args !== "now" &&
      left.args !== "value"
    ) {
      const scope = left.args;
      const fields = this.#names.fieldsOf(scope);
      if (fields === undefined) return this.#names.unknown(scope, left, name);
      const isEvent = this.#names.naming.event?.name === scope;
      return this.#names.field(node, at, scope, isEvent ? "event" : (scope as ReadScope), fields, name, null);
    }
    if (left.op === "call" && left.args[0] === "market") {
      if (this.#names.naming.owners !== undefined)
        return this.#names.problem(left, "a message knows the market of its alert alone: market.markPrice");
      const symbol = left.args[1][0];
      if (left.args[1].length !== 1 || symbol?.op !== "value" || typeof symbol.args !== "string")
        return this.#names.problem(left, 'market takes one quoted symbol: market("BTC").markPrice');
      const named = namedAt(name, this.#text, at);
      if (named !== null) return namedValue(node, named, symbol.args, this.#names, this.#compileFilter);
      const fields = fieldsByName(vocabulary.market);
      const path = `market("${symbol.args}")`;
      return this.#names.field(node, at, path, "market", fields, name, symbol.args);
    }
    const base = this.compile(left);
    if (base.type.kind === "record") {
      const field = base.type.fields.get(name);
      if (field === undefined)
        return this.#names.noField(node, at, this.#textOf(left), name, base.type.fields.keys());
      this.#names.gathered.readItem(base.type.name, field);
      return { type: typeOfField(field), run: readItemField(this.#textOf(node), base.run, field) };
    }
    if (base.type.kind === "map") {
      if (base.type.of === "numbers") this.#limits.read(name);
      return this.#limits.value(this.#textOf(node), base, base.type, () => name);
    }
    if (base.type.kind === "wrong") return bad;
    return this.#names.problem(node, `${describe(base.type)} has no fields`, { at });
  }

  #index(node: ASTNode, left: ASTNode, right: ASTNode): Compiling {
    const [base, index] = [this.compile(left), this.compile(right)];
    if (base.type.kind === "map") {
      if (base.type.of === "numbers" && typeof index.constant === "string") this.#limits.read(index.constant);
      return this.#limits.value(this.#textOf(node), base, base.type, index.run);
    }
    if (base.type.kind === "wrong") return bad;
    if (base.type.kind !== "list") return this.#names.problem(node, `${describe(base.type)} has no parts`);
    const outside = new Unknown("error", null, `${this.#textOf(node)} is outside of the list`);
    return { type: base.type.of, run: operators.itemAt(base.run, index.run, outside) };
  }

  #list(items: readonly ASTNode[]): Compiling {
    const compiled = items.map((item) => this.compile(item));
    const of = compiled[0]?.type ?? textType;
    const constants = compiled.map((item) => item.constant);
    if (constants.every((constant) => constant !== undefined)) {
      const list = constants as readonly FactScalar[];
      return { type: { kind: "list", of }, run: () => list };
    }
    return { type: { kind: "list", of }, run: operators.listOf(compiled.map((item) => item.run)) };
  }

  #membership(itemNode: ASTNode, listNode: ASTNode): Compiling {
    const [item, list] = [this.compile(itemNode), this.compile(listNode)];
    if (listNode.op === "list")
      for (const element of listNode.args)
        this.#comparisons.checkMember(item.type, this.compile(element), element);
    if (list.type.kind === "map" && list.type.of === "numbers") {
      const limit = this.#limits.limit(this.#textOf(listNode), list.run, item.run);
      return { type: bool, run: isThere(limit) };
    }
    const within = list.type.kind === "map" ? operators.keyIn : operators.itemIn;
    return { type: bool, run: within(item.run, list.run) };
  }

  #call(node: ASTNode, name: string, args: readonly ASTNode[]): Compiling {
    if (name === "has") return this.#has(node, args[0]);
    if (name === "market")
      return this.#names.problem(node, 'name one of the market\'s fields: market("BTC").markPrice');
    if (historyNames.has(name) && !isPrinted(name, args)) {
      const { countable } = this.#names.naming;
      if (countable === null)
        return this.#names.problem(
          node,
          `${name} looks back over series, which are kept for conditions only`,
        );
      return historyFunction(name, args, this.#names, countable, this.#compileFilter) ?? bad;
    }
    if (supposingNames.has(name)) {
      const about = { text: this.#text, names: this.#names, loops: this.#loops };
      const condition = supposedCondition(node, name, args[0], about);
      return condition === null ? bad : supposing(name, this.compile(condition));
    }
    const compiled = args.map((arg) => this.compile(arg));
    if (compiled.some((arg) => arg.type.kind === "wrong")) return bad;
    if (isPrinted(name, args)) this.#names.gathered.readsNow = true;
    const tick = name === "price" ? tickOf(args[0], this.#names) : noTick;
    const result = callFunction(name, compiled, tick, (message) => this.#names.problem(node, message));
    if (result !== undefined) return result;
    // Templates of channels have no history, and only the market of their alert.
    const looking = this.#names.naming.owners === undefined ? [...historyNames, "market"] : ["ago"];
    const names = [...functionNames, ...looking, "has"];
    return this.#names.problem(node, `unknown function ${name}`, {
      nearest: nearestName(name, names),
      allowed: names,
    });
  }

  #method(node: ASTNode, name: string, receiver: ASTNode, args: readonly ASTNode[]): Compiling {
    if (name === "matches")
      return this.#names.problem(node, "matches is refused: one pattern can stop the whole program", {
        allowed: ['like("mm-*")', "startsWith", "endsWith", "contains", "in [ … ]"],
        nearest: "like",
      });
    const loop = this.#loop(node, name, receiver, args);
    if (loop !== undefined) return loop;
    const base = this.compile(receiver);
    const compiled = args.map((arg) => this.compile(arg));
    if ([base, ...compiled].some((part) => part.type.kind === "wrong")) return bad;
    const result = callMethod(name, base, compiled, (message) => this.#names.problem(node, message));
    return (
      result ??
      this.#names.problem(node, `unknown function ${name}`, {
        nearest: nearestName(name, methodNames),
        allowed: methodNames,
      })
    );
  }

  #loop(node: ASTNode, name: string, receiver: ASTNode, args: readonly ASTNode[]): Compiling | undefined {
    if (!["exists", "exists_one", "all", "filter", "map"].includes(name)) {
      if (name !== "any") return undefined;
      return this.#names.problem(node, "unknown function any", { nearest: "exists" });
    }
    if (this.#names.naming.owners !== undefined)
      return this.#names.problem(node, `${name} is a loop: messages have none`);
    const list = this.compile(receiver);
    const variable = args[0];
    if (list.type.kind === "wrong") return bad;
    if (list.type.kind !== "list")
      return this.#names.problem(node, `${name} runs over a list, not ${describe(list.type)}`);
    if (variable?.op !== "id") return this.#names.problem(node, `${name} takes a name first: ${name}(p, …)`);
    if (this.#loops >= maxLoopDepth)
      return this.#names.problem(node, `loops go at most ${maxLoopDepth} deep: their cost multiplies`);
    if (this.#names.locals.has(variable.args) || this.#names.all().includes(variable.args))
      return this.#names.problem(variable, `the name ${variable.args} is taken`);

    const cell: Cell = { item: 0 };
    const { of } = list.type;
    this.#names.locals.set(variable.args, { type: of, run: () => cell.item });
    const times = this.#times;
    this.#times *= receiver.op === "list" ? receiver.args.length : itemsOfAList;
    this.#loops++;
    const body = args.slice(1).map((arg) => this.compile(arg));
    this.#loops--;
    this.#times = times;
    this.#names.locals.delete(variable.args);
    if (body.some((part) => part.type.kind === "wrong")) return bad;

    const [first, second] = body;
    if (first === undefined) return this.#names.problem(node, `${name} takes a name and an expression`);
    const loop = { list: list.run, cell };
    switch (name) {
      case "exists":
        return { type: bool, run: quantifier(list.run, cell, first.run, true), loop };
      case "all":
        return { type: bool, run: quantifier(list.run, cell, first.run, false), loop };
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

  /** Compiles `has`: true if a field exists, false if it is missing, unknown if it is stale. */
  #has(node: ASTNode, argument: ASTNode | undefined): Compiling {
    if (argument?.op !== ".") return this.#names.problem(node, "has takes a field: has(event.price)");
    const left = this.#mapUnder(argument);
    if (left !== undefined) {
      const key = argument.args[1];
      if (left.type.kind === "map" && left.type.of === "numbers") {
        this.#limits.read(key);
        this.#names.gathered.optionalLimits.add(key);
        return { type: bool, run: isThere(this.#limits.limit(key, left.run, () => key)) };
      }
      return {
        type: bool,
        run: (env) => {
          const map = left.run(env);
          return map instanceof Unknown ? map : Object.hasOwn(map as object, key);
        },
      };
    }
    const field = this.compile(argument);
    return field.type.kind === "wrong" ? bad : { type: bool, run: isThere(field.run) };
  }

  #mapUnder(node: ASTNode & { op: "." }): Compiling | undefined {
    if (node.args[0].op !== ".") return undefined;
    const base = this.compile(node.args[0]);
    return base.type.kind === "map" ? base : undefined;
  }

  #textOf(node: ASTNode): string {
    return sliceOf(this.#text, node);
  }
}

/** True for `ago` of a time, which is printed; with a window `ago` is a history function. */
function isPrinted(name: string, args: readonly ASTNode[]): boolean {
  return name === "ago" && args.length === 1;
}

function widest(a: StaticType, b: StaticType): StaticType {
  if (a.kind === "double" && b.kind === "double" && a.unit !== b.unit) return plainDouble;
  if (rangeOf(a) !== rangeOf(b)) return withRange(a, () => undefined);
  if (a.kind === "text" && b.kind === "text") return a.members === b.members ? a : textType;
  return a.kind === "wrong" ? b : a;
}
