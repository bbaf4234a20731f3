/**
 * One lasting connection to the stream: it comes back whenever it is lost, and says each time what was wished for.
 *
 *              ┌────────────── wait (backoff, half of it chance) ◄─────────────┐
 *              ▼                                                               │
 *   start ─► token ─► connect ─► open: subscribe, listen ─► lost: closed, dead, token worn out
 *                        │                                                     │
 *                        └─ refused for the session's sake ─► another token, at once, one time ─┘
 *
 * Backoff: 500 ms, doubling to 10 s, begun anew once a connection held for 10 s, so that one that opens and closes in a
 * circle is not asked for twice a second. Where there is no stream at all it is looked for once a minute, and where another
 * token was refused as well, after a minute, two, … ten: there may be no stream for this wallet (a firewall, a limit, a
 * role), and requests go on with a token that they know to be good.
 *
 * Frames are read by the contract. One that cannot be read is reported and costs only itself.
 */
import {
  type ChannelName,
  type InboundFrame,
  parseJson,
  readFrame,
  type SubscriptionFor,
  sessionRefused,
} from "../contract/index.ts";
import type { Clock, Random } from "../domain/clock.ts";
import { hideSecretsAtBeginning } from "../domain/hidden-secrets.ts";
import type { BadRecordReport } from "./client.ts";
import { cleanText, ExchangeError, errorCode } from "./errors.ts";
import { type LinkAuth, rotationDueMs } from "./stream-auth.ts";
import { Liveness, type LivenessLimits } from "./stream-liveness.ts";
import { type OpenSocket, openSocket, type SocketEnd, type StreamSocket } from "./stream-socket.ts";
import { Subscriptions } from "./stream-subscriptions.ts";

export type StreamMessage = Extract<InboundFrame, { kind: "message" }>;
export type StreamMisfit = Extract<InboundFrame, { kind: "misfit" }>;

/**
 * The reason for a missing connection: it was lost or not to be had; the exchange refused it to this wallet (`detail` is
 * how); no token to come with, of which the session tells.
 */
export type DownReason = "lost" | "refused" | "signed-out";

export interface LinkOptions {
  /** `wss://…/v1/ws`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The wallet of the connection; null: the one that is nobody's. */
  readonly wallet: string | null;
  /** Null: anonymous. */
  readonly auth: LinkAuth | null;
  readonly clock: Clock;
  readonly random: Random;
  /** Default: a WebSocket. */
  readonly openSocket?: OpenSocket | undefined;
  readonly limits?: LivenessLimits;
  readonly onMessage: (message: StreamMessage) => void;
  /** A message of a known channel that does not fit or could not be taken: something was told and is lost. */
  readonly onMisfit: (misfit: StreamMisfit) => void;
  /** The exchange refused a subscription of this connection. @param channel null: it does not say which */
  readonly onRefused?: (channel: ChannelName | null) => void;
  /** Open, and subscriptions are sent. `again`: not for the first time. */
  readonly onUp: (again: boolean) => void;
  /** Lost, or not to be had. Told each time. */
  readonly onDown: (detail: string, why: DownReason) => void;
  /** Open, and no message for a minute. */
  readonly onQuiet: () => void;
  readonly onBadFrame: (report: BadRecordReport) => void;
}

const HANDSHAKE_MS = 10_000;
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 10_000;
const STABLE_MS = 10_000;
/** The wait where the exchange has no stream, or does not want to be asked so soon. */
const ABSENT_MS = 60_000;
const LONGEST_REFUSED_MS = 600_000;
/** Between two tokens that the stream asks for: it is no reason to renew what requests are answered with. */
const RENEWED_FOR_MS = 600_000;
const ROTATION_AGAIN_MS = 5_000;
const MOST_KEPT_FRAME = 65_536;

export interface LinkFigures {
  /** Times that it was open. */
  opened: number;
  frames: number;
  badFrames: number;
  /** The number of frames of unknown channels; kept out, not wrong. */
  unknownFrames: number;
}

