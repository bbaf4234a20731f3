/**
 * Keeps gateway failures from ending the process. discord.js runs shards in the background without handling their
 * exceptions: an invalid address, an incomplete packet, or a socket that fails after it was dropped would end the
 * process. Every shard is wrapped before its first connection:
 *
 *  - sockets keep an `error` listener for life: discord.js removes its own from a socket that is still connecting, and
 *    leaves it open. A socket that is replaced, or whose client was dropped, is terminated;
 *  - background methods report failures instead of throwing them where nothing catches them;
 *  - frames are limited in size and number, and heartbeat intervals to a plausible range; else the connection ends;
 *  - of Discord's dispatches, discord.js receives only those that a connection needs, because it processes others
 *    later, out of reach. Interactions are passed on unparsed.
 *
 * There is no public interface for this. Private members of a shard are accessed by name, after a check that they
 * exist. If they do not, the connection fails: the bot then has no presence, but cannot end the process.
 */
import type { SimpleShardingStrategy } from "discord.js";
import { isSafeSocket } from "../../address.ts";
import { FrameBound } from "../../frame-bound.ts";

export type ShardManager = ConstructorParameters<typeof SimpleShardingStrategy>[0];

/** The used part of a `ws` socket. */
interface Socket {
  on(event: "error" | "close", listener: () => void): unknown;
  terminate(): void;
}

/** Discord's interval is 41 s. */
const minHeartbeatMs = 100;
/** Maximum frames in 10 s. The events of all servers of the bot arrive here. */
const maxFrames = 1_000;
const maxHeartbeatMs = 600_000;
const hello = 10;

interface Emitter {
  on(event: string, listener: (packet: { data?: { t?: unknown; d?: unknown } }) => void): unknown;
  removeAllListeners(event: string): unknown;
}

/** Methods that a shard, a timer or a socket calls without awaiting them. */
const backgroundMethods = ["internalConnect", "onMessage", "onError", "onClose", "heartbeat", "destroy"];
const forwardedEvents: readonly unknown[] = ["READY", "RESUMED"];

export class GatewayGuard {
  readonly #apiUrl: string;
  readonly #onError: (error: unknown) => void;
  readonly #onInteraction: (data: unknown) => void;
  readonly #sockets = new Set<Socket>();
  readonly #bound: FrameBound;
  #retired = false;

  /**
   * @param elapsedMs monotonic
   * @param apiUrl the address of Discord's API
   * @param onError receives what a shard threw in the background; must not throw
   * @param onInteraction receives presses and commands, unparsed; must not throw
   */
  constructor(
    elapsedMs: () => number,
    apiUrl: string,
    onError: (error: unknown) => void,
    onInteraction: (data: unknown) => void = () => {},
  ) {
    this.#bound = new FrameBound(elapsedMs, maxFrames);
    this.#apiUrl = apiUrl;
    this.#onError = onError;
    this.#onInteraction = onInteraction;
  }

  /** @returns discord.js' own strategy, with its shards wrapped */
  strategy(Strategy: typeof SimpleShardingStrategy, manager: ShardManager): SimpleShardingStrategy {
    const strategy = new Strategy(manager);
    const spawn = strategy.spawn.bind(strategy);
    strategy.spawn = async (ids) => {
      await spawn(ids);
      const shards: unknown = Reflect.get(strategy, "shards");
      if (!(shards instanceof Map) || shards.size !== ids.length) throw unknownStructure("shards");
      for (const [id, shard] of shards) this.#guardShard(shard, id, manager);
    };
    return strategy;
  }

  /**
   * Prevents all further connections. Without this, a destroyed shard would wake up from its reconnect wait and
   * connect, and a shard that is destroyed before its session is ready would reconnect and never finish.
   */
  retire(): void {
    this.#retired = true;
  }

