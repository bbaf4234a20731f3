/**
 * The session of one wallet: an access token whenever somebody needs one, obtained in one way at a time.
 *
 *                       ┌──────────── usable ◄───────────────┐
 *      refresh is due,  │                                    │ new tokens, stored before they are used
 *      or was refused   ▼                                    │
 *    reread the store ─► refresh ── gone for good ─► sign in ┤
 *                           │                           │    │
 *                           └── cannot now ──┬──────────┘    │
 *                                            ▼               │
 *                                 back off (1 s … 60 s) ─────┘ and again, for ever
 *
 *  - The end of an outage or of a rate limit ends the back-off from what nobody decided about (no answer, 5xx, 429), but
 *    for the Retry-After of the answer. What was refused backs off all the same.
 *  - One renewal at a time, however many callers: they join it. Giving up on waiting does not stop it.
 *  - While a refresh cannot be done (network, 5xx, 429) the old access token stays in use until it expires.
 *  - A refresh token may be spent although its answer was lost. The next refresh then says so, and we sign in.
 *  - A refused token is renewed; a token that was refreshed and is refused again leads to a sign-in; one that was signed
 *    in for and is refused again backs off. Refusals lead to at most 6 renewals a minute, whatever the exchange does.
 *  - A token that only the stream refuses is renewed once and stays in use meanwhile (stream-link.ts).
 *  - A store that fails does not sign a wallet out: the tokens work from memory, and are stored as soon as it is back.
 */
import { endpoints } from "../contract/endpoints.ts";
import { remedyFor } from "../contract/errors.ts";
import type { Clock, Random } from "../domain/clock.ts";
import type { SessionStore } from "../domain/ports.ts";
import { SignerUnavailable, SigningRefused, type WalletSigner } from "../signer/signer.ts";
import { open, seal } from "../wallet/seal.ts";
import type { Caller } from "./call.ts";
import { cleanText, ExchangeError } from "./errors.ts";
import { type LoginKind, type SignatureEntry, signIn, signInCall } from "./sign-in.ts";
import { fromStored, refreshDueMs, storedForm, type Tokens, tokensFrom, usableUntilMs } from "./tokens.ts";

export interface SessionWallet {
  /** As configured. */
  readonly name: string;
  readonly key: WalletSigner;
  readonly login: LoginKind;
}

export interface SessionChange {
  readonly wallet: string;
  readonly signedIn: boolean;
  /** For people; never a secret. */
  readonly detail: string;
}

/** The counts of all sessions together. */
export interface SessionFigures {
  /** Refused access tokens, refreshes and sign-ins; what got no answer, 5xx or 429 is none. */
  authFailures: number;
  /** Those that came more than a minute after their wallet's first within 15 min: a restart of the exchange causes none. */
  repeatedAuthFailures: number;
  logins: number;
  refreshes: number;
}

export interface SessionParts {
  readonly caller: Caller;
  readonly store: SessionStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly figures: SessionFigures;
  /** Something was signed for a wallet, or refused. */
  readonly onSignature: (wallet: string, entry: SignatureEntry) => void;
  /** Signed in, signed in anew, or out and unable to get in. */
  readonly onChange: (change: SessionChange) => void;
  /** Something of no consequence yet that people should know: a store that fails, stored bytes that do not open. */
  readonly onTrouble: (wallet: string, detail: string) => void;
}

/** Maximum time for which a caller waits for a token. */
export interface Patience {
  /** Monotonic, ms. */
  readonly endMs: number;
  readonly signal?: AbortSignal | undefined;
}

const FIRST_BACKOFF_MS = 1_000;
const LONGEST_BACKOFF_MS = 60_000;
/** Between renewals by the timer, whatever lifetime the exchange states. */
const SHORTEST_PLAN_MS = 5_000;
const MOST_RECOVERIES = 6;
const RECOVERIES_MS = 60_000;
/** Refusals no further apart belong together, ms. */
const REFUSALS_APART_MS = 900_000;
/** One session that is lost costs up to three refusals, of its token, its refresh and a sign-in, within this time, ms. */
const ONE_LOSS_MS = 60_000;
const SAVE_AGAIN_MS = 5_000;
const STOP_MS = 5_000;
/** A wait for the end of a back-off looks again so often: it may end early. */
const LOOK_AGAIN_MS = 1_000;

