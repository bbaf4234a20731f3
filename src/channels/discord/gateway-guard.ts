/**
 * Keeps a fault of the gateway inside the gateway. discord.js runs its shards in the background and looks at nothing that
 * they throw; on an address that is none, a packet with a part missing, or a socket that fails after it was given up, the
 * whole process would end. So every shard is fenced in before it first connects:
 *
 *  - its sockets keep an `error` listener for their whole life: discord.js takes its own away from a socket that is
 *    still connecting, and leaves it open. A socket that another replaces, or whose client was given up, is cut;
 *  - what it does in the background tells of a failure instead of throwing it where nobody catches it;
 *  - frames are short and few, and beats neither faster nor slower than any of Discord's: else the connection ends;
 *  - of what Discord dispatches it passes on to discord.js what a connection needs; discord.js works on some of the rest
 *    later, out of reach. What people press and type goes to whoever answers it, as it came.
 *
 * There is no public way to any of this, so it reaches for private parts of a shard, by name, and looks first whether
 * they are there. Where they are not, connecting fails: better no presence than one that can end the process.
 */
import type { SimpleShardingStrategy } from "discord.js";
import { isSafeSocket } from "../address.ts";
import { FrameBound } from "../frame-bound.ts";

export type ShardManager = ConstructorParameters<typeof SimpleShardingStrategy>[0];

/** As `ws` has it. */
interface Socket {
  on(event: "error" | "close", listener: () => void): unknown;
  terminate(): void;
}

/** Discord asks for 41 s. */
const fastestBeatMs = 100;
/** Events of all servers that the bot is in come here, in 10 s. */
const maxFrames = 1_000;
const slowestBeatMs = 600_000;
const hello = 10;

interface Emitter {
  on(event: string, listener: (packet: { data?: { t?: unknown; d?: unknown } }) => void): unknown;
  removeAllListeners(event: string): unknown;
}

/** The methods that a shard, a timer or a socket calls without waiting for them, and where their errors end. */
const inBackground = ["internalConnect", "onMessage", "onError", "onClose", "heartbeat", "destroy"];
const passedOn: readonly unknown[] = ["READY", "RESUMED"];

export class GatewayGuard {
  readonly #apiUrl: string;
  readonly #failed: (error: unknown) => void;
  readonly #interaction: (data: unknown) => void;
  readonly #sockets = new Set<Socket>();
  readonly #bound: FrameBound;
  #retired = false;

  /**
   * @param elapsedMs monotonic
   * @param apiUrl the address of Discord's API
   * @param failed is told what a shard threw in the background
   * @param interaction is told what somebody pressed or typed, unread. Neither may throw
   */
  constructor(
    elapsedMs: () => number,
    apiUrl: string,
    failed: (error: unknown) => void,
    interaction: (data: unknown) => void = () => {},
  ) {
    this.#bound = new FrameBound(elapsedMs, maxFrames);
    this.#apiUrl = apiUrl;
    this.#failed = failed;
    this.#interaction = interaction;
  }

  /** @returns discord.js' own strategy, with its shards fenced in */
  strategy(Strategy: typeof SimpleShardingStrategy, manager: ShardManager): SimpleShardingStrategy {
    const strategy = new Strategy(manager);
    const spawn = strategy.spawn.bind(strategy);
    strategy.spawn = async (ids) => {
      await spawn(ids);
      const shards: unknown = Reflect.get(strategy, "shards");
      if (!(shards instanceof Map) || shards.size !== ids.length) throw unknownParts("shards");
      for (const [id, shard] of shards) this.#fence(shard, id, manager);
    };
    return strategy;
  }

  /**
   * From now on nothing connects. A shard would otherwise: it wakes from its wait to reconnect though it was destroyed
   * meanwhile, and one that is destroyed before its session is ready takes that for a reason to reconnect, and never
   * says that it is done.
   */
  retire(): void {
    this.#retired = true;
  }

