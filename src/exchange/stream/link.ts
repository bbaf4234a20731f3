/**
 * One lasting stream connection: it reconnects after each loss, and subscribes again.
 *
 *              ┌────────────── wait (backoff, half of it random) ◄─────────────┐
 *              ▼                                                               │
 *   start ─► token ─► connect ─► open: subscribe, listen ─► lost: closed, dead, token expiring
 *                        │                                                     │
 *                        └─ session refused ─► another token, at once, one time ─┘
 *
 * Backoff: 500 ms, doubling to 10 s, reset once a connection held for 10 s, so that one that opens and closes
 * repeatedly is not retried twice a second. Without any stream at the exchange it retries once a minute, and if another
 * token was refused as well, after a minute, two, … ten: there may be no stream for this wallet (a firewall, a limit, a
 * role), and requests continue with a token that is known to be valid.
 *
 * Frames are read by the contract. An unreadable one is reported and does not affect the others.
 */
import type { ChannelName, SubscriptionFor } from "../../contract/index.ts";
import type { Clock, Random } from "../../domain/clock.ts";
import { cleanText, ExchangeError } from "../errors.ts";
import { type LinkAuth, rotationDueMs } from "./auth.ts";
import { endText, refusedBySession } from "./end.ts";
import { type FrameListener, type LinkFigures, StreamFrames } from "./frames.ts";
import { Liveness, type LivenessLimits } from "./liveness.ts";
import { type OpenSocket, openSocket, type SocketEnd, type StreamSocket } from "./socket.ts";
import { Subscriptions } from "./subscriptions.ts";

/**
 * The reason for a missing connection: it was lost or could not be made; the exchange refused it to this wallet
 * (`detail` is how); there is no token, which the session reports.
 */
export type DownReason = "lost" | "refused" | "signed-out";

export interface LinkOptions extends FrameListener {
  /** `wss://…/v1/ws`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The wallet of the connection; null: the common one. */
  readonly wallet: string | null;
  /** Null: anonymous. */
  readonly auth: LinkAuth | null;
  readonly clock: Clock;
  readonly random: Random;
  /** Default: a WebSocket. */
  readonly openSocket?: OpenSocket | undefined;
  readonly limits?: LivenessLimits;
  /** Called when the exchange refused a subscription of this connection. @param channel null: it does not name it */
  readonly onRefused?: (channel: ChannelName | null) => void;
  /** Called when it is open and subscriptions are sent. `again`: not for the first time. */
  readonly onUp: (again: boolean) => void;
  /** Called each time it is lost or cannot be made. */
  readonly onDown: (detail: string, why: DownReason) => void;
  /** Called when it is open without a message for a minute. */
  readonly onQuiet: () => void;
}

const maxHandshakeMs = 10_000;
const firstBackOffMs = 500;
const maxBackOffMs = 10_000;
const stableMs = 10_000;
/** The wait if the exchange has no stream, or requests a longer wait. */
const absentMs = 60_000;
const maxRefusedMs = 600_000;
/** Minimum interval of token renewals for the stream: its refusals are no reason to renew tokens that requests use. */
const renewedForMs = 600_000;
const rotationAgainMs = 5_000;

