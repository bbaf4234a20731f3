/**
 * A keystore: the keys of all wallets in one file, under one passphrase.
 *
 *   { format, version, kdf: scrypt's parameters and salt, addresses, nonce, sealed }
 *
 * `sealed` is AES-256-GCM of the seeds, in the order of `addresses`, under scrypt of the passphrase; everything else in
 * the file is its associated data. The addresses are not encrypted, so they can be read without the passphrase.
 */
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from "node:crypto";
import { z } from "zod";
import { isAddress } from "./address.ts";
import { BadKey, WalletKey } from "./wallet-key.ts";

const format = "perpwatch keystore";
const version = 1;
const maxWallets = 1_000;
const saltBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const seedBytes = 32;

/** 128 MiB and about a third of a second. */
const defaultCost = { N: 131_072, r: 8, p: 1 };

const powerOfTwo = (value: number) => Number.isInteger(Math.log2(value));
const base64 = (bytes: number) =>
  z.string().refine((text) => {
    const read = Buffer.from(text, "base64");
    return read.length === bytes && read.toString("base64") === text;
  });

/** Limits the cost of opening a file to 1 GiB of memory. */
const keystoreForm = z.strictObject({
  format: z.literal(format),
  version: z.literal(version),
  kdf: z.strictObject({
    name: z.literal("scrypt"),
    N: z.int().min(2).max(1_048_576).refine(powerOfTwo),
    r: z.int().min(1).max(8),
    p: z.int().min(1).max(4),
    salt: base64(saltBytes),
  }),
  addresses: z.array(z.string().refine(isAddress)).max(maxWallets),
  nonce: base64(nonceBytes),
  sealed: z.string().max(2 * maxWallets * seedBytes),
});

export type Keystore = z.infer<typeof keystoreForm>;

/** The passphrase is wrong, or the file was changed. */
export class WrongPassphrase extends BadKey {}

/** @throws {BadKey} if the text is not a keystore; it is not quoted */
export function keystoreFromText(text: string): Keystore {
  try {
    return keystoreForm.parse(JSON.parse(text));
  } catch {
    throw new BadKey("is no keystore of perpwatch");
  }
}

export const keystoreText = (keystore: Keystore): string => `${JSON.stringify(keystore, null, 2)}\n`;

/**
 * Encrypts keys under a passphrase, with a new salt.
 * @param random returns the given number of random bytes
 * @throws {BadKey} if there are too many keys, or a key occurs twice
 */
export function sealKeystore(
  keys: readonly WalletKey[],
  passphrase: string,
  cost: Pick<Keystore["kdf"], "N" | "r" | "p"> = defaultCost,
  random: (bytes: number) => Buffer = randomBytes,
): Keystore {
  if (keys.length > maxWallets) throw new BadKey(`a keystore holds at most ${maxWallets} wallets`);
  const addresses = keys.map(({ address }) => address);
  if (new Set(addresses).size < addresses.length) throw new BadKey("the keystore has this wallet already");
  const kdf = { name: "scrypt", ...cost, salt: random(saltBytes).toString("base64") } as const;
  const nonce = random(nonceBytes);
  const head = { format, version, kdf, addresses, nonce: nonce.toString("base64") } as const;
  const key = keyOf(passphrase, kdf);
  const seeds = Buffer.concat(
    keys.map((one) => one.withKeypair((pair) => Buffer.from(pair.subarray(0, seedBytes)))),
  );
  try {
    const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(associatedData(head));
    const sealed = Buffer.concat([cipher.update(seeds), cipher.final(), cipher.getAuthTag()]);
    return { ...head, addresses: [...addresses], sealed: sealed.toString("base64") };
  } finally {
    key.fill(0);
    seeds.fill(0);
  }
}

/**
 * @returns the keys, in the order of `addresses`
 * @throws {WrongPassphrase}
 */
export function openKeystore(keystore: Keystore, passphrase: string): WalletKey[] {
  const { kdf, addresses } = keystore;
  const sealed = Buffer.from(keystore.sealed, "base64");
  const wrong = () =>
    new WrongPassphrase("the passphrase does not open the keystore, or the file was changed");
  if (sealed.length !== addresses.length * seedBytes + tagBytes) throw wrong();
  const key = keyOf(passphrase, kdf);
  let seeds: Buffer;
  try {
    const nonce = Buffer.from(keystore.nonce, "base64");
    const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes });
    decipher.setAAD(associatedData(keystore));
    decipher.setAuthTag(sealed.subarray(sealed.length - tagBytes));
    seeds = Buffer.concat([decipher.update(sealed.subarray(0, sealed.length - tagBytes)), decipher.final()]);
  } catch {
    throw wrong();
  } finally {
    key.fill(0);
  }
  try {
    return addresses.map((address, index) => {
      const found = WalletKey.fromSeed(seeds.subarray(index * seedBytes, (index + 1) * seedBytes));
      if (found.address !== address) throw wrong();
      return found;
    });
  } finally {
    seeds.fill(0);
  }
}

/** Returns the keys; null if the passphrase is wrong. */
export function keysUnder(keystore: Keystore, passphrase: string): WalletKey[] | null {
  try {
    return openKeystore(keystore, passphrase);
  } catch (error) {
    if (error instanceof WrongPassphrase) return null;
    throw error;
  }
}

function keyOf(passphrase: string, { N, r, p, salt }: Keystore["kdf"]): Buffer {
  const maxmem = 128 * N * r * p + 33_554_432;
  // Systems may encode the same passphrase differently.
  return scryptSync(passphrase.normalize("NFKC"), Buffer.from(salt, "base64"), 32, { N, r, p, maxmem });
}

function associatedData({
  format: formatName,
  version: formatVersion,
  kdf,
  addresses,
  nonce,
}: Omit<Keystore, "sealed">): Buffer {
  const { name, N, r, p, salt } = kdf;
  return Buffer.from(JSON.stringify([formatName, formatVersion, name, N, r, p, salt, addresses, nonce]));
}
