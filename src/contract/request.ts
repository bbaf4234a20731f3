/** Requests, encoded by a client and decoded by a server from the same description, with the same checks. */
import { z } from "zod";
import { isPublicKey } from "./base58.ts";
import type { Args, Endpoint, Method, ServerArgs } from "./endpoint.ts";
import { type Param, type Params, wireName } from "./params.ts";
import { readTime } from "./time.ts";

/** A mistake in one parameter (argument name; null: a condition over several, or the body as a whole). */
export interface ParamProblem {
  readonly parameter: string | null;
  readonly message: string;
}

/** A call with invalid arguments; nothing was sent. */
export class ArgumentsRefused extends Error {
  override readonly name = "ArgumentsRefused";
  readonly endpoint: string;
  readonly problems: readonly ParamProblem[];
  constructor(endpoint: string, problems: readonly ParamProblem[]) {
    super(`${endpoint}: ${problems.map((p) => p.message).join("; ")}`);
    this.endpoint = endpoint;
    this.problems = problems;
  }
}

export interface EncodedRequest {
  readonly method: Method;
  /** Path with its parameters percent-encoded, without query. */
  readonly path: string;
  /** Query string without "?"; empty when there is none. */
  readonly query: string;
  /** Path and query, to append to the base URL. */
  readonly target: string;
  /** JSON value of the body; null: send none. */
  readonly body: Readonly<Record<string, unknown>> | null;
}

/**
 * Returns all mistakes in the arguments; an unknown argument is a mistake too.
 * @param nowMs the current time, for ranges without an end; an hour of clock error is tolerated
 */
export function checkArgs(
  endpoint: Endpoint,
  args: Readonly<Record<string, unknown>>,
  nowMs: number | null = null,
): ParamProblem[] {
  const problems: ParamProblem[] = [];
  for (const name in args) {
    if (!Object.hasOwn(endpoint.params, name)) {
      problems.push({ parameter: name, message: `${name}: no such parameter` });
    }
  }
  for (const [name, param] of paramsOf(endpoint)) {
    const value = args[name];
    if (value === undefined) {
      if (param.required) problems.push({ parameter: name, message: `${name}: required` });
      continue;
    }
    const wrong = misfit(param, value);
    if (wrong !== null) problems.push({ parameter: name, message: `${name}: ${wrong}` });
  }
  if (problems.length === 0)
    problems.push(...checkConstraints(endpoint, args, nowMs === null ? null : nowMs - CLOCK_TOLERANCE_MS));
  return problems;
}

/**
 * Encodes arguments as a request.
 * @param nowMs as in `checkArgs`
 * @throws ArgumentsRefused with all mistakes
 */
export function encodeRequest<E extends Endpoint>(
  endpoint: E,
  args: Args<E>,
  nowMs: number | null = null,
): EncodedRequest {
  const values = args as Readonly<Record<string, unknown>>;
  const problems = checkArgs(endpoint, values, nowMs);
  if (problems.length > 0) throw new ArgumentsRefused(endpoint.name, problems);
  let path = endpoint.path;
  let query = "";
  const body: Record<string, unknown> = {};
  let hasBody = false;
  for (const [name, param] of paramsOf(endpoint)) {
    if (param.in === "body") hasBody = true;
    const value = values[name];
    if (value === undefined) continue;
    const wire = wireName(name, param);
    if (param.in === "body") body[wire] = param.timeForm === "iso" ? isoText(value) : value;
    else if (param.in === "path")
      path = path.replace(`{${wire}}`, () => encodeURIComponent(asText(param, value)));
    else
      query += `${query === "" ? "" : "&"}${encodeURIComponent(wire)}=${encodeURIComponent(asText(param, value))}`;
  }
  return {
    method: endpoint.method,
    path,
    query,
    target: query === "" ? path : `${path}?${query}`,
    body: hasBody ? body : null,
  };
}

/** The client's clock may differ from the server's: a range that is too long only within this tolerance is sent. */
const CLOCK_TOLERANCE_MS = 3_600_000;

const entriesOf = new WeakMap<Params, readonly (readonly [string, Param])[]>();

/** Returns the parameters of an endpoint with their names, cached: every request needs them. */
function paramsOf(endpoint: Endpoint): readonly (readonly [string, Param])[] {
  let entries = entriesOf.get(endpoint.params);
  if (entries === undefined) {
    entries = Object.entries(endpoint.params);
    entriesOf.set(endpoint.params, entries);
  }
  return entries;
}

/** A request that a server received, not decoded yet. Query values may repeat. */
export interface RawRequest {
  /** Path parameters by wire name, decoded (as the router gives them). */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: URLSearchParams | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The parsed JSON body. */
  readonly body?: unknown;
}

