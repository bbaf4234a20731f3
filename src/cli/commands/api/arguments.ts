/** Parses the words of `perpwatch api NAME` into the endpoint's arguments and the command's own options. */
import { parseArgs } from "node:util";
import {
  argumentFromText,
  argumentNamed,
  checkArgs,
  type Endpoint,
  type Param,
} from "../../../contract/index.ts";
import { nearestName } from "../../../domain/text/nearest.ts";
import { CommandFailed, defaultConfig } from "../../command.ts";
import { timeFrom } from "../../terminal/values.ts";
import { takes } from "./describe.ts";

/** The command's own options. */
export interface ApiOptions {
  readonly config: string;
  /** `--config` was given, so the file has to exist. */
  readonly configNamed: boolean;
  readonly url: string | null;
  readonly wallet: string | null;
  readonly all: boolean;
  readonly yes: boolean;
  readonly json: boolean;
  readonly help: boolean;
}

export interface ApiCall {
  readonly options: ApiOptions;
  /** By argument name. */
  readonly args: Readonly<Record<string, unknown>>;
}

const own = {
  config: { type: "string", short: "c" },
  url: { type: "string" },
  wallet: { type: "string" },
  all: { type: "boolean" },
  yes: { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

export const ownOptions = Object.keys(own);

/**
 * The index of the endpoint's name: the first word that is neither an option of the command nor its value; -1: none.
 */
export function nameAt(words: readonly string[]): number {
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (!word.startsWith("-")) return at;
    const option = Object.entries(own).find(
      ([name, of]) => word === `--${name}` || ("short" in of && word === `-${of.short}`),
    );
    if (option?.[1].type === "string") at++;
  }
  return -1;
}

/** Reads a file's or standard input's text for `--param @file` and `--param @-`. */
export type ReadText = (name: string) => Promise<string>;

/**
 * @param words the words after the endpoint's name
 * @throws {CommandFailed} status 2, with every mistake
 */
export async function readCall(
  endpoint: Endpoint,
  words: readonly string[],
  readText: ReadText,
  nowMs: number,
): Promise<ApiCall> {
  const { tokens } = parseArgs({
    args: [...words],
    options: { ...own, ...paramOptions(endpoint) },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const problems: string[] = [];
  const values: Record<string, string | true> = {};
  const args: Record<string, unknown> = {};
  // A word after an unknown parameter was meant as its value.
  let unknownAt = Number.NaN;
  for (const token of tokens) {
    if (token.kind === "positional" && token.index !== unknownAt + 1)
      problems.push(`"${token.value}" belongs to no parameter (--name value)`);
    if (token.kind !== "option") continue;
    const { name, value } = token;
    if (Object.hasOwn(own, name)) {
      const takesText = own[name as keyof typeof own].type === "string";
      if (takesText && value === undefined) problems.push(`--${name} needs a value`);
      else values[name] = value ?? true;
      continue;
    }
    const argument = argumentOf(endpoint, name);
    if (argument === null) {
      unknownAt = token.index;
      problems.push(unknownParameter(endpoint, name));
      continue;
    }
    const param = endpoint.params[argument]!;
    const text = value ?? (param.type === "boolean" ? "true" : undefined);
    if (text === undefined) {
      problems.push(`--${name} needs a value: ${takes(param)}`);
      continue;
    }
    const given = text.startsWith("@") ? (await readText(text.slice(1))).trim() : text;
    const read = (param.type === "time" ? timeOf(given, nowMs) : undefined) ?? argumentFromText(param, given);
    // A wrong type is reported together with all other mistakes.
    args[argument] = read ?? (param.type === "integer" || param.type === "number" ? numberOr(given) : given);
  }
  const text = (name: keyof typeof own): string | null =>
    typeof values[name] === "string" ? (values[name] as string) : null;
  const options: ApiOptions = {
    config: text("config") ?? defaultConfig,
    configNamed: values.config !== undefined,
    url: text("url"),
    wallet: text("wallet"),
    all: values.all === true,
    yes: values.yes === true,
    json: values.json === true,
    help: values.help === true,
  };
  if (options.all && endpoint.paging === null)
    problems.push(`--all: ${endpoint.name} has no pages to follow`);
  if (problems.length > 0 && !options.help)
    throw new CommandFailed(
      `${problems.join("\n")}\n(perpwatch api describe ${endpoint.name} shows what it takes)`,
      2,
    );
  return { options, args };
}

/** The forms that every command accepts: `7d` (before now), `now`, ISO, Unix seconds or milliseconds. */
function timeOf(text: string, nowMs: number): number | undefined {
  try {
    return timeFrom(text, nowMs);
  } catch {
    return undefined;
  }
}

/** Converts numeric text, so that a violated bound is reported instead of a wrong type. */
function numberOr(text: string): unknown {
  return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/**
 * Checks all arguments before anything is sent.
 * @throws {CommandFailed} status 2
 */
export function checkArguments(endpoint: Endpoint, args: Readonly<Record<string, unknown>>): void {
  const problems = checkArgs(endpoint, args);
  if (problems.length === 0) return;
  const lines = problems.map(({ parameter, message }) => (parameter === null ? message : `--${message}`));
  throw new CommandFailed(
    `${lines.join("\n")}\n(perpwatch api describe ${endpoint.name} shows what it takes)`,
    2,
    { problems },
  );
}

/** Booleans may stand alone; other parameters take the next word. */
function paramOptions(endpoint: Endpoint): Record<string, { type: "string" | "boolean" }> {
  const options: Record<string, { type: "string" | "boolean" }> = {};
  for (const [name, param] of Object.entries(endpoint.params)) {
    const type = param.type === "boolean" ? "boolean" : "string";
    for (const spelling of spellings(name, param)) options[spelling] = { type };
  }
  return options;
}

/** The names of a parameter: ours, the wire's, and each of them with dashes. */
function spellings(name: string, param: Param): string[] {
  const all = [name, ...(param.wire === null ? [] : [param.wire]), ...param.aliases];
  return [...new Set([...all, ...all.map(dashed)])];
}

function dashed(name: string): string {
  return name.replaceAll("_", "-").replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function argumentOf(endpoint: Endpoint, name: string): string | null {
  const known = argumentNamed(endpoint, name);
  if (known !== undefined) return known;
  const found = Object.entries(endpoint.params).find(([own, param]) => spellings(own, param).includes(name));
  return found?.[0] ?? null;
}

function unknownParameter(endpoint: Endpoint, name: string): string {
  const names = Object.keys(endpoint.params);
  const nearest = nearestName(name, [...names, ...ownOptions]);
  if (nearest !== null) return `--${name}: there is no such parameter; did you mean --${nearest}?`;
  const list =
    names.length === 0 ? "it takes none" : `there are ${names.map((one) => `--${one}`).join(", ")}`;
  return `--${name}: there is no such parameter; ${list}`;
}
