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
  mostReplyBytes,
  parsedLine,
  type Reply,
  type Request,
  readLines,
  replyForm,
} from "./wire.ts";

export interface SignerClientOptions {
  /** @throws {SignerUnavailable} when there is nobody to connect to */
  readonly connect: () => Promise<Duplex>;
  readonly clock: Clock;
  /** Null: a person may be asked for a passphrase, which takes as long as it takes. */
  readonly loadWithinMs: number | null;
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
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;

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
  #trouble = "";
  #isClosed = false;

  constructor(options: SignerClientOptions) {
    this.#options = options;
  }

  /** The reason why nothing can be signed now; empty: it can. */
  get trouble(): string {
    return this.#trouble;
  }

  /** Has the signer read its configuration again. @throws {SignerUnavailable} */
  async load(): Promise<LoadedKeys> {
    const reply = await this.#ask({ do: "load" }, this.#options.loadWithinMs);
    if (!("keys" in reply)) throw failureOf(reply);
    this.#tell(reply.closed);
    return { keys: reply.keys, closed: reply.closed };
  }

  signerOf(address: string): WalletSigner {
    return {
      address,
      sign: async (act: SigningAct) => {
        const reply = await this.#ask({ do: "sign", wallet: address, act }, signWithinMs);
        if ("signed" in reply) return reply.signed;
        throw failureOf(reply);
      },
      sessionKey: async () => {
        const reply = await this.#ask({ do: "sessionKey", wallet: address }, signWithinMs);
        if ("sessionKey" in reply) return Buffer.from(reply.sessionKey, "base64");
        throw failureOf(reply);
      },
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelAgain?.();
    this.#stream?.destroy();
    this.#failAll(new SignerUnavailable("stopping"));
  }

  async #ask(request: Distributed<Request, "id">, withinMs: number | null): Promise<Reply> {
    const stream = await this.#connected();
    const id = this.#nextId++;
    return new Promise<Reply>((resolve, reject) => {
      const late = () => {
        this.#waiting.delete(id);
        reject(new SignerUnavailable(`the signer did not answer within ${(withinMs ?? 0) / 1_000} s`));
      };
      const cancel = withinMs === null ? () => {} : this.#options.clock.after(withinMs, late);
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
    stream.on("error", () => {});
    stream.on("close", () => {
      if (this.#stream !== stream) return;
      this.#stream = null;
      this.#lost("the connection to the signer was lost");
    });
    readLines(stream, mostReplyBytes, (line) => {
      const reply = parsedLine(replyForm, line);
      const waiting = reply && this.#waiting.get(reply.id);
      if (reply === undefined || waiting === undefined) return;
      this.#waiting.delete(reply.id);
      waiting.resolve(reply);
    });
    return stream;
  }

  #lost(why: string): void {
    if (this.#isClosed) return;
    this.#failAll(new SignerUnavailable(why));
    this.#tell(why);
    this.#cancelAgain?.();
    this.#cancelAgain = this.#options.clock.after(this.#pauseMs, () => {
      // A signer that answers is as good as before; one that does not is tried again.
      this.load().then(
        () => {
          this.#pauseMs = firstPauseMs;
        },
        () => {},
      );
    });
    this.#pauseMs = Math.min(longestPauseMs, this.#pauseMs * 2);
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
  return new SignerUnavailable("the signer answered something else than was asked for");
}
