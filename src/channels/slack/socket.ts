/**
 * Presses of buttons by Slack's Socket Mode: a WebSocket to an address that `apps.connections.open` gives for one connection; no port is
 * open. Slack counts a press as taken when its envelope is answered within 3 s, so that comes first. Slack asks for another connection
 * now and then, and sends what is pressed meanwhile over the old one, which stays until Slack closes it.
 */
import { WebSocket } from "ws";
import type { Clock } from "../../domain/clock.ts";
import type { Secret } from "../../domain/hidden-secrets.ts";
import { isSafeSocket, trimmed } from "../address.ts";
import { FrameBound } from "../frame-bound.ts";
import { type Listening, type Source, Sources } from "../listeners.ts";
import type { ChannelLog } from "../log.ts";
import { Poster, parsed } from "../post.ts";
import { type Press, readFrame, readPresses } from "./frames.ts";
import { judge } from "./verdict.ts";

export interface Listener {
  /** True if the message is of its channel. */
  isFor(press: Press): boolean;
  /** True if who pressed is named there. */
  allows(press: Press): boolean;
  take(press: Press): void;
}

export interface App {
  readonly apiUrl: string;
  readonly appToken: string;
  /** Never to be found in a detail, beside the token. */
  readonly secrets: readonly Secret[];
  readonly clock: Clock;
  readonly log: ChannelLog;
}

const timeoutMs = 8_000;
/** Slack has to be heard within two of these, if only by the answer to a ping. */
const beatMs = 30_000;
const firstWaitMs = 1_000;
const maxWaitMs = 60_000;
/** Connections that fail in a row before it is said. */
const toldAfter = 3;
/** A connection that is to be replaced within this time after another one was has a successor after a wait, ms. */
const shortMs = 30_000;
/** A connection that lasts this long ends a row of failures: one that greets and leaves would be opened again and again, ms. */
const steadyMs = 60_000;
/** Presses of a busy chat and pings, in 10 s. A thousand presses take the daemon three seconds on two busy cores. */
const maxFrames = 250;
/** Connections that are open at once: the newest, and those that Slack still has to close. */
const maxOpen = 3;
/** A press brings the message under which it was, 100 KB in escapes at most; deep JSON of a megabyte takes a third of a second, bytes. */
const maxPressFrame = 262_144;
/** Answers to envelopes that Slack does not read, bytes. */
const maxUnread = 262_144;
const maxRemembered = 1_000;

const sockets = new Sources<Listener>();

/** Hands presses of an app's buttons to a listener, beside those that listen already. */
export function listen(app: App, listener: Listener): Listening {
  const key = JSON.stringify([trimmed(app.apiUrl), app.appToken]);
  return sockets.listen(key, listener, (listeners) => new SocketMode(app, listeners));
}

/** The address for one connection, or why there is none. */
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
  const said = answer.kind === "answer" ? (parsed(answer.text) as { url?: unknown } | undefined) : undefined;
  const given = typeof said?.url === "string" && isSafeSocket(said.url, app.apiUrl) ? said.url : null;
  return given === null
    ? { kind: "retry" as const, detail: "Slack gave no address to connect to", url: null }
    : { kind: "delivered" as const, detail: "", url: given };
}

type EndKind = "lost" | "refresh" | "disabled";

interface End {
  readonly kind: EndKind;
  /** The error that ended it, for people. Left out: none. */
  readonly why?: string;
}

class SocketMode implements Source {
  readonly #app: App;
  readonly #listeners: ReadonlySet<Listener>;
  readonly #poster: Poster;
  readonly #life = new AbortController();
  readonly #open = new Set<WebSocket>();
  /** Envelopes that came, which Slack may send again over another connection. */
  readonly #seen = new Set<string>();
  readonly #greeted = new WeakSet<WebSocket>();
  readonly #bound: FrameBound;
  /** The reason why its connections were ended here; null: they were not. */
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
        // An old connection may have been too much meanwhile.
        if (url === null && this.#ended === null) this.#failed(detail, kind === "refused");
        else {
          const beganMs = clock.elapsedMs();
          const end: End =
            url === null || this.#ended !== null ? { kind: "lost" } : await this.#connect(url, signal);
          if (clock.elapsedMs() - beganMs >= steadyMs) this.#failures = 0;
          if (this.#ended !== null) {
            // It is said at once.
            this.#failures = toldAfter;
            this.#failed(this.#ended, false);
            this.#ended = null;
            await this.#wait(signal, maxWaitMs);
            continue;
          }
          if (end.kind === "refresh") {
            const sinceMs = clock.elapsedMs() - refreshedMs;
            if (sinceMs < shortMs) {
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

  /** Resolves when another connection is needed. One that Slack wants to be replaced goes on beside its successor. */
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
      let heard = true;
      let cancel = () => {};
      const beat = () => {
        if (!heard) return socket.terminate();
        heard = false;
        if (socket.readyState === WebSocket.OPEN) socket.ping();
        cancel = clock.after(beatMs, beat);
      };
      cancel = clock.after(beatMs, beat);
      /** Returns false if a frame is not read. */
      const hears = ({ length }: { readonly length: number }): boolean => {
        if (socket.readyState !== WebSocket.OPEN) return false;
        heard = true;
        return this.#isWithin(length, socket);
      };
      socket.on("ping", (data) => {
        if (hears(data)) socket.pong(data);
      });
      socket.on("pong", hears);
      socket.on("message", (data: Buffer) => {
        if (!hears(data)) return;
        const end = this.#take(String(data), socket);
        if (end !== null) resolve({ kind: end });
      });
      let why = "";
      // The end of the connection follows an error.
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

  /** @returns false if a frame is too much; then all connections end */
  #isWithin(bytes: number, { bufferedAmount }: WebSocket): boolean {
    const why = bufferedAmount > maxUnread ? "it reads no answers" : this.#bound.refusal(bytes);
    if (why === null) return true;
    this.#ended = why;
    for (const one of this.#open) one.terminate();
    return false;
  }

  /** @returns the reason why another connection is needed; null: none is */
  #take(text: string, socket: WebSocket): EndKind | null {
    const frame = readFrame(text);
    if (frame === null) return null;
    if (frame.type === "hello") {
      this.#greeted.add(socket);
      this.#works();
    }
    if (frame.type === "disconnect") {
      if (frame.reason === "link_disabled") return "disabled";
      return this.#greeted.has(socket) ? "refresh" : "lost";
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
      // Several may stand in one channel.
      const there = [...this.#listeners].filter((one) => one.isFor(press));
      (there.find((one) => one.allows(press)) ?? there[0])?.take(press);
    }
  }

  #works(): void {
    if (this.#trouble === null) return;
    this.#trouble = null;
    this.#app.log.info({}, "buttons on Slack work again");
  }

  /** @param lasts somebody has to mend it */
  #failed(detail: string, lasts: boolean): void {
    this.#failures++;
    if (!lasts && this.#failures < toldAfter) return;
    const fix = lasts ? "; check appToken, its scope connections:write, and that Socket Mode is on" : "";
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
