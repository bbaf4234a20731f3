/**
 * The errors of requests to the exchange, with the possible reaction. None of them contains a token, a signature, a
 * request body or a header; text from the exchange is bounded and cleaned.
 *
 *   ExchangeError            the call failed: endpoint, status, code, if and when a retry can help
 *     BadRecord              it was answered, but not as in the contract: the field, and the body for storage
 *
 * A caller that cancelled through its own signal gets that signal's reason, not one of these.
 */
import { remedyFor } from "../contract/errors.ts";
import type { ReplyProblem } from "../contract/reply.ts";
import type { FailureReason } from "../domain/observation.ts";
import { escaped } from "../domain/text/escape.ts";
import { hideSecretsAtBeginning } from "../domain/text/hidden-secrets.ts";

/** Maximum length of a body in a BadRecord, in characters. */
export const maxKeptBody = 65_536;
const maxText = 200;
/** Longer texts are cut before they are searched. */
const maxSearched = 4_096;

export interface ExchangeErrorFacts {
  readonly endpoint: string;
  readonly reason: FailureReason;
  /** The failure, for people; the endpoint's name is put before it. */
  readonly what: string;
  readonly status?: number | null;
  readonly code?: string | null;
  readonly retryAfterMs?: number | null;
  /** False if the request certainly did not leave this machine. Default true. */
  readonly sent?: boolean;
  readonly cause?: unknown;
}

export class ExchangeError extends Error {
  override readonly name: string = "ExchangeError";
  /** Name in the table of endpoints. */
  readonly endpoint: string;
  /** HTTP status; null without an answer. */
  readonly status: number | null;
  /**
   * The exchange's error code, or a local one (`timeout`, `unreachable`, `budget`, `no_auth_session`, …); null: prose.
   */
  readonly code: string | null;
  readonly reason: FailureReason;
  /** True if a later retry can help. */
  readonly retryable: boolean;
  /** The wait that the exchange stated, ms; null: none. */
  readonly retryAfterMs: number | null;
  /** True if the exchange may have processed the request without an answer. */
  readonly sent: boolean;

  constructor(facts: ExchangeErrorFacts) {
    super(`${facts.endpoint}: ${facts.what}`, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.endpoint = facts.endpoint;
    this.status = facts.status ?? null;
    this.code = facts.code ?? null;
    this.reason = facts.reason;
    this.retryable = retryableReasons.has(facts.reason);
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.sent = facts.sent ?? true;
  }

  /** True if the session was refused: a new token can help. */
  get sessionRefused(): boolean {
    return this.reason === "signed-out" && this.status !== null;
  }
}

const retryableReasons: ReadonlySet<FailureReason> = new Set([
  "unreachable",
  "timeout",
  "rate-limited",
  "server-error",
]);

/** An answer, or one row of it, that does not match the contract. */
export class BadRecord extends ExchangeError {
  override readonly name = "BadRecord";
  /** The fields, and the expected values. */
  readonly fields: ReplyProblem["fields"];
  /** Private, so that no log includes it. */
  readonly #body: () => string | null;

  constructor(
    endpoint: string,
    status: number,
    problem: Omit<ReplyProblem, "endpoint">,
    body: () => string | null,
  ) {
    const what = problem.message.startsWith(`${endpoint}: `)
      ? problem.message.slice(endpoint.length + 2)
      : problem.message;
    super({ endpoint, reason: "bad-record", what, status, code: "bad_record" });
    this.fields = problem.fields;
    this.#body = body;
  }

  /** Returns the received body without secrets, cut to 64 Ki characters; null if all of it may be a secret. */
  body(): string | null {
    return this.#body()?.slice(0, maxKeptBody) ?? null;
  }
}

/** Returns the text if it is an error code; null: prose, or none. */
export function errorCode(text: string | null): string | null {
  return text !== null && /^[a-z][a-z0-9_]{1,63}$/.test(text) ? text : null;
}

/** Returns the error for a refusing answer. `text` is the value of its `error` field, or null. */
export function refusal(
  endpoint: string,
  status: number,
  text: string | null,
  retryAfterMs: number | null,
  message: string | null = null,
): ExchangeError {
  const code = errorCode(text);
  const what = [
    text === null ? String(status) : `${status} ${text}`,
    ...(message === null ? [] : [message]),
  ].join(": ");
  return new ExchangeError({
    endpoint,
    status,
    code,
    retryAfterMs,
    what,
    reason: refusalReason(status, code),
  });
}

function refusalReason(status: number, code: string | null): FailureReason {
  if (status === 429) return "rate-limited";
  if (status === 408) return "timeout";
  if (status >= 500) return "server-error";
  const remedy = remedyFor(status, code);
  return remedy === "final" || remedy === "wait" ? "refused" : "signed-out";
}

/**
 * Cleans a text from outside for a message: one line, bounded, without the given secrets in any encoding, and without
 * anything that could be one (dotted like a token, or longer without a break than an address).
 */
export function cleanText(text: string, secrets: readonly string[] = []): string {
  const known = secrets.filter(({ length }) => length >= 8);
  const clean = escaped(
    hideSecretsAtBeginning(text, known, maxSearched)
      .replace(/(?<![\w-])[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/g, "[token]")
      .replace(/[\w+/=-]{45,}/g, "[token]")
      .trim(),
  );
  return clean.length > maxText ? `${clean.slice(0, maxText)}…` : clean;
}

/** Returns the reason of a failed read for a `failed` observation, for people and without secrets. */
export function failureOf(error: unknown): { reason: FailureReason; detail: string } {
  if (error instanceof ExchangeError) return { reason: error.reason, detail: error.message };
  return { reason: "refused", detail: error instanceof Error ? cleanText(error.message) : "failed" };
}