export interface RequestProblem {
  readonly status: 400;
  /** `invalid_pubkey` if only keys are wrong. */
  readonly code: "invalid_request" | "invalid_pubkey";
  readonly endpoint: string;
  readonly problems: readonly ParamProblem[];
  readonly message: string;
}

export type DecodedRequest<E> =
  | { readonly ok: true; readonly args: ServerArgs<E> }
  | { readonly ok: false; readonly problem: RequestProblem };

/**
 * Decodes a request to arguments, for a server. Unknown query parameters and body fields are ignored. Defaults are
 * filled in; those that depend on the current time need `nowMs`, which is also the end of a range without one.
 */
export function decodeRequest<E extends Endpoint>(
  endpoint: E,
  raw: RawRequest,
  nowMs: number | null = null,
): DecodedRequest<E> {
  const args: Record<string, unknown> = {};
  const problems: ParamProblem[] = [];
  const later: [string, number][] = [];
  const entries = paramsOf(endpoint);
  const wantsBody = entries.some(([, param]) => param.in === "body");
  const body = raw.body ?? {};
  if (wantsBody && (typeof body !== "object" || Array.isArray(body))) {
    problems.push({ parameter: null, message: "the body has to be a JSON object" });
  } else {
    for (const [name, param] of entries) {
      const wire = rawValue(name, param, raw, body as Record<string, unknown>);
      if (wire === undefined || wire === null) {
        if (param.required) problems.push({ parameter: name, message: `${wireName(name, param)}: required` });
        else if (param.filled) args[name] = param.default;
        else if (param.defaultAgoMs !== null && nowMs !== null)
          later.push([name, nowMs - param.defaultAgoMs]);
        continue;
      }
      const value = fromWire(param, wire);
      const wrong = misfit(param, value);
      if (wrong !== null) problems.push({ parameter: name, message: `${wireName(name, param)}: ${wrong}` });
      else args[name] = param.schema === null ? value : z.parse(param.schema, value);
    }
    if (problems.length === 0) problems.push(...checkConstraints(endpoint, args, nowMs));
    // After the check: a range of which only one end was sent is empty then, not refused as inverted.
    for (const [name, value] of later) args[name] = value;
  }
  if (problems.length === 0) return { ok: true, args: args as ServerArgs<E> };
  const message = problems.map((p) => p.message).join("; ");
  const keys = problems.every((p) => p.parameter !== null && endpoint.params[p.parameter]?.type === "key");
  const code = keys ? "invalid_pubkey" : "invalid_request";
  return { ok: false, problem: { status: 400, code, endpoint: endpoint.name, problems, message } };
}

/** Finds an argument by its name, wire spelling or alias, for command lines; undefined: none. */
export function argumentNamed(endpoint: Endpoint, name: string): string | undefined {
  if (Object.hasOwn(endpoint.params, name)) return name;
  return Object.entries(endpoint.params).find(
    ([own, param]) => wireName(own, param) === name || param.aliases.includes(name),
  )?.[0];
}

/** Parses one argument from text, for command lines; undefined: the text is not valid. */
export function argumentFromText(param: Param, text: string): unknown {
  if (param.type === "json") {
    try {
      return JSON.parse(text);
    } catch {
      return undefined;
    }
  }
  const value = param.type === "time" ? readTime(text) : fromWire(param, text);
  return misfit(param, value) === null ? value : undefined;
}

/** Returns the raw value of a parameter under any of its spellings. */
function rawValue(name: string, param: Param, raw: RawRequest, body: Record<string, unknown>): unknown {
  const wire = wireName(name, param);
  if (param.in === "path") return raw.path?.[wire];
  for (const spelling of [wire, ...param.aliases]) {
    const found =
      param.in === "body" ? body[spelling] : fromQuery(raw.query, spelling, param.type === "list");
    if (found !== undefined && found !== null) return found;
  }
  return undefined;
}

function fromQuery(query: RawRequest["query"], name: string, all: boolean): unknown {
  if (query === undefined) return undefined;
  const found = query instanceof URLSearchParams ? query.getAll(name) : query[name];
  if (found === undefined || found.length === 0) return undefined;
  if (typeof found === "string") return found;
  return all ? found.join(",") : found.at(-1);
}

