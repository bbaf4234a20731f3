/**
 * Observations as bytes, each as what differs from the one before it of the same kind and owner. Nothing here knows what an
 * observation holds: a new kind needs no change. What comes out is what went in: keys in their order, missing and undefined
 * told apart, bigints, Infinity, NaN, -0.
 *
 *   record    stream (kind and owner; 0: a new one), then its value against the stream's last
 *   object    the same keys as before: a bit for each key, then the values that changed; else its keys and all values
 *   list      the same members as before: a bit for each, then those that changed; else for each which one it was before
 *   whole     the difference from the number before it, in 1 to 8 bytes, bigints too
 *   decimal   a double that is a whole number of 1/100 … 1/10^9: that number, likewise
 *   text      a number in a table of the latest texts, or itself
 *
 * Writer and reader keep the same picture of each stream, its last observation (`Picture`): there are thousands, for months,
 * so the writer holds on to what it was handed, and to no copy. Observations are never changed once they are made.
 */
import type { Observation } from "../domain/observation.ts";
import { ByteWriter, maxWhole, zigzag } from "./recording-bytes.ts";

export const tags = {
  same: 0,
  null: 1,
  undefined: 2,
  true: 3,
  false: 4,
  whole: 5,
  double: 6,
  /** 7 to 10: by `scales`. */
  decimal: 7,
  bigint: 11,
  bigintText: 12,
  textKnown: 13,
  textNew: 14,
  textLong: 15,
  textRaw: 16,
  objectNew: 17,
  objectChanged: 18,
  listNew: 19,
  listChanged: 20,
  listMoved: 21,
  json: 22,
  /** From here on: a whole number whose difference fits into the rest of the byte. */
  small: 128,
} as const;

export const scales = [1e2, 1e4, 1e6, 1e9] as const;

/** Streams 0 and 1 are marks. */
export const newStream = 0;
/** The next record is a repetition of one that was written before the point at which reading can begin. */
export const carriedMark = 1;
export const firstStream = 2;

/** Texts longer than this are not kept in the table, which has so many places. */
const longText = 64;
export const textsKept = 4_096;
/** Deeper values are JSON text: nothing that is ours goes that deep. */
const deepest = 64;
/** Members of an observation's own list that are remembered while they are not in it: markets are told of in parts. */
const absentKept = 128;
/** The depth of those lists. */
export const listDepth = 2;
/** The number of known members that are compared with a new one. */
const compared = 64;
/** Beyond these, writing starts afresh: what is kept in memory has to have an end. */
const maxShapes = 5_000;
const maxStreams = 200_000;

export interface Shape {
  readonly id: number;
  readonly keys: readonly string[];
}

/** Stands for "nothing is known of it": equal to no value. */
export const nothing: unknown = Object.freeze({});

/** The known state of a stream. */
export class Picture {
  last: unknown = nothing;
  #lists: Map<string, readonly unknown[]> | null = null;

  /** The known members of a list of the observation's own: `list`, as it was last, and behind that who is remembered of it. */
  membersOf(key: string, list: readonly unknown[]): readonly unknown[] {
    return this.#lists?.get(key) ?? list;
  }

  /** The same from here on. */
  keep(key: string, list: readonly unknown[], members: readonly unknown[]): void {
    if (members.length > list.length) {
      this.#lists ??= new Map();
      this.#lists.set(key, members);
    } else this.#lists?.delete(key);
  }
}

class Stream extends Picture {
  readonly id: number;
  /** The number of the observation's keys. */
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
 * Finds the stream of an observation: those of its kind that name the same owner in the same way. A poor choice costs bytes,
 * never exactness. No text is made of it, as that would cost as much as the rest.
 */
class Streams {
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

/** The parts that may distinguish owners, in whatever kind. */
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

export class RecordingWriter {
  readonly #out = new ByteWriter();
  readonly #streams = new Streams();
  readonly #shapes = new Map<string, Shape>();
  readonly #texts = new Map<string, number>();
  readonly #textPlaces: (string | undefined)[] = new Array(textsKept).fill(undefined);
  #nextPlace = 0;
  #depth = 0;
  /** The place of what is being written: whose picture it is held against, and under which key of the observation it stands. */
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

