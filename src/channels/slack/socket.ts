/**
 * Receives button presses by Slack's Socket Mode: a WebSocket to an address that `apps.connections.open` returns for
 * one connection. No port is opened. Slack requires each envelope to be acknowledged within 3 s, so that is done first.
 * From time to time Slack requests a new connection; the old one still receives presses and stays open until Slack
 * closes it.
 */
import { WebSocket } from "ws";
import type { Clock } from "../../domain/clock.ts";
import type { Secret } from "../../domain/text/hidden-secrets.ts";
import { isSafeSocket, trimmed } from "../address.ts";
import { FrameBound } from "../frame-bound.ts";
import { type Listening, type Source, Sources } from "../listeners.ts";
import type { ChannelLog } from "../log.ts";
import { Poster, tryParseJson } from "../post.ts";
import { type Press, readFrame, readPresses } from "./frames.ts";
import { judge } from "./verdict.ts";

export interface Listener {
  /** Returns true if the message is in the listener's channel. */
  isFor(press: Press): boolean;
  /** Returns true if the person is allowed to act. */
  allows(press: Press): boolean;
  take(press: Press): void;
}

export interface App {
  readonly apiUrl: string;
  readonly appToken: string;
  /** Removed from every detail, beside the token. */
  readonly secrets: readonly Secret[];
  readonly clock: Clock;
  readonly log: ChannelLog;
}

const timeoutMs = 8_000;
/** Interval of pings. A connection without any frame for two intervals is dropped. */
const pingEveryMs = 30_000;
const firstWaitMs = 1_000;
const maxWaitMs = 60_000;
/** Consecutive failed connections before a failure is reported. */
const reportAfterFailures = 3;
/** If a refresh is requested within this time after another one, the next connection waits, ms. */
const minRefreshMs = 30_000;
/**
 * A connection of this length resets the failure count, ms. A shorter one does not, or a server that greets and closes
 * would be reconnected without end.
 */
const stableAfterMs = 60_000;
/**
 * Maximum frames in 10 s: presses of a busy chat, and pings. A thousand presses take the daemon three seconds on two
 * busy cores.
 */
const maxFrames = 250;
/** Maximum open connections: the newest, and those that Slack still has to close. */
const maxOpen = 3;
/**
 * Maximum frame, bytes. A press contains its message, escaped at most 100 KB; deeply nested JSON of a megabyte takes a
 * third of a second.
 */
const maxPressFrame = 262_144;
/** Maximum unsent acknowledgements, bytes. */
const maxUnreadBytes = 262_144;
const maxRemembered = 1_000;

const sockets = new Sources<Listener>();

/** Adds a listener for the presses of an app's buttons. */
export function listen(app: App, listener: Listener): Listening {
  const key = JSON.stringify([trimmed(app.apiUrl), app.appToken]);
  return sockets.listen(key, listener, (listeners) => new SocketMode(app, listeners));
}

/** Returns the address for one connection, or the failure. */
export async function openConnection(
  app: Pick<App, "apiUrl" | "appToken">,
  poster: Poster,
  signal: AbortSignal,
) {
  const url = `${trimmed(app.apiUrl)}/apps.connections.open`;
  const headers = { authorization: `Bearer ${app.appToken}` };
  const answer = await poster.call({ url, headers }, signal);
  const { result } = judge(answer, poster);
  if (result.kind !== "delivered") return { ...result, url: null };
  const reply =
    answer.kind === "answer" ? (tryParseJson(answer.text) as { url?: unknown } | undefined) : undefined;
  const safeUrl = typeof reply?.url === "string" && isSafeSocket(reply.url, app.apiUrl) ? reply.url : null;
  return safeUrl === null
    ? { kind: "retry" as const, detail: "Slack gave no address to connect to", url: null }
    : { kind: "delivered" as const, detail: "", url: safeUrl };
}

type EndKind = "lost" | "refresh" | "disabled";

interface End {
  readonly kind: EndKind;
  /** Error that ended the connection, for people. Left out: none. */
  readonly why?: string;
}

class SocketMode implements Source {
  readonly #app: App;
  readonly #listeners: ReadonlySet<Listener>;
  readonly #poster: Poster;
  readonly #life = new AbortController();
  readonly #open = new Set<WebSocket>();
  /** Ids of received envelopes; Slack may send them again over another connection. */
  readonly #seen = new Set<string>();
  readonly #helloReceived = new WeakSet<WebSocket>();
  readonly #bound: FrameBound;
  /** The reason why this side closed the connections; null: it did not. */
  #ended: string | null = null;
  #failures = 0;
  #trouble: string | null = null;
  readonly #running: Promise<void>;

  constructor(app: App, listeners: ReadonlySet<Listener>) {
    this.#app = app;
    this.#listeners = listeners;
    this.#bound = new FrameBound(() => app.clock.elapsedMs(), maxFrames);
    this.#poster = new Poster({ who: "Slack", secrets: [app.appToken, ...app.secrets], timeoutMs });
    this.#running = Promise.resolve().then(() => this.#run());
  }

  get trouble(): string | null {
    return this.#trouble;
  }

