/** The streams of a recording: observations of one kind and owner. */

import type { Observation } from "../../domain/observation.ts";
import { firstStream } from "./recording-format.ts";
import { Picture } from "./recording-picture.ts";

class Stream extends Picture {
  readonly id: number;
  /** Count of the observation's keys. */
  readonly keys: number;
  /** Another one of the same kind and owner. */
  readonly next: Stream | undefined;

  constructor(id: number, keys: number, next: Stream | undefined) {
    super();
    this.id = id;
    this.keys = keys;
    this.next = next;
  }
}

/**
 * Finds the stream of an observation: its kind and its owner's parts. A wrong choice costs bytes, not exactness. No key text
 * is built, as that would cost as much as the rest.
 */
export class Streams {
  readonly #byKind = new Map<string, Map<unknown, Stream>>();
  readonly all: Stream[] = [];

  find(observation: Observation): Stream | undefined {
    const o = observation as unknown as Known;
    const first = this.#byKind.get(o.kind)?.get(o.wallet ?? o.symbol ?? o.owner ?? o.channel);
    if (first === undefined) return undefined;
    let keys = 0;
    for (const _ in o) keys++;
    for (let stream: Stream | undefined = first; stream !== undefined; stream = stream.next) {
      const last = stream.last as Known;
      if (stream.keys !== keys || last.pdaIndex !== o.pdaIndex || last.source !== o.source) continue;
      if (last.symbol !== o.symbol || last.live !== o.live) continue;
      if (last.view?.pdaIndex === o.view?.pdaIndex && last.view?.subaccount === o.view?.subaccount)
        return stream;
    }
    return undefined;
  }

  add(observation: Observation): Stream {
    const o = observation as unknown as Known;
    const owner = o.wallet ?? o.symbol ?? o.owner ?? o.channel;
    const owners = this.#byKind.get(o.kind) ?? new Map<unknown, Stream>();
    this.#byKind.set(o.kind, owners);
    const stream = new Stream(this.all.length + firstStream, Object.keys(o).length, owners.get(owner));
    this.all.push(stream);
    owners.set(owner, stream);
    return stream;
  }
}

/** The fields that may distinguish owners, in all kinds. */
interface Known {
  readonly kind: string;
  readonly wallet?: unknown;
  readonly pdaIndex?: unknown;
  readonly symbol?: unknown;
  readonly source?: unknown;
  readonly owner?: unknown;
  readonly channel?: unknown;
  readonly live?: unknown;
  readonly view?: { readonly pdaIndex?: unknown; readonly subaccount?: unknown } | null;
}
