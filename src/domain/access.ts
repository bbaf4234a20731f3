/** Access to the local listener: sessions of the page, and tokens of programs. */

/** `read`: everything that can be asked for. `act`: also what changes something. */
export type Rights = "read" | "act";

/** A session or token as it is stored: without its secret. */
export interface AccessEntry {
  /** SHA-256 of the secret, hex. */
  readonly hash: string;
  readonly kind: "session" | "token";
  /** A token's own name; of a session the way in which it began. */
  readonly name: string;
  readonly rights: Rights;
  readonly createdMs: number;
  /** Null: never. */
  readonly expiresMs: number | null;
  /** Null: never used. */
  readonly usedMs: number | null;
}

/** A token as lists show it. */
export type TokenStatus = Omit<AccessEntry, "hash" | "kind">;
