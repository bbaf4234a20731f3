/**
 * Composes the access to the exchange, with a common start and stop.
 *
 *   client ──► sessions ──► caller ──► budget, http ──► the exchange
 */
import type { Clock, Random } from "../domain/clock.ts";
import type { SessionStore } from "../domain/ports.ts";
import { BETWEEN_SAMPLES_MS } from "./exchange-time.ts";
import { RequestBudget } from "./requests/budget.ts";
import { createCaller } from "./requests/call.ts";
import { type BadRecordReport, createClient, type ExchangeClient } from "./requests/client.ts";
import { createHttp, type Http, type HttpDispatcher } from "./requests/http.ts";
import type { SessionChange, SessionWallet } from "./session/session-parts.ts";
import { createSessions, type Sessions } from "./session/sessions.ts";
import type { SignatureEntry } from "./session/sign-in.ts";
import type { ExchangeSettings } from "./settings.ts";

export interface ExchangeOptions {
  readonly settings: Pick<ExchangeSettings, "baseUrl" | "requestsPerSecond">;
  /** The version of perpwatch. */
  readonly version: string;
  /** The machine's clock, uncorrected: the exchange's time is measured against it. */
  readonly clock: Clock;
  readonly random: Random;
  /** Sends requests. Default: connections to `baseUrl`. */
  readonly dispatcher?: HttpDispatcher | undefined;
  /** Wallets that have a key. */
  readonly wallets: readonly SessionWallet[];
  readonly store: SessionStore;
  readonly onSession: (change: SessionChange) => void;
  /** Called with problems of a session that have no effect yet; for the log. */
  readonly onTrouble: (wallet: string, detail: string) => void;
  readonly onBadRecord: (report: BadRecordReport) => void;
  /** Called when something was signed for a wallet, or refused; for the log. */
  readonly onSignature?: (wallet: string, entry: SignatureEntry) => void;
  /** See `HttpOptions`. */
  readonly onTimeRefused?: (offsetMs: number) => void;
}

export interface Exchange {
  readonly client: ExchangeClient;
  readonly sessions: Sessions;
  /** The distinct reasons why a login text or a login transaction is not signed, for people; empty: all are signed. */
  readonly loginTrouble: string;
  readonly budget: RequestBudget;
  readonly http: Http;
  /**
   * Sends requests until answers agree on the exchange's time, within a limit.
   * @throws {ExchangeError} if one is not answered; the signal's reason
   */
  readTime(limitMs: number, signal?: AbortSignal): Promise<void>;
  /** Loads sessions and maintains them; does not wait for the exchange. */
  start(): Promise<void>;
  /**
   * Waits until renewals under way are stored (at most 5 s), then ends all connections. Repeatable, also without a
   * start.
   */
  stop(): Promise<void>;
}

const beforeFigures = (reason: string) => /^\D*/.exec(reason)![0];
/** Maximum reasons of refusals in the text. */
const maxReasons = 3;
/** The order of refusals in the text. */
const loginActs = ["login text", "login transaction"] as const;

export function createExchange(options: ExchangeOptions): Exchange {
  const { settings, clock, random, version, dispatcher } = options;
  const http = createHttp({
    baseUrl: settings.baseUrl,
    version,
    clock,
    ...(dispatcher ? { dispatcher } : {}),
    onTimeRefused: options.onTimeRefused,
  });
  const budget = new RequestBudget({
    clock,
    requestsPerSecond: settings.requestsPerSecond === "auto" ? null : settings.requestsPerSecond,
  });
  const caller = createCaller({ http, budget, clock, random });
  /** Refused logins, by wallet. */
  const refused = new Map<string, { readonly act: SignatureEntry["act"]; readonly reason: string }>();
  const sessions = createSessions({
    onSignature(wallet, entry) {
      // The next signed login of the same wallet ends it: others may have an earlier trusted form.
      refused.delete(wallet);
      if (entry.refused !== null) refused.set(wallet, { act: entry.act, reason: entry.refused });
      options.onSignature?.(wallet, entry);
    },
    caller,
    clock,
    random,
    store: options.store,
    wallets: options.wallets,
    onChange: options.onSession,
    onTrouble: options.onTrouble,
  });
  const client = createClient({ caller, sessions, clock, onBadRecord: options.onBadRecord });
  return {
    client,
    sessions,
    get loginTrouble() {
      const last = [...refused].flatMap(([wallet, one]) => (sessions.of(wallet) ? [one] : []));
      const reasonsOf = (kind: SignatureEntry["act"]) =>
        last
          .flatMap(({ act, reason }) => (act === kind ? [reason] : []))
          .sort((a, b) => (beforeFigures(a) < beforeFigures(b) ? -1 : 1));
      // Reasons that differ only in a number, such as a clock difference, are one.
      const distinct = new Map(loginActs.flatMap(reasonsOf).map((one) => [beforeFigures(one), one]));
      const reasons = [...distinct.values()];
      const more = reasons.length - maxReasons;
      return [...reasons.slice(0, maxReasons), ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
    },
    budget,
    http,
    async readTime(limitMs, signal) {
      const endMs = clock.elapsedMs() + limitMs;
      for (;;) {
        await client.exchangeStatus(
          {},
          { deadlineMs: endMs - clock.elapsedMs(), ...(signal ? { signal } : {}) },
        );
        // An answer without an acceptable time will not improve with a retry.
        if (http.time.agreed || !http.time.known) return;
        if (clock.elapsedMs() + BETWEEN_SAMPLES_MS >= endMs) return;
        await clock.sleep(BETWEEN_SAMPLES_MS, signal);
      }
    },
    start: () => sessions.start(),
    async stop() {
      await sessions.stop();
      await http.close();
    },
  };
}
