/** Decodes the bytes of a recording into observations: the inverse of recording-writer.ts. */
import type { Observation } from "../../domain/observation.ts";
import { ByteReader, unzigzag } from "./recording-bytes.ts";
import {
  bigintOf,
  carriedMark,
  firstStream,
  listDepth,
  newStream,
  type Shape,
  scaledOf,
  scales,
  tags,
  textsKept,
  wholeOf,
} from "./recording-format.ts";
import { Places } from "./recording-members.ts";
import { nothing, Picture } from "./recording-picture.ts";

export interface Read {
  readonly observation: Observation;
  /** True for a repeated record, for readers that begin here. */
  readonly carried: boolean;
}

/** Reads the output of one RecordingWriter, from its first byte on. */
export class RecordingReader {
  readonly #streams: Picture[] = [];
  readonly #shapes: Shape[] = [];
  readonly #textPlaces: string[] = [];
  #nextPlace = 0;
  #depth = 0;
  #in = new ByteReader(Buffer.alloc(0));
  /** The position of the value being read: its picture, and its key in the observation. */
  #picture = new Picture();
  #key = "";

  /** @throws if the bytes are damaged */
  *read(bytes: Buffer): Generator<Read> {
    this.#in = new ByteReader(bytes);
    while (this.#in.more) {
      let id = this.#in.whole();
      const carried = id === carriedMark;
      if (carried) id = this.#in.whole();
      const index = id === newStream ? this.#streams.length : id - firstStream;
      if (index < 0 || (id !== newStream && index >= this.#streams.length))
        throw new RangeError(`stream ${id}`);
      const picture = this.#streams[index] ?? new Picture();
      this.#streams[index] = picture;
      this.#picture = picture;
      picture.last = this.#get(this.#in.byte(), picture.last);
      yield { observation: picture.last as Observation, carried };
    }
  }

  /** Reads one value by its tag. */
  #get(tag: number, known: unknown): unknown {
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
        return JSON.parse(from.text("utf8"));
    }
    const decimal = scales[tag - tags.decimal];
    if (decimal !== undefined) return (scaledOf(known, decimal) + from.signed()) / decimal;
    this.#depth++;
    const value =
      tag === tags.objectNew || tag === tags.objectChanged
        ? this.#object(tag, known)
        : this.#list(tag, known);
    this.#depth--;
    return value;
  }

  #object(tag: number, known: unknown): object {
    const from = this.#in;
    const own = this.#depth === 1;
    const isNew = tag === tags.objectNew;
    if (!isNew && (!isComposite(known) || Array.isArray(known)))
      throw new RangeError(`tag ${tag} on nothing`);
    const before = (isNew ? {} : known) as Readonly<Record<string, unknown>>;
    const keys = isNew ? this.#shape().keys : Object.keys(before);
    const bits = isNew ? 0 : from.bits(keys.length);
    const values: unknown[] = [];
    for (const [i, key] of keys.entries()) {
      if (own) this.#key = key;
      if (isNew) values.push(this.#get(from.byte(), nothing));
      else values.push(from.bit(bits, i) ? this.#get(from.byte(), before[key]) : before[key]);
    }
    return objectOf(keys, values);
  }

  #list(tag: number, known: unknown): readonly unknown[] {
    const from = this.#in;
    const picture = this.#depth === listDepth ? this.#picture : null;
    const key = this.#key;
    const values: unknown[] = [];
    if (tag === tags.listNew) {
      for (let count = from.whole(); count > 0; count--) values.push(this.#get(from.byte(), nothing));
      picture?.keep(key, values, values);
      return values;
    }
    if (!Array.isArray(known)) throw new RangeError(`tag ${tag} on nothing`);
    const members: readonly unknown[] = picture?.membersOf(key, known) ?? known;
    if (tag === tags.listChanged) {
      const bits = from.bits(members.length);
      for (const [i, one] of members.entries())
        values.push(from.bit(bits, i) ? this.#get(from.byte(), one) : one);
      picture?.keep(key, values, values);
    } else if (tag === tags.listMoved) {
      const places = new Places(members);
      for (let count = from.whole(); count > 0; count--) {
        const place = from.whole() - 1;
        const value = this.#get(from.byte(), place === -1 ? nothing : members[place]);
        if (place === -1) places.add(value);
        else places.take(place, value);
        values.push(value);
      }
      picture?.keep(key, values, places.after());
    } else throw new RangeError(`tag ${tag}`);
    return values;
  }

  #shape(): Shape {
    const from = this.#in;
    const id = from.whole();
    const known = this.#shapes[id];
    if (known !== undefined) return known;
    if (id !== this.#shapes.length) throw new RangeError(`shape ${id}`);
    const keys: string[] = [];
    for (let count = from.whole(); count > 0; count--) {
      const key = this.#get(from.byte(), nothing);
      if (typeof key !== "string") throw new RangeError("a key that is no text");
      keys.push(key);
    }
    const shape = { id, keys };
    this.#shapes.push(shape);
    return shape;
  }
}

function isComposite(known: unknown): known is object {
  return typeof known === "object" && known !== null && known !== nothing;
}

function objectOf(keys: readonly string[], values: readonly unknown[]): object {
  const made: Record<string, unknown> = {};
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    // An assignment would set the object's prototype.
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
