/** The keystore as a person handles it: keys in, keys out, another passphrase. */
import path from "node:path";
import type { SignerSettings } from "../signer/settings.ts";
import { writeKeypairFile } from "../wallet/keypair-file.ts";
import { type Keystore, openKeystore, sealKeystore } from "../wallet/keystore.ts";
import { readKeystore, writeKeystore } from "../wallet/keystore-file.ts";
import type { WalletKey } from "../wallet/wallet-key.ts";
import { type Cli, CommandFailed, type CommonOptions, print, printJson } from "./command.ts";
import { orDemo } from "./configuration.ts";
import { askPassphrase, passphraseFrom } from "./passphrase.ts";
import { readConfiguration } from "./signer-host.ts";

interface Opened {
  readonly settings: SignerSettings;
  readonly keys: readonly WalletKey[];
  readonly passphrase: string;
}

/** Adds a key to the keystore, which is made where there is none. */
export async function addToKeystore(cli: Cli, options: CommonOptions, key: WalletKey): Promise<void> {
  const { settings, keys, passphrase } = await open(cli, options);
  if (!keys.some(({ address }) => address === key.address))
    write(settings, sealKeystore([...keys, key], passphrase));
  if (options.json) return printJson(cli, { keystore: settings.keystore, authority: key.address });
  print(
    cli,
    `${key.address}\n\nThe key is in ${settings.keystore}. To watch it, add to the configuration:\n`,
  );
  print(cli, `wallets:\n  - { name: main, keystore: ${key.address} }`);
}

/** Writes a key of the keystore into a key file. */
export async function exportFromKeystore(
  cli: Cli,
  options: CommonOptions,
  address: string,
  file: string,
): Promise<void> {
  const { settings, keys } = await open(cli, options);
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
  const { settings, keys } = await open(cli, options);
  const passphrase =
    options.newFile === undefined ? typedTwice("New passphrase") : passphraseFrom(options.newFile, {});
  if (passphrase === null) throw nobodyToAsk("--new-file FILE");
  write(settings, sealKeystore(keys, passphrase));
  if (options.json) return printJson(cli, { keystore: settings.keystore, wallets: keys.length });
  print(cli, `${settings.keystore}: sealed with the new passphrase.`);
  if (settings.passphraseFile !== null)
    print(cli, `Write it into ${settings.passphraseFile} as well, or the signer cannot open it.`);
}

async function open(cli: Cli, { config }: CommonOptions): Promise<Opened> {
  const { part } = await readConfiguration(orDemo(cli, config), cli.env);
  const settings = part.signer;
  const keystore = readKeystore(settings.keystore);
  const given = passphraseFrom(settings.passphraseFile, cli.env);
  if (keystore === null) {
    const passphrase = given ?? typedTwice(`Passphrase for the new keystore ${settings.keystore}`);
    if (passphrase === null) throw nobodyToAsk("signer.passphraseFile");
    return { settings, keys: [], passphrase };
  }
  return { settings, ...opened(settings, keystore, given) };
}

function opened(settings: SignerSettings, keystore: Keystore, given: string | null) {
  const passphrase = given ?? askPassphrase(`Passphrase of ${settings.keystore}: `);
  if (passphrase === null) throw nobodyToAsk("signer.passphraseFile");
  return { keys: openKeystore(keystore, passphrase), passphrase };
}

function write({ keystore }: SignerSettings, sealed: Keystore): void {
  writeKeystore(path.resolve(keystore), sealed);
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
