/**
 * Texts that repeat in every tick (owners, lists of series) are stored once and named by a number. The writer keeps the
 * numbers in memory; `forget` after a rollback, since some of them may have been rolled back.
 */
import type Database from "better-sqlite3";

/** Maximum cached numbers, more than a large installation has; others are looked up again. */
const maxRemembered = 50_000;

export class Names {
  #ids = new Map<string, number>();
  #layoutIds = new WeakMap<readonly string[], number>();
  readonly #find: Database.Statement<[string], { id: number }>;
  readonly #add: Database.Statement<[string]>;

  constructor(db: Database.Database, table: "owners" | "layouts") {
    const column = table === "owners" ? "name" : "series";
    this.#find = db.prepare(`SELECT id FROM ${table} WHERE ${column} = ?`);
    this.#add = db.prepare(`INSERT INTO ${table} (${column}) VALUES (?)`);
  }

  /** @returns the number of `text`, or undefined if it is not stored */
  find(text: string): number | undefined {
    return this.#ids.get(text) ?? this.#find.get(text)?.id;
  }

  /** Returns the number of `text`, and stores it if it is new. Requires a transaction. */
  idOf(text: string): number {
    const known = this.#ids.get(text);
    if (known !== undefined) return known;
    const id = this.#find.get(text)?.id ?? Number(this.#add.run(text).lastInsertRowid);
    if (this.#ids.size >= maxRemembered) this.#ids.clear();
    this.#ids.set(text, id);
    return id;
  }

  /** Returns the number of a list of series. The same array costs one look-up, so callers should keep theirs. */
  idOfList(list: readonly string[]): number {
    const known = this.#layoutIds.get(list);
    if (known !== undefined) return known;
    const id = this.idOf(JSON.stringify(list));
    this.#layoutIds.set(list, id);
    return id;
  }

  forget(): void {
    this.#ids = new Map();
    this.#layoutIds = new WeakMap();
  }
}
