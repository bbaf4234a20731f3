/** The keystore as a person handles it: keys in, keys out, another passphrase. */
import { closeSync, openSync, rmSync } from "node:fs";
import type { KeyPlace } from "../../daemon/settings/wallets.ts";
import type { SignerSettings } from "../../signer/settings.ts";
import { writeKeypairFile } from "../../wallet/keypair-file.ts";
import { keysUnder, openKeystore, sealKeystore } from "../../wallet/keystore.ts";
import { mustReadKeystore, readKeystore, writeKeystore } from "../../wallet/keystore-file.ts";
import { type WalletKey, walletKeyFromText } from "../../wallet/wallet-key.ts";
import { type Cli, CommandFailed, type CommonOptions, print, printJson } from "../command.ts";
import { hasConfiguration, orDemo, signingPart, walletsIn } from "../configuration.ts";
import { askPassphrase, credentialName, passphraseFrom } from "./passphrase.ts";

interface Opened {
  readonly keys: readonly WalletKey[];
  readonly passphrase: string;
}

/** @throws {CommandFailed} status 2 where no wallet can be called so, or one of the configuration is */
export async function mustBeFree(cli: Cli, { config }: CommonOptions, name: string): Promise<void> {
  const { isWalletName } = await import("../../daemon/settings/wallets.ts");
  if (!isWalletName(name))
    throw new CommandFailed(
      `no wallet can be called "${name}": a name has letters, digits, _ and -, at most 64, such as main or desk-2`,
      2,
    );
  const { known } = hasConfiguration(cli, config) ? await walletsIn(cli, config) : { known: [] };
  if (known.some((one) => one.name === name))
    throw new CommandFailed(`the configuration has a wallet ${name} already; give another --name`, 2);
}

/** A wallet that the configuration has for a key. */
interface Configured {
  readonly name: string;
  readonly by: KeyPlace | "authority";
  /** The key file; null: there is none. */
  readonly file: string | null;
}

/** The places in which a key stands already. */
export interface Present {
  readonly configured: Configured | null;
  /** The keystore, if it has the key. */
  readonly keystore: string | null;
}

/** Reads the key files that the configuration names, too; those that cannot be read are others' keys. */
async function configuredFor(
  cli: Cli,
  { config }: CommonOptions,
  address: string,
): Promise<{ readonly known: readonly { readonly name: string }[]; readonly configured: Configured | null }> {
  const [{ unreadKeys }, { readKeyFile }] = await Promise.all([
    import("../../signer/keys.ts"),
    import("../../wallet/keypair-file.ts"),
  ]);
  const { stored } = unreadKeys;
  const files = new Map<string, string>();
  const known = (key: WalletKey) => ({ ...stored(key.address), isClosed: false });
  const file = (of: string) => {
    const key = readKeyFile(of);
    files.set(key.address, of);
    return known(key);
  };
  const keys = { stored, file, text: (secret: string) => known(walletKeyFromText(secret)) };
  const wallets = await walletsIn(cli, config, keys);
  const own = wallets.wallets.find(({ authority }) => authority === address);
  const configured =
    own === undefined
      ? null
      : { name: own.name, by: own.keptIn ?? ("authority" as const), file: files.get(address) ?? null };
  return { known: wallets.known, configured };
}

/** @returns the places of a key in the configuration and its keystore, of each as far as it can be made out */
export async function present(cli: Cli, options: CommonOptions, address: string): Promise<Present> {
  if (!hasConfiguration(cli, options.config)) return { configured: null, keystore: null };
  // The key file is written already: its address is printed whatever fails here.
  const [keystore, configured] = await Promise.allSettled([
    settingsOf(cli, options).then((one) =>
      readKeystore(one.keystore)?.addresses.includes(address) === true ? one.keystore : null,
    ),
    configuredFor(cli, options, address).then((one) => one.configured),
  ]);
  return {
    keystore: keystore.status === "fulfilled" ? keystore.value : null,
    configured: configured.status === "fulfilled" ? configured.value : null,
  };
}

/** A sentence about the wallet that the configuration has for a key. */
export function shownConfigured({ name, by, file }: Configured): string {
  const how =
    by === "authority" ? "without its key (authority:)" : `by ${by}:${file === null ? "" : ` ${file}`}`;
  return `The configuration has this wallet already: ${name}, ${how}.`;
}

/** The name for a wallet that the configuration does not have. */
function freeName(known: readonly { readonly name: string }[], index: number): string {
  const isTaken = (name: string) => known.some((one) => one.name === name);
  let name = index === 0 ? "main" : `wallet-${index + 1}`;
  for (let number = index + 1; isTaken(name); number++) name = `wallet-${number}`;
  return name;
}

