/**
 * The typed client: one method for each entry of the table of endpoints, made from the entry.
 *
 *   const state = await client.traderState({ authority }, { wallet: "main", lane: lanes.atRisk, deadlineMs: 4_000 });
 *
 * With a wallet's name the call uses that wallet's session:
 *
 *   session     attached                                        after a refusal of the session
 *   required    always; waits for a sign-in                     renew, repeat; sign in, repeat; then the refusal is thrown
 *   optional    when there is one now (higher limits)           repeated once without, and the session is renewed
 *   none        never                                           –
 *
 * Repeats stay within the call's deadline. Data that does not match the contract is reported to `onBadRecord`, once for
 * a whole record (which is thrown as BadRecord too) and once for each row that was left out of a list (the others are
 * returned).
 */
import type { Endpoint } from "../../contract/endpoint.ts";
import { type Client, endpoints } from "../../contract/endpoints.ts";
import { writeJson } from "../../contract/json.ts";
import type { ReplyProblem } from "../../contract/reply.ts";
import { ArgumentsRefused, checkArgs } from "../../contract/request.ts";
import type { Clock } from "../../domain/clock.ts";
import { hideSecretsAtBeginning } from "../../domain/text/hidden-secrets.ts";
import { BadRecord, ExchangeError, maxKeptBody } from "../errors.ts";
import type { WalletSession } from "../session/session.ts";
import type { Sessions } from "../session/sessions.ts";
import { type Called, type Caller, DEFAULT_DEADLINE_MS, secretsOf } from "./call.ts";
import type { Lane } from "./lanes.ts";

export interface ClientCall {
  /** Configured name of the wallet whose session is used. */
  readonly wallet?: string | undefined;
  /** Default: the rest (3). */
  readonly lane?: Lane | undefined;
  /** The time by which it should be done, monotonic ms; the earlier of two in a lane is sent first. Default: now. */
  readonly dueMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Limit for attempts, sign-in and repeats; ms. Waiting for the budget does not count. Default 30 000. */
  readonly deadlineMs?: number | undefined;
  /** Limit for waiting for the budget, ms, in each attempt. Default: the rest of `deadlineMs`. */
  readonly waitMs?: number | undefined;
  /** Called with true when the call starts to wait for the budget, with false when the wait ends. */
  readonly onWait?: ((waiting: boolean) => void) | undefined;
  /** Called with the positions of unreadable rows in the answer's list; they are left out. */
  readonly onRejected?: ((places: readonly number[]) => void) | undefined;
}

export type ExchangeClient = Client<ClientCall>;

/** An answer, or part of one, that does not match the contract. */
export interface BadRecordReport {
  readonly endpoint: string;
  readonly wallet: string | null;
  /** One line: endpoint, field, what was expected, what was found. */
  readonly problem: string;
  readonly fields: ReplyProblem["fields"];
  /** Returns the body, or the row, as text without secrets, cut to 64 Ki characters; null: there is none to store. */
  readonly body: () => string | null;
}

export interface ClientOptions {
  readonly caller: Caller;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly onBadRecord: (report: BadRecordReport) => void;
}

/** Maximum rows of one answer that are reported separately; more of them have the same defect. */
const maxReported = 50;

