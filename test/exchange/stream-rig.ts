/** Streams against the simulator over real sockets, on a clock that the test moves, with a line in between that can fail. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket, connect as tcp } from "node:net";
import { seededRandom } from "../../src/domain/clock.ts";
import { createExchange, type Exchange } from "../../src/exchange/exchange.ts";
import type { BadRecordReport, SessionWallet } from "../../src/exchange/index.ts";
import { createStreams, type StreamMessage, type Streams } from "../../src/exchange/stream/streams.ts";
import { type Simulator, type SimulatorOptions, startSimulator } from "../../src/simulator/simulator.ts";
import { FakeClock } from "../support/clock.ts";
import { testSigner } from "./local-exchange.ts";
import { MemorySessions } from "./rig.ts";

/** A TCP line: it can go silent without ending, be cut, and say how many run over it. */
export class Line implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  /** Bytes are swallowed in both directions from here on. */
  frozen = false;
  /** Connections ever made. */
  made = 0;
  url = "";

  private constructor(target: URL) {
    this.#server = createServer((near) => {
      this.made++;
      const far = tcp(Number(target.port), target.hostname);
      const pair = [near, far] as const;
      this.#pairs.add(pair);
      for (const [from, to] of [pair, [far, near] as const]) {
        from.on("data", (bytes: Buffer) => {
          if (!this.frozen) to.write(bytes);
        });
        from.on("error", () => to.destroy());
        from.on("close", () => {
          this.#pairs.delete(pair);
          to.destroy();
        });
      }
    });
  }

  static async to(url: string): Promise<Line> {
    const line = new Line(new URL(url));
    line.#server.listen(0, "127.0.0.1");
    await once(line.#server, "listening");
    line.url = `http://127.0.0.1:${(line.#server.address() as AddressInfo).port}`;
    return line;
  }

  get open(): number {
    return this.#pairs.size;
  }

  cut(): void {
    for (const [near] of this.#pairs) near.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
  }
}

export interface StreamRig extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly simulator: Simulator;
  readonly line: Line;
  readonly exchange: Exchange;
  readonly streams: Streams;
  readonly messages: { readonly wallet: string | null; readonly message: StreamMessage }[];
  /** "up main again", "down null …", "quiet null", "misfit traderState". */
  readonly events: string[];
  readonly badFrames: BadRecordReport[];
  /** Waits, in real time and without moving the clock, until it is so. */
  soon(what: string, met: () => boolean): Promise<void>;
  /** Moves the clock on, 100 ms at a time, until it is so. */
  until(what: string, met: () => boolean, limitMs?: number): Promise<void>;
  control(call: string, body: unknown): Promise<unknown>;
  readonly authority: string;
}

export async function streamRig(
  options: SimulatorOptions & { readonly anonymous?: boolean } = {},
): Promise<StreamRig> {
  const { anonymous, ...rest } = options;
  const clock = new FakeClock("2026-03-01T12:00:00.250Z");
  const simulator = await startSimulator({ clock, seed: 7, walk: false, ...rest });
  clock.allow(() => simulator.held());
  const line = await Line.to(simulator.url);
  const random = seededRandom(11);
  const wallets: SessionWallet[] = anonymous
    ? []
    : [{ name: "main", key: testSigner(simulator.keyOf("main")), login: "message" }];
  const exchange = createExchange({
    settings: { baseUrl: simulator.url, requestsPerSecond: 1_000 },
    version: "0.0.0-test",
    clock,
    random,
    wallets,
    store: new MemorySessions(),
    onSession: () => {},
    onTrouble: () => {},
    onBadRecord: () => {},
  });
  const messages: StreamRig["messages"][number][] = [];
  const events: string[] = [];
  const badFrames: BadRecordReport[] = [];
  const authority = simulator.traders[0]!.authority;
  const streams = createStreams({
    baseUrl: line.url,
    version: "0.0.0-test",
    clock,
    random,
    sessions: exchange.sessions,
    wallets: [{ name: "main", authority }],
    listener: {
      message: (wallet, message) => void messages.push({ wallet, message }),
      misfit: (_wallet, misfit) => void events.push(`misfit ${misfit.channel}`),
      up: (wallet, again) => void events.push(`up ${wallet}${again ? " again" : ""}`),
      down: (wallet, detail) => void events.push(`down ${wallet} ${detail}`),
      quiet: (wallet) => void events.push(`quiet ${wallet}`),
      badFrame: (report) => void badFrames.push(report),
    },
  });
  async function soon(what: string, met: () => boolean): Promise<void> {
    const endMs = performance.now() + 10_000;
    while (!met()) {
      if (performance.now() > endMs) throw new Error(`not seen: ${what}; ${events.join(" | ")}`);
      await new Promise((next) => setTimeout(next, 1));
    }
  }
  return {
    clock,
    simulator,
    line,
    exchange,
    streams,
    messages,
    events,
    badFrames,
    authority,
    soon,
    async until(what, met, limitMs = 120_000) {
      for (let passed = 0; !met(); passed += 100) {
        if (passed > limitMs) throw new Error(`not within ${limitMs} ms: ${what}; ${events.join(" | ")}`);
        await clock.advance(100);
        // Sockets are real: whatever is on the way arrives before time goes on.
        await new Promise((next) => setTimeout(next, 2));
      }
    },
    control: (call, body) => simulator.call(call, body),
    async [Symbol.asyncDispose]() {
      await streams.stop();
      await clock.finish(exchange.stop());
      await line[Symbol.asyncDispose]();
      await simulator.stop();
    },
  };
}
