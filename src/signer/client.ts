/**
 * The asker's side of the protocol. It keeps one connection: when that is lost it connects again, at growing intervals, so that it knows
 * at each moment whether anything can be signed.
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
  /** @throws {SignerUnavailable} when there is nobody to connect to */
  readonly connect: () => Promise<Duplex>;
  readonly clock: Clock;
  readonly readWithinMs: number;
  /** It runs on its own, and may be older than this program: such a one ends a connection with a request that it does not know. */
  readonly mayBeOlder?: boolean;
  /** Called with a sentence for each connection to a signer of an older version. */
  readonly onOlder?: (what: string) => void;
  /** The signer cannot be used, or can again (an empty text). */
  readonly onTrouble?: (trouble: string) => void;
}

export interface LoadedKeys {
  readonly keys: readonly KeyAnswer[];
  /** The reason why the keystore is not open; empty: it is, or none is used. */
  readonly closed: string;
}

type Distributed<Union, Key extends PropertyKey> = Union extends unknown ? Omit<Union, Key> : never;

const signWithinMs = 15_000;
/** The name of the signer's own troubles; no wallet is called so. */
const whole = "";
const olderSigner = "the signer is of an older version than what asks it: start it again";
/** Requests under way; others wait for their turn. */
const maxUnderWay = 64;
const firstPauseMs = 1_000;
const maxPauseMs = 15_000;

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
  #pauseMs = firstPauseMs;
  #cancelAgain: (() => void) | null = null;
  /** By wallet, and of the signer as a whole. */
  readonly #troubles = new Map<string, string>();
  /** The wallets whose trouble only a signature ends. */
  readonly #failing = new Set<string>();
  #trouble = "";
  /** The wallets whose troubles count; null: all. */
  #wanted: ReadonlySet<string> | null = null;
  #underWay = 0;
  readonly #turns: (() => void)[] = [];
  #isClosed = false;
  /** True while connected to a signer of an older version, which knows no request but `load`. */
  #isOlder = false;
  /** True if the last connection ended without an answer. */
  #isUnanswered = false;

  constructor(options: SignerClientOptions) {
    this.#options = options;
  }

  /** The reason why nothing can be signed now; empty: it can. */
  get trouble(): string {
    return this.#trouble;
  }

  /** Has the signer load its configuration as it is now. @throws {SignerUnavailable} @throws {SigningRefused} where it goes on as it was */
  load(): Promise<LoadedKeys> {
    return this.#loaded("load");
  }

  /** Has the signer read the keys of the configuration in force again. @throws {SignerUnavailable} */
  renew(): Promise<LoadedKeys> {
    return this.#loaded("renew");
  }

  /** The keys that the configuration names now; the signer goes on as it was. @throws {SignerUnavailable} @throws {SigningRefused} */
  look(): Promise<LoadedKeys> {
    return this.#read("look");
  }

  async #loaded(how: ReadKind): Promise<LoadedKeys> {
    const loaded = await this.#read(how);
    for (const answer of loaded.keys)
      if ("address" in answer && !this.#failing.has(answer.address)) this.#troubles.delete(answer.address);
    this.#note(whole, loaded.closed);
    return loaded;
  }

  async #askToRead(how: ReadKind): Promise<Reply> {
    const ask = (by: ReadKind) => this.#ask({ do: by }, this.#options.readWithinMs);
    // One that is started again at this moment ends a connection, too: twice in a row is another version.
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
      // A configuration that is not loaded changes nothing about the keys that are held.
      if (!(error instanceof SigningRefused))
        this.#note(whole, error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  /** Ends the troubles of all other wallets: the configuration names them no more. */
  keepTroublesOf(addresses: readonly string[]): void {
    this.#wanted = new Set([whole, ...addresses]);
    for (const name of this.#troubles.keys()) if (!this.#wanted.has(name)) this.#note(name, "");
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

  /** A wallet that cannot be signed for is a trouble until it can. */
  async #askFor(address: string, request: Distributed<Request, "id">): Promise<Reply> {
    let reply: Reply;
    try {
      reply = await this.#ask(request, signWithinMs);
    } catch (error) {
      if (error instanceof SignerUnavailable && !this.#isClosed) this.#note(address, error.message);
      throw error;
    }
    if ("failed" in reply) this.#failing.add(address);
    else if (request.do === "sign") this.#failing.delete(address);
    this.#note(address, "failed" in reply ? reply.failed : "unavailable" in reply ? reply.unavailable : "");
    return reply;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelAgain?.();
    this.#stream?.destroy();
    this.#failAll(new SignerUnavailable("stopping"));
  }

  async #ask(request: Distributed<Request, "id">, withinMs: number): Promise<Reply> {
    if (this.#underWay >= maxUnderWay) await new Promise<void>((resolve) => this.#turns.push(resolve));
    this.#underWay++;
    try {
      return await this.#askNow(await this.#connected(), request, withinMs);
    } finally {
      this.#underWay--;
      this.#turns.shift()?.();
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
      // An older one may also end a connection for an act that it does not know.
      const why = this.#isOlder ? olderSigner : "the connection to the signer was lost";
      this.#stream = null;
      this.#isOlder = false;
      this.#lost(why);
    });
    readLines(stream, maxReplyBytes, (line) => {
      const reply = parsedLine(replyForm, line);
      // An answer that comes late is one that was asked for.
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
    this.#note(whole, why);
  }

  /** While there is a trouble the signer is asked again, at growing intervals: it may be over without anybody signing in. */
  #note(name: string, trouble: string): void {
    if (this.#isClosed) return;
    if (trouble === "" || this.#wanted?.has(name) === false) this.#troubles.delete(name);
    else this.#troubles.set(name, trouble);
    const [first = ""] = this.#troubles.values();
    this.#tell(first);
    if (first === "") {
      this.#pauseMs = firstPauseMs;
      this.#cancelAgain?.();
      this.#cancelAgain = null;
    } else
      this.#cancelAgain ??= this.#options.clock.after(this.#pauseMs, () => {
        this.#cancelAgain = null;
        this.#pauseMs = Math.min(maxPauseMs, this.#pauseMs * 2);
        this.renew().catch(() => {});
      });
  }

  #failAll(error: Error): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const one of waiting) one.reject(error);
  }

  #tell(trouble: string): void {
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
