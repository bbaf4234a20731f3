/**
 * Reads `wallets:` and `walletDefaults:`, with the wallets' keys.
 *
 *   - { name, keyFile | secret }   signs in; with `address` it is watched even if the key cannot be read
 *   - { name, keystore: address }  signs in with the key of this address in the keystore
 *   - { name, authority }          watch-only: public reads
 *   - { keyDir }                   every key file in a folder, each named after its file
 */
import fs from "node:fs";
import path from "node:path";
import { z } from "zod";
import { type ConfigSource, type FileSetting, type Path, shownKey } from "../../config/index.ts";
import { ownLabels } from "../../domain/alerts/alert.ts";
import { errorCode } from "../../domain/error-code.ts";
import { type Limits, limitsOf, mergedLimits } from "../../domain/limits.ts";
import { ownNames } from "../../domain/subject.ts";
import { nearestName } from "../../domain/text/nearest.ts";
import { type Keys, UnknownKey } from "../../signer/keys.ts";
import type { WalletSigner } from "../../signer/signer.ts";
import { isAddress } from "../../wallet/address.ts";
import { BadKey } from "../../wallet/wallet-key.ts";

export interface WalletSettings {
  readonly name: string;
  /** Base58. */
  readonly authority: string;
  readonly labels: Readonly<Record<string, string>>;
  /** As returned by `limitsOf`. */
  readonly limits: Limits;
  /** The PDA indices whose subaccounts are watched, ascending. */
  readonly pdaIndices: readonly number[];
  readonly login: "message" | "transaction";
  /** Null: watch-only. */
  readonly key: WalletSigner | null;
  /** The place of the key; null: watch-only. */
  readonly keptIn: KeyPlace | null;
}

export type KeyPlace = "keyFile" | "secret" | "keystore";

/** A wallet that rules can name, known even if its key is not. */
export interface KnownWallet {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly watchOnly: boolean;
  readonly limits?: Limits;
}

export interface ReadWallets {
  /** The wallets without mistakes. */
  readonly wallets: readonly WalletSettings[];
  readonly known: readonly KnownWallet[];
}

const nameForm = /^[A-Za-z0-9_-]{1,64}$/;
/** Reserved: names of other owners in history begin with them. */
const reservedNames = ["markets", "fundingRates", ...ownNames];
const keyFileForm = /\.(json|key)$/;

const walletName = z
  .string()
  .regex(nameForm, "expected letters, digits, _ and -, at most 64")
  .refine((name) => !reservedNames.includes(name), {
    message: `expected another name than ${reservedNames.join(", ")}`,
  });
/** Returns true if the text is a valid name of a wallet. */
export const isWalletName = (name: string): boolean => walletName.safeParse(name).success;
const labels = z.record(
  z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "a label's name has letters, digits and _")
    .refine((name) => !ownLabels.includes(name), {
      error: ({ input }) => `the label ${String(input)} is given by perpwatch itself`,
    }),
  z.string(),
);
const byMarket = z.record(
  z.string().regex(/^[A-Za-z0-9._-]+$/, "a limit is by the symbols of markets, and default"),
  z.number(),
);
const limits = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "a limit's name has letters, digits and _"),
    z.union([z.number(), byMarket]),
  )
  .transform(limitsOf);
const accounts = z.union([
  z.literal("all").transform(() => [0]),
  z
    .strictObject({ pdaIndices: z.array(z.int().min(0).max(255)).min(1) })
    .transform(({ pdaIndices }) => [...new Set(pdaIndices)].sort((a, b) => a - b)),
]);
const login = z.enum(["message", "transaction"]);

const shared = { labels: labels.default({}), limits: limits.default({}), accounts: accounts.optional() };
const keyed = { ...shared, login: login.optional() };
const defaultsForm = z.strictObject(keyed);
// A secret entered here by mistake must not appear in a log.
const address = z
  .string()
  .refine(isAddress, { message: "expected an address, base58 of 32 bytes; what was found is none" });
const fileForm = z
  .strictObject({ name: walletName, keyFile: z.string().min(1), address: address.optional(), ...keyed })
  .transform(({ keyFile, ...rest }) => ({ ...rest, keyText: keyFile }));
const secretForm = z
  .strictObject({ name: walletName, secret: z.string().min(1), address: address.optional(), ...keyed })
  .transform(({ secret, ...rest }) => ({ ...rest, keyText: secret }));
const storedForm = z
  .strictObject({ name: walletName, keystore: address, ...keyed })
  .transform(({ keystore, ...rest }) => ({ ...rest, keyText: keystore }));
