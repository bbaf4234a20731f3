/** The last observation of a stream, as writer and reader of a recording keep it alike. */

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
