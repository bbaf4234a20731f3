/** Sequential writing and reading of the bytes of a recording. */

const firstRoom = 65_536;
/** Maximum whole number that can be doubled and signed exactly. */
export const maxWhole = 2 ** 51;

export class ByteWriter {
  at = 0;
  #bytes = Buffer.alloc(firstRoom);
  readonly #double = new Float64Array(1);
  readonly #doubleBytes = new Uint8Array(this.#double.buffer);

  /** The bytes written, to be copied before the next write. */
  taken(): Buffer {
    return this.#bytes.subarray(0, this.at);
  }

  byte(value: number): void {
    if (this.at === this.#bytes.length) this.#grow(1);
    this.#bytes[this.at++] = value;
  }

  /** Reserves `count` bits, all 0. @returns their position */
  bits(count: number): number {
    const start = this.at;
    const length = (count + 7) >>> 3;
    if (start + length > this.#bytes.length) this.#grow(length);
    for (let i = 0; i < length; i++) this.#bytes[this.at++] = 0;
    return start;
  }

  setBit(start: number, index: number): void {
    const at = start + (index >>> 3);
    this.#bytes[at] = (this.#bytes[at] as number) | (1 << (index & 7));
  }

  /** @param value whole, 0 to 2^53 */
  whole(value: number): void {
    if (this.at + 8 > this.#bytes.length) this.#grow(8);
    const bytes = this.#bytes;
    let rest = value;
    while (rest >= 2 ** 31) {
      bytes[this.at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    while (rest >= 128) {
      bytes[this.at++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    bytes[this.at++] = rest;
  }

  /** @param value whole, at most `maxWhole` from 0 */
  signed(value: number): void {
    this.whole(zigzag(value));
  }

  double(value: number): void {
    if (this.at + 8 > this.#bytes.length) this.#grow(8);
    this.#double[0] = value;
    this.#bytes.set(this.#doubleBytes, this.at);
    this.at += 8;
  }

  text(value: string, encoding: "utf8" | "utf16le"): void {
    const length = Buffer.byteLength(value, encoding);
    this.whole(length);
    if (this.at + length > this.#bytes.length) this.#grow(length);
    this.at += this.#bytes.write(value, this.at, length, encoding);
  }

  #grow(by: number): void {
    const grown = Buffer.alloc(Math.max(this.#bytes.length * 2, this.at + by));
    this.#bytes.copy(grown, 0, 0, this.at);
    this.#bytes = grown;
  }
}

/** Reads bytes; reading beyond the end throws a RangeError. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get more(): boolean {
    return this.#at < this.#bytes.length;
  }

  byte(): number {
    return this.#bytes.readUInt8(this.#at++);
  }

  /** Returns the position of `count` bits, and skips them. */
  bits(count: number): number {
    const start = this.#at;
    this.#at += (count + 7) >>> 3;
    return start;
  }

  bit(start: number, index: number): boolean {
    return ((this.#bytes.readUInt8(start + (index >>> 3)) >>> (index & 7)) & 1) === 1;
  }

  whole(): number {
    let value = 0;
    let unit = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 127) * unit;
      if (byte < 128) return value;
      unit *= 128;
    }
  }

  signed(): number {
    return unzigzag(this.whole());
  }

  double(): number {
    const value = this.#bytes.readDoubleLE(this.#at);
    this.#at += 8;
    return value;
  }

  text(encoding: "utf8" | "utf16le"): string {
    const length = this.whole();
    if (this.#at + length > this.#bytes.length) throw new RangeError("a text goes beyond the end");
    const start = this.#at;
    this.#at += length;
    return this.#bytes.toString(encoding, start, this.#at);
  }
}

/** Encodes 0, -1, 1, -2, … as 0, 1, 2, 3, … */
export function zigzag(value: number): number {
  return value >= 0 ? value * 2 : -value * 2 - 1;
}

export function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}
