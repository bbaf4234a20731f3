/**
 * The client side of the signer protocol. It keeps one connection and reconnects at growing intervals, so that its
 * status always shows if anything can be signed.
 */
import type { Duplex } from "node:stream";
import type { Clock } from "../domain/clock.ts";
import type { KeyAnswer } from "./keys.ts";
import { SignerUnavailable, type SigningAct, SigningRefused, type WalletSigner } from "./signer.ts";
import {
  lineOf,
  maxReplyBytes,
  parsedLine,
  type ReadKind,
  type Reply,
  type Request,
  readLines,
  replyForm,
} from "./wire.ts";

export interface SignerClientOptions {
  /** @throws {SignerUnavailable} if the signer is not reachable */
  readonly connect: () => Promise<Duplex>;
  readonly clock: Clock;
  readonly readTimeoutMs: number;
  /**
   * True: the signer runs as a separate service and may be of an older version, which closes the connection on an
   * unknown request.
   */
  readonly mayBeOlder?: boolean;
  /** Called with a sentence for each connection to an older signer. */
  readonly onOlder?: (what: string) => void;
  /** Called when the signer becomes unavailable, with the reason, or available (an empty text). */
  readonly onTrouble?: (trouble: string) => void;
}

export interface LoadedKeys {
  readonly keys: readonly KeyAnswer[];
  /** The reason why the keystore is not open; empty: it is open, or none is used. */
  readonly closed: string;
}

type Distributed<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never;

const signTimeoutMs = 15_000;
/** Key of the signer's own troubles; no wallet has an empty name. */
const signerKey = "";
const olderSigner = "the signer is of an older version than what asks it: start it again";
/** Maximum concurrent requests; others wait. */
const maxActive = 64;
const firstRetryMs = 1_000;
const maxRetryMs = 15_000;

interface Waiting {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

export class SignerClient {
  readonly #options: SignerClientOptions;
  readonly #waiting = new Map<number, Waiting>();
  #stream: Duplex | null = null;
  #connecting: Promise<Duplex> | null = null;
  #nextId = 1;
  #retryMs = firstRetryMs;
  #cancelRetry: (() => void) | null = null;
  /** Troubles by wallet, and of the signer as a whole. */
  readonly #troubles = new Map<string, string>();
  /** Wallets whose trouble ends only with a signature. */
  readonly #failingWallets = new Set<string>();
  #trouble = "";
  /** Wallets whose troubles are reported; null: all. */
  #reportedWallets: ReadonlySet<string> | null = null;
  #active = 0;
  readonly #queue: (() => void)[] = [];
  #isClosed = false;
  /** True while connected to an older signer, which supports `load` only. */
  #isOlder = false;
  /** True if the last connection ended without an answer. */
  #isUnanswered = false;

  constructor(options: SignerClientOptions) {
    this.#options = options;
  }

  /** The reason why nothing can be signed now; empty: signing works. */
  get trouble(): string {
    return this.#trouble;
  }

  /**
   * Loads the current configuration in the signer. @throws {SignerUnavailable} @throws {SigningRefused} if the signer
   * keeps its earlier one
   */
  load(): Promise<LoadedKeys> {
    return this.#loaded("load");
  }

  /** Reads the keys of the loaded configuration again. @throws {SignerUnavailable} */
  renew(): Promise<LoadedKeys> {
    return this.#loaded("renew");
  }

  /**
   * Returns the keys of the current configuration file without loading it. @throws {SignerUnavailable} @throws
   * {SigningRefused}
   */
  look(): Promise<LoadedKeys> {
    return this.#read("look");
  }

  async #loaded(how: ReadKind): Promise<LoadedKeys> {
    const loaded = await this.#read(how);
    for (const answer of loaded.keys)
      if ("address" in answer && !this.#failingWallets.has(answer.address))
        this.#troubles.delete(answer.address);
    this.#note(signerKey, loaded.closed);
    return loaded;
  }