export function createClient({ caller, sessions, clock, onBadRecord }: ClientOptions): ExchangeClient {
  async function ask(endpoint: Endpoint, args: object, call: ClientCall): Promise<unknown> {
    const wallet = call.wallet ?? null;
    const secrets = secretsOf(endpoint, args, null);
    try {
      const session = wallet === null || endpoint.session === "none" ? undefined : sessions.of(wallet);
      let endMs = clock.elapsedMs() + (call.deadlineMs ?? DEFAULT_DEADLINE_MS);
      let waitsFromMs = 0;
      const onWait = (waiting: boolean) => {
        if (waiting) waitsFromMs = clock.elapsedMs();
        else endMs += clock.elapsedMs() - waitsFromMs;
        call.onWait?.(waiting);
      };
      // Invalid arguments need no sign-in. (Without a session they are checked when the call is sent.)
      if (endpoint.session === "required") {
        const problems = checkArgs(endpoint, args as Readonly<Record<string, unknown>>, clock.nowMs());
        if (problems.length > 0) throw new ArgumentsRefused(endpoint.name, problems);
      }
      const send = (bearer: string | null): Promise<Called<unknown>> => {
        if (bearer !== null) secrets.push(bearer);
        return caller.call(endpoint, args as never, {
          bearer,
          signal: call.signal,
          deadlineMs: Math.max(0, endMs - clock.elapsedMs()),
          onWait,
          ...(call.waitMs === undefined ? {} : { waitMs: call.waitMs }),
          ...(call.lane === undefined ? {} : { lane: call.lane }),
          ...(call.dueMs === undefined ? {} : { dueMs: call.dueMs }),
        });
      };
      const called =
        endpoint.session === "required"
          ? await required(endpoint, session, wallet, send, () => ({ endMs, signal: call.signal }))
          : await optional(session, send);
      for (const row of called.rejected.slice(0, maxReported)) {
        const { message, fields } = row.problem;
        const body = () => textOf(row.raw, secrets);
        onBadRecord({ endpoint: endpoint.name, wallet, problem: message, fields, body });
      }
      if (called.rejected.length > 0) call.onRejected?.(called.rejected.map(({ index }) => index));
      return called.record;
    } catch (error) {
      if (error instanceof BadRecord) {
        const { message, fields } = error;
        const body = () => error.body();
        onBadRecord({ endpoint: endpoint.name, wallet, problem: message, fields, body });
      }
      throw error;
    }
  }

  return Object.fromEntries(
    Object.entries(endpoints as unknown as Record<string, Endpoint>).map(([name, endpoint]) => [
      name,
      (args: object = {}, call: ClientCall = {}) => ask(endpoint, args, call),
    ]),
  ) as unknown as ExchangeClient;
}

/** Returns a row as text for storage; null if it is nested too deeply. */
function textOf(row: unknown, secrets: readonly string[]): string | null {
  try {
    const text = writeJson(row);
    return text === undefined ? null : hideSecretsAtBeginning(text, secrets, maxKeptBody);
  } catch {
    return null;
  }
}

type Send = (bearer: string | null) => Promise<Called<unknown>>;

/** Tries up to three times: at first, after a renewal, after a sign-in; the session decides how to recover. */
async function required(
  endpoint: Endpoint,
  session: WalletSession | undefined,
  wallet: string | null,
  send: Send,
  patience: () => { endMs: number; signal: AbortSignal | undefined },
): Promise<Called<unknown>> {
  if (!session) {
    throw new ExchangeError({
      endpoint: endpoint.name,
      reason: "signed-out",
      code: "no_auth_session",
      what: wallet === null ? "needs the session of a wallet" : `${wallet} is watched without a session`,
      sent: false,
    });
  }
  let access = await session.access(patience());
  for (let recoveries = 0; ; recoveries++) {
    try {
      const called = await send(access);
      session.accepted(access);
      return called;
    } catch (error) {
      if (!(error instanceof ExchangeError) || !error.sessionRefused) throw error;
      if (recoveries === 2) {
        session.refused(access, error);
        throw error;
      }
      access = await session.recover(access, error, patience());
    }
  }
}

async function optional(session: WalletSession | undefined, send: Send): Promise<Called<unknown>> {
  const access = session?.peek() ?? null;
  if (!session || access === null) return send(null);
  try {
    const called = await send(access);
    session.accepted(access);
    return called;
  } catch (error) {
    if (!(error instanceof ExchangeError) || !error.sessionRefused) throw error;
    session.refused(access, error);
    return send(null);
  }
}
