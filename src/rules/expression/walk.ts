/** From the parsed tree to closures, node by node. */
import type { ASTNode } from "@marcbachmann/cel-js";
import { nearestName } from "../problem.ts";
import type { Bound, Part, ReadScope, TickOf } from "../rule.ts";
import { type FactScalar, type Facts, Unknown } from "../value.ts";
import { visibleScopes, vocabulary } from "../vocabulary.ts";
import type { CompileFilter } from "./context.ts";
import { Gathered } from "./context.ts";
import { absence, readItemField, readKey, readLimit } from "./fields.ts";
import { callFunction, callMethod, functionNames, methodNames, supposingNames } from "./functions.ts";
import { historyFunction, historyNames } from "./history.ts";
import { collect, existsOne, quantifier } from "./macros.ts";
import { namedAt } from "./named.ts";
import { bad, type Names } from "./names.ts";
import type { Cell, Compiling, Run } from "./node.ts";
import * as operators from "./operators.ts";
import { outOfSight } from "./out-of-sight.ts";
import { implausible } from "./plausible.ts";
import {
  bool,
  combineUnits,
  describe,
  duration,
  fieldsByName,
  numberOf,
  plainDouble,
  plainInt,
  rangeOf,
  type StaticType,
  text as textType,
  time,
  typeOfField,
  unitOf,
  withRange,
} from "./types.ts";

/** Loops within loops beyond this depth are refused: their cost multiplies. */
const deepestLoops = 2;
/** An account has about as many positions, or orders, at the most. */
const itemsOfAList = 64;
/** Steps that one evaluation may take, counted at load: a millisecond, about. */
const maxSteps = 100_000;

export class Walk {
  readonly #text: string;
  readonly #names: Names;
  /** A filter is an expression of its own inside of this one. */
  readonly #compileFilter: CompileFilter;
  readonly #checksRanges: boolean;
  #loops = 0;
  /** The number of times that the part being compiled may run in one evaluation. */
  #times = 1;
  #steps = 0;

  /** @param checksRanges warns of comparisons with numbers that a figure does not sensibly have */
  constructor(text: string, names: Names, compileFilter: CompileFilter, checksRanges: boolean) {
    this.#checksRanges = checksRanges;
    this.#text = text;
    this.#names = names;
    this.#compileFilter = compileFilter;
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
        return this.#literal(node);
      case "id": {
        const named = namedAt(node.args, this.#text, node.start);
        return named === null ? this.#names.meaning(node.args, node) : this.#named(node, named, null);
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
        const [left, right] = [this.compile(node.args[0]), this.compile(node.args[1])];
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
        return this.#arithmetic(node.op, node, node.args[0], node.args[1]);
      case "==":
      case "!=": {
        const [left, right] = [this.compile(node.args[0]), this.compile(node.args[1])];
        this.#checkMember(left.type, right, node.args[1]);
        this.#checkMember(right.type, left, node.args[0]);
        for (const side of [left, right])
          if (["list", "map", "record"].includes(side.type.kind))
            this.#names.problem(
              node,
              `${describe(side.type)} cannot be compared; compare its fields or its size`,
            );
        if (this.#differ(left, right, node.args[1])) return bad;
        this.#checkRange(node.args, left, right);
        return { type: bool, run: operators.equal(left.run, right.run, node.op === "==") };
      }
      case "<":
      case "<=":
      case ">":
      case ">=": {
        const [left, right] = [this.compile(node.args[0]), this.compile(node.args[1])];
        if (left.type.kind === "bool" || right.type.kind === "bool")
          return this.#names.problem(node, "true and false have no order: compare them with == or !=");
        if (this.#differ(left, right, node.args[1])) return bad;
        this.#checkRange(node.args, left, right);
        const run =
          typeof right.constant === "number"
            ? operators.compareWithConstant(node.op, left.run, right.constant)
            : operators.compare(node.op, left.run, right.run);
        const bound = boundOf(node.op, node.args, [left, right], this.#text);
        return bound === undefined ? { type: bool, run } : { type: bool, run, bound, sufficient: [bound] };
      }
      case "in":
        return this.#membership(node.args[0], node.args[1]);
      case "map":
        return this.#names.problem(node, "maps cannot be written here");
      default:
        return this.#names.problem(node, `\`${node.op}\` is not offered here`);
    }
  }

  #literal(node: ASTNode & { op: "value" }): Compiling {
    const value = node.args;
    switch (typeof value) {
      case "number":
        return { type: plainDouble, run: () => value, constant: value };
      case "bigint": {
        const number = Number(value);
        if (!Number.isSafeInteger(number))
          return this.#names.problem(node, `${value} is too large to be exact`);
        return { type: plainInt, run: () => number, constant: number };
      }
      case "string":
        return { type: textType, run: () => value, constant: value };
      case "boolean":
        return { type: bool, run: () => value, constant: value };
      default:
        if (value === null)
          return this.#names.problem(node, "null is no value here: what is missing is unknown, ask has(…)");
        return this.#names.problem(node, "only numbers, text, true and false can be written here");
    }
  }

  #access(node: ASTNode, left: ASTNode, name: string): Compiling {
    // The position of the name behind the dot.
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
      if (named !== null) return this.#named(node, named, symbol.args);
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
      if (base.type.of === "numbers") this.#limit(name);
      return this.#key(node, base, base.type, () => name);
    }
    if (base.type.kind === "wrong") return bad;
    return this.#names.problem(node, `${describe(base.type)} has no fields`, { at });
  }

