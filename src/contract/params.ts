/**
 * Parameters of an endpoint as data. One description serves the client (checks before sending), the simulator (the
 * same checks on arrival), the command line (help text) and the docs. Built by `path`, `query` and `body`:
 *
 *   limit: query.integer("Most rows.", { min: 1, max: 200, default: 50 })
 *
 * The key in an endpoint's table is the argument's name, always camelCase; `wire` is the spelling on the wire if it
 * differs, `aliases` are further spellings that a server accepts. Wallets are named `authority` and trader accounts
 * `traderPubkey`, independent of the path template.
 */
import type { Output, Schema, Wire } from "./fields.ts";

export type Where = "path" | "query" | "body";
export type ParamType =
  | "string"
  | "key"
  | "integer"
  | "number"
  | "boolean"
  | "time"
  | "choice"
  | "list"
  | "json";

/** One parameter. `T`: the argument's type; `Need`: true if it is required; `Filled`: true if it has a default. */
export interface Param<T = unknown, Need extends boolean = boolean, Filled extends boolean = boolean> {
  readonly in: Where;
  readonly type: ParamType;
  readonly description: string;
  readonly required: Need;
  /** Spelling on the wire; null: the argument's own name. */
  readonly wire: string | null;
  /** Further spellings that a server accepts. */
  readonly aliases: readonly string[];
  /** Inclusive bounds of integers and numbers. */
  readonly min: number | null;
  readonly max: number | null;
  /** The members of a `choice`. */
  readonly choices: readonly string[] | null;
  /** Wire form of a `time` (the argument is Unix ms): Unix milliseconds or ISO 8601. */
  readonly timeForm: "ms" | "iso" | null;
  /** The server's value for an absent parameter; null: nothing fixed. */
  readonly default: T | null;
  readonly filled: Filled;
  /** The server's value for an absent `time`: ms before its current time; null: nothing fixed. */
  readonly defaultAgoMs: number | null;
  /** Text for a default that is not constant ("now − 7 d"). */
  readonly defaultNote: string | null;
  readonly unit: string | null;
  /** The reason for its deprecation; null: current. */
  readonly deprecated: string | null;
  /** Never to be shown or logged. */
  readonly secret: boolean;
  /** Shape of a `json` parameter. */
  readonly schema: Schema | null;
  /** Only for the compiler: the argument's type. */
  readonly argument?: T;
}

export type Params = Readonly<Record<string, Param>>;

interface Options<T> {
  required?: true;
  default?: T;
  defaultAgoMs?: number;
  defaultNote?: string;
  wire?: string;
  aliases?: readonly string[];
  unit?: string;
  deprecated?: string;
  secret?: true;
}
interface Bounds {
  min?: number;
  max?: number;
}
type Need<W extends Where, O> = W extends "path" ? true : O extends { required: true } ? true : false;
type Filled<O> = O extends { default: unknown } | { defaultAgoMs: number } ? true : false;
type Made<T, W extends Where, O> = Param<T, Need<W, O>, Filled<O>>;

function builders<W extends Where>(where: W) {
  function make<T, O extends Options<T>>(
    type: ParamType,
    description: string,
    options: O,
    more: Partial<Pick<Param, "min" | "max" | "choices" | "timeForm" | "schema">> = {},
  ): Made<T, W, O> {
    const made: Param<T> = {
      in: where,
      type,
      description,
      required: where === "path" || options.required === true,
      wire: options.wire ?? null,
      aliases: options.aliases ?? [],
      min: more.min ?? null,
      max: more.max ?? null,
      choices: more.choices ?? null,
      timeForm: more.timeForm ?? null,
      default: options.default ?? null,
      filled: options.default !== undefined,
      defaultAgoMs: options.defaultAgoMs ?? null,
      defaultNote: options.defaultNote ?? null,
      unit: options.unit ?? null,
      deprecated: options.deprecated ?? null,
      secret: options.secret ?? false,
      schema: more.schema ?? null,
    };
    return made as Made<T, W, O>;
  }
  const none = {};
  return {
    /** Non-empty text: symbols, cursors, tokens. */
    string: <O extends Options<string> = typeof none>(description: string, options: O = none as O) =>
      make<string, O>("string", description, options),
    /** A base58 public key of 32 bytes. */
    key: <O extends Options<string> = typeof none>(description: string, options: O = none as O) =>
      make<string, O>("key", description, options),
    integer: <O extends Options<number> & Bounds = typeof none>(
      description: string,
      options: O = none as O,
    ) => make<number, O>("integer", description, options, options),
    number: <O extends Options<number> & Bounds = typeof none>(description: string, options: O = none as O) =>
      make<number, O>("number", description, options, options),
    boolean: <O extends Options<boolean> = typeof none>(description: string, options: O = none as O) =>
      make<boolean, O>("boolean", description, options),
    /** An instant as Unix milliseconds on the wire; the argument is Unix milliseconds. */
    ms: <O extends Options<number> = typeof none>(description: string, options: O = none as O) =>
      make<number, O>("time", description, { unit: "Unix ms", ...options }, { timeForm: "ms" }),
    /** An instant written as ISO 8601; the argument is Unix milliseconds. */
    iso: <O extends Options<number> = typeof none>(description: string, options: O = none as O) =>
      make<number, O>("time", description, { unit: "Unix ms", ...options }, { timeForm: "iso" }),
    choice: <const C extends readonly string[], O extends Options<C[number]> = typeof none>(
      description: string,
      choices: C,
      options: O = none as O,
    ) => make<C[number], O>("choice", description, options, { choices }),
    /** Several texts: written comma-separated; a server also accepts the parameter repeated. */
    list: <O extends Options<readonly string[]> = typeof none>(description: string, options: O = none as O) =>
      make<readonly string[], O>("list", description, options),
    /** JSON of a given shape (bodies only). */
    json: <S extends Schema, O extends Options<Output<S> & Wire<S>> = typeof none>(
      description: string,
      schema: S,
      options: O = none as O,
    ) => make<Output<S> & Wire<S>, O>("json", description, options, { schema }),
  };
}

export const path = builders("path");
export const query = builders("query");
export const body = builders("body");

type RequiredNames<P extends Params> = { [K in keyof P]: P[K]["required"] extends true ? K : never }[keyof P];
type FilledNames<P extends Params> = { [K in keyof P]: P[K]["filled"] extends true ? K : never }[keyof P];
type Argument<T> = T extends Param<infer A> ? A : never;
type Flat<T> = { [K in keyof T]: T[K] };

/** The arguments of a caller. */
export type ArgsOf<P extends Params> = Flat<
  { [K in RequiredNames<P>]: Argument<P[K]> } & {
    [K in Exclude<keyof P, RequiredNames<P>>]?: Argument<P[K]> | undefined;
  }
>;

/** The arguments for a server: defaults are filled in, including those that depend on the current time. */
export type ServerArgsOf<P extends Params> = Flat<
  { [K in RequiredNames<P> | FilledNames<P>]: Argument<P[K]> } & {
    [K in Exclude<keyof P, RequiredNames<P> | FilledNames<P>>]?: Argument<P[K]> | undefined;
  }
>;

/** Spelling of an argument on the wire. */
export function wireName(name: string, param: Param): string {
  return param.wire ?? name;
}
