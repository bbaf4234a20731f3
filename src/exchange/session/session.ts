/**
 * The session of one wallet: provides an access token on demand, with one renewal at a time.
 *
 *                       ┌──────────── usable ◄───────────────┐
 *      refresh is due,  │                                    │ new tokens, stored before they are used
 *      or was refused   ▼                                    │
 *    reread the store ─► refresh ── invalid for good ─► sign in ┤
 *                           │                           │    │
 *                           └── cannot now ──┬──────────┘    │
 *                                            ▼               │
 *                                 back off (1 s … 60 s) ─────┘ and retry, without a limit
 *
 *  - The end of an outage or of a rate limit ends the back-off after undecided failures (no answer, 5xx, 429), but not
 *    the answer's Retry-After. A refusal backs off regardless.
 *  - One renewal at a time: further callers join it. A caller that stops waiting does not stop it.
 *  - While a refresh is not possible (network, 5xx, 429) the old access token stays in use until it expires.
 *  - A refresh token may be spent although its answer was lost. The next refresh then fails, and a sign-in follows.
 *  - A refused token is renewed; a refreshed token that is refused again leads to a sign-in; one from a sign-in that is
 *    refused again backs off. Refusals lead to at most 6 renewals a minute, regardless of the exchange's answers.
 *  - A token that only the stream refuses is renewed once and stays in use meanwhile (stream/link.ts).
 *  - A failing store does not sign a wallet out: the tokens work from memory, and are stored once the store is back.
 */
import { endpoints } from "../../contract/endpoints.ts";
import { remedyFor } from "../../contract/errors.ts";
import { SignerUnavailable, SigningRefused } from "../../signer/signer.ts";
import { ExchangeError } from "../errors.ts";
import { type Patience, waitWithin } from "../requests/patience.ts";
import { AuthRefusals } from "./auth-refusals.ts";
import { RenewalPace } from "./renewal-pace.ts";
import type { SessionChange, SessionParts, SessionWallet } from "./session-parts.ts";
import { type SignatureEntry, signIn, signInCall } from "./sign-in.ts";
import { isRefusal, isTerminal, noSession, signInError } from "./sign-in-errors.ts";
import { StoredSession } from "./stored-session.ts";
import { isFresher, refreshDueMs, type Tokens, tokensFrom, usableUntilMs } from "./tokens.ts";

/** Minimum interval of renewals by the timer, ms, even if the stated lifetime is shorter. */
const leastPlanMs = 5_000;
const maxStopMs = 5_000;
/** Interval at which a wait for the end of a back-off checks again: it may end early. */
const lookAgainMs = 1_000;

export class WalletSession {
  readonly wallet: SessionWallet;
  readonly #parts: SessionParts;
  readonly #stored: StoredSession;
  readonly #pace: RenewalPace;
  readonly #refusals: AuthRefusals;
  readonly #stop = new AbortController();
  #loading: Promise<void> | null = null;
  #tokens: Tokens | null = null;
  #source: "store" | "refresh" | "login" = "store";
  /** The time of the last new tokens, monotonic. */
  #adoptedAtMs = Number.NEGATIVE_INFINITY;
  /** True if the current access token was accepted at least once. */
  #proven = false;
  /** True if the current access token was refused. */
  #refused = false;
  /** True if a person requested the next sign-in. */
  #loginRequested = false;
  /** True if no refresh can restore this session. */
  #unrecoverable = false;
  #signedOut = false;
  #renewal: Promise<boolean> | null = null;
  /** Set if an outage ended during a renewal: if that fails, the time within which the next one starts, ms. */
  #againWithinMs: number | null = null;
  #lastError: ExchangeError | null = null;
  #reported: SessionChange | null = null;
  #running = false;
  #cancelPlan: (() => void) | null = null;

  constructor(wallet: SessionWallet, parts: SessionParts) {
    this.wallet = wallet;
    this.#parts = parts;
    this.#stored = new StoredSession(wallet, parts);
    this.#pace = new RenewalPace(parts.clock, parts.random);
    this.#refusals = new AuthRefusals(parts.clock, parts.figures);
  }