const authorityForm = z.strictObject({ name: walletName, authority: address, ...shared });
const kindKeys = ["keyFile", "secret", "keystore", "authority", "keyDir"];
const walletKeys = ["name", "address", ...kindKeys, ...Object.keys(keyed)];
const folderForm = z.strictObject({ keyDir: z.string().min(1), ...keyed });

type Shared = Omit<z.output<typeof folderForm>, "keyDir">;
type Defaults = z.output<typeof defaultsForm>;

/** Settings of wallets whose value can be in a file. */
export const walletFiles: readonly FileSetting[] = [{ path: ["wallets", "*", "secret"], secret: true }];

export function readWallets(source: ConfigSource, keys: Keys): ReadWallets {
  const defaults = source.read(["walletDefaults"], defaultsForm, {}) ?? { labels: {}, limits: {} };
  const wallets: WalletSettings[] = [];
  const known: KnownWallet[] = [];
  if (!source.has(["wallets"])) {
    source.problem(
      ["wallets"],
      "no wallet is configured: name one with its key file, or with its authority to watch it without a key",
    );
    return { wallets, known };
  }
  const list = source.read(["wallets"], z.array(z.looseObject({})).min(1));
  const names = new Map<string, Path>();
  const authorities = new Map<string, { readonly name: string; readonly at: Path }>();
  const reading: Reading = { source, keys, defaults, wallets, known, names, authorities };
  for (const index of Array(list?.length ?? 0).keys()) readEntry(["wallets", index], reading);
  return { wallets, known };
}

interface Reading {
  readonly source: ConfigSource;
  readonly keys: Keys;
  readonly defaults: Defaults;
  readonly wallets: WalletSettings[];
  readonly known: KnownWallet[];
  readonly names: Map<string, Path>;
  readonly authorities: Map<string, { readonly name: string; readonly at: Path }>;
}

function readEntry(at: Path, reading: Reading): void {
  const { source, keys } = reading;
  const kinds = kindKeys.filter((key) => source.keys(at).includes(key));
  if (kinds.length !== 1) {
    const found = kinds.length === 0 ? "none of them" : kinds.join(" and ");
    const message = `a wallet has one of keyFile, secret, keystore, authority or keyDir; found ${found}`;
    const [unknown] = source.keys(at).filter((key) => !walletKeys.includes(key));
    if (kinds.length > 0 || unknown === undefined) source.problem(at, message);
    else {
      const nearest = nearestName(unknown, walletKeys);
      const shown = shownKey(unknown);
      source.problem([...at, unknown], `unknown key ${shown}: ${message}`, { nearest, atKey: true });
    }
    const name = source.raw([...at, "name"]);
    if (typeof name === "string") reading.known.push({ name, labels: {}, watchOnly: false });
    return;
  }
  switch (kinds[0]) {
    case "keyFile":
      readKeyed(at, "keyFile", fileForm, (name) => keys.file(source.resolve(name)), reading);
      return;
    case "secret":
      readKeyed(at, "secret", secretForm, (text) => keys.text(text, [...at, "secret"].join(".")), reading);
      return;
    case "keystore":
      readKeyed(at, "keystore", storedForm, (stored) => keys.stored(stored), reading);
      return;
    case "authority": {
      const found = source.read(at, authorityForm);
      if (!claimName(at, found?.name ?? source.raw([...at, "name"]), found, true, reading) || !found) return;
      addWallet([...at, "authority"], reading, found.name, null, found.authority, found);
      return;
    }
    default:
      readFolder(at, reading);
  }
}

function readKeyed(
  at: Path,
  from: KeyPlace,
  form: z.ZodType<Shared & { name: string; keyText: string; address?: string | undefined }>,
  keyOf: (text: string) => WalletSigner,
  reading: Reading,
): void {
  const { source } = reading;
  const found = source.read(at, form);
  const free = claimName(at, found?.name ?? source.raw([...at, "name"]), found, false, reading);
  const keyText = found?.keyText ?? source.raw([...at, from]);
  // The malformed address is already reported.
  if (from === "keystore" && found === undefined) return;
  if (typeof keyText !== "string" || keyText === "" || source.isBroken([...at, from])) return;
  // The key is read whatever else is wrong, so that its mistakes are reported too.
  const key = readKey([...at, from], source, () =>
    keyOfAddress(found?.address, () => keyOf(keyText), reading.keys),
  );
  if (found !== undefined && key !== undefined && free)
    addWallet([...at, from], reading, found.name, key, from, found);
}

