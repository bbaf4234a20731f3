/**
 * The line from one life of the daemon to the simulated exchange: requests and stream frames take some ms each way, and the
 * weather hits them. What the daemon sent before it was killed arrives all the same; nothing comes back to it.
 *
 * The exchange takes one thing at a time, in the order of arrival, since its sessions are checked on other threads.
 */
import type { Dispatcher } from "undici";
import { notificationKey } from "../../src/contract/natural-keys.ts";
import type { Random } from "../../src/domain/clock.ts";
import type { HttpDispatcher, SocketEnd, SocketOptions, StreamSocket } from "../../src/exchange/index.ts";
import type { Simulator } from "../../src/simulator/index.ts";
import { notificationItem } from "../../src/simulator/server/answers/notifications.ts";
import { Refusal } from "../../src/simulator/server/sessions.ts";
import type { Notification } from "../../src/simulator/state.ts";
import type { ProcessClock, VirtualTime } from "./clock.ts";
import { type Garbling, garble } from "./garble.ts";
import type { EventLog } from "./log.ts";
import { changedOnTheWay, refusalOnTheWay } from "./on-the-way.ts";
import type { StreamsOf, Weather } from "./weather.ts";

export type Told = NonNullable<Awaited<ReturnType<Simulator["ask"]>>>;
type Controller = Dispatcher.DispatchController;

/** The exchange as lines reach it. */
export class Venue {
  readonly simulator: Simulator;
  readonly time: VirtualTime;
  readonly #acked = new Set<object>();
  #queue: Promise<unknown> = Promise.resolve();

  constructor(simulator: Simulator, time: VirtualTime) {
    this.simulator = simulator;
    this.time = time;
  }

  /** Does one thing there, when all before it is done. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => {});
    return this.time.pending(done);
  }

  /** Keys of the notifications that were acknowledged since the last call, with their wallets. */
  newlyAcknowledged(): readonly { readonly wallet: string; readonly key: string }[] {
    const found: { wallet: string; key: string }[] = [];
    for (const { name, authority, notifications } of this.simulator.world.wallets.values()) {
      for (const one of notifications.all()) {
        if (!one.acked || this.#acked.has(one)) continue;
        this.#acked.add(one);
        found.push({ wallet: name, key: keyOf(one, authority) });
      }
    }
    return found;
  }

  /** Wallets by whatever names them in a path. */
  walletIn(target: string): string | null {
    for (const wallet of this.simulator.world.wallets.values()) {
      if (target.includes(wallet.authority)) return wallet.name;
      for (const { address } of wallet.accounts.values()) if (target.includes(address)) return wallet.name;
    }
    return null;
  }
}

/** The key by which the daemon knows a notification. */
export const keyOf = (one: Notification, authority: string): string =>
  notificationKey(notificationItem(one) as never, authority);

export interface LineParts {
  readonly venue: Venue;
  readonly life: number;
  /** The clock of the daemon: when it is killed, nothing arrives any more. */
  readonly clock: ProcessClock;
  readonly random: Random;
  readonly weather: Weather;
  readonly log: EventLog;
}

/** One way, ms. */
const leastMs = 4;
const spreadMs = 30;

export class Line {
  readonly dispatcher: HttpDispatcher;
  readonly #parts: LineParts;
  readonly #streams = new Set<Stream>();
  readonly #under = new Set<(error: Error) => void>();

