/** Secrets of sessions, links and tokens: 256 random bits, shown once and stored as a hash. */
import { createHash, randomBytes } from "node:crypto";

const secretBytes = 32;
const form = /^[A-Za-z0-9_-]{43}$/;

/** @returns base64url, 43 characters */
export function newSecret(): string {
  return randomBytes(secretBytes).toString("base64url");
}

/** @returns SHA-256 in hex; null if the text is not a secret's form */
export function hashOf(secret: string): string | null {
  return form.test(secret) ? createHash("sha256").update(secret).digest("hex") : null;
}
