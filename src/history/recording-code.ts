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
 * Writer and reader keep the same picture of each stream's last value (`Node`), and both change it in the same way.
 */
import type { Observation } from "../domain/observation.ts";
import { ByteWriter, mostWhole, zigzag } from "./recording-bytes.ts";

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
export const absentKept = 128;
/** How many known members are compared with a new one. */
const compared = 64;
/** Beyond these, writing starts afresh: what is kept in memory has to have an end. */
const mostShapes = 5_000;
const mostStreams = 200_000;

export interface Shape {
  readonly id: number;
  readonly keys: readonly string[];
}

/** What is known of an object (with a shape) or a list (without): its members. */
export class Node {
  readonly shape: Shape | null;
  slots: Slot[];
  /**
   * The object as it last was. The writer holds it only where it was met again (many accounts share what they may do) and of
   * whole observations: to hold on to each new one costs a quarter of the writing.
   */
  source: object;

  constructor(shape: Shape | null, slots: Slot[], source: object) {
    this.shape = shape;
    this.slots = slots;
    this.source = source;
  }
}

export type Slot = Node | string | number | bigint | boolean | null | undefined;

/** In place of a source that is not held. */
const unheld = {};

/** Stands for "nothing is known of it": equal to no value. */
export const nothing = new Node(null, [], {});

interface Stream {
  readonly id: number;
  node: Slot;
  readonly keys: number;
  readonly parts: readonly unknown[];
}

/**
 * Finds the stream of an observation: those of its kind that name the same owner in the same way. A poor choice costs bytes,
 * never exactness. No text is made of it, as that would cost as much as the rest.
 */
class Streams {
  readonly #byKind = new Map<string, Map<unknown, Stream[]>>();
  readonly all: Stream[] = [];

  find(observation: Observation): Stream | undefined {
    const o = observation as unknown as Known;
    const list = this.#byKind.get(o.kind)?.get(o.wallet ?? o.symbol ?? o.owner ?? o.channel);
    if (list === undefined) return undefined;
    let keys = 0;
    for (const _ in o) keys++;
    for (const stream of list) {
      const { parts } = stream;
      if (stream.keys !== keys || parts[0] !== o.pdaIndex || parts[1] !== o.source) continue;
      if (parts[2] !== o.symbol || parts[3] !== o.live) continue;
      if (parts[4] === o.view?.pdaIndex && parts[5] === o.view?.subaccount) return stream;
    }
    return undefined;
  }

  add(observation: Observation): Stream {
    const o = observation as unknown as Known;
    const stream = {
      id: this.all.length + firstStream,
      node: nothing,
      keys: Object.keys(o).length,
      parts: [o.pdaIndex, o.source, o.symbol, o.live, o.view?.pdaIndex, o.view?.subaccount],
    };
    this.all.push(stream);
    const owner = o.wallet ?? o.symbol ?? o.owner ?? o.channel;
    const owners = this.#byKind.get(o.kind) ?? new Map<unknown, Stream[]>();
    this.#byKind.set(o.kind, owners);
    const list = owners.get(owner);
    if (list === undefined) owners.set(owner, [stream]);
    else list.push(stream);
    return stream;
  }
}

