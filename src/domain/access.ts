/** Access to the local listener: sessions of the page, and tokens of programs. */

/** `read`: all queries. `act`: also changes. */
export type Rights = "read" | "act";

/** The form of a token's name, and its rule in words. */
export const tokenNameForm = /^[A-Za-z0-9._-]{1,64}$/;
export const tokenNameRule =
  "a token's name has letters, digits, ., _ and -, at most 64, such as grafana or night-pager";

/** A session or token as it is stored: without its secret. */
export interface AccessEntry {
  /** SHA-256 of the secret, hex. */
  readonly hash: string;
  readonly kind: "session" | "token";
  /** The name of a token; for a session, the way in which it began. */
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