  constructor(parts: LineParts) {
    this.#parts = parts;
    this.dispatcher = {
      dispatch: (options, handler) => this.#dispatch(options, handler),
      destroy: async () => {
        for (const fail of [...this.#under])
          fail(Object.assign(new Error("destroyed"), { code: "UND_ERR_DESTROYED" }));
      },
    };
  }

  openSocket = (options: SocketOptions): StreamSocket => {
    const stream = new Stream(this.#parts, options, () => this.#streams.delete(stream));
    this.#streams.add(stream);
    return stream;
  };

  /** These streams break. */
  breakStreams(of: StreamsOf): void {
    for (const stream of [...this.#streams]) if (stream.isOf(of)) stream.breakOff("the connection broke");
  }

  /** The daemon is gone; the exchange notices the end of its streams. */
  cut(): void {
    for (const stream of [...this.#streams]) stream.abandon();
    this.#under.clear();
  }

  #dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const { venue, clock, random, weather, log, life } = this.#parts;
    const target = String(options.path);
    let over = false;
    const end = (finish: () => void): void => {
      if (over) return;
      over = true;
      this.#under.delete(fail);
      finish();
    };
    const fail = (error: Error): void => end(() => handler.onResponseError?.(controller, error));
    const controller = { aborted: false, abort: fail } as unknown as Controller;
    this.#under.add(fail);
    const sentMs = venue.time.nowMs;
    let ofMs = sentMs;
    let garbled: Garbling | null = null;
    log.add({ kind: "sent", life, target, underWay: this.#under.size });
    const note = (status: number | null, text = ""): void => {
      const isOfSignIn = target.startsWith("/v1/auth/");
      const isOfSession = isOfSignIn || status === 401;
      const wallet = isOfSession ? venue.walletIn(`${target} ${readable(String(options.body ?? ""))}`) : null;
      const given = isOfSignIn && garbled === null ? givenToken.exec(text)?.[1] : undefined;
      const token = (isOfSignIn ? given : isOfSession ? bearerOf(options) : undefined) ?? null;
      log.add({ kind: "asked", life, target, status, ofMs, sentMs, garbled, wallet, token });
    };
    const broken = (code: string, status: number | null): void => {
      note(status);
      fail(Object.assign(new Error(code), { code }));
    };
    if (weather.now("outage")) {
      clock.arrive(trip(random), () => broken("ECONNREFUSED", null));
      return true;
    }
    handler.onRequestStart?.(controller, {});
    const lost = weather.hits("cutOff", random);
    const carriedOut = !lost || random() < 0.5;
    const backMs = trip(random) + weather.lateMs("slow", random);
    venue.time.after(trip(random), async () => {
      ofMs = venue.time.nowMs;
      const answer = carriedOut ? await this.#ask(target, options) : null;
      const told = answer?.told ?? null;
      garbled = answer?.garbled ?? null;
      clock.arrive(backMs, () => {
        // The daemon does not wait for it any more.
        if (over) return;
        if (told === null || lost) return broken("UND_ERR_SOCKET", null);
        note(told.status, told.text);
        end(() => {
          handler.onResponseStart?.(controller, told.status, told.headers);
          if (told.text !== "") handler.onResponseData?.(controller, Buffer.from(told.text));
          if (told.whole) handler.onResponseEnd?.(controller, {});
          else
            handler.onResponseError?.(
              controller,
              Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
            );
        });
      });
    });
    return true;
  }

  async #ask(
    target: string,
    options: Dispatcher.DispatchOptions,
  ): Promise<ReturnType<typeof changedOnTheWay> | null> {
    const { venue, weather, log, life } = this.#parts;
    const { method, headers } = options;
    const body = options.body === null || options.body === undefined ? null : String(options.body);
    const asked = { target, body: body ?? "" };
    const refused = refusalOnTheWay(asked, venue, weather);
    if (refused !== null) return { told: refused, garbled: null };
    const told = await venue.take(() =>
      venue.simulator.ask({ ...{ method, target, body }, headers: headers as Record<string, string> }),
    );
    if (method === "POST")
      for (const one of venue.newlyAcknowledged()) log.add({ kind: "acknowledged", life, ...one });
    return weather.now("outage") || told === null ? null : changedOnTheWay(told, asked, this.#parts);
  }
}

const givenToken = /"access_token":"([^"]+)"/;

const bearerOf = ({ headers }: Dispatcher.DispatchOptions): string | undefined =>
  (headers as Record<string, string>).authorization?.replace("Bearer ", "");

/** A text with the claims of the tokens in it. */
const readable = (text: string): string =>
  text.replace(/[\w-]+\.([\w-]+)\.[\w-]+/g, (_, claims: string) =>
    Buffer.from(claims, "base64url").toString(),
  );

/** Frames that are logged. */
const logged = /^{"channel":"(?:traderState|marketStats|marketStatsV2|notification)"/;

const trip = (random: Random): number => leastMs + random() * spreadMs;

/** One stream: the daemon's socket on this side, the exchange's on the other. */
class Stream implements StreamSocket {
  readonly #parts: LineParts;
  readonly #options: SocketOptions;
  readonly #gone: () => void;
  #visit: Awaited<ReturnType<Simulator["enter"]>> | null = null;
  #open = false;
  #ended = false;
  /** The daemon was told that it is open. */
  #known = false;
  /** Frames of one direction arrive in order. */
  #lastUpMs = 0;
  #lastDownMs = 0;

  constructor(parts: LineParts, options: SocketOptions, gone: () => void) {
    this.#parts = parts;
    this.#options = options;
    this.#gone = gone;
    const { clock, random, venue, weather } = parts;
    const down = weather.now("streamsDown", (fault) => this.isOf(fault.of));
    if (weather.now("outage") || down) {
      const status = down?.status ?? null;
      const end: SocketEnd =
        status === null
          ? { kind: "failed", detail: "connect ECONNREFUSED" }
          : { kind: "refused", status, body: JSON.stringify({ error: "unavailable" }), retryAfterMs: null };
      clock.arrive(trip(random), () => this.#end(end));
      return;
    }
    const backMs = trip(random);
    venue.time.after(trip(random), async () => {
      if (this.#ended) return;
      const end = await venue
        .take(() => this.#enter())
        .then(
          () => null,
          (error: unknown) => error,
        );
      clock.arrive(backMs, () => {
        if (end !== null) return this.#end(refusalOf(end));
        if (this.#ended) return;
        this.#open = this.#known = true;
        parts.log.add({ kind: "streamOpens", life: parts.life });
        options.onHeard();
        options.onOpen();
      });
    });
  }

  isOf(of: StreamsOf): boolean {
    return of === "all" || (of === "common") === (this.#options.token === null);
  }

  send(text: string): boolean {
    if (!this.#open || this.#ended) return false;
    const { venue, random } = this.#parts;
    const dueMs = Math.max(venue.time.elapsedMs + trip(random), this.#lastUpMs + random() / 10);
    this.#lastUpMs = dueMs;
    venue.time.after(dueMs - venue.time.elapsedMs, () => this.#visit?.text(text));
    return true;
  }

  ping(): void {
    const { clock, random, weather } = this.#parts;
    if (!this.#open || weather.now("halfOpen")) return;
    clock.arrive(trip(random) + trip(random), () => this.#heard());
  }

  end(reason: string): void {
    this.breakOff(reason);
  }

  /** Ends at once, and says so. */
  breakOff(detail: string): void {
    const { clock, random } = this.#parts;
    this.#leave();
    clock.arrive(random() / 10, () => this.#end({ kind: "failed", detail }));
  }

  /** Ends it; the daemon hears nothing of that. */
  abandon(): void {
    this.#ended = true;
    this.#leave();
  }

  /** The exchange sees it end. */
  #leave(): void {
    this.#gone();
    this.#open = false;
    this.#visit?.ended();
    this.#visit = null;
  }

  async #enter(): Promise<void> {
    const { venue, random, clock } = this.#parts;
    const { token, headers } = this.#options;
    const protocol = token === null ? {} : { "sec-websocket-protocol": `phoenix-jwt, ${token}` };
    this.#visit = await venue.simulator.enter(
      { target: "/v1/ws", headers: { ...headers, ...protocol } },
      {
        readyState: 1,
        bufferedAmount: 0,
        send: (text) => this.#down(text),
        ping: () => void clock.arrive(trip(random), () => this.#heard()),
        close: (code, reason) => {
          this.#leave();
          clock.arrive(trip(random), () => this.#end({ kind: "closed", code, reason }));
        },
        terminate: () => this.breakOff("the connection broke"),
      },
    );
    if (this.#ended) this.#leave();
  }

  /** A frame of the exchange on its way. */
  #down(text: string): void {
    const { clock, random, weather, log, life } = this.#parts;
    if (weather.hits("framesLost", random)) return;
    const bad = weather.hits("garbled", random) ? garble(text, random) : null;
    const copies = weather.hits("framesTwice", random) ? 2 : 1;
    for (let i = 0; i < copies; i++) {
      const lateMs = weather.lateMs("framesLate", random);
      const usualMs = Math.max(clock.elapsedMs() + trip(random), this.#lastDownMs + random() / 10);
      if (lateMs === 0) this.#lastDownMs = usualMs;
      clock.arrive(usualMs + lateMs - clock.elapsedMs(), () => {
        if (!this.#heard()) return;
        if (bad !== null) log.add({ kind: "garbledFrame", life, garbled: bad.garbled });
        else if (logged.test(text)) log.add({ kind: "frame", life, text });
        this.#options.onText(bad?.text ?? text);
      });
    }
  }

  /** @returns false where nothing comes through any more */
  #heard(): boolean {
    if (!this.#open || this.#ended || this.#parts.weather.now("halfOpen")) return false;
    this.#options.onHeard();
    return true;
  }

  #end(end: SocketEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#leave();
    const { log, life } = this.#parts;
    log.add({ kind: "streamEnds", life, was: this.#known, by: end.kind !== "failed" });
    this.#options.onEnd(end);
  }
}

function refusalOf(error: unknown): SocketEnd {
  if (!(error instanceof Refusal)) return { kind: "failed", detail: "the connection broke" };
  const body = JSON.stringify({ error: error.code });
  return { kind: "refused", status: error.status, body, retryAfterMs: null };
}