export class WalletSession {
  readonly wallet: SessionWallet;
  readonly #parts: SessionParts;
  readonly #stop = new AbortController();
  #loading: Promise<void> | null = null;
  #sealing: Promise<Uint8Array> | null = null;
  #tokens: Tokens | null = null;
  #source: "store" | "refresh" | "login" = "store";
  /** The time at which the exchange last gave us tokens, monotonic. */
  #adoptedAtMs = Number.NEGATIVE_INFINITY;
  /** The current access token was accepted at least once. */
  #proven = false;
  /** The current access token was refused. */
  #refused = false;
  /** A person asked for the sign-in that follows. */
  #asked = false;
  /** No refresh can save this session. */
  #gone = false;
  #signedOut = false;
  #renewal: Promise<boolean> | null = null;
  #failures = 0;
  /** No renewal is begun before, monotonic ms. */
  #notBeforeMs = 0;
  /** Nor before this, whatever answers meanwhile: refusals, and what the exchange asked for, monotonic ms. */
  #heldUntilMs = 0;
  /** An outage ended while a renewal was under way: if that fails, time within which the next one begins, ms. */
  #againWithinMs: number | null = null;
  #recoveriesMs: number[] = [];
  /** The last refusal that counts, monotonic ms. */
  #refusedMs = Number.NEGATIVE_INFINITY;
  #firstRefusedMs = 0;
  #lastError: ExchangeError | null = null;
  #told: SessionChange | null = null;
  #running = false;
  #cancelPlan: (() => void) | null = null;
  #cancelSave: (() => void) | null = null;

  constructor(wallet: SessionWallet, parts: SessionParts) {
    this.wallet = wallet;
    this.#parts = parts;
  }

  /** True if there is a token to use now. */
  get signedIn(): boolean {
    return this.#usable() !== null;
  }

  /** True if the exchange refused a sign-in or a token of it within so long, ms. */
  refusedWithin(ms: number): boolean {
    return this.#parts.clock.elapsedMs() - this.#refusedMs <= ms;
  }

  get detail(): string {
    return this.#told?.detail ?? "not signed in yet";
  }

  /** The tokens that it holds now. */
  get secrets(): readonly string[] {
    return this.#tokens === null ? [] : [this.#tokens.access, this.#tokens.refresh];
  }

  /** ms until the access token expires; null without one. */
  get expiresInMs(): number | null {
    return this.#tokens && this.#tokens.accessExpiresMs - this.#exchangeNowMs();
  }

  /** Loads the stored session, and keeps a usable one from now on. */
  async start(): Promise<void> {
    this.#running = true;
    await this.#loaded();
    this.#plan();
  }