  /** True if there is a usable token now. */
  get signedIn(): boolean {
    return this.#usable() !== null;
  }

  /** Returns true if the exchange refused a sign-in or a token within this time, ms. */
  refusedWithin(ms: number): boolean {
    return this.#refusals.within(ms);
  }

  get detail(): string {
    return this.#reported?.detail ?? "not signed in yet";
  }

  /** The current tokens. */
  get secrets(): readonly string[] {
    return this.#tokens === null ? [] : [this.#tokens.access, this.#tokens.refresh];
  }

  /** The time until the access token expires, ms; null without one. */
  get expiresInMs(): number | null {
    return this.#tokens && this.#tokens.accessExpiresMs - this.#exchangeNowMs();
  }

  /** Loads the stored session, and maintains a usable one from now on. */
  async start(): Promise<void> {
    this.#running = true;
    await this.#loaded();
    this.#plan();
  }

  /** Stops renewing. Waits at most 5 s for a renewal under way, since its tokens must be stored. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#cancelPlan?.();
    this.#stored.cancel();
    if (this.#renewal) {
      const late = this.#parts.clock.after(maxStopMs, () => this.#stop.abort(new Error("stopping")));
      await this.#renewal;
      late();
    }
    this.#stop.abort(new Error("stopping"));
  }

  /** Returns a usable access token without waiting; null if there is none. Starts a due refresh. */
  peek(): string | null {
    const access = this.#usable();
    if (access !== null && this.#due()) this.#begin();
    return access;
  }

  /**
   * Returns a usable access token; signs in if there is none.
   * @throws {ExchangeError} `signed-out` if none can be had within the caller's time limit
   */
  async access(patience: Patience): Promise<string> {
    await this.#loaded();
    for (;;) {
      const access = this.peek();
      if (access !== null) return access;
      if (this.#signedOut) throw this.#none("signed out by hand");
      if (this.#stop.signal.aborted) throw this.#none("stopping");
      // New tokens are tried even if our clock shows them as expired: the exchange decides.
      if ((await this.#renewed(patience)) && this.#tokens && !this.#refused) return this.#tokens.access;
    }
  }

  /** Returns another token after a request with this one was refused, by the fastest way that can still help. */
  async recover(access: string, error: ExchangeError, patience: Patience): Promise<string> {
    this.refused(access, error);
    return this.access(patience);
  }

  /**
   * Returns the token to try next after the stream refused this one: the same if no other is available now. The cause
   * may be something other than the token, so it stays in use for requests until another is there.
   * @throws {ExchangeError} as `access`
   */
  async another(access: string, patience: Patience): Promise<string> {
    await this.#loaded();
    if (access === this.#usable()) {
      this.#refusals.note();
      // Waiting callers have a token meanwhile.
      await this.#renewed(patience).catch(() => false);
    }
    return this.access(patience);
  }

  /** Notes that a request with this token was refused. The renewal starts at the next demand, or by the timer. */
  refused(access: string, error: ExchangeError): void {
    // Others may have been refused with it before, and it is replaced already.
    if (access !== this.#tokens?.access || this.#refused) return;
    this.#refusals.note();
    this.#refused = true;
    this.#lastError = error;
    if (remedyFor(error.status ?? 401, error.code) === "login") this.#unrecoverable = true;
    if (!this.#proven && this.#source !== "store") {
      this.#unrecoverable = true;
      if (this.#source === "login") this.#pace.backOff(error);
    }
    this.#pace.holdRecoveries();
    this.#plan();
  }

  /** Notes that a request with this token was accepted. */
  accepted(access: string): void {
    if (access !== this.#tokens?.access || this.#refused || this.#proven) return;
    this.#proven = true;
    this.#pace.succeeded();
  }

  /** Called when the exchange answers again: an undecided renewal is retried within this time, ms. */
  tryAgain(withinMs: number): void {
    if (this.#renewal) {
      this.#againWithinMs = withinMs;
      return;
    }
    if (!this.#pace.endEarly(withinMs)) return;
    this.#plan();
  }

  /** Signs in again, regardless of the current state. @throws {ExchangeError} if that is not possible now */
  async login(patience: Patience): Promise<void> {
    await this.#loaded();
    if (this.#renewal) await this.#renewal;
    this.#signedOut = false;
    this.#unrecoverable = this.#refused = this.#loginRequested = true;
    this.#pace.hurry();
    await this.access(patience);
  }

  /**
   * Revokes the session at the exchange and deletes it; no sign-in follows until `login` or the next start.
   * @throws {ExchangeError} if the exchange could not be reached; the session is deleted anyway
   */
  async logout(): Promise<void> {
    await this.#loaded();
    this.#signedOut = true;
    this.#cancelPlan?.();
    this.#stored.cancel();
    if (this.#renewal) await this.#renewal;
    const tokens = this.#tokens;
    this.#tokens = null;
    this.#stored.outdated();
    try {
      if (tokens) {
        const options = { ...signInCall(this.#stop.signal), bearer: tokens.access };
        await this.#parts.caller.call(endpoints.logout, {}, options);
      }
    } catch (error) {
      const nothingThere = error instanceof ExchangeError && (error.status === 401 || error.status === 404);
      if (!nothingThere) throw error;
    } finally {
      await this.#stored.remove();
      this.#report(false, "signed out");
    }
  }

  /** Joins the renewal under way or starts one, once backing off is over. @returns true if it gave new tokens */
  async #renewed(patience: Patience): Promise<boolean> {
    const { clock } = this.#parts;
    const { endMs, signal } = patience;
    signal?.throwIfAborted();
    if (!this.#renewal) {
      const waitMs = this.#pace.notBeforeMs - clock.elapsedMs();
      if (waitMs > 0) {
        if (this.#pace.notBeforeMs >= endMs) throw this.#none("waits before it tries again", waitMs);
        await clock.sleep(Math.min(waitMs, lookAgainMs), signal);
        return false;
      }
      this.#begin();
    }
    const renewal = this.#renewal ?? Promise.resolve(false);
    return waitWithin(renewal, patience, clock, () => this.#none("is still signing in"));
  }

  #begin(): void {
    if (this.#renewal || this.#signedOut || this.#stop.signal.aborted) return;
    if (this.#parts.clock.elapsedMs() < this.#pace.notBeforeMs) return;
    this.#cancelPlan?.();
    this.#renewal = this.#renew().then(
      () => true,
      (error: unknown) => {
        this.#failed(error);
        return false;
      },
    );
    void this.#renewal.then(() => {
      this.#renewal = null;
      const withinMs = this.#againWithinMs;
      this.#againWithinMs = null;
      if (withinMs !== null) this.tryAgain(withinMs);
      this.#plan();
    });
  }

  async #renew(): Promise<void> {
    const { caller, figures } = this.#parts;
    const signal = this.#stop.signal;
    if (this.#tokens === null && !this.#loginRequested) {
      await this.#loaded();
      if (this.#usable() !== null) return;
    }
    const old = this.#tokens;
    let why = this.#refused && !this.#loginRequested ? (this.#lastError?.code ?? "refused") : null;
    this.#loginRequested = false;
    if (old && !this.#unrecoverable) {
      const stored = await this.#stored.read();
      if (stored !== null && stored !== "unavailable" && isFresher(stored, old)) {
        this.#adopt(stored, "store");
        return;
      }
      if (old.refreshExpiresMs > this.#exchangeNowMs()) {
        try {
          const bearer = this.#usable();
          const answer = await caller.call(
            endpoints.refresh,
            { refreshToken: old.refresh },
            { ...signInCall(signal), bearer },
          );
          figures.refreshes++;
          await this.#keep(tokensFrom(answer.record, this.#exchangeNowMs()), "refresh");
          this.#pace.succeeded();
          return;
        } catch (error) {
          // A refresh that stays impossible is replaced by a sign-in once no usable token is left.
          if (!isTerminal(error) && (this.#usable() !== null || this.#pace.failures < 2)) throw error;
          if (isRefusal(error)) this.#refusals.note();
          why = error instanceof ExchangeError ? (error.code ?? String(error.status)) : null;
        }
      } else why = "refresh_expired";
      this.#unrecoverable = true;
    }
    const { name, key, login } = this.wallet;
    const { onSignature } = this.#parts;
    const signing = {
      ...{ caller, exchangeNowMs: () => this.#exchangeNowMs() },
      onSignature: (entry: SignatureEntry) => onSignature(name, entry),
    };
    const session = await signIn(signing, key, login, signal);
    figures.logins++;
    await this.#keep(tokensFrom(session, this.#exchangeNowMs()), "login");
    this.#report(true, why === null ? `signed in by ${this.wallet.login}` : `signed in again after ${why}`);
  }

  #failed(thrown: unknown): void {
    if (this.#stop.signal.aborted) return;
    const error = signInError(thrown, this.wallet.key.address);
    // An unsigned text has an alert of its own, and so has an unavailable signer.
    const isOwn = thrown instanceof SigningRefused || thrown instanceof SignerUnavailable;
    if (isRefusal(error) && !isOwn) this.#refusals.note();
    this.#lastError = error;
    this.#pace.backOff(error, thrown instanceof SignerUnavailable);
    if (this.#usable() === null) this.#report(false, error.message);
  }

  /** Sets the timer for the next step: a refresh, or another try. */
  #plan(): void {
    this.#cancelPlan?.();
    this.#cancelPlan = null;
    if (!this.#running || this.#signedOut || this.#renewal) return;
    const { clock } = this.#parts;
    const heldMs = this.#pace.notBeforeMs - clock.elapsedMs();
    // The timer does not renew a new token at once, even if its lifetime is short.
    const restedMs = this.#adoptedAtMs + leastPlanMs - clock.elapsedMs();
    const dueMs =
      this.#usable() === null ? 0 : Math.max(refreshDueMs(this.#tokens!) - this.#exchangeNowMs(), restedMs);
    this.#cancelPlan = clock.after(Math.max(heldMs, dueMs, 0), () => {
      this.#cancelPlan = null;
      this.#begin();
    });
  }

  #exchangeNowMs(): number {
    return this.#parts.caller.http.time.nowMs();
  }

  #usable(): string | null {
    const tokens = this.#tokens;
    return tokens && !this.#refused && this.#exchangeNowMs() < usableUntilMs(tokens) ? tokens.access : null;
  }

  #due(): boolean {
    return this.#tokens !== null && this.#exchangeNowMs() >= refreshDueMs(this.#tokens);
  }

  /** Stores new tokens, then uses them. */
  async #keep(tokens: Tokens, source: "refresh" | "login"): Promise<void> {
    await this.#stored.keep(tokens);
    this.#adopt(tokens, source);
  }

  #adopt(tokens: Tokens, source: "store" | "refresh" | "login"): void {
    const wasOut = this.#reported?.signedIn === false;
    this.#tokens = tokens;
    this.#source = source;
    this.#proven = this.#refused = this.#unrecoverable = false;
    if (source === "store") this.#stored.outdated();
    else this.#adoptedAtMs = this.#parts.clock.elapsedMs();
    if (source === "store" && (this.#reported === null || wasOut)) this.#report(true, "session restored");
    else if (source === "refresh" && wasOut) this.#report(true, "session refreshed");
  }

  #loaded(): Promise<void> {
    this.#loading ??= this.#stored.read().then((stored) => {
      // Read again when the signer is available.
      if (stored === "unavailable") this.#loading = null;
      else if (stored && stored.refreshExpiresMs > this.#exchangeNowMs()) this.#adopt(stored, "store");
    });
    return this.#loading;
  }

  #none(state: string, retryAfterMs: number | null = null): ExchangeError {
    return noSession(`${this.wallet.name} ${state}`, this.#lastError, retryAfterMs);
  }

  #report(signedIn: boolean, detail: string): void {
    if (!signedIn && this.#reported?.signedIn === false && this.#reported.detail === detail) return;
    this.#reported = { wallet: this.wallet.name, signedIn, detail };
    this.#parts.onChange(this.#reported);
  }
}