/** What may tell owners apart, in whatever kind. */
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

  /** Bytes since the last `take`. */
  get length(): number {
    return this.#out.at;
  }

  /** Whether it should be replaced by a new one. */
  get full(): boolean {
    return this.#shapes.size >= mostShapes || this.#streams.all.length >= mostStreams;
  }

  /** The last observation of each stream. */
  *last(): Generator<Observation> {
    for (const { node } of this.#streams.all) if (node instanceof Node) yield node.source as Observation;
  }

  /** What was written; to be copied before the next write. */
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
      const node = this.#put(observation, known.node);
      if (out.at === before) out.byte(tags.same);
      if (node instanceof Node) node.source = observation;
      known.node = node;
      return;
    }
    if (carried) out.whole(carriedMark);
    out.whole(newStream);
    this.#streams.add(observation).node = this.#put(observation, nothing);
  }

  /** Writes `value`, or nothing at all where it is what is known. @returns what is known from here on */
  #put(value: unknown, known: Slot): Slot {
    switch (typeof value) {
      case "number":
        if (value === known && (value !== 0 || Object.is(value, known))) return known;
        this.#number(value, known);
        return value;
      case "string":
        if (value !== known) this.#text(value);
        return value;
      case "bigint":
        if (value !== known) this.#bigint(value, known);
        return value;
      case "boolean":
        if (value !== known) this.#out.byte(value ? tags.true : tags.false);
        return value;
      case "object":
        return this.#composite(value, known);
      default:
        if (known !== undefined) this.#out.byte(tags.undefined);
        return undefined;
    }
  }

  #number(value: number, known: Slot): void {
    const out = this.#out;
    if (Number.isInteger(value) && !Object.is(value, -0)) {
      const difference = value - wholeOf(known);
      if (Math.abs(value) < mostWhole && Math.abs(difference) < mostWhole) {
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
        if (!(Math.abs(scaled) < mostWhole)) break;
        if (scaled / scale !== value || scaled === 0) continue;
        out.byte(tags.decimal + i);
        out.signed(scaled - scaledOf(known, scale));
        return;
      }
    }
    out.byte(tags.double);
    out.double(value);
  }

  #bigint(value: bigint, known: Slot): void {
    const out = this.#out;
    const number = Number(value);
    if (Math.abs(number) < mostWhole) {
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

  #composite(value: object | null, known: Slot): Slot {
    const out = this.#out;
    if (value === null) {
      if (known !== null) out.byte(tags.null);
      return null;
    }
    // Observations are never changed once they are made.
    if (known instanceof Node && known.source === value) return known;
    if (this.#depth >= deepest) {
      out.byte(tags.json);
      out.text(
        JSON.stringify(value, (_, inner) => (typeof inner === "bigint" ? `${inner}` : inner)),
        "utf8",
      );
      return nothing;
    }
    this.#depth++;
    const now = Array.isArray(value)
      ? this.#list(value, known)
      : this.#object(value as Record<string, unknown>, known);
    this.#depth--;
    return now;
  }

  #object(value: Record<string, unknown>, known: Slot): Node {
    const out = this.#out;
    if (known instanceof Node && known.shape !== null && hasKeys(value, known.shape.keys)) {
      const { slots } = known;
      const start = out.at;
      out.byte(tags.objectChanged);
      const bits = out.bits(slots.length);
      const end = out.at;
      let i = 0;
      for (const key in value) {
        const before = out.at;
        const slot = this.#put(value[key], slots[i]);
        if (out.at !== before) {
          out.setBit(bits, i);
          slots[i] = slot;
        }
        i++;
      }
      if (out.at === end) {
        out.at = start;
        if (known.source === unheld) known.source = value;
      } else if (known.source !== unheld) known.source = unheld;
      return known;
    }
    out.byte(tags.objectNew);
    const shape = this.#shape(Object.keys(value));
    const slots: Slot[] = [];
    for (const key of shape.keys) slots.push(this.#put(value[key], nothing));
    // A copy has room for just these: there are a dozen for each account, for months.
    return new Node(shape, slots.slice(), value);
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

  #list(value: readonly unknown[], known: Slot): Node {
    const out = this.#out;
    if (!(known instanceof Node) || known.shape !== null || known === nothing) {
      out.byte(tags.listNew);
      out.whole(value.length);
      const slots: Slot[] = [];
      for (const one of value) slots.push(this.#put(one, nothing));
      return new Node(null, slots.slice(), unheld);
    }
    if (inPlace(value, known.slots)) {
      const { slots } = known;
      const start = out.at;
      out.byte(tags.listChanged);
      const bits = out.bits(slots.length);
      const end = out.at;
      for (let i = 0; i < slots.length; i++) {
        const before = out.at;
        const slot = this.#put(value[i], slots[i]);
        if (out.at === before) continue;
        out.setBit(bits, i);
        slots[i] = slot;
      }
      if (out.at === end) out.at = start;
    } else {
      out.byte(tags.listMoved);
      out.whole(value.length);
      const places = new Places(known.slots);
      for (const one of value) {
        const place = places.find(one);
        if (place === -1) {
          out.whole(0);
          places.add(this.#put(one, nothing));
          continue;
        }
        const slot = known.slots[place];
        // Whether it changed is known only when it is written; in front of it there is one byte for that.
        out.whole(place + 1);
        const before = out.at;
        const now = this.#put(one, slot);
        if (out.at === before) out.byte(tags.same);
        places.take(place, now);
      }
      known.slots = places.after(this.#depth <= 2 && value.length > 0 ? absentKept : 0);
    }
    return known;
  }
}

/**
 * Which known members of a list the new ones are. Used by writer and reader alike, so that both come to the same list.
 * `find` is the writer's: the reader is told.
 */
export class Places {
  readonly #known: readonly Slot[];
  readonly #taken: boolean[] = [];
  readonly #after: Slot[] = [];
  #next = 0;

  constructor(known: readonly Slot[]) {
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

  take(place: number, now: Slot): void {
    this.#taken[place] = true;
    this.#after.push(now);
    this.#next = place + 1;
  }

  add(slot: Slot): void {
    this.#after.push(slot);
  }

  /** The members from here on: those of now in their order, then up to `absent` of those that are not among them. */
  after(absent: number): Slot[] {
    let kept = 0;
    for (let i = 0; i < this.#known.length && kept < absent; i++) {
      if (this.#taken[i] === true) continue;
      this.#after.push(this.#known[i]);
      kept++;
    }
    return this.#after.slice();
  }
}

function hasKeys(value: Record<string, unknown>, keys: readonly string[]): boolean {
  let i = 0;
  for (const key in value) if (key !== keys[i++]) return false;
  return i === keys.length;
}

/**
 * Whether each member stands where it stood. Looked at in every answer, so told by first values alone: an order that took
 * another's place is that one, changed.
 */
function inPlace(value: readonly unknown[], slots: readonly Slot[]): boolean {
  if (value.length !== slots.length) return false;
  for (let i = 0; i < slots.length; i++) {
    const slot = slots[i];
    if (slot instanceof Node && slot.shape !== null && !isSame(value[i], slot, 1)) return false;
  }
  return true;
}

/**
 * Whether an object is the one that is known, only changed: told by its first value (a symbol, an index), and, where two are
 * looked at, by its second where that is a text, too (the symbol and number of an order, the kind and key of an event).
 */
function isSame(value: unknown, slot: Slot, looked: 1 | 2): boolean {
  if (!(slot instanceof Node) || slot.shape === null) return false;
  if (typeof value !== "object" || value === null) return false;
  const { shape, slots } = slot;
  let i = 0;
  for (const key in value) {
    if (key !== shape.keys[i]) return false;
    const one = (value as Record<string, unknown>)[key];
    if (one !== slots[i] && (typeof one === "string" || (i === 0 && typeof one === "number"))) return false;
    if (++i === looked) return true;
  }
  return i === shape.keys.length;
}

/** The whole number that a difference is from: 0 where none is known. */
export function wholeOf(known: Slot): number {
  return typeof known === "number" && Number.isInteger(known) && Math.abs(known) < mostWhole ? known : 0;
}

export function bigintOf(known: Slot): number {
  if (typeof known !== "bigint") return 0;
  const number = Number(known);
  return Math.abs(number) < mostWhole / 2 ? number : 0;
}

export function scaledOf(known: Slot, scale: number): number {
  if (typeof known !== "number") return 0;
  const scaled = Math.round(known * scale);
  return Math.abs(scaled) < mostWhole ? scaled : 0;
}
