/**
 * One entry of the table of endpoints, and the types that follow from the table.
 *
 * An entry is the complete description of an endpoint:
 *
 *   fundingHourly: get("/v1/users/{user_pubkey}/funding-hourly", {
 *     summary: "Funding that a wallet paid and received, by the hour.",
 *     params: {
 *       authority: path.key("The wallet.", { wire: "user_pubkey" }),
 *       limit: query.integer("Most rows.", { min: 1, max: 200, default: 50 }),
 *       …
 *     },
 *     reply: eventsPageOf(fundingEvent),
 *     page: { … },
 *   }),
 *
 * A client uses it to send (exchange/):
 *
 *   const request = encodeRequest(endpoints.fundingHourly, { authority, limit: 200 });   // throws ArgumentsRefused
 *   const { status, text } = await http(request.method, request.target, request.body);
 *   const reply = parseReply(endpoints.fundingHourly, parseJson(text));
 *   if (reply.ok) reply.record.events; else reply.problem.message;       // reply.rejected: rows that were left out
 *
 * and a server to answer (simulator/):
 *
 *   const match = router.match("GET", "/v1/users/GHYp…/funding-hourly");
 *   if (match.kind === "found") {
 *     const asked = decodeRequest(match.endpoint, { path: match.path, query: url.searchParams, body });
 *     if (!asked.ok) return send(400, { error: asked.problem.message });                // which parameters, and why
 *     return send(200, answers[match.endpoint.name](asked.args));                       // args: defaults filled in
 *   }
 */
import type { ArgsOf, Params, ServerArgsOf } from "./params.ts";
import type { Reply } from "./reply.ts";

export type Method = "GET" | "POST";
/** `optional`: open, but the bearer is sent if there is one (higher limits). */
export type SessionNeed = "none" | "optional" | "required";
export type Group =
  | "exchange"
  | "market"
  | "trader"
  | "history"
  | "onboarding"
  | "auth"
  | "notifications"
  | "deprecated";

/** A condition over several parameters, by argument name. */
export type Constraint =
  /**
   * `from` is not after `to` when both are given, and they are at most `maxMs` apart (null: any distance); an absent
   * `to` is now.
   */
  | { readonly kind: "range"; readonly from: string; readonly to: string; readonly maxMs: number | null }
  /** At most one of them. */
  | { readonly kind: "exclusive"; readonly params: readonly string[] }
  /** At least one of them. */
  | { readonly kind: "anyOf"; readonly params: readonly string[] };

/**
 * Paging in each direction: the field of the record with the cursor, and the argument that takes it. The rows are in the
 * field named by `reply`.
 */
export interface Paging {
  readonly older: { readonly field: string; readonly argument: string };
  readonly newer: { readonly field: string; readonly argument: string } | null;
}

export interface Endpoint<P extends Params = Params, R = unknown, W = unknown> {
  readonly name: string;
  readonly group: Group;
  readonly method: Method;
  /** Template under the base URL; `{x}` is the path parameter with the wire name x. */
  readonly path: string;
  readonly params: P;
  readonly constraints: readonly Constraint[];
  readonly reply: Reply<R, W>;
  /** Success statuses. */
  readonly success: readonly number[];
  /** Documented error statuses; any endpoint may also answer 401/403, 429 and 5xx. */
  readonly errors: readonly number[];
  readonly session: SessionNeed;
  readonly summary: string;
  /** Notes for callers beyond the summary. */
  readonly notes: readonly string[];
  readonly paging: Paging | null;
  /** Observed or assumed order of rows; null: not a list. */
  readonly order: "newestFirst" | "oldestFirst" | null;
  /** True if it can be repeated after a lost reply without effect. */
  readonly safeToRetry: boolean;
  /** Cost against the request ceiling, relative to a plain read. */
  readonly weight: number;
  /** The replacement and the date of removal; null: current. */
  readonly deprecated: string | null;
}

interface Spec<P extends Params, R, W> {
  summary: string;
  reply: Reply<R, W>;
  params?: P;
  constraints?: readonly Constraint[];
  session?: SessionNeed;
  errors?: readonly number[];
  success?: readonly number[];
  notes?: readonly string[];
  paging?: Paging;
  order?: "newestFirst" | "oldestFirst";
  safeToRetry?: boolean;
  weight?: number;
  deprecated?: string;
}

type Unnamed<P extends Params, R, W> = Omit<Endpoint<P, R, W>, "name" | "group">;

function entry<P extends Params, R, W>(method: Method, path: string, spec: Spec<P, R, W>): Unnamed<P, R, W> {
  return {
    method,
    path,
    params: spec.params ?? ({} as P),
    constraints: spec.constraints ?? [],
    reply: spec.reply,
    success: spec.success ?? [200],
    errors: spec.errors ?? [],
    session: spec.session ?? (method === "GET" ? "optional" : "none"),
    summary: spec.summary,
    notes: spec.notes ?? [],
    paging: spec.paging ?? null,
    order: spec.order ?? null,
    safeToRetry: spec.safeToRetry ?? method === "GET",
    weight: spec.weight ?? 1,
    deprecated: spec.deprecated ?? null,
  };
}

type NoParams = Record<never, never>;

/** A read. Defaults: session optional, safe to retry, weight 1. */
export function get<R, W, P extends Params = NoParams>(path: string, spec: Spec<P, R, W>): Unnamed<P, R, W> {
  return entry("GET", path, spec);
}

/** A write. Defaults: no session, not safe to retry, weight 1. */
export function post<R, W, P extends Params = NoParams>(path: string, spec: Spec<P, R, W>): Unnamed<P, R, W> {
  return entry("POST", path, spec);
}

type Named<T> = {
  [K in keyof T]: T[K] extends Unnamed<infer P, infer R, infer W> ? Endpoint<P, R, W> : never;
};

/** Returns a part of the table, with each entry's name (its key) and group filled in. */
export function group<const T extends Record<string, object>>(name: Group, entries: T): Named<T> {
  return Object.fromEntries(
    Object.entries(entries).map(([key, value]) => [key, { ...value, name: key, group: name }]),
  ) as unknown as Named<T>;
}

/** Arguments of an endpoint for a caller. */
export type Args<E> = E extends Endpoint<infer P> ? ArgsOf<P> : never;
/** Arguments of an endpoint for a server: constant defaults are filled in. */
export type ServerArgs<E> = E extends Endpoint<infer P> ? ServerArgsOf<P> : never;
/** The parsed record of the reply. */
export type RecordOf<E> = E extends Endpoint<infer _P, infer R> ? R : never;
/** The record's type on the wire. */
export type WireOf<E> = E extends Endpoint<infer _P, infer _R, infer W> ? W : never;
