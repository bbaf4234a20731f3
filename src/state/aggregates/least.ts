/** The minimum of many numbers that change one at a time. A change costs O(log n). */
export class Least {
  /** A binary tree in an array: the numbers are its leaves, and each other node is the minimum of its two children. */
  readonly #tree: Float64Array;
  readonly #leaves: number;

  /** All numbers are +∞ at first. */
  constructor(count: number) {
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(count, 1)));
    this.#tree = new Float64Array(2 * this.#leaves).fill(Number.POSITIVE_INFINITY);
  }

  set(index: number, value: number): void {
    const tree = this.#tree;
    let at = this.#leaves + index;
    tree[at] = value;
    while (at > 1) {
      at >>= 1;
      const [left, right] = [tree[2 * at]!, tree[2 * at + 1]!];
      const least = left < right ? left : right;
      if (tree[at] === least) return;
      tree[at] = least;
    }
  }

  get value(): number {
    return this.#tree[1]!;
  }

  /** The indices of values below a bound, in ascending order. The cost is proportional to the result. */
  below(bound: number): number[] {
    const found: number[] = [];
    const look = (at: number): void => {
      if (!(this.#tree[at]! < bound)) return;
      if (at >= this.#leaves) found.push(at - this.#leaves);
      else {
        look(2 * at);
        look(2 * at + 1);
      }
    };
    look(1);
    return found;
  }
}