/** Converts a wire value; one that does not match its type is returned unchanged, for `misfit`. */
function fromWire(param: Param, wire: unknown): unknown {
  switch (param.type) {
    case "integer":
      return typeof wire === "string" && /^-?\d+$/.test(wire) ? Number(wire) : wire;
    case "number":
      return typeof wire === "string" && wire.trim() !== "" ? Number(wire) : wire;
    case "time":
      if (param.timeForm === "iso") return readTime(wire) ?? wire;
      return typeof wire === "string" && /^\d+$/.test(wire) ? Number(wire) : wire;
    case "boolean":
      return wire === "true" ? true : wire === "false" ? false : wire;
    case "list":
      return typeof wire === "string" ? wire.split(",").map((part) => part.trim()) : wire;
    case "string":
    case "key":
    case "choice":
    case "json":
      return wire;
  }
}

/** Returns the mistake in a value of this parameter; null: none. Secrets are not repeated. */
function misfit(param: Param, value: unknown): string | null {
  // URL parsers remove dot segments from a path.
  if (param.type === "string" && param.in === "path" && (value === "." || value === ".."))
    return `must not be ${value}`;
  const wrong = unlike(param, value);
  // The mistake of a JSON value names its path already.
  return wrong === null || param.secret || param.type === "json" ? wrong : `${wrong}, found ${show(value)}`;
}

/** Returns the required form if the value does not have it; null: it has. */
function unlike(param: Param, value: unknown): string | null {
  switch (param.type) {
    case "string":
      if (typeof value !== "string" || value === "") return `must be text that is not empty`;
      return value.isWellFormed() ? null : `must be well-formed Unicode`;
    case "key":
      return typeof value === "string" && isPublicKey(value)
        ? null
        : `must be a base58 public key of 32 bytes`;
    case "integer":
    case "number": {
      const fits = param.type === "integer" ? Number.isSafeInteger(value) : Number.isFinite(value);
      if (!fits) return `must be ${param.type === "integer" ? "an integer" : "a number"}`;
      if (param.min !== null && (value as number) < param.min) return `must be at least ${param.min}`;
      if (param.max !== null && (value as number) > param.max) return `must be at most ${param.max}`;
      return null;
    }
    case "time":
      return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= 8.64e15
        ? null
        : `must be a time in ${param.timeForm === "iso" ? "ISO 8601" : "Unix milliseconds"}`;
    case "boolean":
      return typeof value === "boolean" ? null : `must be true or false`;
    case "choice":
      return param.choices?.includes(value as string) ? null : `must be one of ${param.choices?.join(", ")}`;
    case "list":
      return Array.isArray(value) &&
        value.length > 0 &&
        value.every(
          (part) =>
            typeof part === "string" &&
            part !== "" &&
            part === part.trim() &&
            !part.includes(",") &&
            part.isWellFormed(),
        )
        ? null
        : `must be a list of texts without commas`;
    case "json": {
      const parsed = z.safeParse(param.schema ?? z.unknown(), value);
      if (parsed.success) return null;
      const first = parsed.error.issues[0];
      const at = first?.path
        .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
        .join("");
      return `${at ? `${at.replace(/^\./, "")}: ` : ""}${first?.message ?? "does not fit"}`;
    }
  }
}

function checkConstraints(
  endpoint: Endpoint,
  args: Readonly<Record<string, unknown>>,
  nowMs: number | null,
): ParamProblem[] {
  const problems: ParamProblem[] = [];
  const say = (message: string) => problems.push({ parameter: null, message });
  for (const rule of endpoint.constraints) {
    if (rule.kind === "exclusive") {
      if (rule.params.filter((name) => args[name] !== undefined).length > 1) {
        say(`${rule.params.join(" and ")} exclude each other`);
      }
    } else if (rule.kind === "anyOf") {
      if (rule.params.every((name) => args[name] === undefined))
        say(`one of ${rule.params.join(", ")} is required`);
    } else {
      const from = args[rule.from] as number | undefined;
      const end = args[rule.to] as number | undefined;
      const to = end ?? nowMs;
      if (from === undefined || to === null) continue;
      if (end !== undefined && from > end) say(`${rule.from} must not be after ${rule.to}`);
      else if (rule.maxMs !== null && to - from > rule.maxMs) {
        say(`${rule.from} to ${rule.to} must be at most ${rule.maxMs / 86_400_000} days`);
      }
    }
  }
  return problems;
}

function asText(param: Param, value: unknown): string {
  if (param.type === "list") return (value as readonly string[]).join(",");
  return param.timeForm === "iso" ? isoText(value) : String(value);
}

function isoText(value: unknown): string {
  return new Date(value as number).toISOString();
}

function show(value: unknown): string {
  if (value === undefined) return "nothing";
  const shown = typeof value === "bigint" ? `${value}` : (JSON.stringify(value) ?? typeof value);
  return shown.length > 60 ? `${shown.slice(0, 60)}…` : shown;
}
