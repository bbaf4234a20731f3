/**
 * Password hashes by scrypt, as text `scrypt$N$r$p$SALT$HASH` (base64url). Computed on the thread pool, so the main
 * thread is not blocked.
 */
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

interface Parameters {
  readonly N: number;
  readonly r: number;
  readonly p: number;
}

export interface PasswordHash extends Parameters {
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/** 32 MiB, and about a tenth of a second for each of the three rounds. */
const defaultCost: Parameters = { N: 32_768, r: 8, p: 3 };
const hashBytes = 32;
/** Maximum memory that a configured hash may require. */
const maxBytes = 256 * 1_024 * 1_024;
const maxRounds = 16;
const minBytes = 16 * 1_024 * 1_024;

export const minPasswordLength = 12;
export const maxPasswordLength = 1_024;

/** @returns the text for the configuration */
export async function hashPassword(password: string, cost: Parameters = defaultCost): Promise<string> {
  const salt = randomBytes(16);
  const hash = await compute(password, { ...cost, salt }, hashBytes);
  const { N, r, p } = cost;
  return ["scrypt", N, r, p, salt.toString("base64url"), hash.toString("base64url")].join("$");
}

/** @returns null if the text is not a hash of this form, or requires too much or too little work */
export function parsePasswordHash(text: string): PasswordHash | null {
  const found = /^scrypt\$(\d{1,9})\$(\d{1,3})\$(\d{1,3})\$([\w-]{16,88})\$([\w-]{43,88})$/.exec(text);
  if (found === null) return null;
  const [N, r, p] = [Number(found[1]), Number(found[2]), Number(found[3])];
  const bytes = 128 * N * r;
  const isPower = N > 1 && Number.isInteger(Math.log2(N));
  if (!isPower || r < 1 || p < 1 || p > maxRounds || bytes > maxBytes || bytes * p < minBytes) return null;
  return { N, r, p, salt: Buffer.from(found[4]!, "base64url"), hash: Buffer.from(found[5]!, "base64url") };
}

/** Compares in constant time. */
export async function isPassword(password: string, against: PasswordHash): Promise<boolean> {
  const { hash } = against;
  return timingSafeEqual(await compute(password, against, hash.length), hash);
}

function compute(
  password: string,
  { N, r, p, salt }: Parameters & { readonly salt: Buffer },
  length: number,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const maxmem = 128 * N * r + 128 * r * p + 1_048_576;
    // Systems may encode the same typed text differently.
    scrypt(password.normalize("NFC"), salt, length, { N, r, p, maxmem }, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}
