/**
 * One call of one endpoint: arguments in, record out.
 *
 *   check arguments ─► wait for the request ceiling ─► send ─► 2xx ─► JSON ─► record
 *                            ▲                           └─ 429, 5xx, no answer ─► ExchangeError
 *                            └──── again, if that is safe, at most twice, within the caller's limit
 *
 * The limit (default 30 s) covers attempts and the pauses between them. Waiting for the budget has a separate limit,
 * since it is no failure of the exchange. Only calls that the table marks as safe are repeated; during a rate limit as
 * soon as the budget allows, otherwise after 0.25 s, 0.5 s, with jitter. A 429 slows the whole process (budget.ts).
 * Sessions are handled elsewhere: the bearer is a parameter.
 */
import type { Args, Endpoint, RecordOf } from "../../contract/endpoint.ts";
import { parseJson } from "../../contract/json.ts";
import { overlong, parseReply, type RejectedRow, shortestOverlong } from "../../contract/reply.ts";
import { encodeRequest } from "../../contract/request.ts";
import type { Clock, Random } from "../../domain/clock.ts";
import { hideSecretsAtBeginning } from "../../domain/text/hidden-secrets.ts";
import { BadRecord, cleanText, ExchangeError, refusal } from "../errors.ts";
import { OutageEnd } from "../outage-end.ts";
import { BudgetFull, type Grant, type RequestBudget, type Take } from "./budget.ts";
import { type Http, type HttpAnswer, HttpFailure } from "./http.ts";
import { type Lane, lanes } from "./lanes.ts";

export const DEFAULT_DEADLINE_MS = 30_000;
/** Maximum part of the limit for one attempt, so that a repeat still fits. */
const ATTEMPT_MS = 10_000;
const REPEATS = 2;
const FIRST_PAUSE_MS = 250;

export interface CallOptions {
  /** Default: the rest (3). */
  readonly lane?: Lane;
  /**
   * The time by which the request should be done, monotonic ms; the earlier of two in a lane is sent first. Default: now.
   */
  readonly dueMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Limit for attempts and the pauses between them, ms: waiting for the budget does not count. Default 30 000. */
  readonly deadlineMs?: number;
  /** Limit for the total wait for the budget, ms. Default: as `deadlineMs`. */
  readonly waitMs?: number;
  /** Called with true when the call starts to wait for the budget, with false when the wait ends. */
  readonly onWait?: (waiting: boolean) => void;
  readonly bearer?: string | null;
  /** True if the call signs in or refreshes: it may use the ceiling's reserve. */
  readonly signIn?: boolean;
}

/** A record, and its rows that were invalid and left out. */
export interface Called<R> {
  readonly record: R;
  readonly rejected: readonly RejectedRow[];
}

export interface Caller {
  /**
   * @throws {ArgumentsRefused} before anything is sent; {ExchangeError}; {BadRecord};
   *   the signal's reason when the caller gives up
   */
  call<E extends Endpoint>(endpoint: E, args: Args<E>, options?: CallOptions): Promise<Called<RecordOf<E>>>;
  readonly http: Http;
  readonly budget: RequestBudget;
  /** Calls `run` when the exchange answers again after an outage. Failing sign-ins alone are no outage. */
  onOutageEnd(run: () => void): void;
}

interface Patience {
  readonly patienceMs: number;
  readonly signal: AbortSignal | undefined;
  /** The refusal that caused the repeat. */
  readonly refused: ExchangeError | null;
}

export interface CallerOptions {
  readonly http: Http;
  readonly budget: RequestBudget;
  readonly clock: Clock;
  readonly random: Random;
}

