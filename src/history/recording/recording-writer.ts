/** Writes observations as bytes, in the format of recording-format.ts. */

import type { Observation } from "../../domain/observation.ts";
import { ByteWriter, maxWhole, zigzag } from "./recording-bytes.ts";
import {
  bigintOf,
  carriedMark,
  listDepth,
  newStream,
  type Shape,
  scaledOf,
  scales,
  tags,
  textsKept,
  wholeOf,
} from "./recording-format.ts";
import { hasKeys, inPlace, isObject, Places } from "./recording-members.ts";
import { nothing, Picture } from "./recording-picture.ts";
import { Streams } from "./recording-streams.ts";

/** Maximum length of a text in the table of texts; longer ones would displace many short ones. */
const maxTextLength = 64;
/** Maximum depth of encoded values; deeper ones are JSON text. None of our own are that deep. */
const maxDepth = 64;
/** Limits after which writing starts anew, to bound the memory. */
const maxShapes = 5_000;
const maxStreams = 200_000;

export class RecordingWriter {
  readonly #out = new ByteWriter();
  readonly #streams = new Streams();
  readonly #shapes = new Map<string, Shape>();
  readonly #texts = new Map<string, number>();
  readonly #textPlaces: (string | undefined)[] = new Array(textsKept).fill(undefined);
  #nextPlace = 0;
  #depth = 0;
  /** The position of the value being written: its picture, and its key in the observation. */
  #picture = new Picture();
  #key = "";

  /** Bytes since the last `take`. */
  get length(): number {
    return this.#out.at;
  }

  /** True if it should be replaced by a new one. */
  get full(): boolean {
    return this.#shapes.size >= maxShapes || this.#streams.all.length >= maxStreams;
  }

  /** Yields the last observation of each stream. */
  *last(): Generator<Observation> {
    for (const { last } of this.#streams.all) yield last as Observation;
  }

  /** The bytes written; to be copied before the next write. */
  take(): Buffer {
    const taken = this.#out.taken();
    this.#out.at = 0;
    return taken;
  }

  /**
   * @param carried true: it was recorded before, and is repeated for readers that begin here; skipped if its stream has a
   * newer one
   */
  write(observation: Observation, carried = false): void {
    const out = this.#out;
    const known = this.#streams.find(observation);
    if (known !== undefined) {
      if (carried) return;
      out.whole(known.id);
      const before = out.at;
      this.#observation(observation, known);
      if (out.at === before) out.byte(tags.same);
      return;
    }
    if (carried) out.whole(carriedMark);
    out.whole(newStream);
    this.#observation(observation, this.#streams.add(observation));
  }

  #observation(observation: Observation, picture: Picture): void {
    this.#picture = picture;
    this.#put(observation, picture.last);
    picture.last = observation;
  }