  /** @param symbol of another market whose value is meant */
  #named(node: ASTNode, name: string, symbol: string | null): Compiling {
    const { gathered, naming } = this.#names;
    const found = gathered.values.find(name);
    const path = symbol === null ? `value.${name}` : `market("${symbol}").value.${name}`;
    if (found === undefined) {
      const allowed = gathered.values.names.map((one) => `value.${one}`);
      return this.#names.problem(node, `no value is called ${name}`, {
        allowed,
        nearest: nearestName(`value.${name}`, allowed),
      });
    }
    if (found === "wrong") {
      this.#names.tell({ start: node.start, message: `${path} is wrong`, toldElsewhere: true });
      return bad;
    }
    if ("circle" in found)
      return this.#names.problem(node, `${path} rests on itself: ${found.circle.join(" → ")}`);
    const visible = symbol === null ? naming.scopes.includes(found.scope) : found.scope === "market";
    if (!visible)
      return this.#names.problem(
        node,
        symbol === null
          ? outOfSight(path, found.scope, null, naming)
          : `${path} belongs to a ${found.scope}: no market has it`,
      );
    const own =
      symbol === null
        ? gathered
        : new Gathered(gathered.staleAfterMs, Number.POSITIVE_INFINITY, gathered.values);
    const compiled = this.#compileFilter(
      found.text,
      "figure",
      {
        scopes: visibleScopes[found.scope],
        event: null,
        value: null,
        countable: naming.countable === null ? null : [],
      },
      own,
      ({ message }) => this.#names.problem(node, `${path}: ${message}`),
    );
    if (compiled === undefined) return bad;
    gathered.named.set(name, found.text);
    const type = numberOf(found.kind, found.unit, found.range);
    if (symbol === null) return { type, run: compiled.run };
    if (own.windows.length > 0)
      return this.#names.problem(node, `${path} looks back over series: name it in a rule of that market`);
    gathered.absorb(own, symbol);
    const absent = absence(path, "market", symbol);
    return {
      type,
      run: (env) => {
        const market = env.markets(symbol);
        return market === undefined ? absent(env) : compiled.run({ ...env, market });
      },
    };
  }

  #key(node: ASTNode, map: Compiling, type: StaticType & { kind: "map" }, key: Run): Compiling {
    const path = this.#textOf(node);
    return type.of === "texts"
      ? { type: textType, run: readKey(path, map.run, key, type.missing) }
      : { type: plainDouble, run: readLimit(path, map.run, key, this.#hasMarket) };
  }

  get #hasMarket(): boolean {
    const { owners, scopes } = this.#names.naming;
    return owners !== undefined || scopes.includes("market");
  }

  #limit(name: string): void {
    const { gathered } = this.#names;
    gathered.limits.add(name);
    if (!this.#hasMarket) gathered.marketlessLimits.add(name);
  }

  #index(node: ASTNode, left: ASTNode, right: ASTNode): Compiling {
    const [base, index] = [this.compile(left), this.compile(right)];
    if (base.type.kind === "map") {
      if (base.type.of === "numbers" && typeof index.constant === "string") this.#limit(index.constant);
      return this.#key(node, base, base.type, index.run);
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
    if (l === "list" || r === "list") return this.#names.problem(node, "lists cannot be joined");
    if ((operator === "/" || operator === "%") && right.constant === 0)
      return this.#names.problem(rightNode, `${text} divides by zero`);
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
        return this.#names.problem(
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
    if (list.type.kind === "map" && list.type.of === "numbers") {
      const limit = readLimit(this.#textOf(listNode), list.run, item.run, this.#hasMarket);
      return { type: bool, run: isThere(limit) };
    }
    const within = list.type.kind === "map" ? operators.keyIn : operators.itemIn;
    return { type: bool, run: within(item.run, list.run) };
  }

  /** Two sides of different types can never be held against each other; told at the second. */
  #differ(left: Compiling, right: Compiling, node: ASTNode): boolean {
    const [l, r] = [comparedAs[left.type.kind], comparedAs[right.type.kind]];
    if (l === undefined || r === undefined || l === r) return false;
    const lasts = [left, right].some((side) => side.type.kind === "duration");
    const hint = lasts && (l === "number" || r === "number") ? ': a duration is written duration("30s")' : "";
    this.#names.problem(
      node,
      `${describe(left.type)} cannot be compared with ${describe(right.type)}${hint}`,
    );
    return true;
  }

  /** A number against one that it does not sensibly have, told at that one. */
  #checkRange([leftNode, rightNode]: readonly [ASTNode, ASTNode], left: Compiling, right: Compiling): void {
    if (!this.#checksRanges) return;
    const check = (node: ASTNode, { type }: Compiling, at: ASTNode, { constant }: Compiling): void => {
      const found = typeof constant === "number" ? implausible(this.#textOf(node), type, constant) : null;
      if (found !== null) this.#names.tell({ start: at.start, ...found, warning: true });
    };
    check(leftNode, left, rightNode, right);
    check(rightNode, right, leftNode, left);
  }

  /** An enum against a literal that is none of its members would never be equal: a typing error, not a condition. */
  #checkMember(type: StaticType, other: Compiling, node: ASTNode): void {
    if (type.kind !== "text" || type.members === null || typeof other.constant !== "string") return;
    if (type.members.includes(other.constant)) return;
    this.#names.tell({
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
    if (supposingNames.has(name)) return this.#suppose(node, name, args[0]);
    const compiled = args.map((arg) => this.compile(arg));
    if (compiled.some((arg) => arg.type.kind === "wrong")) return bad;
    if (isPrinted(name, args)) this.#names.gathered.readsNow = true;
    const tick = name === "price" ? this.tickOf(args[0]) : noTick;
    const result = callFunction(name, compiled, tick, (message) => this.#names.problem(node, message));
    if (result !== undefined) return result;
    // Messages look back over nothing, and know the market of their alert alone.
    const looking = this.#names.naming.owners === undefined ? [...historyNames, "market"] : ["ago"];
    const names = [...functionNames, ...looking, "has"];
    return this.#names.problem(node, `unknown function ${name}`, {
      nearest: nearestName(name, names),
      allowed: names,
    });
  }

  /** Compiles `depositTo` and `reduceTo`, whose condition is asked of accounts that are supposed. */
  #suppose(node: ASTNode, name: string, argument: ASTNode | undefined): Compiling {
    const { scopes, event, owners } = this.#names.naming;
    const scope = name === "reduceTo" ? "position" : "trader";
    if (owners !== undefined || event !== null || !scopes.includes(scope))
      return this.#names.problem(
        node,
        scope === "position"
          ? "reduceTo belongs to rules of scope position"
          : "depositTo belongs to rules of scope position or trader",
      );
    if (this.#loops > 0)
      return this.#names.problem(node, `${name} stands in no loop: it would cost too much`);
    if (argument === undefined) return this.#names.problem(node, `${name} takes a condition`);
    if (namesOwnValue.test(this.#textOf(argument)))
      return this.#names.problem(argument, `value is as it is now: write out in ${name} what it is made of`);
    const condition = this.compile(argument);
    if (condition.type.kind === "wrong") return bad;
    const absent = new Unknown("absent", null, `${name} has no account to suppose something of`);
    return name === "depositTo"
      ? {
          type: { kind: "double", unit: "usd" },
          run: (env) => env.suppose?.deposit(env, condition.run) ?? absent,
        }
      : {
          type: { kind: "double", unit: "units" },
          run: (env) => env.suppose?.reduce(env, condition.run) ?? absent,
        };
  }

  /** The tick of the one market that a price can be of: another one that it names, else the subject's own. */
  tickOf(node: ASTNode | undefined): TickOf {
    // An item of a list has a market of its own.
    if (node === undefined || this.#names.locals.size > 0) return noTick;
    const symbols = marketsIn(node);
    const [symbol] = symbols;
    if (symbol === undefined) return (env) => tickIn(env.market);
    return symbols.size === 1 ? (env) => tickIn(env.markets(symbol)) : noTick;
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
    if (this.#loops >= deepestLoops)
      return this.#names.problem(node, `loops go at most ${deepestLoops} deep: their cost multiplies`);
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

  /** Compiles `has`: true if a field is there: missing is `false`, stale stays unknown. */
  #has(node: ASTNode, argument: ASTNode | undefined): Compiling {
    if (argument?.op !== ".") return this.#names.problem(node, "has takes a field: has(event.price)");
    const left = this.#mapUnder(argument);
    if (left !== undefined) {
      const key = argument.args[1];
      if (left.type.kind === "map" && left.type.of === "numbers") {
        this.#limit(key);
        this.#names.gathered.optionalLimits.add(key);
        return { type: bool, run: isThere(readLimit(key, left.run, () => key, this.#hasMarket)) };
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

/** A node's own text. Parentheses are no part of the tree: those that it begins or ends within are added. */
function sliceOf(text: string, { start, end }: ASTNode): string {
  const slice = text.slice(start, end).trim();
  let open = 0;
  let missing = 0;
  for (const letter of slice.replace(/"[^"]*"|'[^']*'/g, "")) {
    if (letter === "(") open++;
    else if (letter === ")" && open > 0) open--;
    else if (letter === ")") missing++;
  }
  return "(".repeat(missing) + slice + ")".repeat(open);
}

const noTick: TickOf = () => undefined;

function tickIn(market: Facts | undefined): number | undefined {
  const tick = market?.values.tickSize;
  return typeof tick === "number" ? tick : undefined;
}

/** `ago` of a time is printed; with a window it looks back. */
/** The rule's value or a named one, which are computed before. */
const namesOwnValue = /(?<![.\w])value\b/;

function isPrinted(name: string, args: readonly ASTNode[]): boolean {
  return name === "ago" && args.length === 1;
}

/** The markets that are named in an expression. */
function marketsIn(node: ASTNode): Set<string> {
  const found = new Set<string>();
  const look = (part: unknown): void => {
    if (Array.isArray(part)) for (const one of part) look(one);
    if (typeof part !== "object" || part === null || !("op" in part)) return;
    const { op, args } = part as ASTNode;
    if (op === "call" && args[0] === "market") {
      const [symbol] = args[1];
      if (symbol?.op === "value" && typeof symbol.args === "string") found.add(symbol.args);
    }
    look(args);
  };
  look(node);
  return found;
}

/** The type groups whose members can be compared. */
const comparedAs: Partial<Record<StaticType["kind"], string>> = {
  double: "number",
  int: "number",
  bool: "bool",
  text: "text",
  duration: "duration",
  time: "time",
};

const turned = { "<": ">", "<=": ">=", ">": "<", ">=": "<=" } as const;

/** A comparison of something with a number that is written out, the number on the right. */
function boundOf(
  operator: Bound["operator"],
  [left, right]: readonly [ASTNode, ASTNode],
  [l, r]: readonly [Compiling, Compiling],
  text: string,
): Bound | undefined {
  const of = (node: ASTNode) => sliceOf(text, node);
  if (typeof r.constant === "number" && l.constant === undefined)
    return { of: of(left), operator, limit: r.constant };
  if (typeof l.constant === "number" && r.constant === undefined)
    return { of: of(right), operator: turned[operator], limit: l.constant };
  return undefined;
}

function withConstant(node: Compiling, constant: FactScalar | undefined): Compiling {
  return constant === undefined ? node : { ...node, constant };
}

function widest(a: StaticType, b: StaticType): StaticType {
  if (a.kind === "double" && b.kind === "double" && a.unit !== b.unit) return plainDouble;
  if (rangeOf(a) !== rangeOf(b)) return withRange(a, () => undefined);
  if (a.kind === "text" && b.kind === "text") return a.members === b.members ? a : textType;
  return a.kind === "wrong" ? b : a;
}

function isThere(run: Run): Run {
  return (env) => {
    const value = run(env);
    if (!(value instanceof Unknown)) return true;
    return isNotThere(value) ? false : value;
  };
}

/** For whatever reason: `has` asks no more than that. */
function isNotThere({ unknown }: Unknown): boolean {
  return unknown === "missing" || unknown === "absent" || unknown === "unset";
}