  async #askToRead(how: ReadKind): Promise<Reply> {
    const ask = (by: ReadKind) => this.#ask({ do: by }, this.#options.readTimeoutMs);
    // A restarting signer also closes a connection; only two closed connections in a row show another version.
    for (let ends = 0; ends < 2 && !this.#isOlder; ends++)
      try {
        return await ask(how);
      } catch (error) {
        if (this.#options.mayBeOlder !== true || how === "load" || !this.#isUnanswered) throw error;
      }
    const reply = await ask("load");
    if (!this.#isOlder) this.#options.onOlder?.(olderSigner);
    this.#isOlder = true;
    return reply;
  }

  async #read(how: ReadKind): Promise<LoadedKeys> {
    try {
      const reply = await this.#askToRead(how);
      if (!("keys" in reply)) throw failureOf(reply);
      return { keys: reply.keys, closed: reply.closed };
    } catch (error) {
      // A refused configuration does not affect the loaded keys.
      if (!(error instanceof SigningRefused))
        this.#note(signerKey, error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  /** Ends the troubles of all other wallets, which are no longer configured. */
  keepTroublesOf(addresses: readonly string[]): void {
    this.#reportedWallets = new Set([signerKey, ...addresses]);
    for (const name of this.#troubles.keys()) if (!this.#reportedWallets.has(name)) this.#note(name, "");
  }

  signerOf(address: string): WalletSigner {
    return {
      address,
      sign: async (act: SigningAct) => {
        const reply = await this.#askFor(address, { do: "sign", wallet: address, act });
        if ("signed" in reply) return reply.signed;
        throw failureOf(reply);
      },
      sessionKey: async () => {
        const reply = await this.#askFor(address, { do: "sessionKey", wallet: address });
        if ("sessionKey" in reply) return Buffer.from(reply.sessionKey, "base64");
        throw failureOf(reply);
      },
    };
  }

  /** Sends a wallet's request. A failure is reported as a trouble of the wallet until it succeeds. */
  async #askFor(address: string, request: Distributed<Request, "id">): Promise<Reply> {
    let reply: Reply;
    try {
      reply = await this.#ask(request, signTimeoutMs);
    } catch (error) {
      if (error instanceof SignerUnavailable && !this.#isClosed) this.#note(address, error.message);
      throw error;
    }
    if ("failed" in reply) this.#failingWallets.add(address);
    else if (request.do === "sign") this.#failingWallets.delete(address);
    this.#note(address, "failed" in reply ? reply.failed : "unavailable" in reply ? reply.unavailable : "");
    return reply;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
    this.#stream?.destroy();
    this.#failAll(new SignerUnavailable("stopping"));
  }

  async #ask(request: Distributed<Request, "id">, withinMs: number): Promise<Reply> {
    if (this.#active >= maxActive) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#active++;
    try {
      return await this.#askNow(await this.#connected(), request, withinMs);
    } finally {
      this.#active--;
      this.#queue.shift()?.();
    }
  }

  #askNow(stream: Duplex, request: Distributed<Request, "id">, withinMs: number): Promise<Reply> {
    const id = this.#nextId++;
    return new Promise<Reply>((resolve, reject) => {
      const cancel = this.#options.clock.after(withinMs, () => {
        this.#waiting.delete(id);
        reject(new SignerUnavailable(`the signer did not answer within ${withinMs / 1_000} s`));
      });
      this.#waiting.set(id, {
        resolve: (reply) => {
          cancel();
          resolve(reply);
        },
        reject: (error) => {
          cancel();
          reject(error);
        },
      });
      stream.write(lineOf({ ...request, id } as Request));
    });
  }

  #connected(): Promise<Duplex> {
    if (this.#isClosed) return Promise.reject(new SignerUnavailable("stopping"));
    if (this.#stream !== null) return Promise.resolve(this.#stream);
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #connect(): Promise<Duplex> {
    let stream: Duplex;
    try {
      stream = await this.#options.connect();
    } catch (error) {
      this.#lost(error instanceof Error ? error.message : String(error));
      throw error;
    }
    if (this.#isClosed) stream.destroy();
    this.#stream = stream;
    this.#isUnanswered = true;
    stream.on("error", () => {});
    stream.on("close", () => {
      if (this.#stream !== stream) return;
      // An older signer may also close the connection for an unknown act.
      const why = this.#isOlder ? olderSigner : "the connection to the signer was lost";
      this.#stream = null;
      this.#isOlder = false;
      this.#lost(why);
    });
    readLines(stream, maxReplyBytes, (line) => {
      const reply = parsedLine(replyForm, line);
      // A late reply has a known id.
      if (reply === undefined || reply.id >= this.#nextId) return void stream.destroy();
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      this.#isUnanswered = false;
      waiting?.resolve(reply);
    });
    return stream;
  }

  #lost(why: string): void {
    if (this.#isClosed) return;
    this.#failAll(new SignerUnavailable(why));
    this.#note(signerKey, why);
  }

  /**
   * Records or clears a trouble. While there is one, the keys are read again at growing intervals, since it may end
   * without a signature.
   */
  #note(name: string, trouble: string): void {
    if (this.#isClosed) return;
    if (trouble === "" || this.#reportedWallets?.has(name) === false) this.#troubles.delete(name);
    else this.#troubles.set(name, trouble);
    const [first = ""] = this.#troubles.values();
    this.#report(first);
    if (first === "") {
      this.#retryMs = firstRetryMs;
      this.#cancelRetry?.();
      this.#cancelRetry = null;
    } else
      this.#cancelRetry ??= this.#options.clock.after(this.#retryMs, () => {
        this.#cancelRetry = null;
        this.#retryMs = Math.min(maxRetryMs, this.#retryMs * 2);
        this.renew().catch(() => {});
      });
  }

  #failAll(error: Error): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const one of waiting) one.reject(error);
  }

  #report(trouble: string): void {
    if (trouble === this.#trouble) return;
    this.#trouble = trouble;
    this.#options.onTrouble?.(trouble);
  }
}

function failureOf(reply: Reply): Error {
  if ("refused" in reply) return new SigningRefused(reply.refused, reply.see);
  if ("unavailable" in reply) return new SignerUnavailable(reply.unavailable);
  if ("failed" in reply) return new SignerUnavailable(reply.failed);
  return new SignerUnavailable("the signer answered something else than was asked for");
}