  /** Cuts every socket that is still there. */
  cut(): void {
    for (const socket of this.#sockets) this.#contained(() => socket.terminate());
  }

  #fence(shard: object, id: unknown, manager: ShardManager): void {
    for (const name of inBackground) {
      const method: unknown = Reflect.get(shard, name);
      if (typeof method !== "function") throw unknownParts(name);
      Object.defineProperty(shard, name, {
        value: (...given: unknown[]) =>
          (this.#retired && connectsAgain(name, given[0])) ||
          (name === "onMessage" && this.#refused(given[0]))
            ? Promise.resolve()
            : this.#contained(() => Reflect.apply(method, shard, given)),
      });
    }
    this.#fenceHello(shard);
    if (!Object.hasOwn(shard, "connection") || Reflect.get(shard, "connection") !== null) {
      throw unknownParts("connection");
    }
    let current: Socket | null = null;
    Object.defineProperty(shard, "connection", {
      get: () => current,
      set: (socket: unknown) => {
        if (!isSocket(socket)) throw unknownParts("socket");
        current?.terminate();
        current = socket;
        this.#adopt(socket);
      },
    });
    if (!isEmitter(shard)) throw unknownParts("events");
    shard.removeAllListeners("dispatch");
    shard.on("dispatch", (packet) => {
      if (packet.data?.t === "INTERACTION_CREATE" && !this.#retired) this.#interaction(packet.data.d);
      if (!passedOn.includes(packet.data?.t)) return;
      Reflect.apply(manager.emit, manager, ["dispatch", { ...packet, shardId: id }]);
    });
  }

  /** Timers take 0, and what is too much for them, for a millisecond. */
  #fenceHello(shard: object): void {
    const unpack: unknown = Reflect.get(shard, "unpackMessage");
    if (typeof unpack !== "function") throw unknownParts("unpackMessage");
    Object.defineProperty(shard, "unpackMessage", {
      value: async (...given: unknown[]) => {
        const packet: unknown = await Reflect.apply(unpack, shard, given);
        if (isHello(packet) && !hasPlainBeat(packet)) {
          this.cut();
          throw new Error("it asks for heartbeats as Discord never does");
        }
        if (isElsewhere(packet, this.#apiUrl)) {
          this.cut();
          throw new Error("it names an address to resume at that is none, or not safe");
        }
        return packet;
      },
    });
  }

  /** @returns true for a frame that is not read: its connection is over, and told of as lost */
  #refused(data: unknown): boolean {
    if (this.#retired) return true;
    const length = typeof data === "string" ? data.length : data instanceof ArrayBuffer ? data.byteLength : 0;
    const why = this.#bound.refusal(length);
    if (why === null) return false;
    this.#retired = true;
    this.cut();
    this.#failed(new Error(why));
    return true;
  }

  #adopt(socket: Socket): void {
    // Whoever listens besides has been told; this one only keeps an error from being nobody's.
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    this.#sockets.add(socket);
    if (this.#retired) this.cut();
  }

  #contained(run: () => unknown): unknown {
    try {
      const result = run();
      return result instanceof Promise ? result.catch((error: unknown) => this.#failed(error)) : result;
    } catch (error) {
      return this.#failed(error);
    }
  }
}

/** @returns whether this call of a shard's method leads to a connection */
function connectsAgain(name: string, options: unknown): boolean {
  if (name === "internalConnect") return true;
  if (name !== "destroy" || typeof options !== "object" || options === null) return false;
  return Reflect.get(options, "recover") !== undefined;
}

function isHello(
  packet: unknown,
): packet is { readonly d?: { readonly heartbeat_interval?: unknown } | null } {
  return typeof packet === "object" && packet !== null && Reflect.get(packet, "op") === hello;
}

function hasPlainBeat({ d }: { readonly d?: { readonly heartbeat_interval?: unknown } | null }): boolean {
  const ms = d?.heartbeat_interval;
  return typeof ms === "number" && ms >= fastestBeatMs && ms <= slowestBeatMs;
}

/** The token goes to the address at which a session is resumed. */
function isElsewhere(packet: unknown, apiUrl: string): boolean {
  const { t, d } = (packet ?? {}) as {
    readonly t?: unknown;
    readonly d?: { resume_gateway_url?: unknown } | null;
  };
  const url = t === "READY" ? d?.resume_gateway_url : undefined;
  return url !== undefined && !(typeof url === "string" && isSafeSocket(url, apiUrl));
}

function isSocket(value: unknown): value is Socket {
  return has(value, "on") && has(value, "terminate");
}

function isEmitter(value: object): value is Emitter {
  return has(value, "on") && has(value, "removeAllListeners");
}

function has(value: unknown, method: string): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, method) === "function";
}

function unknownParts(what: string): Error {
  return new Error(`this discord.js is made differently (${what}), so its gateway is not used`);
}
