/** The last observation of a stream; the writer and the reader of a recording keep the same state. */

/** The unknown value: equal to no value. */
export const nothing: unknown = Object.freeze({});

/** The known state of a stream: its last observation. */
export class Picture {
  last: unknown = nothing;
  #lists: Map<string, readonly unknown[]> | null = null;

  /** The known members of a list of the observation: the last `list`, followed by earlier members. */
  membersOf(key: string, list: readonly unknown[]): readonly unknown[] {
    return this.#lists?.get(key) ?? list;
  }

  /** Sets the known members of a list. */
  keep(key: string, list: readonly unknown[], members: readonly unknown[]): void {
    if (members.length > list.length) {
      this.#lists ??= new Map();
      this.#lists.set(key, members);
    } else this.#lists?.delete(key);
  }
}