  async stop(): Promise<void> {
    this.#life.abort();
    for (const socket of this.#open) socket.terminate();
    await this.#running;
    await this.#poster.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#life;
    const { clock } = this.#app;
    let refreshedMs = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      try {
        const { kind, detail, url } = await openConnection(this.#app, this.#poster, signal);
        // An old connection may have exceeded the limits meanwhile.
        if (url === null && this.#ended === null) this.#failed(detail, kind === "refused");
        else {
          const beganMs = clock.elapsedMs();
          const end: End =
            url === null || this.#ended !== null ? { kind: "lost" } : await this.#connect(url, signal);
          if (clock.elapsedMs() - beganMs >= stableAfterMs) this.#failures = 0;
          if (this.#ended !== null) {
            // Reported at once.
            this.#failures = reportAfterFailures;
            this.#failed(this.#ended, false);
            this.#ended = null;
            await this.#wait(signal, maxWaitMs);
            continue;
          }
          if (end.kind === "refresh") {
            const sinceMs = clock.elapsedMs() - refreshedMs;
            if (sinceMs < minRefreshMs) {
              this.#failures++;
              await this.#wait(signal);
            }
            refreshedMs = clock.elapsedMs();
            continue;
          }
          if (end.kind === "disabled") this.#failed("Socket Mode was switched off for the app", true);
          else this.#failed(`the connection was lost${end.why ? `: ${end.why}` : ""}`, false);
        }
      } catch (error) {
        if (signal.aborted) break;
        this.#failed(error instanceof Error ? error.message : "failed", false);
      }
      await this.#wait(signal);
    }
  }

  /** Resolves when a new connection is needed. A connection to be refreshed continues beside its successor. */
  #connect(url: string, signal: AbortSignal): Promise<End> {
    signal.throwIfAborted();
    const { clock } = this.#app;
    return new Promise((resolve) => {
      const socket = new WebSocket(url, {
        ...{
          handshakeTimeout: timeoutMs,
          maxPayload: maxPressFrame,
          perMessageDeflate: false,
          autoPong: false,
        },
      });
      this.#open.add(socket);
      const [oldest] = this.#open;
      if (this.#open.size > maxOpen) oldest?.terminate();
      let active = true;
      let cancel = () => {};
      const beat = () => {
        if (!active) return socket.terminate();
        active = false;
        if (socket.readyState === WebSocket.OPEN) socket.ping();
        cancel = clock.after(pingEveryMs, beat);
      };
      cancel = clock.after(pingEveryMs, beat);
      /** Returns false if a frame is refused. */
      const accepts = ({ length }: { readonly length: number }): boolean => {
        if (socket.readyState !== WebSocket.OPEN) return false;
        active = true;
        return this.#isWithin(length, socket);
      };
      socket.on("ping", (data) => {
        if (accepts(data)) socket.pong(data);
      });
      socket.on("pong", accepts);
      socket.on("message", (data: Buffer) => {
        if (!accepts(data)) return;
        const end = this.#take(String(data), socket);
        if (end !== null) resolve({ kind: end });
      });
      let why = "";
      // "close" follows an error.
      socket.on("error", ({ message }) => {
        why = this.#poster.words(message);
      });
      socket.on("close", () => {
        cancel();
        this.#open.delete(socket);
        resolve({ kind: "lost", why });
      });
    });
  }

  /** @returns false if a limit is exceeded; then all connections are closed */
  #isWithin(bytes: number, { bufferedAmount }: WebSocket): boolean {
    const why = bufferedAmount > maxUnreadBytes ? "it reads no answers" : this.#bound.refusal(bytes);
    if (why === null) return true;
    this.#ended = why;
    for (const one of this.#open) one.terminate();
    return false;
  }

  /** @returns the reason for a new connection; null: none is needed */
  #take(text: string, socket: WebSocket): EndKind | null {
    const frame = readFrame(text);
    if (frame === null) return null;
    if (frame.type === "hello") {
      this.#helloReceived.add(socket);
      this.#recovered();
    }
    if (frame.type === "disconnect") {
      if (frame.reason === "link_disabled") return "disabled";
      return this.#helloReceived.has(socket) ? "refresh" : "lost";
    }
    const id = frame.envelope_id;
    if (id === undefined) return null;
    socket.send(JSON.stringify({ envelope_id: id }));
    if (frame.type !== "interactive" || this.#seen.has(id) || this.#life.signal.aborted) return null;
    this.#seen.add(id);
    const [oldest] = this.#seen;
    if (this.#seen.size > maxRemembered && oldest !== undefined) this.#seen.delete(oldest);
    this.#press(frame.payload);
    return null;
  }

  #press(raw: unknown): void {
    for (const press of readPresses(raw)) {
      // Several listeners may have the same channel.
      const ofChannel = [...this.#listeners].filter((one) => one.isFor(press));
      (ofChannel.find((one) => one.allows(press)) ?? ofChannel[0])?.take(press);
    }
  }

  #recovered(): void {
    if (this.#trouble === null) return;
    this.#trouble = null;
    this.#app.log.info({}, "buttons on Slack work again");
  }

  /** @param isPermanent a person has to fix it */
  #failed(detail: string, isPermanent: boolean): void {
    this.#failures++;
    if (!isPermanent && this.#failures < reportAfterFailures) return;
    const fix = isPermanent
      ? "; check appToken, its scope connections:write, and that Socket Mode is on"
      : "";
    const isNew = this.#trouble === null;
    this.#trouble = `buttons do not work: ${detail}${fix}`;
    if (isNew) this.#app.log.warn({ detail: `${detail}${fix}` }, "buttons on Slack do not work now");
  }

  #wait(
    signal: AbortSignal,
    ms = Math.min(firstWaitMs * 2 ** Math.max(0, this.#failures - 1), maxWaitMs),
  ): Promise<void> {
    return new Promise((resolve) => {
      const over = () => {
        cancel();
        signal.removeEventListener("abort", over);
        resolve();
      };
      const cancel = this.#app.clock.after(ms, over);
      signal.addEventListener("abort", over, { once: true });
      if (signal.aborted) over();
    });
  }
}
