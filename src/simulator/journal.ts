/**
 * An append-only log with pages.
 *
 * Rows have permanent numbers, so a cursor names a place between two rows and stays valid while rows are added:
 * following cursors returns each row exactly once. Pages are newest first.
 */

export interface Page<T> {
  readonly rows: readonly T[];
  /** Cursor to older rows; null: there are none. */
  readonly nextCursor: string | null;
  /** Cursor to rows newer than this page, present or future; null while the log is empty. */
  readonly prevCursor: string | null;
  /** More rows in the requested direction. */
  readonly hasMore: boolean;
}

export interface PageQuery<T> {
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** The required direction of the cursor; absent: any. */
  readonly direction?: "older" | "newer" | undefined;
  readonly where?: (row: T) => boolean;
}

/** A cursor that this log did not create. */
export class BadCursor extends Error {
  override readonly name = "BadCursor";
}

export class Journal<T> {
  readonly #rows: T[] = [];
  readonly #maxRows: number;
  /** Number of the oldest row kept. */
  #first = 1;

  /** @param most maximum rows kept; the oldest are removed */
  constructor(maxRows = 5_000) {
    this.#maxRows = maxRows;
  }

  push(row: T): void {
    this.#rows.push(row);
    if (this.#rows.length > this.#maxRows * 1.25) {
      this.#first += this.#rows.length - this.#maxRows;
      this.#rows.splice(0, this.#rows.length - this.#maxRows);
    }
  }

  get size(): number {
    return this.#rows.length;
  }

  /** Oldest first. */
  all(): readonly T[] {
    return this.#rows;
  }

  /** Number of the newest row; 0 without rows. */
  get last(): number {
    return this.#first + this.#rows.length - 1;
  }

  /** Kept rows newer than a number, oldest first. */
  since(number: number): readonly T[] {
    return this.#rows.slice(Math.max(0, number + 1 - this.#first));
  }

  /** @throws {BadCursor} */
  page(query: PageQuery<T>): Page<T> {
    const { limit, where } = query;
    const at = query.cursor === undefined ? null : readCursor(query.cursor);
    if (at && query.direction && at.direction !== query.direction)
      throw new BadCursor(
        `cursor: one that leads to ${at.direction} rows, where ${query.direction} are asked for`,
      );
    const found: { row: T; number: number }[] = [];
    let hasMore = false;
    const take = (index: number): boolean => {
      const row = this.#rows[index] as T;
      if (where && !where(row)) return true;
      if (found.length === limit) {
        hasMore = true;
        return false;
      }
      found.push({ row, number: this.#first + index });
      return true;
    };
    if (at?.direction === "newer") {
      for (let i = Math.max(0, at.number + 1 - this.#first); i < this.#rows.length; i++) if (!take(i)) break;
      found.reverse();
    } else {
      const newest = this.#rows.length - 1;
      for (let i = at ? Math.min(newest, at.number - 1 - this.#first) : newest; i >= 0; i--)
        if (!take(i)) break;
    }
    const newestRow = found[0];
    const oldestRow = found.at(-1);
    const older = at?.direction === "newer" ? oldestRow !== undefined : hasMore;
    return {
      rows: found.map((it) => it.row),
      nextCursor: older && oldestRow ? writeCursor("older", oldestRow.number) : null,
      prevCursor: newestRow
        ? writeCursor("newer", newestRow.number)
        : at === null
          ? null
          : writeCursor("newer", at.direction === "newer" ? at.number : at.number - 1),
      hasMore,
    };
  }
}

function writeCursor(direction: "older" | "newer", number: number): string {
  return Buffer.from(`${direction},${number}`).toString("base64url");
}

function readCursor(text: string): { direction: "older" | "newer"; number: number } {
  const parts = /^(older|newer),(\d{1,15})$/.exec(Buffer.from(text, "base64url").toString("latin1"));
  if (!parts) throw new BadCursor("cursor: not one that this server gave");
  return { direction: parts[1] as "older" | "newer", number: Number(parts[2]) };
}