  /** Writes `value`, or nothing at all where it is what is known. */
  #put(value: unknown, known: unknown): void {
    switch (typeof value) {
      case "number":
        if (value !== known || (value === 0 && !Object.is(value, known))) this.#number(value, known);
        return;
      case "string":
        if (value !== known) this.#text(value);
        return;
      case "bigint":
        if (value !== known) this.#bigint(value, known);
        return;
      case "boolean":
        if (value !== known) this.#out.byte(value ? tags.true : tags.false);
        return;
      case "object":
        this.#composite(value, known);
        return;
      default:
        if (known !== undefined) this.#out.byte(tags.undefined);
    }
  }

  #number(value: number, known: unknown): void {
    const out = this.#out;
    if (Number.isInteger(value) && !Object.is(value, -0)) {
      const difference = value - wholeOf(known);
      if (Math.abs(value) < maxWhole && Math.abs(difference) < maxWhole) {
        if (difference >= -64 && difference < 64) out.byte(tags.small + zigzag(difference));
        else {
          out.byte(tags.whole);
          out.signed(difference);
        }
        return;
      }
    } else {
      for (let i = 0; i < scales.length; i++) {
        const scale = scales[i] as number;
        const scaled = Math.round(value * scale);
        if (!(Math.abs(scaled) < maxWhole)) break;
        if (scaled / scale !== value || scaled === 0) continue;
        out.byte(tags.decimal + i);
        out.signed(scaled - scaledOf(known, scale));
        return;
      }
    }
    out.byte(tags.double);
    out.double(value);
  }

  #bigint(value: bigint, known: unknown): void {
    const out = this.#out;
    const number = Number(value);
    if (Math.abs(number) < maxWhole) {
      out.byte(tags.bigint);
      out.signed(number - bigintOf(known));
    } else {
      out.byte(tags.bigintText);
      out.text(value.toString(), "utf8");
    }
  }

  #text(value: string): void {
    const out = this.#out;
    const place = this.#texts.get(value);
    if (place !== undefined) {
      out.byte(tags.textKnown);
      out.whole(place);
    } else if (!value.isWellFormed()) {
      out.byte(tags.textRaw);
      out.text(value, "utf16le");
    } else if (value.length > maxTextLength) {
      out.byte(tags.textLong);
      out.text(value, "utf8");
    } else {
      out.byte(tags.textNew);
      out.text(value, "utf8");
      const displaced = this.#textPlaces[this.#nextPlace];
      if (displaced !== undefined) this.#texts.delete(displaced);
      this.#textPlaces[this.#nextPlace] = value;
      this.#texts.set(value, this.#nextPlace);
      this.#nextPlace = (this.#nextPlace + 1) % textsKept;
    }
  }

  #composite(value: object | null, known: unknown): void {
    const out = this.#out;
    if (value === null) {
      if (known !== null) out.byte(tags.null);
      return;
    }
    if (this.#depth >= maxDepth) {
      out.byte(tags.json);
      out.text(
        JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? `${inner}` : inner)),
        "utf8",
      );
      return;
    }
    // Many accounts share the same capabilities.
    if (value === known) return;
    this.#depth++;
    if (Array.isArray(value)) this.#list(value, known);
    else this.#object(value as Record<string, unknown>, known);
    this.#depth--;
  }

  #object(value: Record<string, unknown>, known: unknown): void {
    const out = this.#out;
    const own = this.#depth === 1;
    const keys = isObject(known) ? Object.keys(known) : null;
    if (isObject(known) && keys !== null && hasKeys(value, keys)) {
      const start = out.at;
      out.byte(tags.objectChanged);
      const bits = out.bits(keys.length);
      const end = out.at;
      let i = 0;
      for (const key in value) {
        if (own) this.#key = key;
        const before = out.at;
        this.#put(value[key], known[key]);
        if (out.at !== before) out.setBit(bits, i);
        i++;
      }
      if (out.at === end) out.at = start;
      return;
    }
    out.byte(tags.objectNew);
    const shape = this.#shape(Object.keys(value));
    for (const key of shape.keys) {
      if (own) this.#key = key;
      this.#put(value[key], nothing);
    }
  }

  #shape(keys: readonly string[]): Shape {
    const out = this.#out;
    const name = JSON.stringify(keys);
    const known = this.#shapes.get(name);
    if (known !== undefined) {
      out.whole(known.id);
      return known;
    }
    const shape = { id: this.#shapes.size, keys };
    this.#shapes.set(name, shape);
    out.whole(shape.id);
    out.whole(keys.length);
    for (const key of keys) this.#text(key);
    return shape;
  }

  #list(value: readonly unknown[], known: unknown): void {
    const out = this.#out;
    const picture = this.#depth === listDepth ? this.#picture : null;
    const key = this.#key;
    if (!Array.isArray(known)) {
      out.byte(tags.listNew);
      out.whole(value.length);
      for (const one of value) this.#put(one, nothing);
      picture?.keep(key, value, value);
      return;
    }
    const members: readonly unknown[] = picture?.membersOf(key, known) ?? known;
    if (inPlace(value, members)) {
      const start = out.at;
      out.byte(tags.listChanged);
      const bits = out.bits(members.length);
      const end = out.at;
      for (let i = 0; i < members.length; i++) {
        const before = out.at;
        this.#put(value[i], members[i]);
        if (out.at !== before) out.setBit(bits, i);
      }
      // Members that return unchanged are a change, too.
      if (out.at === end && members.length === known.length) out.at = start;
      picture?.keep(key, value, value);
      return;
    }
    out.byte(tags.listMoved);
    out.whole(value.length);
    const places = new Places(members);
    for (const one of value) {
      const place = places.find(one);
      if (place === -1) {
        out.whole(0);
        this.#put(one, nothing);
        places.add(one);
        continue;
      }
      // The result of the comparison is known only after writing; one byte before the value is reserved for it.
      out.whole(place + 1);
      const before = out.at;
      this.#put(one, members[place]);
      if (out.at === before) out.byte(tags.same);
      places.take(place, one);
    }
    picture?.keep(key, value, places.after());
  }
}