  /** Terminates every open socket. */
  closeSockets(): void {
    for (const socket of this.#sockets) this.#contain(() => socket.terminate());
  }

  #guardShard(shard: object, id: unknown, manager: ShardManager): void {
    for (const name of backgroundMethods) {
      const method: unknown = Reflect.get(shard, name);
      if (typeof method !== "function") throw unknownStructure(name);
      Object.defineProperty(shard, name, {
        value: (...args: unknown[]) =>
          (this.#retired && isReconnect(name, args[0])) || (name === "onMessage" && this.#refused(args[0]))
            ? Promise.resolve()
            : this.#contain(() => Reflect.apply(method, shard, args)),
      });
    }
    this.#guardHello(shard);
    if (!Object.hasOwn(shard, "connection") || Reflect.get(shard, "connection") !== null) {
      throw unknownStructure("connection");
    }
    let current: Socket | null = null;
    Object.defineProperty(shard, "connection", {
      get: () => current,
      set: (socket: unknown) => {
        if (!isSocket(socket)) throw unknownStructure("socket");
        current?.terminate();
        current = socket;
        this.#addSocket(socket);
      },
    });
    if (!isEmitter(shard)) throw unknownStructure("events");
    shard.removeAllListeners("dispatch");
    shard.on("dispatch", (packet) => {
      if (packet.data?.t === "INTERACTION_CREATE" && !this.#retired) this.#onInteraction(packet.data.d);
      if (!forwardedEvents.includes(packet.data?.t)) return;
      Reflect.apply(manager.emit, manager, ["dispatch", { ...packet, shardId: id }]);
    });
  }

  /** A timer treats 0 and values above its maximum as 1 ms. */
  #guardHello(shard: object): void {
    const unpack: unknown = Reflect.get(shard, "unpackMessage");
    if (typeof unpack !== "function") throw unknownStructure("unpackMessage");
    Object.defineProperty(shard, "unpackMessage", {
      value: async (...args: unknown[]) => {
        const packet: unknown = await Reflect.apply(unpack, shard, args);
        if (isHello(packet) && !hasValidHeartbeat(packet)) {
          this.closeSockets();
          throw new Error("it asks for heartbeats as Discord never does");
        }
        if (hasUnsafeResumeUrl(packet, this.#apiUrl)) {
          this.closeSockets();
          throw new Error("it names an address to resume at that is none, or not safe");
        }
        return packet;
      },
    });
  }

  /** @returns true for a refused frame; its connection is terminated and reported as lost */
  #refused(data: unknown): boolean {
    if (this.#retired) return true;
    const length = typeof data === "string" ? data.length : data instanceof ArrayBuffer ? data.byteLength : 0;
    const why = this.#bound.refusal(length);
    if (why === null) return false;
    this.#retired = true;
    this.closeSockets();
    this.#onError(new Error(why));
    return true;
  }

  #addSocket(socket: Socket): void {
    // Keeps an error without another listener from being uncaught.
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    this.#sockets.add(socket);
    if (this.#retired) this.closeSockets();
  }

  #contain(run: () => unknown): unknown {
    try {
      const result = run();
      return result instanceof Promise ? result.catch((error: unknown) => this.#onError(error)) : result;
    } catch (error) {
      return this.#onError(error);
    }
  }
}

/** @returns true if this call of a shard's method leads to a connection */
function isReconnect(name: string, options: unknown): boolean {
  if (name === "internalConnect") return true;
  if (name !== "destroy" || typeof options !== "object" || options === null) return false;
  return Reflect.get(options, "recover") !== undefined;
}

function isHello(
  packet: unknown,
): packet is { readonly d?: { readonly heartbeat_interval?: unknown } | null } {
  return typeof packet === "object" && packet !== null && Reflect.get(packet, "op") === hello;
}

function hasValidHeartbeat({
  d,
}: {
  readonly d?: { readonly heartbeat_interval?: unknown } | null;
}): boolean {
  const ms = d?.heartbeat_interval;
  return typeof ms === "number" && ms >= minHeartbeatMs && ms <= maxHeartbeatMs;
}

/** Returns true if a session would be resumed at an unsafe address, which would receive the token. */
function hasUnsafeResumeUrl(packet: unknown, apiUrl: string): boolean {
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

function unknownStructure(what: string): Error {
  return new Error(`this discord.js is made differently (${what}), so its gateway is not used`);
}
