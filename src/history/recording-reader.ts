/** Bytes of a recording as the observations that they were: the other half of recording-code.ts, which says what stands in them. */
import type { Observation } from "../domain/observation.ts";
import { ByteReader, unzigzag } from "./recording-bytes.ts";
import {
  absentKept,
  bigintOf,
  carriedMark,
  firstStream,
  Node,
  newStream,
  nothing,
  Places,
  type Shape,
  type Slot,
  scaledOf,
  scales,
  tags,
  textsKept,
  wholeOf,
} from "./recording-code.ts";

export interface Read {
  readonly observation: Observation;
  /** It stands here a second time, for those who begin to read here. */
  readonly carried: boolean;
}

/** Reads what one RecordingWriter wrote, from its first byte on. */
export class RecordingReader {
  readonly #streams: Slot[] = [];
  readonly #shapes: Shape[] = [];
  readonly #textPlaces: string[] = [];
  #nextPlace = 0;
  #depth = 0;
  #in = new ByteReader(Buffer.alloc(0));
  /** The value that was read last; its slot is what `#get` returned. */
  #value: unknown;

  /** @throws when the bytes are not what was written */
  *read(bytes: Buffer): Generator<Read> {
    this.#in = new ByteReader(bytes);
    while (this.#in.more) {
      let id = this.#in.whole();
      const carried = id === carriedMark;
      if (carried) id = this.#in.whole();
      const index = id === newStream ? this.#streams.length : id - firstStream;
      if (index < 0 || (id !== newStream && index >= this.#streams.length))
        throw new RangeError(`stream ${id}`);
      this.#streams[index] = this.#get(this.#in.byte(), id === newStream ? nothing : this.#streams[index]);
      yield { observation: this.#value as Observation, carried };
    }
  }

  /** Reads one value by its tag. @returns what is known of it from here on */
  #get(tag: number, known: Slot): Slot {
    const slot = this.#slot(tag, known);
    if (tag !== tags.json) this.#value = lastOf(slot);
    return slot;
  }

  #slot(tag: number, known: Slot): Slot {
    const from = this.#in;
    if (tag >= tags.small) return wholeOf(known) + unzigzag(tag - tags.small);
    switch (tag) {
      case tags.same:
        return known;
      case tags.null:
        return null;
      case tags.undefined:
        return undefined;
      case tags.true:
        return true;
      case tags.false:
        return false;
      case tags.whole:
        return wholeOf(known) + from.signed();
      case tags.double:
        return from.double();
      case tags.bigint:
        return BigInt(bigintOf(known) + from.signed());
      case tags.bigintText:
        return BigInt(from.text("utf8"));
      case tags.textKnown: {
        const text = this.#textPlaces[from.whole()];
        if (text === undefined) throw new RangeError("a text that is not known");
        return text;
      }
      case tags.textNew: {
        const text = from.text("utf8");
        this.#textPlaces[this.#nextPlace] = text;
        this.#nextPlace = (this.#nextPlace + 1) % textsKept;
        return text;
      }
      case tags.textLong:
        return from.text("utf8");
      case tags.textRaw:
        return from.text("utf16le");
      case tags.json:
        this.#value = JSON.parse(from.text("utf8"));
        return nothing;
    }
    const decimal = scales[tag - tags.decimal];
    if (decimal !== undefined) return (scaledOf(known, decimal) + from.signed()) / decimal;
    this.#depth++;
    const node = this.#composite(tag, known);
    this.#depth--;
    return node;
  }

  #composite(tag: number, known: Slot): Node {
    const from = this.#in;
    if (tag === tags.objectNew) {
      const shape = this.#shape();
      const slots: Slot[] = [];
      const values: unknown[] = [];
      for (const _ of shape.keys) {
        slots.push(this.#get(from.byte(), nothing));
        values.push(this.#value);
      }
      return new Node(shape, slots, objectOf(shape.keys, values));
    }
    if (tag === tags.listNew) {
      const length = from.whole();
      const slots: Slot[] = [];
      const values: unknown[] = [];
      for (let i = 0; i < length; i++) {
        slots.push(this.#get(from.byte(), nothing));
        values.push(this.#value);
      }
      return new Node(null, slots, values);
    }
    if (!(known instanceof Node)) throw new RangeError(`tag ${tag} on nothing`);
    if (tag === tags.listMoved) return this.#moved(known);
    const { slots, shape } = known;
    const bits = from.bits(slots.length);
    const values: unknown[] = [];
    for (let i = 0; i < slots.length; i++) {
      if (from.bit(bits, i)) {
        slots[i] = this.#get(from.byte(), slots[i]);
        values.push(this.#value);
      } else values.push(lastOf(slots[i]));
    }
    if (tag === tags.objectChanged && shape !== null) known.source = objectOf(shape.keys, values);
    else if (tag === tags.listChanged) known.source = values;
    else throw new RangeError(`tag ${tag}`);
    return known;
  }

  #moved(known: Node): Node {
    const from = this.#in;
    const length = from.whole();
    const places = new Places(known.slots);
    const values: unknown[] = [];
    for (let i = 0; i < length; i++) {
      const place = from.whole() - 1;
      if (place === -1) places.add(this.#get(from.byte(), nothing));
      else places.take(place, this.#get(from.byte(), known.slots[place]));
      values.push(this.#value);
    }
    known.slots = places.after(this.#depth <= 2 && length > 0 ? absentKept : 0);
    known.source = values;
    return known;
  }

  #shape(): Shape {
    const from = this.#in;
    const id = from.whole();
    const known = this.#shapes[id];
    if (known !== undefined) return known;
    if (id !== this.#shapes.length) throw new RangeError(`shape ${id}`);
    const keys: string[] = [];
    for (let count = from.whole(); count > 0; count--) {
      const key = this.#slot(from.byte(), nothing);
      if (typeof key !== "string") throw new RangeError("a key that is no text");
      keys.push(key);
    }
    const shape = { id, keys };
    this.#shapes.push(shape);
    return shape;
  }
}

function lastOf(slot: Slot): unknown {
  return slot instanceof Node ? slot.source : slot;
}

function objectOf(keys: readonly string[], values: readonly unknown[]): object {
  const made: Record<string, unknown> = {};
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    // Assigned, it would be the object's prototype.
    if (key === "__proto__")
      Object.defineProperty(made, key, {
        value: values[i],
        enumerable: true,
        configurable: true,
        writable: true,
      });
    else made[key] = values[i];
  }
  return made;
}
