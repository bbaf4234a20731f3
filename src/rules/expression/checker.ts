/**
 * Checks types with cel-js, which parses every expression and checks it against the vocabulary, but never evaluates one: its `/`
 * gives NaN that compares as false, its `matches` runs hostile patterns, a missing key throws, and typed evaluation costs twenty
 * closures. So the parsed tree is compiled here (compile.ts). The tree (`op`, `args`, `start`, `end` of `ParseResult.ast`) is
 * part of cel-js's typed public interface; macros keep their call form in it.
 */
import { Environment } from "@marcbachmann/cel-js";
import { capabilityFields, orderItemFields, positionItemFields } from "../vocabulary/account.ts";
import type { Field } from "../vocabulary/field-types.ts";
import { eventVocabulary, vocabulary } from "../vocabulary.ts";
import type { Naming } from "./context.ts";
import { namedPrefix } from "./named.ts";
import { celTypeOfField } from "./types.ts";

/** Limits of the parser: far above any useful expression, and low enough to be harmless. */
export const limits = {
  maxDepth: 24,
  maxAstNodes: 400,
  maxListElements: 100,
  maxMapEntries: 0,
  maxCallArguments: 4,
} as const;
export const maxExpression = 2_000;

const checkers = new Map<string, Environment>();

/** The type of a named value in an expression. */
export interface ValueType {
  readonly name: string;
  readonly kind: "double" | "int";
  /** True if every market has it. */
  readonly ofMarket: boolean;
}

export function checkerFor(naming: Naming, values: readonly ValueType[] = []): Environment {
  const { owners, ...rest } = naming;
  const key = JSON.stringify([rest, owners === undefined ? null : Object.keys(owners), values]);
  let checker = checkers.get(key);
  if (checker === undefined) {
    checker = build(naming, values);
    checkers.set(key, checker);
  }
  return checker;
}

/** Placeholder handler: the checker needs handlers, but never runs them. */
function neverRun(): never {
  throw new Error("expressions are compiled, not evaluated by the checker");
}

function build(naming: Naming, values: readonly ValueType[]): Environment {
  const env = new Environment({ limits });
  const { owners } = naming;
  const define = (name: string, fields: readonly Field[]) =>
    env.registerType(name, { fields: Object.fromEntries(fields.map((f) => [f.name, celTypeOfField(f)])) });
  define("PositionItem", positionItemFields);
  define("OrderItem", orderItemFields);
  define("Capabilities", capabilityFields);
  env.registerType("Market", {
    fields: Object.fromEntries([
      ...(owners?.market ?? vocabulary.market).map((field) => [field.name, celTypeOfField(field)]),
      ...values.filter(({ ofMarket }) => ofMarket).map(({ name, kind }) => [`${namedPrefix}${name}`, kind]),
    ]),
  });
  for (const { name, kind } of values) env.registerVariable(`${namedPrefix}${name}`, kind);
  const typeName = (owner: string) => owner.charAt(0).toUpperCase() + owner.slice(1);
  for (const [owner, fields] of Object.entries(owners ?? {})) {
    if (owner !== "market") define(typeName(owner), fields);
    env.registerVariable(owner, typeName(owner));
  }
  for (const scope of naming.scopes) {
    const type = typeName(scope);
    if (scope !== "market") define(type, vocabulary[scope]);
    env.registerVariable(scope, type);
  }
  if (naming.event !== null) {
    define("Event", eventVocabulary[naming.event.kind]);
    env.registerVariable(naming.event.name, "Event");
  }
  if (naming.value !== null)
    env.registerVariable(
      "value",
      naming.value.kind === "duration" ? "google.protobuf.Duration" : naming.value.kind,
    );
  env.registerVariable("now", "google.protobuf.Timestamp");

  for (const [left, right] of [
    ["double", "int"],
    ["int", "double"],
  ])
    for (const operator of ["+", "-", "*", "/", "%"])
      env.registerOperator(`${left} ${operator} ${right}: double`, neverRun);
  env.registerOperator("double % double: double", neverRun);
  env.registerOperator("double in list<int>", neverRun);
  // Registers the other direction as well.
  env.registerOperator("double == int", neverRun);

  for (const signature of ourFunctions) env.registerFunction(signature, neverRun);
  if (naming.countable !== null) for (const signature of history) env.registerFunction(signature, neverRun);
  return env;
}

const numbers = ["double", "int"];
const ourFunctions = [
  "string.like(string): bool",
  "market(string): Market",
  "duration(google.protobuf.Duration): string",
  "ago(google.protobuf.Timestamp): string",
  "ago(google.protobuf.Duration): string",
  "abs(google.protobuf.Duration): google.protobuf.Duration",
  "depositTo(bool): double",
  "reduceTo(bool): double",
  "sum(list<double>): double",
  "sum(list<int>): int",
  ...numbers.flatMap((a) => [
    `abs(${a}): ${a}`,
    ...["percent", "usd", "price", "amount"].map((name) => `${name}(${a}): string`),
    ...["min", "max"].flatMap((name) => [
      `${name}(list<${a}>): ${a}`,
      ...numbers.map((b) => `${name}(${a}, ${b}): ${a === b ? a : "double"}`),
    ]),
  ]),
];

const history = [
  ...[
    "ago",
    "change",
    "changeRatio",
    "minOver",
    "maxOver",
    "avgOver",
    "stddevOver",
    "zscore",
    "drawdown",
  ].map((name) => `${name}(string, string): double`),
  ...numbers.map((share) => `quantileOver(string, ${share}, string): double`),
  ...["since", "seriesAge"].flatMap((name) => [
    `${name}(string): google.protobuf.Duration`,
    `${name}(string, string): google.protobuf.Duration`,
  ]),
  ...["sumOver", "countOver"].flatMap((name) => [
    `${name}(string, string): double`,
    `${name}(string, string, string): double`,
  ]),
];

/** Signatures `name(type, …): type` of all functions besides CEL's own. */
export const signatures: readonly string[] = [...ourFunctions, ...history];