  /** The last observation of each stream. */
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
   * @param carried it was recorded before, and stands here for those who begin to read here; left out where its stream has
   * something newer already
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
    } else if (value.length > longText) {
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
    if (this.#depth >= deepest) {
      out.byte(tags.json);
      out.text(
        JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? `${inner}` : inner)),
        "utf8",
      );
      return;
    }
    // Many accounts share what they may do.
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
      // Members that were away and are back as they were are a change, too.
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
      // Whether it changed is known only when it is written; in front of it there is one byte for that.
      out.whole(place + 1);
      const before = out.at;
      this.#put(one, members[place]);
      if (out.at === before) out.byte(tags.same);
      places.take(place, one);
    }
    picture?.keep(key, value, places.after());
  }
}

/**
 * Maps new members of a list to the known ones. Used by writer and reader alike, so that both come to the same list. `find`
 * is the writer's: the reader is told.
 */
export class Places {
  readonly #known: readonly unknown[];
  readonly #taken: boolean[] = [];
  readonly #after: unknown[] = [];
  #next = 0;

  constructor(known: readonly unknown[]) {
    this.#known = known;
  }

  /** @returns the place of the member that `value` was before, or -1 */
  find(value: unknown): number {
    const known = this.#known;
    const count = Math.min(known.length, compared);
    for (let i = 0; i < count; i++) {
      const place = (this.#next + i) % known.length;
      if (this.#taken[place] !== true && isSame(value, known[place], 2)) return place;
    }
    return -1;
  }

  take(place: number, now: unknown): void {
    this.#taken[place] = true;
    this.#after.push(now);
    this.#next = place + 1;
  }

  add(now: unknown): void {
    this.#after.push(now);
  }

  /** The members from here on: those of now in their order, then some of those that are not among them. */
  after(): readonly unknown[] {
    const after = this.#after;
    if (after.length === 0) return after;
    let kept = 0;
    for (let i = 0; i < this.#known.length && kept < absentKept; i++) {
      if (this.#taken[i] === true) continue;
      after.push(this.#known[i]);
      kept++;
    }
    return after;
  }
}

/** @returns whether it has members with names, and is not the value that stands for nothing known */
function isObject(known: unknown): known is Record<string, unknown> {
  return typeof known === "object" && known !== null && known !== nothing && !Array.isArray(known);
}

function hasKeys(value: Record<string, unknown>, keys: readonly string[]): boolean {
  let i = 0;
  for (const key in value) if (key !== keys[i++]) return false;
  return i === keys.length;
}

/**
 * True if each member stands where it stood. Looked at in every answer, so told by first values alone: an order that took
 * another's place is that one, changed.
 */
function inPlace(value: readonly unknown[], members: readonly unknown[]): boolean {
  if (value.length !== members.length) return false;
  for (let i = 0; i < members.length; i++) {
    const known = members[i];
    if (isObject(known) && !isSame(value[i], known, 1)) return false;
  }
  return true;
}

/**
 * True if an object is the one that is known, only changed: told by its first value (a symbol, an index), and, where two are
 * looked at, by its second where that is a text, too (the symbol and number of an order, the kind and key of an event).
 */
function isSame(value: unknown, known: unknown, looked: 1 | 2): boolean {
  if (!isObject(value) || !isObject(known)) return false;
  const keys = Object.keys(known);
  let i = 0;
  for (const key in value) {
    if (key !== keys[i]) return false;
    const one = value[key];
    if (one !== known[key] && (typeof one === "string" || (i === 0 && typeof one === "number"))) return false;
    if (++i === looked) return true;
  }
  return i === keys.length;
}

/** The whole number that a difference is from: 0 where none is known. */
export function wholeOf(known: unknown): number {
  return typeof known === "number" && Number.isInteger(known) && Math.abs(known) < maxWhole ? known : 0;
}

export function bigintOf(known: unknown): number {
  if (typeof known !== "bigint") return 0;
  const number = Number(known);
  return Math.abs(number) < maxWhole / 2 ? number : 0;
}

export function scaledOf(known: unknown, scale: number): number {
  if (typeof known !== "number") return 0;
  const scaled = Math.round(known * scale);
  return Math.abs(scaled) < maxWhole ? scaled : 0;
}
