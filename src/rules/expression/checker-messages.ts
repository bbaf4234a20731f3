/**
 * Rewrites the checker's messages in the terms of this language. The checker uses tokens, overloads and the types of a protocol.
 */
import { signatures } from "./checker.ts";
import { namedPrefix } from "./named.ts";

/** @param message the first line of its message */
export function plainMessage(message: string): string {
  return message
    .replaceAll(namedPrefix, "value.")
    .replace(/^Unexpected token: EOF$/, "the expression ends too early")
    .replace(/^Unexpected token: (\w+)$/, (_, token: string) => `unexpected ${signOf(token)}`)
    .replace(/^Expected (\w+), got EOF$/, (_, token: string) => {
      return `the expression ends too early: ${nameOf(token)} is missing`;
    })
    .replace(/^Expected (\w+), got (\w+)$/, (_, wanted: string, found: string) => {
      return `${nameOf(wanted)} is expected here; found ${signOf(found)}`;
    })
    .replace(/^Exceeded (\w+) \((\d+)\)$/, (_, limit: string, most: string) =>
      limit === "maxMapEntries" ? "maps cannot be written here" : `too large: more than ${most} for ${limit}`,
    )
    .replace(
      /^no such overload: (.*)$/,
      (_, types: string) => `types do not fit: ${types.replace(typeForm, typeText)}`,
    )
    .replace(/^found no matching overload for '(.*)'$/, (_, call: string) => callText(call));
}

const signs: Readonly<Record<string, string>> = {
  ...{
    PLUS: "+",
    MINUS: "-",
    MULTIPLY: "*",
    DIVIDE: "/",
    MODULO: "%",
    EQ: "==",
    NE: "!=",
    LT: "<",
    LE: "<=",
  },
  ...{ GT: ">", GE: ">=", AND: "&&", OR: "||", NOT: "!", IN: "in", LPAREN: "(", RPAREN: ")", LBRACKET: "[" },
  ...{ RBRACKET: "]", LBRACE: "{", RBRACE: "}", DOT: ".", COMMA: ",", COLON: ":", QUESTION: "?" },
  ...{ IDENTIFIER: "a name", NUMBER: "a number", STRING: "a text", BOOLEAN: "true or false", NULL: "null" },
};
const closing = ["RPAREN", "RBRACKET", "RBRACE"];

function signOf(token: string): string {
  return signs[token] ?? "something else";
}

function nameOf(token: string): string {
  return closing.includes(token) ? `a closing bracket ${signOf(token)}` : signOf(token);
}

const types: Readonly<Record<string, string>> = {
  ...{
    double: "a number",
    int: "a number",
    uint: "a number",
    string: "text",
    bool: "true or false",
    null: "null",
  },
  ...{ "google.protobuf.Duration": "a duration", "google.protobuf.Timestamp": "a time" },
};
const typeForm = /[A-Za-z_][\w.]*(<[^()]*>)?/g;

function typeText(type: string): string {
  const known = Object.hasOwn(types, type) ? types[type] : undefined;
  if (known !== undefined) return known;
  if (/^list<(double|int)>$/.test(type)) return "a list of numbers";
  if (type.startsWith("list")) return "a list";
  return type.startsWith("map") ? "a mapping" : "a thing with fields";
}

/** `usd(string)` → `usd takes a number; found text`. */
function callText(call: string): string {
  const [, path = call, typeList = ""] = /^(.*?)\((.*)\)$/.exec(call) ?? [];
  // A method's name follows the type that it is called on.
  const name = path.split(".").at(-1)!;
  const found = argumentsOf(typeList);
  const forms = signatures.flatMap((one) => {
    const [, own, wanted = ""] = /^([^(]*)\((.*)\):/.exec(one) ?? [];
    return own === path || own === `string.${name}` ? [argumentsOf(wanted)] : [];
  });
  // Of several forms, the intended one has the same number of arguments.
  const alike = forms.filter((form) => form.length === found.length);
  const takes = [...new Set((alike.length > 0 ? alike : forms).map((form) => form.join(" and ")))];
  const givenTypes = found.join(" and ") || "nothing";
  return takes.length === 0
    ? `${name} does not take ${givenTypes}`
    : `${name} takes ${takes.join(", or ")}; found ${givenTypes}`;
}

function argumentsOf(list: string): string[] {
  return (list.match(typeForm) ?? []).map(typeText);
}