export class StreamLink {
  readonly wallet: string | null;
  readonly figures: LinkFigures = { opened: 0, frames: 0, badFrames: 0, unknownFrames: 0 };
  readonly #options: LinkOptions;
  readonly #clock: Clock;
  readonly #subscriptions = new Subscriptions();
  readonly #liveness: Liveness;
  #socket: StreamSocket | null = null;
  #open = false;
  #openedMs = 0;
  /** Wall time of the last change between open and not, ms. */
  #sinceMs: number | null = null;
  #lastToldMs: number | null = null;
  #detail = "not connected yet";
  #token: string | null = null;
  #failures = 0;
  /** Another token was fetched for this connection: when it is refused again, tokens are not what is wrong. */
  #renewed = false;
  #renewedMs = Number.NEGATIVE_INFINITY;
  /** In a row, with a token that was fetched for it. */
  #refusals = 0;
  /** The channel of this connection that was refused to its token. */
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
  }

  get connected(): boolean {
    return this.#open;
  }
  /** For people; why it is not connected. */
  get detail(): string {
    return this.#detail;
  }
  /** Wall time since which it is, or is not, connected; null: never was. */
  get sinceMs(): number | null {
    return this.#sinceMs;
  }
  /** Wall time of the last message of a channel, ms. */
  get lastToldMs(): number | null {
    return this.#lastToldMs;
  }
  /** Since the last message while open, ms. */
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

  /** Ends the connection and comes no more. Repeatable. */
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

  /** Asks to be told from the beginning: a snapshot, where the channel has one. */
  resubscribe<N extends ChannelName>(channel: N, params: SubscriptionFor<N>): void {
    if (!this.#open) return;
    for (const frame of this.#subscriptions.again(channel, params)) this.#send(frame);
  }

  /** Ends the connection, which is not believed any more, and comes back. */
  restart(why: string): void {
    this.#socket?.end(why);
  }

  /** Tries at once: the reason for waiting may be gone (a wallet signed in). */
  hurry(): void {
    if (!this.#running || !this.#cancelWait) return;
    this.#cancelWait();
    this.#cancelWait = null;
    void this.#connect();
  }

  // ── coming and going ────────────────────────────────────────────────────────────────────────────────────────────

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
        this.#wait(Math.min(ABSENT_MS, failure?.retryAfterMs ?? 0));
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
      onBinary: () => this.#bad("frame", "a frame that is no text", [], null),
      onHeard: () => this.#liveness.heard(),
      onEnd: (end) => this.#lost(end),
    });
    this.#cancelHandshake = this.#clock.after(HANDSHAKE_MS, () =>
      this.#socket?.end(`no connection within ${HANDSHAKE_MS / 1_000} s`),
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
    if (wasOpen && nowMs - this.#openedMs >= STABLE_MS) {
      this.#failures = this.#refusals = 0;
      if (nowMs - this.#renewedMs >= RENEWED_FOR_MS) this.#renewed = false;
    }
    const refused = this.#refusedBySession(end);
    this.#unwelcome = null;
    if (refused !== null) {
      this.#down(refused, wasOpen, "refused");
      this.#afterRefusal();
      return;
    }
    this.#down(this.#sayEnd(end), wasOpen, "lost");
    const absent = end.kind === "refused" && [400, 401, 403, 404, 405, 426, 501].includes(end.status);
    const asked = end.kind === "refused" ? (end.retryAfterMs ?? 0) : 0;
    this.#wait(Math.min(ABSENT_MS, Math.max(asked, absent ? ABSENT_MS : 0)));
  }

  #afterRefusal(): void {
    if (!this.#renewed) {
      this.#renewed = true;
      this.#renewedMs = this.#clock.elapsedMs();
      void this.#connect(this.#token);
      return;
    }
    this.#wait(Math.min(LONGEST_REFUSED_MS, ABSENT_MS * 2 ** this.#refusals));
    this.#refusals = Math.min(this.#refusals + 1, 16);
  }

  #down(detail: string, wasOpen: boolean, why: DownReason): void {
    if (wasOpen || this.#sinceMs === null) this.#sinceMs = this.#clock.nowMs();
    this.#detail = why === "refused" ? `the exchange refuses it: ${detail}` : detail;
    this.#options.onDown(detail, why);
  }

  #wait(leastMs: number): void {
    const fullMs = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** this.#failures);
    this.#failures = Math.min(this.#failures + 1, 16);
    const waitMs = fullMs / 2 + (fullMs / 2) * this.#options.random();
    this.#cancelWait?.();
    this.#cancelWait = this.#clock.after(leastMs + waitMs, () => {
      this.#cancelWait = null;
      void this.#connect();
    });
  }

  /** The refusal, where that may be for the session's sake, so that another token may help. */
  #refusedBySession(end: SocketEnd): string | null {
    if (!this.#options.auth) return null;
    if (this.#unwelcome !== null) return this.#unwelcome;
    if (end.kind === "refused" && [401, 403, 409].includes(end.status))
      return `${end.status} ${this.#clean(codeIn(end.body) ?? "")}`.trimEnd();
    if (end.kind === "closed" && sessionRefused(end.code, end.reason))
      return `closed with ${end.code} ${this.#clean(end.reason)}`.trimEnd();
    return null;
  }

  #sayEnd(end: SocketEnd): string {
    switch (end.kind) {
      case "refused":
        return `the exchange refused it: ${end.status} ${this.#clean(codeIn(end.body) ?? "")}`.trimEnd();
      case "closed":
        return `the exchange closed it: ${end.code} ${this.#clean(end.reason)}`.trimEnd();
      case "failed":
        return this.#clean(end.detail);
    }
  }

  /** Text of the exchange, without the token of this connection. */
  #clean(text: string): string {
    return cleanText(text, this.#secrets());
  }

  #secrets(): readonly string[] {
    return this.#token === null ? [] : [this.#token];
  }

  /** Before its token expires it comes back with the next one, which is there by then. */
  #planRotation(): void {
    const { auth } = this.#options;
    const inMs = auth?.expiresInMs() ?? null;
    if (!auth || inMs === null) return;
    const look = () => {
      const next = auth.current();
      if (next !== null && next !== this.#token) this.restart("its token was renewed");
      else this.#cancelRotation = this.#clock.after(ROTATION_AGAIN_MS, look);
    };
    this.#cancelRotation = this.#clock.after(rotationDueMs(inMs), look);
  }

  #send(frame: string): void {
    if (this.#socket?.send(frame) === false) this.#socket.end("the exchange does not take what is sent");
  }

  // ── what is said ────────────────────────────────────────────────────────────────────────────────────────────────

  #text(text: string): void {
    this.figures.frames++;
    let frame: InboundFrame;
    try {
      frame = readFrame(parseJson(text));
    } catch {
      this.#bad("frame", `${text.length} characters that are no JSON`, [], text);
      return;
    }
    switch (frame.kind) {
      case "message":
        this.#lastToldMs = this.#clock.nowMs();
        this.#liveness.told();
        this.#take(frame.channel, text, () => this.#options.onMessage(frame), frame.message);
        return;
      case "misfit":
        this.#bad(frame.channel, frame.problem.message, frame.problem.fields, text);
        this.#take(frame.channel, text, () => this.#options.onMisfit(frame));
        return;
      case "control": {
        const about = this.#subscriptions.answered(frame);
        if (frame.accepted) return;
        const what = about?.channel ?? "a subscription";
        const code = frame.code ?? "";
        const said = this.#clean(frame.message ?? "refused");
        this.#detail = `connected; ${what} was refused: ${said}`;
        this.#options.onRefused?.(about?.channel ?? null);
        // What this connection is there for is not to be had with this token.
        if (this.#options.auth && this.#token !== null && (code === "401" || code === "403")) {
          this.#unwelcome = `${what}: ${code} ${said}`;
          this.#socket?.end(this.#unwelcome);
        }
        return;
      }
      case "unknown":
        this.figures.unknownFrames++;
    }
  }

  /** Whatever a frame leads to, the next one is read, and what is `lost` with it can be asked for. */
  #take(channel: ChannelName, text: string, take: () => void, lost?: unknown): void {
    try {
      take();
    } catch (error) {
      const message = `could not be taken: ${error instanceof Error ? this.#clean(error.message) : "failed"}`;
      this.#bad(channel, message, [], text);
      if (lost === undefined) return;
      const misfit: StreamMisfit = {
        kind: "misfit",
        channel,
        frame: lost,
        problem: { endpoint: channel, message, fields: [] },
      };
      this.#take(channel, text, () => this.#options.onMisfit(misfit));
    }
  }

  #bad(channel: string, problem: string, fields: BadRecordReport["fields"], text: string | null): void {
    this.figures.badFrames++;
    const secrets = this.#secrets();
    this.#options.onBadFrame({
      endpoint: `stream ${channel}`,
      wallet: this.wallet,
      problem: problem.startsWith(`${channel}: `) ? `stream ${problem}` : `stream ${channel}: ${problem}`,
      fields,
      body: () => (text === null ? null : hideSecretsAtBeginning(text, secrets, MOST_KEPT_FRAME)),
    });
  }
}

/** The error code in the body of a refusal. */
function codeIn(body: string): string | null {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    return typeof error === "string" ? errorCode(error) : null;
  } catch {
    return null;
  }
}