/** @param address the configured address of the key; undefined: none */
function keyOfAddress(address: string | undefined, find: () => WalletSigner, keys: Keys): WalletSigner {
  if (address === undefined) return find();
  try {
    const key = find();
    if (key.address === address) return key;
    throw new BadKey(`this is the key of ${key.address}, not of the address that is named`);
  } catch (error) {
    if (error instanceof UnknownKey) return keys.stored(address);
    throw error;
  }
}

function readFolder(at: Path, reading: Reading): void {
  const { source } = reading;
  const found = source.read(at, folderForm);
  if (found === undefined) return;
  const place = [...at, "keyDir"];
  const folder = source.resolve(found.keyDir);
  let files: string[];
  try {
    files = fs
      .readdirSync(folder)
      .filter((file) => !file.startsWith("."))
      .sort();
  } catch (error) {
    const code = errorCode(error) ?? "unknown error";
    const why =
      code === "ENOENT" ? "does not exist" : code === "ENOTDIR" ? "is no folder" : `cannot be read (${code})`;
    source.problem(place, source.hide(`${folder} ${why}`));
    return;
  }
  const keys = files.filter((file) => keyFileForm.test(file));
  if (keys.length === 0) source.problem(place, source.hide(`${folder} holds no key file: *.json or *.key`));
  else if (keys.length < files.length) {
    const others = files.filter((file) => !keyFileForm.test(file));
    source.warn(
      place,
      `key files end in .json or .key; not read: ${others.slice(0, 5).join(", ")}` +
        (others.length > 5 ? ` and ${others.length - 5} more` : ""),
    );
  }
  for (const file of keys) {
    const name = file.replace(keyFileForm, "");
    if (!walletName.safeParse(name).success) {
      const why = reservedNames.includes(name)
        ? "a wallet cannot be called so"
        : "letters, digits, _ and - make a wallet's name";
      source.problem(place, source.hide(`${path.join(folder, file)}: rename it, ${why}`));
      continue;
    }
    const free = claimName(place, name, found, false, reading);
    const key = readKey(place, source, () => reading.keys.file(path.join(folder, file)));
    if (free && key !== undefined) addWallet(place, reading, name, key, "keyFile", found);
  }
}

const firstPdaIndex: readonly number[] = [0];

/** Merges a wallet's own values over the defaults. Wallets without own values share one object. */
function mergedOver<Value>(
  all: Readonly<Record<string, Value>>,
  own: Readonly<Record<string, Value>> = {},
): Readonly<Record<string, Value>> {
  return Object.keys(own).length === 0 ? all : { ...all, ...own };
}

/**
 * Records the name, whatever else is wrong with its wallet.
 * @returns false if it is already used
 */
function claimName(
  at: Path,
  name: unknown,
  settings: Pick<Shared, "labels" | "limits"> | undefined,
  watchOnly: boolean,
  { source, names, known, defaults }: Reading,
): boolean {
  if (typeof name !== "string") return false;
  const before = names.get(name);
  if (before !== undefined) {
    const shown = nameForm.test(name) ? ` ${name}` : "";
    const where = at.at(-1) === "keyDir" ? at : [...at, "name"];
    source.problem(where, source.hide(`the name${shown} is taken already, at ${source.placeName(before)}`));
    return false;
  }
  names.set(name, at);
  known.push({
    name,
    labels: mergedOver(defaults.labels, settings?.labels),
    watchOnly,
    limits: mergedLimits(defaults.limits, settings?.limits ?? {}),
  });
  return true;
}

/** @returns undefined after a problem was reported */
function readKey(at: Path, source: ConfigSource, read: () => WalletSigner): WalletSigner | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof BadKey)) throw error;
    source.problem(at, source.hide(error.message));
    return undefined;
  }
}

/** @param from the place of the key; without a key, the authority */
function addWallet(
  at: Path,
  { source, wallets, defaults, authorities }: Reading,
  name: string,
  key: WalletSigner | null,
  from: string,
  settings: Shared,
): void {
  const authority = key?.address ?? from;
  const before = authorities.get(authority);
  if (before !== undefined) {
    const where = source.placeName(before.at);
    source.problem(at, `${name} has the authority of ${before.name}, at ${where}: a wallet is watched once`);
    return;
  }
  authorities.set(authority, { name, at });
  wallets.push({
    name,
    authority,
    labels: mergedOver(defaults.labels, settings.labels),
    limits: mergedLimits(defaults.limits, settings.limits),
    pdaIndices: settings.accounts ?? defaults.accounts ?? firstPdaIndex,
    login: settings.login ?? defaults.login ?? "message",
    key,
    keptIn: key === null ? null : (from as KeyPlace),
  });
}