export class StreamLink {
  readonly wallet: string | null;
  readonly figures: LinkFigures = { opened: 0, frames: 0, badFrames: 0, unknownFrames: 0 };
  readonly #options: LinkOptions;
  readonly #clock: Clock;
  readonly #subscriptions = new Subscriptions();
  readonly #liveness: Liveness;
  readonly #frames: StreamFrames;
  #socket: StreamSocket | null = null;
  #open = false;
  #openedMs = 0;
  /** Wall time of the last change between open and not, ms. */
  #sinceMs: number | null = null;
  #lastDataMs: number | null = null;
  #detail = "not connected yet";
  #token: string | null = null;
  #failures = 0;
  /** True if another token was fetched for this connection: if that is refused too, the token is not the cause. */
  #renewed = false;
  #renewedMs = Number.NEGATIVE_INFINITY;
  /** Refusals in a row, with a token that was fetched for it. */
  #refusals = 0;
  /** The channel of this connection that its token was refused for. */
  #unwelcome: string | null = null;
  #running = false;
  #ended: (() => void) | null = null;
  #stopped: Promise<void> | null = null;
  #cancelWait: (() => void) | null = null;
  #cancelHandshake: (() => void) | null = null;
  #cancelRotation: (() => void) | null = null;
  #stopping = new AbortController();

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.wallet = options.wallet;
    this.#liveness = new Liveness({
      clock: options.clock,
      ...(options.limits ? { limits: options.limits } : {}),
      ping: () => this.#socket?.ping(),
      onDead: () => this.#socket?.end("nothing was heard any more, and a ping was not answered"),
      onQuiet: () => options.onQuiet(),
    });
    this.#frames = new StreamFrames({
      ...{ wallet: options.wallet, figures: this.figures, secrets: () => this.#secrets() },
      onRead: () => {
        this.#lastDataMs = this.#clock.nowMs();
        this.#liveness.dataReceived();
      },
      onMessage: (message) => options.onMessage(message),
      onMisfit: (misfit) => options.onMisfit(misfit),
      onBadFrame: (report) => options.onBadFrame(report),
    });
  }

  get connected(): boolean {
    return this.#open;
  }
  /** The reason why it is not connected, for people. */
  get detail(): string {
    return this.#detail;
  }
  /** Wall time of the last change of `connected`; null: never connected. */
  get sinceMs(): number | null {
    return this.#sinceMs;
  }
  /** Wall time of the last message of a channel, ms. */
  get lastDataMs(): number | null {
    return this.#lastDataMs;
  }
  /** Time since the last message while open, ms. */
  get quietMs(): number {
    return this.#open ? this.#liveness.quietMs : 0;
  }
  get subscriptions(): Pick<Subscriptions, "size" | "refused" | "stateOf"> {
    return this.#subscriptions;
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    void this.#connect();
  }

  /** Ends the connection without a reconnect. Repeatable. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#running = false;
    this.#stopping.abort(new Error("stopping"));
    this.#cancelWait?.();
    if (!this.#socket) return;
    const ended = new Promise<void>((resolve) => {
      this.#ended = resolve;
    });
    this.#socket.end("stopping");
    await ended;
  }

  subscribe<N extends ChannelName>(channel: N, params: SubscriptionFor<N>): void {
    const frame = this.#subscriptions.want(channel, params);
    if (frame !== null && this.#open) this.#send(frame);
  }

  unsubscribe<N extends ChannelName>(channel: N, params: SubscriptionFor<N>): void {
    const frame = this.#subscriptions.unwant(channel, params);
    if (frame !== null && this.#open) this.#send(frame);
  }

  /** Subscribes again from the beginning: a snapshot, if the channel has one. */
  resubscribe<N extends ChannelName>(channel: N, params: SubscriptionFor<N>): void {
    if (!this.#open) return;
    for (const frame of this.#subscriptions.again(channel, params)) this.#send(frame);
  }

  /** Ends the connection, which is not believed any more, and comes back. */
  restart(why: string): void {
    this.#socket?.end(why);
  }

  /** Tries at once: the reason for waiting may be over (a wallet signed in). */
  hurry(): void {
    if (!this.#running || !this.#cancelWait) return;
    this.#cancelWait();
    this.#cancelWait = null;
    void this.#connect();
  }

  /** @param refused the token instead of which another is wanted */
  async #connect(refused: string | null = null): Promise<void> {
    const { auth, url, headers } = this.#options;
    let token: string | null = null;
    if (auth) {
      const { signal } = this.#stopping;
      try {
        token = await (refused === null ? auth.access(signal) : auth.another(refused, signal));
      } catch (error) {
        if (!this.#running) return;
        const failure = error instanceof ExchangeError ? error : null;
        this.#down(failure?.message ?? "no session", false, "signed-out");
        this.#wait(Math.min(absentMs, failure?.retryAfterMs ?? 0));
        return;
      }
    }
    if (!this.#running) return;
    this.#token = token;
    const open = this.#options.openSocket ?? openSocket;
    this.#socket = open({
      url,
      token,
      headers,
      nowMs: () => this.#clock.nowMs(),
      onOpen: () => this.#opened(),
      onText: (text) => this.#text(text),
      onBinary: () => this.#frames.bad("frame", "a frame that is no text", [], null),
      onHeard: () => this.#liveness.frameReceived(),
      onEnd: (end) => this.#lost(end),
    });
    this.#cancelHandshake = this.#clock.after(maxHandshakeMs, () =>
      this.#socket?.end(`no connection within ${maxHandshakeMs / 1_000} s`),
    );
  }

  #opened(): void {
    this.#cancelHandshake?.();
    this.#open = true;
    this.#openedMs = this.#clock.elapsedMs();
    this.#sinceMs = this.#clock.nowMs();
    this.#detail = "connected";
    const again = this.figures.opened++ > 0;
    if (this.#token !== null) this.#options.auth?.accepted(this.#token);
    this.#liveness.start();
    for (const frame of this.#subscriptions.all()) this.#send(frame);
    this.#planRotation();
    this.#options.onUp(again);
  }

  #lost(end: SocketEnd): void {
    const wasOpen = this.#open;
    this.#cancelHandshake?.();
    this.#cancelRotation?.();
    this.#liveness.stop();
    this.#socket = null;
    this.#open = false;
    if (!this.#running) {
      this.#ended?.();
      return;
    }
    const nowMs = this.#clock.elapsedMs();
    if (wasOpen && nowMs - this.#openedMs >= stableMs) {
      this.#failures = this.#refusals = 0;
      if (nowMs - this.#renewedMs >= renewedForMs) this.#renewed = false;
    }
    // Another token may help.
    const refused = this.#options.auth ? (this.#unwelcome ?? refusedBySession(end, this.#secrets())) : null;
    this.#unwelcome = null;
    if (refused !== null) {
      this.#down(refused, wasOpen, "refused");
      this.#afterRefusal();
      return;
    }
    this.#down(endText(end, this.#secrets()), wasOpen, "lost");
    const absent = end.kind === "refused" && [400, 401, 403, 404, 405, 426, 501].includes(end.status);
    const asked = end.kind === "refused" ? (end.retryAfterMs ?? 0) : 0;
    this.#wait(Math.min(absentMs, Math.max(asked, absent ? absentMs : 0)));
  }

  #afterRefusal(): void {
    if (!this.#renewed) {
      this.#renewed = true;
      this.#renewedMs = this.#clock.elapsedMs();
      void this.#connect(this.#token);
      return;
    }
    this.#wait(Math.min(maxRefusedMs, absentMs * 2 ** this.#refusals));
    this.#refusals = Math.min(this.#refusals + 1, 16);
  }

  #down(detail: string, wasOpen: boolean, why: DownReason): void {
    if (wasOpen || this.#sinceMs === null) this.#sinceMs = this.#clock.nowMs();
    this.#detail = why === "refused" ? `the exchange refuses it: ${detail}` : detail;
    this.#options.onDown(detail, why);
  }

  #wait(leastMs: number): void {
    const fullMs = Math.min(maxBackOffMs, firstBackOffMs * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 16);
    const waitMs = fullMs / 2 + (fullMs / 2) * this.#options.random();
    this.#cancelWait?.();
    this.#cancelWait = this.#clock.after(leastMs + waitMs, () => {
      this.#cancelWait = null;
      void this.#connect();
    });
  }

  /** Before its token expires it comes back with the next one, which is there by then. */
  #planRotation(): void {
    const { auth } = this.#options;
    const inMs = auth?.expiresInMs() ?? null;
    if (!auth || inMs === null) return;
    const look = () => {
      const next = auth.current();
      if (next !== null && next !== this.#token) this.restart("its token was renewed");
      else this.#cancelRotation = this.#clock.after(rotationAgainMs, look);
    };
    this.#cancelRotation = this.#clock.after(rotationDueMs(inMs), look);
  }

  #send(frame: string): void {
    if (this.#socket?.send(frame) === false) this.#socket.end("the exchange does not take what is sent");
  }

  #secrets(): readonly string[] {
    return this.#token === null ? [] : [this.#token];
  }

  #text(text: string): void {
    const frame = this.#frames.read(text);
    if (frame === null) return;
    const about = this.#subscriptions.answered(frame);
    if (frame.accepted) return;
    const what = about?.channel ?? "a subscription";
    const code = frame.code ?? "";
    const said = cleanText(frame.message ?? "refused", this.#secrets());
    this.#detail = `connected; ${what} was refused: ${said}`;
    this.#options.onRefused?.(about?.channel ?? null);
    // This token does not allow the subscription that the connection is for.
    if (this.#options.auth && this.#token !== null && (code === "401" || code === "403")) {
      this.#unwelcome = `${what}: ${code} ${said}`;
      this.#socket?.end(this.#unwelcome);
    }
  }
}