export function createCaller({ http, budget, clock, random }: CallerOptions): Caller {
  const outage = new OutageEnd();
  async function call<E extends Endpoint>(
    endpoint: E,
    args: Args<E>,
    options: CallOptions = {},
  ): Promise<Called<RecordOf<E>>> {
    const request = encodeRequest(endpoint, args, clock.nowMs());
    const { name } = endpoint;
    const { signal } = options;
    const bearer = options.bearer ?? null;
    let endMs = clock.elapsedMs() + (options.deadlineMs ?? DEFAULT_DEADLINE_MS);
    let patienceMs = options.waitMs ?? options.deadlineMs ?? DEFAULT_DEADLINE_MS;
    const lane = options.lane ?? lanes.rest;
    const take = {
      lane,
      weight: endpoint.weight,
      signIn: options.signIn === true,
      route: name,
      dueMs: options.dueMs,
    };
    /** Waits for the budget; the call's limit is paused meanwhile. */
    async function turn(refused: ExchangeError | null): Promise<Grant> {
      signal?.throwIfAborted();
      if (refused && budget.pausedForMs >= patienceMs) throw refused;
      const fromMs = clock.elapsedMs();
      options.onWait?.(true);
      try {
        return await waitForTurn(name, take, { patienceMs, signal, refused });
      } finally {
        const waitedMs = clock.elapsedMs() - fromMs;
        endMs += waitedMs;
        patienceMs -= waitedMs;
        options.onWait?.(false);
      }
    }
    let error: ExchangeError | null = null;
    for (let attempt = 0; ; attempt++) {
      const grant = budget.takeNow(take) ?? (await turn(error));
      try {
        const answer = await http.send({
          method: request.method,
          target: request.target,
          body: request.body,
          bearer,
          limitMs: Math.max(1, Math.min(ATTEMPT_MS, endMs - clock.elapsedMs())),
          signal,
        });
        if (answer.status === 429) grant.throttled(answer.retryAfterMs);
        else grant.answered();
        if (answer.status >= 200 && answer.status < 300) {
          outage.answered(clock.elapsedMs());
          return read(endpoint, answer, () => secretsOf(endpoint, args, bearer));
        }
        const said = refusalTexts(endpoint, answer.text, secretsOf(endpoint, args, bearer));
        error = refusal(name, answer.status, said.error, answer.retryAfterMs, said.message);
      } catch (thrown) {
        if (!(thrown instanceof HttpFailure)) throw thrown;
        error = unanswered(name, thrown);
      } finally {
        grant.failed();
      }
      if (!error.retryable) outage.answered(clock.elapsedMs());
      else if (error.reason !== "rate-limited" && !take.signIn) outage.failed(clock.elapsedMs());
      if (!error.retryable || !endpoint.safeToRetry || attempt >= REPEATS) throw error;
      // During a limit the budget decides when the next request is sent.
      if (error.reason === "rate-limited" && budget.limit !== null) continue;
      const pauseMs = pauseBefore(error, attempt);
      if (clock.elapsedMs() + pauseMs >= endMs) throw error;
      await clock.sleep(pauseMs, signal);
    }
  }

  /** @throws `refused`, or an error if there was no turn in time */
  async function waitForTurn(
    endpoint: string,
    take: Take,
    { patienceMs, signal, refused }: Patience,
  ): Promise<Grant> {
    const tooLong = (what: string) =>
      refused ?? new ExchangeError({ endpoint, reason: "rate-limited", code: "budget", what, sent: false });
    const stop = new AbortController();
    const onAbort = () => stop.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    const cancel = Number.isFinite(patienceMs)
      ? clock.after(Math.max(0, patienceMs), () =>
          stop.abort(tooLong("no turn under the request ceiling in time")),
        )
      : () => {};
    try {
      return await budget.take({ ...take, signal: stop.signal });
    } catch (thrown) {
      throw thrown instanceof BudgetFull ? tooLong(thrown.message) : thrown;
    } finally {
      cancel();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  function pauseBefore(error: ExchangeError, attempt: number): number {
    const jitter = 0.85 + 0.3 * random();
    return Math.max(FIRST_PAUSE_MS * 2 ** attempt * jitter, error.retryAfterMs ?? 0);
  }

  return { call, http, budget, onOutageEnd: (run) => outage.onEnd(run) };
}

/** Maximum length of an unreadable answer that is kept, characters. */
const maxKept = 16_384;

/** Reads a successful answer by the table. */
function read<E extends Endpoint>(
  endpoint: E,
  answer: HttpAnswer,
  secrets: () => readonly string[],
): Called<RecordOf<E>> {
  // It may contain the token of the request.
  const kept = () =>
    endpoint.group === "auth" ? null : hideSecretsAtBeginning(answer.text, secrets(), maxKept);
  let json: unknown;
  if (endpoint.reply.kind !== "none") {
    try {
      json = parseJson(answer.text);
    } catch {
      const what =
        answer.text === "" ? "an empty answer" : `${answer.text.length} characters that are no JSON`;
      throw new BadRecord(
        endpoint.name,
        answer.status,
        { message: what, fields: [{ path: "", message: what }] },
        kept,
      );
    }
  }
  const rows = answer.text.length < shortestOverlong ? null : overlong(json);
  if (rows !== null) {
    const what = `a list of ${rows}, longer than any that is asked for`;
    throw new BadRecord(
      endpoint.name,
      answer.status,
      { message: what, fields: [{ path: "", message: what }] },
      () => null,
    );
  }
  const parsed = parseReply(endpoint, json);
  if (!parsed.ok) throw new BadRecord(endpoint.name, answer.status, parsed.problem, kept);
  return parsed as Called<RecordOf<E>>;
}

/** Endpoints that receive a signature and no other secret. */
const signed: ReadonlySet<string> = new Set(["loginWallet", "loginWalletTransaction"]);

/** Returns true for a short sentence of plain words: it cannot contain a signature in any encoding. */
function isPlainReason(text: string): boolean {
  return text.length <= 64 && /^[A-Z]?[a-z]{0,15}(?: [a-z]{1,16})+\.?$/.test(text);
}

/** Returns true for a code of words. It is too short for a token, and has no digits, which tokens have. */
function isCodeOfWords(text: string): boolean {
  return text.length <= 40 && /^[a-z]{2,16}(?:_[a-z]{2,16}){0,4}$/.test(text);
}

/**
 * Returns the texts of a refusal; null if it has none, or the body is something else. A refused sign-in is quoted by
 * code, and by a few plain words if no secret or only a signature was sent; both appear in alerts.
 */
function refusalTexts(
  endpoint: Endpoint,
  body: string,
  secrets: readonly string[],
): { readonly error: string | null; readonly message: string | null } {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return { error: null, message: null };
  }
  const { error, message } = (json ?? {}) as Readonly<Record<string, unknown>>;
  const text = (said: unknown) => (typeof said === "string" && said !== "" ? said : null);
  const clean = (said: unknown) => {
    const found = text(said);
    return found === null ? null : cleanText(found, secrets);
  };
  if (endpoint.group === "auth") {
    const said = clean(error);
    const mayBeReason = secrets.length === 0 || signed.has(endpoint.name);
    const isQuoted = said !== null && (isCodeOfWords(said) || (mayBeReason && isPlainReason(said)));
    return { error: isQuoted ? said : null, message: null };
  }
  return { error: clean(error), message: clean(message) };
}

/**
 * Returns the secrets that must not appear in a message: the bearer and the arguments that the table marks as secret.
 */
export function secretsOf(endpoint: Endpoint, args: object, bearer: string | null): string[] {
  const secrets = bearer === null ? [] : [bearer];
  for (const [name, value] of Object.entries(args)) {
    if (endpoint.params[name]?.secret && typeof value === "string") secrets.push(value);
  }
  return secrets;
}

function unanswered(endpoint: string, failure: HttpFailure): ExchangeError {
  if (failure.kind === "tooLarge") {
    return new ExchangeError({ endpoint, reason: "bad-record", code: "too_large", what: failure.message });
  }
  return new ExchangeError({
    endpoint,
    reason: failure.kind,
    code: failure.kind,
    what: failure.message,
    sent: failure.sent,
    cause: failure.cause,
  });
}
