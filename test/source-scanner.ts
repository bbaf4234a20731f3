/**
 * Reads TypeScript source just far enough to say what a file imports and which ambient things it touches: a tokenizer
 * that knows comments, strings, templates and regular expressions, so that text inside those is never taken for code.
 */

export type Token =
  | { kind: "word"; text: string }
  | { kind: "string"; text: string }
  | { kind: "mark"; text: string };

export type Import = {
  /** As written: "./tick.ts", "node:fs", "undici/types". A dynamic import of anything but a literal is "(computed)". */
  specifier: string;
  /** Erased by the compiler; still a dependency of one file on another's shape. */
  typeOnly: boolean;
};

const wordStart = /[\p{ID_Start}$_#]/u;
const wordPart = /[\p{ID_Continue}$\u200c\u200d]/u;
/** After these a slash begins a regular expression; after any other word it divides. */
const beforeRegex = new Set([
  "return",
  "typeof",
  "case",
  "in",
  "of",
  "do",
  "else",
  "void",
  "delete",
  "await",
  "yield",
]);

/** The tokens of a source text; numbers count as words, templates as strings followed by what stands in their holes. */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  /** Depth of braces at which each open template goes on. */
  const templates: number[] = [];
  let depth = 0;
  let at = 0;

  const readTemplate = () => {
    let text = "";
    while (at < source.length) {
      const char = source[at]!;
      if (char === "\\") at += 2;
      else if (char === "`") {
        at += 1;
        tokens.push({ kind: "string", text });
        return;
      } else if (char === "$" && source[at + 1] === "{") {
        at += 2;
        tokens.push({ kind: "string", text });
        templates.push(depth);
        depth += 1;
        return;
      } else {
        text += char;
        at += 1;
      }
    }
  };

  const slashDivides = () => {
    const last = tokens.at(-1);
    if (last === undefined) return false;
    if (last.kind === "string") return true;
    return last.kind === "word" ? !beforeRegex.has(last.text) : last.text === ")" || last.text === "]";
  };

  while (at < source.length) {
    const char = source[at]!;
    const two = source.slice(at, at + 2);
    if (/\s/.test(char)) at += 1;
    else if (two === "//" || (at === 0 && two === "#!")) {
      const end = source.indexOf("\n", at);
      at = end === -1 ? source.length : end;
    } else if (two === "/*") {
      const end = source.indexOf("*/", at + 2);
      at = end === -1 ? source.length : end + 2;
    } else if (char === '"' || char === "'") {
      let text = "";
      for (at += 1; at < source.length && source[at] !== char; at += 1) {
        if (source[at] === "\\") at += 1;
        text += source[at] ?? "";
      }
      at += 1;
      tokens.push({ kind: "string", text });
    } else if (char === "`") {
      at += 1;
      readTemplate();
    } else if (char === "}" && templates.at(-1) === depth - 1) {
      templates.pop();
      depth -= 1;
      at += 1;
      readTemplate();
    } else if (char === "/" && !slashDivides()) {
      let inClass = false;
      for (at += 1; at < source.length && (inClass || source[at] !== "/") && source[at] !== "\n"; at += 1) {
        if (source[at] === "\\") at += 1;
        else if (source[at] === "[") inClass = true;
        else if (source[at] === "]") inClass = false;
      }
      at += 1;
      tokens.push({ kind: "string", text: "" });
    } else if (wordStart.test(char) || /[0-9]/.test(char)) {
      const start = at;
      at += 1;
      while (at < source.length && wordPart.test(source[at]!)) at += 1;
      tokens.push({ kind: "word", text: source.slice(start, at) });
    } else {
      if (char === "{") depth += 1;
      if (char === "}") depth -= 1;
      tokens.push({ kind: "mark", text: char });
      at += 1;
    }
  }
  return tokens;
}

/** Every import of a file: statements, re-exports, dynamic imports and `import("…")` types. */
export function importsOf(source: string): Import[] {
  const tokens = tokenize(source);
  const found: Import[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== "word" || isProperty(tokens, index)) continue;
    if (token.text !== "import" && token.text !== "export") continue;
    const next = tokens[index + 1];
    if (next === undefined) continue;
    const typeOnly = next.kind === "word" && next.text === "type" && tokens[index + 2]?.text !== "from";
    if (token.text === "import" && next.kind === "string")
      found.push({ specifier: next.text, typeOnly: false });
    else if (token.text === "import" && next.text === "(") {
      const argument = tokens[index + 2];
      const closes = tokens[index + 3]?.text === ")" || tokens[index + 3]?.text === ",";
      const literal = argument?.kind === "string" && closes ? argument.text : "(computed)";
      found.push({ specifier: literal, typeOnly: tokens[index - 1]?.text === "typeof" });
    } else {
      const specifier = fromClause(tokens, typeOnly ? index + 2 : index + 1);
      if (specifier !== undefined) found.push({ specifier, typeOnly });
    }
  }
  return found;
}

/** The string after `from` when what stands from `index` on is an import or export clause, and nothing else. */
function fromClause(tokens: readonly Token[], index: number): string | undefined {
  for (let at = index; at < tokens.length; at += 1) {
    const token = tokens[at]!;
    const after = tokens[at + 1];
    if (token.text === "from" && token.kind === "word" && after?.kind === "string") return after.text;
    if (token.kind === "mark" && !["{", "}", ",", "*"].includes(token.text)) return undefined;
    if (
      token.kind === "word" &&
      /^(const|let|var|function|class|async|default|interface|abstract|declare)$/.test(token.text)
    ) {
      // `export { default } from` and `import { default as x } from` are clauses, `export default …` is not.
      if (token.text !== "default" || tokens[at - 1]?.text === "export") return undefined;
    }
  }
  return undefined;
}

const isProperty = (tokens: readonly Token[], index: number) => {
  const before = tokens[index - 1];
  // `...name` spreads a value, `.name` reads a property.
  return before?.text === "." && before.kind === "mark" && tokens[index - 2]?.text !== ".";
};

/** Names whose mere use, called or read from, reaches the clock, chance, the network or the process. */
const ambient: Readonly<Record<string, readonly string[]>> = {
  Date: ["now"],
  Math: ["random"],
  performance: ["now", "timeOrigin"],
  Temporal: ["Now"],
};
const ambientObjects = new Set(["process", "console", "crypto", "globalThis", "localStorage"]);
const ambientCalls = new Set([
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "fetch",
  "WebSocket",
  "require",
]);

/** The ambient things that a file touches, as it would be told to its author: "Date.now", "new Date()", "process". */
export function ambientUses(source: string): string[] {
  const tokens = tokenize(source);
  const found = new Set<string>();
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== "word" || isProperty(tokens, index)) continue;
    const next = tokens[index + 1]?.text;
    const member = next === "." ? tokens[index + 2]?.text : undefined;
    if (member !== undefined && ambient[token.text]?.includes(member)) found.add(`${token.text}.${member}`);
    if (ambientObjects.has(token.text) && (next === "." || next === "[")) found.add(token.text);
    if (ambientCalls.has(token.text) && next === "(") found.add(`${token.text}()`);
    if (token.text === "Date") {
      const isNew = tokens[index - 1]?.text === "new";
      const isEmpty = next !== "(" || tokens[index + 2]?.text === ")";
      if (isNew && isEmpty) found.add("new Date()");
      if (!isNew && next === "(") found.add("Date()");
    }
  }
  return [...found].sort();
}