  /** Stops renewing. A renewal under way is let finish, for its tokens must be stored; at most 5 s. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#cancelPlan?.();
    this.#cancelSave?.();
    if (this.#renewal) {
      const late = this.#parts.clock.after(STOP_MS, () => this.#stop.abort(new Error("stopping")));
      await this.#renewal;
      late();
    }
    this.#stop.abort(new Error("stopping"));
  }

  /** A usable access token without waiting; null when there is none. A due refresh is begun. */
  peek(): string | null {
    const access = this.#usable();
    if (access !== null && this.#due()) this.#begin();
    return access;
  }

  /**
   * A usable access token; signs in when there is none.
   * @throws {ExchangeError} `signed-out` when none can be had within the caller's patience
   */
  async access(patience: Patience): Promise<string> {
    await this.#loaded();
    for (;;) {
      const access = this.peek();
      if (access !== null) return access;
      if (this.#signedOut) throw this.#none("signed out by hand");
      if (this.#stop.signal.aborted) throw this.#none("stopping");
      // Fresh tokens are tried even when our clock calls them expired: the exchange knows better.
      if ((await this.#renewed(patience)) && this.#tokens && !this.#refused) return this.#tokens.access;
    }
  }

  /** A request with this token was refused: another token, by the shortest way that can still help. */
  async recover(access: string, error: ExchangeError, patience: Patience): Promise<string> {
    this.refused(access, error);
    return this.access(patience);
  }

  /**
   * The stream refused this token. That may be for other reasons than the token, so it stays in use for requests until
   * another is there. @returns the token to try next: the same where no other can be had now
   * @throws {ExchangeError} as `access`
   */
  async another(access: string, patience: Patience): Promise<string> {
    await this.#loaded();
    if (access === this.#usable()) {
      this.#noteRefusal();
      // Whoever waits for its turn has a token meanwhile.
      await this.#renewed(patience).catch(() => false);
    }
    return this.access(patience);
  }

  /** A request with this token was refused. Renewing is begun when somebody next asks, or by the timer. */
  refused(access: string, error: ExchangeError): void {
    // Others may have been refused with it before, and it is replaced already.
    if (access !== this.#tokens?.access || this.#refused) return;
    this.#noteRefusal();
    this.#refused = true;
    this.#lastError = error;
    if (remedyFor(error.status ?? 401, error.code) === "login") this.#gone = true;
    if (!this.#proven && this.#source !== "store") {
      this.#gone = true;
      if (this.#source === "login") this.#backOff(error);
    }
    this.#holdRecoveries();
    this.#plan();
  }

  /** A request with this token was accepted. */
  accepted(access: string): void {
    if (access !== this.#tokens?.access || this.#refused || this.#proven) return;
    this.#proven = true;
    this.#failures = 0;
  }

  /** The exchange answers again: a renewal that it did not decide about is tried again within this time, ms. */
  tryAgain(withinMs: number): void {
    if (this.#renewal) {
      this.#againWithinMs = withinMs;
      return;
    }
    const { clock, random } = this.#parts;
    const soonMs = Math.max(clock.elapsedMs() + random() * withinMs, this.#heldUntilMs);
    if (soonMs >= this.#notBeforeMs) return;
    this.#notBeforeMs = soonMs;
    this.#plan();
  }

  /** Signs in anew, whatever there is. @throws {ExchangeError} when it cannot be done now */
  async login(patience: Patience): Promise<void> {
    await this.#loaded();
    if (this.#renewal) await this.#renewal;
    this.#signedOut = false;
    this.#gone = this.#refused = this.#asked = true;
    this.#notBeforeMs = this.#heldUntilMs = 0;
    await this.access(patience);
  }

  /**
   * Revokes the session at the exchange and forgets it; no sign-in follows until `login` or the next start.
   * @throws {ExchangeError} when the exchange could not be told; the session is forgotten all the same
   */
  async logout(): Promise<void> {
    await this.#loaded();
    this.#signedOut = true;
    this.#cancelPlan?.();
    this.#cancelSave?.();
    if (this.#renewal) await this.#renewal;
    const tokens = this.#tokens;
    this.#tokens = null;
    try {
      if (tokens) {
        const options = { ...signInCall(this.#stop.signal), bearer: tokens.access };
        await this.#parts.caller.call(endpoints.logout, {}, options);
      }
    } catch (error) {
      const nothingThere = error instanceof ExchangeError && (error.status === 401 || error.status === 404);
      if (!nothingThere) throw error;
    } finally {
      await this.#parts.store.remove(this.wallet.name);
      this.#tell(false, "signed out");
    }
  }

  // ── renewing ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Joins the renewal under way or begins one, once backing off is over. @returns whether it gave new tokens */
  async #renewed(patience: Patience): Promise<boolean> {
    const { clock } = this.#parts;
    const { endMs, signal } = patience;
    signal?.throwIfAborted();
    if (!this.#renewal) {
      const waitMs = this.#notBeforeMs - clock.elapsedMs();
      if (waitMs > 0) {
        if (this.#notBeforeMs >= endMs) throw this.#none("waits before it tries again", waitMs);
        await clock.sleep(Math.min(waitMs, LOOK_AGAIN_MS), signal);
        return false;
      }
      this.#begin();
    }
    const renewal = this.#renewal ?? Promise.resolve(false);
    return new Promise((resolve, reject) => {
      const cancel = clock.after(Math.max(0, endMs - clock.elapsedMs()), () => {
        signal?.removeEventListener("abort", onAbort);
        reject(this.#none("is still signing in"));
      });
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      void renewal.then((renewed) => {
        cancel();
        signal?.removeEventListener("abort", onAbort);
        resolve(renewed);
      });
    });
  }

  #begin(): void {
    if (this.#renewal || this.#signedOut || this.#stop.signal.aborted) return;
    if (this.#parts.clock.elapsedMs() < this.#notBeforeMs) return;
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
    if (this.#tokens === null && !this.#asked) {
      await this.#loaded();
      if (this.#usable() !== null) return;
    }
    const old = this.#tokens;
    let why = this.#refused && !this.#asked ? (this.#lastError?.code ?? "refused") : null;
    this.#asked = false;
    if (old && !this.#gone) {
      const stored = await this.#read();
      if (
        stored !== null &&
        stored !== "sealed" &&
        stored.access !== old.access &&
        stored.accessExpiresMs > old.accessExpiresMs
      ) {
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
          this.#failures = 0;
          return;
        } catch (error) {
          // A refresh that cannot be done for long is worth a sign-in once nothing else is left to use.
          if (!isTerminal(error) && (this.#usable() !== null || this.#failures < 2)) throw error;
          if (isRefusal(error)) this.#noteRefusal();
          why = error instanceof ExchangeError ? (error.code ?? String(error.status)) : null;
        }
      } else why = "refresh_expired";
      this.#gone = true;
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
    this.#tell(true, why === null ? `signed in by ${this.wallet.login}` : `signed in again after ${why}`);
  }

  #failed(thrown: unknown): void {
    if (this.#stop.signal.aborted) return;
    const error =
      thrown instanceof ExchangeError
        ? thrown
        : new ExchangeError({
            endpoint: "loginWallet",
            reason: "signed-out",
            what: `cannot sign in as ${this.wallet.key.address}: ${cleanText(reasonOf(thrown))}`,
            sent: false,
          });
    // A text that is not signed here has an alert of its own, and so has a signer that cannot be asked.
    const isOwn = thrown instanceof SigningRefused || thrown instanceof SignerUnavailable;
    if (isRefusal(error) && !isOwn) this.#noteRefusal();
    this.#lastError = error;
    this.#backOff(error, thrown instanceof SignerUnavailable);
    if (this.#usable() === null) this.#tell(false, error.message);
  }

  #noteRefusal(): void {
    const { clock, figures } = this.#parts;
    const nowMs = clock.elapsedMs();
    figures.authFailures++;
    if (nowMs - this.#refusedMs > REFUSALS_APART_MS) this.#firstRefusedMs = nowMs;
    this.#refusedMs = nowMs;
    if (nowMs - this.#firstRefusedMs > ONE_LOSS_MS) figures.repeatedAuthFailures++;
  }

  /** @param isSigners no exchange refused anything: the wait ends when the signer is there */
  #backOff(error: ExchangeError, isSigners = false): void {
    const { clock, random } = this.#parts;
    const jitter = 0.85 + 0.3 * random();
    const delayMs = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** this.#failures) * jitter;
    this.#failures = Math.min(this.#failures + 1, 16);
    const askedMs = Math.min(LONGEST_BACKOFF_MS, error.retryAfterMs ?? 0);
    const waitMs = Math.max(delayMs, askedMs);
    this.#wait(waitMs, isRefusal(error) && !isSigners ? waitMs : askedMs, clock.elapsedMs());
  }

  /** Refusals that alternate with successes would renew without end: a minute holds only so many. */
  #holdRecoveries(): void {
    const nowMs = this.#parts.clock.elapsedMs();
    this.#recoveriesMs = [...this.#recoveriesMs.filter((ms) => ms > nowMs - RECOVERIES_MS), nowMs];
    const first = this.#recoveriesMs.at(-1 - MOST_RECOVERIES);
    if (first !== undefined) this.#wait(RECOVERIES_MS, RECOVERIES_MS, first);
  }

  /** @param heldMs the part of it that nothing ends early, ms */
  #wait(ms: number, heldMs: number, fromMs: number): void {
    this.#notBeforeMs = Math.max(this.#notBeforeMs, fromMs + ms);
    this.#heldUntilMs = Math.max(this.#heldUntilMs, fromMs + heldMs);
  }

  /** Sets the timer for what is due next: a refresh, or another try. */
  #plan(): void {
    this.#cancelPlan?.();
    this.#cancelPlan = null;
    if (!this.#running || this.#signedOut || this.#renewal) return;
    const { clock } = this.#parts;
    const heldMs = this.#notBeforeMs - clock.elapsedMs();
    // A token that was just renewed is not renewed again by the timer at once, however short its life.
    const restedMs = this.#adoptedAtMs + SHORTEST_PLAN_MS - clock.elapsedMs();
    const dueMs =
      this.#usable() === null ? 0 : Math.max(refreshDueMs(this.#tokens!) - this.#exchangeNowMs(), restedMs);
    this.#cancelPlan = clock.after(Math.max(heldMs, dueMs, 0), () => {
      this.#cancelPlan = null;
      this.#begin();
    });
  }

  // ── tokens ──────────────────────────────────────────────────────────────────────────────────────────────────────

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

  #adopt(tokens: Tokens, source: "store" | "refresh" | "login"): void {
    const wasOut = this.#told?.signedIn === false;
    this.#tokens = tokens;
    this.#source = source;
    this.#proven = this.#refused = this.#gone = false;
    if (source !== "store") this.#adoptedAtMs = this.#parts.clock.elapsedMs();
    if (source === "store" && (this.#told === null || wasOut)) this.#tell(true, "session restored");
    else if (source === "refresh" && wasOut) this.#tell(true, "session refreshed");
  }

  /** Writes new tokens down, then uses them. */
  async #keep(tokens: Tokens, source: "refresh" | "login"): Promise<void> {
    try {
      await this.#save(tokens);
    } catch (error) {
      this.#parts.onTrouble(
        this.wallet.name,
        `session could not be stored: ${error instanceof Error ? cleanText(error.message) : "failed"}`,
      );
      this.#saveLater(tokens);
    }
    this.#adopt(tokens, source);
  }

  async #save(tokens: Tokens): Promise<void> {
    const { name, key } = this.wallet;
    await this.#parts.store.save(name, seal(await this.#sealKey(), key.address, storedForm(tokens)));
    this.#cancelSave?.();
    this.#cancelSave = null;
  }

  /** Asked for once: a session stays readable while the signer is away. */
  #sealKey(): Promise<Uint8Array> {
    this.#sealing ??= this.wallet.key.sessionKey().catch((error: unknown) => {
      this.#sealing = null;
      throw error;
    });
    return this.#sealing;
  }

  #saveLater(tokens: Tokens): void {
    this.#cancelSave?.();
    this.#cancelSave = this.#parts.clock.after(SAVE_AGAIN_MS, () => {
      if (this.#tokens !== tokens) return;
      this.#save(tokens).catch(() => this.#saveLater(tokens));
    });
  }

  #loaded(): Promise<void> {
    this.#loading ??= this.#read().then((stored) => {
      // Read again when the signer is there.
      if (stored === "sealed") this.#loading = null;
      else if (stored && stored.refreshExpiresMs > this.#exchangeNowMs()) this.#adopt(stored, "store");
    });
    return this.#loading;
  }

  /** The stored session; null when there is none that can be read; "sealed" while the signer cannot be asked for its key. */
  async #read(): Promise<Tokens | "sealed" | null> {
    const { store, onTrouble } = this.#parts;
    const { name, key } = this.wallet;
    try {
      const sealed = await store.load(name);
      return sealed && fromStored(open(await this.#sealKey(), key.address, sealed));
    } catch (error) {
      if (error instanceof SignerUnavailable) return "sealed";
      onTrouble(name, "the stored session cannot be read; a new one replaces it");
      return null;
    }
  }

  // ── telling ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The error for a caller who cannot have a token. */
  #none(state: string, retryAfterMs: number | null = null): ExchangeError {
    const last = this.#lastError ? ` (${this.#lastError.message})` : "";
    return new ExchangeError({
      endpoint: "session",
      reason: sessionReason(this.#lastError),
      code: "no_auth_session",
      what: `${this.wallet.name} ${state}${last}`,
      retryAfterMs,
      sent: false,
    });
  }

  #tell(signedIn: boolean, detail: string): void {
    if (!signedIn && this.#told?.signedIn === false && this.#told.detail === detail) return;
    this.#told = { wallet: this.wallet.name, signedIn, detail };
    this.#parts.onChange(this.#told);
  }
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof SigningRefused && thrown.see !== "") return `${thrown.message}; see: ${thrown.see}`;
  return thrown instanceof Error ? thrown.message : "failed";
}

/** An exchange that cannot be reached is not a session that was lost. */
function sessionReason(error: ExchangeError | null): ExchangeError["reason"] {
  return error?.retryable ? error.reason : "signed-out";
}

/** Returns true if the exchange, or this program itself, refused to sign in; false if nobody decided. */
function isRefusal(error: unknown): boolean {
  return !(error instanceof ExchangeError && error.retryable);
}

/** The refresh token will never work again. 409, 429, 5xx and silence say nothing about it. */
function isTerminal(error: unknown): boolean {
  if (!(error instanceof ExchangeError) || error.status === null) return false;
  if (error.reason === "bad-record") return true;
  if (remedyFor(error.status, error.code) === "login") return true;
  return error.status >= 400 && error.status < 500 && ![408, 409, 425, 429].includes(error.status);
}