/** Adds a key to the keystore, which is made where there is none. */
export async function addToKeystore(
  cli: Cli,
  options: CommonOptions & { readonly name?: string },
  key: WalletKey,
): Promise<void> {
  const settings = await settingsOf(cli, options);
  const isNew = alone(settings, () => {
    const { keys, passphrase } = open(cli, settings) ?? {
      keys: [],
      passphrase: firstPassphrase(cli, settings),
    };
    if (keys.some(({ address }) => address === key.address)) return false;
    writeKeystore(settings.keystore, sealKeystore([...keys, key], passphrase));
    return true;
  });
  const { configured, known } = await configuredFor(cli, options, key.address);
  if (options.json)
    return printJson(cli, {
      ...{ keystore: settings.keystore, authority: key.address, isNew, wallet: configured?.name ?? null },
    });
  const index = mustReadKeystore(settings.keystore).addresses.indexOf(key.address);
  const name = options.name ?? configured?.name ?? freeName(known, index);
  const line = `wallets:\n  - { name: ${name}, keystore: ${key.address} }`;
  const stored = isNew
    ? `The key is in ${settings.keystore}.`
    : `${settings.keystore} has this key already; nothing was changed.`;
  print(
    cli,
    `${key.address}\n\n${stored}${configured === null ? " To watch it, add to the configuration:\n" : ""}`,
  );
  if (configured === null) return print(cli, line);
  print(cli, shownConfigured(configured));
  if (configured.by === "keystore") return;
  print(cli, `To sign with the key of the keystore, write in its place:\n\n${line}`);
  if (configured.file !== null)
    print(cli, `\nThen remove ${configured.file}: it is a second copy of the key, which nothing encrypts.`);
}

/** Writes a key of the keystore into a key file. */
export async function exportFromKeystore(
  cli: Cli,
  options: CommonOptions,
  address: string,
  file: string,
): Promise<void> {
  const settings = await settingsOf(cli, options);
  const { keys } = mustOpen(cli, settings);
  const key = keys.find((one) => one.address === address);
  if (key === undefined) {
    const known = keys.map((one) => one.address).join(", ");
    throw new CommandFailed(`${settings.keystore} has no key of ${address}; it has: ${known || "none"}`, 2);
  }
  writeKeypairFile(file, key);
  if (options.json) return printJson(cli, { keyFile: file, authority: address });
  print(cli, `${file}: the key of ${address}, readable by you alone. It is in the keystore as well.`);
}

/** Seals the keystore with another passphrase. */
export async function changePassphrase(
  cli: Cli,
  options: CommonOptions & { readonly newFile?: string },
): Promise<void> {
  const settings = await settingsOf(cli, options);
  const count = alone(settings, () => {
    const { keys } = mustOpen(cli, settings);
    const passphrase =
      options.newFile === undefined ? typedTwice("New passphrase") : passphraseFrom(options.newFile, {});
    if (passphrase === null) throw nobodyToAsk("--new-file FILE");
    writeKeystore(settings.keystore, sealKeystore(keys, passphrase));
    return keys.length;
  });
  if (options.json) return printJson(cli, { keystore: settings.keystore, wallets: count });
  print(cli, `${settings.keystore}: sealed with the new passphrase.`);
  if (settings.passphraseFile !== null)
    print(cli, `Write it into ${settings.passphraseFile} as well, or the signer cannot open it.`);
  else if (cli.env.CREDENTIALS_DIRECTORY !== undefined)
    print(
      cli,
      "The service has the old one, sealed. Seal the new one as well, as root, or the signer cannot open it at its next start:\n" +
        `  systemd-creds encrypt --name=${credentialName} NEW_FILE /etc/credstore.encrypted/${credentialName}`,
    );
}

async function settingsOf(cli: Cli, { config }: CommonOptions): Promise<SignerSettings> {
  return (await signingPart(cli, orDemo(cli, config))).part.signer;
}

/** Runs what changes the keystore, while no other command does. @throws {CommandFailed} when one does */
function alone<T>({ keystore }: SignerSettings, act: () => T): T {
  const lock = `${keystore}.lock`;
  try {
    closeSync(openSync(lock, "wx", 0o600));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    throw new CommandFailed(`another command changes the keystore; if none does, remove ${lock}`);
  }
  try {
    return act();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** Null where there is no keystore. */
function open(cli: Cli, settings: SignerSettings): Opened | null {
  const keystore = readKeystore(settings.keystore);
  if (keystore === null) return null;
  let keys: readonly WalletKey[] | null = null;
  const opens = (text: string): boolean => {
    keys = keysUnder(keystore, text);
    return keys !== null;
  };
  const passphrase =
    passphraseFrom(settings.passphraseFile, cli.env) ??
    askPassphrase(`Passphrase of ${settings.keystore}: `, opens);
  if (passphrase === null) throw nobodyToAsk("signer.passphraseFile");
  // A typed one has opened it already: scrypt takes long on purpose.
  return { keys: keys ?? openKeystore(keystore, passphrase), passphrase };
}

function mustOpen(cli: Cli, settings: SignerSettings): Opened {
  const opened = open(cli, settings);
  if (opened !== null) return opened;
  throw new CommandFailed(`there is no keystore ${settings.keystore}; make one: perpwatch wallet import`, 2);
}

function firstPassphrase(cli: Cli, { passphraseFile, keystore }: SignerSettings): string {
  const given =
    passphraseFrom(passphraseFile, cli.env) ?? typedTwice(`Passphrase for the new keystore ${keystore}`);
  if (given === null) throw nobodyToAsk("signer.passphraseFile");
  return given;
}

/** @throws {CommandFailed} when the two differ, or nothing was typed */
function typedTwice(question: string): string | null {
  const first = askPassphrase(`${question}: `);
  if (first === null) return null;
  if (first === "") throw new CommandFailed("an empty passphrase protects nothing; nothing was changed");
  if (askPassphrase("Again: ") !== first)
    throw new CommandFailed("the two are not the same; nothing was changed");
  return first;
}

function nobodyToAsk(where: string): CommandFailed {
  return new CommandFailed(
    `no passphrase: name a file that holds it (${where}), or run this in a terminal; nothing was changed`,
    2,
  );
}
